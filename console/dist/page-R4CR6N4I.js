import{a as te,b as ae,c as le}from"./chunk-63L5IGGD.js";import{a as ne,c as oe}from"./chunk-WNVEQGXY.js";import{a as Z}from"./chunk-2KXTS2AW.js";import{a as ie,b as re}from"./chunk-4ZNAQ3G6.js";import{e as se}from"./chunk-F5PLBI7O.js";import{f as Q,g as ee}from"./chunk-LWI3FAOW.js";import{F as O,H as _,O as d,P as T,S as k,V as v,W as G,Y as F,Z as X,a as b,aa as K,d as J,ea as L,m as V,r as P,u as S}from"./chunk-OIXQNFLU.js";import{A as Y,b as y,c as E,d as I,e as R,f as C,l as s,n as U,r as M,s as w,u as B}from"./chunk-YLTSUMXM.js";function q(e){return Object.entries(e?.collections??{}).flatMap(([t,n])=>Object.entries(n?.relations??{}).map(([i,o])=>({collection:t,name:i,path:$e(String(o.path)),to:String(o.to),onDelete:String(o.onDelete??"clear")})))}function ce(e,t){let n=Object.entries(e?.collections?.[t]?.derive??{}).flatMap(([i,o])=>{let{ids:r,recent:a}=o,$=r??a;return typeof $=="string"?[{path:$e(i+(r?"[]":"[].id")),to:$.slice(0,$.indexOf("."))}]:[]});return[...q(e).filter(i=>i.collection===t),...n]}var $e=e=>e.split(".").flatMap(t=>t.split("[]"));function D(e,t){let n=t.indexOf(".");return e?.collections?.[t.slice(0,n)]?.derive?.[t.slice(n+1)]}var Oe=["copy","count","sum","min","max","avg","ids","recent"];function A(e,t){let n=D(t,e.rule),i=e.kind??Oe.find(o=>n?.[o]!==void 0)??(n?"value":"derived");return i==="value"?"computed":String(i)}function N(e){if(e?.kind==="number")return e.raw;let t=e?.kind==="string"?JSON.parse(e.raw):"";return t===""?void 0:t}var de=(e,t)=>e.length===t.length&&t.every((n,i)=>n===""?/^\d+$/.test(e[i]):n===e[i]);function ue(e,t){let n=[e];for(let i of t)n=i===""?n.flatMap(o=>o?.elements??[]):n.map(o=>w(o,i));return[...new Set(n.map(N).filter(i=>i!==void 0))]}var ve=20,W=e=>e.collection+"."+e.name,fe=(e,t,n,i)=>({path:[...e,n.collection],query:{relation:n.name,fields:"id",...i},headers:{"Fanfold-Min-Position":t}});function pe({parts:e,position:t,model:n}){let[i,o]=y({}),[r,a]=y(0),$=q(n).filter(l=>l.to===e[0]);return E(()=>{let l=new AbortController;return(async()=>{for(let c of $){let m=await S({...fe(e,t,c,{count:!0,limit:1}),signal:l.signal}).then(({count:u})=>({count:u}),u=>({problem:l.signal.aborted?void 0:_(u)}));if(l.signal.aborted)return;o(u=>({...u,[W(c)]:m}))}})(),()=>l.abort()},[n,t,r]),$.length===0?null:s`<section aria-label="Referred to by"><h2>Referred to by</h2>
    ${$.map(l=>s`<${Se} key=${W(l)} parts=${e} position=${t} relation=${l}
      counted=${i[W(l)]??{}} again=${()=>a(r+1)} />`)}</section>`}function Se({parts:e,position:t,relation:n,counted:i,again:o}){let[r,a]=y(null),$=async()=>{let m=r??{ids:[],busy:!1};a({...m,busy:!0,problem:void 0});try{let u=U((await P(fe(e,t,n,{limit:ve,cursor:m.next}))).text),p=(w(u,"items")?.elements??[]).map(h=>N(w(h,"id"))??"");a({ids:[...m.ids,...p],next:M(w(u,"next")),busy:!1})}catch(u){a({...m,busy:!1,problem:_(u)})}},l=`${n.collection} by ${n.name}`,c=Number(i.count??0);return s`<div class="tie"><header><h3><${d} text=${n.collection} max=${200} /> <span class="quiet">by <${d}
    text=${n.name} max=${200} />${i.count!==void 0&&": "+c.toLocaleString("en")}</span></h3>
      ${c>0&&s`<button type="button" class="small" aria-expanded=${r!==null} aria-label=${`Show ${l}`}
        onClick=${()=>r===null?$():a(null)}>Show</button>`}</header>
    ${[401,403].includes(i.problem?.status??0)?s`<p class="quiet">You may not read them.</p>`:s`<${L}
      problem=${i.problem} again=${o} />`}
    ${r&&s`<${v} ids label=${l} items=${r.ids} busy=${r.busy} more=${r.next&&$}
        item=${m=>s`<${k} collection=${n.collection} id=${m} short />`} />
      <${L} problem=${r.problem} again=${$} asked />`}</div>`}function he({doc:e,collection:t,at:n,model:i}){let o=e.root,r=C(()=>o?q(i).filter(a=>a.collection===t).map(a=>({...a,ids:ue(o,a.path)})):[],[o,i]);return r.length===0?null:s`<section aria-label="Refers to"><h2>Refers to</h2>${r.map(a=>s`<div key=${a.name} class="tie">
    <h3><${d} text=${a.name} max=${200} /> <span class="quiet">in <${d} text=${a.to}
      max=${200} />: ${a.ids.length.toLocaleString("en")}</span></h3>
    ${a.ids.length>0&&s`<${v} ids label=${`To ${a.to} by ${a.name}`} items=${a.ids}
      item=${$=>s`<${k} collection=${a.to} id=${$} at=${n} short />`} />`}
  </div>`)}</section>`}function be({lineage:e}){if(!e)return null;let t=e.copies.filter(n=>Number(n.documents)>0||n.more||n.reason);return s`<section aria-label="Carried by"><h2>Carried by</h2>
    ${t.length===0&&s`<p class="quiet">No document carries anything of this one.</p>`}
    ${t.map(n=>s`<${qe} key=${n.rule} of=${n} />`)}</section>`}function qe({of:e}){let[t,n]=y(!1),i=e.rule.slice(0,e.rule.indexOf(".")),o=Number(e.documents);return s`<div class="tie"><header><h3><code><${d} text=${e.rule} max=${300} /></code><span
    class="quiet">: ${o.toLocaleString("en")}</span></h3>
      ${o>0&&s`<button type="button" class="small" aria-expanded=${t} aria-label=${`Show carriers by ${e.rule}`}
        onClick=${()=>n(!t)}>Show</button>`}</header>
    ${e.reason&&s`<p class="quiet"><${d} text=${e.reason} max=${1e3} /></p>`}
    ${e.more>0&&s`<p class="quiet">${Number(e.more).toLocaleString("en")} more ids were not looked for.</p>`}
    ${t&&s`<${v} ids label=${`Carriers by ${e.rule}`} items=${e.first} item=${r=>s`<${k}
        collection=${i} id=${r} short />`} />
      ${o>e.first.length&&s`<p
        class="quiet">The first ${e.first.length} of ${o.toLocaleString("en")} are listed.</p>`}`}</div>`}function ge({lineage:e,model:t}){let n=(e?.derived??[]).filter(o=>o.state==="no value"),i=e?.unguarded??[];return s`${n.length>0&&s`<section aria-label="Absent values"><h2>Without a value</h2>
      <${v} label="Without a value" items=${n} item=${o=>s`<code><${d} text=${o.path||o.rule} max=${300} /></code> <${H} kind=${A(o,t)} />
        <div class="quiet">${o.hidden?"You may not read the collection that it would come from.":s`<${d}
          text=${o.reason||"No reason is known."} max=${1e3} />`}</div>
        ${(o.sources??[]).slice(0,3).map(r=>s`<${k} collection=${r.collection}
          id=${r.id} /> `)}`} /></section>`}
    ${i.length>0&&s`<section aria-label="Not unique"><h2>Not compared as unique</h2>
      <${v} label="Not compared as unique" items=${i} item=${o=>s`<code><${d}
        text=${o.unique} max=${300} /></code> <div class="quiet"><${d} text=${o.reason} max=${1e3} /></div>`} /></section>`}
    ${e?.more>0&&s`<p class="quiet">${Number(e.more).toLocaleString("en")} more derived values are not listed.</p>`}`}function xe({value:e,parts:t,model:n,position:i,onClose:o}){let r=R(null);I(()=>r.current?.focus(),[]);let a=D(n,e.rule);return s`<section aria-label="Origin" class="origin" onKeyDown=${l=>{l.key==="Escape"&&o()}}>
    <h2 tabindex="-1" ref=${r}>Origin of <code><${d} text=${e.path} max=${500} /></code></h2>
    <dl>
      <dt>Kind</dt><dd>${A(e,n)}</dd>
      ${e.state&&s`<dt>State</dt><dd><${d} text=${Re(e.state)} /></dd>`}
      <dt>Rule</dt><dd><code><${d} text=${e.rule} max=${500} /></code>${a&&s`<br /><code class="quiet"><${d}
        text=${Ce(a)} max=${2e3} /></code>`}</dd>
      <dt>Sources</dt><dd><${Le} value=${e} /></dd>
      <${Me} value=${e} parts=${t} model=${n} position=${i} />
      ${e.reason&&s`<dt>Reason</dt><dd><${d} text=${e.reason} max=${2e3} /></dd>`}
      <dt>Event</dt><dd><${Ae} event=${e.event} parts=${t} /></dd>
    </dl>
    <button type="button" onClick=${o}>Close</button>
  </section>`}var Re=e=>({frozen:"frozen: the value of the moment when the document began to refer to the source",kept:"kept: the source is deleted, and the value stays"})[e]??e,Ce=e=>Object.entries(e).map(([t,n])=>`${t}: ${typeof n=="string"?n:JSON.stringify(n)}`).join(", ");function Le({value:e}){if(e.hidden)return"You may not read the collection that it comes from.";let t=e.sources??[];return t.length===0?Number(e.documents)>0?`${F(Number(e.documents))} documents`:"no document":s`<${v} ids label="Sources" items=${t} item=${n=>s`<${k}
    collection=${n.collection} id=${n.id} />${n.rev===void 0&&s` <span class="quiet">is gone</span>`}`} />
    ${Number(e.documents)>t.length&&s`<p
      class="quiet">The first ${t.length} of ${F(Number(e.documents))} documents.</p>`}`}function Ae({event:e,parts:t}){return e?e.seq?s`<a href=${b(t,{at:e.seq})}><${d} text=${e.seq} /></a>${e.time&&s`, <${T} text=${e.time} position=${e.seq} />`}${e.op&&s`, <${d} text=${e.op} />`}${e.collection?s` by <${k} collection=${e.collection} id=${e.id} />`:e.op==="derive"&&""}${e.reason&&s`. <${d} text=${e.reason} max=${1e3} />`}`:s`<${d} text=${e.reason??"not known"} max=${1e3} />`:"further back in the history than is looked"}var H=({kind:e,state:t})=>s`<span class="kind"><${d} text=${e} max=${40} />${t&&t!=="no value"&&s`, <${d} text=${t}
    max=${80} />`}</span>`,Ne=8,Ee=/^\s*doc((?:\.[A-Za-z_]\w*)+)\s*$/;function Me({value:e,parts:t,model:n,position:i}){let{value:o}=O(r=>Pe(e,n,i,r),[e,n]);return!o||o.length<2?null:s`<dt>Chain</dt><dd><ol class="chain" aria-label="Chain">
    <li><${me} collection=${t[0]} id=${t[1]} path=${e.path} /></li>
    ${o.map(r=>s`<li key=${r.collection+"/"+r.id}><span class="by" title=${r.rule}><span class="unseen">copied by
        <${d} text=${r.rule} max=${200} /> from</span></span><${me} ...${r} /></li>`)}</ol></dd>`}var me=({collection:e,id:t,path:n})=>s`<span class="stand"><${k} collection=${e} id=${t} />${n&&s`<code class="quiet"><${d} text=${n} max=${80} /></code>`}</span>`;async function Pe(e,t,n,i){let o=[];for(let r=e;o.length<Ne;){let[a,...$]=r.sources??[];if(!a||$.length>0||Number(r.documents??1)>1)return o;let[,l=""]=Ee.exec(String(D(t,r.rule)?.value??""))??[],c=l.replaceAll(".","/");if(o.push({collection:a.collection,id:a.id,path:c,rule:String(r.rule)}),c==="")return o;let m={"Fanfold-Min-Position":n};if(r=(await S({path:[a.collection,a.id,"_lineage"],headers:m,signal:i}).catch(()=>null))?.derived?.find(p=>p.path===c&&p.state!=="no value"),!r)return o}return o}var Te=200;function yt({place:e}){let{parts:t}=e,n=He(e),i=e.params.get("at"),o=O(async x=>({...await ze({...n,signal:x}),at:i}),[i]),{problem:r,busy:a,stale:$,again:l}=o,c=$&&r?void 0:o.value,m=c?c.at:i,u=m===null,p=O(async x=>c?te(x):void 0,[c]),h=O(async x=>c&&u?Ie(t,c.position,x):void 0,[c,m]),{rows:f,changed:g}=_e(t,u&&!$?c?.position??"":"",a,l);return s`<${ne} place=${e} position=${$?"":c?.position??""} />
    <${oe} place=${e} problem=${r} again=${l}>${r?.status===404&&s`<p>See its <a href=${b([...t,"_history"])}>history</a>, which a deleted document has, too, or the <a
      href=${b([t[0]],{at:i})}>collection</a>.</p>`}<//>
    ${!c&&r&&s`<${K} asked=${n} />`}
    <${Z} of=${o} shape="text">${c&&s`<div class="facts"><p class="quiet">Revision <${d} text=${c.revision} />, written <${T} text=${c.written} />
        ${u&&s`, seen at <code>${c.position}</code>`}.
      ${" "}<a href=${b([...t,"_history"])}>History</a></p>
      ${u&&s`<${De} collection=${t[0]} id=${t[1]} etag=${c.etag} model=${p.value} />`}</div>
    <div class="beside"><div>
      <${Ke} doc=${c} parts=${t} at=${m} lineage=${u?h.value:void 0} model=${p.value}
        changed=${g} />
      ${u&&s`<${ee} rows=${f} />`}
      <${K} asked=${n} />
    </div><div>
      <${L} problem=${h.problem??p.problem} again=${h.problem?h.again:p.again} />
      ${u&&s`<${ge} lineage=${h.value} model=${p.value} />`}
      <${he} doc=${c} collection=${t[0]} at=${m} model=${p.value} />
      ${u&&s`<${pe} parts=${t} position=${c.position} model=${p.value} />
        <${be} lineage=${h.value} />`}
    </div></div>`}<//>`}function De({collection:e,id:t,etag:n,model:i}){let o=se({always:!0,onDone:(a,$)=>{let l=b([e]),c=($?.writes.length??1)-1;V({href:l,what:`${e}/${t} is deleted${c>0?`, and ${c} more written`:""}`,written:a}),J(l)}}),{state:r}=o;return s`<p class="actions"><a class="button" href=${b([e,t],{edit:""})}>Edit</a>
      <a class="button" href=${b([e],{new:"",from:t})}>Clone</a>
      <button type="button" class="loss"
        onClick=${()=>o.begin({method:"DELETE",path:[e,t],headers:{"If-Match":n}})}>Delete</button>
      <span role="status" class="quiet">${r.phase==="looking"&&"Looking at what it changes"}</span></p>
    <${ie} title="What this delete changes" go="Delete now" keep="Keep it" writing=${o} careful loses>
      <${je} collection=${e} id=${t} model=${i} /><//>
    ${r.phase==="idle"&&s`<${re} state=${r} />`}`}var ye={clear:"their reference stays, and what they copied goes",keep:"their reference and what they copied stay"};function je({collection:e,id:t,model:n}){let{value:i}=O(async o=>{let r=q(n).filter(l=>l.to===e&&ye[l.onDelete]),a=l=>({relation:l,fields:"id",count:!0,limit:1}),$=r.map(l=>S({path:[e,t,l.collection],query:a(l.name),signal:o}).then(({count:c})=>({...l,count:Number(c)}),()=>({...l,count:0})));return(await Promise.all($)).filter(l=>l.count>0)},[n]);return i?.length?s`<ul aria-label="Refer to it" class="documents">${i.map(o=>s`<li key=${o.collection+" "+o.name}>${X(o.count,"document")} of <${d} text=${o.collection} max=${100} />${" "}
      ${o.count===1?"refers":"refer"} to it by <${d} text=${o.name} max=${100} />: ${ye[o.onDelete]}.</li>`)}</ul>`:null}function _e([e,t],n,i,o){let r=R("");(r.current===""||n==="")&&(r.current=n);let[a,$]=y(!1),[l,c]=y(new Set),m=Q([e],r.current,u=>u.id===t,u=>{c(new Set(u.flatMap(p=>(p.patch?.elements??[]).map(h=>M(w(h,"path"))??"")).slice(0,Te))),$(!0)});return E(()=>{!a||i||($(!1),o())},[a,i]),{rows:m,changed:l}}function Fe({text:e,name:t}){let n=()=>{let i=URL.createObjectURL(new Blob([e],{type:"application/json"})),o=document.createElement("a");o.href=i,o.download=t,o.click(),setTimeout(()=>URL.revokeObjectURL(i),6e4)};return s`<p>The document has ${e.length.toLocaleString("en")} characters, and is shown as text. <button type="button"
    onClick=${n}>Download</button></p>
    <div class="json whole"><${G} text=${e} of="the document" first=${1e4} /></div>`}function Ke({doc:e,parts:t,at:n,lineage:i,model:o,changed:r}){let[a,$]=y(""),l=C(()=>We(i),[i]),c=C(()=>ce(o,t[0]),[o]),m=R(null),u=()=>{m.current?.focus(),$("")},p=(f,g)=>{m.current=g.currentTarget,$(f)},h={marked:f=>l.values.has(f),inside:f=>l.inside.get(f)??0,beside:f=>{let g=l.values.get(f);return g&&s` <${H} kind=${A(g,o)} state=${g.state} /> <button type="button" class="small"
        aria-label=${`Origin of ${le(f)}`} aria-expanded=${a===f}
          onClick=${x=>a===f?u():p(f,x)}>Origin</button>`},under:f=>a===f&&l.values.has(f)&&s`<${xe} key=${f} value=${l.values.get(f)} parts=${t} model=${o}
        position=${e.position} onClose=${u} />`,href:(f,g)=>{let x=c.length?Y(f):[],j=c.find(ke=>de(x,ke.path)),z=j&&N(g);return j&&z!==void 0?b([j.to,z],{at:n}):void 0},changed:r};return s`<section aria-label="Document">${e.root?s`<${ae} root=${e.root} adds=${h} />`:s`<${Fe} text=${e.text} name=${t.join("-")+".json"} />`}</section>`}function We(e){let t=new Map,n=new Map;for(let i of e?.derived??[])if(!(!i.path||i.state==="no value")){t.set(i.path,i);for(let o=i.path.lastIndexOf("/");o>0;o=i.path.lastIndexOf("/",o-1)){let r=i.path.slice(0,o);n.set(r,(n.get(r)??0)+1)}}return{values:t,inside:n}}var we=4<<20,He=({parts:e,params:t})=>({path:e,query:{at:t.get("at")}});async function ze(e){let{text:t,headers:n}=await P(e),i=t.length<=we&&new Blob([t]).size<=we;return{text:t,root:i?await B(t,e.signal):void 0,revision:n.get("Fanfold-Revision")??"",etag:n.get("ETag")??"",position:n.get("Fanfold-Position")??"",written:n.get("Last-Modified")??""}}var Ie=(e,t,n)=>S({path:[...e,"_lineage"],headers:{"Fanfold-Min-Position":t},signal:n});export{yt as DocumentPage,Ke as DocumentRegion,De as EditActions,Fe as WholeText,He as askedOf,ze as load,Ie as loadLineage};
