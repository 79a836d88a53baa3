import{a,b}from"./chunk-ZBKDJXHS.js";import"./chunk-FBRSOXIN.js";import"./chunk-KEA2DCT2.js";import"./chunk-JD54O3BL.js";export{b as EraseHere,a as History};
