import{a as re,b as ae}from"./chunk-BJZMX2TZ.js";import{a as te,c as ne}from"./chunk-GWN767IP.js";import{a as Z}from"./chunk-7KFGKIDB.js";import{a as se,b as ie}from"./chunk-7CUTD4U4.js";import{e as oe}from"./chunk-I3KC334H.js";import{f as Q,g as ee}from"./chunk-XWLLAOKB.js";import{F as v,H as _,O as $,P as T,S as O,V as S,W as G,Y as F,Z as X,a as b,aa as K,d as J,ea as L,m as V,r as P,u as w}from"./chunk-EH4CN463.js";import{A as Y,b as y,c as N,d as I,e as R,f as C,l as i,n as U,r as M,s as k,u as B}from"./chunk-YLTSUMXM.js";async function ce(e){try{return await w({path:["_model"],signal:e})}catch(n){if(![401,403,404].includes(n?.status))throw n}let{collections:t}=await w({path:["_me"],query:{relations:!0},signal:e});return{collections:Object.fromEntries(Object.entries(t).map(([n,{relations:s={},derive:o={}}])=>[n,{relations:s,derive:Oe(o)}]))}}var Oe=e=>Object.fromEntries(Object.entries(e).map(([t,{kind:n,relation:s}])=>[t,{[n]:s??!0}]));function q(e){return Object.entries(e?.collections??{}).flatMap(([t,n])=>Object.entries(n?.relations??{}).map(([s,o])=>({collection:t,name:s,path:de(String(o.path)),to:String(o.to),onDelete:String(o.onDelete??"clear")})))}function le(e,t){let n=Object.entries(e?.collections?.[t]?.derive??{}).flatMap(([s,o])=>{let{ids:r,recent:a}=o,d=r??a;return typeof d=="string"?[{path:de(s+(r?"[]":"[].id")),to:d.slice(0,d.indexOf("."))}]:[]});return[...q(e).filter(s=>s.collection===t),...n]}var de=e=>e.split(".").flatMap(t=>t.split("[]"));function D(e,t){let n=t.indexOf(".");return e?.collections?.[t.slice(0,n)]?.derive?.[t.slice(n+1)]}var ve=["copy","count","sum","min","max","avg","ids","recent"];function E(e,t){let n=D(t,e.rule),s=e.kind??ve.find(o=>n?.[o]!==void 0)??(n?"value":"derived");return s==="value"?"computed":String(s)}function A(e){if(e?.kind==="number")return e.raw;let t=e?.kind==="string"?JSON.parse(e.raw):"";return t===""?void 0:t}var $e=(e,t)=>e.length===t.length&&t.every((n,s)=>n===""?/^\d+$/.test(e[s]):n===e[s]);function ue(e,t){let n=[e];for(let s of t)n=s===""?n.flatMap(o=>o?.elements??[]):n.map(o=>k(o,s));return[...new Set(n.map(A).filter(s=>s!==void 0))]}var Se=20,W=e=>e.collection+"."+e.name,fe=(e,t,n,s)=>({path:[...e,n.collection],query:{relation:n.name,fields:"id",...s},headers:{"Fanfold-Min-Position":t}});function pe({parts:e,position:t,model:n}){let[s,o]=y({}),[r,a]=y(0),d=q(n).filter(c=>c.to===e[0]);return N(()=>{let c=new AbortController;return(async()=>{for(let l of d){let m=await w({...fe(e,t,l,{count:!0,limit:1}),signal:c.signal}).then(({count:u})=>({count:u}),u=>({problem:c.signal.aborted?void 0:_(u)}));if(c.signal.aborted)return;o(u=>({...u,[W(l)]:m}))}})(),()=>c.abort()},[n,t,r]),d.length===0?null:i`<section aria-label="Referred to by"><h2>Referred to by</h2>
    ${d.map(c=>i`<${qe} key=${W(c)} parts=${e} position=${t} relation=${c}
      counted=${s[W(c)]??{}} again=${()=>a(r+1)} />`)}</section>`}function qe({parts:e,position:t,relation:n,counted:s,again:o}){let[r,a]=y(null),d=async()=>{let m=r??{ids:[],busy:!1};a({...m,busy:!0,problem:void 0});try{let u=U((await P(fe(e,t,n,{limit:Se,cursor:m.next}))).text),p=(k(u,"items")?.elements??[]).map(h=>A(k(h,"id"))??"");a({ids:[...m.ids,...p],next:M(k(u,"next")),busy:!1})}catch(u){a({...m,busy:!1,problem:_(u)})}},c=`${n.collection} by ${n.name}`,l=Number(s.count??0);return i`<div class="tie"><header><h3><${$} text=${n.collection} max=${200} /> <span class="quiet">by <${$}
    text=${n.name} max=${200} />${s.count!==void 0&&": "+l.toLocaleString("en")}</span></h3>
      ${l>0&&i`<button type="button" class="small" aria-expanded=${r!==null} aria-label=${`Show ${c}`}
        onClick=${()=>r===null?d():a(null)}>Show</button>`}</header>
    ${[401,403].includes(s.problem?.status??0)?i`<p class="quiet">You may not read them.</p>`:i`<${L}
      problem=${s.problem} again=${o} />`}
    ${r&&i`<${S} ids label=${c} items=${r.ids} busy=${r.busy} more=${r.next&&d}
        item=${m=>i`<${O} collection=${n.collection} id=${m} short />`} />
      <${L} problem=${r.problem} again=${d} asked />`}</div>`}function he({doc:e,collection:t,at:n,model:s}){let o=e.root,r=C(()=>o?q(s).filter(a=>a.collection===t).map(a=>({...a,ids:ue(o,a.path)})):[],[o,s]);return r.length===0?null:i`<section aria-label="Refers to"><h2>Refers to</h2>${r.map(a=>i`<div key=${a.name} class="tie">
    <h3><${$} text=${a.name} max=${200} /> <span class="quiet">in <${$} text=${a.to}
      max=${200} />: ${a.ids.length.toLocaleString("en")}</span></h3>
    ${a.ids.length>0&&i`<${S} ids label=${`To ${a.to} by ${a.name}`} items=${a.ids}
      item=${d=>i`<${O} collection=${a.to} id=${d} at=${n} short />`} />`}
  </div>`)}</section>`}function be({lineage:e}){if(!e)return null;let t=e.copies.filter(n=>Number(n.documents)>0||n.more||n.reason);return i`<section aria-label="Carried by"><h2>Carried by</h2>
    ${t.length===0&&i`<p class="quiet">No document carries anything of this one.</p>`}
    ${t.map(n=>i`<${Re} key=${n.rule} of=${n} />`)}</section>`}function Re({of:e}){let[t,n]=y(!1),s=e.rule.slice(0,e.rule.indexOf(".")),o=Number(e.documents);return i`<div class="tie"><header><h3><code><${$} text=${e.rule} max=${300} /></code><span
    class="quiet">: ${o.toLocaleString("en")}</span></h3>
      ${o>0&&i`<button type="button" class="small" aria-expanded=${t} aria-label=${`Show carriers by ${e.rule}`}
        onClick=${()=>n(!t)}>Show</button>`}</header>
    ${e.reason&&i`<p class="quiet"><${$} text=${e.reason} max=${1e3} /></p>`}
    ${e.more>0&&i`<p class="quiet">${Number(e.more).toLocaleString("en")} more ids were not looked for.</p>`}
    ${t&&i`<${S} ids label=${`Carriers by ${e.rule}`} items=${e.first} item=${r=>i`<${O}
        collection=${s} id=${r} short />`} />
      ${o>e.first.length&&i`<p
        class="quiet">The first ${e.first.length} of ${o.toLocaleString("en")} are listed.</p>`}`}</div>`}function ge({lineage:e,model:t}){let n=(e?.derived??[]).filter(o=>o.state==="no value"),s=e?.unguarded??[];return i`${n.length>0&&i`<section aria-label="Absent values"><h2>Without a value</h2>
      <${S} label="Without a value" items=${n} item=${o=>i`<code><${$} text=${o.path||o.rule} max=${300} /></code> <${H} kind=${E(o,t)} />
        <div class="quiet">${o.hidden?"You may not read the collection that it would come from.":i`<${$}
          text=${o.reason||"No reason is known."} max=${1e3} />`}</div>
        ${(o.sources??[]).slice(0,3).map(r=>i`<${O} collection=${r.collection}
          id=${r.id} /> `)}`} /></section>`}
    ${s.length>0&&i`<section aria-label="Not unique"><h2>Not compared as unique</h2>
      <${S} label="Not compared as unique" items=${s} item=${o=>i`<code><${$}
        text=${o.unique} max=${300} /></code> <div class="quiet"><${$} text=${o.reason} max=${1e3} /></div>`} /></section>`}
    ${e?.more>0&&i`<p class="quiet">${Number(e.more).toLocaleString("en")} more derived values are not listed.</p>`}`}function xe({value:e,parts:t,model:n,position:s,onClose:o}){let r=R(null);I(()=>r.current?.focus(),[]);let a=D(n,e.rule);return i`<section aria-label="Origin" class="origin" onKeyDown=${c=>{c.key==="Escape"&&o()}}>
    <h2 tabindex="-1" ref=${r}>Origin of <code><${$} text=${e.path} max=${500} /></code></h2>
    <dl>
      <dt>Kind</dt><dd>${E(e,n)}</dd>
      ${e.state&&i`<dt>State</dt><dd><${$} text=${Ce(e.state)} /></dd>`}
      <dt>Rule</dt><dd><code><${$} text=${e.rule} max=${500} /></code>${a&&i`<br /><code class="quiet"><${$}
        text=${Le(a)} max=${2e3} /></code>`}</dd>
      <dt>Sources</dt><dd><${Ee} value=${e} /></dd>
      <${Pe} value=${e} parts=${t} model=${n} position=${s} />
      ${e.reason&&i`<dt>Reason</dt><dd><${$} text=${e.reason} max=${2e3} /></dd>`}
      <dt>Event</dt><dd><${Ae} event=${e.event} parts=${t} /></dd>
    </dl>
    <button type="button" onClick=${o}>Close</button>
  </section>`}var Ce=e=>({frozen:"frozen: the value of the moment when the document began to refer to the source",kept:"kept: the source is deleted, and the value stays"})[e]??e,Le=e=>Object.entries(e).map(([t,n])=>`${t}: ${typeof n=="string"?n:JSON.stringify(n)}`).join(", ");function Ee({value:e}){if(e.hidden)return"You may not read the collection that it comes from.";let t=e.sources??[];return t.length===0?Number(e.documents)>0?`${F(Number(e.documents))} documents`:"no document":i`<${S} ids label="Sources" items=${t} item=${n=>i`<${O}
    collection=${n.collection} id=${n.id} />${n.rev===void 0&&i` <span class="quiet">is gone</span>`}`} />
    ${Number(e.documents)>t.length&&i`<p
      class="quiet">The first ${t.length} of ${F(Number(e.documents))} documents.</p>`}`}function Ae({event:e,parts:t}){return e?e.seq?i`<a href=${b(t,{at:e.seq})}><${$} text=${e.seq} /></a>${e.time&&i`, <${T} text=${e.time} position=${e.seq} />`}${e.op&&i`, <${$} text=${e.op} />`}${e.collection?i` by <${O} collection=${e.collection} id=${e.id} />`:e.op==="derive"&&""}${e.reason&&i`. <${$} text=${e.reason} max=${1e3} />`}`:i`<${$} text=${e.reason??"not known"} max=${1e3} />`:"further back in the history than is looked"}var H=({kind:e,state:t})=>i`<span class="kind"><${$} text=${e} max=${40} />${t&&t!=="no value"&&i`, <${$} text=${t}
    max=${80} />`}</span>`,Ne=8,Me=/^\s*doc((?:\.[A-Za-z_]\w*)+)\s*$/;function Pe({value:e,parts:t,model:n,position:s}){let{value:o}=v(r=>Te(e,n,s,r),[e,n]);return!o||o.length<2?null:i`<dt>Chain</dt><dd><ol class="chain" aria-label="Chain">
    <li><${me} collection=${t[0]} id=${t[1]} path=${e.path} /></li>
    ${o.map(r=>i`<li key=${r.collection+"/"+r.id}><span class="by" title=${r.rule}><span class="unseen">copied by
        <${$} text=${r.rule} max=${200} /> from</span></span><${me} ...${r} /></li>`)}</ol></dd>`}var me=({collection:e,id:t,path:n})=>i`<span class="stand"><${O} collection=${e} id=${t} />${n&&i`<code class="quiet"><${$} text=${n} max=${80} /></code>`}</span>`;async function Te(e,t,n,s){let o=[];for(let r=e;o.length<Ne;){let[a,...d]=r.sources??[];if(!a||d.length>0||Number(r.documents??1)>1)return o;let[,c=""]=Me.exec(String(D(t,r.rule)?.value??""))??[],l=c.replaceAll(".","/");if(o.push({collection:a.collection,id:a.id,path:l,rule:String(r.rule)}),l==="")return o;let m={"Fanfold-Min-Position":n};if(r=(await w({path:[a.collection,a.id,"_lineage"],headers:m,signal:s}).catch(()=>null))?.derived?.find(p=>p.path===l&&p.state!=="no value"),!r)return o}return o}var De=200;function Ot({place:e}){let{parts:t}=e,n=ze(e),s=e.params.get("at"),o=v(async x=>({...await Ie({...n,signal:x}),at:s}),[s]),{problem:r,busy:a,stale:d,again:c}=o,l=d&&r?void 0:o.value,m=l?l.at:s,u=m===null,p=v(async x=>l?ce(x):void 0,[l]),h=v(async x=>l&&u?Ue(t,l.position,x):void 0,[l,m]),{rows:f,changed:g}=Fe(t,u&&!d?l?.position??"":"",a,c);return i`<${te} place=${e} position=${d?"":l?.position??""} />
    <${ne} place=${e} problem=${r} again=${c}>${r?.status===404&&i`<p>See its <a href=${b([...t,"_history"])}>history</a>, which a deleted document has, too, or the <a
      href=${b([t[0]],{at:s})}>collection</a>.</p>`}<//>
    ${!l&&r&&i`<${K} asked=${n} />`}
    <${Z} of=${o} shape="text">${l&&i`<div class="facts"><p class="quiet">Revision <${$} text=${l.revision} />, written <${T} text=${l.written} />
        ${u&&i`, seen at <code>${l.position}</code>`}.
      ${" "}<a href=${b([...t,"_history"])}>History</a></p>
      ${u&&i`<${je} collection=${t[0]} id=${t[1]} etag=${l.etag} model=${p.value} />`}</div>
    <div class="beside"><div>
      <${We} doc=${l} parts=${t} at=${m} lineage=${u?h.value:void 0} model=${p.value}
        changed=${g} />
      ${u&&i`<${ee} rows=${f} />`}
      <${K} asked=${n} />
    </div><div>
      <${L} problem=${h.problem??p.problem} again=${h.problem?h.again:p.again} />
      ${u&&i`<${ge} lineage=${h.value} model=${p.value} />`}
      <${he} doc=${l} collection=${t[0]} at=${m} model=${p.value} />
      ${u&&i`<${pe} parts=${t} position=${l.position} model=${p.value} />
        <${be} lineage=${h.value} />`}
    </div></div>`}<//>`}function je({collection:e,id:t,etag:n,model:s}){let o=oe({always:!0,onDone:(a,d)=>{let c=b([e]),l=(d?.writes.length??1)-1;V({href:c,what:`${e}/${t} is deleted${l>0?`, and ${l} more written`:""}`,written:a}),J(c)}}),{state:r}=o;return i`<p class="actions"><a class="button" href=${b([e,t],{edit:""})}>Edit</a>
      <a class="button" href=${b([e],{new:"",from:t})}>Clone</a>
      <button type="button" class="loss"
        onClick=${()=>o.begin({method:"DELETE",path:[e,t],headers:{"If-Match":n}})}>Delete</button>
      <span role="status" class="quiet">${r.phase==="looking"&&"Looking at what it changes"}</span></p>
    <${se} title="What this delete changes" go="Delete now" keep="Keep it" writing=${o} careful loses>
      <${_e} collection=${e} id=${t} model=${s} /><//>
    ${r.phase==="idle"&&i`<${ie} state=${r} />`}`}var ye={clear:"their reference stays, and what they copied goes",keep:"their reference and what they copied stay"};function _e({collection:e,id:t,model:n}){let{value:s}=v(async o=>{let r=q(n).filter(c=>c.to===e&&ye[c.onDelete]),a=c=>({relation:c,fields:"id",count:!0,limit:1}),d=r.map(c=>w({path:[e,t,c.collection],query:a(c.name),signal:o}).then(({count:l})=>({...c,count:Number(l)}),()=>({...c,count:0})));return(await Promise.all(d)).filter(c=>c.count>0)},[n]);return s?.length?i`<ul aria-label="Refer to it" class="documents">${s.map(o=>i`<li key=${o.collection+" "+o.name}>${X(o.count,"document")} of <${$} text=${o.collection} max=${100} />${" "}
      ${o.count===1?"refers":"refer"} to it by <${$} text=${o.name} max=${100} />: ${ye[o.onDelete]}.</li>`)}</ul>`:null}function Fe([e,t],n,s,o){let r=R("");(r.current===""||n==="")&&(r.current=n);let[a,d]=y(!1),[c,l]=y(new Set),m=Q([e],r.current,u=>u.id===t,u=>{l(new Set(u.flatMap(p=>(p.patch?.elements??[]).map(h=>M(k(h,"path"))??"")).slice(0,De))),d(!0)});return N(()=>{!a||s||(d(!1),o())},[a,s]),{rows:m,changed:c}}function Ke({text:e,name:t}){let n=()=>{let s=URL.createObjectURL(new Blob([e],{type:"application/json"})),o=document.createElement("a");o.href=s,o.download=t,o.click(),setTimeout(()=>URL.revokeObjectURL(s),6e4)};return i`<p>The document has ${e.length.toLocaleString("en")} characters, and is shown as text. <button type="button"
    onClick=${n}>Download</button></p>
    <div class="json whole"><${G} text=${e} of="the document" first=${1e4} /></div>`}function We({doc:e,parts:t,at:n,lineage:s,model:o,changed:r}){let[a,d]=y(""),c=C(()=>He(s),[s]),l=C(()=>le(o,t[0]),[o]),m=R(null),u=()=>{m.current?.focus(),d("")},p=(f,g)=>{m.current=g.currentTarget,d(f)},h={marked:f=>c.values.has(f),inside:f=>c.inside.get(f)??0,beside:f=>{let g=c.values.get(f);return g&&i` <${H} kind=${E(g,o)} state=${g.state} /> <button type="button" class="small"
        aria-label=${`Origin of ${ae(f)}`} aria-expanded=${a===f}
          onClick=${x=>a===f?u():p(f,x)}>Origin</button>`},under:f=>a===f&&c.values.has(f)&&i`<${xe} key=${f} value=${c.values.get(f)} parts=${t} model=${o}
        position=${e.position} onClose=${u} />`,href:(f,g)=>{let x=l.length?Y(f):[],j=l.find(ke=>$e(x,ke.path)),z=j&&A(g);return j&&z!==void 0?b([j.to,z],{at:n}):void 0},changed:r};return i`<section aria-label="Document">${e.root?i`<${re} root=${e.root} adds=${h} />`:i`<${Ke} text=${e.text} name=${t.join("-")+".json"} />`}</section>`}function He(e){let t=new Map,n=new Map;for(let s of e?.derived??[])if(!(!s.path||s.state==="no value")){t.set(s.path,s);for(let o=s.path.lastIndexOf("/");o>0;o=s.path.lastIndexOf("/",o-1)){let r=s.path.slice(0,o);n.set(r,(n.get(r)??0)+1)}}return{values:t,inside:n}}var we=4<<20,ze=({parts:e,params:t})=>({path:e,query:{at:t.get("at")}});async function Ie(e){let{text:t,headers:n}=await P(e),s=t.length<=we&&new Blob([t]).size<=we;return{text:t,root:s?await B(t,e.signal):void 0,revision:n.get("Fanfold-Revision")??"",etag:n.get("ETag")??"",position:n.get("Fanfold-Position")??"",written:n.get("Last-Modified")??""}}var Ue=(e,t,n)=>w({path:[...e,"_lineage"],headers:{"Fanfold-Min-Position":t},signal:n});export{Ot as DocumentPage,We as DocumentRegion,je as EditActions,Ke as WholeText,ze as askedOf,Ie as load,Ue as loadLineage};
