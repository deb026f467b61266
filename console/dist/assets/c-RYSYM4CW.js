import{a as S}from"./c-Q5KBT5QC.js";import{b as E}from"./c-NXAXWQQR.js";import{b as A}from"./c-VC2MIAFX.js";import{a as g}from"./c-YGFWRMNX.js";import{b as i,e as f}from"./c-37HN2UOY.js";import{d as b,e as h}from"./c-KYM2Q5XN.js";import{f as p}from"./c-PC2V7YVS.js";import{a as r}from"./c-JC2HSUDN.js";import{a as e}from"./c-ZQOZLQY6.js";import{a as y}from"./c-IDKV7C5B.js";import{a as s,c as _,o as d}from"./c-HRMWFLPY.js";import{a as C,b as w}from"./c-RFXN3ZAC.js";import{c as m}from"./c-RS2YSVIH.js";import{b as v,d as c}from"./c-Q6BJ6UGF.js";function W({heat:t,of:n="of its maximum"}){return e("span",{class:"heat-bar",title:`${p(t)} ${n}`,children:[e("svg",{viewBox:"0 0 100 8",preserveAspectRatio:"none","aria-hidden":"true",focusable:"false",children:[e("rect",{class:"h0",x:"0",y:"0",width:"100",height:"8"}),e("rect",{class:`h${S(t)}`,x:"0",y:"0",width:Math.min(100,t*100),height:"8"}),e("path",{class:"heat-limit",d:"M90 0V8"})]}),e("span",{class:"num",children:p(t)})]})}function V({compact:t}){return e(v,{children:[!t&&e(T,{}),e(x,{})]})}function T(){let t=s.value?.region;return e("section",{class:"card welcome",children:[e("h2",{children:"This server has no tables yet"}),e("p",{class:"muted",children:["It speaks DynamoDB’s API at ",e("code",{children:m.replace(/\/$/,"")}),", Region"," ",e("code",{children:t}),". Any access key does."]}),e("div",{class:"row",children:[e("a",{class:"button primary",href:i(["tables","new"]),children:[e(r,{name:"plus"}),"Create a table"]}),e($,{}),e(D,{}),e("a",{class:"button",href:i(["tables","import"]),children:[e(r,{name:"upload"}),"Import a table"]})]})]})}function $(){let[t,n]=c(!1),a=_.value.has("music");return e("button",{type:"button",disabled:t||a,title:a?"There is a table music already":void 0,onClick:async()=>{n(!0);try{let{loadMusic:o}=await import("./c-TFQTGENY.js"),l=await o();await d(),b(`Table music has ${l} songs`),await f(i(["tables","music","items"]))}catch(o){h(o)}finally{n(!1)}},children:[e(r,{name:"download"}),t?"Loading…":"Load the music sample"]})}function D({small:t}){let[n,a]=c(!1),o=y.value?.load===!0&&y.value.outcome===null,l=s.value?.readOnly?"This console is read-only":s.value?.throttling==="off"?"This server measures no throughput (--throttling=off)":void 0;return s.value?.production?null:e("button",{type:"button",class:t?"small":"",disabled:l!==void 0,"aria-disabled":n||o,title:l??"Writes to a table sample-votes for two minutes, mostly one key",onClick:async()=>{if(!(n||o)){a(!0);try{let{loadVotes:u}=await import("./c-IC3Z3E3Y.js");await u(),await d(),b("sample-votes is written to: its heat shows in some seconds"),await f(i(["overview"])),g(()=>document.querySelector("main"))}catch(u){h(u)}finally{a(!1)}}},children:[e(r,{name:"play"}),n?"Preparing…":o?"The load is running":"Heat a sample table"]})}function x(){let[t,n]=c(C("connect","js"));return e("section",{class:"card","aria-labelledby":"connect-title",children:[e("header",{children:[e("h2",{id:"connect-title",children:"Connect"}),e(A,{legend:"Client",hideLegend:!0,value:t,options:[{value:"js",label:"JavaScript"},{value:"python",label:"Python"},{value:"cli",label:"AWS CLI"},{value:"env",label:"Environment"}],onChange:a=>{n(a),w("connect",a)}})]}),e("div",{class:"card-body",children:e(E,{text:I(t),label:"Paste this"})})]})}function I(t){let n=m.replace(/\/$/,""),a=s.value?.region??"us-east-1";switch(t){case"js":return`import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';

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
`}}export{W as a,V as b,$ as c,D as d};
