import{a as t}from"./c-HWMYP4J5.js";var i=(e,r)=>t(`tables/${encodeURIComponent(e)}/partitions`,{table:e,signal:r,background:!0});export{i as a};
