import{a,b}from"./chunk-HJW26ZNT.js";import"./chunk-KRXSCKW7.js";import"./chunk-RFOG7ZVZ.js";import"./chunk-JD54O3BL.js";export{b as EraseHere,a as History};
