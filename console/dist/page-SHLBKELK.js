import{a as de,b as ue}from"./chunk-QE3UB5EH.js";import{Ba as re,D as T,Da as ae,E as Q,Ea as le,Pa as N,Qa as ce,Ra as $e,U as O,W,a as h,aa as m,ba as j,d as K,ea as k,ha as v,ia as ee,k as F,ka as C,la as te,oa as H,p as M,s as R,sa as ne,va as oe,wa as se,ya as ie,z as Z}from"./chunk-AW476DRL.js";import{B as X,b as y,c as D,d as V,e as q,f as L,l as r,n as Y,r as P,s as w,u as G}from"./chunk-JD54O3BL.js";function S(e){return Object.entries(e?.collections??{}).flatMap(([t,n])=>Object.entries(n?.relations??{}).map(([o,i])=>({collection:t,name:o,path:fe(String(i.path)),to:String(i.to),onDelete:String(i.onDelete??"clear")})))}function me(e,t){let n=Object.entries(e?.collections?.[t]?.derive??{}).flatMap(([o,i])=>{let{ids:s,recent:a}=i,$=s??a;return typeof $=="string"?[{path:fe(o+(s?"[]":"[].id")),to:$.slice(0,$.indexOf("."))}]:[]});return[...S(e).filter(o=>o.collection===t),...n]}var fe=e=>e.split(".").flatMap(t=>t.split("[]"));function J(e,t){let n=t.indexOf(".");return e?.collections?.[t.slice(0,n)]?.derive?.[t.slice(n+1)]}var Re=["copy","count","sum","min","max","avg","ids","recent"];function E(e,t){let n=J(t,e.rule),o=e.kind??Re.find(i=>n?.[i]!==void 0)??(n?"value":"derived");return o==="value"?"computed":String(o)}function A(e){if(e?.kind==="number")return e.raw;let t=e?.kind==="string"?JSON.parse(e.raw):"";return t===""?void 0:t}var pe=(e,t)=>e.length===t.length&&t.every((n,o)=>n===""?/^\d+$/.test(e[o]):n===e[o]);function he(e,t){let n=[e];for(let o of t)n=o===""?n.flatMap(i=>i?.elements??[]):n.map(i=>w(i,o));return[...new Set(n.map(A).filter(o=>o!==void 0))]}function be(e,t){let n=JSON.stringify(t),o=(i,s,a)=>{let $=s.indexOf(""),l=($<0?s:s.slice(0,$)).reduce((u,p)=>u+Ce(p),i);if($<0)return/^-?\d{1,15}$/.test(t)?`(${l} == ${n} || ${l} == ${t})`:`${l} == ${n}`;let c=s.slice($+1);if(c.length===0)return`${n} in ${l}`;let d=o("e"+a,c,a+1);return`${l}.exists(e${a}, ${d})`};return o("doc",e,1)}var Ce=e=>/^[A-Za-z_]\w*$/.test(e)?"."+e:`[${JSON.stringify(e)}]`;var Ne=20,z=e=>e.collection+"."+e.name,xe=(e,t,n,o)=>({path:[...e,n.collection],query:{relation:n.name,fields:"id",...o},headers:{"Fanfold-Min-Position":t}});function ye({parts:e,position:t,model:n}){let[o,i]=y({}),[s,a]=y(0),$=S(n).filter(l=>l.to===e[0]);return D(()=>{let l=new AbortController;return(async()=>{for(let c of $){let d=await R({...xe(e,t,c,{count:!0,limit:1}),signal:l.signal}).then(({count:u})=>({count:u}),u=>({problem:l.signal.aborted?void 0:W(u)}));if(l.signal.aborted)return;i(u=>({...u,[z(c)]:d}))}})(),()=>l.abort()},[n,t,s]),$.length===0?null:r`<section aria-label="Referred to by"><h2>Referred to by</h2>
    ${$.map(l=>r`<${Ee} key=${z(l)} parts=${e} position=${t} relation=${l}
      counted=${o[z(l)]??{}} again=${()=>a(s+1)} />`)}</section>`}function Ee({parts:e,position:t,relation:n,counted:o,again:i}){let[s,a]=y(null),$=async()=>{let d=s??{ids:[],busy:!1};a({...d,busy:!0,problem:void 0});try{let u=Y((await M(xe(e,t,n,{limit:Ne,cursor:d.next}))).text),p=(w(u,"items")?.elements??[]).map(b=>A(w(b,"id"))??"");a({ids:[...d.ids,...p],next:P(w(u,"next")),busy:!1})}catch(u){a({...d,busy:!1,problem:W(u)})}},l=`${n.collection} by ${n.name}`,c=Number(o.count??0);return r`<div class="tie"><header><h3><${m} text=${n.collection} max=${200} /> <span class="quiet">by <${m}
    text=${n.name} max=${200} />${o.count!==void 0&&": "+c.toLocaleString("en")}</span></h3>
      ${c>0&&r`<button type="button" class="small" aria-expanded=${s!==null} aria-label=${`Show ${l}`}
        onClick=${()=>s===null?$():a(null)}>Show</button>
        <a href=${h([n.collection],{filter:be(n.path,e[1])})}
          aria-label=${`List ${l}`}>List</a>`}</header>
    ${[401,403].includes(o.problem?.status??0)?r`<p class="quiet">You may not read them.</p>`:r`<${N}
      problem=${o.problem} again=${i} />`}
    ${s&&r`<${v} ids label=${l} items=${s.ids} busy=${s.busy} more=${s.next&&$}
        item=${d=>r`<${k} collection=${n.collection} id=${d} short />`} />
      <${N} problem=${s.problem} again=${$} asked />`}</div>`}function we({doc:e,collection:t,at:n,model:o}){let i=e.root,s=L(()=>i?S(o).filter(a=>a.collection===t).map(a=>({...a,ids:he(i,a.path)})):[],[i,o]);return s.length===0?null:r`<section aria-label="Refers to"><h2>Refers to</h2>
    ${n!==null&&r`<p class="quiet">By the relations that the model has now.</p>`}${s.map(a=>r`<div key=${a.name} class="tie">
    <h3><${m} text=${a.name} max=${200} /> <span class="quiet">in <${m} text=${a.to}
      max=${200} />: ${a.ids.length.toLocaleString("en")}</span></h3>
    ${a.ids.length>0&&r`<${v} ids label=${`To ${a.to} by ${a.name}`} items=${a.ids}
      item=${$=>r`<${k} collection=${a.to} id=${$} at=${n} short />`} />`}
  </div>`)}</section>`}function ke({lineage:e,at:t}){if(!e)return null;let n=e.copies.filter(o=>Number(o.documents)>0||o.more||o.reason);return r`<section aria-label="Carried by"><h2>Carried by</h2>
    ${n.length===0&&r`<p class="quiet">No document ${t===null?"carries":"carried"} anything of this one.</p>`}
    ${n.map(o=>r`<${Ae} key=${o.rule} of=${o} at=${t} />`)}</section>`}function Ae({of:e,at:t}){let[n,o]=y(!1),i=e.rule.slice(0,e.rule.indexOf(".")),s=Number(e.documents);return r`<div class="tie"><header><h3><code><${m} text=${e.rule} max=${300} /></code><span
    class="quiet">: ${s.toLocaleString("en")}</span></h3>
      ${s>0&&r`<button type="button" class="small" aria-expanded=${n} aria-label=${`Show carriers by ${e.rule}`}
        onClick=${()=>o(!n)}>Show</button>`}</header>
    ${e.reason&&r`<p class="quiet"><${m} text=${e.reason} max=${1e3} /></p>`}
    ${e.more>0&&r`<p class="quiet">${Number(e.more).toLocaleString("en")} more ids were not looked for.</p>`}
    ${n&&r`<${v} ids label=${`Carriers by ${e.rule}`} items=${e.first} item=${a=>r`<${k}
        collection=${i} id=${a} at=${t} short />`} />
      ${s>e.first.length&&r`<p
        class="quiet">The first ${e.first.length} of ${s.toLocaleString("en")} are listed.</p>`}`}</div>`}function Oe({lineage:e,model:t,at:n}){let o=(e?.derived??[]).filter(s=>s.state==="no value"),i=e?.unguarded??[];return r`${o.length>0&&r`<section aria-label="Absent values"><h2>Without a value</h2>
      <${v} label="Without a value" items=${o} item=${s=>r`<code><${m} text=${s.path||s.rule} max=${300} /></code> <${B} kind=${E(s,t)} />
        <div class="quiet">${s.hidden?"You may not read the collection that it would come from.":r`<${m}
          text=${s.reason||"No reason is known."} max=${1e3} />`}</div>
        ${(s.sources??[]).slice(0,3).map(a=>r`<${k} collection=${a.collection}
          id=${a.id} at=${n} /> `)}`} /></section>`}
    ${i.length>0&&r`<section aria-label="Not unique"><h2>Not compared as unique</h2>
      <${v} label="Not compared as unique" items=${i} item=${s=>r`<code><${m}
        text=${s.unique} max=${300} /></code> <div class="quiet"><${m} text=${s.reason} max=${1e3} /></div>`} /></section>`}
    ${e?.more>0&&r`<p class="quiet">${Number(e.more).toLocaleString("en")} more derived values are not listed.</p>`}`}function ve({value:e,parts:t,model:n,position:o,at:i,onClose:s}){let a=q(null);V(()=>a.current?.focus(),[]);let $=J(n,e.rule);return r`<section aria-label="Origin" class="origin" onKeyDown=${c=>{c.key==="Escape"&&s()}}>
    <h2 tabindex="-1" ref=${a}>Origin of <code><${m} text=${e.path} max=${500} /></code></h2>
    <dl>
      <dt>Kind</dt><dd>${E(e,n)}</dd>
      ${e.state&&r`<dt>State</dt><dd><${m} text=${De(e.state)} /></dd>`}
      <dt>Rule</dt><dd><code><${m} text=${e.rule} max=${500} /></code>${$&&r`<br /><span class="quiet">${i!==null&&"now "}<code><${m}
        text=${Pe($)} max=${2e3} /></code></span>`}</dd>
      <dt>Sources</dt><dd><${Me} value=${e} at=${i} /></dd>
      <${_e} value=${e} parts=${t} position=${o} at=${i} />
      ${e.reason&&r`<dt>Reason</dt><dd><${m} text=${e.reason} max=${2e3} /></dd>`}
      <dt>Event</dt><dd><${Te} event=${e.event} parts=${t} /></dd>
    </dl>
    <button type="button" onClick=${s}>Close</button>
  </section>`}var De=e=>({frozen:"frozen: the value of the moment when the document began to refer to the source",kept:"kept: the source is deleted, and the value stays"})[e]??e,Pe=e=>Object.entries(e).map(([t,n])=>`${t}: ${typeof n=="string"?n:JSON.stringify(n)}`).join(", ");function Me({value:e,at:t}){if(e.hidden)return"You may not read the collection that it comes from.";let n=e.sources??[];return n.length===0?Number(e.documents)>0?`${C(Number(e.documents))} documents`:"no document":r`<${v} ids label="Sources" items=${n} item=${o=>r`<${k}
    collection=${o.collection} id=${o.id} at=${t} />${o.rev===void 0&&r` <span class="quiet">is gone</span>`}`} />
    ${Number(e.documents)>n.length&&r`<p
      class="quiet">The first ${n.length} of ${C(Number(e.documents))} documents.</p>`}`}function Te({event:e,parts:t}){return e?e.seq?r`<a href=${h(t,{at:e.seq})}>${e.time?r`<${j} text=${e.time} position=${e.seq} />`:r`<code><${m} text=${e.seq} /></code>`}</a>${e.op&&r`, <${m} text=${e.op} />`}${e.collection?r` by <${k} collection=${e.collection} id=${e.id} />`:e.op==="derive"&&""}${e.reason&&r`. <${m} text=${e.reason} max=${1e3} />`}`:r`<${m} text=${e.reason??"not known"} max=${1e3} />`:"further back in the history than is looked"}var B=({kind:e,state:t})=>r`<span class="kind"><${m} text=${e} max=${40} />${t&&t!=="no value"&&r`, <${m} text=${t}
    max=${80} />`}</span>`,je=8;function _e({value:e,parts:t,position:n,at:o}){let{value:i}=O(s=>Ke(e,n,o,s),[e,o]);return!i||i.length<2?null:r`<dt>Chain</dt><dd><ol class="chain" aria-label="Chain">
    <li><${ge} collection=${t[0]} id=${t[1]} path=${e.path} at=${o} /></li>
    ${i.map(s=>r`<li key=${s.collection+"/"+s.id}><span class="by" title=${s.rule}><span class="unseen">copied by${" "}
        <${m} text=${s.rule} max=${200} /> from</span></span><${ge} ...${s} /></li>`)}</ol></dd>`}var ge=({collection:e,id:t,path:n,at:o})=>r`<span class="stand"><${k} collection=${e} id=${t} at=${o} />${n&&r`<code class="quiet"><${m} text=${n} max=${80} /></code>`}</span>`;async function Ke(e,t,n,o){let i=[];for(let s=e;i.length<je;){let[a,...$]=s.sources??[];if(!a||$.length>0||Number(s.documents??1)>1||s.kind!=="copy")return i;let l=String(s.sourcePath??"");if(s.state&&(n=s.event?.seq??null),i.push({collection:a.collection,id:a.id,path:l,rule:String(s.rule),at:n}),l===""||s.state&&n===null||(s=(await I([a.collection,a.id],t,o,n).catch(()=>null))?.derived?.find(d=>d.path===l&&d.state!=="no value"),!s))return i}return i}var I=(e,t,n,o)=>R({path:[...e,"_lineage"],query:{at:o},headers:{"Fanfold-Min-Position":t},signal:n});var Fe=200;function yt({place:e}){let{parts:t}=e,n=Ue(e),o=e.params.get("at"),i=O(async x=>({...await Ve({...n,signal:x}),at:o}),[o]),{problem:s,busy:a,stale:$,again:l}=i,c=$&&s?void 0:i.value,d=c?c.at:o,u=d===null,p=O(async x=>c?Q(x):void 0,[c]),b=O(async x=>c?I(t,c.position,x,d):void 0,[c,d]),{rows:f,changed:g}=Je(t,u&&!$?c?.position??"":"",a,l);return r`<${ie} place=${e} position=${$?"":c?.position??""} />
    <${re} place=${e} problem=${s} again=${l}>${s?.status===404&&r`<p>See its <a href=${h([...t,"_history"])}>history</a>, which a deleted document has, too, or the <a
      href=${h([t[0]],{at:o})}>collection</a>.</p>`}<//>
    ${!c&&s&&r`<${H} asked=${n} />`}
    <${ce} of=${i} shape="text">${c&&r`<div class="facts"><p class="quiet">Revision <${m} text=${c.revision} />, written <${j} text=${c.written}
        position=${u?c.position:void 0} />.
      ${" "}<a href=${h([...t,"_history"])}>History</a></p>
      ${u&&r`<${We} collection=${t[0]} id=${t[1]} etag=${c.etag} model=${p.value} />`}</div>
    <div class="beside"><div>
      <${Be} doc=${c} parts=${t} at=${d} lineage=${b.value} model=${p.value}
        changed=${g} />
      ${u&&r`<${se} rows=${f} />`}
      <${H} asked=${n} />
    </div><div>
      <${N} problem=${b.problem??p.problem} again=${b.problem?b.again:p.again} />
      <${Oe} lineage=${b.value} model=${p.value} at=${d} />
      <${we} doc=${c} collection=${t[0]} at=${d} model=${p.value} />
      ${u&&r`<${ye} parts=${t} position=${c.position} model=${p.value} />`}
      <${ke} lineage=${b.value} at=${d} />
    </div></div>`}<//>`}function We({collection:e,id:t,etag:n,model:o}){let i=ne({always:!0,onDone:(l,c)=>{let d=h([e]),u=(c?.writes.length??1)-1;F({href:d,what:`${e}/${t} is deleted${u>0?`, and ${u} more written`:""}`,written:l}),K(d)}}),{state:s}=i,a=({deleted:l,changed:c,position:d})=>{let u=h([e]),p=`${e}/${t} is deleted, and ${C(l+c-1)} more written, step by step`;F({href:u,what:p,written:{position:d,derived:void 0,visible:!0,took:0,location:""}}),K(u)},$=()=>i.begin({method:"DELETE",path:[e,t],headers:{"If-Match":n}});return r`<p class="actions">
      ${T(e,"update")&&r`<a class="button" href=${h([e,t],{edit:""})}>Edit</a>`}
      ${T(e,"create")&&r`<a class="button" href=${h([e],{new:"",from:t})}>Clone</a>`}
      ${T(e,"delete")&&r`<button type="button" class="loss" onClick=${$}>Delete</button>`}
      ${Z("admin")&&r`<a class="button loss" href=${h([e,t],{erase:""})}>Erase…</a>`}
      <span role="status" class="quiet">${s.phase==="looking"&&"Looking at what it changes"}</span></p>
    <${ae} title="What this delete changes" go="Delete now" keep="Keep it" writing=${i} careful loses>
      <${He} collection=${e} id=${t} model=${o} /><//>
    ${s.phase==="idle"&&(s.problem?.of.steps?r`<${$e} collection=${e} large=${[{...s.problem.of,id:t}]} onDone=${a} onClose=${i.stop} />`:r`<${le} state=${s} />`)}`}var Se={clear:"their reference stays, and what they copied goes",keep:"their reference and what they copied stay"};function He({collection:e,id:t,model:n}){let{value:o}=O(async i=>{let s=S(n).filter(l=>l.to===e&&Se[l.onDelete]),a=l=>({relation:l,fields:"id",count:!0,limit:1}),$=s.map(l=>R({path:[e,t,l.collection],query:a(l.name),signal:i}).then(({count:c})=>({...l,count:Number(c)}),()=>({...l,count:0})));return(await Promise.all($)).filter(l=>l.count>0)},[n]);return o?.length?r`<ul aria-label="Refer to it" class="documents">${o.map(i=>r`<li key=${i.collection+" "+i.name}>${te(i.count,"document")} of <${m} text=${i.collection} max=${100} />${" "}
      ${i.count===1?"refers":"refer"} to it by <${m} text=${i.name} max=${100} />: ${Se[i.onDelete]}.</li>`)}</ul>`:null}function Je([e,t],n,o,i){let s=q("");(s.current===""||n==="")&&(s.current=n);let[a,$]=y(!1),[l,c]=y(new Set),d=oe([e],s.current,u=>u.id===t,u=>{c(new Set(u.flatMap(p=>(p.patch?.elements??[]).map(b=>P(w(b,"path"))??"")).slice(0,Fe))),$(!0)});return D(()=>{!a||o||($(!1),i())},[a,o]),{rows:d,changed:l}}function ze({text:e,name:t}){let n=()=>{let o=URL.createObjectURL(new Blob([e],{type:"application/json"})),i=document.createElement("a");i.href=o,i.download=t,i.click(),setTimeout(()=>URL.revokeObjectURL(o),6e4)};return r`<p>The document has ${e.length.toLocaleString("en")} characters, and is shown as text. <button type="button"
    onClick=${n}>Download</button></p>
    <div class="json whole"><${ee} text=${e} of="the document" first=${1e4} /></div>`}function Be({doc:e,parts:t,at:n,lineage:o,model:i,changed:s}){let[a,$]=y(""),l=L(()=>Ie(o),[o]),c=L(()=>me(i,t[0]),[i]),d=q(null),u=()=>{d.current?.focus(),$("")},p=(f,g)=>{d.current=g.currentTarget,$(f)},b={marked:f=>l.values.has(f),inside:f=>l.inside.get(f)??0,beside:f=>{let g=l.values.get(f);return g&&r` <${B} kind=${E(g,i)} state=${g.state} /> <button type="button" class="small"
        aria-label=${`Origin of ${ue(f)}`} aria-expanded=${a===f}
          onClick=${x=>a===f?u():p(f,x)}>Origin</button>`},under:f=>a===f&&l.values.has(f)&&r`<${ve} key=${f} value=${l.values.get(f)} parts=${t} model=${i}
        position=${e.position} at=${n} onClose=${u} />`,href:(f,g)=>{let x=c.length?X(f):[],_=c.find(Le=>pe(x,Le.path)),U=_&&A(g);return _&&U!==void 0?h([_.to,U],{at:n}):void 0},changed:s};return r`<section aria-label="Document">${e.root?r`<${de} root=${e.root} adds=${b} />`:r`<${ze} text=${e.text} name=${t.join("-")+".json"} />`}</section>`}function Ie(e){let t=new Map,n=new Map;for(let o of e?.derived??[])if(!(!o.path||o.state==="no value")){t.set(o.path,o);for(let i=o.path.lastIndexOf("/");i>0;i=o.path.lastIndexOf("/",i-1)){let s=o.path.slice(0,i);n.set(s,(n.get(s)??0)+1)}}return{values:t,inside:n}}var qe=4<<20,Ue=({parts:e,params:t})=>({path:e,query:{at:t.get("at")}});async function Ve(e){let{text:t,headers:n}=await M(e),o=t.length<=qe&&new Blob([t]).size<=qe;return{text:t,root:o?await G(t,e.signal):void 0,revision:n.get("Fanfold-Revision")??"",etag:n.get("ETag")??"",position:n.get("Fanfold-Position")??"",written:n.get("Last-Modified")??""}}export{yt as DocumentPage,Be as DocumentRegion,We as EditActions,ze as WholeText,Ue as askedOf,Ve as load};
