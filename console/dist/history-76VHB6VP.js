import{a,b}from"./chunk-LD5AM5XU.js";import"./chunk-Z6THNET4.js";import"./chunk-ZFDKRRFV.js";import"./chunk-JD54O3BL.js";export{b as EraseHere,a as History};
