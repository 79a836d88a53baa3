import{a as V,b as W}from"./chunk-AWWDHEWY.js";import{f as w}from"./chunk-ZS5VJIZS.js";import"./chunk-IXPAAYGW.js";import{c as D,f as U,g as Q}from"./chunk-2SZUEHJ2.js";import{Ca as _,Ga as O,J as C,M as k,X as A,Z as F,b as p,c as g,e as S,k as i,n as N,o as P,oa as b,p as y,r as v,s as h,sa as T,v as j}from"./chunk-HGW6AYR2.js";var z=["filter","params","sort","fields","at"];function B({place:t,columns:n}){let{parts:e,params:o}=t,[s,r]=p(()=>I(o));g(()=>r(I(o)),[o.toString()]);let l=!!o.get("at"),c=$=>{$.preventDefault();let m=s.at.trim()===""?z:["fields","at"],f=Object.fromEntries(m.map(d=>[d,s[d].trim()||void 0])),a=$.submitter?.getAttribute("name")==="explain"&&!f.at?!0:void 0;j(h(e,{...f,limit:o.get("limit")||void 0,maxScan:o.get("maxScan")||void 0,explain:a}))},u=($,m,f)=>i`<label class=${m}>${$}
    <input name=${m} value=${s[m]} placeholder=${f}
      onInput=${a=>r({...s,[m]:a.target.value})} autocomplete="off" autocapitalize="off"
        spellcheck=${!1} /></label>`;return i`<form aria-label="Query" class="query" onSubmit=${c}>
    ${!l&&i`${u("Filter","filter","doc.year > params.since")}
      ${u("Parameters","params",'{"since": 1900}')}
      ${u("Sort","sort","-year,title")}`}
    ${u("Columns","fields",n.join(",")||"title,authors[].name")}
    ${u("At","at","a position or a time")}
    <span class="actions"><button type="submit" class="main">Run</button>${!l&&i`<button type="submit"
      name="explain">Explain</button>`}</span>
  </form>`}var I=t=>Object.fromEntries(z.map(n=>[n,t.get(n)??""])),it=8,q=200,at=/[.,[\](){}"']|^-|^\s|\s$|^$/,H=t=>t.split(",").map(n=>n.trim()).filter(n=>n!=="");function Y(t){let n=new Map;for(let o of t)for(let s of new Set(o.members?.map(r=>r.name)))s!=="id"&&s!=="_meta"&&!at.test(s)&&n.set(s,(n.get(s)??0)+1);let e=new Set([...n].sort((o,s)=>s[1]-o[1]).slice(0,it).map(([o])=>o));return[...n.keys()].filter(o=>e.has(o))}function G(t,n){let e="";for(let o of E(t,lt(n)))if(e+=(e===""?"":", ")+N(o),e.length>q)break;return e}var lt=t=>t.split(".").flatMap(n=>{let e=n.replace(/(\[\])+$/,"");return[e,...Array((n.length-e.length)/2).fill("[]")]});function*E(t,[n,...e]){if(t)if(n===void 0)yield t;else if(n!=="[]")yield*E(t.members?.findLast(o=>o.name===n)?.value,e);else for(let o of t.elements??[])yield*E(o,e)}var ct={index:"as the index has it",sorted:"sorted after reading",plan:"that of the walk; no sort was asked for"};function K({place:t}){let n=ft(t),{value:e,problem:o,again:s}=A(async l=>(await k({...n,signal:l})).explain,[JSON.stringify(n)]),r=new URLSearchParams(t.params);return r.delete("explain"),i`<section aria-label="Plan" class="plan"><h2>Plan</h2>
    ${o?.status!==400&&i`<${O} problem=${o} again=${s} />`}
    ${e&&i`<${ut} plan=${e} />`}
    <p><a href=${h(t.parts,r)}>Close the plan</a></p></section>`}function ut({plan:t}){let n=t.index===null?"Walked no index":`Walked ${t.entries.toLocaleString("en")} of ${t.index}`,e=(r,l)=>i`<dt>${r}</dt><dd>${l}</dd>`,o=r=>i`<code><${b} text=${r} max=${4e3} /></code>`,s=`read ${J(t.documents)}, of which ${t.matched.toLocaleString("en")} match`;return i`<p role="status">
    ${n}, ${s}, in ${(t.seconds*1e3).toFixed(1)} ms.
      ${!t.complete&&" A bound was passed: without “Explain” this is refused."}</p>
    <dl>
      ${t.conditions.length>0&&e("Decided by the index",o(t.conditions.join(" && ")))}
      ${t.residual&&e("Asked each document",o(t.residual))}
      ${t.noValue>0&&e("Without a value",J(t.noValue))}
      ${e("Order",ct[t.order]??t.order)}
      ${t.rejected?.length>0&&e("Not taken",i`<ul class="rejected">${t.rejected.map(r=>i`<li>
        ${o(r.index)}: <${b} text=${r.why} max=${1e3} /></li>`)}</ul>`)}
    </dl>
    <${w} suggest=${t.suggest} />`}var J=t=>`${t.toLocaleString("en")} document${t===1?"":"s"}`,Z=["filter","params","sort","maxScan","partial"],X=["fields","limit","cursor"],dt=20,mt=100;function R({parts:t,params:n}){let e=n.get("at")?["at",...X]:[...Z,...X];return{path:[t[0]],query:{limit:n.get("fields")?mt:dt,...nt(n,e)}}}var tt=({parts:t,params:n})=>({path:[t[0]],query:{...nt(n,Z),fields:"id",limit:1,count:!0}});function ft(t){let{path:n,query:e}=R(t);return{path:n,query:{...e,explain:!0}}}function et(t,n,e){let o=new URLSearchParams(n.map(s=>["id",s]));return e.length&&o.set("fields",e.join(",")),{path:[t],query:o}}var nt=(t,n)=>Object.fromEntries(n.map(e=>[e,t.get(e)??""]).filter(([,e])=>e!==""));async function ot(t){let{text:n,headers:e}=await C(t),o=await v(n,t.signal),s=y(o,"items")?.elements??[];return{documents:s,ids:s.map(st),columns:t.query.fields?H(t.query.fields):Y(s),next:P(y(o,"next"))??"",position:e.get("Fanfold-Position")??""}}async function $t(t,n,e,o,s){let{text:r}=await C({...et(t,n,e),headers:{"Fanfold-Min-Position":o},signal:s}),l=y(await v(r,s),"items")?.elements??[];return new Map(l.map(c=>[st(c),c]))}var st=t=>P(y(t,"id"))??"",pt=50;function rt(t,n,e){let o=e?n?.position??"":"",[s,r]=p(new Map),[l,c]=p(0),u=S({ids:new Set([]),position:"",busy:!1,ending:new AbortController});g(()=>(r(new Map),c(0),u.current={ids:new Set,position:"",busy:!1,ending:new AbortController},()=>u.current.ending.abort()),[n]);let $=a=>n?.ids.includes(a)??!1;D([t],o,a=>c(d=>d+a.filter(x=>!$(x.id)).length));let m=U([t],o,a=>$(a.id),a=>{for(let d of a)u.current.ids.add(d.id);u.current.position=a[a.length-1].seq,f(u.current)}),f=async a=>{if(!(a.busy||!n)){a.busy=!0;try{for(;a.ids.size>0&&!a.ending.signal.aborted;){let d=[...a.ids].slice(0,pt),x=await $t(t,d,n.columns,a.position,a.ending.signal);if(a.ending.signal.aborted)return;for(let L of d)a.ids.delete(L);r(L=>new Map([...L,...d.map(M=>[M,x.get(M)??null])]))}}catch{}finally{a.busy=!1}}};return{rows:m,changed:s,others:l}}function Bt({place:t}){let{parts:[n],params:e}=t,o=e.get("at")||null,s=R(t),{value:r,problem:l,busy:c,again:u}=A(x=>ot({...s,signal:x}),[JSON.stringify(s)]),{rows:$,changed:m,others:f}=rt(n,r,o===null&&!c&&!l),a=l?void 0:r,d=o===null&&e.get("explain")==="true";return i`<${V} place=${t} position=${a?.position??""} />
    <${B} place=${t} columns=${r?.columns??[]} />
    ${d&&i`<${K} place=${t} />`}
    <${W} place=${t} problem=${l} again=${u}>${l?.kind==="needs-index"&&!d&&i`<${w}
      suggest=${l.of.suggest} />`}<//>
    <div class="above">${a&&i`<span role="status" class="quiet">${gt(a,e)}</span>`}
      ${a&&o===null&&i`<${yt} key=${JSON.stringify(s.query)} place=${t} />`}
      ${f>0&&i`<span class="quiet">
        ${f.toLocaleString("en")} change${f===1?"":"s"} of other documents since. <button type="button" class="small"
          onClick=${u}>Load anew</button></span>`}
      ${o===null&&i`<a class="button" href=${h([n],{new:""})}>New document</a>`}</div>
    ${a&&i`${a.documents.length>0&&i`<${bt} collection=${n} at=${o} page=${a} changed=${m} />`}
      <${ht} place=${t} page=${a} />`}
    ${o===null&&i`<${Q} rows=${$} />`}
    <${_} asked=${s} />`}function gt({documents:t,next:n},e){let o=t.length;return o>0?`${o} document${o===1?"":"s"}${n||e.get("cursor")?" on this page":""}.`:n?"No document on this page.":e.get("cursor")?"No more documents.":e.get("filter")&&!e.get("at")?"No document matches.":"There are no documents."}function ht({place:{parts:t,params:n},page:e}){let o=s=>{let r=new URLSearchParams(n);return r.delete("explain"),r.delete("cursor"),s!==""&&(e.columns.length&&r.set("fields",e.columns.join(",")),r.set("cursor",s)),h(t,r)};return!n.get("cursor")&&!e.next?null:i`<p class="actions">${n.get("cursor")&&i`<a href=${o("")}>First page</a>`}${e.next&&i`<a
    href=${o(e.next)}>Next page</a>`}</p>`}var bt=({collection:t,at:n,page:e,changed:o})=>i`<div class="scroll" tabindex="0" role="group" aria-label="Table of documents"><table aria-label="Documents" class="grid">
    <thead><tr><th scope="col">id</th>${e.columns.map(s=>i`<th scope="col" key=${s}><${b} text=${s} max=${100} />
      </th>`)}</tr></thead>
    <tbody>${e.documents.map((s,r)=>{let l=e.ids[r],c=o.get(l);return i`<${xt} key=${l} collection=${t} at=${n} id=${l} doc=${c??s} columns=${e.columns}
        mark=${c===null?"gone":c&&"changed"} />`})}</tbody>
  </table></div>`,xt=({collection:t,at:n,id:e,doc:o,columns:s,mark:r})=>i`<tr class=${r}>
    <th scope="row"><div class="cell"><${T} collection=${t} id=${e} at=${n} short />${r&&i` <span
      class="kind">${r}</span>`}</div></th>
    ${s.map(l=>i`<td key=${l}><div class="cell"><${b} text=${G(o,l)} max=${q} /></div></td>`)}
  </tr>`;function yt({place:t}){let[n,e]=p({}),o=S(new AbortController);g(()=>()=>o.current.abort(),[]);let s=async()=>{e({busy:!0});try{e({count:(await k({...tt(t),signal:o.current.signal})).count})}catch(u){o.current.signal.aborted||e({problem:F(u)})}},{busy:r,count:l,problem:c}=n;return i`<button type="button" class="small" aria-disabled=${r?"true":void 0}
    onClick=${r?void 0:s}>Count</button>
    ${" "}<span role="status">${r&&"Counting"}
      ${l!==void 0&&`${l.toLocaleString("en")} ${t.params.get("filter")?"match":"in all"}.`}</span>
    <${O} problem=${c}>${c?.kind==="needs-index"&&i`<${w} suggest=${c.of.suggest} />`}<//>`}export{Bt as CollectionPage,yt as Count,bt as DocumentsTable};
