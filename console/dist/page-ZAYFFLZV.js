import{a as se,b as ue,c as me}from"./chunk-PD3E5IIR.js";import{a as ie,d as re}from"./chunk-D5536E2Z.js";import{a as te}from"./chunk-U37FMEAT.js";import{a as le,b as ce,h as de,i as $e}from"./chunk-EM3OEODN.js";import{e as ae}from"./chunk-SAIG3XQC.js";import{f as ne,g as oe}from"./chunk-LF2RQJXF.js";import{G as v,I as P,P as u,Q as F,T as O,W as q,X as Q,Z as C,_ as K,a as x,ba as z,ca as ee,d as B,fa as D,i as X,m as H,r as R,u as E}from"./chunk-MNRX4NBN.js";import{A as Z,b as g,c as L,d as G,e as k,f as N,l as s,n as _,r as W,s as S,t as J,u as Y}from"./chunk-YLTSUMXM.js";async function Le({collection:e,id:t},n,i){let o={deleted:0,changed:0,position:"",done:!1};for(;!o.done&&!n.aborted;){let r=J(_((await R({method:"DELETE",path:[e,t],query:{steps:!0}})).text));o.deleted+=r.deleted,o.changed+=r.changed,o.position=r.position,o.done=r.done,i({...o})}return o}function Re(e){let n=(e.of.problems??[]).map(i=>Number(/^\d+/.exec(String(i.detail))?.[0])).reduce((i,o)=>i+o,0);return Number.isFinite(n)?n:0}function pe({collection:e,id:t,problem:n,onDone:i,onClose:o}){let[r,a]=g(null),[d,l]=g(void 0),c=k(null);L(()=>()=>c.current?.abort(),[]);let[m,$]=g(!1),f=k({deleted:0,changed:0}),b=h=>({...h,deleted:f.current.deleted+h.deleted,changed:f.current.changed+h.changed}),p=async()=>{let h=c.current=new AbortController;f.current=r??f.current,$(!0),l(void 0);try{let w=b(await Le({collection:e,id:t},h.signal,j=>a(b(j))));if(w.done)return i(w)}catch(w){l(P(w))}$(!1)},y=()=>c.current?.abort();return s`<${ee} title="Delete step by step" closable=${!m} onClose=${o}>
    <p><b><${u} text=${e+"/"+t} max=${300} /></b> brings more with it than one transaction takes, 1,000 documents. It
      goes in several, what refers to it first. Others see what is gone so far, and what is deleted stays deleted.</p>
    <ul aria-label="What goes with it">${(n.of.problems??[]).slice(0,100).map(h=>s`<li><b><${u} text=${String(h.path)} max=${100} /></b>: <${u}
        text=${String(h.detail)} max=${300} /></li>`)}</ul>
    ${r&&s`<${Ee} sum=${r} total=${Re(n)} busy=${m} />`}
    <${D} problem=${d} />
    <p class="actions">${m?s`<button type="button" onClick=${y}>Stop after this step</button>`:s`<button type="button" class="loss" onClick=${()=>X(p())}>${r?"Go on":"Delete step by step"}</button>
        <button type="button" data-focus onClick=${o}>${r?"Close":"Keep it"}</button>`} <span role="status" class="quiet">${m&&"Deleting"}</span></p>
  <//>`}function Ee({sum:e,total:t,busy:n}){let i=e.deleted+e.changed,o=$e("steps",i,t);return s`<${de} label="Delete step by step" done=${i} total=${t} unit="documents" left=${n?o:0} />
    <p>${K(e.deleted,"document")} deleted, ${C(e.changed)} lost their
      reference.${!n&&" The document itself is still there."}</p>`}function A(e){return Object.entries(e?.collections??{}).flatMap(([t,n])=>Object.entries(n?.relations??{}).map(([i,o])=>({collection:t,name:i,path:he(String(o.path)),to:String(o.to),onDelete:String(o.onDelete??"clear")})))}function fe(e,t){let n=Object.entries(e?.collections?.[t]?.derive??{}).flatMap(([i,o])=>{let{ids:r,recent:a}=o,d=r??a;return typeof d=="string"?[{path:he(i+(r?"[]":"[].id")),to:d.slice(0,d.indexOf("."))}]:[]});return[...A(e).filter(i=>i.collection===t),...n]}var he=e=>e.split(".").flatMap(t=>t.split("[]"));function I(e,t){let n=t.indexOf(".");return e?.collections?.[t.slice(0,n)]?.derive?.[t.slice(n+1)]}var Ae=["copy","count","sum","min","max","avg","ids","recent"];function M(e,t){let n=I(t,e.rule),i=e.kind??Ae.find(o=>n?.[o]!==void 0)??(n?"value":"derived");return i==="value"?"computed":String(i)}function T(e){if(e?.kind==="number")return e.raw;let t=e?.kind==="string"?JSON.parse(e.raw):"";return t===""?void 0:t}var be=(e,t)=>e.length===t.length&&t.every((n,i)=>n===""?/^\d+$/.test(e[i]):n===e[i]);function ge(e,t){let n=[e];for(let i of t)n=i===""?n.flatMap(o=>o?.elements??[]):n.map(o=>S(o,i));return[...new Set(n.map(T).filter(i=>i!==void 0))]}var Ne=20,U=e=>e.collection+"."+e.name,ye=(e,t,n,i)=>({path:[...e,n.collection],query:{relation:n.name,fields:"id",...i},headers:{"Fanfold-Min-Position":t}});function we({parts:e,position:t,model:n}){let[i,o]=g({}),[r,a]=g(0),d=A(n).filter(l=>l.to===e[0]);return L(()=>{let l=new AbortController;return(async()=>{for(let c of d){let m=await E({...ye(e,t,c,{count:!0,limit:1}),signal:l.signal}).then(({count:$})=>({count:$}),$=>({problem:l.signal.aborted?void 0:P($)}));if(l.signal.aborted)return;o($=>({...$,[U(c)]:m}))}})(),()=>l.abort()},[n,t,r]),d.length===0?null:s`<section aria-label="Referred to by"><h2>Referred to by</h2>
    ${d.map(l=>s`<${Pe} key=${U(l)} parts=${e} position=${t} relation=${l}
      counted=${i[U(l)]??{}} again=${()=>a(r+1)} />`)}</section>`}function Pe({parts:e,position:t,relation:n,counted:i,again:o}){let[r,a]=g(null),d=async()=>{let m=r??{ids:[],busy:!1};a({...m,busy:!0,problem:void 0});try{let $=_((await R(ye(e,t,n,{limit:Ne,cursor:m.next}))).text),f=(S($,"items")?.elements??[]).map(b=>T(S(b,"id"))??"");a({ids:[...m.ids,...f],next:W(S($,"next")),busy:!1})}catch($){a({...m,busy:!1,problem:P($)})}},l=`${n.collection} by ${n.name}`,c=Number(i.count??0);return s`<div class="tie"><header><h3><${u} text=${n.collection} max=${200} /> <span class="quiet">by <${u}
    text=${n.name} max=${200} />${i.count!==void 0&&": "+c.toLocaleString("en")}</span></h3>
      ${c>0&&s`<button type="button" class="small" aria-expanded=${r!==null} aria-label=${`Show ${l}`}
        onClick=${()=>r===null?d():a(null)}>Show</button>`}</header>
    ${[401,403].includes(i.problem?.status??0)?s`<p class="quiet">You may not read them.</p>`:s`<${D}
      problem=${i.problem} again=${o} />`}
    ${r&&s`<${q} ids label=${l} items=${r.ids} busy=${r.busy} more=${r.next&&d}
        item=${m=>s`<${O} collection=${n.collection} id=${m} short />`} />
      <${D} problem=${r.problem} again=${d} asked />`}</div>`}function ke({doc:e,collection:t,at:n,model:i}){let o=e.root,r=N(()=>o?A(i).filter(a=>a.collection===t).map(a=>({...a,ids:ge(o,a.path)})):[],[o,i]);return r.length===0?null:s`<section aria-label="Refers to"><h2>Refers to</h2>${r.map(a=>s`<div key=${a.name} class="tie">
    <h3><${u} text=${a.name} max=${200} /> <span class="quiet">in <${u} text=${a.to}
      max=${200} />: ${a.ids.length.toLocaleString("en")}</span></h3>
    ${a.ids.length>0&&s`<${q} ids label=${`To ${a.to} by ${a.name}`} items=${a.ids}
      item=${d=>s`<${O} collection=${a.to} id=${d} at=${n} short />`} />`}
  </div>`)}</section>`}function Se({lineage:e}){if(!e)return null;let t=e.copies.filter(n=>Number(n.documents)>0||n.more||n.reason);return s`<section aria-label="Carried by"><h2>Carried by</h2>
    ${t.length===0&&s`<p class="quiet">No document carries anything of this one.</p>`}
    ${t.map(n=>s`<${Me} key=${n.rule} of=${n} />`)}</section>`}function Me({of:e}){let[t,n]=g(!1),i=e.rule.slice(0,e.rule.indexOf(".")),o=Number(e.documents);return s`<div class="tie"><header><h3><code><${u} text=${e.rule} max=${300} /></code><span
    class="quiet">: ${o.toLocaleString("en")}</span></h3>
      ${o>0&&s`<button type="button" class="small" aria-expanded=${t} aria-label=${`Show carriers by ${e.rule}`}
        onClick=${()=>n(!t)}>Show</button>`}</header>
    ${e.reason&&s`<p class="quiet"><${u} text=${e.reason} max=${1e3} /></p>`}
    ${e.more>0&&s`<p class="quiet">${Number(e.more).toLocaleString("en")} more ids were not looked for.</p>`}
    ${t&&s`<${q} ids label=${`Carriers by ${e.rule}`} items=${e.first} item=${r=>s`<${O}
        collection=${i} id=${r} short />`} />
      ${o>e.first.length&&s`<p
        class="quiet">The first ${e.first.length} of ${o.toLocaleString("en")} are listed.</p>`}`}</div>`}function Oe({lineage:e,model:t}){let n=(e?.derived??[]).filter(o=>o.state==="no value"),i=e?.unguarded??[];return s`${n.length>0&&s`<section aria-label="Absent values"><h2>Without a value</h2>
      <${q} label="Without a value" items=${n} item=${o=>s`<code><${u} text=${o.path||o.rule} max=${300} /></code> <${V} kind=${M(o,t)} />
        <div class="quiet">${o.hidden?"You may not read the collection that it would come from.":s`<${u}
          text=${o.reason||"No reason is known."} max=${1e3} />`}</div>
        ${(o.sources??[]).slice(0,3).map(r=>s`<${O} collection=${r.collection}
          id=${r.id} /> `)}`} /></section>`}
    ${i.length>0&&s`<section aria-label="Not unique"><h2>Not compared as unique</h2>
      <${q} label="Not compared as unique" items=${i} item=${o=>s`<code><${u}
        text=${o.unique} max=${300} /></code> <div class="quiet"><${u} text=${o.reason} max=${1e3} /></div>`} /></section>`}
    ${e?.more>0&&s`<p class="quiet">${Number(e.more).toLocaleString("en")} more derived values are not listed.</p>`}`}function ve({value:e,parts:t,model:n,position:i,onClose:o}){let r=k(null);G(()=>r.current?.focus(),[]);let a=I(n,e.rule);return s`<section aria-label="Origin" class="origin" onKeyDown=${l=>{l.key==="Escape"&&o()}}>
    <h2 tabindex="-1" ref=${r}>Origin of <code><${u} text=${e.path} max=${500} /></code></h2>
    <dl>
      <dt>Kind</dt><dd>${M(e,n)}</dd>
      ${e.state&&s`<dt>State</dt><dd><${u} text=${Te(e.state)} /></dd>`}
      <dt>Rule</dt><dd><code><${u} text=${e.rule} max=${500} /></code>${a&&s`<br /><code class="quiet"><${u}
        text=${je(a)} max=${2e3} /></code>`}</dd>
      <dt>Sources</dt><dd><${_e} value=${e} /></dd>
      <${Ie} value=${e} parts=${t} model=${n} position=${i} />
      ${e.reason&&s`<dt>Reason</dt><dd><${u} text=${e.reason} max=${2e3} /></dd>`}
      <dt>Event</dt><dd><${We} event=${e.event} parts=${t} /></dd>
    </dl>
    <button type="button" onClick=${o}>Close</button>
  </section>`}var Te=e=>({frozen:"frozen: the value of the moment when the document began to refer to the source",kept:"kept: the source is deleted, and the value stays"})[e]??e,je=e=>Object.entries(e).map(([t,n])=>`${t}: ${typeof n=="string"?n:JSON.stringify(n)}`).join(", ");function _e({value:e}){if(e.hidden)return"You may not read the collection that it comes from.";let t=e.sources??[];return t.length===0?Number(e.documents)>0?`${C(Number(e.documents))} documents`:"no document":s`<${q} ids label="Sources" items=${t} item=${n=>s`<${O}
    collection=${n.collection} id=${n.id} />${n.rev===void 0&&s` <span class="quiet">is gone</span>`}`} />
    ${Number(e.documents)>t.length&&s`<p
      class="quiet">The first ${t.length} of ${C(Number(e.documents))} documents.</p>`}`}function We({event:e,parts:t}){return e?e.seq?s`<a href=${x(t,{at:e.seq})}><${u} text=${e.seq} /></a>${e.time&&s`, <${F} text=${e.time} position=${e.seq} />`}${e.op&&s`, <${u} text=${e.op} />`}${e.collection?s` by <${O} collection=${e.collection} id=${e.id} />`:e.op==="derive"&&""}${e.reason&&s`. <${u} text=${e.reason} max=${1e3} />`}`:s`<${u} text=${e.reason??"not known"} max=${1e3} />`:"further back in the history than is looked"}var V=({kind:e,state:t})=>s`<span class="kind"><${u} text=${e} max=${40} />${t&&t!=="no value"&&s`, <${u} text=${t}
    max=${80} />`}</span>`,Fe=8,Ke=/^\s*doc((?:\.[A-Za-z_]\w*)+)\s*$/;function Ie({value:e,parts:t,model:n,position:i}){let{value:o}=v(r=>Be(e,n,i,r),[e,n]);return!o||o.length<2?null:s`<dt>Chain</dt><dd><ol class="chain" aria-label="Chain">
    <li><${xe} collection=${t[0]} id=${t[1]} path=${e.path} /></li>
    ${o.map(r=>s`<li key=${r.collection+"/"+r.id}><span class="by" title=${r.rule}><span class="unseen">copied by${" "}
        <${u} text=${r.rule} max=${200} /> from</span></span><${xe} ...${r} /></li>`)}</ol></dd>`}var xe=({collection:e,id:t,path:n})=>s`<span class="stand"><${O} collection=${e} id=${t} />${n&&s`<code class="quiet"><${u} text=${n} max=${80} /></code>`}</span>`;async function Be(e,t,n,i){let o=[];for(let r=e;o.length<Fe;){let[a,...d]=r.sources??[];if(!a||d.length>0||Number(r.documents??1)>1)return o;let[,l=""]=Ke.exec(String(I(t,r.rule)?.value??""))??[],c=l.replaceAll(".","/");if(o.push({collection:a.collection,id:a.id,path:c,rule:String(r.rule)}),c==="")return o;let m={"Fanfold-Min-Position":n};if(r=(await E({path:[a.collection,a.id,"_lineage"],headers:m,signal:i}).catch(()=>null))?.derived?.find(f=>f.path===c&&f.state!=="no value"),!r)return o}return o}var He=200;function Wt({place:e}){let{parts:t}=e,n=Xe(e),i=e.params.get("at"),o=v(async h=>({...await Ze({...n,signal:h}),at:i}),[i]),{problem:r,busy:a,stale:d,again:l}=o,c=d&&r?void 0:o.value,m=c?c.at:i,$=m===null,f=v(async h=>c?se(h):void 0,[c]),b=v(async h=>c&&$?Qe(t,c.position,h):void 0,[c,m]),{rows:p,changed:y}=Ve(t,$&&!d?c?.position??"":"",a,l);return s`<${ie} place=${e} position=${d?"":c?.position??""} />
    <${re} place=${e} problem=${r} again=${l}>${r?.status===404&&s`<p>See its <a href=${x([...t,"_history"])}>history</a>, which a deleted document has, too, or the <a
      href=${x([t[0]],{at:i})}>collection</a>.</p>`}<//>
    ${!c&&r&&s`<${z} asked=${n} />`}
    <${te} of=${o} shape="text">${c&&s`<div class="facts"><p class="quiet">Revision <${u} text=${c.revision} />, written <${F} text=${c.written} />
        ${$&&s`, seen at <code>${c.position}</code>`}.
      ${" "}<a href=${x([...t,"_history"])}>History</a></p>
      ${$&&s`<${ze} collection=${t[0]} id=${t[1]} etag=${c.etag} model=${f.value} />`}</div>
    <div class="beside"><div>
      <${Je} doc=${c} parts=${t} at=${m} lineage=${$?b.value:void 0} model=${f.value}
        changed=${y} />
      ${$&&s`<${oe} rows=${p} />`}
      <${z} asked=${n} />
    </div><div>
      <${D} problem=${b.problem??f.problem} again=${b.problem?b.again:f.again} />
      ${$&&s`<${Oe} lineage=${b.value} model=${f.value} />`}
      ${!$&&s`<p class="quiet">Origins are told of the document of now alone. Its <a href=${x([...t,"_history"])}>versions</a>
          say what changed it.</p>`}
      <${ke} doc=${c} collection=${t[0]} at=${m} model=${f.value} />
      ${$&&s`<${we} parts=${t} position=${c.position} model=${f.value} />
        <${Se} lineage=${b.value} />`}
    </div></div>`}<//>`}function ze({collection:e,id:t,etag:n,model:i}){let o=ae({always:!0,onDone:(d,l)=>{let c=x([e]),m=(l?.writes.length??1)-1;H({href:c,what:`${e}/${t} is deleted${m>0?`, and ${m} more written`:""}`,written:d}),B(c)}}),{state:r}=o,a=({deleted:d,changed:l,position:c})=>{let m=x([e]),$=`${e}/${t} is deleted, and ${C(d+l-1)} more written, step by step`;H({href:m,what:$,written:{position:c,derived:void 0,visible:!0,took:0,location:""}}),B(m)};return s`<p class="actions"><a class="button" href=${x([e,t],{edit:""})}>Edit</a>
      <a class="button" href=${x([e],{new:"",from:t})}>Clone</a>
      <button type="button" class="loss"
        onClick=${()=>o.begin({method:"DELETE",path:[e,t],headers:{"If-Match":n}})}>Delete</button>
      <span role="status" class="quiet">${r.phase==="looking"&&"Looking at what it changes"}</span></p>
    <${le} title="What this delete changes" go="Delete now" keep="Keep it" writing=${o} careful loses>
      <${Ue} collection=${e} id=${t} model=${i} /><//>
    ${r.phase==="idle"&&(r.problem?.of.steps?s`<${pe} collection=${e} id=${t} problem=${r.problem} onDone=${a} onClose=${o.stop} />`:s`<${ce} state=${r} />`)}`}var qe={clear:"their reference stays, and what they copied goes",keep:"their reference and what they copied stay"};function Ue({collection:e,id:t,model:n}){let{value:i}=v(async o=>{let r=A(n).filter(l=>l.to===e&&qe[l.onDelete]),a=l=>({relation:l,fields:"id",count:!0,limit:1}),d=r.map(l=>E({path:[e,t,l.collection],query:a(l.name),signal:o}).then(({count:c})=>({...l,count:Number(c)}),()=>({...l,count:0})));return(await Promise.all(d)).filter(l=>l.count>0)},[n]);return i?.length?s`<ul aria-label="Refer to it" class="documents">${i.map(o=>s`<li key=${o.collection+" "+o.name}>${K(o.count,"document")} of <${u} text=${o.collection} max=${100} />${" "}
      ${o.count===1?"refers":"refer"} to it by <${u} text=${o.name} max=${100} />: ${qe[o.onDelete]}.</li>`)}</ul>`:null}function Ve([e,t],n,i,o){let r=k("");(r.current===""||n==="")&&(r.current=n);let[a,d]=g(!1),[l,c]=g(new Set),m=ne([e],r.current,$=>$.id===t,$=>{c(new Set($.flatMap(f=>(f.patch?.elements??[]).map(b=>W(S(b,"path"))??"")).slice(0,He))),d(!0)});return L(()=>{!a||i||(d(!1),o())},[a,i]),{rows:m,changed:l}}function Ge({text:e,name:t}){let n=()=>{let i=URL.createObjectURL(new Blob([e],{type:"application/json"})),o=document.createElement("a");o.href=i,o.download=t,o.click(),setTimeout(()=>URL.revokeObjectURL(i),6e4)};return s`<p>The document has ${e.length.toLocaleString("en")} characters, and is shown as text. <button type="button"
    onClick=${n}>Download</button></p>
    <div class="json whole"><${Q} text=${e} of="the document" first=${1e4} /></div>`}function Je({doc:e,parts:t,at:n,lineage:i,model:o,changed:r}){let[a,d]=g(""),l=N(()=>Ye(i),[i]),c=N(()=>fe(o,t[0]),[o]),m=k(null),$=()=>{m.current?.focus(),d("")},f=(p,y)=>{m.current=y.currentTarget,d(p)},b={marked:p=>l.values.has(p),inside:p=>l.inside.get(p)??0,beside:p=>{let y=l.values.get(p);return y&&s` <${V} kind=${M(y,o)} state=${y.state} /> <button type="button" class="small"
        aria-label=${`Origin of ${me(p)}`} aria-expanded=${a===p}
          onClick=${h=>a===p?$():f(p,h)}>Origin</button>`},under:p=>a===p&&l.values.has(p)&&s`<${ve} key=${p} value=${l.values.get(p)} parts=${t} model=${o}
        position=${e.position} onClose=${$} />`,href:(p,y)=>{let h=c.length?Z(p):[],w=c.find(De=>be(h,De.path)),j=w&&T(y);return w&&j!==void 0?x([w.to,j],{at:n}):void 0},changed:r};return s`<section aria-label="Document">${e.root?s`<${ue} root=${e.root} adds=${b} />`:s`<${Ge} text=${e.text} name=${t.join("-")+".json"} />`}</section>`}function Ye(e){let t=new Map,n=new Map;for(let i of e?.derived??[])if(!(!i.path||i.state==="no value")){t.set(i.path,i);for(let o=i.path.lastIndexOf("/");o>0;o=i.path.lastIndexOf("/",o-1)){let r=i.path.slice(0,o);n.set(r,(n.get(r)??0)+1)}}return{values:t,inside:n}}var Ce=4<<20,Xe=({parts:e,params:t})=>({path:e,query:{at:t.get("at")}});async function Ze(e){let{text:t,headers:n}=await R(e),i=t.length<=Ce&&new Blob([t]).size<=Ce;return{text:t,root:i?await Y(t,e.signal):void 0,revision:n.get("Fanfold-Revision")??"",etag:n.get("ETag")??"",position:n.get("Fanfold-Position")??"",written:n.get("Last-Modified")??""}}var Qe=(e,t,n)=>E({path:[...e,"_lineage"],headers:{"Fanfold-Min-Position":t},signal:n});export{Wt as DocumentPage,Je as DocumentRegion,ze as EditActions,Ge as WholeText,Xe as askedOf,Ze as load,Qe as loadLineage};
