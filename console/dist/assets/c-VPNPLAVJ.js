import{a,b}from"./c-Y2GBR2JJ.js";import"./c-YYSNHVF2.js";import"./c-Q6BJ6UGF.js";import"./c-3MOT7G4X.js";export{a as iam,b as sts};
