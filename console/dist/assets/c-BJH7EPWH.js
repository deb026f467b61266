import{a,b}from"./c-DLNT6I7R.js";import"./c-DLN7F4FF.js";import"./c-M7OSQKNE.js";import"./c-R53UUO4S.js";import"./c-3MOT7G4X.js";export{a as iam,b as sts};
