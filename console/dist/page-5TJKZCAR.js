import{a as ie,b as re}from"./chunk-S76LYCHP.js";import{j as ae}from"./chunk-ZG5BCMMY.js";import{e as oe,f as se}from"./chunk-CPSA4ANE.js";import{$ as Z,Ca as R,G as P,J as S,U as T,V as U,Y as z,Z as q,_ as Q,aa as ee,b as p,c as A,d as E,e as y,f as k,ia as te,k as o,ka as f,la as j,m as G,o as N,oa as w,p as b,r as X,ra as O,s as v,sa as ne,ta as H,ua as J,ya as V}from"./chunk-JCWJPE4V.js";function ce({root:e,adds:t={}}){let n=k(()=>Z(e),[e]);return o`<div class="json">${z(e)?o`<p class="quiet">${ue(e)}</p><${le} node=${e} pointer="" depth=${0} open=${n} adds=${t} />`:$e("",e,t)}</div>`}function le({node:e,pointer:t,depth:n,open:s,adds:i}){let[r,c]=p(100),l=y(null),a=q(e),$=r-100;E(()=>{$>0&&l.current?.focus()},[$]);let d=Math.min(100,a-r);return o`<ul role="list" class=${n>8?"deep":void 0}>
    ${Q(e,t,r).map((u,h)=>o`<li key=${u.key} ref=${$>0&&h===$?l:void 0}
        tabindex=${$>0&&h===$?-1:void 0}>
      <${ve} ...${u} depth=${n} open=${s} adds=${i} /></li>`)}
  </ul>
  ${d>0&&o`<p class="more"><button type="button" class="small" aria-label=${`Show ${d} more of ${C(t)}`}
      onClick=${()=>c(r+100)}>Show ${d} more</button>
    <span class="quiet"> of ${(a-r).toLocaleString("en")}</span></p>`}`}function ve({token:e,pointer:t,node:n,depth:s,open:i,adds:r}){let[c,l]=p(i.has(n)),a=q(n)>0,$=a&&!c?r.inside?.(t)??0:0,d=r.changed!==void 0&&r.changed.size>0&&(r.changed.has(t)||a&&!c&&[...r.changed].some(u=>u.startsWith(t+"/")));return o`<div class=${"row"+(d?" changed":"")}>
      ${a&&o`<button type="button" class="fold" aria-expanded=${c}
        aria-label=${`${n.members?"Members":"Elements"} of ${C(t)}`} onClick=${()=>l(!c)}></button>`}
      <span class="at">${H(e,"the name",200)}:</span>${" "}
      ${$e(t,n,r)}
      ${$>0&&o` <span class="quiet">${$} derived within</span>`}
      ${d&&o` <mark>changed</mark>`}
      ${r.beside?.(t)}
    </div>
    ${r.under?.(t)}
    ${a&&c&&o`<${le} node=${n} pointer=${t} depth=${s+1} open=${i} adds=${r} />`}`}function $e(e,t,n){let s="token"+(n.marked?.(e)?" from-rule":"");if(z(t))return o`<span class=${Se(t)?s:"count "+s}>${ue(t)}</span>`;let i=n.href?.(e,t),r=H(t.raw,C(e));return i===void 0?o`<span class=${s}>${r}</span>`:o`<a class=${s} href=${i}>${r}</a>`}var C=e=>te(e.length>200?e.slice(0,200)+"…":e||"/"),Se=e=>q(e)===0;function ue(e){let t=q(e),n=e.members?"member":"element";return t===0?e.members?"{}":"[]":`${e.members?"{":"["} ${t.toLocaleString("en")} ${n}${t===1?"":"s"} ${e.members?"}":"]"}`}function _(e){return Object.entries(e?.collections??{}).flatMap(([t,n])=>Object.entries(n?.relations??{}).map(([s,i])=>({collection:t,name:s,path:me(String(i.path)),to:String(i.to)})))}function de(e,t){let n=Object.entries(e?.collections?.[t]?.derive??{}).flatMap(([s,i])=>{let{ids:r,recent:c}=i,l=r??c;return typeof l=="string"?[{path:me(s+(r?"[]":"[].id")),to:l.slice(0,l.indexOf("."))}]:[]});return[..._(e).filter(s=>s.collection===t),...n]}var me=e=>e.split(".").flatMap(t=>t.split("[]"));function W(e,t){let n=t.indexOf(".");return e?.collections?.[t.slice(0,n)]?.derive?.[t.slice(n+1)]}var qe=["copy","count","sum","min","max","avg","ids","recent"];function L(e,t){let n=W(t,e.rule),s=e.kind??qe.find(i=>n?.[i]!==void 0)??(n?"value":"derived");return s==="value"?"computed":String(s)}function M(e){if(e?.kind==="number")return e.raw;let t=e?.kind==="string"?JSON.parse(e.raw):"";return t===""?void 0:t}var fe=(e,t)=>e.length===t.length&&t.every((n,s)=>n===""?/^\d+$/.test(e[s]):n===e[s]);function pe(e,t){let n=[e];for(let s of t)n=s===""?n.flatMap(i=>i?.elements??[]):n.map(i=>b(i,s));return[...new Set(n.map(M).filter(s=>s!==void 0))]}var Re=20,B=e=>e.collection+"."+e.name,he=(e,t,n,s)=>({path:[...e,n.collection],query:{relation:n.name,fields:"id",...s},headers:{"Fanfold-Min-Position":t}});function be({parts:e,position:t,model:n}){let[s,i]=p({}),[r,c]=p(0),l=_(n).filter(a=>a.to===e[0]);return A(()=>{let a=new AbortController;return(async()=>{for(let $ of l){let d=await S({...he(e,t,$,{count:!0,limit:1}),signal:a.signal}).then(({count:u})=>({count:u}),u=>({problem:a.signal.aborted?void 0:U(u)}));if(a.signal.aborted)return;i(u=>({...u,[B($)]:d}))}})(),()=>a.abort()},[n,t,r]),l.length===0?null:o`<section aria-label="Referred to by"><h2>Referred to by</h2>
    ${l.map(a=>o`<${Ce} key=${B(a)} parts=${e} position=${t} relation=${a}
      counted=${s[B(a)]??{}} again=${()=>c(r+1)} />`)}</section>`}function Ce({parts:e,position:t,relation:n,counted:s,again:i}){let[r,c]=p(null),l=async()=>{let d=r??{ids:[],busy:!1};c({...d,busy:!0,problem:void 0});try{let u=G((await P(he(e,t,n,{limit:Re,cursor:d.next}))).text),h=(b(u,"items")?.elements??[]).map(g=>M(b(g,"id"))??"");c({ids:[...d.ids,...h],next:N(b(u,"next")),busy:!1})}catch(u){c({...d,busy:!1,problem:U(u)})}},a=`${n.collection} by ${n.name}`,$=Number(s.count??0);return o`<div class="tie"><header><h3><${f} text=${n.collection} max=${200} /> <span class="quiet">by <${f}
    text=${n.name} max=${200} />${s.count!==void 0&&": "+$.toLocaleString("en")}</span></h3>
      ${$>0&&o`<button type="button" class="small" aria-expanded=${r!==null} aria-label=${`Show ${a}`}
        onClick=${()=>r===null?l():c(null)}>Show</button>`}</header>
    ${[401,403].includes(s.problem?.status??0)?o`<p class="quiet">You may not read them.</p>`:o`<${R}
      problem=${s.problem} again=${i} />`}
    ${r&&o`<${O} ids label=${a} items=${r.ids} busy=${r.busy} more=${r.next&&l}
        item=${d=>o`<${w} collection=${n.collection} id=${d} short />`} />
      <${R} problem=${r.problem} again=${l} asked />`}</div>`}function ge({doc:e,collection:t,at:n,model:s}){let i=e.root,r=k(()=>i?_(s).filter(c=>c.collection===t).map(c=>({...c,ids:pe(i,c.path)})):[],[i,s]);return r.length===0?null:o`<section aria-label="Refers to"><h2>Refers to</h2>${r.map(c=>o`<div key=${c.name} class="tie">
    <h3><${f} text=${c.name} max=${200} /> <span class="quiet">in <${f} text=${c.to}
      max=${200} />: ${c.ids.length.toLocaleString("en")}</span></h3>
    ${c.ids.length>0&&o`<${O} ids label=${`To ${c.to} by ${c.name}`} items=${c.ids}
      item=${l=>o`<${w} collection=${c.to} id=${l} at=${n} short />`} />`}
  </div>`)}</section>`}function xe({lineage:e}){if(!e)return null;let t=e.copies.filter(n=>Number(n.documents)>0||n.more||n.reason);return o`<section aria-label="Carried by"><h2>Carried by</h2>
    ${t.length===0&&o`<p class="quiet">No document carries anything of this one.</p>`}
    ${t.map(n=>o`<${Le} key=${n.rule} of=${n} />`)}</section>`}function Le({of:e}){let[t,n]=p(!1),s=e.rule.slice(0,e.rule.indexOf(".")),i=Number(e.documents);return o`<div class="tie"><header><h3><code><${f} text=${e.rule} max=${300} /></code><span
    class="quiet">: ${i.toLocaleString("en")}</span></h3>
      ${i>0&&o`<button type="button" class="small" aria-expanded=${t} aria-label=${`Show carriers by ${e.rule}`}
        onClick=${()=>n(!t)}>Show</button>`}</header>
    ${e.reason&&o`<p class="quiet"><${f} text=${e.reason} max=${1e3} /></p>`}
    ${e.more>0&&o`<p class="quiet">${Number(e.more).toLocaleString("en")} more ids were not looked for.</p>`}
    ${t&&o`<${O} ids label=${`Carriers by ${e.rule}`} items=${e.first} item=${r=>o`<${w}
        collection=${s} id=${r} short />`} />
      ${i>e.first.length&&o`<p
        class="quiet">The first ${e.first.length} of ${i.toLocaleString("en")} are listed.</p>`}`}</div>`}function ye({lineage:e,model:t}){let n=(e?.derived??[]).filter(i=>i.state==="no value"),s=e?.unguarded??[];return o`${n.length>0&&o`<section aria-label="Absent values"><h2>Without a value</h2>
      <${O} label="Without a value" items=${n} item=${i=>o`<code><${f} text=${i.path||i.rule} max=${300} /></code> <${I} kind=${L(i,t)} />
        <div class="quiet">${i.hidden?"You may not read the collection that it would come from.":o`<${f}
          text=${i.reason||"No reason is known."} max=${1e3} />`}</div>
        ${(i.sources??[]).slice(0,3).map(r=>o`<${w} collection=${r.collection}
          id=${r.id} /> `)}`} /></section>`}
    ${s.length>0&&o`<section aria-label="Not unique"><h2>Not compared as unique</h2>
      <${O} label="Not compared as unique" items=${s} item=${i=>o`<code><${f}
        text=${i.unique} max=${300} /></code> <div class="quiet"><${f} text=${i.reason} max=${1e3} /></div>`} /></section>`}
    ${e?.more>0&&o`<p class="quiet">${Number(e.more).toLocaleString("en")} more derived values are not listed.</p>`}`}function ke({value:e,parts:t,model:n,onClose:s}){let i=y(null);E(()=>i.current?.focus(),[]);let r=W(n,e.rule);return o`<section aria-label="Origin" class="origin" onKeyDown=${l=>{l.key==="Escape"&&s()}}>
    <h2 tabindex="-1" ref=${i}>Origin of <code><${f} text=${e.path} max=${500} /></code></h2>
    <dl>
      <dt>Kind</dt><dd>${L(e,n)}</dd>
      ${e.state&&o`<dt>State</dt><dd><${f} text=${Me(e.state)} /></dd>`}
      <dt>Rule</dt><dd><code><${f} text=${e.rule} max=${500} /></code>${r&&o`<br /><code class="quiet"><${f}
        text=${Ae(r)} max=${2e3} /></code>`}</dd>
      <dt>Sources</dt><dd><${Ee} value=${e} /></dd>
      ${e.reason&&o`<dt>Reason</dt><dd><${f} text=${e.reason} max=${2e3} /></dd>`}
      <dt>Event</dt><dd><${Ne} event=${e.event} parts=${t} /></dd>
    </dl>
    <button type="button" onClick=${s}>Close</button>
  </section>`}var Me=e=>({frozen:"frozen: the value of the moment when the document began to refer to the source",kept:"kept: the source is deleted, and the value stays"})[e]??e,Ae=e=>Object.entries(e).map(([t,n])=>`${t}: ${typeof n=="string"?n:JSON.stringify(n)}`).join(", ");function Ee({value:e}){if(e.hidden)return"You may not read the collection that it comes from.";let t=e.sources??[];return t.length===0?Number(e.documents)>0?`${J(Number(e.documents))} documents`:"no document":o`<${O} ids label="Sources" items=${t} item=${n=>o`<${w}
    collection=${n.collection} id=${n.id} />${n.rev===void 0&&o` <span class="quiet">is gone</span>`}`} />
    ${Number(e.documents)>t.length&&o`<p
      class="quiet">The first ${t.length} of ${J(Number(e.documents))} documents.</p>`}`}function Ne({event:e,parts:t}){return e?e.seq?o`<a href=${v(t,{at:e.seq})}><${f} text=${e.seq} /></a>${e.time&&o`, <${j}
    text=${e.time} />`}${e.op&&o`, <${f} text=${e.op} />`}${e.collection?o` by <${w} collection=${e.collection} id=${e.id} />`:e.op==="derive"&&""}${e.reason&&o`. <${f} text=${e.reason} max=${1e3} />`}`:o`<${f} text=${e.reason??"not known"} max=${1e3} />`:"further back in the history than is looked"}var I=({kind:e,state:t})=>o`<span class="kind"><${f} text=${e} max=${40} />${t&&t!=="no value"&&o`, <${f} text=${t}
    max=${80} />`}</span>`;var Pe=200;function yt({place:e}){let{parts:t}=e,n=e.params.get("at"),s=Fe(e),{value:i,problem:r,busy:c,again:l}=T(async m=>({...await Ke({...s,signal:m}),at:n}),[n]),a=i?.at===n?i:void 0,$=n===null,d=T(async m=>a?ze(m):void 0,[a]),u=T(async m=>a&&$?Ue(t,a.position,m):void 0,[a,n]),{rows:h,changed:g}=Te(t,$?a?.position??"":"",c,l);return o`<${ie} place=${e} position=${a?.position??""} />
    <${re} place=${e} problem=${r} again=${l}>${r?.status===404&&o`<p>See the <a
      href=${v([t[0]],{at:n})}>collection</a>.</p>`}<//>
    ${!a&&o`<${V} asked=${s} />`}
    ${a&&o`<div class="facts"><p class="quiet">Revision <${f} text=${a.revision} />, written <${j} text=${a.written} />
        ${$&&o`, seen at <code>${a.position}</code>`}.
      ${" "}<a href=${v([...t,"_history"])}>History</a></p>
      ${$&&o`<${ae} collection=${t[0]} id=${t[1]} etag=${a.etag} />`}</div>
    <div class="beside"><div>
      <${De} doc=${a} parts=${t} at=${n} lineage=${$?u.value:void 0} model=${d.value}
        changed=${g} />
      ${$&&o`<${se} rows=${h} />`}
      <${V} asked=${s} />
    </div><div>
      <${R} problem=${u.problem??d.problem} again=${u.problem?u.again:d.again} />
      ${$&&o`<${ye} lineage=${u.value} model=${d.value} />`}
      <${ge} doc=${a} collection=${t[0]} at=${n} model=${d.value} />
      ${$&&o`<${be} parts=${t} position=${a.position} model=${d.value} />
        <${xe} lineage=${u.value} />`}
    </div></div>`}`}function Te([e,t],n,s,i){let r=y("");(r.current===""||n==="")&&(r.current=n);let[c,l]=p(!1),[a,$]=p(new Set),d=oe([e],r.current,u=>u.id===t,u=>{$(new Set(u.flatMap(h=>(h.patch?.elements??[]).map(g=>N(b(g,"path"))??"")).slice(0,Pe))),l(!0)});return A(()=>{!c||s||(l(!1),i())},[c,s]),{rows:d,changed:a}}function je({text:e,name:t}){let n=()=>{let s=URL.createObjectURL(new Blob([e],{type:"application/json"})),i=document.createElement("a");i.href=s,i.download=t,i.click(),setTimeout(()=>URL.revokeObjectURL(s),6e4)};return o`<p>The document has ${e.length.toLocaleString("en")} characters, and is shown as text. <button type="button"
    onClick=${n}>Download</button></p>
    <div class="json whole"><${ne} text=${e} of="the document" first=${1e4} /></div>`}function De({doc:e,parts:t,at:n,lineage:s,model:i,changed:r}){let[c,l]=p(""),a=k(()=>_e(s),[s]),$=k(()=>de(i,t[0]),[i]),d=y(null),u=()=>{d.current?.focus(),l("")},h=(m,x)=>{d.current=x.currentTarget,l(m)},g={marked:m=>a.values.has(m),inside:m=>a.inside.get(m)??0,beside:m=>{let x=a.values.get(m);return x&&o` <${I} kind=${L(x,i)} state=${x.state} /> <button type="button" class="small"
        aria-label=${`Origin of ${C(m)}`} aria-expanded=${c===m}
          onClick=${F=>c===m?u():h(m,F)}>Origin</button>`},under:m=>c===m&&a.values.has(m)&&o`<${ke} key=${m} value=${a.values.get(m)} parts=${t} model=${i} onClose=${u} />`,href:(m,x)=>{let F=$.length?ee(m):[],K=$.find(Oe=>fe(F,Oe.path)),Y=K&&M(x);return K&&Y!==void 0?v([K.to,Y],{at:n}):void 0},changed:r};return o`<section aria-label="Document">${e.root?o`<${ce} root=${e.root} adds=${g} />`:o`<${je} text=${e.text} name=${t.join("-")+".json"} />`}</section>`}function _e(e){let t=new Map,n=new Map;for(let s of e?.derived??[])if(!(!s.path||s.state==="no value")){t.set(s.path,s);for(let i=s.path.lastIndexOf("/");i>0;i=s.path.lastIndexOf("/",i-1)){let r=s.path.slice(0,i);n.set(r,(n.get(r)??0)+1)}}return{values:t,inside:n}}var we=4<<20,Fe=({parts:e,params:t})=>({path:e,query:{at:t.get("at")}});async function Ke(e){let{text:t,headers:n}=await P(e),s=t.length<=we&&new Blob([t]).size<=we;return{text:t,root:s?await X(t,e.signal):void 0,revision:n.get("Fanfold-Revision")??"",etag:n.get("ETag")??"",position:n.get("Fanfold-Position")??"",written:n.get("Last-Modified")??""}}var Ue=(e,t,n)=>S({path:[...e,"_lineage"],headers:{"Fanfold-Min-Position":t},signal:n});async function ze(e){try{return await S({path:["_model"],signal:e})}catch(t){if([401,403,404].includes(t?.status))return null;throw t}}export{yt as DocumentPage,De as DocumentRegion,je as WholeText,Fe as askedOf,Ke as load,Ue as loadLineage,ze as loadModel};
