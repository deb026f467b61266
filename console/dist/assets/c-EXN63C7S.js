import{a as t}from"./c-5VOOHV42.js";var i=(e,r)=>t(`tables/${encodeURIComponent(e)}/partitions`,{table:e,signal:r,background:!0});export{i as a};
