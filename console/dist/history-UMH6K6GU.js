import{a,b}from"./chunk-2JPE7P6O.js";import"./chunk-5KYUYYFC.js";import"./chunk-2RUBGJ57.js";import"./chunk-JD54O3BL.js";export{b as EraseHere,a as History};
