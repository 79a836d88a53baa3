import{g as a,h as b,i as c}from"./chunk-BAU5HLZP.js";import"./chunk-2RUBGJ57.js";import"./chunk-JD54O3BL.js";export{c as KeysPage,b as ShownOnce,a as secret};
