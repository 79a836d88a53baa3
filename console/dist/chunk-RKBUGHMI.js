import{A as x,Y as S,u as y}from"./chunk-E7RJ2GXA.js";import{M as j,b as d,d as b,e as g,f as v,l as a,p as w,v as p,w as $,x as O,y as T}from"./chunk-YLTSUMXM.js";async function F(e){try{return await y({path:["_model"],signal:e})}catch(t){if(![401,403,404].includes(t?.status))throw t}let{collections:n}=await y({path:["_me"],query:{relations:!0},signal:e});return{collections:Object.fromEntries(Object.entries(n).map(([t,{relations:s={},derive:c={}}])=>[t,{relations:s,derive:L(c)}]))}}var L=e=>Object.fromEntries(Object.entries(e).map(([n,{kind:t,relation:s}])=>[n,{[t]:s??!0}]));function G(e,n){let t=x.value?.collections?.[e]??x.value?.otherCollections;return!t||t.write||(t.may??[]).includes(n)}function Q({root:e,adds:n={}}){let t=v(()=>T(e),[e]);return a`<div class="json" onCopy=${s=>W(s,e)}>${p(e)?a`<p class="quiet">${D(e)}</p><${A} node=${e} pointer="" depth=${0} open=${t} adds=${n} />`:q("",e,n)}</div>`}function A({node:e,pointer:n,depth:t,open:s,adds:c}){let[r,o]=d(100),m=g(null),l=g(null);b(()=>{l.current&&M.set(l.current,e)},[e]);let u=$(e),i=r-100;b(()=>{i>0&&m.current?.focus()},[i]);let f=Math.min(100,u-r);return a`<ul role="list" ref=${l} class=${t>8?"deep":void 0}>
    ${O(e,n,r).map((E,R)=>a`<li key=${E.key} ref=${i>0&&R===i?m:void 0}
        tabindex=${i>0&&R===i?-1:void 0}>
      <${N} ...${E} depth=${t} open=${s} adds=${c} /></li>`)}
  </ul>
  ${f>0&&a`<p class="more"><button type="button" class="small" aria-label=${`Show ${f} more of ${C(n)}`}
      onClick=${()=>o(r+100)}>Show ${f} more</button>
    <span class="quiet"> of ${(u-r).toLocaleString("en")}</span></p>`}`}function N({token:e,pointer:n,node:t,depth:s,open:c,adds:r}){let[o,m]=d(c.has(t)),l=$(t)>0,u=l&&!o?r.inside?.(n)??0:0,i=r.changed!==void 0&&r.changed.size>0&&(r.changed.has(n)||l&&!o&&[...r.changed].some(f=>f.startsWith(n+"/")));return a`<div class=${"row"+(i?" changed":"")}>
      ${l&&a`<button type="button" class="fold" aria-expanded=${o}
        aria-label=${`${t.members?"Members":"Elements"} of ${C(n)}`} onClick=${()=>m(!o)}></button>`}
      <span class="at">${S(w(e),"the name",200)}:</span>${" "}
      ${q(n,t,r)}
      ${u>0&&a` <span class="quiet">${u} derived within</span>`}
      ${i&&a` <mark>changed</mark>`}
      ${r.beside?.(n)}
    </div>
    ${r.under?.(n)}
    ${l&&o&&a`<${A} node=${t} pointer=${n} depth=${s+1} open=${c} adds=${r} />`}`}function q(e,n,t){let s="token"+(t.marked?.(e)?" from-rule":"");if(p(n))return a`<span class=${P(n)?s:"count "+s}>${D(n)}</span>`;let c=t.href?.(e,n),r=S(w(n.raw),C(e));return c===void 0?a`<span class=${s}>${r}</span>`:a`<a class=${s} href=${c}>${r}</a>`}var C=e=>j(e.length>200?e.slice(0,200)+"…":e||"/"),P=e=>$(e)===0;function D(e){let n=$(e),t=e.members?"member":"element";return n===0?e.members?"{}":"[]":`${e.members?"{":"["} ${n.toLocaleString("en")} ${t}${n===1?"":"s"} ${e.members?"}":"]"}`}var M=new WeakMap;function W(e,n){let t=getSelection();if(!t||t.isCollapsed||!e.clipboardData)return;let s=t.getRangeAt(0),c=s.commonAncestorContainer,r=c instanceof Element?c:c.parentElement;if(r.closest(".row, .origin"))return;let o=r.closest('.json ul[role="list"]')??e.currentTarget.querySelector("ul");o&&(e.clipboardData.setData("text/plain",_(M.get(o)??n,o,s)),e.preventDefault())}function _(e,n,t){let s=O(e,"",n.children.length),c=[...n.children].flatMap((o,m)=>{if(!B(o,t))return[];let{token:l,node:u}=s[m],i=o.querySelector(':scope > ul[role="list"]'),f=i?_(u,i,t):k(u);return[{text:e.members?l+": "+f:f,isWhole:f===k(u)}]});if(c.length===$(e)&&c.every(({isWhole:o})=>o))return k(e);let r=c.map(o=>o.text.replaceAll(`
`,`
  `)).join(`,
  `);return e.members?`{
  ${r}
}`:`[
  ${r}
]`}function B(e,n){if(!n.intersectsNode(e))return!1;let t=document.createRange();t.selectNodeContents(e);let s=n.cloneRange();return s.compareBoundaryPoints(Range.START_TO_START,t)<0&&s.setStart(t.startContainer,t.startOffset),s.compareBoundaryPoints(Range.END_TO_END,t)>0&&s.setEnd(t.endContainer,t.endOffset),s.toString().trim()!==""}var k=e=>p(e)?e.raw.slice(e.start,e.end):e.raw;export{F as a,G as b,Q as c,C as d};
