import{a,b}from"./c-3GDSJCVQ.js";import"./c-RS2YSVIH.js";import"./c-M7OSQKNE.js";import"./c-Q6BJ6UGF.js";import"./c-3MOT7G4X.js";export{a as iam,b as sts};
