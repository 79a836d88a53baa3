import{f as p,g as v}from"./chunk-E7RJ2GXA.js";import{b as d,c as l,d as f,l as t}from"./chunk-YLTSUMXM.js";var m=300;function h({of:e,shape:i="table",children:n}){let{value:a,problem:r,stale:o=!1,cancel:u}=e,c=a===void 0&&!r,s=c||o&&(e.busy??!0)&&!r,$=b(s);return f(()=>s?p():void 0,[s]),t`<div class=${o?"pending stale":"pending"} aria-busy=${s?"true":void 0}>
    ${s&&t`<div class="waiting"><div class="bar"></div>${$&&t`<p role="status"><span>Waiting for the answer</span>${u&&t` <button type="button" class="small"
        onClick=${()=>{u?.(),v()}}>Cancel</button>`}</p>`}</div>`}
    ${c?t`<${L} shape=${i} />`:t`<div class="answer">${n}</div>`}
  </div>`}function b(e){let[i,n]=d(!1);return l(()=>{if(!e)return;let a=setTimeout(()=>n(!0),m);return()=>{clearTimeout(a),n(!1)}},[e]),e&&i}var g={table:8,text:6},L=({shape:e})=>t`<div class=${"skeleton "+e} aria-hidden="true">${Array.from({length:g[e]},(i,n)=>t`<i key=${n}></i>`)}</div>`;export{h as a};
