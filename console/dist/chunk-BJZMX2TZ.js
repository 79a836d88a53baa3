import{X as S}from"./chunk-EH4CN463.js";import{M as T,b as d,d as b,e as g,f as R,l as a,p as w,v as p,w as m,x as y,y as E}from"./chunk-YLTSUMXM.js";function G({root:e,adds:t={}}){let n=R(()=>E(e),[e]);return a`<div class="json" onCopy=${r=>_(r,e)}>${p(e)?a`<p class="quiet">${D(e)}</p><${A} node=${e} pointer="" depth=${0} open=${n} adds=${t} />`:v("",e,t)}</div>`}function A({node:e,pointer:t,depth:n,open:r,adds:c}){let[s,o]=d(100),$=g(null),i=g(null);b(()=>{i.current&&M.set(i.current,e)},[e]);let u=m(e),l=s-100;b(()=>{l>0&&$.current?.focus()},[l]);let f=Math.min(100,u-s);return a`<ul role="list" ref=${i} class=${n>8?"deep":void 0}>
    ${y(e,t,s).map((C,O)=>a`<li key=${C.key} ref=${l>0&&O===l?$:void 0}
        tabindex=${l>0&&O===l?-1:void 0}>
      <${L} ...${C} depth=${n} open=${r} adds=${c} /></li>`)}
  </ul>
  ${f>0&&a`<p class="more"><button type="button" class="small" aria-label=${`Show ${f} more of ${k(t)}`}
      onClick=${()=>o(s+100)}>Show ${f} more</button>
    <span class="quiet"> of ${(u-s).toLocaleString("en")}</span></p>`}`}function L({token:e,pointer:t,node:n,depth:r,open:c,adds:s}){let[o,$]=d(c.has(n)),i=m(n)>0,u=i&&!o?s.inside?.(t)??0:0,l=s.changed!==void 0&&s.changed.size>0&&(s.changed.has(t)||i&&!o&&[...s.changed].some(f=>f.startsWith(t+"/")));return a`<div class=${"row"+(l?" changed":"")}>
      ${i&&a`<button type="button" class="fold" aria-expanded=${o}
        aria-label=${`${n.members?"Members":"Elements"} of ${k(t)}`} onClick=${()=>$(!o)}></button>`}
      <span class="at">${S(w(e),"the name",200)}:</span>${" "}
      ${v(t,n,s)}
      ${u>0&&a` <span class="quiet">${u} derived within</span>`}
      ${l&&a` <mark>changed</mark>`}
      ${s.beside?.(t)}
    </div>
    ${s.under?.(t)}
    ${i&&o&&a`<${A} node=${n} pointer=${t} depth=${r+1} open=${c} adds=${s} />`}`}function v(e,t,n){let r="token"+(n.marked?.(e)?" from-rule":"");if(p(t))return a`<span class=${N(t)?r:"count "+r}>${D(t)}</span>`;let c=n.href?.(e,t),s=S(w(t.raw),k(e));return c===void 0?a`<span class=${r}>${s}</span>`:a`<a class=${r} href=${c}>${s}</a>`}var k=e=>T(e.length>200?e.slice(0,200)+"…":e||"/"),N=e=>m(e)===0;function D(e){let t=m(e),n=e.members?"member":"element";return t===0?e.members?"{}":"[]":`${e.members?"{":"["} ${t.toLocaleString("en")} ${n}${t===1?"":"s"} ${e.members?"}":"]"}`}var M=new WeakMap;function _(e,t){let n=getSelection();if(!n||n.isCollapsed||!e.clipboardData)return;let r=n.getRangeAt(0),c=r.commonAncestorContainer,s=c instanceof Element?c:c.parentElement;if(s.closest(".row, .origin"))return;let o=s.closest('.json ul[role="list"]')??e.currentTarget.querySelector("ul");o&&(e.clipboardData.setData("text/plain",q(M.get(o)??t,o,r)),e.preventDefault())}function q(e,t,n){let r=y(e,"",t.children.length),c=[...t.children].flatMap((o,$)=>{if(!j(o,n))return[];let{token:i,node:u}=r[$],l=o.querySelector(':scope > ul[role="list"]'),f=l?q(u,l,n):x(u);return[{text:e.members?i+": "+f:f,isWhole:f===x(u)}]});if(c.length===m(e)&&c.every(({isWhole:o})=>o))return x(e);let s=c.map(o=>o.text.replaceAll(`
`,`
  `)).join(`,
  `);return e.members?`{
  ${s}
}`:`[
  ${s}
]`}function j(e,t){if(!t.intersectsNode(e))return!1;let n=document.createRange();n.selectNodeContents(e);let r=t.cloneRange();return r.compareBoundaryPoints(Range.START_TO_START,n)<0&&r.setStart(n.startContainer,n.startOffset),r.compareBoundaryPoints(Range.END_TO_END,n)>0&&r.setEnd(n.endContainer,n.endOffset),r.toString().trim()!==""}var x=e=>p(e)?e.raw.slice(e.start,e.end):e.raw;export{G as a,k as b};
