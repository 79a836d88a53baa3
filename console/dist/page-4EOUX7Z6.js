import{a as de,b as ue}from"./chunk-QE3UB5EH.js";import{Ba as ae,D as _,Da as re,E as Q,Ea as le,Pa as A,Qa as ce,Ra as $e,U as O,W as H,a as h,aa as m,ba as K,d as W,ea as k,ha as v,ia as ee,k as F,ka as E,la as te,oa as I,p as j,s as N,sa as ne,va as oe,wa as se,ya as ie,z as Z}from"./chunk-AW476DRL.js";import{B as X,b as x,c as T,d as V,e as R,f as C,l as a,n as Y,r as M,s as w,u as G}from"./chunk-JD54O3BL.js";function S(e){return Object.entries(e?.collections??{}).flatMap(([t,n])=>Object.entries(n?.relations??{}).map(([s,o])=>({collection:t,name:s,path:fe(String(o.path)),to:String(o.to),onDelete:String(o.onDelete??"clear")})))}function me(e,t){let n=Object.entries(e?.collections?.[t]?.derive??{}).flatMap(([s,o])=>{let{ids:i,recent:r}=o,$=i??r;return typeof $=="string"?[{path:fe(s+(i?"[]":"[].id")),to:$.slice(0,$.indexOf("."))}]:[]});return[...S(e).filter(s=>s.collection===t),...n]}var fe=e=>e.split(".").flatMap(t=>t.split("[]"));function J(e,t){let n=t.indexOf(".");return e?.collections?.[t.slice(0,n)]?.derive?.[t.slice(n+1)]}var Re=["copy","count","sum","min","max","avg","ids","recent"];function D(e,t){let n=J(t,e.rule),s=e.kind??Re.find(o=>n?.[o]!==void 0)??(n?"value":"derived");return s==="value"?"computed":String(s)}function P(e){if(e?.kind==="number")return e.raw;let t=e?.kind==="string"?JSON.parse(e.raw):"";return t===""?void 0:t}var pe=(e,t)=>e.length===t.length&&t.every((n,s)=>n===""?/^\d+$/.test(e[s]):n===e[s]);function he(e,t){let n=[e];for(let s of t)n=s===""?n.flatMap(o=>o?.elements??[]):n.map(o=>w(o,s));return[...new Set(n.map(P).filter(s=>s!==void 0))]}function be(e,t){let n=JSON.stringify(t),s=(o,i,r)=>{let $=i.indexOf(""),l=($<0?i:i.slice(0,$)).reduce((d,p)=>d+Ce(p),o);if($<0)return/^-?\d{1,15}$/.test(t)?`(${l} == ${n} || ${l} == ${t})`:`${l} == ${n}`;let c=i.slice($+1);if(c.length===0)return`${n} in ${l}`;let u=s("e"+r,c,r+1);return`${l}.exists(e${r}, ${u})`};return s("doc",e,1)}var Ce=e=>/^[A-Za-z_]\w*$/.test(e)?"."+e:`[${JSON.stringify(e)}]`;var Ne=20,z=e=>e.collection+"."+e.name,xe=(e,t,n,s)=>({path:[...e,n.collection],query:{relation:n.name,fields:"id",...s},headers:{"Fanfold-Min-Position":t}});function ye({parts:e,position:t,model:n}){let[s,o]=x({}),[i,r]=x(0),$=S(n).filter(l=>l.to===e[0]);return T(()=>{let l=new AbortController;return(async()=>{for(let c of $){let u=await N({...xe(e,t,c,{count:!0,limit:1}),signal:l.signal}).then(({count:d})=>({count:d}),d=>({problem:l.signal.aborted?void 0:H(d)}));if(l.signal.aborted)return;o(d=>({...d,[z(c)]:u}))}})(),()=>l.abort()},[n,t,i]),$.length===0?null:a`<section aria-label="Referred to by"><h2>Referred to by</h2>
    ${$.map(l=>a`<${Ee} key=${z(l)} parts=${e} position=${t} relation=${l}
      counted=${s[z(l)]??{}} again=${()=>r(i+1)} />`)}</section>`}function Ee({parts:e,position:t,relation:n,counted:s,again:o}){let[i,r]=x(null),$=async()=>{let u=i??{ids:[],busy:!1};r({...u,busy:!0,problem:void 0});try{let d=Y((await j(xe(e,t,n,{limit:Ne,cursor:u.next}))).text),p=(w(d,"items")?.elements??[]).map(b=>P(w(b,"id"))??"");r({ids:[...u.ids,...p],next:M(w(d,"next")),busy:!1})}catch(d){r({...u,busy:!1,problem:H(d)})}},l=`${n.collection} by ${n.name}`,c=Number(s.count??0);return a`<div class="tie"><header><h3><${m} text=${n.collection} max=${200} /> <span class="quiet">by <${m}
    text=${n.name} max=${200} />${s.count!==void 0&&": "+c.toLocaleString("en")}</span></h3>
      ${c>0&&a`<button type="button" class="small" aria-expanded=${i!==null} aria-label=${`Show ${l}`}
        onClick=${()=>i===null?$():r(null)}>Show</button>
        <a href=${h([n.collection],{filter:be(n.path,e[1])})}
          aria-label=${`List ${l}`}>List</a>`}</header>
    ${[401,403].includes(s.problem?.status??0)?a`<p class="quiet">You may not read them.</p>`:a`<${A}
      problem=${s.problem} again=${o} />`}
    ${i&&a`<${v} ids label=${l} items=${i.ids} busy=${i.busy} more=${i.next&&$}
        item=${u=>a`<${k} collection=${n.collection} id=${u} short />`} />
      <${A} problem=${i.problem} again=${$} asked />`}</div>`}function we({doc:e,collection:t,at:n,model:s}){let o=e.root,i=C(()=>o?S(s).filter(r=>r.collection===t).map(r=>({...r,ids:he(o,r.path)})):[],[o,s]);return i.length===0?null:a`<section aria-label="Refers to"><h2>Refers to</h2>
    ${n!==null&&a`<p class="quiet">By the relations that the model has now.</p>`}${i.map(r=>a`<div key=${r.name} class="tie">
    <h3><${m} text=${r.name} max=${200} /> <span class="quiet">in <${m} text=${r.to}
      max=${200} />: ${r.ids.length.toLocaleString("en")}</span></h3>
    ${r.ids.length>0&&a`<${v} ids label=${`To ${r.to} by ${r.name}`} items=${r.ids}
      item=${$=>a`<${k} collection=${r.to} id=${$} at=${n} short />`} />`}
  </div>`)}</section>`}function ke({lineage:e,at:t}){if(!e)return null;let n=e.copies.filter(o=>Number(o.documents)>0||o.first.length>0||o.more||o.reason),s=t===null?"carries":"carried";return a`<section aria-label="Carried by"><h2>Carried by</h2>
    ${n.length===0&&a`<p class="quiet">No document that you may read ${s} anything of this one.</p>`}
    ${n.map(o=>a`<${Ae} key=${o.rule} of=${o} at=${t} />`)}</section>`}function Ae({of:e,at:t}){let[n,s]=x(!1),o=e.rule.slice(0,e.rule.indexOf(".")),i=Number(e.documents);return a`<div class="tie"><header><h3><code><${m} text=${e.rule} max=${300} /></code><span
    class="quiet">: ${e.hidden?"those that you may read":i.toLocaleString("en")}</span></h3>
      ${e.first.length>0&&a`<button type="button" class="small" aria-expanded=${n} aria-label=${`Show carriers by ${e.rule}`}
        onClick=${()=>s(!n)}>Show</button>`}</header>
    ${e.reason&&a`<p class="quiet"><${m} text=${e.reason} max=${1e3} /></p>`}
    ${e.more>0&&a`<p class="quiet">${Number(e.more).toLocaleString("en")} more ids were not looked for.</p>`}
    ${n&&a`<${v} ids label=${`Carriers by ${e.rule}`} items=${e.first} item=${r=>a`<${k}
        collection=${o} id=${r} at=${t} short />`} />
      ${i>e.first.length&&a`<p
        class="quiet">The first ${e.first.length} of ${i.toLocaleString("en")} are listed.</p>`}`}</div>`}function Oe({lineage:e,model:t,at:n}){let s=(e?.derived??[]).filter(i=>i.state==="no value"),o=e?.unguarded??[];return a`${s.length>0&&a`<section aria-label="Absent values"><h2>Without a value</h2>
      <${v} label="Without a value" items=${s} item=${i=>a`<code><${m} text=${i.path||i.rule} max=${300} /></code> <${B} kind=${D(i,t)} />
        <div class="quiet">${i.hidden?"You may not read the collection that it would come from.":a`<${m}
          text=${i.reason||"No reason is known."} max=${1e3} />`}</div>
        ${(i.sources??[]).slice(0,3).map(r=>a`<${k} collection=${r.collection}
          id=${r.id} at=${n} /> `)}`} /></section>`}
    ${o.length>0&&a`<section aria-label="Not unique"><h2>Not compared as unique</h2>
      <${v} label="Not compared as unique" items=${o} item=${i=>a`<code><${m}
        text=${i.unique} max=${300} /></code> <div class="quiet"><${m} text=${i.reason} max=${1e3} /></div>`} /></section>`}
    ${e?.more>0&&a`<p class="quiet">${Number(e.more).toLocaleString("en")} more derived values are not listed.</p>`}`}function ve({value:e,parts:t,model:n,position:s,at:o,onClose:i}){let r=R(null);V(()=>r.current?.focus(),[]);let $=J(n,e.rule);return a`<section aria-label="Origin" class="origin" onKeyDown=${c=>{c.key==="Escape"&&i()}}>
    <h2 tabindex="-1" ref=${r}>Origin of <code><${m} text=${e.path} max=${500} /></code></h2>
    <dl>
      <dt>Kind</dt><dd>${D(e,n)}</dd>
      ${e.state&&a`<dt>State</dt><dd><${m} text=${De(e.state)} /></dd>`}
      <dt>Rule</dt><dd><code><${m} text=${e.rule} max=${500} /></code>${$&&a`<br /><span class="quiet">${o!==null&&"now "}<code><${m}
        text=${Pe($)} max=${2e3} /></code></span>`}</dd>
      <dt>Sources</dt><dd><${Te} value=${e} at=${o} /></dd>
      <${_e} value=${e} parts=${t} position=${s} at=${o} />
      ${e.reason&&a`<dt>Reason</dt><dd><${m} text=${e.reason} max=${2e3} /></dd>`}
      <dt>Event</dt><dd><${Me} event=${e.event} parts=${t} /></dd>
    </dl>
    <button type="button" onClick=${i}>Close</button>
  </section>`}var De=e=>({frozen:"frozen: the value of the moment when the document began to refer to the source",kept:"kept: the source is deleted, and the value stays"})[e]??e,Pe=e=>Object.entries(e).map(([t,n])=>`${t}: ${typeof n=="string"?n:JSON.stringify(n)}`).join(", ");function Te({value:e,at:t}){let n=e.sources??[];return e.hidden&&n.length===0?"You may not read the collection that it comes from.":n.length===0?Number(e.documents)>0?`${E(Number(e.documents))} documents`:"no document":a`<${v} ids label="Sources" items=${n} item=${s=>a`<${k}
    collection=${s.collection} id=${s.id} at=${t} />${s.rev===void 0&&a` <span class="quiet">is gone</span>`}`} />
    ${Number(e.documents)>n.length&&a`<p
      class="quiet">The first ${n.length} of ${E(Number(e.documents))} documents.</p>`}${e.hidden&&a`<p class="quiet">Those that you may not read are left out.</p>`}`}function Me({event:e,parts:t}){return e?e.seq?a`<a href=${h(t,{at:e.seq})}>${e.time?a`<${K} text=${e.time} position=${e.seq} />`:a`<code><${m} text=${e.seq} /></code>`}</a>${e.op&&a`, <${m} text=${e.op} />`}${e.collection?a` by <${k} collection=${e.collection} id=${e.id} />`:e.op==="derive"&&""}${e.reason&&a`. <${m} text=${e.reason} max=${1e3} />`}`:a`<${m} text=${e.reason??"not known"} max=${1e3} />`:"further back in the history than is looked"}var B=({kind:e,state:t})=>a`<span class="kind"><${m} text=${e} max=${40} />${t&&t!=="no value"&&a`, <${m} text=${t}
    max=${80} />`}</span>`,je=8;function _e({value:e,parts:t,position:n,at:s}){let{value:o}=O(i=>Ke(e,n,s,i),[e,s]);return!o||o.length<2?null:a`<dt>Chain</dt><dd><ol class="chain" aria-label="Chain">
    <li><${ge} collection=${t[0]} id=${t[1]} path=${e.path} at=${s} /></li>
    ${o.map(i=>a`<li key=${i.collection+"/"+i.id}><span class="by" title=${i.rule}><span class="unseen">copied by${" "}
        <${m} text=${i.rule} max=${200} /> from</span></span><${ge} ...${i} /></li>`)}</ol></dd>`}var ge=({collection:e,id:t,path:n,at:s})=>a`<span class="stand"><${k} collection=${e} id=${t} at=${s} />${n&&a`<code class="quiet"><${m} text=${n} max=${80} /></code>`}</span>`;async function Ke(e,t,n,s){let o=[];for(let i=e;o.length<je;){let[r,...$]=i.sources??[];if(!r||$.length>0||Number(i.documents??1)>1||i.kind!=="copy")return o;let l=String(i.sourcePath??"");if(i.state&&(n=i.event?.seq??null),o.push({collection:r.collection,id:r.id,path:l,rule:String(i.rule),at:n}),l===""||i.state&&n===null||(i=(await U([r.collection,r.id],t,s,n).catch(()=>null))?.derived?.find(u=>u.path===l&&u.state!=="no value"),!i))return o}return o}var U=(e,t,n,s)=>N({path:[...e,"_lineage"],query:{at:s},headers:{"Fanfold-Min-Position":t},signal:n});var We=200;function yt({place:e}){let{parts:t}=e,n=Ue(e),s=e.params.get("at"),o=O(async y=>({...await Ve({...n,signal:y}),at:s}),[s]),{problem:i,busy:r,stale:$,again:l}=o,c=$&&i?void 0:o.value,u=c?c.at:s,d=u===null,p=O(async y=>c?Q(y):void 0,[c]),b=O(async y=>c?U(t,c.position,y,u):void 0,[c,u]),f=!d&&b.problem?.kind==="takes-long",g=f?void 0:b.problem,{rows:q,changed:L}=Ie(t,d&&!$?c?.position??"":"",r,l);return a`<${ie} place=${e} position=${$?"":c?.position??""} />
    <${ae} place=${e} problem=${i} again=${l}>${i?.status===404&&a`<p>See its <a href=${h([...t,"_history"])}>history</a>, which a deleted document has, too, or the <a
      href=${h([t[0]],{at:s})}>collection</a>.</p>`}<//>
    ${!c&&i&&a`<${I} asked=${n} />`}
    <${ce} of=${o} shape="text">${c&&a`<div class="facts"><p class="quiet">Revision <${m} text=${c.revision} />, written <${K} text=${c.written}
        position=${d?c.position:void 0} />.
      ${" "}<a href=${h([...t,"_history"])}>History</a></p>
      ${d&&a`<${Fe} collection=${t[0]} id=${t[1]} etag=${c.etag} model=${p.value} />`}</div>
    <div class="beside"><div>
      <${ze} doc=${c} parts=${t} at=${u} lineage=${b.value} model=${p.value}
        changed=${L} />
      ${d&&a`<${se} rows=${q} />`}
      <${I} asked=${n} />
    </div><div>
      <${A} problem=${g??p.problem} again=${g?b.again:p.again} />
      ${f&&a`<p class="quiet" role="status">Where its values came from, and who carried them, takes too long to tell as of then. Its
          history tells what changed.</p>`}
      <${Oe} lineage=${b.value} model=${p.value} at=${u} />
      <${we} doc=${c} collection=${t[0]} at=${u} model=${p.value} />
      ${d&&a`<${ye} parts=${t} position=${c.position} model=${p.value} />`}
      <${ke} lineage=${b.value} at=${u} />
    </div></div>`}<//>`}function Fe({collection:e,id:t,etag:n,model:s}){let o=ne({always:!0,onDone:(l,c)=>{let u=h([e]),d=(c?.writes.length??1)-1;F({href:u,what:`${e}/${t} is deleted${d>0?`, and ${d} more written`:""}`,written:l}),W(u)}}),{state:i}=o,r=({deleted:l,changed:c,position:u})=>{let d=h([e]),p=`${e}/${t} is deleted, and ${E(l+c-1)} more written, step by step`;F({href:d,what:p,written:{position:u,derived:void 0,visible:!0,took:0,location:""}}),W(d)},$=()=>o.begin({method:"DELETE",path:[e,t],headers:{"If-Match":n}});return a`<p class="actions">
      ${_(e,"update")&&a`<a class="button" href=${h([e,t],{edit:""})}>Edit</a>`}
      ${_(e,"create")&&a`<a class="button" href=${h([e],{new:"",from:t})}>Clone</a>`}
      ${_(e,"delete")&&a`<button type="button" class="loss" onClick=${$}>Delete</button>`}
      ${Z("admin")&&a`<a class="button loss" href=${h([e,t],{erase:""})}>Erase…</a>`}
      <span role="status" class="quiet">${i.phase==="looking"&&"Looking at what it changes"}</span></p>
    <${re} title="What this delete changes" go="Delete now" keep="Keep it" writing=${o} careful loses>
      <${He} collection=${e} id=${t} model=${s} /><//>
    ${i.phase==="idle"&&(i.problem?.of.steps?a`<${$e} collection=${e} large=${[{...i.problem.of,id:t}]} onDone=${r} onClose=${o.stop} />`:a`<${le} state=${i} />`)}`}var Se={clear:"their reference stays, and what they copied goes",keep:"their reference and what they copied stay"};function He({collection:e,id:t,model:n}){let{value:s}=O(async o=>{let i=S(n).filter(l=>l.to===e&&Se[l.onDelete]),r=l=>({relation:l,fields:"id",count:!0,limit:1}),$=i.map(l=>N({path:[e,t,l.collection],query:r(l.name),signal:o}).then(({count:c})=>({...l,count:Number(c)}),()=>({...l,count:0})));return(await Promise.all($)).filter(l=>l.count>0)},[n]);return s?.length?a`<ul aria-label="Refer to it" class="documents">${s.map(o=>a`<li key=${o.collection+" "+o.name}>${te(o.count,"document")} of <${m} text=${o.collection} max=${100} />${" "}
      ${o.count===1?"refers":"refer"} to it by <${m} text=${o.name} max=${100} />: ${Se[o.onDelete]}.</li>`)}</ul>`:null}function Ie([e,t],n,s,o){let i=R("");(i.current===""||n==="")&&(i.current=n);let[r,$]=x(!1),[l,c]=x(new Set),u=oe([e],i.current,d=>d.id===t,d=>{c(new Set(d.flatMap(p=>(p.patch?.elements??[]).map(b=>M(w(b,"path"))??"")).slice(0,We))),$(!0)});return T(()=>{!r||s||($(!1),o())},[r,s]),{rows:u,changed:l}}function Je({text:e,name:t}){let n=()=>{let s=URL.createObjectURL(new Blob([e],{type:"application/json"})),o=document.createElement("a");o.href=s,o.download=t,o.click(),setTimeout(()=>URL.revokeObjectURL(s),6e4)};return a`<p>The document has ${e.length.toLocaleString("en")} characters, and is shown as text. <button type="button"
    onClick=${n}>Download</button></p>
    <div class="json whole"><${ee} text=${e} of="the document" first=${1e4} /></div>`}function ze({doc:e,parts:t,at:n,lineage:s,model:o,changed:i}){let[r,$]=x(""),l=C(()=>Be(s),[s]),c=C(()=>me(o,t[0]),[o]),u=R(null),d=()=>{u.current?.focus(),$("")},p=(f,g)=>{u.current=g.currentTarget,$(f)},b={marked:f=>l.values.has(f),inside:f=>l.inside.get(f)??0,beside:f=>{let g=l.values.get(f);return g&&a` <${B} kind=${D(g,o)} state=${g.state} /> <button type="button" class="small"
        aria-label=${`Origin of ${ue(f)}`} aria-expanded=${r===f}
          onClick=${q=>r===f?d():p(f,q)}>Origin</button>`},under:f=>r===f&&l.values.has(f)&&a`<${ve} key=${f} value=${l.values.get(f)} parts=${t} model=${o}
        position=${e.position} at=${n} onClose=${d} />`,href:(f,g)=>{let q=c.length?X(f):[],L=c.find(Le=>pe(q,Le.path)),y=L&&P(g);return L&&y!==void 0?h([L.to,y],{at:n}):void 0},changed:i};return a`<section aria-label="Document">${e.root?a`<${de} root=${e.root} adds=${b} />`:a`<${Je} text=${e.text} name=${t.join("-")+".json"} />`}</section>`}function Be(e){let t=new Map,n=new Map;for(let s of e?.derived??[])if(!(!s.path||s.state==="no value")){t.set(s.path,s);for(let o=s.path.lastIndexOf("/");o>0;o=s.path.lastIndexOf("/",o-1)){let i=s.path.slice(0,o);n.set(i,(n.get(i)??0)+1)}}return{values:t,inside:n}}var qe=4<<20,Ue=({parts:e,params:t})=>({path:e,query:{at:t.get("at")}});async function Ve(e){let{text:t,headers:n}=await j(e),s=t.length<=qe&&new Blob([t]).size<=qe;return{text:t,root:s?await G(t,e.signal):void 0,revision:n.get("Fanfold-Revision")??"",etag:n.get("ETag")??"",position:n.get("Fanfold-Position")??"",written:n.get("Last-Modified")??""}}export{yt as DocumentPage,ze as DocumentRegion,Fe as EditActions,Je as WholeText,Ue as askedOf,Ve as load};
