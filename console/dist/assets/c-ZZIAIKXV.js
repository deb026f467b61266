import{a,b,c,d,e}from"./c-3MOT7G4X.js";export{c as childOf,e as membersOf,b as parseXml,d as textAt,a as unescapeXml};
