import{a as ie,b as re}from"./chunk-S76LYCHP.js";import{j as ae}from"./chunk-SHLDFFL3.js";import{f as oe,g as se}from"./chunk-RWN6LVXJ.js";import{$ as Z,Ca as R,G as j,J as w,U as P,V as U,Y as z,Z as q,_ as Q,aa as ee,b as p,c as E,d as A,e as y,f as k,ia as te,k as o,ka as f,la as T,m as G,o as N,oa as O,p as b,r as X,ra as v,s as S,sa as ne,ta as H,ua as J,ya as V}from"./chunk-JCWJPE4V.js";async function ce(e){try{return await w({path:["_model"],signal:e})}catch(n){if(![401,403,404].includes(n?.status))throw n}let{collections:t}=await w({path:["_me"],query:{relations:!0},signal:e});return{collections:Object.fromEntries(Object.entries(t).map(([n,{relations:s={},derive:i={}}])=>[n,{relations:s,derive:Se(i)}]))}}var Se=e=>Object.fromEntries(Object.entries(e).map(([t,{kind:n,relation:s}])=>[t,{[n]:s??!0}]));function le({root:e,adds:t={}}){let n=k(()=>Z(e),[e]);return o`<div class="json">${z(e)?o`<p class="quiet">${de(e)}</p><${$e} node=${e} pointer="" depth=${0} open=${n} adds=${t} />`:ue("",e,t)}</div>`}function $e({node:e,pointer:t,depth:n,open:s,adds:i}){let[r,c]=p(100),l=y(null),a=q(e),$=r-100;A(()=>{$>0&&l.current?.focus()},[$]);let d=Math.min(100,a-r);return o`<ul role="list" class=${n>8?"deep":void 0}>
    ${Q(e,t,r).map((u,h)=>o`<li key=${u.key} ref=${$>0&&h===$?l:void 0}
        tabindex=${$>0&&h===$?-1:void 0}>
      <${qe} ...${u} depth=${n} open=${s} adds=${i} /></li>`)}
  </ul>
  ${d>0&&o`<p class="more"><button type="button" class="small" aria-label=${`Show ${d} more of ${C(t)}`}
      onClick=${()=>c(r+100)}>Show ${d} more</button>
    <span class="quiet"> of ${(a-r).toLocaleString("en")}</span></p>`}`}function qe({token:e,pointer:t,node:n,depth:s,open:i,adds:r}){let[c,l]=p(i.has(n)),a=q(n)>0,$=a&&!c?r.inside?.(t)??0:0,d=r.changed!==void 0&&r.changed.size>0&&(r.changed.has(t)||a&&!c&&[...r.changed].some(u=>u.startsWith(t+"/")));return o`<div class=${"row"+(d?" changed":"")}>
      ${a&&o`<button type="button" class="fold" aria-expanded=${c}
        aria-label=${`${n.members?"Members":"Elements"} of ${C(t)}`} onClick=${()=>l(!c)}></button>`}
      <span class="at">${H(e,"the name",200)}:</span>${" "}
      ${ue(t,n,r)}
      ${$>0&&o` <span class="quiet">${$} derived within</span>`}
      ${d&&o` <mark>changed</mark>`}
      ${r.beside?.(t)}
    </div>
    ${r.under?.(t)}
    ${a&&c&&o`<${$e} node=${n} pointer=${t} depth=${s+1} open=${i} adds=${r} />`}`}function ue(e,t,n){let s="token"+(n.marked?.(e)?" from-rule":"");if(z(t))return o`<span class=${Re(t)?s:"count "+s}>${de(t)}</span>`;let i=n.href?.(e,t),r=H(t.raw,C(e));return i===void 0?o`<span class=${s}>${r}</span>`:o`<a class=${s} href=${i}>${r}</a>`}var C=e=>te(e.length>200?e.slice(0,200)+"…":e||"/"),Re=e=>q(e)===0;function de(e){let t=q(e),n=e.members?"member":"element";return t===0?e.members?"{}":"[]":`${e.members?"{":"["} ${t.toLocaleString("en")} ${n}${t===1?"":"s"} ${e.members?"}":"]"}`}function _(e){return Object.entries(e?.collections??{}).flatMap(([t,n])=>Object.entries(n?.relations??{}).map(([s,i])=>({collection:t,name:s,path:fe(String(i.path)),to:String(i.to)})))}function me(e,t){let n=Object.entries(e?.collections?.[t]?.derive??{}).flatMap(([s,i])=>{let{ids:r,recent:c}=i,l=r??c;return typeof l=="string"?[{path:fe(s+(r?"[]":"[].id")),to:l.slice(0,l.indexOf("."))}]:[]});return[..._(e).filter(s=>s.collection===t),...n]}var fe=e=>e.split(".").flatMap(t=>t.split("[]"));function W(e,t){let n=t.indexOf(".");return e?.collections?.[t.slice(0,n)]?.derive?.[t.slice(n+1)]}var Ce=["copy","count","sum","min","max","avg","ids","recent"];function L(e,t){let n=W(t,e.rule),s=e.kind??Ce.find(i=>n?.[i]!==void 0)??(n?"value":"derived");return s==="value"?"computed":String(s)}function M(e){if(e?.kind==="number")return e.raw;let t=e?.kind==="string"?JSON.parse(e.raw):"";return t===""?void 0:t}var pe=(e,t)=>e.length===t.length&&t.every((n,s)=>n===""?/^\d+$/.test(e[s]):n===e[s]);function he(e,t){let n=[e];for(let s of t)n=s===""?n.flatMap(i=>i?.elements??[]):n.map(i=>b(i,s));return[...new Set(n.map(M).filter(s=>s!==void 0))]}var Le=20,B=e=>e.collection+"."+e.name,be=(e,t,n,s)=>({path:[...e,n.collection],query:{relation:n.name,fields:"id",...s},headers:{"Fanfold-Min-Position":t}});function ge({parts:e,position:t,model:n}){let[s,i]=p({}),[r,c]=p(0),l=_(n).filter(a=>a.to===e[0]);return E(()=>{let a=new AbortController;return(async()=>{for(let $ of l){let d=await w({...be(e,t,$,{count:!0,limit:1}),signal:a.signal}).then(({count:u})=>({count:u}),u=>({problem:a.signal.aborted?void 0:U(u)}));if(a.signal.aborted)return;i(u=>({...u,[B($)]:d}))}})(),()=>a.abort()},[n,t,r]),l.length===0?null:o`<section aria-label="Referred to by"><h2>Referred to by</h2>
    ${l.map(a=>o`<${Me} key=${B(a)} parts=${e} position=${t} relation=${a}
      counted=${s[B(a)]??{}} again=${()=>c(r+1)} />`)}</section>`}function Me({parts:e,position:t,relation:n,counted:s,again:i}){let[r,c]=p(null),l=async()=>{let d=r??{ids:[],busy:!1};c({...d,busy:!0,problem:void 0});try{let u=G((await j(be(e,t,n,{limit:Le,cursor:d.next}))).text),h=(b(u,"items")?.elements??[]).map(g=>M(b(g,"id"))??"");c({ids:[...d.ids,...h],next:N(b(u,"next")),busy:!1})}catch(u){c({...d,busy:!1,problem:U(u)})}},a=`${n.collection} by ${n.name}`,$=Number(s.count??0);return o`<div class="tie"><header><h3><${f} text=${n.collection} max=${200} /> <span class="quiet">by <${f}
    text=${n.name} max=${200} />${s.count!==void 0&&": "+$.toLocaleString("en")}</span></h3>
      ${$>0&&o`<button type="button" class="small" aria-expanded=${r!==null} aria-label=${`Show ${a}`}
        onClick=${()=>r===null?l():c(null)}>Show</button>`}</header>
    ${[401,403].includes(s.problem?.status??0)?o`<p class="quiet">You may not read them.</p>`:o`<${R}
      problem=${s.problem} again=${i} />`}
    ${r&&o`<${v} ids label=${a} items=${r.ids} busy=${r.busy} more=${r.next&&l}
        item=${d=>o`<${O} collection=${n.collection} id=${d} short />`} />
      <${R} problem=${r.problem} again=${l} asked />`}</div>`}function xe({doc:e,collection:t,at:n,model:s}){let i=e.root,r=k(()=>i?_(s).filter(c=>c.collection===t).map(c=>({...c,ids:he(i,c.path)})):[],[i,s]);return r.length===0?null:o`<section aria-label="Refers to"><h2>Refers to</h2>${r.map(c=>o`<div key=${c.name} class="tie">
    <h3><${f} text=${c.name} max=${200} /> <span class="quiet">in <${f} text=${c.to}
      max=${200} />: ${c.ids.length.toLocaleString("en")}</span></h3>
    ${c.ids.length>0&&o`<${v} ids label=${`To ${c.to} by ${c.name}`} items=${c.ids}
      item=${l=>o`<${O} collection=${c.to} id=${l} at=${n} short />`} />`}
  </div>`)}</section>`}function ye({lineage:e}){if(!e)return null;let t=e.copies.filter(n=>Number(n.documents)>0||n.more||n.reason);return o`<section aria-label="Carried by"><h2>Carried by</h2>
    ${t.length===0&&o`<p class="quiet">No document carries anything of this one.</p>`}
    ${t.map(n=>o`<${Ee} key=${n.rule} of=${n} />`)}</section>`}function Ee({of:e}){let[t,n]=p(!1),s=e.rule.slice(0,e.rule.indexOf(".")),i=Number(e.documents);return o`<div class="tie"><header><h3><code><${f} text=${e.rule} max=${300} /></code><span
    class="quiet">: ${i.toLocaleString("en")}</span></h3>
      ${i>0&&o`<button type="button" class="small" aria-expanded=${t} aria-label=${`Show carriers by ${e.rule}`}
        onClick=${()=>n(!t)}>Show</button>`}</header>
    ${e.reason&&o`<p class="quiet"><${f} text=${e.reason} max=${1e3} /></p>`}
    ${e.more>0&&o`<p class="quiet">${Number(e.more).toLocaleString("en")} more ids were not looked for.</p>`}
    ${t&&o`<${v} ids label=${`Carriers by ${e.rule}`} items=${e.first} item=${r=>o`<${O}
        collection=${s} id=${r} short />`} />
      ${i>e.first.length&&o`<p
        class="quiet">The first ${e.first.length} of ${i.toLocaleString("en")} are listed.</p>`}`}</div>`}function ke({lineage:e,model:t}){let n=(e?.derived??[]).filter(i=>i.state==="no value"),s=e?.unguarded??[];return o`${n.length>0&&o`<section aria-label="Absent values"><h2>Without a value</h2>
      <${v} label="Without a value" items=${n} item=${i=>o`<code><${f} text=${i.path||i.rule} max=${300} /></code> <${I} kind=${L(i,t)} />
        <div class="quiet">${i.hidden?"You may not read the collection that it would come from.":o`<${f}
          text=${i.reason||"No reason is known."} max=${1e3} />`}</div>
        ${(i.sources??[]).slice(0,3).map(r=>o`<${O} collection=${r.collection}
          id=${r.id} /> `)}`} /></section>`}
    ${s.length>0&&o`<section aria-label="Not unique"><h2>Not compared as unique</h2>
      <${v} label="Not compared as unique" items=${s} item=${i=>o`<code><${f}
        text=${i.unique} max=${300} /></code> <div class="quiet"><${f} text=${i.reason} max=${1e3} /></div>`} /></section>`}
    ${e?.more>0&&o`<p class="quiet">${Number(e.more).toLocaleString("en")} more derived values are not listed.</p>`}`}function we({value:e,parts:t,model:n,onClose:s}){let i=y(null);A(()=>i.current?.focus(),[]);let r=W(n,e.rule);return o`<section aria-label="Origin" class="origin" onKeyDown=${l=>{l.key==="Escape"&&s()}}>
    <h2 tabindex="-1" ref=${i}>Origin of <code><${f} text=${e.path} max=${500} /></code></h2>
    <dl>
      <dt>Kind</dt><dd>${L(e,n)}</dd>
      ${e.state&&o`<dt>State</dt><dd><${f} text=${Ae(e.state)} /></dd>`}
      <dt>Rule</dt><dd><code><${f} text=${e.rule} max=${500} /></code>${r&&o`<br /><code class="quiet"><${f}
        text=${Ne(r)} max=${2e3} /></code>`}</dd>
      <dt>Sources</dt><dd><${je} value=${e} /></dd>
      ${e.reason&&o`<dt>Reason</dt><dd><${f} text=${e.reason} max=${2e3} /></dd>`}
      <dt>Event</dt><dd><${Pe} event=${e.event} parts=${t} /></dd>
    </dl>
    <button type="button" onClick=${s}>Close</button>
  </section>`}var Ae=e=>({frozen:"frozen: the value of the moment when the document began to refer to the source",kept:"kept: the source is deleted, and the value stays"})[e]??e,Ne=e=>Object.entries(e).map(([t,n])=>`${t}: ${typeof n=="string"?n:JSON.stringify(n)}`).join(", ");function je({value:e}){if(e.hidden)return"You may not read the collection that it comes from.";let t=e.sources??[];return t.length===0?Number(e.documents)>0?`${J(Number(e.documents))} documents`:"no document":o`<${v} ids label="Sources" items=${t} item=${n=>o`<${O}
    collection=${n.collection} id=${n.id} />${n.rev===void 0&&o` <span class="quiet">is gone</span>`}`} />
    ${Number(e.documents)>t.length&&o`<p
      class="quiet">The first ${t.length} of ${J(Number(e.documents))} documents.</p>`}`}function Pe({event:e,parts:t}){return e?e.seq?o`<a href=${S(t,{at:e.seq})}><${f} text=${e.seq} /></a>${e.time&&o`, <${T}
    text=${e.time} />`}${e.op&&o`, <${f} text=${e.op} />`}${e.collection?o` by <${O} collection=${e.collection} id=${e.id} />`:e.op==="derive"&&""}${e.reason&&o`. <${f} text=${e.reason} max=${1e3} />`}`:o`<${f} text=${e.reason??"not known"} max=${1e3} />`:"further back in the history than is looked"}var I=({kind:e,state:t})=>o`<span class="kind"><${f} text=${e} max=${40} />${t&&t!=="no value"&&o`, <${f} text=${t}
    max=${80} />`}</span>`;var Te=200;function vt({place:e}){let{parts:t}=e,n=e.params.get("at"),s=Ue(e),{value:i,problem:r,busy:c,again:l}=P(async m=>({...await ze({...s,signal:m}),at:n}),[n]),a=i?.at===n?i:void 0,$=n===null,d=P(async m=>a?ce(m):void 0,[a]),u=P(async m=>a&&$?He(t,a.position,m):void 0,[a,n]),{rows:h,changed:g}=De(t,$?a?.position??"":"",c,l);return o`<${ie} place=${e} position=${a?.position??""} />
    <${re} place=${e} problem=${r} again=${l}>${r?.status===404&&o`<p>See the <a
      href=${S([t[0]],{at:n})}>collection</a>.</p>`}<//>
    ${!a&&o`<${V} asked=${s} />`}
    ${a&&o`<div class="facts"><p class="quiet">Revision <${f} text=${a.revision} />, written <${T} text=${a.written} />
        ${$&&o`, seen at <code>${a.position}</code>`}.
      ${" "}<a href=${S([...t,"_history"])}>History</a></p>
      ${$&&o`<${ae} collection=${t[0]} id=${t[1]} etag=${a.etag} />`}</div>
    <div class="beside"><div>
      <${Fe} doc=${a} parts=${t} at=${n} lineage=${$?u.value:void 0} model=${d.value}
        changed=${g} />
      ${$&&o`<${se} rows=${h} />`}
      <${V} asked=${s} />
    </div><div>
      <${R} problem=${u.problem??d.problem} again=${u.problem?u.again:d.again} />
      ${$&&o`<${ke} lineage=${u.value} model=${d.value} />`}
      <${xe} doc=${a} collection=${t[0]} at=${n} model=${d.value} />
      ${$&&o`<${ge} parts=${t} position=${a.position} model=${d.value} />
        <${ye} lineage=${u.value} />`}
    </div></div>`}`}function De([e,t],n,s,i){let r=y("");(r.current===""||n==="")&&(r.current=n);let[c,l]=p(!1),[a,$]=p(new Set),d=oe([e],r.current,u=>u.id===t,u=>{$(new Set(u.flatMap(h=>(h.patch?.elements??[]).map(g=>N(b(g,"path"))??"")).slice(0,Te))),l(!0)});return E(()=>{!c||s||(l(!1),i())},[c,s]),{rows:d,changed:a}}function _e({text:e,name:t}){let n=()=>{let s=URL.createObjectURL(new Blob([e],{type:"application/json"})),i=document.createElement("a");i.href=s,i.download=t,i.click(),setTimeout(()=>URL.revokeObjectURL(s),6e4)};return o`<p>The document has ${e.length.toLocaleString("en")} characters, and is shown as text. <button type="button"
    onClick=${n}>Download</button></p>
    <div class="json whole"><${ne} text=${e} of="the document" first=${1e4} /></div>`}function Fe({doc:e,parts:t,at:n,lineage:s,model:i,changed:r}){let[c,l]=p(""),a=k(()=>Ke(s),[s]),$=k(()=>me(i,t[0]),[i]),d=y(null),u=()=>{d.current?.focus(),l("")},h=(m,x)=>{d.current=x.currentTarget,l(m)},g={marked:m=>a.values.has(m),inside:m=>a.inside.get(m)??0,beside:m=>{let x=a.values.get(m);return x&&o` <${I} kind=${L(x,i)} state=${x.state} /> <button type="button" class="small"
        aria-label=${`Origin of ${C(m)}`} aria-expanded=${c===m}
          onClick=${F=>c===m?u():h(m,F)}>Origin</button>`},under:m=>c===m&&a.values.has(m)&&o`<${we} key=${m} value=${a.values.get(m)} parts=${t} model=${i} onClose=${u} />`,href:(m,x)=>{let F=$.length?ee(m):[],K=$.find(ve=>pe(F,ve.path)),Y=K&&M(x);return K&&Y!==void 0?S([K.to,Y],{at:n}):void 0},changed:r};return o`<section aria-label="Document">${e.root?o`<${le} root=${e.root} adds=${g} />`:o`<${_e} text=${e.text} name=${t.join("-")+".json"} />`}</section>`}function Ke(e){let t=new Map,n=new Map;for(let s of e?.derived??[])if(!(!s.path||s.state==="no value")){t.set(s.path,s);for(let i=s.path.lastIndexOf("/");i>0;i=s.path.lastIndexOf("/",i-1)){let r=s.path.slice(0,i);n.set(r,(n.get(r)??0)+1)}}return{values:t,inside:n}}var Oe=4<<20,Ue=({parts:e,params:t})=>({path:e,query:{at:t.get("at")}});async function ze(e){let{text:t,headers:n}=await j(e),s=t.length<=Oe&&new Blob([t]).size<=Oe;return{text:t,root:s?await X(t,e.signal):void 0,revision:n.get("Fanfold-Revision")??"",etag:n.get("ETag")??"",position:n.get("Fanfold-Position")??"",written:n.get("Last-Modified")??""}}var He=(e,t,n)=>w({path:[...e,"_lineage"],headers:{"Fanfold-Min-Position":t},signal:n});export{vt as DocumentPage,Fe as DocumentRegion,_e as WholeText,Ue as askedOf,ze as load,He as loadLineage};
