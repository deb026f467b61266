import{b as w}from"./c-POHT4OTA.js";import{b as S}from"./c-VC2MIAFX.js";import{a as _}from"./c-IDGKNKKN.js";import{b as i,e as b}from"./c-37HN2UOY.js";import{d as p,e as y}from"./c-NWEXD7KL.js";import{a as s}from"./c-JC2HSUDN.js";import{a as e}from"./c-ZQOZLQY6.js";import{a as d}from"./c-UF3YCWD3.js";import{a,c as u,o as m}from"./c-WU4LRV72.js";import{a as v,b as C}from"./c-RFXN3ZAC.js";import{i as c}from"./c-YYSNHVF2.js";import{b as h,d as r}from"./c-Q6BJ6UGF.js";function M({compact:t}){return e(h,{children:[!t&&e(g,{}),e(I,{})]})}function g(){let t=a.value?.region;return e("section",{class:"card welcome",children:[e("h2",{children:"This server has no tables yet"}),e("p",{class:"muted",children:["It speaks DynamoDB’s API at ",e("code",{children:c.replace(/\/$/,"")}),", Region"," ",e("code",{children:t}),". Any access key does."]}),e("div",{class:"row",children:[e("a",{class:"button primary",href:i(["tables","new"]),children:[e(s,{name:"plus"}),"Create a table"]}),e(D,{}),e(x,{}),e("a",{class:"button",href:i(["tables","import"]),children:[e(s,{name:"upload"}),"Import a table"]})]})]})}var E=()=>a.value?.readOnly?"This console is read-only":a.value?.throttling==="off"?"This server measures no throughput (--throttling=off)":void 0;async function A(){try{let{loadVotes:t}=await import("./c-UE3XEJLV.js");await t(),await m(),p("sample-votes is written to: its heat shows in some seconds"),await b(i(["overview"])),_(()=>document.querySelector("main"))}catch(t){y(t)}}var T=()=>u.value.has("music")?"Open the table music":"Load the music sample";async function L(){try{if(!u.peek().has("music")){let{loadMusic:t}=await import("./c-62VQ4C3A.js"),n=await t();await m(),p(`Table music has ${n} songs`)}await b(i(["tables","music","items"]))}catch(t){y(t)}}function D({small:t}){let[n,o]=r(!1);return e("button",{type:"button",class:t?"small":"",disabled:n,onClick:async()=>{o(!0),await L(),o(!1)},children:[e(s,{name:"download"}),n?"Loading…":T()]})}function x({small:t}){let[n,o]=r(!1),l=d.value?.load===!0&&d.value.outcome===null,f=E();return a.value?.production?null:e("button",{type:"button",class:t?"small":"",disabled:f!==void 0,"aria-disabled":n||l,title:f??"Writes to a table sample-votes for five minutes, mostly one key",onClick:async()=>{n||l||(o(!0),await A(),o(!1))},children:[e(s,{name:"play"}),n?"Preparing…":l?"The load is running":"Heat a sample table"]})}function I(){let[t,n]=r(v("connect","js"));return e("section",{class:"card","aria-labelledby":"connect-title",children:[e("header",{children:[e("h2",{id:"connect-title",children:"Connect"}),e(S,{legend:"Client",hideLegend:!0,value:t,options:[{value:"js",label:"JavaScript"},{value:"python",label:"Python"},{value:"cli",label:"AWS CLI"},{value:"env",label:"Environment"}],onChange:o=>{n(o),C("connect",o)}})]}),e("div",{class:"card-body",children:e(w,{text:$(t),label:"Paste this"})})]})}function $(t){let n=c.replace(/\/$/,""),o=a.value?.region??"us-east-1";switch(t){case"js":return`import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';

const client = new DynamoDBClient({
  endpoint: '${n}',
  region: '${o}',
  credentials: { accessKeyId: 'any', secretAccessKey: 'any' },
});
console.log(await client.send(new ListTablesCommand({})));
`;case"python":return`import boto3

dynamodb = boto3.resource(
    'dynamodb',
    endpoint_url='${n}',
    region_name='${o}',
    aws_access_key_id='any',
    aws_secret_access_key='any',
)
print(list(dynamodb.tables.all()))
`;case"cli":return`export AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any AWS_DEFAULT_REGION=${o}
aws dynamodb list-tables --endpoint-url ${n}
`;case"env":return`export AWS_ENDPOINT_URL_DYNAMODB=${n}
export AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any AWS_DEFAULT_REGION=${o}
`}}export{M as a,E as b,A as c,T as d,L as e,D as f,x as g};
