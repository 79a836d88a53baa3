import{a as se,b as ue,c as me}from"./chunk-PD3E5IIR.js";import{a as ie,c as re}from"./chunk-IJSVSODT.js";import{a as te}from"./chunk-U37FMEAT.js";import{a as le,b as ce,h as de,i as $e}from"./chunk-ADE6NZGY.js";import{e as ae}from"./chunk-SAIG3XQC.js";import{f as ne,g as oe}from"./chunk-LF2RQJXF.js";import{G as v,I as P,P as u,Q as F,T as O,W as q,X as Q,Z as C,_ as K,a as y,ba as z,ca as ee,d as B,fa as D,i as X,m as H,r as R,u as E}from"./chunk-MNRX4NBN.js";import{A as Z,b as g,c as L,d as G,e as k,f as N,l as i,n as W,r as _,s as S,t as J,u as Y}from"./chunk-YLTSUMXM.js";async function Le({collection:e,id:t},n,s){let o={deleted:0,changed:0,position:"",done:!1};for(;!o.done&&!n.aborted;){let r=J(W((await R({method:"DELETE",path:[e,t],query:{steps:!0}})).text));o.deleted+=r.deleted,o.changed+=r.changed,o.position=r.position,o.done=r.done,s({...o})}return o}function Re(e){let n=(e.of.problems??[]).map(s=>Number(/^\d+/.exec(String(s.detail))?.[0])).reduce((s,o)=>s+o,0);return Number.isFinite(n)?n:0}function pe({collection:e,id:t,problem:n,onDone:s,onClose:o}){let[r,a]=g(null),[d,l]=g(void 0),c=k(null);L(()=>()=>c.current?.abort(),[]);let[m,$]=g(!1),f=k({deleted:0,changed:0}),b=h=>({...h,deleted:f.current.deleted+h.deleted,changed:f.current.changed+h.changed}),p=async()=>{let h=c.current=new AbortController;f.current=r??f.current,$(!0),l(void 0);try{let w=b(await Le({collection:e,id:t},h.signal,j=>a(b(j))));if(w.done)return s(w)}catch(w){l(P(w))}$(!1)},x=()=>c.current?.abort();return i`<${ee} title="Delete step by step" closable=${!m} onClose=${o}>
    <p><b><${u} text=${e+"/"+t} max=${300} /></b> brings more with it than one transaction takes, 1,000 documents. It
      goes in several, what refers to it first. Others see what is gone so far, and what is deleted stays deleted.</p>
    <ul aria-label="What goes with it">${(n.of.problems??[]).slice(0,100).map(h=>i`<li><b><${u} text=${String(h.path)} max=${100} /></b>: <${u}
        text=${String(h.detail)} max=${300} /></li>`)}</ul>
    ${r&&i`<${Ee} sum=${r} total=${Re(n)} busy=${m} />`}
    <${D} problem=${d} />
    <p class="actions">${m?i`<button type="button" onClick=${x}>Stop after this step</button>`:i`<button type="button" class="loss" onClick=${()=>X(p())}>${r?"Go on":"Delete step by step"}</button>
        <button type="button" data-focus onClick=${o}>${r?"Close":"Keep it"}</button>`} <span role="status" class="quiet">${m&&"Deleting"}</span></p>
  <//>`}function Ee({sum:e,total:t,busy:n}){let s=e.deleted+e.changed,o=$e("steps",s,t);return i`<${de} label="Delete step by step" done=${s} total=${t} unit="documents" left=${n?o:0} />
    <p>${K(e.deleted,"document")} deleted, ${C(e.changed)} lost their
      reference.${!n&&" The document itself is still there."}</p>`}function A(e){return Object.entries(e?.collections??{}).flatMap(([t,n])=>Object.entries(n?.relations??{}).map(([s,o])=>({collection:t,name:s,path:he(String(o.path)),to:String(o.to),onDelete:String(o.onDelete??"clear")})))}function fe(e,t){let n=Object.entries(e?.collections?.[t]?.derive??{}).flatMap(([s,o])=>{let{ids:r,recent:a}=o,d=r??a;return typeof d=="string"?[{path:he(s+(r?"[]":"[].id")),to:d.slice(0,d.indexOf("."))}]:[]});return[...A(e).filter(s=>s.collection===t),...n]}var he=e=>e.split(".").flatMap(t=>t.split("[]"));function I(e,t){let n=t.indexOf(".");return e?.collections?.[t.slice(0,n)]?.derive?.[t.slice(n+1)]}var Ae=["copy","count","sum","min","max","avg","ids","recent"];function M(e,t){let n=I(t,e.rule),s=e.kind??Ae.find(o=>n?.[o]!==void 0)??(n?"value":"derived");return s==="value"?"computed":String(s)}function T(e){if(e?.kind==="number")return e.raw;let t=e?.kind==="string"?JSON.parse(e.raw):"";return t===""?void 0:t}var be=(e,t)=>e.length===t.length&&t.every((n,s)=>n===""?/^\d+$/.test(e[s]):n===e[s]);function ge(e,t){let n=[e];for(let s of t)n=s===""?n.flatMap(o=>o?.elements??[]):n.map(o=>S(o,s));return[...new Set(n.map(T).filter(s=>s!==void 0))]}var Ne=20,U=e=>e.collection+"."+e.name,ye=(e,t,n,s)=>({path:[...e,n.collection],query:{relation:n.name,fields:"id",...s},headers:{"Fanfold-Min-Position":t}});function we({parts:e,position:t,model:n}){let[s,o]=g({}),[r,a]=g(0),d=A(n).filter(l=>l.to===e[0]);return L(()=>{let l=new AbortController;return(async()=>{for(let c of d){let m=await E({...ye(e,t,c,{count:!0,limit:1}),signal:l.signal}).then(({count:$})=>({count:$}),$=>({problem:l.signal.aborted?void 0:P($)}));if(l.signal.aborted)return;o($=>({...$,[U(c)]:m}))}})(),()=>l.abort()},[n,t,r]),d.length===0?null:i`<section aria-label="Referred to by"><h2>Referred to by</h2>
    ${d.map(l=>i`<${Pe} key=${U(l)} parts=${e} position=${t} relation=${l}
      counted=${s[U(l)]??{}} again=${()=>a(r+1)} />`)}</section>`}function Pe({parts:e,position:t,relation:n,counted:s,again:o}){let[r,a]=g(null),d=async()=>{let m=r??{ids:[],busy:!1};a({...m,busy:!0,problem:void 0});try{let $=W((await R(ye(e,t,n,{limit:Ne,cursor:m.next}))).text),f=(S($,"items")?.elements??[]).map(b=>T(S(b,"id"))??"");a({ids:[...m.ids,...f],next:_(S($,"next")),busy:!1})}catch($){a({...m,busy:!1,problem:P($)})}},l=`${n.collection} by ${n.name}`,c=Number(s.count??0);return i`<div class="tie"><header><h3><${u} text=${n.collection} max=${200} /> <span class="quiet">by <${u}
    text=${n.name} max=${200} />${s.count!==void 0&&": "+c.toLocaleString("en")}</span></h3>
      ${c>0&&i`<button type="button" class="small" aria-expanded=${r!==null} aria-label=${`Show ${l}`}
        onClick=${()=>r===null?d():a(null)}>Show</button>`}</header>
    ${[401,403].includes(s.problem?.status??0)?i`<p class="quiet">You may not read them.</p>`:i`<${D}
      problem=${s.problem} again=${o} />`}
    ${r&&i`<${q} ids label=${l} items=${r.ids} busy=${r.busy} more=${r.next&&d}
        item=${m=>i`<${O} collection=${n.collection} id=${m} short />`} />
      <${D} problem=${r.problem} again=${d} asked />`}</div>`}function ke({doc:e,collection:t,at:n,model:s}){let o=e.root,r=N(()=>o?A(s).filter(a=>a.collection===t).map(a=>({...a,ids:ge(o,a.path)})):[],[o,s]);return r.length===0?null:i`<section aria-label="Refers to"><h2>Refers to</h2>${r.map(a=>i`<div key=${a.name} class="tie">
    <h3><${u} text=${a.name} max=${200} /> <span class="quiet">in <${u} text=${a.to}
      max=${200} />: ${a.ids.length.toLocaleString("en")}</span></h3>
    ${a.ids.length>0&&i`<${q} ids label=${`To ${a.to} by ${a.name}`} items=${a.ids}
      item=${d=>i`<${O} collection=${a.to} id=${d} at=${n} short />`} />`}
  </div>`)}</section>`}function Se({lineage:e}){if(!e)return null;let t=e.copies.filter(n=>Number(n.documents)>0||n.more||n.reason);return i`<section aria-label="Carried by"><h2>Carried by</h2>
    ${t.length===0&&i`<p class="quiet">No document carries anything of this one.</p>`}
    ${t.map(n=>i`<${Me} key=${n.rule} of=${n} />`)}</section>`}function Me({of:e}){let[t,n]=g(!1),s=e.rule.slice(0,e.rule.indexOf(".")),o=Number(e.documents);return i`<div class="tie"><header><h3><code><${u} text=${e.rule} max=${300} /></code><span
    class="quiet">: ${o.toLocaleString("en")}</span></h3>
      ${o>0&&i`<button type="button" class="small" aria-expanded=${t} aria-label=${`Show carriers by ${e.rule}`}
        onClick=${()=>n(!t)}>Show</button>`}</header>
    ${e.reason&&i`<p class="quiet"><${u} text=${e.reason} max=${1e3} /></p>`}
    ${e.more>0&&i`<p class="quiet">${Number(e.more).toLocaleString("en")} more ids were not looked for.</p>`}
    ${t&&i`<${q} ids label=${`Carriers by ${e.rule}`} items=${e.first} item=${r=>i`<${O}
        collection=${s} id=${r} short />`} />
      ${o>e.first.length&&i`<p
        class="quiet">The first ${e.first.length} of ${o.toLocaleString("en")} are listed.</p>`}`}</div>`}function Oe({lineage:e,model:t}){let n=(e?.derived??[]).filter(o=>o.state==="no value"),s=e?.unguarded??[];return i`${n.length>0&&i`<section aria-label="Absent values"><h2>Without a value</h2>
      <${q} label="Without a value" items=${n} item=${o=>i`<code><${u} text=${o.path||o.rule} max=${300} /></code> <${V} kind=${M(o,t)} />
        <div class="quiet">${o.hidden?"You may not read the collection that it would come from.":i`<${u}
          text=${o.reason||"No reason is known."} max=${1e3} />`}</div>
        ${(o.sources??[]).slice(0,3).map(r=>i`<${O} collection=${r.collection}
          id=${r.id} /> `)}`} /></section>`}
    ${s.length>0&&i`<section aria-label="Not unique"><h2>Not compared as unique</h2>
      <${q} label="Not compared as unique" items=${s} item=${o=>i`<code><${u}
        text=${o.unique} max=${300} /></code> <div class="quiet"><${u} text=${o.reason} max=${1e3} /></div>`} /></section>`}
    ${e?.more>0&&i`<p class="quiet">${Number(e.more).toLocaleString("en")} more derived values are not listed.</p>`}`}function ve({value:e,parts:t,model:n,position:s,onClose:o}){let r=k(null);G(()=>r.current?.focus(),[]);let a=I(n,e.rule);return i`<section aria-label="Origin" class="origin" onKeyDown=${l=>{l.key==="Escape"&&o()}}>
    <h2 tabindex="-1" ref=${r}>Origin of <code><${u} text=${e.path} max=${500} /></code></h2>
    <dl>
      <dt>Kind</dt><dd>${M(e,n)}</dd>
      ${e.state&&i`<dt>State</dt><dd><${u} text=${Te(e.state)} /></dd>`}
      <dt>Rule</dt><dd><code><${u} text=${e.rule} max=${500} /></code>${a&&i`<br /><code class="quiet"><${u}
        text=${je(a)} max=${2e3} /></code>`}</dd>
      <dt>Sources</dt><dd><${We} value=${e} /></dd>
      <${Ie} value=${e} parts=${t} model=${n} position=${s} />
      ${e.reason&&i`<dt>Reason</dt><dd><${u} text=${e.reason} max=${2e3} /></dd>`}
      <dt>Event</dt><dd><${_e} event=${e.event} parts=${t} /></dd>
    </dl>
    <button type="button" onClick=${o}>Close</button>
  </section>`}var Te=e=>({frozen:"frozen: the value of the moment when the document began to refer to the source",kept:"kept: the source is deleted, and the value stays"})[e]??e,je=e=>Object.entries(e).map(([t,n])=>`${t}: ${typeof n=="string"?n:JSON.stringify(n)}`).join(", ");function We({value:e}){if(e.hidden)return"You may not read the collection that it comes from.";let t=e.sources??[];return t.length===0?Number(e.documents)>0?`${C(Number(e.documents))} documents`:"no document":i`<${q} ids label="Sources" items=${t} item=${n=>i`<${O}
    collection=${n.collection} id=${n.id} />${n.rev===void 0&&i` <span class="quiet">is gone</span>`}`} />
    ${Number(e.documents)>t.length&&i`<p
      class="quiet">The first ${t.length} of ${C(Number(e.documents))} documents.</p>`}`}function _e({event:e,parts:t}){return e?e.seq?i`<a href=${y(t,{at:e.seq})}><${u} text=${e.seq} /></a>${e.time&&i`, <${F} text=${e.time} position=${e.seq} />`}${e.op&&i`, <${u} text=${e.op} />`}${e.collection?i` by <${O} collection=${e.collection} id=${e.id} />`:e.op==="derive"&&""}${e.reason&&i`. <${u} text=${e.reason} max=${1e3} />`}`:i`<${u} text=${e.reason??"not known"} max=${1e3} />`:"further back in the history than is looked"}var V=({kind:e,state:t})=>i`<span class="kind"><${u} text=${e} max=${40} />${t&&t!=="no value"&&i`, <${u} text=${t}
    max=${80} />`}</span>`,Fe=8,Ke=/^\s*doc((?:\.[A-Za-z_]\w*)+)\s*$/;function Ie({value:e,parts:t,model:n,position:s}){let{value:o}=v(r=>Be(e,n,s,r),[e,n]);return!o||o.length<2?null:i`<dt>Chain</dt><dd><ol class="chain" aria-label="Chain">
    <li><${xe} collection=${t[0]} id=${t[1]} path=${e.path} /></li>
    ${o.map(r=>i`<li key=${r.collection+"/"+r.id}><span class="by" title=${r.rule}><span class="unseen">copied by
        <${u} text=${r.rule} max=${200} /> from</span></span><${xe} ...${r} /></li>`)}</ol></dd>`}var xe=({collection:e,id:t,path:n})=>i`<span class="stand"><${O} collection=${e} id=${t} />${n&&i`<code class="quiet"><${u} text=${n} max=${80} /></code>`}</span>`;async function Be(e,t,n,s){let o=[];for(let r=e;o.length<Fe;){let[a,...d]=r.sources??[];if(!a||d.length>0||Number(r.documents??1)>1)return o;let[,l=""]=Ke.exec(String(I(t,r.rule)?.value??""))??[],c=l.replaceAll(".","/");if(o.push({collection:a.collection,id:a.id,path:c,rule:String(r.rule)}),c==="")return o;let m={"Fanfold-Min-Position":n};if(r=(await E({path:[a.collection,a.id,"_lineage"],headers:m,signal:s}).catch(()=>null))?.derived?.find(f=>f.path===c&&f.state!=="no value"),!r)return o}return o}var He=200;function _t({place:e}){let{parts:t}=e,n=Xe(e),s=e.params.get("at"),o=v(async h=>({...await Ze({...n,signal:h}),at:s}),[s]),{problem:r,busy:a,stale:d,again:l}=o,c=d&&r?void 0:o.value,m=c?c.at:s,$=m===null,f=v(async h=>c?se(h):void 0,[c]),b=v(async h=>c&&$?Qe(t,c.position,h):void 0,[c,m]),{rows:p,changed:x}=Ve(t,$&&!d?c?.position??"":"",a,l);return i`<${ie} place=${e} position=${d?"":c?.position??""} />
    <${re} place=${e} problem=${r} again=${l}>${r?.status===404&&i`<p>See its <a href=${y([...t,"_history"])}>history</a>, which a deleted document has, too, or the <a
      href=${y([t[0]],{at:s})}>collection</a>.</p>`}<//>
    ${!c&&r&&i`<${z} asked=${n} />`}
    <${te} of=${o} shape="text">${c&&i`<div class="facts"><p class="quiet">Revision <${u} text=${c.revision} />, written <${F} text=${c.written} />
        ${$&&i`, seen at <code>${c.position}</code>`}.
      ${" "}<a href=${y([...t,"_history"])}>History</a></p>
      ${$&&i`<${ze} collection=${t[0]} id=${t[1]} etag=${c.etag} model=${f.value} />`}</div>
    <div class="beside"><div>
      <${Je} doc=${c} parts=${t} at=${m} lineage=${$?b.value:void 0} model=${f.value}
        changed=${x} />
      ${$&&i`<${oe} rows=${p} />`}
      <${z} asked=${n} />
    </div><div>
      <${D} problem=${b.problem??f.problem} again=${b.problem?b.again:f.again} />
      ${$&&i`<${Oe} lineage=${b.value} model=${f.value} />`}
      <${ke} doc=${c} collection=${t[0]} at=${m} model=${f.value} />
      ${$&&i`<${we} parts=${t} position=${c.position} model=${f.value} />
        <${Se} lineage=${b.value} />`}
    </div></div>`}<//>`}function ze({collection:e,id:t,etag:n,model:s}){let o=ae({always:!0,onDone:(d,l)=>{let c=y([e]),m=(l?.writes.length??1)-1;H({href:c,what:`${e}/${t} is deleted${m>0?`, and ${m} more written`:""}`,written:d}),B(c)}}),{state:r}=o,a=({deleted:d,changed:l,position:c})=>{let m=y([e]),$=`${e}/${t} is deleted, and ${C(d+l-1)} more written, step by step`;H({href:m,what:$,written:{position:c,derived:void 0,visible:!0,took:0,location:""}}),B(m)};return i`<p class="actions"><a class="button" href=${y([e,t],{edit:""})}>Edit</a>
      <a class="button" href=${y([e],{new:"",from:t})}>Clone</a>
      <button type="button" class="loss"
        onClick=${()=>o.begin({method:"DELETE",path:[e,t],headers:{"If-Match":n}})}>Delete</button>
      <span role="status" class="quiet">${r.phase==="looking"&&"Looking at what it changes"}</span></p>
    <${le} title="What this delete changes" go="Delete now" keep="Keep it" writing=${o} careful loses>
      <${Ue} collection=${e} id=${t} model=${s} /><//>
    ${r.phase==="idle"&&(r.problem?.of.steps?i`<${pe} collection=${e} id=${t} problem=${r.problem} onDone=${a} onClose=${o.stop} />`:i`<${ce} state=${r} />`)}`}var qe={clear:"their reference stays, and what they copied goes",keep:"their reference and what they copied stay"};function Ue({collection:e,id:t,model:n}){let{value:s}=v(async o=>{let r=A(n).filter(l=>l.to===e&&qe[l.onDelete]),a=l=>({relation:l,fields:"id",count:!0,limit:1}),d=r.map(l=>E({path:[e,t,l.collection],query:a(l.name),signal:o}).then(({count:c})=>({...l,count:Number(c)}),()=>({...l,count:0})));return(await Promise.all(d)).filter(l=>l.count>0)},[n]);return s?.length?i`<ul aria-label="Refer to it" class="documents">${s.map(o=>i`<li key=${o.collection+" "+o.name}>${K(o.count,"document")} of <${u} text=${o.collection} max=${100} />${" "}
      ${o.count===1?"refers":"refer"} to it by <${u} text=${o.name} max=${100} />: ${qe[o.onDelete]}.</li>`)}</ul>`:null}function Ve([e,t],n,s,o){let r=k("");(r.current===""||n==="")&&(r.current=n);let[a,d]=g(!1),[l,c]=g(new Set),m=ne([e],r.current,$=>$.id===t,$=>{c(new Set($.flatMap(f=>(f.patch?.elements??[]).map(b=>_(S(b,"path"))??"")).slice(0,He))),d(!0)});return L(()=>{!a||s||(d(!1),o())},[a,s]),{rows:m,changed:l}}function Ge({text:e,name:t}){let n=()=>{let s=URL.createObjectURL(new Blob([e],{type:"application/json"})),o=document.createElement("a");o.href=s,o.download=t,o.click(),setTimeout(()=>URL.revokeObjectURL(s),6e4)};return i`<p>The document has ${e.length.toLocaleString("en")} characters, and is shown as text. <button type="button"
    onClick=${n}>Download</button></p>
    <div class="json whole"><${Q} text=${e} of="the document" first=${1e4} /></div>`}function Je({doc:e,parts:t,at:n,lineage:s,model:o,changed:r}){let[a,d]=g(""),l=N(()=>Ye(s),[s]),c=N(()=>fe(o,t[0]),[o]),m=k(null),$=()=>{m.current?.focus(),d("")},f=(p,x)=>{m.current=x.currentTarget,d(p)},b={marked:p=>l.values.has(p),inside:p=>l.inside.get(p)??0,beside:p=>{let x=l.values.get(p);return x&&i` <${V} kind=${M(x,o)} state=${x.state} /> <button type="button" class="small"
        aria-label=${`Origin of ${me(p)}`} aria-expanded=${a===p}
          onClick=${h=>a===p?$():f(p,h)}>Origin</button>`},under:p=>a===p&&l.values.has(p)&&i`<${ve} key=${p} value=${l.values.get(p)} parts=${t} model=${o}
        position=${e.position} onClose=${$} />`,href:(p,x)=>{let h=c.length?Z(p):[],w=c.find(De=>be(h,De.path)),j=w&&T(x);return w&&j!==void 0?y([w.to,j],{at:n}):void 0},changed:r};return i`<section aria-label="Document">${e.root?i`<${ue} root=${e.root} adds=${b} />`:i`<${Ge} text=${e.text} name=${t.join("-")+".json"} />`}</section>`}function Ye(e){let t=new Map,n=new Map;for(let s of e?.derived??[])if(!(!s.path||s.state==="no value")){t.set(s.path,s);for(let o=s.path.lastIndexOf("/");o>0;o=s.path.lastIndexOf("/",o-1)){let r=s.path.slice(0,o);n.set(r,(n.get(r)??0)+1)}}return{values:t,inside:n}}var Ce=4<<20,Xe=({parts:e,params:t})=>({path:e,query:{at:t.get("at")}});async function Ze(e){let{text:t,headers:n}=await R(e),s=t.length<=Ce&&new Blob([t]).size<=Ce;return{text:t,root:s?await Y(t,e.signal):void 0,revision:n.get("Fanfold-Revision")??"",etag:n.get("ETag")??"",position:n.get("Fanfold-Position")??"",written:n.get("Last-Modified")??""}}var Qe=(e,t,n)=>E({path:[...e,"_lineage"],headers:{"Fanfold-Min-Position":t},signal:n});export{_t as DocumentPage,Je as DocumentRegion,ze as EditActions,Ge as WholeText,Xe as askedOf,Ze as load,Qe as loadLineage};
