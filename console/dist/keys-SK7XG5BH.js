import{a,b,c}from"./chunk-627BZ6TX.js";import"./chunk-2KNO5PQH.js";import"./chunk-RWS6W375.js";import"./chunk-JD54O3BL.js";export{c as KeysPage,b as ShownOnce,a as secret};
