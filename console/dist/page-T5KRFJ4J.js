import{a as $e,b as de}from"./chunk-3BO7NV3F.js";import{$ as m,Aa as ie,Ca as re,D as T,Da as ae,E as Z,Oa as N,Pa as le,Qa as ce,T as O,V as W,a as b,aa as j,d as K,da as k,ga as v,ha as Q,ja as R,k as F,ka as ee,na as H,p as M,ra as te,s as C,ua as ne,va as oe,xa as se}from"./chunk-2RUBGJ57.js";import{B as X,b as y,c as D,d as V,e as q,f as L,l as r,n as Y,r as P,s as w,u as G}from"./chunk-JD54O3BL.js";function S(e){return Object.entries(e?.collections??{}).flatMap(([t,n])=>Object.entries(n?.relations??{}).map(([o,i])=>({collection:t,name:o,path:me(String(i.path)),to:String(i.to),onDelete:String(i.onDelete??"clear")})))}function ue(e,t){let n=Object.entries(e?.collections?.[t]?.derive??{}).flatMap(([o,i])=>{let{ids:s,recent:a}=i,$=s??a;return typeof $=="string"?[{path:me(o+(s?"[]":"[].id")),to:$.slice(0,$.indexOf("."))}]:[]});return[...S(e).filter(o=>o.collection===t),...n]}var me=e=>e.split(".").flatMap(t=>t.split("[]"));function J(e,t){let n=t.indexOf(".");return e?.collections?.[t.slice(0,n)]?.derive?.[t.slice(n+1)]}var Le=["copy","count","sum","min","max","avg","ids","recent"];function A(e,t){let n=J(t,e.rule),o=e.kind??Le.find(i=>n?.[i]!==void 0)??(n?"value":"derived");return o==="value"?"computed":String(o)}function E(e){if(e?.kind==="number")return e.raw;let t=e?.kind==="string"?JSON.parse(e.raw):"";return t===""?void 0:t}var fe=(e,t)=>e.length===t.length&&t.every((n,o)=>n===""?/^\d+$/.test(e[o]):n===e[o]);function pe(e,t){let n=[e];for(let o of t)n=o===""?n.flatMap(i=>i?.elements??[]):n.map(i=>w(i,o));return[...new Set(n.map(E).filter(o=>o!==void 0))]}function he(e,t){let n=JSON.stringify(t),o=(i,s,a)=>{let $=s.indexOf(""),l=($<0?s:s.slice(0,$)).reduce((u,p)=>u+Ce(p),i);if($<0)return/^-?\d{1,15}$/.test(t)?`(${l} == ${n} || ${l} == ${t})`:`${l} == ${n}`;let c=s.slice($+1);if(c.length===0)return`${n} in ${l}`;let d=o("e"+a,c,a+1);return`${l}.exists(e${a}, ${d})`};return o("doc",e,1)}var Ce=e=>/^[A-Za-z_]\w*$/.test(e)?"."+e:`[${JSON.stringify(e)}]`;var Re=20,z=e=>e.collection+"."+e.name,ge=(e,t,n,o)=>({path:[...e,n.collection],query:{relation:n.name,fields:"id",...o},headers:{"Fanfold-Min-Position":t}});function xe({parts:e,position:t,model:n}){let[o,i]=y({}),[s,a]=y(0),$=S(n).filter(l=>l.to===e[0]);return D(()=>{let l=new AbortController;return(async()=>{for(let c of $){let d=await C({...ge(e,t,c,{count:!0,limit:1}),signal:l.signal}).then(({count:u})=>({count:u}),u=>({problem:l.signal.aborted?void 0:W(u)}));if(l.signal.aborted)return;i(u=>({...u,[z(c)]:d}))}})(),()=>l.abort()},[n,t,s]),$.length===0?null:r`<section aria-label="Referred to by"><h2>Referred to by</h2>
    ${$.map(l=>r`<${Ne} key=${z(l)} parts=${e} position=${t} relation=${l}
      counted=${o[z(l)]??{}} again=${()=>a(s+1)} />`)}</section>`}function Ne({parts:e,position:t,relation:n,counted:o,again:i}){let[s,a]=y(null),$=async()=>{let d=s??{ids:[],busy:!1};a({...d,busy:!0,problem:void 0});try{let u=Y((await M(ge(e,t,n,{limit:Re,cursor:d.next}))).text),p=(w(u,"items")?.elements??[]).map(h=>E(w(h,"id"))??"");a({ids:[...d.ids,...p],next:P(w(u,"next")),busy:!1})}catch(u){a({...d,busy:!1,problem:W(u)})}},l=`${n.collection} by ${n.name}`,c=Number(o.count??0);return r`<div class="tie"><header><h3><${m} text=${n.collection} max=${200} /> <span class="quiet">by <${m}
    text=${n.name} max=${200} />${o.count!==void 0&&": "+c.toLocaleString("en")}</span></h3>
      ${c>0&&r`<button type="button" class="small" aria-expanded=${s!==null} aria-label=${`Show ${l}`}
        onClick=${()=>s===null?$():a(null)}>Show</button>
        <a href=${b([n.collection],{filter:he(n.path,e[1])})}
          aria-label=${`List ${l}`}>List</a>`}</header>
    ${[401,403].includes(o.problem?.status??0)?r`<p class="quiet">You may not read them.</p>`:r`<${N}
      problem=${o.problem} again=${i} />`}
    ${s&&r`<${v} ids label=${l} items=${s.ids} busy=${s.busy} more=${s.next&&$}
        item=${d=>r`<${k} collection=${n.collection} id=${d} short />`} />
      <${N} problem=${s.problem} again=${$} asked />`}</div>`}function ye({doc:e,collection:t,at:n,model:o}){let i=e.root,s=L(()=>i?S(o).filter(a=>a.collection===t).map(a=>({...a,ids:pe(i,a.path)})):[],[i,o]);return s.length===0?null:r`<section aria-label="Refers to"><h2>Refers to</h2>${s.map(a=>r`<div key=${a.name} class="tie">
    <h3><${m} text=${a.name} max=${200} /> <span class="quiet">in <${m} text=${a.to}
      max=${200} />: ${a.ids.length.toLocaleString("en")}</span></h3>
    ${a.ids.length>0&&r`<${v} ids label=${`To ${a.to} by ${a.name}`} items=${a.ids}
      item=${$=>r`<${k} collection=${a.to} id=${$} at=${n} short />`} />`}
  </div>`)}</section>`}function we({lineage:e,at:t}){if(!e)return null;let n=e.copies.filter(o=>Number(o.documents)>0||o.more||o.reason);return r`<section aria-label="Carried by"><h2>Carried by</h2>
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
        class="quiet">The first ${e.first.length} of ${s.toLocaleString("en")} are listed.</p>`}`}</div>`}function ke({lineage:e,model:t,at:n}){let o=(e?.derived??[]).filter(s=>s.state==="no value"),i=e?.unguarded??[];return r`${o.length>0&&r`<section aria-label="Absent values"><h2>Without a value</h2>
      <${v} label="Without a value" items=${o} item=${s=>r`<code><${m} text=${s.path||s.rule} max=${300} /></code> <${I} kind=${A(s,t)} />
        <div class="quiet">${s.hidden?"You may not read the collection that it would come from.":r`<${m}
          text=${s.reason||"No reason is known."} max=${1e3} />`}</div>
        ${(s.sources??[]).slice(0,3).map(a=>r`<${k} collection=${a.collection}
          id=${a.id} at=${n} /> `)}`} /></section>`}
    ${i.length>0&&r`<section aria-label="Not unique"><h2>Not compared as unique</h2>
      <${v} label="Not compared as unique" items=${i} item=${s=>r`<code><${m}
        text=${s.unique} max=${300} /></code> <div class="quiet"><${m} text=${s.reason} max=${1e3} /></div>`} /></section>`}
    ${e?.more>0&&r`<p class="quiet">${Number(e.more).toLocaleString("en")} more derived values are not listed.</p>`}`}function Oe({value:e,parts:t,model:n,position:o,at:i,onClose:s}){let a=q(null);V(()=>a.current?.focus(),[]);let $=J(n,e.rule);return r`<section aria-label="Origin" class="origin" onKeyDown=${c=>{c.key==="Escape"&&s()}}>
    <h2 tabindex="-1" ref=${a}>Origin of <code><${m} text=${e.path} max=${500} /></code></h2>
    <dl>
      <dt>Kind</dt><dd>${A(e,n)}</dd>
      ${e.state&&r`<dt>State</dt><dd><${m} text=${Ee(e.state)} /></dd>`}
      <dt>Rule</dt><dd><code><${m} text=${e.rule} max=${500} /></code>${$&&r`<br /><code class="quiet"><${m}
        text=${De($)} max=${2e3} /></code>`}</dd>
      <dt>Sources</dt><dd><${Pe} value=${e} at=${i} /></dd>
      <${je} value=${e} parts=${t} position=${o} at=${i} />
      ${e.reason&&r`<dt>Reason</dt><dd><${m} text=${e.reason} max=${2e3} /></dd>`}
      <dt>Event</dt><dd><${Me} event=${e.event} parts=${t} /></dd>
    </dl>
    <button type="button" onClick=${s}>Close</button>
  </section>`}var Ee=e=>({frozen:"frozen: the value of the moment when the document began to refer to the source",kept:"kept: the source is deleted, and the value stays"})[e]??e,De=e=>Object.entries(e).map(([t,n])=>`${t}: ${typeof n=="string"?n:JSON.stringify(n)}`).join(", ");function Pe({value:e,at:t}){if(e.hidden)return"You may not read the collection that it comes from.";let n=e.sources??[];return n.length===0?Number(e.documents)>0?`${R(Number(e.documents))} documents`:"no document":r`<${v} ids label="Sources" items=${n} item=${o=>r`<${k}
    collection=${o.collection} id=${o.id} at=${t} />${o.rev===void 0&&r` <span class="quiet">is gone</span>`}`} />
    ${Number(e.documents)>n.length&&r`<p
      class="quiet">The first ${n.length} of ${R(Number(e.documents))} documents.</p>`}`}function Me({event:e,parts:t}){return e?e.seq?r`<a href=${b(t,{at:e.seq})}><${m} text=${e.seq} /></a>${e.time&&r`, <${j} text=${e.time} position=${e.seq} />`}${e.op&&r`, <${m} text=${e.op} />`}${e.collection?r` by <${k} collection=${e.collection} id=${e.id} />`:e.op==="derive"&&""}${e.reason&&r`. <${m} text=${e.reason} max=${1e3} />`}`:r`<${m} text=${e.reason??"not known"} max=${1e3} />`:"further back in the history than is looked"}var I=({kind:e,state:t})=>r`<span class="kind"><${m} text=${e} max=${40} />${t&&t!=="no value"&&r`, <${m} text=${t}
    max=${80} />`}</span>`,Te=8;function je({value:e,parts:t,position:n,at:o}){let{value:i}=O(s=>_e(e,n,o,s),[e,o]);return!i||i.length<2?null:r`<dt>Chain</dt><dd><ol class="chain" aria-label="Chain">
    <li><${be} collection=${t[0]} id=${t[1]} path=${e.path} at=${o} /></li>
    ${i.map(s=>r`<li key=${s.collection+"/"+s.id}><span class="by" title=${s.rule}><span class="unseen">copied by${" "}
        <${m} text=${s.rule} max=${200} /> from</span></span><${be} ...${s} /></li>`)}</ol></dd>`}var be=({collection:e,id:t,path:n,at:o})=>r`<span class="stand"><${k} collection=${e} id=${t} at=${o} />${n&&r`<code class="quiet"><${m} text=${n} max=${80} /></code>`}</span>`;async function _e(e,t,n,o){let i=[];for(let s=e;i.length<Te;){let[a,...$]=s.sources??[];if(!a||$.length>0||Number(s.documents??1)>1||s.kind!=="copy")return i;let l=String(s.sourcePath??"");if(s.state&&(n=s.event?.seq??null),i.push({collection:a.collection,id:a.id,path:l,rule:String(s.rule),at:n}),l===""||s.state&&n===null||(s=(await U([a.collection,a.id],t,o,n).catch(()=>null))?.derived?.find(d=>d.path===l&&d.state!=="no value"),!s))return i}return i}var U=(e,t,n,o)=>C({path:[...e,"_lineage"],query:{at:o},headers:{"Fanfold-Min-Position":t},signal:n});var Ke=200;function xt({place:e}){let{parts:t}=e,n=Ue(e),o=e.params.get("at"),i=O(async x=>({...await Be({...n,signal:x}),at:o}),[o]),{problem:s,busy:a,stale:$,again:l}=i,c=$&&s?void 0:i.value,d=c?c.at:o,u=d===null,p=O(async x=>c?Z(x):void 0,[c]),h=O(async x=>c?U(t,c.position,x,d):void 0,[c,d]),{rows:f,changed:g}=He(t,u&&!$?c?.position??"":"",a,l);return r`<${se} place=${e} position=${$?"":c?.position??""} />
    <${ie} place=${e} problem=${s} again=${l}>${s?.status===404&&r`<p>See its <a href=${b([...t,"_history"])}>history</a>, which a deleted document has, too, or the <a
      href=${b([t[0]],{at:o})}>collection</a>.</p>`}<//>
    ${!c&&s&&r`<${H} asked=${n} />`}
    <${le} of=${i} shape="text">${c&&r`<div class="facts"><p class="quiet">Revision <${m} text=${c.revision} />, written <${j} text=${c.written}
        position=${u?c.position:void 0} />.
      ${" "}<a href=${b([...t,"_history"])}>History</a></p>
      ${u&&r`<${Fe} collection=${t[0]} id=${t[1]} etag=${c.etag} model=${p.value} />`}</div>
    <div class="beside"><div>
      <${ze} doc=${c} parts=${t} at=${d} lineage=${h.value} model=${p.value}
        changed=${g} />
      ${u&&r`<${oe} rows=${f} />`}
      <${H} asked=${n} />
    </div><div>
      <${N} problem=${h.problem??p.problem} again=${h.problem?h.again:p.again} />
      <${ke} lineage=${h.value} model=${p.value} at=${d} />
      <${ye} doc=${c} collection=${t[0]} at=${d} model=${p.value} />
      ${u&&r`<${xe} parts=${t} position=${c.position} model=${p.value} />`}
      <${we} lineage=${h.value} at=${d} />
    </div></div>`}<//>`}function Fe({collection:e,id:t,etag:n,model:o}){let i=te({always:!0,onDone:(l,c)=>{let d=b([e]),u=(c?.writes.length??1)-1;F({href:d,what:`${e}/${t} is deleted${u>0?`, and ${u} more written`:""}`,written:l}),K(d)}}),{state:s}=i,a=({deleted:l,changed:c,position:d})=>{let u=b([e]),p=`${e}/${t} is deleted, and ${R(l+c-1)} more written, step by step`;F({href:u,what:p,written:{position:d,derived:void 0,visible:!0,took:0,location:""}}),K(u)},$=()=>i.begin({method:"DELETE",path:[e,t],headers:{"If-Match":n}});return r`<p class="actions">
      ${T(e,"update")&&r`<a class="button" href=${b([e,t],{edit:""})}>Edit</a>`}
      ${T(e,"create")&&r`<a class="button" href=${b([e],{new:"",from:t})}>Clone</a>`}
      ${T(e,"delete")&&r`<button type="button" class="loss" onClick=${$}>Delete</button>`}
      <span role="status" class="quiet">${s.phase==="looking"&&"Looking at what it changes"}</span></p>
    <${re} title="What this delete changes" go="Delete now" keep="Keep it" writing=${i} careful loses>
      <${We} collection=${e} id=${t} model=${o} /><//>
    ${s.phase==="idle"&&(s.problem?.of.steps?r`<${ce} collection=${e} id=${t} problem=${s.problem} onDone=${a} onClose=${i.stop} />`:r`<${ae} state=${s} />`)}`}var ve={clear:"their reference stays, and what they copied goes",keep:"their reference and what they copied stay"};function We({collection:e,id:t,model:n}){let{value:o}=O(async i=>{let s=S(n).filter(l=>l.to===e&&ve[l.onDelete]),a=l=>({relation:l,fields:"id",count:!0,limit:1}),$=s.map(l=>C({path:[e,t,l.collection],query:a(l.name),signal:i}).then(({count:c})=>({...l,count:Number(c)}),()=>({...l,count:0})));return(await Promise.all($)).filter(l=>l.count>0)},[n]);return o?.length?r`<ul aria-label="Refer to it" class="documents">${o.map(i=>r`<li key=${i.collection+" "+i.name}>${ee(i.count,"document")} of <${m} text=${i.collection} max=${100} />${" "}
      ${i.count===1?"refers":"refer"} to it by <${m} text=${i.name} max=${100} />: ${ve[i.onDelete]}.</li>`)}</ul>`:null}function He([e,t],n,o,i){let s=q("");(s.current===""||n==="")&&(s.current=n);let[a,$]=y(!1),[l,c]=y(new Set),d=ne([e],s.current,u=>u.id===t,u=>{c(new Set(u.flatMap(p=>(p.patch?.elements??[]).map(h=>P(w(h,"path"))??"")).slice(0,Ke))),$(!0)});return D(()=>{!a||o||($(!1),i())},[a,o]),{rows:d,changed:l}}function Je({text:e,name:t}){let n=()=>{let o=URL.createObjectURL(new Blob([e],{type:"application/json"})),i=document.createElement("a");i.href=o,i.download=t,i.click(),setTimeout(()=>URL.revokeObjectURL(o),6e4)};return r`<p>The document has ${e.length.toLocaleString("en")} characters, and is shown as text. <button type="button"
    onClick=${n}>Download</button></p>
    <div class="json whole"><${Q} text=${e} of="the document" first=${1e4} /></div>`}function ze({doc:e,parts:t,at:n,lineage:o,model:i,changed:s}){let[a,$]=y(""),l=L(()=>Ie(o),[o]),c=L(()=>ue(i,t[0]),[i]),d=q(null),u=()=>{d.current?.focus(),$("")},p=(f,g)=>{d.current=g.currentTarget,$(f)},h={marked:f=>l.values.has(f),inside:f=>l.inside.get(f)??0,beside:f=>{let g=l.values.get(f);return g&&r` <${I} kind=${A(g,i)} state=${g.state} /> <button type="button" class="small"
        aria-label=${`Origin of ${de(f)}`} aria-expanded=${a===f}
          onClick=${x=>a===f?u():p(f,x)}>Origin</button>`},under:f=>a===f&&l.values.has(f)&&r`<${Oe} key=${f} value=${l.values.get(f)} parts=${t} model=${i}
        position=${e.position} at=${n} onClose=${u} />`,href:(f,g)=>{let x=c.length?X(f):[],_=c.find(qe=>fe(x,qe.path)),B=_&&E(g);return _&&B!==void 0?b([_.to,B],{at:n}):void 0},changed:s};return r`<section aria-label="Document">${e.root?r`<${$e} root=${e.root} adds=${h} />`:r`<${Je} text=${e.text} name=${t.join("-")+".json"} />`}</section>`}function Ie(e){let t=new Map,n=new Map;for(let o of e?.derived??[])if(!(!o.path||o.state==="no value")){t.set(o.path,o);for(let i=o.path.lastIndexOf("/");i>0;i=o.path.lastIndexOf("/",i-1)){let s=o.path.slice(0,i);n.set(s,(n.get(s)??0)+1)}}return{values:t,inside:n}}var Se=4<<20,Ue=({parts:e,params:t})=>({path:e,query:{at:t.get("at")}});async function Be(e){let{text:t,headers:n}=await M(e),o=t.length<=Se&&new Blob([t]).size<=Se;return{text:t,root:o?await G(t,e.signal):void 0,revision:n.get("Fanfold-Revision")??"",etag:n.get("ETag")??"",position:n.get("Fanfold-Position")??"",written:n.get("Last-Modified")??""}}export{xt as DocumentPage,ze as DocumentRegion,Fe as EditActions,Je as WholeText,Ue as askedOf,Be as load};
