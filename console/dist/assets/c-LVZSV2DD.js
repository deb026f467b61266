import{a,b}from"./c-N5GPWWHW.js";import"./c-6IK25HCX.js";import"./c-M7OSQKNE.js";import"./c-Q6BJ6UGF.js";import"./c-3MOT7G4X.js";export{a as iam,b as sts};
