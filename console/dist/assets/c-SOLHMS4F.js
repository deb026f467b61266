import{a as _}from"./c-Q5KBT5QC.js";import{b as S}from"./c-K46PWLHW.js";import{b as v}from"./c-VC2MIAFX.js";import{a as l,c as y,o as b}from"./c-H4HQVBGH.js";import{b as s,e as C}from"./c-37HN2UOY.js";import{d as h,e as f}from"./c-BZYKTWCS.js";import{e as m}from"./c-SBWWO2Q5.js";import{a as o}from"./c-JC2HSUDN.js";import{a as p,b as u}from"./c-RFXN3ZAC.js";import{a as e}from"./c-ZQOZLQY6.js";import{c}from"./c-6IK25HCX.js";import{b as d,d as r}from"./c-Q6BJ6UGF.js";function x({heat:t,of:n="of its maximum"}){return e("span",{class:"heat-bar",title:`${m(t)} ${n}`,children:[e("svg",{viewBox:"0 0 100 8",preserveAspectRatio:"none","aria-hidden":"true",focusable:"false",children:[e("rect",{class:"h0",x:"0",y:"0",width:"100",height:"8"}),e("rect",{class:`h${_(t)}`,x:"0",y:"0",width:Math.min(100,t*100),height:"8"}),e("path",{class:"heat-limit",d:"M90 0V8"})]}),e("span",{class:"num",children:m(t)})]})}function P({compact:t}){return e(d,{children:[!t&&e(w,{}),e(E,{})]})}function w(){let t=l.value?.region;return e("section",{class:"card welcome",children:[e("h2",{children:"This server has no tables yet"}),e("p",{class:"muted",children:["It speaks DynamoDB’s API at ",e("code",{children:c.replace(/\/$/,"")}),", Region"," ",e("code",{children:t}),". Any access key does."]}),e("div",{class:"row",children:[e("a",{class:"button primary",href:s(["tables","new"]),children:[e(o,{name:"plus"}),"Create a table"]}),e(A,{}),e("a",{class:"button",href:s(["tables","import"]),children:[e(o,{name:"upload"}),"Import a table"]})]})]})}function A(){let[t,n]=r(!1),a=y.value.has("music");return e("button",{type:"button",disabled:t||a,title:a?"There is a table music already":void 0,onClick:async()=>{n(!0);try{let{loadMusic:i}=await import("./c-VTXMH4GA.js"),g=await i();await b(),h(`Table music has ${g} songs`),await C(s(["tables","music","items"]))}catch(i){f(i)}finally{n(!1)}},children:[e(o,{name:"download"}),t?"Loading…":"Load the music sample"]})}function E(){let[t,n]=r(p("connect","js"));return e("section",{class:"card","aria-labelledby":"connect-title",children:[e("header",{children:[e("h2",{id:"connect-title",children:"Connect"}),e(v,{legend:"Client",hideLegend:!0,value:t,options:[{value:"js",label:"JavaScript"},{value:"python",label:"Python"},{value:"cli",label:"AWS CLI"},{value:"env",label:"Environment"}],onChange:a=>{n(a),u("connect",a)}})]}),e("div",{class:"card-body",children:e(S,{text:$(t),label:"Paste this"})})]})}function $(t){let n=c.replace(/\/$/,""),a=l.value?.region??"us-east-1";switch(t){case"js":return`import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';

const client = new DynamoDBClient({
  endpoint: '${n}',
  region: '${a}',
  credentials: { accessKeyId: 'any', secretAccessKey: 'any' },
});
console.log(await client.send(new ListTablesCommand({})));
`;case"python":return`import boto3

dynamodb = boto3.resource(
    'dynamodb',
    endpoint_url='${n}',
    region_name='${a}',
    aws_access_key_id='any',
    aws_secret_access_key='any',
)
print(list(dynamodb.tables.all()))
`;case"cli":return`export AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any AWS_DEFAULT_REGION=${a}
aws dynamodb list-tables --endpoint-url ${n}
`;case"env":return`export AWS_ENDPOINT_URL_DYNAMODB=${n}
export AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any AWS_DEFAULT_REGION=${a}
`}}export{x as a,P as b,A as c};
