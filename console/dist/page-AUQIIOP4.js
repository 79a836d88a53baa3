import{a as te,b as ne}from"./chunk-45PMTKMZ.js";import{a as Q,b as Z}from"./chunk-AWWDHEWY.js";import{a as Y}from"./chunk-5VDGOZDF.js";import{j as ee}from"./chunk-IUF47GU2.js";import"./chunk-IXPAAYGW.js";import{f as X,g as G}from"./chunk-2SZUEHJ2.js";import{Ca as K,Ga as R,J as M,M as k,X as j,Z as D,b as g,c as A,d as B,e as S,ea as V,f as q,k as s,m as I,o as N,oa as u,p as y,pa as E,r as J,s as v,sa as O,va as w,wa as W,ya as _}from"./chunk-HGW6AYR2.js";async function oe(e){try{return await k({path:["_model"],signal:e})}catch(n){if(![401,403,404].includes(n?.status))throw n}let{collections:t}=await k({path:["_me"],query:{relations:!0},signal:e});return{collections:Object.fromEntries(Object.entries(t).map(([n,{relations:o={},derive:i={}}])=>[n,{relations:o,derive:he(i)}]))}}var he=e=>Object.fromEntries(Object.entries(e).map(([t,{kind:n,relation:o}])=>[t,{[n]:o??!0}]));function P(e){return Object.entries(e?.collections??{}).flatMap(([t,n])=>Object.entries(n?.relations??{}).map(([o,i])=>({collection:t,name:o,path:ie(String(i.path)),to:String(i.to)})))}function se(e,t){let n=Object.entries(e?.collections?.[t]?.derive??{}).flatMap(([o,i])=>{let{ids:r,recent:a}=i,d=r??a;return typeof d=="string"?[{path:ie(o+(r?"[]":"[].id")),to:d.slice(0,d.indexOf("."))}]:[]});return[...P(e).filter(o=>o.collection===t),...n]}var ie=e=>e.split(".").flatMap(t=>t.split("[]"));function F(e,t){let n=t.indexOf(".");return e?.collections?.[t.slice(0,n)]?.derive?.[t.slice(n+1)]}var be=["copy","count","sum","min","max","avg","ids","recent"];function C(e,t){let n=F(t,e.rule),o=e.kind??be.find(i=>n?.[i]!==void 0)??(n?"value":"derived");return o==="value"?"computed":String(o)}function L(e){if(e?.kind==="number")return e.raw;let t=e?.kind==="string"?JSON.parse(e.raw):"";return t===""?void 0:t}var re=(e,t)=>e.length===t.length&&t.every((n,o)=>n===""?/^\d+$/.test(e[o]):n===e[o]);function ae(e,t){let n=[e];for(let o of t)n=o===""?n.flatMap(i=>i?.elements??[]):n.map(i=>y(i,o));return[...new Set(n.map(L).filter(o=>o!==void 0))]}var xe=20,H=e=>e.collection+"."+e.name,ce=(e,t,n,o)=>({path:[...e,n.collection],query:{relation:n.name,fields:"id",...o},headers:{"Fanfold-Min-Position":t}});function le({parts:e,position:t,model:n}){let[o,i]=g({}),[r,a]=g(0),d=P(n).filter($=>$.to===e[0]);return A(()=>{let $=new AbortController;return(async()=>{for(let c of d){let f=await k({...ce(e,t,c,{count:!0,limit:1}),signal:$.signal}).then(({count:l})=>({count:l}),l=>({problem:$.signal.aborted?void 0:D(l)}));if($.signal.aborted)return;i(l=>({...l,[H(c)]:f}))}})(),()=>$.abort()},[n,t,r]),d.length===0?null:s`<section aria-label="Referred to by"><h2>Referred to by</h2>
    ${d.map($=>s`<${ge} key=${H($)} parts=${e} position=${t} relation=${$}
      counted=${o[H($)]??{}} again=${()=>a(r+1)} />`)}</section>`}function ge({parts:e,position:t,relation:n,counted:o,again:i}){let[r,a]=g(null),d=async()=>{let f=r??{ids:[],busy:!1};a({...f,busy:!0,problem:void 0});try{let l=I((await M(ce(e,t,n,{limit:xe,cursor:f.next}))).text),p=(y(l,"items")?.elements??[]).map(h=>L(y(h,"id"))??"");a({ids:[...f.ids,...p],next:N(y(l,"next")),busy:!1})}catch(l){a({...f,busy:!1,problem:D(l)})}},$=`${n.collection} by ${n.name}`,c=Number(o.count??0);return s`<div class="tie"><header><h3><${u} text=${n.collection} max=${200} /> <span class="quiet">by <${u}
    text=${n.name} max=${200} />${o.count!==void 0&&": "+c.toLocaleString("en")}</span></h3>
      ${c>0&&s`<button type="button" class="small" aria-expanded=${r!==null} aria-label=${`Show ${$}`}
        onClick=${()=>r===null?d():a(null)}>Show</button>`}</header>
    ${[401,403].includes(o.problem?.status??0)?s`<p class="quiet">You may not read them.</p>`:s`<${R}
      problem=${o.problem} again=${i} />`}
    ${r&&s`<${w} ids label=${$} items=${r.ids} busy=${r.busy} more=${r.next&&d}
        item=${f=>s`<${O} collection=${n.collection} id=${f} short />`} />
      <${R} problem=${r.problem} again=${d} asked />`}</div>`}function de({doc:e,collection:t,at:n,model:o}){let i=e.root,r=q(()=>i?P(o).filter(a=>a.collection===t).map(a=>({...a,ids:ae(i,a.path)})):[],[i,o]);return r.length===0?null:s`<section aria-label="Refers to"><h2>Refers to</h2>${r.map(a=>s`<div key=${a.name} class="tie">
    <h3><${u} text=${a.name} max=${200} /> <span class="quiet">in <${u} text=${a.to}
      max=${200} />: ${a.ids.length.toLocaleString("en")}</span></h3>
    ${a.ids.length>0&&s`<${w} ids label=${`To ${a.to} by ${a.name}`} items=${a.ids}
      item=${d=>s`<${O} collection=${a.to} id=${d} at=${n} short />`} />`}
  </div>`)}</section>`}function $e({lineage:e}){if(!e)return null;let t=e.copies.filter(n=>Number(n.documents)>0||n.more||n.reason);return s`<section aria-label="Carried by"><h2>Carried by</h2>
    ${t.length===0&&s`<p class="quiet">No document carries anything of this one.</p>`}
    ${t.map(n=>s`<${ye} key=${n.rule} of=${n} />`)}</section>`}function ye({of:e}){let[t,n]=g(!1),o=e.rule.slice(0,e.rule.indexOf(".")),i=Number(e.documents);return s`<div class="tie"><header><h3><code><${u} text=${e.rule} max=${300} /></code><span
    class="quiet">: ${i.toLocaleString("en")}</span></h3>
      ${i>0&&s`<button type="button" class="small" aria-expanded=${t} aria-label=${`Show carriers by ${e.rule}`}
        onClick=${()=>n(!t)}>Show</button>`}</header>
    ${e.reason&&s`<p class="quiet"><${u} text=${e.reason} max=${1e3} /></p>`}
    ${e.more>0&&s`<p class="quiet">${Number(e.more).toLocaleString("en")} more ids were not looked for.</p>`}
    ${t&&s`<${w} ids label=${`Carriers by ${e.rule}`} items=${e.first} item=${r=>s`<${O}
        collection=${o} id=${r} short />`} />
      ${i>e.first.length&&s`<p
        class="quiet">The first ${e.first.length} of ${i.toLocaleString("en")} are listed.</p>`}`}</div>`}function ue({lineage:e,model:t}){let n=(e?.derived??[]).filter(i=>i.state==="no value"),o=e?.unguarded??[];return s`${n.length>0&&s`<section aria-label="Absent values"><h2>Without a value</h2>
      <${w} label="Without a value" items=${n} item=${i=>s`<code><${u} text=${i.path||i.rule} max=${300} /></code> <${U} kind=${C(i,t)} />
        <div class="quiet">${i.hidden?"You may not read the collection that it would come from.":s`<${u}
          text=${i.reason||"No reason is known."} max=${1e3} />`}</div>
        ${(i.sources??[]).slice(0,3).map(r=>s`<${O} collection=${r.collection}
          id=${r.id} /> `)}`} /></section>`}
    ${o.length>0&&s`<section aria-label="Not unique"><h2>Not compared as unique</h2>
      <${w} label="Not compared as unique" items=${o} item=${i=>s`<code><${u}
        text=${i.unique} max=${300} /></code> <div class="quiet"><${u} text=${i.reason} max=${1e3} /></div>`} /></section>`}
    ${e?.more>0&&s`<p class="quiet">${Number(e.more).toLocaleString("en")} more derived values are not listed.</p>`}`}function me({value:e,parts:t,model:n,onClose:o}){let i=S(null);B(()=>i.current?.focus(),[]);let r=F(n,e.rule);return s`<section aria-label="Origin" class="origin" onKeyDown=${d=>{d.key==="Escape"&&o()}}>
    <h2 tabindex="-1" ref=${i}>Origin of <code><${u} text=${e.path} max=${500} /></code></h2>
    <dl>
      <dt>Kind</dt><dd>${C(e,n)}</dd>
      ${e.state&&s`<dt>State</dt><dd><${u} text=${ke(e.state)} /></dd>`}
      <dt>Rule</dt><dd><code><${u} text=${e.rule} max=${500} /></code>${r&&s`<br /><code class="quiet"><${u}
        text=${Oe(r)} max=${2e3} /></code>`}</dd>
      <dt>Sources</dt><dd><${we} value=${e} /></dd>
      ${e.reason&&s`<dt>Reason</dt><dd><${u} text=${e.reason} max=${2e3} /></dd>`}
      <dt>Event</dt><dd><${ve} event=${e.event} parts=${t} /></dd>
    </dl>
    <button type="button" onClick=${o}>Close</button>
  </section>`}var ke=e=>({frozen:"frozen: the value of the moment when the document began to refer to the source",kept:"kept: the source is deleted, and the value stays"})[e]??e,Oe=e=>Object.entries(e).map(([t,n])=>`${t}: ${typeof n=="string"?n:JSON.stringify(n)}`).join(", ");function we({value:e}){if(e.hidden)return"You may not read the collection that it comes from.";let t=e.sources??[];return t.length===0?Number(e.documents)>0?`${_(Number(e.documents))} documents`:"no document":s`<${w} ids label="Sources" items=${t} item=${n=>s`<${O}
    collection=${n.collection} id=${n.id} />${n.rev===void 0&&s` <span class="quiet">is gone</span>`}`} />
    ${Number(e.documents)>t.length&&s`<p
      class="quiet">The first ${t.length} of ${_(Number(e.documents))} documents.</p>`}`}function ve({event:e,parts:t}){return e?e.seq?s`<a href=${v(t,{at:e.seq})}><${u} text=${e.seq} /></a>${e.time&&s`, <${E}
    text=${e.time} />`}${e.op&&s`, <${u} text=${e.op} />`}${e.collection?s` by <${O} collection=${e.collection} id=${e.id} />`:e.op==="derive"&&""}${e.reason&&s`. <${u} text=${e.reason} max=${1e3} />`}`:s`<${u} text=${e.reason??"not known"} max=${1e3} />`:"further back in the history than is looked"}var U=({kind:e,state:t})=>s`<span class="kind"><${u} text=${e} max=${40} />${t&&t!=="no value"&&s`, <${u} text=${t}
    max=${80} />`}</span>`;var Se=200;function lt({place:e}){let{parts:t}=e,n=Ae(e),o=e.params.get("at"),i=j(async x=>({...await Ne({...n,signal:x}),at:o}),[o]),{problem:r,busy:a,stale:d,again:$}=i,c=d&&r?void 0:i.value,f=c?c.at:o,l=f===null,p=j(async x=>c?oe(x):void 0,[c]),h=j(async x=>c&&l?Me(t,c.position,x):void 0,[c,f]),{rows:m,changed:b}=qe(t,l&&!d?c?.position??"":"",a,$);return s`<${Q} place=${e} position=${d?"":c?.position??""} />
    <${Z} place=${e} problem=${r} again=${$}>${r?.status===404&&s`<p>See the <a
      href=${v([t[0]],{at:o})}>collection</a>.</p>`}<//>
    ${!c&&r&&s`<${K} asked=${n} />`}
    <${Y} of=${i} shape="text">${c&&s`<div class="facts"><p class="quiet">Revision <${u} text=${c.revision} />, written <${E} text=${c.written} />
        ${l&&s`, seen at <code>${c.position}</code>`}.
      ${" "}<a href=${v([...t,"_history"])}>History</a></p>
      ${l&&s`<${ee} collection=${t[0]} id=${t[1]} etag=${c.etag} />`}</div>
    <div class="beside"><div>
      <${Ce} doc=${c} parts=${t} at=${f} lineage=${l?h.value:void 0} model=${p.value}
        changed=${b} />
      ${l&&s`<${G} rows=${m} />`}
      <${K} asked=${n} />
    </div><div>
      <${R} problem=${h.problem??p.problem} again=${h.problem?h.again:p.again} />
      ${l&&s`<${ue} lineage=${h.value} model=${p.value} />`}
      <${de} doc=${c} collection=${t[0]} at=${f} model=${p.value} />
      ${l&&s`<${le} parts=${t} position=${c.position} model=${p.value} />
        <${$e} lineage=${h.value} />`}
    </div></div>`}<//>`}function qe([e,t],n,o,i){let r=S("");(r.current===""||n==="")&&(r.current=n);let[a,d]=g(!1),[$,c]=g(new Set),f=X([e],r.current,l=>l.id===t,l=>{c(new Set(l.flatMap(p=>(p.patch?.elements??[]).map(h=>N(y(h,"path"))??"")).slice(0,Se))),d(!0)});return A(()=>{!a||o||(d(!1),i())},[a,o]),{rows:f,changed:$}}function Re({text:e,name:t}){let n=()=>{let o=URL.createObjectURL(new Blob([e],{type:"application/json"})),i=document.createElement("a");i.href=o,i.download=t,i.click(),setTimeout(()=>URL.revokeObjectURL(o),6e4)};return s`<p>The document has ${e.length.toLocaleString("en")} characters, and is shown as text. <button type="button"
    onClick=${n}>Download</button></p>
    <div class="json whole"><${W} text=${e} of="the document" first=${1e4} /></div>`}function Ce({doc:e,parts:t,at:n,lineage:o,model:i,changed:r}){let[a,d]=g(""),$=q(()=>Le(o),[o]),c=q(()=>se(i,t[0]),[i]),f=S(null),l=()=>{f.current?.focus(),d("")},p=(m,b)=>{f.current=b.currentTarget,d(m)},h={marked:m=>$.values.has(m),inside:m=>$.inside.get(m)??0,beside:m=>{let b=$.values.get(m);return b&&s` <${U} kind=${C(b,i)} state=${b.state} /> <button type="button" class="small"
        aria-label=${`Origin of ${ne(m)}`} aria-expanded=${a===m}
          onClick=${x=>a===m?l():p(m,x)}>Origin</button>`},under:m=>a===m&&$.values.has(m)&&s`<${me} key=${m} value=${$.values.get(m)} parts=${t} model=${i} onClose=${l} />`,href:(m,b)=>{let x=c.length?V(m):[],T=c.find(pe=>re(x,pe.path)),z=T&&L(b);return T&&z!==void 0?v([T.to,z],{at:n}):void 0},changed:r};return s`<section aria-label="Document">${e.root?s`<${te} root=${e.root} adds=${h} />`:s`<${Re} text=${e.text} name=${t.join("-")+".json"} />`}</section>`}function Le(e){let t=new Map,n=new Map;for(let o of e?.derived??[])if(!(!o.path||o.state==="no value")){t.set(o.path,o);for(let i=o.path.lastIndexOf("/");i>0;i=o.path.lastIndexOf("/",i-1)){let r=o.path.slice(0,i);n.set(r,(n.get(r)??0)+1)}}return{values:t,inside:n}}var fe=4<<20,Ae=({parts:e,params:t})=>({path:e,query:{at:t.get("at")}});async function Ne(e){let{text:t,headers:n}=await M(e),o=t.length<=fe&&new Blob([t]).size<=fe;return{text:t,root:o?await J(t,e.signal):void 0,revision:n.get("Fanfold-Revision")??"",etag:n.get("ETag")??"",position:n.get("Fanfold-Position")??"",written:n.get("Last-Modified")??""}}var Me=(e,t,n)=>k({path:[...e,"_lineage"],headers:{"Fanfold-Min-Position":t},signal:n});export{lt as DocumentPage,Ce as DocumentRegion,Re as WholeText,Ae as askedOf,Ne as load,Me as loadLineage};
