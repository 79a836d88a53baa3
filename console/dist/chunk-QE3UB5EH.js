import{ja as S}from"./chunk-AW476DRL.js";import{N as T,b as d,d as b,e as g,f as R,l as a,p as w,v as p,w as h,x as m,y,z as E}from"./chunk-JD54O3BL.js";function F({root:e,adds:t={}}){let n=R(()=>E(e),[e]);return a`<div class="json" onCopy=${r=>_(r,e)}>${h(e)?a`<p class="quiet">${D(e)}</p><${A} node=${e} pointer="" depth=${0} open=${n} adds=${t} />`:v("",e,t)}</div>`}function A({node:e,pointer:t,depth:n,open:r,adds:o}){let[s,c]=d(p),f=g(null),i=g(null);b(()=>{i.current&&M.set(i.current,e)},[e]);let u=m(e),l=s-p;b(()=>{l>0&&f.current?.focus()},[l]);let $=Math.min(p,u-s);return a`<ul role="list" ref=${i} class=${n>8?"deep":void 0}>
    ${y(e,t,s).map((C,O)=>a`<li key=${C.key} ref=${l>0&&O===l?f:void 0}
        tabindex=${l>0&&O===l?-1:void 0}>
      <${L} ...${C} depth=${n} open=${r} adds=${o} /></li>`)}
  </ul>
  ${$>0&&a`<p class="more"><button type="button" class="small" aria-label=${`Show ${$} more of ${k(t)}`}
      onClick=${()=>c(s+p)}>Show ${$} more</button>
    <span class="quiet"> of ${(u-s).toLocaleString("en")}</span></p>`}`}function L({token:e,pointer:t,node:n,depth:r,open:o,adds:s}){let[c,f]=d(o.has(n)),i=m(n)>0,u=i&&!c?s.inside?.(t)??0:0,l=s.changed!==void 0&&s.changed.size>0&&(s.changed.has(t)||i&&!c&&[...s.changed].some($=>$.startsWith(t+"/")));return a`<div class=${"row"+(l?" changed":"")}>
      ${i&&a`<button type="button" class="fold" aria-expanded=${c}
        aria-label=${`${n.members?"Members":"Elements"} of ${k(t)}`} onClick=${()=>f(!c)}></button>`}
      <span class="at">${S(w(e),"the name",200)}:</span>${" "}
      ${v(t,n,s)}
      ${u>0&&a` <span class="quiet">${u} derived within</span>`}
      ${l&&a` <mark>changed</mark>`}
      ${s.beside?.(t)}
    </div>
    ${s.under?.(t)}
    ${i&&c&&a`<${A} node=${n} pointer=${t} depth=${r+1} open=${o} adds=${s} />`}`}function v(e,t,n){let r="token"+(n.marked?.(e)?" from-rule":"");if(h(t))return a`<span class=${N(t)?r:"count "+r}>${D(t)}</span>`;let o=n.href?.(e,t),s=S(w(t.raw),k(e));return o===void 0?a`<span class=${r}>${s}</span>`:a`<a class=${r} href=${o}>${s}</a>`}var k=e=>T(e.length>200?e.slice(0,200)+"…":e||"/"),N=e=>m(e)===0;function D(e){let t=m(e),n=e.members?"member":"element";return t===0?e.members?"{}":"[]":`${e.members?"{":"["} ${t.toLocaleString("en")} ${n}${t===1?"":"s"} ${e.members?"}":"]"}`}var M=new WeakMap;function _(e,t){let n=getSelection();if(!n||n.isCollapsed||!e.clipboardData)return;let r=n.getRangeAt(0),o=r.commonAncestorContainer,s=o instanceof Element?o:o.parentElement;if(s.closest(".row, .origin"))return;let c=s.closest('.json ul[role="list"]')??e.currentTarget.querySelector("ul");c&&(e.clipboardData.setData("text/plain",q(M.get(c)??t,c,r)),e.preventDefault())}function q(e,t,n){let r=y(e,"",t.children.length),o=[...t.children].flatMap((c,f)=>{if(!j(c,n))return[];let{token:i,node:u}=r[f],l=c.querySelector(':scope > ul[role="list"]'),$=l?q(u,l,n):x(u);return[{text:e.members?i+": "+$:$,isWhole:$===x(u)}]});if(o.length===m(e)&&o.every(({isWhole:c})=>c))return x(e);let s=o.map(c=>c.text.replaceAll(`
`,`
  `)).join(`,
  `);return e.members?`{
  ${s}
}`:`[
  ${s}
]`}function j(e,t){if(!t.intersectsNode(e))return!1;let n=document.createRange();n.selectNodeContents(e);let r=t.cloneRange();return r.compareBoundaryPoints(Range.START_TO_START,n)<0&&r.setStart(n.startContainer,n.startOffset),r.compareBoundaryPoints(Range.END_TO_END,n)>0&&r.setEnd(n.endContainer,n.endOffset),r.toString().trim()!==""}var x=e=>h(e)?e.raw.slice(e.start,e.end):e.raw;export{F as a,k as b};
