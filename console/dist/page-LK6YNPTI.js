import{a as ie,b as F,c as me,d as fe}from"./chunk-RKBUGHMI.js";import{a as re,d as ae}from"./chunk-3QLU4M2F.js";import{a as ce,b as $e,h as de,i as ue}from"./chunk-XFBWXMUH.js";import{e as le}from"./chunk-5MVB55MF.js";import{f as oe,g as se}from"./chunk-2CPSNNAE.js";import{a as ne}from"./chunk-JSRVEYTP.js";import{G as q,I as P,P as m,Q as K,T as S,W as L,X as ee,Z as v,_ as M,a as x,ba as J,ca as te,d as B,fa as C,i as Z,m as H,r as R,u as A}from"./chunk-E7RJ2GXA.js";import{A as Q,b as g,c as D,d as G,e as k,f as N,l as s,n as W,r as I,s as O,t as Y,u as X}from"./chunk-YLTSUMXM.js";async function Ae({collection:e,id:t},n,r){let o={deleted:0,changed:0,position:"",done:!1};for(;!o.done&&!n.aborted;){let i=Y(W((await R({method:"DELETE",path:[e,t],query:{steps:!0}})).text));o.deleted+=i.deleted,o.changed+=i.changed,o.position=i.position,o.done=i.done,r({...o})}return o}function pe({collection:e,id:t,problem:n,onDone:r,onClose:o}){let[i,l]=g(null),[d,a]=g(void 0),c=k(null);D(()=>()=>c.current?.abort(),[]);let[u,$]=g(!1),f=k({deleted:0,changed:0}),b=h=>({...h,deleted:f.current.deleted+h.deleted,changed:f.current.changed+h.changed}),p=async()=>{let h=c.current=new AbortController;f.current=i??f.current,$(!0),a(void 0);try{let w=b(await Ae({collection:e,id:t},h.signal,_=>l(b(_))));if(w.done)return r(w)}catch(w){a(P(w))}$(!1)},y=()=>c.current?.abort();return s`<${te} title="Delete step by step" closable=${!u} onClose=${o}>
    <p><b><${m} text=${e+"/"+t} max=${300} /></b> brings more with it than one transaction takes, 1,000 documents. It
      goes in several, what refers to it first. Others see what is gone so far, and what is deleted stays deleted.
      ${n.of.documents>0&&s` It writes ${n.of.atLeast&&"at least "}${M(n.of.documents,"document")}.`}</p>
    <ul aria-label="What goes with it">${(n.of.problems??[]).slice(0,100).map(h=>s`<li><b><${m} text=${String(h.path)} max=${100} /></b>: <${m}
        text=${String(h.detail)} max=${300} /></li>`)}</ul>
    ${i&&s`<${Ee} sum=${i} problem=${n} busy=${u} />`}
    <${C} problem=${d} />
    <p class="actions">${u?s`<button type="button" onClick=${y}>Stop after this step</button>`:s`<button type="button" class="loss" onClick=${()=>Z(p())}>${i?"Go on":"Delete step by step"}</button>
        <button type="button" data-focus onClick=${o}>${i?"Close":"Keep it"}</button>`} <span role="status" class="quiet">${u&&"Deleting"}</span></p>
  <//>`}function Ee({sum:e,problem:{of:t},busy:n}){let r=e.deleted+e.changed,o=t.atLeast?0:Number(t.documents??0),i=ue("steps",r,o);return s`<${de} label="Delete step by step" done=${r} total=${o} unit="documents" left=${n?i:0}>
      ${t.atLeast&&` of at least ${v(t.documents)}`}<//>
    <p>${M(e.deleted,"document")} deleted, ${v(e.changed)} lost their
      reference.${!n&&" The document itself is still there."}</p>`}function E(e){return Object.entries(e?.collections??{}).flatMap(([t,n])=>Object.entries(n?.relations??{}).map(([r,o])=>({collection:t,name:r,path:be(String(o.path)),to:String(o.to),onDelete:String(o.onDelete??"clear")})))}function he(e,t){let n=Object.entries(e?.collections?.[t]?.derive??{}).flatMap(([r,o])=>{let{ids:i,recent:l}=o,d=i??l;return typeof d=="string"?[{path:be(r+(i?"[]":"[].id")),to:d.slice(0,d.indexOf("."))}]:[]});return[...E(e).filter(r=>r.collection===t),...n]}var be=e=>e.split(".").flatMap(t=>t.split("[]"));function z(e,t){let n=t.indexOf(".");return e?.collections?.[t.slice(0,n)]?.derive?.[t.slice(n+1)]}var Ne=["copy","count","sum","min","max","avg","ids","recent"];function T(e,t){let n=z(t,e.rule),r=e.kind??Ne.find(o=>n?.[o]!==void 0)??(n?"value":"derived");return r==="value"?"computed":String(r)}function j(e){if(e?.kind==="number")return e.raw;let t=e?.kind==="string"?JSON.parse(e.raw):"";return t===""?void 0:t}var ge=(e,t)=>e.length===t.length&&t.every((n,r)=>n===""?/^\d+$/.test(e[r]):n===e[r]);function xe(e,t){let n=[e];for(let r of t)n=r===""?n.flatMap(o=>o?.elements??[]):n.map(o=>O(o,r));return[...new Set(n.map(j).filter(r=>r!==void 0))]}function ye(e,t){let n=JSON.stringify(t),r=(o,i,l)=>{let d=i.indexOf(""),a=(d<0?i:i.slice(0,d)).reduce(($,f)=>$+Pe(f),o);if(d<0)return/^-?\d{1,15}$/.test(t)?`(${a} == ${n} || ${a} == ${t})`:`${a} == ${n}`;let c=i.slice(d+1);if(c.length===0)return`${n} in ${a}`;let u=r("e"+l,c,l+1);return`${a}.exists(e${l}, ${u})`};return r("doc",e,1)}var Pe=e=>/^[A-Za-z_]\w*$/.test(e)?"."+e:`[${JSON.stringify(e)}]`;var Me=20,U=e=>e.collection+"."+e.name,ke=(e,t,n,r)=>({path:[...e,n.collection],query:{relation:n.name,fields:"id",...r},headers:{"Fanfold-Min-Position":t}});function Oe({parts:e,position:t,model:n}){let[r,o]=g({}),[i,l]=g(0),d=E(n).filter(a=>a.to===e[0]);return D(()=>{let a=new AbortController;return(async()=>{for(let c of d){let u=await A({...ke(e,t,c,{count:!0,limit:1}),signal:a.signal}).then(({count:$})=>({count:$}),$=>({problem:a.signal.aborted?void 0:P($)}));if(a.signal.aborted)return;o($=>({...$,[U(c)]:u}))}})(),()=>a.abort()},[n,t,i]),d.length===0?null:s`<section aria-label="Referred to by"><h2>Referred to by</h2>
    ${d.map(a=>s`<${Te} key=${U(a)} parts=${e} position=${t} relation=${a}
      counted=${r[U(a)]??{}} again=${()=>l(i+1)} />`)}</section>`}function Te({parts:e,position:t,relation:n,counted:r,again:o}){let[i,l]=g(null),d=async()=>{let u=i??{ids:[],busy:!1};l({...u,busy:!0,problem:void 0});try{let $=W((await R(ke(e,t,n,{limit:Me,cursor:u.next}))).text),f=(O($,"items")?.elements??[]).map(b=>j(O(b,"id"))??"");l({ids:[...u.ids,...f],next:I(O($,"next")),busy:!1})}catch($){l({...u,busy:!1,problem:P($)})}},a=`${n.collection} by ${n.name}`,c=Number(r.count??0);return s`<div class="tie"><header><h3><${m} text=${n.collection} max=${200} /> <span class="quiet">by <${m}
    text=${n.name} max=${200} />${r.count!==void 0&&": "+c.toLocaleString("en")}</span></h3>
      ${c>0&&s`<button type="button" class="small" aria-expanded=${i!==null} aria-label=${`Show ${a}`}
        onClick=${()=>i===null?d():l(null)}>Show</button>
        <a href=${x([n.collection],{filter:ye(n.path,e[1])})}
          aria-label=${`List ${a}`}>List</a>`}</header>
    ${[401,403].includes(r.problem?.status??0)?s`<p class="quiet">You may not read them.</p>`:s`<${C}
      problem=${r.problem} again=${o} />`}
    ${i&&s`<${L} ids label=${a} items=${i.ids} busy=${i.busy} more=${i.next&&d}
        item=${u=>s`<${S} collection=${n.collection} id=${u} short />`} />
      <${C} problem=${i.problem} again=${d} asked />`}</div>`}function Se({doc:e,collection:t,at:n,model:r}){let o=e.root,i=N(()=>o?E(r).filter(l=>l.collection===t).map(l=>({...l,ids:xe(o,l.path)})):[],[o,r]);return i.length===0?null:s`<section aria-label="Refers to"><h2>Refers to</h2>${i.map(l=>s`<div key=${l.name} class="tie">
    <h3><${m} text=${l.name} max=${200} /> <span class="quiet">in <${m} text=${l.to}
      max=${200} />: ${l.ids.length.toLocaleString("en")}</span></h3>
    ${l.ids.length>0&&s`<${L} ids label=${`To ${l.to} by ${l.name}`} items=${l.ids}
      item=${d=>s`<${S} collection=${l.to} id=${d} at=${n} short />`} />`}
  </div>`)}</section>`}function ve({lineage:e}){if(!e)return null;let t=e.copies.filter(n=>Number(n.documents)>0||n.more||n.reason);return s`<section aria-label="Carried by"><h2>Carried by</h2>
    ${t.length===0&&s`<p class="quiet">No document carries anything of this one.</p>`}
    ${t.map(n=>s`<${je} key=${n.rule} of=${n} />`)}</section>`}function je({of:e}){let[t,n]=g(!1),r=e.rule.slice(0,e.rule.indexOf(".")),o=Number(e.documents);return s`<div class="tie"><header><h3><code><${m} text=${e.rule} max=${300} /></code><span
    class="quiet">: ${o.toLocaleString("en")}</span></h3>
      ${o>0&&s`<button type="button" class="small" aria-expanded=${t} aria-label=${`Show carriers by ${e.rule}`}
        onClick=${()=>n(!t)}>Show</button>`}</header>
    ${e.reason&&s`<p class="quiet"><${m} text=${e.reason} max=${1e3} /></p>`}
    ${e.more>0&&s`<p class="quiet">${Number(e.more).toLocaleString("en")} more ids were not looked for.</p>`}
    ${t&&s`<${L} ids label=${`Carriers by ${e.rule}`} items=${e.first} item=${i=>s`<${S}
        collection=${r} id=${i} short />`} />
      ${o>e.first.length&&s`<p
        class="quiet">The first ${e.first.length} of ${o.toLocaleString("en")} are listed.</p>`}`}</div>`}function qe({lineage:e,model:t}){let n=(e?.derived??[]).filter(o=>o.state==="no value"),r=e?.unguarded??[];return s`${n.length>0&&s`<section aria-label="Absent values"><h2>Without a value</h2>
      <${L} label="Without a value" items=${n} item=${o=>s`<code><${m} text=${o.path||o.rule} max=${300} /></code> <${V} kind=${T(o,t)} />
        <div class="quiet">${o.hidden?"You may not read the collection that it would come from.":s`<${m}
          text=${o.reason||"No reason is known."} max=${1e3} />`}</div>
        ${(o.sources??[]).slice(0,3).map(i=>s`<${S} collection=${i.collection}
          id=${i.id} /> `)}`} /></section>`}
    ${r.length>0&&s`<section aria-label="Not unique"><h2>Not compared as unique</h2>
      <${L} label="Not compared as unique" items=${r} item=${o=>s`<code><${m}
        text=${o.unique} max=${300} /></code> <div class="quiet"><${m} text=${o.reason} max=${1e3} /></div>`} /></section>`}
    ${e?.more>0&&s`<p class="quiet">${Number(e.more).toLocaleString("en")} more derived values are not listed.</p>`}`}function Le({value:e,parts:t,model:n,position:r,onClose:o}){let i=k(null);G(()=>i.current?.focus(),[]);let l=z(n,e.rule);return s`<section aria-label="Origin" class="origin" onKeyDown=${a=>{a.key==="Escape"&&o()}}>
    <h2 tabindex="-1" ref=${i}>Origin of <code><${m} text=${e.path} max=${500} /></code></h2>
    <dl>
      <dt>Kind</dt><dd>${T(e,n)}</dd>
      ${e.state&&s`<dt>State</dt><dd><${m} text=${_e(e.state)} /></dd>`}
      <dt>Rule</dt><dd><code><${m} text=${e.rule} max=${500} /></code>${l&&s`<br /><code class="quiet"><${m}
        text=${We(l)} max=${2e3} /></code>`}</dd>
      <dt>Sources</dt><dd><${Ie} value=${e} /></dd>
      <${Be} value=${e} parts=${t} model=${n} position=${r} />
      ${e.reason&&s`<dt>Reason</dt><dd><${m} text=${e.reason} max=${2e3} /></dd>`}
      <dt>Event</dt><dd><${Ke} event=${e.event} parts=${t} /></dd>
    </dl>
    <button type="button" onClick=${o}>Close</button>
  </section>`}var _e=e=>({frozen:"frozen: the value of the moment when the document began to refer to the source",kept:"kept: the source is deleted, and the value stays"})[e]??e,We=e=>Object.entries(e).map(([t,n])=>`${t}: ${typeof n=="string"?n:JSON.stringify(n)}`).join(", ");function Ie({value:e}){if(e.hidden)return"You may not read the collection that it comes from.";let t=e.sources??[];return t.length===0?Number(e.documents)>0?`${v(Number(e.documents))} documents`:"no document":s`<${L} ids label="Sources" items=${t} item=${n=>s`<${S}
    collection=${n.collection} id=${n.id} />${n.rev===void 0&&s` <span class="quiet">is gone</span>`}`} />
    ${Number(e.documents)>t.length&&s`<p
      class="quiet">The first ${t.length} of ${v(Number(e.documents))} documents.</p>`}`}function Ke({event:e,parts:t}){return e?e.seq?s`<a href=${x(t,{at:e.seq})}><${m} text=${e.seq} /></a>${e.time&&s`, <${K} text=${e.time} position=${e.seq} />`}${e.op&&s`, <${m} text=${e.op} />`}${e.collection?s` by <${S} collection=${e.collection} id=${e.id} />`:e.op==="derive"&&""}${e.reason&&s`. <${m} text=${e.reason} max=${1e3} />`}`:s`<${m} text=${e.reason??"not known"} max=${1e3} />`:"further back in the history than is looked"}var V=({kind:e,state:t})=>s`<span class="kind"><${m} text=${e} max=${40} />${t&&t!=="no value"&&s`, <${m} text=${t}
    max=${80} />`}</span>`,Fe=8,ze=/^\s*doc((?:\.[A-Za-z_]\w*)+)\s*$/;function Be({value:e,parts:t,model:n,position:r}){let{value:o}=q(i=>He(e,n,r,i),[e,n]);return!o||o.length<2?null:s`<dt>Chain</dt><dd><ol class="chain" aria-label="Chain">
    <li><${we} collection=${t[0]} id=${t[1]} path=${e.path} /></li>
    ${o.map(i=>s`<li key=${i.collection+"/"+i.id}><span class="by" title=${i.rule}><span class="unseen">copied by${" "}
        <${m} text=${i.rule} max=${200} /> from</span></span><${we} ...${i} /></li>`)}</ol></dd>`}var we=({collection:e,id:t,path:n})=>s`<span class="stand"><${S} collection=${e} id=${t} />${n&&s`<code class="quiet"><${m} text=${n} max=${80} /></code>`}</span>`;async function He(e,t,n,r){let o=[];for(let i=e;o.length<Fe;){let[l,...d]=i.sources??[];if(!l||d.length>0||Number(i.documents??1)>1)return o;let[,a=""]=ze.exec(String(z(t,i.rule)?.value??""))??[],c=a.replaceAll(".","/");if(o.push({collection:l.collection,id:l.id,path:c,rule:String(i.rule)}),c==="")return o;let u={"Fanfold-Min-Position":n};if(i=(await A({path:[l.collection,l.id,"_lineage"],headers:u,signal:r}).catch(()=>null))?.derived?.find(f=>f.path===c&&f.state!=="no value"),!i)return o}return o}var Je=200;function Kt({place:e}){let{parts:t}=e,n=Qe(e),r=e.params.get("at"),o=q(async h=>({...await et({...n,signal:h}),at:r}),[r]),{problem:i,busy:l,stale:d,again:a}=o,c=d&&i?void 0:o.value,u=c?c.at:r,$=u===null,f=q(async h=>c?ie(h):void 0,[c]),b=q(async h=>c&&$?tt(t,c.position,h):void 0,[c,u]),{rows:p,changed:y}=Ge(t,$&&!d?c?.position??"":"",l,a);return s`<${re} place=${e} position=${d?"":c?.position??""} />
    <${ae} place=${e} problem=${i} again=${a}>${i?.status===404&&s`<p>See its <a href=${x([...t,"_history"])}>history</a>, which a deleted document has, too, or the <a
      href=${x([t[0]],{at:r})}>collection</a>.</p>`}<//>
    ${!c&&i&&s`<${J} asked=${n} />`}
    <${ne} of=${o} shape="text">${c&&s`<div class="facts"><p class="quiet">Revision <${m} text=${c.revision} />, written <${K} text=${c.written}
        position=${$?c.position:void 0} />.
      ${" "}<a href=${x([...t,"_history"])}>History</a></p>
      ${$&&s`<${Ue} collection=${t[0]} id=${t[1]} etag=${c.etag} model=${f.value} />`}</div>
    <div class="beside"><div>
      <${Xe} doc=${c} parts=${t} at=${u} lineage=${$?b.value:void 0} model=${f.value}
        changed=${y} />
      ${$&&s`<${se} rows=${p} />`}
      <${J} asked=${n} />
    </div><div>
      <${C} problem=${b.problem??f.problem} again=${b.problem?b.again:f.again} />
      ${$&&s`<${qe} lineage=${b.value} model=${f.value} />`}
      ${!$&&s`<p class="quiet">Origins are told of the document of now alone. Its <a href=${x([...t,"_history"])}>versions</a>
          say what changed it.</p>`}
      <${Se} doc=${c} collection=${t[0]} at=${u} model=${f.value} />
      ${$&&s`<${Oe} parts=${t} position=${c.position} model=${f.value} />
        <${ve} lineage=${b.value} />`}
    </div></div>`}<//>`}function Ue({collection:e,id:t,etag:n,model:r}){let o=le({always:!0,onDone:(a,c)=>{let u=x([e]),$=(c?.writes.length??1)-1;H({href:u,what:`${e}/${t} is deleted${$>0?`, and ${$} more written`:""}`,written:a}),B(u)}}),{state:i}=o,l=({deleted:a,changed:c,position:u})=>{let $=x([e]),f=`${e}/${t} is deleted, and ${v(a+c-1)} more written, step by step`;H({href:$,what:f,written:{position:u,derived:void 0,visible:!0,took:0,location:""}}),B($)},d=()=>o.begin({method:"DELETE",path:[e,t],headers:{"If-Match":n}});return s`<p class="actions">
      ${F(e,"update")&&s`<a class="button" href=${x([e,t],{edit:""})}>Edit</a>`}
      ${F(e,"create")&&s`<a class="button" href=${x([e],{new:"",from:t})}>Clone</a>`}
      ${F(e,"delete")&&s`<button type="button" class="loss" onClick=${d}>Delete</button>`}
      <span role="status" class="quiet">${i.phase==="looking"&&"Looking at what it changes"}</span></p>
    <${ce} title="What this delete changes" go="Delete now" keep="Keep it" writing=${o} careful loses>
      <${Ve} collection=${e} id=${t} model=${r} /><//>
    ${i.phase==="idle"&&(i.problem?.of.steps?s`<${pe} collection=${e} id=${t} problem=${i.problem} onDone=${l} onClose=${o.stop} />`:s`<${$e} state=${i} />`)}`}var Ce={clear:"their reference stays, and what they copied goes",keep:"their reference and what they copied stay"};function Ve({collection:e,id:t,model:n}){let{value:r}=q(async o=>{let i=E(n).filter(a=>a.to===e&&Ce[a.onDelete]),l=a=>({relation:a,fields:"id",count:!0,limit:1}),d=i.map(a=>A({path:[e,t,a.collection],query:l(a.name),signal:o}).then(({count:c})=>({...a,count:Number(c)}),()=>({...a,count:0})));return(await Promise.all(d)).filter(a=>a.count>0)},[n]);return r?.length?s`<ul aria-label="Refer to it" class="documents">${r.map(o=>s`<li key=${o.collection+" "+o.name}>${M(o.count,"document")} of <${m} text=${o.collection} max=${100} />${" "}
      ${o.count===1?"refers":"refer"} to it by <${m} text=${o.name} max=${100} />: ${Ce[o.onDelete]}.</li>`)}</ul>`:null}function Ge([e,t],n,r,o){let i=k("");(i.current===""||n==="")&&(i.current=n);let[l,d]=g(!1),[a,c]=g(new Set),u=oe([e],i.current,$=>$.id===t,$=>{c(new Set($.flatMap(f=>(f.patch?.elements??[]).map(b=>I(O(b,"path"))??"")).slice(0,Je))),d(!0)});return D(()=>{!l||r||(d(!1),o())},[l,r]),{rows:u,changed:a}}function Ye({text:e,name:t}){let n=()=>{let r=URL.createObjectURL(new Blob([e],{type:"application/json"})),o=document.createElement("a");o.href=r,o.download=t,o.click(),setTimeout(()=>URL.revokeObjectURL(r),6e4)};return s`<p>The document has ${e.length.toLocaleString("en")} characters, and is shown as text. <button type="button"
    onClick=${n}>Download</button></p>
    <div class="json whole"><${ee} text=${e} of="the document" first=${1e4} /></div>`}function Xe({doc:e,parts:t,at:n,lineage:r,model:o,changed:i}){let[l,d]=g(""),a=N(()=>Ze(r),[r]),c=N(()=>he(o,t[0]),[o]),u=k(null),$=()=>{u.current?.focus(),d("")},f=(p,y)=>{u.current=y.currentTarget,d(p)},b={marked:p=>a.values.has(p),inside:p=>a.inside.get(p)??0,beside:p=>{let y=a.values.get(p);return y&&s` <${V} kind=${T(y,o)} state=${y.state} /> <button type="button" class="small"
        aria-label=${`Origin of ${fe(p)}`} aria-expanded=${l===p}
          onClick=${h=>l===p?$():f(p,h)}>Origin</button>`},under:p=>l===p&&a.values.has(p)&&s`<${Le} key=${p} value=${a.values.get(p)} parts=${t} model=${o}
        position=${e.position} onClose=${$} />`,href:(p,y)=>{let h=c.length?Q(p):[],w=c.find(Re=>ge(h,Re.path)),_=w&&j(y);return w&&_!==void 0?x([w.to,_],{at:n}):void 0},changed:i};return s`<section aria-label="Document">${e.root?s`<${me} root=${e.root} adds=${b} />`:s`<${Ye} text=${e.text} name=${t.join("-")+".json"} />`}</section>`}function Ze(e){let t=new Map,n=new Map;for(let r of e?.derived??[])if(!(!r.path||r.state==="no value")){t.set(r.path,r);for(let o=r.path.lastIndexOf("/");o>0;o=r.path.lastIndexOf("/",o-1)){let i=r.path.slice(0,o);n.set(i,(n.get(i)??0)+1)}}return{values:t,inside:n}}var De=4<<20,Qe=({parts:e,params:t})=>({path:e,query:{at:t.get("at")}});async function et(e){let{text:t,headers:n}=await R(e),r=t.length<=De&&new Blob([t]).size<=De;return{text:t,root:r?await X(t,e.signal):void 0,revision:n.get("Fanfold-Revision")??"",etag:n.get("ETag")??"",position:n.get("Fanfold-Position")??"",written:n.get("Last-Modified")??""}}var tt=(e,t,n)=>A({path:[...e,"_lineage"],headers:{"Fanfold-Min-Position":t},signal:n});export{Kt as DocumentPage,Xe as DocumentRegion,Ue as EditActions,Ye as WholeText,Qe as askedOf,et as load,tt as loadLineage};
