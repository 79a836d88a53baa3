import{a,b,c}from"./chunk-U6CLVB72.js";import"./chunk-RQHOIQAQ.js";import"./chunk-3RB4IFIX.js";import"./chunk-JD54O3BL.js";export{c as KeysPage,b as ShownOnce,a as secret};
