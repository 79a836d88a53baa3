import{g as a,h as b,i as c}from"./chunk-A5ZR4RIB.js";import"./chunk-CAK6GB4Q.js";import"./chunk-JD54O3BL.js";export{c as KeysPage,b as ShownOnce,a as secret};
