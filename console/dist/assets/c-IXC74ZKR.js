import{a as r}from"./c-ZQOZLQY6.js";function o({label:l,class:e="scroll-x",children:n}){return r("div",{class:e,tabIndex:0,role:"region","aria-label":l,children:n})}export{o as a};
