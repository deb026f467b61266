import{a,b}from"./c-JLHUOJ2T.js";import"./c-YASYSE73.js";import"./c-M7OSQKNE.js";import"./c-Q6BJ6UGF.js";import"./c-3MOT7G4X.js";export{a as iam,b as sts};
