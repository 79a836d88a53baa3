import{a,b}from"./chunk-B3DND5YH.js";import"./chunk-2KNO5PQH.js";import"./chunk-RWS6W375.js";import"./chunk-JD54O3BL.js";export{b as EraseHere,a as History};
