import{a,b,c}from"./chunk-CM3BDMHU.js";import"./chunk-KRXSCKW7.js";import"./chunk-RFOG7ZVZ.js";import"./chunk-JD54O3BL.js";export{c as KeysPage,b as ShownOnce,a as secret};
