import{a,b,c}from"./chunk-RMRBOMGD.js";import"./chunk-DPJ4FZ6J.js";import"./chunk-US4VZMAO.js";import"./chunk-JD54O3BL.js";export{c as KeysPage,b as ShownOnce,a as secret};
