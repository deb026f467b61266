import{b as N}from"./c-THDW5ROU.js";import{d as R}from"./c-K6KPXQI3.js";var Q=[{id:"js",name:"JavaScript"},{id:"js-document",name:"JavaScript, documents"},{id:"boto3",name:"Python"},{id:"boto3-resource",name:"Python, resource"},{id:"cli",name:"AWS CLI"},{id:"partiql",name:"PartiQL"},{id:"curl",name:"curl"}],Y=new Set(["Key","Item","ExclusiveStartKey","ExpressionAttributeValues"]),Z=new Set(["Keys"]),q=new Set(["Parameters"]);function S(t,n){return Object.entries(t).filter(([,e])=>e!==void 0).map(([e,r])=>[e,X(e,r,n)])}function X(t,n,e){return Y.has(t)?j(n,e):Z.has(t)?e.list(n.map(r=>j(r,e))):q.has(t)?e.list(n.map(r=>_(r,e))):O(n,e)}function j(t,n){return n.object(Object.keys(t).map(e=>[e,_(t[e],n)]))}function _(t,n){return n.value(t,e=>O(e,n))}function O(t,n){return typeof t=="string"?n.text(t):typeof t=="number"?String(t):typeof t=="boolean"?n.bool(t):t==null?n.none:Array.isArray(t)?n.list(t.map(e=>O(e,n))):n.object(S(t,n))}function $(t,n,e,r=" "){if(n.length===0)return t+e;let s=`${t}${r}${n.join(", ")}${r}${e}`;if(s.length<=72&&!s.includes(`
`))return s;let i=n.map(o=>`  ${o.replaceAll(`
`,`
  `)}`);return`${t}
${i.join(`,
`)},
${e}`}var p=t=>`'${JSON.stringify(t).slice(1,-1).replaceAll('\\"','"').replaceAll("'","\\'")}'`.replaceAll("\u2028","\\u2028").replaceAll("\u2029","\\u2029"),V=t=>t==="__proto__"?"['__proto__']":/^[A-Za-z_$][\w$]*$/.test(t)?t:p(t),m=t=>$("{",t.map(([n,e])=>`${V(n)}: ${e}`),"}"),g=t=>$("[",t,"]",""),h=t=>`Buffer.from(${p(t)}, 'base64')`,tt={text:p,bool:String,none:"null",object:m,list:g,value:E};function E(t){return"B"in t?m([["B",h(t.B)]]):"BS"in t?m([["BS",g(t.BS.map(h))]]):"M"in t?m([["M",nt(t.M)]]):"L"in t?m([["L",g(t.L.map(E))]]):"BOOL"in t?m([["BOOL",String(t.BOOL)]]):"NULL"in t?m([["NULL","true"]]):"S"in t?m([["S",p(t.S)]]):"N"in t?m([["N",p(t.N)]]):"SS"in t?m([["SS",g(t.SS.map(p))]]):m([["NS",g(t.NS.map(p))]])}var nt=t=>m(Object.keys(t).map(n=>[n,E(t[n])]));function M(t,n){return/^-?(0|[1-9]\d{0,14})(\.\d{1,6})?$/.test(t)&&String(Number(t))===t?t:(n.add("NumberValue"),`NumberValue.from(${p(t)})`)}function et(t){let n=e=>"S"in e?p(e.S):"N"in e?M(e.N,t):"B"in e?h(e.B):"BOOL"in e?String(e.BOOL):"NULL"in e?"null":"M"in e?m(Object.keys(e.M).map(r=>[r,n(e.M[r])])):"L"in e?g(e.L.map(n)):"SS"in e?`new Set(${g(e.SS.map(p))})`:"NS"in e?`new Set(${g(e.NS.map(r=>M(r,t)))})`:`new Set(${g(e.BS.map(h))})`;return{text:p,bool:String,none:"null",object:m,list:g,value:n}}var W=(t,n)=>{let e=S(t.input,n).map(([r,s])=>`${V(r)}: ${s}`);return e.length===0?"{}":`{
${e.map(rt).join(`,
`)},
}`},rt=t=>`  ${t.replaceAll(`
`,`
  `)}`,T=t=>t.endpoint===null?`{ region: ${p(t.region)} }`:`{
  endpoint: ${p(t.endpoint)},
  region: ${p(t.region)},
  credentials: { accessKeyId: 'any', secretAccessKey: 'any' },
}`;function P(t,n){let e=t.service==="DynamoDBStreams",r=e?"DynamoDBStreamsClient":"DynamoDBClient",s=`${t.operation}Command`;return`import { ${r}, ${s} } from '@aws-sdk/client-dynamodb${e?"-streams":""}';

const client = new ${r}(${T(n)});
const answer = await client.send(new ${s}(${W(t,tt)}));
console.log(answer);
`}var it={GetItem:"GetCommand",PutItem:"PutCommand",UpdateItem:"UpdateCommand",DeleteItem:"DeleteCommand",Query:"QueryCommand",Scan:"ScanCommand",BatchGetItem:"BatchGetCommand",BatchWriteItem:"BatchWriteCommand",TransactGetItems:"TransactGetCommand",TransactWriteItems:"TransactWriteCommand",ExecuteStatement:"ExecuteStatementCommand",BatchExecuteStatement:"BatchExecuteStatementCommand",ExecuteTransaction:"ExecuteTransactionCommand"};function G(t,n){let e=it[t.operation];if(e===void 0)return null;let r=new Set,s=W(t,et(r));return`import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { ${["DynamoDBDocumentClient",e,...r].join(", ")} } from '@aws-sdk/lib-dynamodb';

const client = DynamoDBDocumentClient.from(new DynamoDBClient(${T(n)}));
const answer = await client.send(new ${e}(${s}));
console.log(answer);
`}var y=t=>`"${t.replaceAll('"','""')}"`,I=t=>`'${t.replaceAll("'","''")}'`;function st(t,n){return new B(t,n).write()}function U(t,n){let e=st(t,n);if(e===null)return null;let r=e.Parameters?`
Parameters: ${JSON.stringify(e.Parameters)}
`:"";return`${e.Statement}
${r}`}var B=class{constructor(n,e){this.request=n;this.sort=e;this.input=n.input}request;sort;parameters=[];input;write(){let n=this.statement();return n===null?null:this.parameters.length>0?{Statement:n,Parameters:this.parameters}:{Statement:n}}statement(){let n=y(String(this.input.TableName));switch(this.request.operation){case"GetItem":return`SELECT ${this.projection()} FROM ${n} WHERE ${this.key()}`;case"Query":case"Scan":return this.select(n);case"PutItem":{let e=String(this.input.ConditionExpression??"");return/^attribute_not_exists\(#\w+\)$/.test(e)?`INSERT INTO ${n} VALUE ${this.map(this.input.Item)}`:null}case"UpdateItem":return this.update(n);case"DeleteItem":return`DELETE FROM ${n} WHERE ${this.keyAndCondition()}`;case"ExecuteStatement":return this.parameters.push(...this.input.Parameters??[]),String(this.input.Statement);default:return null}}select(n){let{IndexName:e,KeyConditionExpression:r,FilterExpression:s,ScanIndexForward:i}=this.input,o=e===void 0?n:`${n}.${y(String(e))}`,u=[r,s].filter(d=>d!==void 0).map(d=>this.rewrite(String(d))),a=u.map(d=>u.length>1&&d.includes(" OR ")&&!d.startsWith("(")?`(${d})`:d),f=`SELECT ${this.projection()} FROM ${o}`;if(a.length>0&&(f+=` WHERE ${a.join(" AND ")}`),i===!1){if(this.sort===void 0)return null;f+=` ORDER BY ${y(this.sort)} DESC`}return f}projection(){let{ProjectionExpression:n}=this.input;return n===void 0?"*":this.rewrite(String(n))}key(){let n=this.input.Key;return Object.keys(n).map(e=>`${y(e)} = ${this.literal(n[e])}`).join(" AND ")}keyAndCondition(){let n=this.key(),e=this.input.ConditionExpression;if(e===void 0)return n;let r=String(e).split(" AND ").filter(s=>!this.isExistence(s));return r.length===0?n:`${n} AND ${this.rewrite(r.join(" AND "))}`}isExistence(n){let e=/^attribute_exists\((#\w+)\)$/.exec(n);return e!==null&&Object.hasOwn(this.input.Key,this.nameOf(e[1]))}update(n){if(!String(this.input.ConditionExpression??"").split(" AND ").some(a=>this.isExistence(a)))return null;let r=String(this.input.UpdateExpression??""),s=/^(?:SET (.*?))?\s*(?:REMOVE (.*))?$/.exec(r);if(!s)return null;let i=(s[1]??"").split(", ").filter(a=>a!==""),o=(s[2]??"").split(", ").filter(a=>a!=="");if(i.length+o.length===0)return null;let u=[...i.map(a=>`SET ${this.rewrite(a)}`),...o.map(a=>`REMOVE ${this.rewrite(a)}`)];return`UPDATE ${n} ${u.join(" ")} WHERE ${this.keyAndCondition()}`}nameOf(n){let e=this.input.ExpressionAttributeNames??{};return Object.hasOwn(e,n)?e[n]:n}rewrite(n){let e="",r=[],s=n.match(/[#:]?\w+|<>|<=|>=|\s+|./g)??[];for(let i=0;i<s.length;++i){let o=s[i];if(o==="attribute_exists"||o==="attribute_not_exists")r.push(o==="attribute_exists"?"IS NOT MISSING":"IS MISSING"),++i;else if(o==="("){let u=/\bIN\s*$/.test(e);r.push(u?"IN":""),e+=u?"[":"("}else if(o===")"){let u=r.pop()??"";e+=u==="IN"?"]":u===""?")":` ${u}`}else if(o.startsWith("#"))e+=y(this.nameOf(o));else if(o.startsWith(":")){let u=this.input.ExpressionAttributeValues,a=R(u,o);e+=a===void 0?o:this.literal(a)}else e+=o}return e}literal(n){return L(n)?(this.parameters.push(n),"?"):"S"in n?I(n.S):"N"in n?N(n.N):"BOOL"in n?String(n.BOOL):"NULL"in n?"null":"M"in n?this.map(n.M):"L"in n?`[${n.L.map(e=>this.literal(e)).join(", ")}]`:"SS"in n?`<<${n.SS.map(I).join(", ")}>>`:"NS"in n?`<<${n.NS.map(N).join(", ")}>>`:"?"}map(n){return`{${Object.keys(n).map(e=>`${I(e)}: ${this.literal(n[e])}`).join(", ")}}`}};function L(t){return"B"in t||"BS"in t?!0:"M"in t?Object.values(t.M).some(L):"L"in t&&t.L.some(L)}var c=t=>`'${[...t].map(n=>ot.get(n)??at(n)).join("")}'`,ot=new Map([["'","\\'"],["\\","\\\\"],[`
`,"\\n"],["\r","\\r"],["	","\\t"]]),at=t=>{let n=t.codePointAt(0)??0,e=n>=32&&n!==127&&!(n>=128&&n<160),r=n>=55296&&n<=57343;return e&&!r&&!(n===8232||n===8233)?t:n<256?`\\x${n.toString(16).padStart(2,"0")}`:`\\u${n.toString(16).padStart(4,"0")}`},l=t=>$("{",t.map(([n,e])=>`${c(n)}: ${e}`),"}",""),b=t=>$("[",t,"]",""),D=t=>t?"True":"False";function ut(t){let n=r=>(t.add("base64"),`base64.b64decode(${c(r)})`),e=r=>"B"in r?l([["B",n(r.B)]]):"BS"in r?l([["BS",b(r.BS.map(n))]]):"M"in r?l([["M",l(Object.keys(r.M).map(s=>[s,e(r.M[s])]))]]):"L"in r?l([["L",b(r.L.map(e))]]):"BOOL"in r?l([["BOOL",D(r.BOOL)]]):"NULL"in r?l([["NULL","True"]]):"S"in r?l([["S",c(r.S)]]):"N"in r?l([["N",c(r.N)]]):"SS"in r?l([["SS",b(r.SS.map(c))]]):l([["NS",b(r.NS.map(c))]]);return{text:c,bool:D,none:"None",object:l,list:b,value:e}}function ct(t){let n=i=>/^-?(0|[1-9]\d{0,37})$/.test(i)?i:(t.add("Decimal"),`Decimal(${c(i)})`),e=i=>(t.add("base64"),`base64.b64decode(${c(i)})`),r=i=>$("{",i,"}",""),s=i=>"S"in i?c(i.S):"N"in i?n(i.N):"B"in i?e(i.B):"BOOL"in i?D(i.BOOL):"NULL"in i?"None":"M"in i?l(Object.keys(i.M).map(o=>[o,s(i.M[o])])):"L"in i?b(i.L.map(s)):"SS"in i?r(i.SS.map(c)):"NS"in i?r(i.NS.map(n)):r(i.BS.map(e));return{text:c,bool:D,none:"None",object:l,list:b,value:s}}var w=t=>t.replace(/([a-z0-9])([A-Z])/g,"$1_$2").toLowerCase(),K=(t,n)=>{let e=[`region_name=${c(n.region)}`];return n.endpoint!==null&&(e.unshift(`endpoint_url=${c(n.endpoint)}`),e.push("aws_access_key_id='any'","aws_secret_access_key='any'")),`boto3.${t},
    ${e.join(`,
    `)},
)`.replace(`,
`,`,
`)},C=(t,n)=>n.length===0?`${t}()`:`${t}(
${n.map(([e,r])=>`    ${e}=${r.replaceAll(`
`,`
    `)},`).join(`
`)}
)`,k=t=>(t.has("base64")?`import base64
`:"")+(t.has("Decimal")?`from decimal import Decimal
`:"")+(t.size>0?`
`:"")+`import boto3

`;function z(t,n){let e=new Set,r=S(t.input,ut(e)),s=t.service==="DynamoDBStreams"?"dynamodbstreams":"dynamodb";return`${k(e)}client = ${K(`client('${s}'`,n)}
answer = ${C(`client.${w(t.operation)}`,r)}
print(answer)
`}var mt=new Set(["GetItem","PutItem","UpdateItem","DeleteItem","Query","Scan"]),pt=new Set(["BatchGetItem","BatchWriteItem"]);function J(t,n){let e=new Set,r=`dynamodb = ${K("resource('dynamodb'",n)}
`,s=ct(e);if(mt.has(t.operation)){let{TableName:o,...u}=t.input,a=C(`table.${w(t.operation)}`,S(u,s));return`${k(e)}${r}table = dynamodb.Table(${c(String(o))})
answer = ${a}
print(answer)
`}if(!pt.has(t.operation))return null;let i=C(`dynamodb.${w(t.operation)}`,S(t.input,s));return`${k(e)}${r}answer = ${i}
print(answer)
`}var A=t=>`'${t.replaceAll("'","'\\''")}'`,x=t=>/^[\w@%+=:,./-]+$/.test(t)?t:A(t),v=t=>t.replace(/([a-z0-9])([A-Z])/g,"$1-$2").replace(/([A-Z])([A-Z][a-z])/g,"$1-$2").toLowerCase();function F(t,n){let r=[`aws ${t.service==="DynamoDBStreams"?"dynamodbstreams":"dynamodb"} ${v(t.operation)}`];n.endpoint!==null&&r.push(`--endpoint-url ${x(n.endpoint)}`),r.push(`--region ${n.region}`);for(let[u,a]of Object.entries(t.input)){if(a===void 0)continue;let f=v(u);typeof a=="boolean"?r.push(a?`--${f}`:`--no-${f}`):typeof a=="string"||typeof a=="number"?r.push(`--${f} ${x(String(a))}`):r.push(`--${f} ${A(JSON.stringify(a))}`)}let s=`${r.join(` \\
  `)}
`,i=n.endpoint===null?"":`export AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any
`,o=/"(B|BS)":/.test(JSON.stringify(t.input))?`# Binaries are base64: as version 2 of the AWS CLI takes them.
`:"";return i+o+s}function H(t,n){let e=n.endpoint??`https://dynamodb.${n.region}.amazonaws.com`,r=n.endpoint===null?'"$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY"':"any:any",s=t.service==="DynamoDBStreams"?"DynamoDBStreams_20120810":"DynamoDB_20120810";return`curl ${x(`${e.replace(/\/$/,"")}/`)} \\
  --user ${r} --aws-sigv4 aws:amz:${n.region}:dynamodb \\
  -H 'Content-Type: application/x-amz-json-1.0' \\
  -H 'X-Amz-Target: ${s}.${t.operation}' \\
  -d ${A(JSON.stringify(t.input))}
`}function lt(t,n){let e=t.method==="GET"||t.method==="POST"&&t.body!==void 0?"":` -X ${t.method}`,r=t.body===void 0?"":` \\
  -d ${A(JSON.stringify(t.body))}`;return`curl${e} -H 'X-Stator-Management: true' ${x(`${n.replace(/\/$/,"")}/${t.path}`)}${r}
`}function Et(t,n,e,r){switch(t){case"js":return P(n,e);case"js-document":return G(n,e);case"boto3":return z(n,e);case"boto3-resource":return J(n,e);case"cli":return F(n,e);case"curl":return H(n,e);case"partiql":return U(n,r)}}export{Et as codeFor,Q as kLanguages,lt as managementCurl};
