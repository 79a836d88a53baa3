import{a as ie,b as I,c as me,d as fe}from"./chunk-RKBUGHMI.js";import{a as re,d as ae}from"./chunk-3QLU4M2F.js";import{a as ce,b as $e,h as de,i as ue}from"./chunk-XFBWXMUH.js";import{e as le}from"./chunk-5MVB55MF.js";import{f as oe,g as se}from"./chunk-2CPSNNAE.js";import{a as ne}from"./chunk-JSRVEYTP.js";import{G as q,I as P,P as m,Q as F,T as S,W as L,X as ee,Z as v,_ as M,a as x,ba as J,ca as te,d as B,fa as C,i as Z,m as H,r as R,u as A}from"./chunk-E7RJ2GXA.js";import{A as Q,b as g,c as D,d as G,e as k,f as N,l as i,n as W,r as K,s as O,t as Y,u as X}from"./chunk-YLTSUMXM.js";async function Ae({collection:e,id:t},n,s){let o={deleted:0,changed:0,position:"",done:!1};for(;!o.done&&!n.aborted;){let r=Y(W((await R({method:"DELETE",path:[e,t],query:{steps:!0}})).text));o.deleted+=r.deleted,o.changed+=r.changed,o.position=r.position,o.done=r.done,s({...o})}return o}function pe({collection:e,id:t,problem:n,onDone:s,onClose:o}){let[r,l]=g(null),[$,a]=g(void 0),c=k(null);D(()=>()=>c.current?.abort(),[]);let[u,d]=g(!1),f=k({deleted:0,changed:0}),b=h=>({...h,deleted:f.current.deleted+h.deleted,changed:f.current.changed+h.changed}),p=async()=>{let h=c.current=new AbortController;f.current=r??f.current,d(!0),a(void 0);try{let w=b(await Ae({collection:e,id:t},h.signal,_=>l(b(_))));if(w.done)return s(w)}catch(w){a(P(w))}d(!1)},y=()=>c.current?.abort();return i`<${te} title="Delete step by step" closable=${!u} onClose=${o}>
    <p><b><${m} text=${e+"/"+t} max=${300} /></b> brings more with it than one transaction takes, 1,000 documents. It
      goes in several, what refers to it first. Others see what is gone so far, and what is deleted stays deleted.
      ${n.of.documents>0&&i` It writes ${n.of.atLeast&&"at least "}${M(n.of.documents,"document")}.`}</p>
    <ul aria-label="What goes with it">${(n.of.problems??[]).slice(0,100).map(h=>i`<li><b><${m} text=${String(h.path)} max=${100} /></b>: <${m}
        text=${String(h.detail)} max=${300} /></li>`)}</ul>
    ${r&&i`<${Ee} sum=${r} problem=${n} busy=${u} />`}
    <${C} problem=${$} />
    <p class="actions">${u?i`<button type="button" onClick=${y}>Stop after this step</button>`:i`<button type="button" class="loss" onClick=${()=>Z(p())}>${r?"Go on":"Delete step by step"}</button>
        <button type="button" data-focus onClick=${o}>${r?"Close":"Keep it"}</button>`} <span role="status" class="quiet">${u&&"Deleting"}</span></p>
  <//>`}function Ee({sum:e,problem:{of:t},busy:n}){let s=e.deleted+e.changed,o=t.atLeast?0:Number(t.documents??0),r=ue("steps",s,o);return i`<${de} label="Delete step by step" done=${s} total=${o} unit="documents" left=${n?r:0}>
      ${t.atLeast&&` of at least ${v(t.documents)}`}<//>
    <p>${M(e.deleted,"document")} deleted, ${v(e.changed)} lost their
      reference.${!n&&" The document itself is still there."}</p>`}function E(e){return Object.entries(e?.collections??{}).flatMap(([t,n])=>Object.entries(n?.relations??{}).map(([s,o])=>({collection:t,name:s,path:be(String(o.path)),to:String(o.to),onDelete:String(o.onDelete??"clear")})))}function he(e,t){let n=Object.entries(e?.collections?.[t]?.derive??{}).flatMap(([s,o])=>{let{ids:r,recent:l}=o,$=r??l;return typeof $=="string"?[{path:be(s+(r?"[]":"[].id")),to:$.slice(0,$.indexOf("."))}]:[]});return[...E(e).filter(s=>s.collection===t),...n]}var be=e=>e.split(".").flatMap(t=>t.split("[]"));function z(e,t){let n=t.indexOf(".");return e?.collections?.[t.slice(0,n)]?.derive?.[t.slice(n+1)]}var Ne=["copy","count","sum","min","max","avg","ids","recent"];function T(e,t){let n=z(t,e.rule),s=e.kind??Ne.find(o=>n?.[o]!==void 0)??(n?"value":"derived");return s==="value"?"computed":String(s)}function j(e){if(e?.kind==="number")return e.raw;let t=e?.kind==="string"?JSON.parse(e.raw):"";return t===""?void 0:t}var ge=(e,t)=>e.length===t.length&&t.every((n,s)=>n===""?/^\d+$/.test(e[s]):n===e[s]);function xe(e,t){let n=[e];for(let s of t)n=s===""?n.flatMap(o=>o?.elements??[]):n.map(o=>O(o,s));return[...new Set(n.map(j).filter(s=>s!==void 0))]}function ye(e,t){let n=JSON.stringify(t),s=(o,r,l)=>{let $=r.indexOf(""),a=($<0?r:r.slice(0,$)).reduce((d,f)=>d+Pe(f),o);if($<0)return/^-?\d{1,15}$/.test(t)?`(${a} == ${n} || ${a} == ${t})`:`${a} == ${n}`;let c=r.slice($+1);if(c.length===0)return`${n} in ${a}`;let u=s("e"+l,c,l+1);return`${a}.exists(e${l}, ${u})`};return s("doc",e,1)}var Pe=e=>/^[A-Za-z_]\w*$/.test(e)?"."+e:`[${JSON.stringify(e)}]`;var Me=20,U=e=>e.collection+"."+e.name,ke=(e,t,n,s)=>({path:[...e,n.collection],query:{relation:n.name,fields:"id",...s},headers:{"Fanfold-Min-Position":t}});function Oe({parts:e,position:t,model:n}){let[s,o]=g({}),[r,l]=g(0),$=E(n).filter(a=>a.to===e[0]);return D(()=>{let a=new AbortController;return(async()=>{for(let c of $){let u=await A({...ke(e,t,c,{count:!0,limit:1}),signal:a.signal}).then(({count:d})=>({count:d}),d=>({problem:a.signal.aborted?void 0:P(d)}));if(a.signal.aborted)return;o(d=>({...d,[U(c)]:u}))}})(),()=>a.abort()},[n,t,r]),$.length===0?null:i`<section aria-label="Referred to by"><h2>Referred to by</h2>
    ${$.map(a=>i`<${Te} key=${U(a)} parts=${e} position=${t} relation=${a}
      counted=${s[U(a)]??{}} again=${()=>l(r+1)} />`)}</section>`}function Te({parts:e,position:t,relation:n,counted:s,again:o}){let[r,l]=g(null),$=async()=>{let u=r??{ids:[],busy:!1};l({...u,busy:!0,problem:void 0});try{let d=W((await R(ke(e,t,n,{limit:Me,cursor:u.next}))).text),f=(O(d,"items")?.elements??[]).map(b=>j(O(b,"id"))??"");l({ids:[...u.ids,...f],next:K(O(d,"next")),busy:!1})}catch(d){l({...u,busy:!1,problem:P(d)})}},a=`${n.collection} by ${n.name}`,c=Number(s.count??0);return i`<div class="tie"><header><h3><${m} text=${n.collection} max=${200} /> <span class="quiet">by <${m}
    text=${n.name} max=${200} />${s.count!==void 0&&": "+c.toLocaleString("en")}</span></h3>
      ${c>0&&i`<button type="button" class="small" aria-expanded=${r!==null} aria-label=${`Show ${a}`}
        onClick=${()=>r===null?$():l(null)}>Show</button>
        <a href=${x([n.collection],{filter:ye(n.path,e[1])})}
          aria-label=${`List ${a}`}>List</a>`}</header>
    ${[401,403].includes(s.problem?.status??0)?i`<p class="quiet">You may not read them.</p>`:i`<${C}
      problem=${s.problem} again=${o} />`}
    ${r&&i`<${L} ids label=${a} items=${r.ids} busy=${r.busy} more=${r.next&&$}
        item=${u=>i`<${S} collection=${n.collection} id=${u} short />`} />
      <${C} problem=${r.problem} again=${$} asked />`}</div>`}function Se({doc:e,collection:t,at:n,model:s}){let o=e.root,r=N(()=>o?E(s).filter(l=>l.collection===t).map(l=>({...l,ids:xe(o,l.path)})):[],[o,s]);return r.length===0?null:i`<section aria-label="Refers to"><h2>Refers to</h2>${r.map(l=>i`<div key=${l.name} class="tie">
    <h3><${m} text=${l.name} max=${200} /> <span class="quiet">in <${m} text=${l.to}
      max=${200} />: ${l.ids.length.toLocaleString("en")}</span></h3>
    ${l.ids.length>0&&i`<${L} ids label=${`To ${l.to} by ${l.name}`} items=${l.ids}
      item=${$=>i`<${S} collection=${l.to} id=${$} at=${n} short />`} />`}
  </div>`)}</section>`}function ve({lineage:e}){if(!e)return null;let t=e.copies.filter(n=>Number(n.documents)>0||n.more||n.reason);return i`<section aria-label="Carried by"><h2>Carried by</h2>
    ${t.length===0&&i`<p class="quiet">No document carries anything of this one.</p>`}
    ${t.map(n=>i`<${je} key=${n.rule} of=${n} />`)}</section>`}function je({of:e}){let[t,n]=g(!1),s=e.rule.slice(0,e.rule.indexOf(".")),o=Number(e.documents);return i`<div class="tie"><header><h3><code><${m} text=${e.rule} max=${300} /></code><span
    class="quiet">: ${o.toLocaleString("en")}</span></h3>
      ${o>0&&i`<button type="button" class="small" aria-expanded=${t} aria-label=${`Show carriers by ${e.rule}`}
        onClick=${()=>n(!t)}>Show</button>`}</header>
    ${e.reason&&i`<p class="quiet"><${m} text=${e.reason} max=${1e3} /></p>`}
    ${e.more>0&&i`<p class="quiet">${Number(e.more).toLocaleString("en")} more ids were not looked for.</p>`}
    ${t&&i`<${L} ids label=${`Carriers by ${e.rule}`} items=${e.first} item=${r=>i`<${S}
        collection=${s} id=${r} short />`} />
      ${o>e.first.length&&i`<p
        class="quiet">The first ${e.first.length} of ${o.toLocaleString("en")} are listed.</p>`}`}</div>`}function qe({lineage:e,model:t}){let n=(e?.derived??[]).filter(o=>o.state==="no value"),s=e?.unguarded??[];return i`${n.length>0&&i`<section aria-label="Absent values"><h2>Without a value</h2>
      <${L} label="Without a value" items=${n} item=${o=>i`<code><${m} text=${o.path||o.rule} max=${300} /></code> <${V} kind=${T(o,t)} />
        <div class="quiet">${o.hidden?"You may not read the collection that it would come from.":i`<${m}
          text=${o.reason||"No reason is known."} max=${1e3} />`}</div>
        ${(o.sources??[]).slice(0,3).map(r=>i`<${S} collection=${r.collection}
          id=${r.id} /> `)}`} /></section>`}
    ${s.length>0&&i`<section aria-label="Not unique"><h2>Not compared as unique</h2>
      <${L} label="Not compared as unique" items=${s} item=${o=>i`<code><${m}
        text=${o.unique} max=${300} /></code> <div class="quiet"><${m} text=${o.reason} max=${1e3} /></div>`} /></section>`}
    ${e?.more>0&&i`<p class="quiet">${Number(e.more).toLocaleString("en")} more derived values are not listed.</p>`}`}function Le({value:e,parts:t,model:n,position:s,at:o,onClose:r}){let l=k(null);G(()=>l.current?.focus(),[]);let $=z(n,e.rule);return i`<section aria-label="Origin" class="origin" onKeyDown=${c=>{c.key==="Escape"&&r()}}>
    <h2 tabindex="-1" ref=${l}>Origin of <code><${m} text=${e.path} max=${500} /></code></h2>
    <dl>
      <dt>Kind</dt><dd>${T(e,n)}</dd>
      ${e.state&&i`<dt>State</dt><dd><${m} text=${_e(e.state)} /></dd>`}
      <dt>Rule</dt><dd><code><${m} text=${e.rule} max=${500} /></code>${$&&i`<br /><code class="quiet"><${m}
        text=${We($)} max=${2e3} /></code>`}</dd>
      <dt>Sources</dt><dd><${Ke} value=${e} at=${o} /></dd>
      ${o===null&&i`<${Be} value=${e} parts=${t} model=${n} position=${s} />`}
      ${e.reason&&i`<dt>Reason</dt><dd><${m} text=${e.reason} max=${2e3} /></dd>`}
      <dt>Event</dt><dd><${Fe} event=${e.event} parts=${t} /></dd>
    </dl>
    <button type="button" onClick=${r}>Close</button>
  </section>`}var _e=e=>({frozen:"frozen: the value of the moment when the document began to refer to the source",kept:"kept: the source is deleted, and the value stays"})[e]??e,We=e=>Object.entries(e).map(([t,n])=>`${t}: ${typeof n=="string"?n:JSON.stringify(n)}`).join(", ");function Ke({value:e,at:t}){if(e.hidden)return"You may not read the collection that it comes from.";let n=e.sources??[];return n.length===0?Number(e.documents)>0?`${v(Number(e.documents))} documents`:"no document":i`<${L} ids label="Sources" items=${n} item=${s=>i`<${S}
    collection=${s.collection} id=${s.id} at=${t} />${s.rev===void 0&&i` <span class="quiet">is gone</span>`}`} />
    ${Number(e.documents)>n.length&&i`<p
      class="quiet">The first ${n.length} of ${v(Number(e.documents))} documents.</p>`}`}function Fe({event:e,parts:t}){return e?e.seq?i`<a href=${x(t,{at:e.seq})}><${m} text=${e.seq} /></a>${e.time&&i`, <${F} text=${e.time} position=${e.seq} />`}${e.op&&i`, <${m} text=${e.op} />`}${e.collection?i` by <${S} collection=${e.collection} id=${e.id} />`:e.op==="derive"&&""}${e.reason&&i`. <${m} text=${e.reason} max=${1e3} />`}`:i`<${m} text=${e.reason??"not known"} max=${1e3} />`:"further back in the history than is looked"}var V=({kind:e,state:t})=>i`<span class="kind"><${m} text=${e} max=${40} />${t&&t!=="no value"&&i`, <${m} text=${t}
    max=${80} />`}</span>`,Ie=8,ze=/^\s*doc((?:\.[A-Za-z_]\w*)+)\s*$/;function Be({value:e,parts:t,model:n,position:s}){let{value:o}=q(r=>He(e,n,s,r),[e,n]);return!o||o.length<2?null:i`<dt>Chain</dt><dd><ol class="chain" aria-label="Chain">
    <li><${we} collection=${t[0]} id=${t[1]} path=${e.path} /></li>
    ${o.map(r=>i`<li key=${r.collection+"/"+r.id}><span class="by" title=${r.rule}><span class="unseen">copied by${" "}
        <${m} text=${r.rule} max=${200} /> from</span></span><${we} ...${r} /></li>`)}</ol></dd>`}var we=({collection:e,id:t,path:n})=>i`<span class="stand"><${S} collection=${e} id=${t} />${n&&i`<code class="quiet"><${m} text=${n} max=${80} /></code>`}</span>`;async function He(e,t,n,s){let o=[];for(let r=e;o.length<Ie;){let[l,...$]=r.sources??[];if(!l||$.length>0||Number(r.documents??1)>1)return o;let[,a=""]=ze.exec(String(z(t,r.rule)?.value??""))??[],c=a.replaceAll(".","/");if(o.push({collection:l.collection,id:l.id,path:c,rule:String(r.rule)}),c==="")return o;let u={"Fanfold-Min-Position":n};if(r=(await A({path:[l.collection,l.id,"_lineage"],headers:u,signal:s}).catch(()=>null))?.derived?.find(f=>f.path===c&&f.state!=="no value"),!r)return o}return o}var Je=200;function Ft({place:e}){let{parts:t}=e,n=Qe(e),s=e.params.get("at"),o=q(async h=>({...await et({...n,signal:h}),at:s}),[s]),{problem:r,busy:l,stale:$,again:a}=o,c=$&&r?void 0:o.value,u=c?c.at:s,d=u===null,f=q(async h=>c?ie(h):void 0,[c]),b=q(async h=>c?tt(t,c.position,h,u):void 0,[c,u]),{rows:p,changed:y}=Ge(t,d&&!$?c?.position??"":"",l,a);return i`<${re} place=${e} position=${$?"":c?.position??""} />
    <${ae} place=${e} problem=${r} again=${a}>${r?.status===404&&i`<p>See its <a href=${x([...t,"_history"])}>history</a>, which a deleted document has, too, or the <a
      href=${x([t[0]],{at:s})}>collection</a>.</p>`}<//>
    ${!c&&r&&i`<${J} asked=${n} />`}
    <${ne} of=${o} shape="text">${c&&i`<div class="facts"><p class="quiet">Revision <${m} text=${c.revision} />, written <${F} text=${c.written}
        position=${d?c.position:void 0} />.
      ${" "}<a href=${x([...t,"_history"])}>History</a></p>
      ${d&&i`<${Ue} collection=${t[0]} id=${t[1]} etag=${c.etag} model=${f.value} />`}</div>
    <div class="beside"><div>
      <${Xe} doc=${c} parts=${t} at=${u} lineage=${b.value} model=${f.value}
        changed=${y} />
      ${d&&i`<${se} rows=${p} />`}
      <${J} asked=${n} />
    </div><div>
      <${C} problem=${b.problem??f.problem} again=${b.problem?b.again:f.again} />
      <${qe} lineage=${b.value} model=${f.value} />
      <${Se} doc=${c} collection=${t[0]} at=${u} model=${f.value} />
      ${d&&i`<${Oe} parts=${t} position=${c.position} model=${f.value} />
        <${ve} lineage=${b.value} />`}
    </div></div>`}<//>`}function Ue({collection:e,id:t,etag:n,model:s}){let o=le({always:!0,onDone:(a,c)=>{let u=x([e]),d=(c?.writes.length??1)-1;H({href:u,what:`${e}/${t} is deleted${d>0?`, and ${d} more written`:""}`,written:a}),B(u)}}),{state:r}=o,l=({deleted:a,changed:c,position:u})=>{let d=x([e]),f=`${e}/${t} is deleted, and ${v(a+c-1)} more written, step by step`;H({href:d,what:f,written:{position:u,derived:void 0,visible:!0,took:0,location:""}}),B(d)},$=()=>o.begin({method:"DELETE",path:[e,t],headers:{"If-Match":n}});return i`<p class="actions">
      ${I(e,"update")&&i`<a class="button" href=${x([e,t],{edit:""})}>Edit</a>`}
      ${I(e,"create")&&i`<a class="button" href=${x([e],{new:"",from:t})}>Clone</a>`}
      ${I(e,"delete")&&i`<button type="button" class="loss" onClick=${$}>Delete</button>`}
      <span role="status" class="quiet">${r.phase==="looking"&&"Looking at what it changes"}</span></p>
    <${ce} title="What this delete changes" go="Delete now" keep="Keep it" writing=${o} careful loses>
      <${Ve} collection=${e} id=${t} model=${s} /><//>
    ${r.phase==="idle"&&(r.problem?.of.steps?i`<${pe} collection=${e} id=${t} problem=${r.problem} onDone=${l} onClose=${o.stop} />`:i`<${$e} state=${r} />`)}`}var Ce={clear:"their reference stays, and what they copied goes",keep:"their reference and what they copied stay"};function Ve({collection:e,id:t,model:n}){let{value:s}=q(async o=>{let r=E(n).filter(a=>a.to===e&&Ce[a.onDelete]),l=a=>({relation:a,fields:"id",count:!0,limit:1}),$=r.map(a=>A({path:[e,t,a.collection],query:l(a.name),signal:o}).then(({count:c})=>({...a,count:Number(c)}),()=>({...a,count:0})));return(await Promise.all($)).filter(a=>a.count>0)},[n]);return s?.length?i`<ul aria-label="Refer to it" class="documents">${s.map(o=>i`<li key=${o.collection+" "+o.name}>${M(o.count,"document")} of <${m} text=${o.collection} max=${100} />${" "}
      ${o.count===1?"refers":"refer"} to it by <${m} text=${o.name} max=${100} />: ${Ce[o.onDelete]}.</li>`)}</ul>`:null}function Ge([e,t],n,s,o){let r=k("");(r.current===""||n==="")&&(r.current=n);let[l,$]=g(!1),[a,c]=g(new Set),u=oe([e],r.current,d=>d.id===t,d=>{c(new Set(d.flatMap(f=>(f.patch?.elements??[]).map(b=>K(O(b,"path"))??"")).slice(0,Je))),$(!0)});return D(()=>{!l||s||($(!1),o())},[l,s]),{rows:u,changed:a}}function Ye({text:e,name:t}){let n=()=>{let s=URL.createObjectURL(new Blob([e],{type:"application/json"})),o=document.createElement("a");o.href=s,o.download=t,o.click(),setTimeout(()=>URL.revokeObjectURL(s),6e4)};return i`<p>The document has ${e.length.toLocaleString("en")} characters, and is shown as text. <button type="button"
    onClick=${n}>Download</button></p>
    <div class="json whole"><${ee} text=${e} of="the document" first=${1e4} /></div>`}function Xe({doc:e,parts:t,at:n,lineage:s,model:o,changed:r}){let[l,$]=g(""),a=N(()=>Ze(s),[s]),c=N(()=>he(o,t[0]),[o]),u=k(null),d=()=>{u.current?.focus(),$("")},f=(p,y)=>{u.current=y.currentTarget,$(p)},b={marked:p=>a.values.has(p),inside:p=>a.inside.get(p)??0,beside:p=>{let y=a.values.get(p);return y&&i` <${V} kind=${T(y,o)} state=${y.state} /> <button type="button" class="small"
        aria-label=${`Origin of ${fe(p)}`} aria-expanded=${l===p}
          onClick=${h=>l===p?d():f(p,h)}>Origin</button>`},under:p=>l===p&&a.values.has(p)&&i`<${Le} key=${p} value=${a.values.get(p)} parts=${t} model=${o}
        position=${e.position} at=${n} onClose=${d} />`,href:(p,y)=>{let h=c.length?Q(p):[],w=c.find(Re=>ge(h,Re.path)),_=w&&j(y);return w&&_!==void 0?x([w.to,_],{at:n}):void 0},changed:r};return i`<section aria-label="Document">${e.root?i`<${me} root=${e.root} adds=${b} />`:i`<${Ye} text=${e.text} name=${t.join("-")+".json"} />`}</section>`}function Ze(e){let t=new Map,n=new Map;for(let s of e?.derived??[])if(!(!s.path||s.state==="no value")){t.set(s.path,s);for(let o=s.path.lastIndexOf("/");o>0;o=s.path.lastIndexOf("/",o-1)){let r=s.path.slice(0,o);n.set(r,(n.get(r)??0)+1)}}return{values:t,inside:n}}var De=4<<20,Qe=({parts:e,params:t})=>({path:e,query:{at:t.get("at")}});async function et(e){let{text:t,headers:n}=await R(e),s=t.length<=De&&new Blob([t]).size<=De;return{text:t,root:s?await X(t,e.signal):void 0,revision:n.get("Fanfold-Revision")??"",etag:n.get("ETag")??"",position:n.get("Fanfold-Position")??"",written:n.get("Last-Modified")??""}}var tt=(e,t,n,s)=>A({path:[...e,"_lineage"],query:{at:s},headers:{"Fanfold-Min-Position":t},signal:n});export{Ft as DocumentPage,Xe as DocumentRegion,Ue as EditActions,Ye as WholeText,Qe as askedOf,et as load,tt as loadLineage};
