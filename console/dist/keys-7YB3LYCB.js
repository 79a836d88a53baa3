import{a,b,c}from"./chunk-IKUE5DEF.js";import"./chunk-DLW6OXUA.js";import"./chunk-AW476DRL.js";import"./chunk-JD54O3BL.js";export{c as KeysPage,b as ShownOnce,a as secret};
