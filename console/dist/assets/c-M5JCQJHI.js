import{b as I}from"./c-THDW5ROU.js";import{d as j}from"./c-K6KPXQI3.js";var S="X-Stator-As-Of",X=[{id:"js",name:"JavaScript"},{id:"js-document",name:"JavaScript, documents"},{id:"boto3",name:"Python"},{id:"boto3-resource",name:"Python, resource"},{id:"cli",name:"AWS CLI"},{id:"partiql",name:"PartiQL"},{id:"curl",name:"curl"}],q=new Set(["Key","Item","ExclusiveStartKey","ExpressionAttributeValues"]),tt=new Set(["Keys"]),nt=new Set(["Parameters"]);function $(t,n){return Object.entries(t).filter(([,e])=>e!==void 0).map(([e,r])=>[e,et(e,r,n)])}function et(t,n,e){return q.has(t)?W(n,e):tt.has(t)?e.list(n.map(r=>W(r,e))):nt.has(t)?e.list(n.map(r=>M(r,e))):N(n,e)}function W(t,n){return n.object(Object.keys(t).map(e=>[e,M(t[e],n)]))}function M(t,n){return n.value(t,e=>N(e,n))}function N(t,n){return typeof t=="string"?n.text(t):typeof t=="number"?String(t):typeof t=="boolean"?n.bool(t):t==null?n.none:Array.isArray(t)?n.list(t.map(e=>N(e,n))):n.object($(t,n))}function b(t,n,e,r=" "){if(n.length===0)return t+e;let s=`${t}${r}${n.join(", ")}${r}${e}`;if(s.length<=72&&!s.includes(`
`))return s;let i=n.map(o=>`  ${o.replaceAll(`
`,`
  `)}`);return`${t}
${i.join(`,
`)},
${e}`}var m=t=>`'${JSON.stringify(t).slice(1,-1).replaceAll('\\"','"').replaceAll("'","\\'")}'`.replaceAll("\u2028","\\u2028").replaceAll("\u2029","\\u2029"),V=t=>t==="__proto__"?"['__proto__']":/^[A-Za-z_$][\w$]*$/.test(t)?t:m(t),p=t=>b("{",t.map(([n,e])=>`${V(n)}: ${e}`),"}"),d=t=>b("[",t,"]",""),x=t=>`Buffer.from(${m(t)}, 'base64')`,rt={text:m,bool:String,none:"null",object:p,list:d,value:E};function E(t){return"B"in t?p([["B",x(t.B)]]):"BS"in t?p([["BS",d(t.BS.map(x))]]):"M"in t?p([["M",it(t.M)]]):"L"in t?p([["L",d(t.L.map(E))]]):"BOOL"in t?p([["BOOL",String(t.BOOL)]]):"NULL"in t?p([["NULL","true"]]):"S"in t?p([["S",m(t.S)]]):"N"in t?p([["N",m(t.N)]]):"SS"in t?p([["SS",d(t.SS.map(m))]]):p([["NS",d(t.NS.map(m))]])}var it=t=>p(Object.keys(t).map(n=>[n,E(t[n])]));function T(t,n){return/^-?(0|[1-9]\d{0,14})(\.\d{1,6})?$/.test(t)&&String(Number(t))===t?t:(n.add("NumberValue"),`NumberValue.from(${m(t)})`)}function st(t){let n=e=>"S"in e?m(e.S):"N"in e?T(e.N,t):"B"in e?x(e.B):"BOOL"in e?String(e.BOOL):"NULL"in e?"null":"M"in e?p(Object.keys(e.M).map(r=>[r,n(e.M[r])])):"L"in e?d(e.L.map(n)):"SS"in e?`new Set(${d(e.SS.map(m))})`:"NS"in e?`new Set(${d(e.NS.map(r=>T(r,t)))})`:`new Set(${d(e.BS.map(x))})`;return{text:m,bool:String,none:"null",object:p,list:d,value:n}}var P=(t,n)=>{let e=$(t.input,n).map(([r,s])=>`${V(r)}: ${s}`);return e.length===0?"{}":`{
${e.map(at).join(`,
`)},
}`},at=t=>`  ${t.replaceAll(`
`,`
  `)}`,G=t=>t.endpoint===null?`{ region: ${m(t.region)} }`:`{
  endpoint: ${m(t.endpoint)},
  region: ${m(t.region)},
  credentials: { accessKeyId: 'any', secretAccessKey: 'any' },
}`,U=t=>t.asOf===void 0?"":`client.middlewareStack.add((next) => (args) => {
  args.request.headers[${m(S)}] = ${m(t.asOf)};
  return next(args);
}, { step: 'build' });
`;function K(t,n){let e=t.service==="DynamoDBStreams",r=e?"DynamoDBStreamsClient":"DynamoDBClient",s=`${t.operation}Command`;return`import { ${r}, ${s} } from '@aws-sdk/client-dynamodb${e?"-streams":""}';

const client = new ${r}(${G(n)});
${U(t)}const answer = await client.send(new ${s}(${P(t,rt)}));
console.log(answer);
`}var ot={GetItem:"GetCommand",PutItem:"PutCommand",UpdateItem:"UpdateCommand",DeleteItem:"DeleteCommand",Query:"QueryCommand",Scan:"ScanCommand",BatchGetItem:"BatchGetCommand",BatchWriteItem:"BatchWriteCommand",TransactGetItems:"TransactGetCommand",TransactWriteItems:"TransactWriteCommand",ExecuteStatement:"ExecuteStatementCommand",BatchExecuteStatement:"BatchExecuteStatementCommand",ExecuteTransaction:"ExecuteTransactionCommand"};function H(t,n){let e=ot[t.operation];if(e===void 0)return null;let r=new Set,s=P(t,st(r));return`import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { ${["DynamoDBDocumentClient",e,...r].join(", ")} } from '@aws-sdk/lib-dynamodb';

const client = DynamoDBDocumentClient.from(new DynamoDBClient(${G(n)}));
`+U(t)+`const answer = await client.send(new ${e}(${s}));
console.log(answer);
`}var O=t=>`"${t.replaceAll('"','""')}"`,L=t=>`'${t.replaceAll("'","''")}'`;function ut(t,n){return new B(t,n).write()}function J(t,n){if(t.asOf!==void 0)return null;let e=ut(t,n);if(e===null)return null;let r=e.Parameters?`
Parameters: ${JSON.stringify(e.Parameters)}
`:"";return`${e.Statement}
${r}`}var B=class{constructor(n,e){this.request=n;this.sort=e;this.input=n.input}request;sort;parameters=[];input;write(){let n=this.statement();return n===null?null:this.parameters.length>0?{Statement:n,Parameters:this.parameters}:{Statement:n}}statement(){let n=O(String(this.input.TableName));switch(this.request.operation){case"GetItem":return`SELECT ${this.projection()} FROM ${n} WHERE ${this.key()}`;case"Query":case"Scan":return this.select(n);case"PutItem":{let e=String(this.input.ConditionExpression??"");return/^attribute_not_exists\(#\w+\)$/.test(e)?`INSERT INTO ${n} VALUE ${this.map(this.input.Item)}`:null}case"UpdateItem":return this.update(n);case"DeleteItem":return`DELETE FROM ${n} WHERE ${this.keyAndCondition()}`;case"ExecuteStatement":return this.parameters.push(...this.input.Parameters??[]),String(this.input.Statement);default:return null}}select(n){let{IndexName:e,KeyConditionExpression:r,FilterExpression:s,ScanIndexForward:i}=this.input,o=e===void 0?n:`${n}.${O(String(e))}`,u=[r,s].filter(f=>f!==void 0).map(f=>this.rewrite(String(f))),a=u.map(f=>u.length>1&&f.includes(" OR ")&&!f.startsWith("(")?`(${f})`:f),g=`SELECT ${this.projection()} FROM ${o}`;if(a.length>0&&(g+=` WHERE ${a.join(" AND ")}`),i===!1){if(this.sort===void 0)return null;g+=` ORDER BY ${O(this.sort)} DESC`}return g}projection(){let{ProjectionExpression:n}=this.input;return n===void 0?"*":this.rewrite(String(n))}key(){let n=this.input.Key;return Object.keys(n).map(e=>`${O(e)} = ${this.literal(n[e])}`).join(" AND ")}keyAndCondition(){let n=this.key(),e=this.input.ConditionExpression;if(e===void 0)return n;let r=String(e).split(" AND ").filter(s=>!this.isExistence(s));return r.length===0?n:`${n} AND ${this.rewrite(r.join(" AND "))}`}isExistence(n){let e=/^attribute_exists\((#\w+)\)$/.exec(n);return e!==null&&Object.hasOwn(this.input.Key,this.nameOf(e[1]))}update(n){if(!String(this.input.ConditionExpression??"").split(" AND ").some(a=>this.isExistence(a)))return null;let r=String(this.input.UpdateExpression??""),s=/^(?:SET (.*?))?\s*(?:REMOVE (.*))?$/.exec(r);if(!s)return null;let i=(s[1]??"").split(", ").filter(a=>a!==""),o=(s[2]??"").split(", ").filter(a=>a!=="");if(i.length+o.length===0)return null;let u=[...i.map(a=>`SET ${this.rewrite(a)}`),...o.map(a=>`REMOVE ${this.rewrite(a)}`)];return`UPDATE ${n} ${u.join(" ")} WHERE ${this.keyAndCondition()}`}nameOf(n){let e=this.input.ExpressionAttributeNames??{};return Object.hasOwn(e,n)?e[n]:n}rewrite(n){let e="",r=[],s=n.match(/[#:]?\w+|<>|<=|>=|\s+|./g)??[];for(let i=0;i<s.length;++i){let o=s[i];if(o==="attribute_exists"||o==="attribute_not_exists")r.push(o==="attribute_exists"?"IS NOT MISSING":"IS MISSING"),++i;else if(o==="("){let u=/\bIN\s*$/.test(e);r.push(u?"IN":""),e+=u?"[":"("}else if(o===")"){let u=r.pop()??"";e+=u==="IN"?"]":u===""?")":` ${u}`}else if(o.startsWith("#"))e+=O(this.nameOf(o));else if(o.startsWith(":")){let u=this.input.ExpressionAttributeValues,a=j(u,o);e+=a===void 0?o:this.literal(a)}else e+=o}return e}literal(n){return k(n)?(this.parameters.push(n),"?"):"S"in n?L(n.S):"N"in n?I(n.N):"BOOL"in n?String(n.BOOL):"NULL"in n?"null":"M"in n?this.map(n.M):"L"in n?`[${n.L.map(e=>this.literal(e)).join(", ")}]`:"SS"in n?`<<${n.SS.map(L).join(", ")}>>`:"NS"in n?`<<${n.NS.map(I).join(", ")}>>`:"?"}map(n){return`{${Object.keys(n).map(e=>`${L(e)}: ${this.literal(n[e])}`).join(", ")}}`}};function k(t){return"B"in t||"BS"in t?!0:"M"in t?Object.values(t.M).some(k):"L"in t&&t.L.some(k)}var c=t=>`'${[...t].map(n=>ct.get(n)??mt(n)).join("")}'`,ct=new Map([["'","\\'"],["\\","\\\\"],[`
`,"\\n"],["\r","\\r"],["	","\\t"]]),mt=t=>{let n=t.codePointAt(0)??0,e=n>=32&&n!==127&&!(n>=128&&n<160),r=n>=55296&&n<=57343;return e&&!r&&!(n===8232||n===8233)?t:n<256?`\\x${n.toString(16).padStart(2,"0")}`:`\\u${n.toString(16).padStart(4,"0")}`},l=t=>b("{",t.map(([n,e])=>`${c(n)}: ${e}`),"}",""),y=t=>b("[",t,"]",""),D=t=>t?"True":"False";function pt(t){let n=r=>(t.add("base64"),`base64.b64decode(${c(r)})`),e=r=>"B"in r?l([["B",n(r.B)]]):"BS"in r?l([["BS",y(r.BS.map(n))]]):"M"in r?l([["M",l(Object.keys(r.M).map(s=>[s,e(r.M[s])]))]]):"L"in r?l([["L",y(r.L.map(e))]]):"BOOL"in r?l([["BOOL",D(r.BOOL)]]):"NULL"in r?l([["NULL","True"]]):"S"in r?l([["S",c(r.S)]]):"N"in r?l([["N",c(r.N)]]):"SS"in r?l([["SS",y(r.SS.map(c))]]):l([["NS",y(r.NS.map(c))]]);return{text:c,bool:D,none:"None",object:l,list:y,value:e}}function lt(t){let n=i=>/^-?(0|[1-9]\d{0,37})$/.test(i)?i:(t.add("Decimal"),`Decimal(${c(i)})`),e=i=>(t.add("base64"),`base64.b64decode(${c(i)})`),r=i=>b("{",i,"}",""),s=i=>"S"in i?c(i.S):"N"in i?n(i.N):"B"in i?e(i.B):"BOOL"in i?D(i.BOOL):"NULL"in i?"None":"M"in i?l(Object.keys(i.M).map(o=>[o,s(i.M[o])])):"L"in i?y(i.L.map(s)):"SS"in i?r(i.SS.map(c)):"NS"in i?r(i.NS.map(n)):r(i.BS.map(e));return{text:c,bool:D,none:"None",object:l,list:y,value:s}}var w=t=>t.replace(/([a-z0-9])([A-Z])/g,"$1_$2").toLowerCase(),v=(t,n)=>{let e=[`region_name=${c(n.region)}`];return n.endpoint!==null&&(e.unshift(`endpoint_url=${c(n.endpoint)}`),e.push("aws_access_key_id='any'","aws_secret_access_key='any'")),`boto3.${t},
    ${e.join(`,
    `)},
)`.replace(`,
`,`,
`)},C=(t,n)=>n.length===0?`${t}()`:`${t}(
${n.map(([e,r])=>`    ${e}=${r.replaceAll(`
`,`
    `)},`).join(`
`)}
)`,R=t=>(t.has("base64")?`import base64
`:"")+(t.has("Decimal")?`from decimal import Decimal
`:"")+(t.size>0?`
`:"")+`import boto3

`,z=(t,n)=>t.asOf===void 0?"":`def as_of(params, **_):
    params['headers'][${c(S)}] = ${c(t.asOf)}

${n}.meta.events.register('before-call.dynamodb', as_of)
`;function F(t,n){let e=new Set,r=$(t.input,pt(e)),s=t.service==="DynamoDBStreams"?"dynamodbstreams":"dynamodb";return`${R(e)}client = ${v(`client('${s}'`,n)}
${z(t,"client")}answer = ${C(`client.${w(t.operation)}`,r)}
print(answer)
`}var gt=new Set(["GetItem","PutItem","UpdateItem","DeleteItem","Query","Scan"]),dt=new Set(["BatchGetItem","BatchWriteItem"]);function Q(t,n){let e=new Set,r=z(t,"dynamodb.meta.client"),s=`dynamodb = ${v("resource('dynamodb'",n)}
${r}`,i=lt(e);if(gt.has(t.operation)){let{TableName:u,...a}=t.input,g=C(`table.${w(t.operation)}`,$(a,i));return`${R(e)}${s}table = dynamodb.Table(${c(String(u))})
answer = ${g}
print(answer)
`}if(!dt.has(t.operation))return null;let o=C(`dynamodb.${w(t.operation)}`,$(t.input,i));return`${R(e)}${s}answer = ${o}
print(answer)
`}var A=t=>`'${t.replaceAll("'","'\\''")}'`,h=t=>/^[\w@%+=:,./-]+$/.test(t)?t:A(t),Y=t=>t.replace(/([a-z0-9])([A-Z])/g,"$1-$2").replace(/([A-Z])([A-Z][a-z])/g,"$1-$2").toLowerCase();function ft(t,n){let{TableName:e,Key:r,...s}=t.input,i=Object.keys(s).filter(g=>g!=="ConsistentRead"&&s[g]!==void 0);if(!(t.operation==="GetItem"||t.operation==="Scan")||i.length>0)return`# The AWS CLI cannot send the header ${S}. curl can:
${_(t,n)}`;let u=r===void 0?"":` ${A(JSON.stringify(r))}`,a=n.endpoint===null?"":` \\
  --endpoint-url ${h(n.endpoint)}`;return`# The AWS CLI cannot send the header ${S}. Stator's own command:
stator at ${h(String(e))} ${h(t.asOf??"")}${u}${a}
`}function Z(t,n){if(t.asOf!==void 0)return ft(t,n);let r=[`aws ${t.service==="DynamoDBStreams"?"dynamodbstreams":"dynamodb"} ${Y(t.operation)}`];n.endpoint!==null&&r.push(`--endpoint-url ${h(n.endpoint)}`),r.push(`--region ${n.region}`);for(let[u,a]of Object.entries(t.input)){if(a===void 0)continue;let g=Y(u);typeof a=="boolean"?r.push(a?`--${g}`:`--no-${g}`):typeof a=="string"||typeof a=="number"?r.push(`--${g} ${h(String(a))}`):r.push(`--${g} ${A(JSON.stringify(a))}`)}let s=`${r.join(` \\
  `)}
`,i=n.endpoint===null?"":`export AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any
`,o=/"(B|BS)":/.test(JSON.stringify(t.input))?`# Binaries are base64: as version 2 of the AWS CLI takes them.
`:"";return i+o+s}function _(t,n){let e=n.endpoint??`https://dynamodb.${n.region}.amazonaws.com`,r=n.endpoint===null?'"$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY"':"any:any",s=t.service==="DynamoDBStreams"?"DynamoDBStreams_20120810":"DynamoDB_20120810";return`curl ${h(`${e.replace(/\/$/,"")}/`)} \\
  --user ${r} --aws-sigv4 aws:amz:${n.region}:dynamodb \\
  -H 'Content-Type: application/x-amz-json-1.0' \\
  -H 'X-Amz-Target: ${s}.${t.operation}' \\
`+(t.asOf===void 0?"":`  -H '${S}: ${t.asOf}' \\
`)+`  -d ${A(JSON.stringify(t.input))}
`}function St(t,n){let e=t.method==="GET"||t.method==="POST"&&t.body!==void 0?"":` -X ${t.method}`,r=t.body===void 0?"":` \\
  -d ${A(JSON.stringify(t.body))}`;return`curl${e} -H 'X-Stator-Management: true' ${h(`${n.replace(/\/$/,"")}/${t.path}`)}${r}
`}function wt(t,n,e,r){switch(t){case"js":return K(n,e);case"js-document":return H(n,e);case"boto3":return F(n,e);case"boto3-resource":return Q(n,e);case"cli":return Z(n,e);case"curl":return _(n,e);case"partiql":return J(n,r)}}export{wt as codeFor,X as kLanguages,St as managementCurl};
