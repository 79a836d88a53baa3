import{a,b,c}from"./chunk-MJBDGZJL.js";import"./chunk-Z6THNET4.js";import"./chunk-ZFDKRRFV.js";import"./chunk-JD54O3BL.js";export{c as KeysPage,b as ShownOnce,a as secret};
