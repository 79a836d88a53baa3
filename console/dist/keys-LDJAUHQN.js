import{a,b,c}from"./chunk-5VKDVVP3.js";import"./chunk-FBRSOXIN.js";import"./chunk-KEA2DCT2.js";import"./chunk-JD54O3BL.js";export{c as KeysPage,b as ShownOnce,a as secret};
