import{a,b}from"./chunk-XEZ6QXVS.js";import"./chunk-DPJ4FZ6J.js";import"./chunk-US4VZMAO.js";import"./chunk-JD54O3BL.js";export{b as EraseHere,a as History};
