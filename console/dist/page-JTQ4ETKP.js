import{a as ie,b as I,c as me,d as pe}from"./chunk-OBDLRPIS.js";import{a as re,d as ae}from"./chunk-3QLU4M2F.js";import{a as ce,b as de,h as $e,i as ue}from"./chunk-XFBWXMUH.js";import{e as le}from"./chunk-5MVB55MF.js";import{f as oe,g as se}from"./chunk-2CPSNNAE.js";import{a as ne}from"./chunk-JSRVEYTP.js";import{G as v,I as P,P as u,Q as F,T as O,W as q,X as ee,Z as C,_ as K,a as x,ba as U,ca as te,d as H,fa as D,i as Z,m as z,r as R,u as E}from"./chunk-E7RJ2GXA.js";import{A as Q,b as g,c as L,d as J,e as k,f as N,l as s,n as _,r as W,s as S,t as Y,u as X}from"./chunk-YLTSUMXM.js";async function Re({collection:e,id:t},n,i){let o={deleted:0,changed:0,position:"",done:!1};for(;!o.done&&!n.aborted;){let r=Y(_((await R({method:"DELETE",path:[e,t],query:{steps:!0}})).text));o.deleted+=r.deleted,o.changed+=r.changed,o.position=r.position,o.done=r.done,i({...o})}return o}function Ee(e){let n=(e.of.problems??[]).map(i=>Number(/^\d+/.exec(String(i.detail))?.[0])).reduce((i,o)=>i+o,0);return Number.isFinite(n)?n:0}function fe({collection:e,id:t,problem:n,onDone:i,onClose:o}){let[r,a]=g(null),[$,l]=g(void 0),c=k(null);L(()=>()=>c.current?.abort(),[]);let[m,d]=g(!1),p=k({deleted:0,changed:0}),b=h=>({...h,deleted:p.current.deleted+h.deleted,changed:p.current.changed+h.changed}),f=async()=>{let h=c.current=new AbortController;p.current=r??p.current,d(!0),l(void 0);try{let w=b(await Re({collection:e,id:t},h.signal,j=>a(b(j))));if(w.done)return i(w)}catch(w){l(P(w))}d(!1)},y=()=>c.current?.abort();return s`<${te} title="Delete step by step" closable=${!m} onClose=${o}>
    <p><b><${u} text=${e+"/"+t} max=${300} /></b> brings more with it than one transaction takes, 1,000 documents. It
      goes in several, what refers to it first. Others see what is gone so far, and what is deleted stays deleted.</p>
    <ul aria-label="What goes with it">${(n.of.problems??[]).slice(0,100).map(h=>s`<li><b><${u} text=${String(h.path)} max=${100} /></b>: <${u}
        text=${String(h.detail)} max=${300} /></li>`)}</ul>
    ${r&&s`<${Ae} sum=${r} total=${Ee(n)} busy=${m} />`}
    <${D} problem=${$} />
    <p class="actions">${m?s`<button type="button" onClick=${y}>Stop after this step</button>`:s`<button type="button" class="loss" onClick=${()=>Z(f())}>${r?"Go on":"Delete step by step"}</button>
        <button type="button" data-focus onClick=${o}>${r?"Close":"Keep it"}</button>`} <span role="status" class="quiet">${m&&"Deleting"}</span></p>
  <//>`}function Ae({sum:e,total:t,busy:n}){let i=e.deleted+e.changed,o=ue("steps",i,t);return s`<${$e} label="Delete step by step" done=${i} total=${t} unit="documents" left=${n?o:0} />
    <p>${K(e.deleted,"document")} deleted, ${C(e.changed)} lost their
      reference.${!n&&" The document itself is still there."}</p>`}function A(e){return Object.entries(e?.collections??{}).flatMap(([t,n])=>Object.entries(n?.relations??{}).map(([i,o])=>({collection:t,name:i,path:be(String(o.path)),to:String(o.to),onDelete:String(o.onDelete??"clear")})))}function he(e,t){let n=Object.entries(e?.collections?.[t]?.derive??{}).flatMap(([i,o])=>{let{ids:r,recent:a}=o,$=r??a;return typeof $=="string"?[{path:be(i+(r?"[]":"[].id")),to:$.slice(0,$.indexOf("."))}]:[]});return[...A(e).filter(i=>i.collection===t),...n]}var be=e=>e.split(".").flatMap(t=>t.split("[]"));function B(e,t){let n=t.indexOf(".");return e?.collections?.[t.slice(0,n)]?.derive?.[t.slice(n+1)]}var Ne=["copy","count","sum","min","max","avg","ids","recent"];function M(e,t){let n=B(t,e.rule),i=e.kind??Ne.find(o=>n?.[o]!==void 0)??(n?"value":"derived");return i==="value"?"computed":String(i)}function T(e){if(e?.kind==="number")return e.raw;let t=e?.kind==="string"?JSON.parse(e.raw):"";return t===""?void 0:t}var ge=(e,t)=>e.length===t.length&&t.every((n,i)=>n===""?/^\d+$/.test(e[i]):n===e[i]);function xe(e,t){let n=[e];for(let i of t)n=i===""?n.flatMap(o=>o?.elements??[]):n.map(o=>S(o,i));return[...new Set(n.map(T).filter(i=>i!==void 0))]}var Pe=20,V=e=>e.collection+"."+e.name,we=(e,t,n,i)=>({path:[...e,n.collection],query:{relation:n.name,fields:"id",...i},headers:{"Fanfold-Min-Position":t}});function ke({parts:e,position:t,model:n}){let[i,o]=g({}),[r,a]=g(0),$=A(n).filter(l=>l.to===e[0]);return L(()=>{let l=new AbortController;return(async()=>{for(let c of $){let m=await E({...we(e,t,c,{count:!0,limit:1}),signal:l.signal}).then(({count:d})=>({count:d}),d=>({problem:l.signal.aborted?void 0:P(d)}));if(l.signal.aborted)return;o(d=>({...d,[V(c)]:m}))}})(),()=>l.abort()},[n,t,r]),$.length===0?null:s`<section aria-label="Referred to by"><h2>Referred to by</h2>
    ${$.map(l=>s`<${Me} key=${V(l)} parts=${e} position=${t} relation=${l}
      counted=${i[V(l)]??{}} again=${()=>a(r+1)} />`)}</section>`}function Me({parts:e,position:t,relation:n,counted:i,again:o}){let[r,a]=g(null),$=async()=>{let m=r??{ids:[],busy:!1};a({...m,busy:!0,problem:void 0});try{let d=_((await R(we(e,t,n,{limit:Pe,cursor:m.next}))).text),p=(S(d,"items")?.elements??[]).map(b=>T(S(b,"id"))??"");a({ids:[...m.ids,...p],next:W(S(d,"next")),busy:!1})}catch(d){a({...m,busy:!1,problem:P(d)})}},l=`${n.collection} by ${n.name}`,c=Number(i.count??0);return s`<div class="tie"><header><h3><${u} text=${n.collection} max=${200} /> <span class="quiet">by <${u}
    text=${n.name} max=${200} />${i.count!==void 0&&": "+c.toLocaleString("en")}</span></h3>
      ${c>0&&s`<button type="button" class="small" aria-expanded=${r!==null} aria-label=${`Show ${l}`}
        onClick=${()=>r===null?$():a(null)}>Show</button>`}</header>
    ${[401,403].includes(i.problem?.status??0)?s`<p class="quiet">You may not read them.</p>`:s`<${D}
      problem=${i.problem} again=${o} />`}
    ${r&&s`<${q} ids label=${l} items=${r.ids} busy=${r.busy} more=${r.next&&$}
        item=${m=>s`<${O} collection=${n.collection} id=${m} short />`} />
      <${D} problem=${r.problem} again=${$} asked />`}</div>`}function Se({doc:e,collection:t,at:n,model:i}){let o=e.root,r=N(()=>o?A(i).filter(a=>a.collection===t).map(a=>({...a,ids:xe(o,a.path)})):[],[o,i]);return r.length===0?null:s`<section aria-label="Refers to"><h2>Refers to</h2>${r.map(a=>s`<div key=${a.name} class="tie">
    <h3><${u} text=${a.name} max=${200} /> <span class="quiet">in <${u} text=${a.to}
      max=${200} />: ${a.ids.length.toLocaleString("en")}</span></h3>
    ${a.ids.length>0&&s`<${q} ids label=${`To ${a.to} by ${a.name}`} items=${a.ids}
      item=${$=>s`<${O} collection=${a.to} id=${$} at=${n} short />`} />`}
  </div>`)}</section>`}function Oe({lineage:e}){if(!e)return null;let t=e.copies.filter(n=>Number(n.documents)>0||n.more||n.reason);return s`<section aria-label="Carried by"><h2>Carried by</h2>
    ${t.length===0&&s`<p class="quiet">No document carries anything of this one.</p>`}
    ${t.map(n=>s`<${Te} key=${n.rule} of=${n} />`)}</section>`}function Te({of:e}){let[t,n]=g(!1),i=e.rule.slice(0,e.rule.indexOf(".")),o=Number(e.documents);return s`<div class="tie"><header><h3><code><${u} text=${e.rule} max=${300} /></code><span
    class="quiet">: ${o.toLocaleString("en")}</span></h3>
      ${o>0&&s`<button type="button" class="small" aria-expanded=${t} aria-label=${`Show carriers by ${e.rule}`}
        onClick=${()=>n(!t)}>Show</button>`}</header>
    ${e.reason&&s`<p class="quiet"><${u} text=${e.reason} max=${1e3} /></p>`}
    ${e.more>0&&s`<p class="quiet">${Number(e.more).toLocaleString("en")} more ids were not looked for.</p>`}
    ${t&&s`<${q} ids label=${`Carriers by ${e.rule}`} items=${e.first} item=${r=>s`<${O}
        collection=${i} id=${r} short />`} />
      ${o>e.first.length&&s`<p
        class="quiet">The first ${e.first.length} of ${o.toLocaleString("en")} are listed.</p>`}`}</div>`}function ve({lineage:e,model:t}){let n=(e?.derived??[]).filter(o=>o.state==="no value"),i=e?.unguarded??[];return s`${n.length>0&&s`<section aria-label="Absent values"><h2>Without a value</h2>
      <${q} label="Without a value" items=${n} item=${o=>s`<code><${u} text=${o.path||o.rule} max=${300} /></code> <${G} kind=${M(o,t)} />
        <div class="quiet">${o.hidden?"You may not read the collection that it would come from.":s`<${u}
          text=${o.reason||"No reason is known."} max=${1e3} />`}</div>
        ${(o.sources??[]).slice(0,3).map(r=>s`<${O} collection=${r.collection}
          id=${r.id} /> `)}`} /></section>`}
    ${i.length>0&&s`<section aria-label="Not unique"><h2>Not compared as unique</h2>
      <${q} label="Not compared as unique" items=${i} item=${o=>s`<code><${u}
        text=${o.unique} max=${300} /></code> <div class="quiet"><${u} text=${o.reason} max=${1e3} /></div>`} /></section>`}
    ${e?.more>0&&s`<p class="quiet">${Number(e.more).toLocaleString("en")} more derived values are not listed.</p>`}`}function qe({value:e,parts:t,model:n,position:i,onClose:o}){let r=k(null);J(()=>r.current?.focus(),[]);let a=B(n,e.rule);return s`<section aria-label="Origin" class="origin" onKeyDown=${l=>{l.key==="Escape"&&o()}}>
    <h2 tabindex="-1" ref=${r}>Origin of <code><${u} text=${e.path} max=${500} /></code></h2>
    <dl>
      <dt>Kind</dt><dd>${M(e,n)}</dd>
      ${e.state&&s`<dt>State</dt><dd><${u} text=${je(e.state)} /></dd>`}
      <dt>Rule</dt><dd><code><${u} text=${e.rule} max=${500} /></code>${a&&s`<br /><code class="quiet"><${u}
        text=${_e(a)} max=${2e3} /></code>`}</dd>
      <dt>Sources</dt><dd><${We} value=${e} /></dd>
      <${Be} value=${e} parts=${t} model=${n} position=${i} />
      ${e.reason&&s`<dt>Reason</dt><dd><${u} text=${e.reason} max=${2e3} /></dd>`}
      <dt>Event</dt><dd><${Fe} event=${e.event} parts=${t} /></dd>
    </dl>
    <button type="button" onClick=${o}>Close</button>
  </section>`}var je=e=>({frozen:"frozen: the value of the moment when the document began to refer to the source",kept:"kept: the source is deleted, and the value stays"})[e]??e,_e=e=>Object.entries(e).map(([t,n])=>`${t}: ${typeof n=="string"?n:JSON.stringify(n)}`).join(", ");function We({value:e}){if(e.hidden)return"You may not read the collection that it comes from.";let t=e.sources??[];return t.length===0?Number(e.documents)>0?`${C(Number(e.documents))} documents`:"no document":s`<${q} ids label="Sources" items=${t} item=${n=>s`<${O}
    collection=${n.collection} id=${n.id} />${n.rev===void 0&&s` <span class="quiet">is gone</span>`}`} />
    ${Number(e.documents)>t.length&&s`<p
      class="quiet">The first ${t.length} of ${C(Number(e.documents))} documents.</p>`}`}function Fe({event:e,parts:t}){return e?e.seq?s`<a href=${x(t,{at:e.seq})}><${u} text=${e.seq} /></a>${e.time&&s`, <${F} text=${e.time} position=${e.seq} />`}${e.op&&s`, <${u} text=${e.op} />`}${e.collection?s` by <${O} collection=${e.collection} id=${e.id} />`:e.op==="derive"&&""}${e.reason&&s`. <${u} text=${e.reason} max=${1e3} />`}`:s`<${u} text=${e.reason??"not known"} max=${1e3} />`:"further back in the history than is looked"}var G=({kind:e,state:t})=>s`<span class="kind"><${u} text=${e} max=${40} />${t&&t!=="no value"&&s`, <${u} text=${t}
    max=${80} />`}</span>`,Ke=8,Ie=/^\s*doc((?:\.[A-Za-z_]\w*)+)\s*$/;function Be({value:e,parts:t,model:n,position:i}){let{value:o}=v(r=>He(e,n,i,r),[e,n]);return!o||o.length<2?null:s`<dt>Chain</dt><dd><ol class="chain" aria-label="Chain">
    <li><${ye} collection=${t[0]} id=${t[1]} path=${e.path} /></li>
    ${o.map(r=>s`<li key=${r.collection+"/"+r.id}><span class="by" title=${r.rule}><span class="unseen">copied by${" "}
        <${u} text=${r.rule} max=${200} /> from</span></span><${ye} ...${r} /></li>`)}</ol></dd>`}var ye=({collection:e,id:t,path:n})=>s`<span class="stand"><${O} collection=${e} id=${t} />${n&&s`<code class="quiet"><${u} text=${n} max=${80} /></code>`}</span>`;async function He(e,t,n,i){let o=[];for(let r=e;o.length<Ke;){let[a,...$]=r.sources??[];if(!a||$.length>0||Number(r.documents??1)>1)return o;let[,l=""]=Ie.exec(String(B(t,r.rule)?.value??""))??[],c=l.replaceAll(".","/");if(o.push({collection:a.collection,id:a.id,path:c,rule:String(r.rule)}),c==="")return o;let m={"Fanfold-Min-Position":n};if(r=(await E({path:[a.collection,a.id,"_lineage"],headers:m,signal:i}).catch(()=>null))?.derived?.find(p=>p.path===c&&p.state!=="no value"),!r)return o}return o}var ze=200;function Ft({place:e}){let{parts:t}=e,n=Ze(e),i=e.params.get("at"),o=v(async h=>({...await Qe({...n,signal:h}),at:i}),[i]),{problem:r,busy:a,stale:$,again:l}=o,c=$&&r?void 0:o.value,m=c?c.at:i,d=m===null,p=v(async h=>c?ie(h):void 0,[c]),b=v(async h=>c&&d?et(t,c.position,h):void 0,[c,m]),{rows:f,changed:y}=Ge(t,d&&!$?c?.position??"":"",a,l);return s`<${re} place=${e} position=${$?"":c?.position??""} />
    <${ae} place=${e} problem=${r} again=${l}>${r?.status===404&&s`<p>See its <a href=${x([...t,"_history"])}>history</a>, which a deleted document has, too, or the <a
      href=${x([t[0]],{at:i})}>collection</a>.</p>`}<//>
    ${!c&&r&&s`<${U} asked=${n} />`}
    <${ne} of=${o} shape="text">${c&&s`<div class="facts"><p class="quiet">Revision <${u} text=${c.revision} />, written <${F} text=${c.written} />
        ${d&&s`, seen at <code>${c.position}</code>`}.
      ${" "}<a href=${x([...t,"_history"])}>History</a></p>
      ${d&&s`<${Ue} collection=${t[0]} id=${t[1]} etag=${c.etag} model=${p.value} />`}</div>
    <div class="beside"><div>
      <${Ye} doc=${c} parts=${t} at=${m} lineage=${d?b.value:void 0} model=${p.value}
        changed=${y} />
      ${d&&s`<${se} rows=${f} />`}
      <${U} asked=${n} />
    </div><div>
      <${D} problem=${b.problem??p.problem} again=${b.problem?b.again:p.again} />
      ${d&&s`<${ve} lineage=${b.value} model=${p.value} />`}
      ${!d&&s`<p class="quiet">Origins are told of the document of now alone. Its <a href=${x([...t,"_history"])}>versions</a>
          say what changed it.</p>`}
      <${Se} doc=${c} collection=${t[0]} at=${m} model=${p.value} />
      ${d&&s`<${ke} parts=${t} position=${c.position} model=${p.value} />
        <${Oe} lineage=${b.value} />`}
    </div></div>`}<//>`}function Ue({collection:e,id:t,etag:n,model:i}){let o=le({always:!0,onDone:(l,c)=>{let m=x([e]),d=(c?.writes.length??1)-1;z({href:m,what:`${e}/${t} is deleted${d>0?`, and ${d} more written`:""}`,written:l}),H(m)}}),{state:r}=o,a=({deleted:l,changed:c,position:m})=>{let d=x([e]),p=`${e}/${t} is deleted, and ${C(l+c-1)} more written, step by step`;z({href:d,what:p,written:{position:m,derived:void 0,visible:!0,took:0,location:""}}),H(d)},$=()=>o.begin({method:"DELETE",path:[e,t],headers:{"If-Match":n}});return s`<p class="actions">
      ${I(e,"update")&&s`<a class="button" href=${x([e,t],{edit:""})}>Edit</a>`}
      ${I(e,"create")&&s`<a class="button" href=${x([e],{new:"",from:t})}>Clone</a>`}
      ${I(e,"delete")&&s`<button type="button" class="loss" onClick=${$}>Delete</button>`}
      <span role="status" class="quiet">${r.phase==="looking"&&"Looking at what it changes"}</span></p>
    <${ce} title="What this delete changes" go="Delete now" keep="Keep it" writing=${o} careful loses>
      <${Ve} collection=${e} id=${t} model=${i} /><//>
    ${r.phase==="idle"&&(r.problem?.of.steps?s`<${fe} collection=${e} id=${t} problem=${r.problem} onDone=${a} onClose=${o.stop} />`:s`<${de} state=${r} />`)}`}var Ce={clear:"their reference stays, and what they copied goes",keep:"their reference and what they copied stay",unknown:"who reads the model knows what becomes of the reference"};function Ve({collection:e,id:t,model:n}){let{value:i}=v(async o=>{let r=A(n).filter(l=>l.to===e&&Ce[l.onDelete]),a=l=>({relation:l,fields:"id",count:!0,limit:1}),$=r.map(l=>E({path:[e,t,l.collection],query:a(l.name),signal:o}).then(({count:c})=>({...l,count:Number(c)}),()=>({...l,count:0})));return(await Promise.all($)).filter(l=>l.count>0)},[n]);return i?.length?s`<ul aria-label="Refer to it" class="documents">${i.map(o=>s`<li key=${o.collection+" "+o.name}>${K(o.count,"document")} of <${u} text=${o.collection} max=${100} />${" "}
      ${o.count===1?"refers":"refer"} to it by <${u} text=${o.name} max=${100} />: ${Ce[o.onDelete]}.</li>`)}</ul>`:null}function Ge([e,t],n,i,o){let r=k("");(r.current===""||n==="")&&(r.current=n);let[a,$]=g(!1),[l,c]=g(new Set),m=oe([e],r.current,d=>d.id===t,d=>{c(new Set(d.flatMap(p=>(p.patch?.elements??[]).map(b=>W(S(b,"path"))??"")).slice(0,ze))),$(!0)});return L(()=>{!a||i||($(!1),o())},[a,i]),{rows:m,changed:l}}function Je({text:e,name:t}){let n=()=>{let i=URL.createObjectURL(new Blob([e],{type:"application/json"})),o=document.createElement("a");o.href=i,o.download=t,o.click(),setTimeout(()=>URL.revokeObjectURL(i),6e4)};return s`<p>The document has ${e.length.toLocaleString("en")} characters, and is shown as text. <button type="button"
    onClick=${n}>Download</button></p>
    <div class="json whole"><${ee} text=${e} of="the document" first=${1e4} /></div>`}function Ye({doc:e,parts:t,at:n,lineage:i,model:o,changed:r}){let[a,$]=g(""),l=N(()=>Xe(i),[i]),c=N(()=>he(o,t[0]),[o]),m=k(null),d=()=>{m.current?.focus(),$("")},p=(f,y)=>{m.current=y.currentTarget,$(f)},b={marked:f=>l.values.has(f),inside:f=>l.inside.get(f)??0,beside:f=>{let y=l.values.get(f);return y&&s` <${G} kind=${M(y,o)} state=${y.state} /> <button type="button" class="small"
        aria-label=${`Origin of ${pe(f)}`} aria-expanded=${a===f}
          onClick=${h=>a===f?d():p(f,h)}>Origin</button>`},under:f=>a===f&&l.values.has(f)&&s`<${qe} key=${f} value=${l.values.get(f)} parts=${t} model=${o}
        position=${e.position} onClose=${d} />`,href:(f,y)=>{let h=c.length?Q(f):[],w=c.find(Le=>ge(h,Le.path)),j=w&&T(y);return w&&j!==void 0?x([w.to,j],{at:n}):void 0},changed:r};return s`<section aria-label="Document">${e.root?s`<${me} root=${e.root} adds=${b} />`:s`<${Je} text=${e.text} name=${t.join("-")+".json"} />`}</section>`}function Xe(e){let t=new Map,n=new Map;for(let i of e?.derived??[])if(!(!i.path||i.state==="no value")){t.set(i.path,i);for(let o=i.path.lastIndexOf("/");o>0;o=i.path.lastIndexOf("/",o-1)){let r=i.path.slice(0,o);n.set(r,(n.get(r)??0)+1)}}return{values:t,inside:n}}var De=4<<20,Ze=({parts:e,params:t})=>({path:e,query:{at:t.get("at")}});async function Qe(e){let{text:t,headers:n}=await R(e),i=t.length<=De&&new Blob([t]).size<=De;return{text:t,root:i?await X(t,e.signal):void 0,revision:n.get("Fanfold-Revision")??"",etag:n.get("ETag")??"",position:n.get("Fanfold-Position")??"",written:n.get("Last-Modified")??""}}var et=(e,t,n)=>E({path:[...e,"_lineage"],headers:{"Fanfold-Min-Position":t},signal:n});export{Ft as DocumentPage,Ye as DocumentRegion,Ue as EditActions,Je as WholeText,Ze as askedOf,Qe as load,et as loadLineage};
