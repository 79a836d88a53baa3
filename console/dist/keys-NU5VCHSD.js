import{a,b,c}from"./chunk-YCSPWQYY.js";import"./chunk-5KYUYYFC.js";import"./chunk-2RUBGJ57.js";import"./chunk-JD54O3BL.js";export{c as KeysPage,b as ShownOnce,a as secret};
