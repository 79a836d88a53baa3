import{g as a,h as b,i as c}from"./chunk-2AVT7XRB.js";import"./chunk-2RUBGJ57.js";import"./chunk-JD54O3BL.js";export{c as KeysPage,b as ShownOnce,a as secret};
