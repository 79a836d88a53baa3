import{aa as p,b as d,ba as m,ca as w,d as b,da as R,e as g,f as O,k as a,ma as E,xa as y}from"./chunk-HGW6AYR2.js";function z({root:e,adds:t={}}){let n=O(()=>R(e),[e]);return a`<div class="json" onCopy=${r=>N(r,e)}>${p(e)?a`<p class="quiet">${v(e)}</p><${T} node=${e} pointer="" depth=${0} open=${n} adds=${t} />`:A("",e,t)}</div>`}function T({node:e,pointer:t,depth:n,open:r,adds:o}){let[s,c]=d(100),f=g(null),i=g(null);b(()=>{i.current&&D.set(i.current,e)},[e]);let u=m(e),l=s-100;b(()=>{l>0&&f.current?.focus()},[l]);let $=Math.min(100,u-s);return a`<ul role="list" ref=${i} class=${n>8?"deep":void 0}>
    ${w(e,t,s).map((k,C)=>a`<li key=${k.key} ref=${l>0&&C===l?f:void 0}
        tabindex=${l>0&&C===l?-1:void 0}>
      <${q} ...${k} depth=${n} open=${r} adds=${o} /></li>`)}
  </ul>
  ${$>0&&a`<p class="more"><button type="button" class="small" aria-label=${`Show ${$} more of ${x(t)}`}
      onClick=${()=>c(s+100)}>Show ${$} more</button>
    <span class="quiet"> of ${(u-s).toLocaleString("en")}</span></p>`}`}function q({token:e,pointer:t,node:n,depth:r,open:o,adds:s}){let[c,f]=d(o.has(n)),i=m(n)>0,u=i&&!c?s.inside?.(t)??0:0,l=s.changed!==void 0&&s.changed.size>0&&(s.changed.has(t)||i&&!c&&[...s.changed].some($=>$.startsWith(t+"/")));return a`<div class=${"row"+(l?" changed":"")}>
      ${i&&a`<button type="button" class="fold" aria-expanded=${c}
        aria-label=${`${n.members?"Members":"Elements"} of ${x(t)}`} onClick=${()=>f(!c)}></button>`}
      <span class="at">${y(e,"the name",200)}:</span>${" "}
      ${A(t,n,s)}
      ${u>0&&a` <span class="quiet">${u} derived within</span>`}
      ${l&&a` <mark>changed</mark>`}
      ${s.beside?.(t)}
    </div>
    ${s.under?.(t)}
    ${i&&c&&a`<${T} node=${n} pointer=${t} depth=${r+1} open=${o} adds=${s} />`}`}function A(e,t,n){let r="token"+(n.marked?.(e)?" from-rule":"");if(p(t))return a`<span class=${L(t)?r:"count "+r}>${v(t)}</span>`;let o=n.href?.(e,t),s=y(t.raw,x(e));return o===void 0?a`<span class=${r}>${s}</span>`:a`<a class=${r} href=${o}>${s}</a>`}var x=e=>E(e.length>200?e.slice(0,200)+"…":e||"/"),L=e=>m(e)===0;function v(e){let t=m(e),n=e.members?"member":"element";return t===0?e.members?"{}":"[]":`${e.members?"{":"["} ${t.toLocaleString("en")} ${n}${t===1?"":"s"} ${e.members?"}":"]"}`}var D=new WeakMap;function N(e,t){let n=getSelection();if(!n||n.isCollapsed||!e.clipboardData)return;let r=n.getRangeAt(0),o=r.commonAncestorContainer,s=o instanceof Element?o:o.parentElement;if(s.closest(".row, .origin"))return;let c=s.closest('.json ul[role="list"]')??e.currentTarget.querySelector("ul");c&&(e.clipboardData.setData("text/plain",M(D.get(c)??t,c,r)),e.preventDefault())}function M(e,t,n){let r=w(e,"",t.children.length),o=[...t.children].flatMap((c,f)=>{if(!_(c,n))return[];let{token:i,node:u}=r[f],l=c.querySelector(':scope > ul[role="list"]'),$=l?M(u,l,n):S(u);return[{text:e.members?i+": "+$:$,isWhole:$===S(u)}]});if(o.length===m(e)&&o.every(({isWhole:c})=>c))return S(e);let s=o.map(c=>c.text.replaceAll(`
`,`
  `)).join(`,
  `);return e.members?`{
  ${s}
}`:`[
  ${s}
]`}function _(e,t){if(!t.intersectsNode(e))return!1;let n=document.createRange();n.selectNodeContents(e);let r=t.cloneRange();return r.compareBoundaryPoints(Range.START_TO_START,n)<0&&r.setStart(n.startContainer,n.startOffset),r.compareBoundaryPoints(Range.END_TO_END,n)>0&&r.setEnd(n.endContainer,n.endOffset),r.toString().trim()!==""}var S=e=>p(e)?e.raw.slice(e.start,e.end):e.raw;export{z as a,x as b};
