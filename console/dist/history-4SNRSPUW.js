import{a,b}from"./chunk-7ZCJTH4W.js";import"./chunk-RQHOIQAQ.js";import"./chunk-3RB4IFIX.js";import"./chunk-JD54O3BL.js";export{b as EraseHere,a as History};
