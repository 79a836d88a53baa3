import{a,b}from"./chunk-UX2B37SL.js";import"./chunk-DLW6OXUA.js";import"./chunk-AW476DRL.js";import"./chunk-JD54O3BL.js";export{b as EraseHere,a as History};
