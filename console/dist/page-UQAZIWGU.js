import{a as ae,b as ce}from"./chunk-AWWDHEWY.js";import{a as se}from"./chunk-5VDGOZDF.js";import{i as le}from"./chunk-ZS5VJIZS.js";import"./chunk-IXPAAYGW.js";import{f as re,g as ie}from"./chunk-2SZUEHJ2.js";import{Ca as I,Ga as A,J as j,M as O,X as P,Z as B,aa as D,b,ba as R,c as N,ca as U,d as C,da as ee,e as y,ea as te,f as k,k as s,m as Q,ma as ne,o as T,oa as m,p as w,pa as _,r as Z,s as q,sa as S,va as v,wa as oe,xa as z,ya as H}from"./chunk-HGW6AYR2.js";async function $e(e){try{return await O({path:["_model"],signal:e})}catch(n){if(![401,403,404].includes(n?.status))throw n}let{collections:t}=await O({path:["_me"],query:{relations:!0},signal:e});return{collections:Object.fromEntries(Object.entries(t).map(([n,{relations:o={},derive:r={}}])=>[n,{relations:o,derive:Ae(r)}]))}}var Ae=e=>Object.fromEntries(Object.entries(e).map(([t,{kind:n,relation:o}])=>[t,{[n]:o??!0}]));function ue({root:e,adds:t={}}){let n=k(()=>ee(e),[e]);return s`<div class="json" onCopy=${o=>Me(o,e)}>${D(e)?s`<p class="quiet">${fe(e)}</p><${de} node=${e} pointer="" depth=${0} open=${n} adds=${t} />`:me("",e,t)}</div>`}function de({node:e,pointer:t,depth:n,open:o,adds:r}){let[i,a]=b(100),u=y(null),$=y(null);C(()=>{$.current&&pe.set($.current,e)},[e]);let c=R(e),d=i-100;C(()=>{d>0&&u.current?.focus()},[d]);let l=Math.min(100,c-i);return s`<ul role="list" ref=${$} class=${n>8?"deep":void 0}>
    ${U(e,t,i).map((p,h)=>s`<li key=${p.key} ref=${d>0&&h===d?u:void 0}
        tabindex=${d>0&&h===d?-1:void 0}>
      <${Ee} ...${p} depth=${n} open=${o} adds=${r} /></li>`)}
  </ul>
  ${l>0&&s`<p class="more"><button type="button" class="small" aria-label=${`Show ${l} more of ${E(t)}`}
      onClick=${()=>a(i+100)}>Show ${l} more</button>
    <span class="quiet"> of ${(c-i).toLocaleString("en")}</span></p>`}`}function Ee({token:e,pointer:t,node:n,depth:o,open:r,adds:i}){let[a,u]=b(r.has(n)),$=R(n)>0,c=$&&!a?i.inside?.(t)??0:0,d=i.changed!==void 0&&i.changed.size>0&&(i.changed.has(t)||$&&!a&&[...i.changed].some(l=>l.startsWith(t+"/")));return s`<div class=${"row"+(d?" changed":"")}>
      ${$&&s`<button type="button" class="fold" aria-expanded=${a}
        aria-label=${`${n.members?"Members":"Elements"} of ${E(t)}`} onClick=${()=>u(!a)}></button>`}
      <span class="at">${z(e,"the name",200)}:</span>${" "}
      ${me(t,n,i)}
      ${c>0&&s` <span class="quiet">${c} derived within</span>`}
      ${d&&s` <mark>changed</mark>`}
      ${i.beside?.(t)}
    </div>
    ${i.under?.(t)}
    ${$&&a&&s`<${de} node=${n} pointer=${t} depth=${o+1} open=${r} adds=${i} />`}`}function me(e,t,n){let o="token"+(n.marked?.(e)?" from-rule":"");if(D(t))return s`<span class=${Le(t)?o:"count "+o}>${fe(t)}</span>`;let r=n.href?.(e,t),i=z(t.raw,E(e));return r===void 0?s`<span class=${o}>${i}</span>`:s`<a class=${o} href=${r}>${i}</a>`}var E=e=>ne(e.length>200?e.slice(0,200)+"…":e||"/"),Le=e=>R(e)===0;function fe(e){let t=R(e),n=e.members?"member":"element";return t===0?e.members?"{}":"[]":`${e.members?"{":"["} ${t.toLocaleString("en")} ${n}${t===1?"":"s"} ${e.members?"}":"]"}`}var pe=new WeakMap;function Me(e,t){let n=getSelection();if(!n||n.isCollapsed||!e.clipboardData)return;let o=n.getRangeAt(0),r=o.commonAncestorContainer,i=r instanceof Element?r:r.parentElement;if(i.closest(".row, .origin"))return;let a=i.closest('.json ul[role="list"]')??e.currentTarget.querySelector("ul");a&&(e.clipboardData.setData("text/plain",he(pe.get(a)??t,a,o)),e.preventDefault())}function he(e,t,n){let o=U(e,"",t.children.length),r=[...t.children].flatMap((a,u)=>{if(!Ne(a,n))return[];let{token:$,node:c}=o[u],d=a.querySelector(':scope > ul[role="list"]'),l=d?he(c,d,n):J(c);return[{text:e.members?$+": "+l:l,isWhole:l===J(c)}]});if(r.length===R(e)&&r.every(({isWhole:a})=>a))return J(e);let i=r.map(a=>a.text.replaceAll(`
`,`
  `)).join(`,
  `);return e.members?`{
  ${i}
}`:`[
  ${i}
]`}function Ne(e,t){if(!t.intersectsNode(e))return!1;let n=document.createRange();n.selectNodeContents(e);let o=t.cloneRange();return o.compareBoundaryPoints(Range.START_TO_START,n)<0&&o.setStart(n.startContainer,n.startOffset),o.compareBoundaryPoints(Range.END_TO_END,n)>0&&o.setEnd(n.endContainer,n.endOffset),o.toString().trim()!==""}var J=e=>D(e)?e.raw.slice(e.start,e.end):e.raw;function K(e){return Object.entries(e?.collections??{}).flatMap(([t,n])=>Object.entries(n?.relations??{}).map(([o,r])=>({collection:t,name:o,path:ge(String(r.path)),to:String(r.to)})))}function be(e,t){let n=Object.entries(e?.collections?.[t]?.derive??{}).flatMap(([o,r])=>{let{ids:i,recent:a}=r,u=i??a;return typeof u=="string"?[{path:ge(o+(i?"[]":"[].id")),to:u.slice(0,u.indexOf("."))}]:[]});return[...K(e).filter(o=>o.collection===t),...n]}var ge=e=>e.split(".").flatMap(t=>t.split("[]"));function V(e,t){let n=t.indexOf(".");return e?.collections?.[t.slice(0,n)]?.derive?.[t.slice(n+1)]}var Te=["copy","count","sum","min","max","avg","ids","recent"];function L(e,t){let n=V(t,e.rule),o=e.kind??Te.find(r=>n?.[r]!==void 0)??(n?"value":"derived");return o==="value"?"computed":String(o)}function M(e){if(e?.kind==="number")return e.raw;let t=e?.kind==="string"?JSON.parse(e.raw):"";return t===""?void 0:t}var xe=(e,t)=>e.length===t.length&&t.every((n,o)=>n===""?/^\d+$/.test(e[o]):n===e[o]);function ye(e,t){let n=[e];for(let o of t)n=o===""?n.flatMap(r=>r?.elements??[]):n.map(r=>w(r,o));return[...new Set(n.map(M).filter(o=>o!==void 0))]}var je=20,Y=e=>e.collection+"."+e.name,we=(e,t,n,o)=>({path:[...e,n.collection],query:{relation:n.name,fields:"id",...o},headers:{"Fanfold-Min-Position":t}});function ke({parts:e,position:t,model:n}){let[o,r]=b({}),[i,a]=b(0),u=K(n).filter($=>$.to===e[0]);return N(()=>{let $=new AbortController;return(async()=>{for(let c of u){let d=await O({...we(e,t,c,{count:!0,limit:1}),signal:$.signal}).then(({count:l})=>({count:l}),l=>({problem:$.signal.aborted?void 0:B(l)}));if($.signal.aborted)return;r(l=>({...l,[Y(c)]:d}))}})(),()=>$.abort()},[n,t,i]),u.length===0?null:s`<section aria-label="Referred to by"><h2>Referred to by</h2>
    ${u.map($=>s`<${Pe} key=${Y($)} parts=${e} position=${t} relation=${$}
      counted=${o[Y($)]??{}} again=${()=>a(i+1)} />`)}</section>`}function Pe({parts:e,position:t,relation:n,counted:o,again:r}){let[i,a]=b(null),u=async()=>{let d=i??{ids:[],busy:!1};a({...d,busy:!0,problem:void 0});try{let l=Q((await j(we(e,t,n,{limit:je,cursor:d.next}))).text),p=(w(l,"items")?.elements??[]).map(h=>M(w(h,"id"))??"");a({ids:[...d.ids,...p],next:T(w(l,"next")),busy:!1})}catch(l){a({...d,busy:!1,problem:B(l)})}},$=`${n.collection} by ${n.name}`,c=Number(o.count??0);return s`<div class="tie"><header><h3><${m} text=${n.collection} max=${200} /> <span class="quiet">by <${m}
    text=${n.name} max=${200} />${o.count!==void 0&&": "+c.toLocaleString("en")}</span></h3>
      ${c>0&&s`<button type="button" class="small" aria-expanded=${i!==null} aria-label=${`Show ${$}`}
        onClick=${()=>i===null?u():a(null)}>Show</button>`}</header>
    ${[401,403].includes(o.problem?.status??0)?s`<p class="quiet">You may not read them.</p>`:s`<${A}
      problem=${o.problem} again=${r} />`}
    ${i&&s`<${v} ids label=${$} items=${i.ids} busy=${i.busy} more=${i.next&&u}
        item=${d=>s`<${S} collection=${n.collection} id=${d} short />`} />
      <${A} problem=${i.problem} again=${u} asked />`}</div>`}function Oe({doc:e,collection:t,at:n,model:o}){let r=e.root,i=k(()=>r?K(o).filter(a=>a.collection===t).map(a=>({...a,ids:ye(r,a.path)})):[],[r,o]);return i.length===0?null:s`<section aria-label="Refers to"><h2>Refers to</h2>${i.map(a=>s`<div key=${a.name} class="tie">
    <h3><${m} text=${a.name} max=${200} /> <span class="quiet">in <${m} text=${a.to}
      max=${200} />: ${a.ids.length.toLocaleString("en")}</span></h3>
    ${a.ids.length>0&&s`<${v} ids label=${`To ${a.to} by ${a.name}`} items=${a.ids}
      item=${u=>s`<${S} collection=${a.to} id=${u} at=${n} short />`} />`}
  </div>`)}</section>`}function Se({lineage:e}){if(!e)return null;let t=e.copies.filter(n=>Number(n.documents)>0||n.more||n.reason);return s`<section aria-label="Carried by"><h2>Carried by</h2>
    ${t.length===0&&s`<p class="quiet">No document carries anything of this one.</p>`}
    ${t.map(n=>s`<${De} key=${n.rule} of=${n} />`)}</section>`}function De({of:e}){let[t,n]=b(!1),o=e.rule.slice(0,e.rule.indexOf(".")),r=Number(e.documents);return s`<div class="tie"><header><h3><code><${m} text=${e.rule} max=${300} /></code><span
    class="quiet">: ${r.toLocaleString("en")}</span></h3>
      ${r>0&&s`<button type="button" class="small" aria-expanded=${t} aria-label=${`Show carriers by ${e.rule}`}
        onClick=${()=>n(!t)}>Show</button>`}</header>
    ${e.reason&&s`<p class="quiet"><${m} text=${e.reason} max=${1e3} /></p>`}
    ${e.more>0&&s`<p class="quiet">${Number(e.more).toLocaleString("en")} more ids were not looked for.</p>`}
    ${t&&s`<${v} ids label=${`Carriers by ${e.rule}`} items=${e.first} item=${i=>s`<${S}
        collection=${o} id=${i} short />`} />
      ${r>e.first.length&&s`<p
        class="quiet">The first ${e.first.length} of ${r.toLocaleString("en")} are listed.</p>`}`}</div>`}function ve({lineage:e,model:t}){let n=(e?.derived??[]).filter(r=>r.state==="no value"),o=e?.unguarded??[];return s`${n.length>0&&s`<section aria-label="Absent values"><h2>Without a value</h2>
      <${v} label="Without a value" items=${n} item=${r=>s`<code><${m} text=${r.path||r.rule} max=${300} /></code> <${G} kind=${L(r,t)} />
        <div class="quiet">${r.hidden?"You may not read the collection that it would come from.":s`<${m}
          text=${r.reason||"No reason is known."} max=${1e3} />`}</div>
        ${(r.sources??[]).slice(0,3).map(i=>s`<${S} collection=${i.collection}
          id=${i.id} /> `)}`} /></section>`}
    ${o.length>0&&s`<section aria-label="Not unique"><h2>Not compared as unique</h2>
      <${v} label="Not compared as unique" items=${o} item=${r=>s`<code><${m}
        text=${r.unique} max=${300} /></code> <div class="quiet"><${m} text=${r.reason} max=${1e3} /></div>`} /></section>`}
    ${e?.more>0&&s`<p class="quiet">${Number(e.more).toLocaleString("en")} more derived values are not listed.</p>`}`}function qe({value:e,parts:t,model:n,onClose:o}){let r=y(null);C(()=>r.current?.focus(),[]);let i=V(n,e.rule);return s`<section aria-label="Origin" class="origin" onKeyDown=${u=>{u.key==="Escape"&&o()}}>
    <h2 tabindex="-1" ref=${r}>Origin of <code><${m} text=${e.path} max=${500} /></code></h2>
    <dl>
      <dt>Kind</dt><dd>${L(e,n)}</dd>
      ${e.state&&s`<dt>State</dt><dd><${m} text=${_e(e.state)} /></dd>`}
      <dt>Rule</dt><dd><code><${m} text=${e.rule} max=${500} /></code>${i&&s`<br /><code class="quiet"><${m}
        text=${Fe(i)} max=${2e3} /></code>`}</dd>
      <dt>Sources</dt><dd><${Ke} value=${e} /></dd>
      ${e.reason&&s`<dt>Reason</dt><dd><${m} text=${e.reason} max=${2e3} /></dd>`}
      <dt>Event</dt><dd><${We} event=${e.event} parts=${t} /></dd>
    </dl>
    <button type="button" onClick=${o}>Close</button>
  </section>`}var _e=e=>({frozen:"frozen: the value of the moment when the document began to refer to the source",kept:"kept: the source is deleted, and the value stays"})[e]??e,Fe=e=>Object.entries(e).map(([t,n])=>`${t}: ${typeof n=="string"?n:JSON.stringify(n)}`).join(", ");function Ke({value:e}){if(e.hidden)return"You may not read the collection that it comes from.";let t=e.sources??[];return t.length===0?Number(e.documents)>0?`${H(Number(e.documents))} documents`:"no document":s`<${v} ids label="Sources" items=${t} item=${n=>s`<${S}
    collection=${n.collection} id=${n.id} />${n.rev===void 0&&s` <span class="quiet">is gone</span>`}`} />
    ${Number(e.documents)>t.length&&s`<p
      class="quiet">The first ${t.length} of ${H(Number(e.documents))} documents.</p>`}`}function We({event:e,parts:t}){return e?e.seq?s`<a href=${q(t,{at:e.seq})}><${m} text=${e.seq} /></a>${e.time&&s`, <${_}
    text=${e.time} />`}${e.op&&s`, <${m} text=${e.op} />`}${e.collection?s` by <${S} collection=${e.collection} id=${e.id} />`:e.op==="derive"&&""}${e.reason&&s`. <${m} text=${e.reason} max=${1e3} />`}`:s`<${m} text=${e.reason??"not known"} max=${1e3} />`:"further back in the history than is looked"}var G=({kind:e,state:t})=>s`<span class="kind"><${m} text=${e} max=${40} />${t&&t!=="no value"&&s`, <${m} text=${t}
    max=${80} />`}</span>`;var Be=200;function Lt({place:e}){let{parts:t}=e,n=Je(e),o=e.params.get("at"),r=P(async x=>({...await Ve({...n,signal:x}),at:o}),[o]),{problem:i,busy:a,stale:u,again:$}=r,c=u&&i?void 0:r.value,d=c?c.at:o,l=d===null,p=P(async x=>c?$e(x):void 0,[c]),h=P(async x=>c&&l?Ye(t,c.position,x):void 0,[c,d]),{rows:f,changed:g}=Ue(t,l&&!u?c?.position??"":"",a,$);return s`<${ae} place=${e} position=${u?"":c?.position??""} />
    <${ce} place=${e} problem=${i} again=${$}>${i?.status===404&&s`<p>See the <a
      href=${q([t[0]],{at:o})}>collection</a>.</p>`}<//>
    ${!c&&i&&s`<${I} asked=${n} />`}
    <${se} of=${r} shape="text">${c&&s`<div class="facts"><p class="quiet">Revision <${m} text=${c.revision} />, written <${_} text=${c.written} />
        ${l&&s`, seen at <code>${c.position}</code>`}.
      ${" "}<a href=${q([...t,"_history"])}>History</a></p>
      ${l&&s`<${le} collection=${t[0]} id=${t[1]} etag=${c.etag} />`}</div>
    <div class="beside"><div>
      <${He} doc=${c} parts=${t} at=${d} lineage=${l?h.value:void 0} model=${p.value}
        changed=${g} />
      ${l&&s`<${ie} rows=${f} />`}
      <${I} asked=${n} />
    </div><div>
      <${A} problem=${h.problem??p.problem} again=${h.problem?h.again:p.again} />
      ${l&&s`<${ve} lineage=${h.value} model=${p.value} />`}
      <${Oe} doc=${c} collection=${t[0]} at=${d} model=${p.value} />
      ${l&&s`<${ke} parts=${t} position=${c.position} model=${p.value} />
        <${Se} lineage=${h.value} />`}
    </div></div>`}<//>`}function Ue([e,t],n,o,r){let i=y("");(i.current===""||n==="")&&(i.current=n);let[a,u]=b(!1),[$,c]=b(new Set),d=re([e],i.current,l=>l.id===t,l=>{c(new Set(l.flatMap(p=>(p.patch?.elements??[]).map(h=>T(w(h,"path"))??"")).slice(0,Be))),u(!0)});return N(()=>{!a||o||(u(!1),r())},[a,o]),{rows:d,changed:$}}function ze({text:e,name:t}){let n=()=>{let o=URL.createObjectURL(new Blob([e],{type:"application/json"})),r=document.createElement("a");r.href=o,r.download=t,r.click(),setTimeout(()=>URL.revokeObjectURL(o),6e4)};return s`<p>The document has ${e.length.toLocaleString("en")} characters, and is shown as text. <button type="button"
    onClick=${n}>Download</button></p>
    <div class="json whole"><${oe} text=${e} of="the document" first=${1e4} /></div>`}function He({doc:e,parts:t,at:n,lineage:o,model:r,changed:i}){let[a,u]=b(""),$=k(()=>Ie(o),[o]),c=k(()=>be(r,t[0]),[r]),d=y(null),l=()=>{d.current?.focus(),u("")},p=(f,g)=>{d.current=g.currentTarget,u(f)},h={marked:f=>$.values.has(f),inside:f=>$.inside.get(f)??0,beside:f=>{let g=$.values.get(f);return g&&s` <${G} kind=${L(g,r)} state=${g.state} /> <button type="button" class="small"
        aria-label=${`Origin of ${E(f)}`} aria-expanded=${a===f}
          onClick=${x=>a===f?l():p(f,x)}>Origin</button>`},under:f=>a===f&&$.values.has(f)&&s`<${qe} key=${f} value=${$.values.get(f)} parts=${t} model=${r} onClose=${l} />`,href:(f,g)=>{let x=c.length?te(f):[],W=c.find(Ce=>xe(x,Ce.path)),X=W&&M(g);return W&&X!==void 0?q([W.to,X],{at:n}):void 0},changed:i};return s`<section aria-label="Document">${e.root?s`<${ue} root=${e.root} adds=${h} />`:s`<${ze} text=${e.text} name=${t.join("-")+".json"} />`}</section>`}function Ie(e){let t=new Map,n=new Map;for(let o of e?.derived??[])if(!(!o.path||o.state==="no value")){t.set(o.path,o);for(let r=o.path.lastIndexOf("/");r>0;r=o.path.lastIndexOf("/",r-1)){let i=o.path.slice(0,r);n.set(i,(n.get(i)??0)+1)}}return{values:t,inside:n}}var Re=4<<20,Je=({parts:e,params:t})=>({path:e,query:{at:t.get("at")}});async function Ve(e){let{text:t,headers:n}=await j(e),o=t.length<=Re&&new Blob([t]).size<=Re;return{text:t,root:o?await Z(t,e.signal):void 0,revision:n.get("Fanfold-Revision")??"",etag:n.get("ETag")??"",position:n.get("Fanfold-Position")??"",written:n.get("Last-Modified")??""}}var Ye=(e,t,n)=>O({path:[...e,"_lineage"],headers:{"Fanfold-Min-Position":t},signal:n});export{Lt as DocumentPage,He as DocumentRegion,ze as WholeText,Je as askedOf,Ve as load,Ye as loadLineage};
