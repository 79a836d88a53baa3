import{a as ce,b as $e}from"./chunk-3BO7NV3F.js";import{$ as m,Aa as se,Ca as ie,D as T,Da as re,E as X,Oa as N,Pa as ae,Qa as le,T as O,V as z,a as b,aa as j,d as K,da as k,ga as v,ha as Z,ja as R,k as W,ka as Q,na as H,p as P,ra as ee,s as S,ua as te,va as ne,xa as oe}from"./chunk-2RUBGJ57.js";import{B as G,b as y,c as M,d as B,e as L,f as C,l as i,n as V,r as D,s as w,u as Y}from"./chunk-JD54O3BL.js";function q(e){return Object.entries(e?.collections??{}).flatMap(([t,n])=>Object.entries(n?.relations??{}).map(([s,o])=>({collection:t,name:s,path:ue(String(o.path)),to:String(o.to),onDelete:String(o.onDelete??"clear")})))}function de(e,t){let n=Object.entries(e?.collections?.[t]?.derive??{}).flatMap(([s,o])=>{let{ids:r,recent:l}=o,$=r??l;return typeof $=="string"?[{path:ue(s+(r?"[]":"[].id")),to:$.slice(0,$.indexOf("."))}]:[]});return[...q(e).filter(s=>s.collection===t),...n]}var ue=e=>e.split(".").flatMap(t=>t.split("[]"));function _(e,t){let n=t.indexOf(".");return e?.collections?.[t.slice(0,n)]?.derive?.[t.slice(n+1)]}var qe=["copy","count","sum","min","max","avg","ids","recent"];function A(e,t){let n=_(t,e.rule),s=e.kind??qe.find(o=>n?.[o]!==void 0)??(n?"value":"derived");return s==="value"?"computed":String(s)}function E(e){if(e?.kind==="number")return e.raw;let t=e?.kind==="string"?JSON.parse(e.raw):"";return t===""?void 0:t}var me=(e,t)=>e.length===t.length&&t.every((n,s)=>n===""?/^\d+$/.test(e[s]):n===e[s]);function fe(e,t){let n=[e];for(let s of t)n=s===""?n.flatMap(o=>o?.elements??[]):n.map(o=>w(o,s));return[...new Set(n.map(E).filter(s=>s!==void 0))]}function pe(e,t){let n=JSON.stringify(t),s=(o,r,l)=>{let $=r.indexOf(""),a=($<0?r:r.slice(0,$)).reduce((d,f)=>d+Le(f),o);if($<0)return/^-?\d{1,15}$/.test(t)?`(${a} == ${n} || ${a} == ${t})`:`${a} == ${n}`;let c=r.slice($+1);if(c.length===0)return`${n} in ${a}`;let u=s("e"+l,c,l+1);return`${a}.exists(e${l}, ${u})`};return s("doc",e,1)}var Le=e=>/^[A-Za-z_]\w*$/.test(e)?"."+e:`[${JSON.stringify(e)}]`;var Ce=20,J=e=>e.collection+"."+e.name,be=(e,t,n,s)=>({path:[...e,n.collection],query:{relation:n.name,fields:"id",...s},headers:{"Fanfold-Min-Position":t}});function ge({parts:e,position:t,model:n}){let[s,o]=y({}),[r,l]=y(0),$=q(n).filter(a=>a.to===e[0]);return M(()=>{let a=new AbortController;return(async()=>{for(let c of $){let u=await S({...be(e,t,c,{count:!0,limit:1}),signal:a.signal}).then(({count:d})=>({count:d}),d=>({problem:a.signal.aborted?void 0:z(d)}));if(a.signal.aborted)return;o(d=>({...d,[J(c)]:u}))}})(),()=>a.abort()},[n,t,r]),$.length===0?null:i`<section aria-label="Referred to by"><h2>Referred to by</h2>
    ${$.map(a=>i`<${Re} key=${J(a)} parts=${e} position=${t} relation=${a}
      counted=${s[J(a)]??{}} again=${()=>l(r+1)} />`)}</section>`}function Re({parts:e,position:t,relation:n,counted:s,again:o}){let[r,l]=y(null),$=async()=>{let u=r??{ids:[],busy:!1};l({...u,busy:!0,problem:void 0});try{let d=V((await P(be(e,t,n,{limit:Ce,cursor:u.next}))).text),f=(w(d,"items")?.elements??[]).map(h=>E(w(h,"id"))??"");l({ids:[...u.ids,...f],next:D(w(d,"next")),busy:!1})}catch(d){l({...u,busy:!1,problem:z(d)})}},a=`${n.collection} by ${n.name}`,c=Number(s.count??0);return i`<div class="tie"><header><h3><${m} text=${n.collection} max=${200} /> <span class="quiet">by <${m}
    text=${n.name} max=${200} />${s.count!==void 0&&": "+c.toLocaleString("en")}</span></h3>
      ${c>0&&i`<button type="button" class="small" aria-expanded=${r!==null} aria-label=${`Show ${a}`}
        onClick=${()=>r===null?$():l(null)}>Show</button>
        <a href=${b([n.collection],{filter:pe(n.path,e[1])})}
          aria-label=${`List ${a}`}>List</a>`}</header>
    ${[401,403].includes(s.problem?.status??0)?i`<p class="quiet">You may not read them.</p>`:i`<${N}
      problem=${s.problem} again=${o} />`}
    ${r&&i`<${v} ids label=${a} items=${r.ids} busy=${r.busy} more=${r.next&&$}
        item=${u=>i`<${k} collection=${n.collection} id=${u} short />`} />
      <${N} problem=${r.problem} again=${$} asked />`}</div>`}function xe({doc:e,collection:t,at:n,model:s}){let o=e.root,r=C(()=>o?q(s).filter(l=>l.collection===t).map(l=>({...l,ids:fe(o,l.path)})):[],[o,s]);return r.length===0?null:i`<section aria-label="Refers to"><h2>Refers to</h2>${r.map(l=>i`<div key=${l.name} class="tie">
    <h3><${m} text=${l.name} max=${200} /> <span class="quiet">in <${m} text=${l.to}
      max=${200} />: ${l.ids.length.toLocaleString("en")}</span></h3>
    ${l.ids.length>0&&i`<${v} ids label=${`To ${l.to} by ${l.name}`} items=${l.ids}
      item=${$=>i`<${k} collection=${l.to} id=${$} at=${n} short />`} />`}
  </div>`)}</section>`}function ye({lineage:e}){if(!e)return null;let t=e.copies.filter(n=>Number(n.documents)>0||n.more||n.reason);return i`<section aria-label="Carried by"><h2>Carried by</h2>
    ${t.length===0&&i`<p class="quiet">No document carries anything of this one.</p>`}
    ${t.map(n=>i`<${Ne} key=${n.rule} of=${n} />`)}</section>`}function Ne({of:e}){let[t,n]=y(!1),s=e.rule.slice(0,e.rule.indexOf(".")),o=Number(e.documents);return i`<div class="tie"><header><h3><code><${m} text=${e.rule} max=${300} /></code><span
    class="quiet">: ${o.toLocaleString("en")}</span></h3>
      ${o>0&&i`<button type="button" class="small" aria-expanded=${t} aria-label=${`Show carriers by ${e.rule}`}
        onClick=${()=>n(!t)}>Show</button>`}</header>
    ${e.reason&&i`<p class="quiet"><${m} text=${e.reason} max=${1e3} /></p>`}
    ${e.more>0&&i`<p class="quiet">${Number(e.more).toLocaleString("en")} more ids were not looked for.</p>`}
    ${t&&i`<${v} ids label=${`Carriers by ${e.rule}`} items=${e.first} item=${r=>i`<${k}
        collection=${s} id=${r} short />`} />
      ${o>e.first.length&&i`<p
        class="quiet">The first ${e.first.length} of ${o.toLocaleString("en")} are listed.</p>`}`}</div>`}function we({lineage:e,model:t}){let n=(e?.derived??[]).filter(o=>o.state==="no value"),s=e?.unguarded??[];return i`${n.length>0&&i`<section aria-label="Absent values"><h2>Without a value</h2>
      <${v} label="Without a value" items=${n} item=${o=>i`<code><${m} text=${o.path||o.rule} max=${300} /></code> <${I} kind=${A(o,t)} />
        <div class="quiet">${o.hidden?"You may not read the collection that it would come from.":i`<${m}
          text=${o.reason||"No reason is known."} max=${1e3} />`}</div>
        ${(o.sources??[]).slice(0,3).map(r=>i`<${k} collection=${r.collection}
          id=${r.id} /> `)}`} /></section>`}
    ${s.length>0&&i`<section aria-label="Not unique"><h2>Not compared as unique</h2>
      <${v} label="Not compared as unique" items=${s} item=${o=>i`<code><${m}
        text=${o.unique} max=${300} /></code> <div class="quiet"><${m} text=${o.reason} max=${1e3} /></div>`} /></section>`}
    ${e?.more>0&&i`<p class="quiet">${Number(e.more).toLocaleString("en")} more derived values are not listed.</p>`}`}function ke({value:e,parts:t,model:n,position:s,at:o,onClose:r}){let l=L(null);B(()=>l.current?.focus(),[]);let $=_(n,e.rule);return i`<section aria-label="Origin" class="origin" onKeyDown=${c=>{c.key==="Escape"&&r()}}>
    <h2 tabindex="-1" ref=${l}>Origin of <code><${m} text=${e.path} max=${500} /></code></h2>
    <dl>
      <dt>Kind</dt><dd>${A(e,n)}</dd>
      ${e.state&&i`<dt>State</dt><dd><${m} text=${Ae(e.state)} /></dd>`}
      <dt>Rule</dt><dd><code><${m} text=${e.rule} max=${500} /></code>${$&&i`<br /><code class="quiet"><${m}
        text=${Ee($)} max=${2e3} /></code>`}</dd>
      <dt>Sources</dt><dd><${Me} value=${e} at=${o} /></dd>
      ${o===null&&i`<${je} value=${e} parts=${t} model=${n} position=${s} />`}
      ${e.reason&&i`<dt>Reason</dt><dd><${m} text=${e.reason} max=${2e3} /></dd>`}
      <dt>Event</dt><dd><${De} event=${e.event} parts=${t} /></dd>
    </dl>
    <button type="button" onClick=${r}>Close</button>
  </section>`}var Ae=e=>({frozen:"frozen: the value of the moment when the document began to refer to the source",kept:"kept: the source is deleted, and the value stays"})[e]??e,Ee=e=>Object.entries(e).map(([t,n])=>`${t}: ${typeof n=="string"?n:JSON.stringify(n)}`).join(", ");function Me({value:e,at:t}){if(e.hidden)return"You may not read the collection that it comes from.";let n=e.sources??[];return n.length===0?Number(e.documents)>0?`${R(Number(e.documents))} documents`:"no document":i`<${v} ids label="Sources" items=${n} item=${s=>i`<${k}
    collection=${s.collection} id=${s.id} at=${t} />${s.rev===void 0&&i` <span class="quiet">is gone</span>`}`} />
    ${Number(e.documents)>n.length&&i`<p
      class="quiet">The first ${n.length} of ${R(Number(e.documents))} documents.</p>`}`}function De({event:e,parts:t}){return e?e.seq?i`<a href=${b(t,{at:e.seq})}><${m} text=${e.seq} /></a>${e.time&&i`, <${j} text=${e.time} position=${e.seq} />`}${e.op&&i`, <${m} text=${e.op} />`}${e.collection?i` by <${k} collection=${e.collection} id=${e.id} />`:e.op==="derive"&&""}${e.reason&&i`. <${m} text=${e.reason} max=${1e3} />`}`:i`<${m} text=${e.reason??"not known"} max=${1e3} />`:"further back in the history than is looked"}var I=({kind:e,state:t})=>i`<span class="kind"><${m} text=${e} max=${40} />${t&&t!=="no value"&&i`, <${m} text=${t}
    max=${80} />`}</span>`,Pe=8,Te=/^\s*doc((?:\.[A-Za-z_]\w*)+)\s*$/;function je({value:e,parts:t,model:n,position:s}){let{value:o}=O(r=>_e(e,n,s,r),[e,n]);return!o||o.length<2?null:i`<dt>Chain</dt><dd><ol class="chain" aria-label="Chain">
    <li><${he} collection=${t[0]} id=${t[1]} path=${e.path} /></li>
    ${o.map(r=>i`<li key=${r.collection+"/"+r.id}><span class="by" title=${r.rule}><span class="unseen">copied by${" "}
        <${m} text=${r.rule} max=${200} /> from</span></span><${he} ...${r} /></li>`)}</ol></dd>`}var he=({collection:e,id:t,path:n})=>i`<span class="stand"><${k} collection=${e} id=${t} />${n&&i`<code class="quiet"><${m} text=${n} max=${80} /></code>`}</span>`;async function _e(e,t,n,s){let o=[];for(let r=e;o.length<Pe;){let[l,...$]=r.sources??[];if(!l||$.length>0||Number(r.documents??1)>1)return o;let[,a=""]=Te.exec(String(_(t,r.rule)?.value??""))??[],c=a.replaceAll(".","/");if(o.push({collection:l.collection,id:l.id,path:c,rule:String(r.rule)}),c==="")return o;let u={"Fanfold-Min-Position":n};if(r=(await S({path:[l.collection,l.id,"_lineage"],headers:u,signal:s}).catch(()=>null))?.derived?.find(f=>f.path===c&&f.state!=="no value"),!r)return o}return o}var Fe=200;function yt({place:e}){let{parts:t}=e,n=Ue(e),s=e.params.get("at"),o=O(async x=>({...await Be({...n,signal:x}),at:s}),[s]),{problem:r,busy:l,stale:$,again:a}=o,c=$&&r?void 0:o.value,u=c?c.at:s,d=u===null,f=O(async x=>c?X(x):void 0,[c]),h=O(async x=>c?Ve(t,c.position,x,u):void 0,[c,u]),{rows:p,changed:g}=ze(t,d&&!$?c?.position??"":"",l,a);return i`<${oe} place=${e} position=${$?"":c?.position??""} />
    <${se} place=${e} problem=${r} again=${a}>${r?.status===404&&i`<p>See its <a href=${b([...t,"_history"])}>history</a>, which a deleted document has, too, or the <a
      href=${b([t[0]],{at:s})}>collection</a>.</p>`}<//>
    ${!c&&r&&i`<${H} asked=${n} />`}
    <${ae} of=${o} shape="text">${c&&i`<div class="facts"><p class="quiet">Revision <${m} text=${c.revision} />, written <${j} text=${c.written}
        position=${d?c.position:void 0} />.
      ${" "}<a href=${b([...t,"_history"])}>History</a></p>
      ${d&&i`<${Ke} collection=${t[0]} id=${t[1]} etag=${c.etag} model=${f.value} />`}</div>
    <div class="beside"><div>
      <${Je} doc=${c} parts=${t} at=${u} lineage=${h.value} model=${f.value}
        changed=${g} />
      ${d&&i`<${ne} rows=${p} />`}
      <${H} asked=${n} />
    </div><div>
      <${N} problem=${h.problem??f.problem} again=${h.problem?h.again:f.again} />
      <${we} lineage=${h.value} model=${f.value} />
      <${xe} doc=${c} collection=${t[0]} at=${u} model=${f.value} />
      ${d&&i`<${ge} parts=${t} position=${c.position} model=${f.value} />
        <${ye} lineage=${h.value} />`}
    </div></div>`}<//>`}function Ke({collection:e,id:t,etag:n,model:s}){let o=ee({always:!0,onDone:(a,c)=>{let u=b([e]),d=(c?.writes.length??1)-1;W({href:u,what:`${e}/${t} is deleted${d>0?`, and ${d} more written`:""}`,written:a}),K(u)}}),{state:r}=o,l=({deleted:a,changed:c,position:u})=>{let d=b([e]),f=`${e}/${t} is deleted, and ${R(a+c-1)} more written, step by step`;W({href:d,what:f,written:{position:u,derived:void 0,visible:!0,took:0,location:""}}),K(d)},$=()=>o.begin({method:"DELETE",path:[e,t],headers:{"If-Match":n}});return i`<p class="actions">
      ${T(e,"update")&&i`<a class="button" href=${b([e,t],{edit:""})}>Edit</a>`}
      ${T(e,"create")&&i`<a class="button" href=${b([e],{new:"",from:t})}>Clone</a>`}
      ${T(e,"delete")&&i`<button type="button" class="loss" onClick=${$}>Delete</button>`}
      <span role="status" class="quiet">${r.phase==="looking"&&"Looking at what it changes"}</span></p>
    <${ie} title="What this delete changes" go="Delete now" keep="Keep it" writing=${o} careful loses>
      <${We} collection=${e} id=${t} model=${s} /><//>
    ${r.phase==="idle"&&(r.problem?.of.steps?i`<${le} collection=${e} id=${t} problem=${r.problem} onDone=${l} onClose=${o.stop} />`:i`<${re} state=${r} />`)}`}var Oe={clear:"their reference stays, and what they copied goes",keep:"their reference and what they copied stay"};function We({collection:e,id:t,model:n}){let{value:s}=O(async o=>{let r=q(n).filter(a=>a.to===e&&Oe[a.onDelete]),l=a=>({relation:a,fields:"id",count:!0,limit:1}),$=r.map(a=>S({path:[e,t,a.collection],query:l(a.name),signal:o}).then(({count:c})=>({...a,count:Number(c)}),()=>({...a,count:0})));return(await Promise.all($)).filter(a=>a.count>0)},[n]);return s?.length?i`<ul aria-label="Refer to it" class="documents">${s.map(o=>i`<li key=${o.collection+" "+o.name}>${Q(o.count,"document")} of <${m} text=${o.collection} max=${100} />${" "}
      ${o.count===1?"refers":"refer"} to it by <${m} text=${o.name} max=${100} />: ${Oe[o.onDelete]}.</li>`)}</ul>`:null}function ze([e,t],n,s,o){let r=L("");(r.current===""||n==="")&&(r.current=n);let[l,$]=y(!1),[a,c]=y(new Set),u=te([e],r.current,d=>d.id===t,d=>{c(new Set(d.flatMap(f=>(f.patch?.elements??[]).map(h=>D(w(h,"path"))??"")).slice(0,Fe))),$(!0)});return M(()=>{!l||s||($(!1),o())},[l,s]),{rows:u,changed:a}}function He({text:e,name:t}){let n=()=>{let s=URL.createObjectURL(new Blob([e],{type:"application/json"})),o=document.createElement("a");o.href=s,o.download=t,o.click(),setTimeout(()=>URL.revokeObjectURL(s),6e4)};return i`<p>The document has ${e.length.toLocaleString("en")} characters, and is shown as text. <button type="button"
    onClick=${n}>Download</button></p>
    <div class="json whole"><${Z} text=${e} of="the document" first=${1e4} /></div>`}function Je({doc:e,parts:t,at:n,lineage:s,model:o,changed:r}){let[l,$]=y(""),a=C(()=>Ie(s),[s]),c=C(()=>de(o,t[0]),[o]),u=L(null),d=()=>{u.current?.focus(),$("")},f=(p,g)=>{u.current=g.currentTarget,$(p)},h={marked:p=>a.values.has(p),inside:p=>a.inside.get(p)??0,beside:p=>{let g=a.values.get(p);return g&&i` <${I} kind=${A(g,o)} state=${g.state} /> <button type="button" class="small"
        aria-label=${`Origin of ${$e(p)}`} aria-expanded=${l===p}
          onClick=${x=>l===p?d():f(p,x)}>Origin</button>`},under:p=>l===p&&a.values.has(p)&&i`<${ke} key=${p} value=${a.values.get(p)} parts=${t} model=${o}
        position=${e.position} at=${n} onClose=${d} />`,href:(p,g)=>{let x=c.length?G(p):[],F=c.find(Se=>me(x,Se.path)),U=F&&E(g);return F&&U!==void 0?b([F.to,U],{at:n}):void 0},changed:r};return i`<section aria-label="Document">${e.root?i`<${ce} root=${e.root} adds=${h} />`:i`<${He} text=${e.text} name=${t.join("-")+".json"} />`}</section>`}function Ie(e){let t=new Map,n=new Map;for(let s of e?.derived??[])if(!(!s.path||s.state==="no value")){t.set(s.path,s);for(let o=s.path.lastIndexOf("/");o>0;o=s.path.lastIndexOf("/",o-1)){let r=s.path.slice(0,o);n.set(r,(n.get(r)??0)+1)}}return{values:t,inside:n}}var ve=4<<20,Ue=({parts:e,params:t})=>({path:e,query:{at:t.get("at")}});async function Be(e){let{text:t,headers:n}=await P(e),s=t.length<=ve&&new Blob([t]).size<=ve;return{text:t,root:s?await Y(t,e.signal):void 0,revision:n.get("Fanfold-Revision")??"",etag:n.get("ETag")??"",position:n.get("Fanfold-Position")??"",written:n.get("Last-Modified")??""}}var Ve=(e,t,n,s)=>S({path:[...e,"_lineage"],query:{at:s},headers:{"Fanfold-Min-Position":t},signal:n});export{yt as DocumentPage,Je as DocumentRegion,Ke as EditActions,He as WholeText,Ue as askedOf,Be as load,Ve as loadLineage};
