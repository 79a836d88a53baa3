import{a as we}from"./chunk-TOG4YJOS.js";import{$,Ea as ge,G as le,Ga as xe,Ha as be,Oa as v,Pa as ye,U as ce,V as A,X as de,Y as ue,a as k,ca as me,d as se,da as Y,e as ae,f as ie,ia as $e,ja as g,ka as he,m as F,n as N,na as fe,p as C,s as B,x as X,z as G}from"./chunk-ZFDKRRFV.js";import{H as pe,N as D,b as x,c as y,e as w,f as q,l as i,n as oe,t as re}from"./chunk-JD54O3BL.js";var H={path:["_model"]},Qe=5;async function et(e,t){let{status:n,text:o,headers:r}=await C({...H,headers:t?{"If-None-Match":t}:{},signal:e});if(n!==304)return{model:re(oe(o)),etag:r.get("ETag")??"",position:r.get("Fanfold-Position")??""}}async function ve(e){let{text:t,headers:n}=await C({...H,headers:{Accept:"application/yaml"},signal:e});return{text:t,etag:n.get("ETag")??""}}async function tt(e){let t=new Map,n;for(let o=0;o<Qe;o++){let{collections:r,next:s}=await B({path:[],query:{limit:1e3,cursor:n},signal:e});for(let{name:a,documents:l}of r)t.set(a,l);if(!s)break;n=s}return t}async function nt(e){let{relations:t}=await B({path:["_model","_targets"],signal:e});return new Map(t.map(n=>[n.relation,n]))}var ot=e=>B({path:["_status"],signal:e});async function rt(e){try{return await C({path:["_model","_pending"],signal:e}),!0}catch(t){if(t instanceof N&&t.status===404)return!1;throw t}}var st=5e3,at=1e3,it=1e3,lt=40,ct={etag:"",position:"",counts:new Map,largest:new Map};function ke(){let[e,t]=x(ct),[n,o]=x(void 0),r=w(e),s=w(null),a=d=>{r.current={...r.current,...d},t(r.current)},l=async()=>{s.current?.abort();let d=new AbortController;s.current=d;try{await dt(r.current,a,d.signal),d.signal.aborted||o(void 0)}catch(h){d.signal.aborted||o(A(h))}finally{s.current===d&&(s.current=null)}};y(()=>{let d=()=>{!document.hidden&&!s.current&&l()},h=setInterval(d,e.pending?at:st);return document.addEventListener("visibilitychange",d),()=>{clearInterval(h),document.removeEventListener("visibilitychange",d)}},[e.pending]);let c=X.value;y(()=>(l(),()=>s.current?.abort()),[c]);let u=w(void 0);y(()=>()=>clearTimeout(u.current),[]);let p=e.model?Object.keys(e.model.collections??{}).slice(0,lt):[];return ue(p,e.position,()=>{u.current??=setTimeout(()=>{u.current=void 0,l()},it)}),{shown:e,problem:n,again:l,cancel:()=>{s.current?.abort(),o(ce())}}}async function dt(e,t,n){let o=await et(n,e.etag);n.throwIfAborted(),o&&t(o);let[r,s,a]=await Promise.all([tt(n),nt(n),G("monitor")?ot(n):void 0]),l=await ut(e.pending,a,n);n.throwIfAborted(),t({counts:r,largest:s,status:a,pending:l})}async function ut(e,t,n){return e||(t?t.preparing!==void 0:X.value!==null&&e===void 0)?rt(n):t?!1:e}var pt={derive:"rule",relations:"relation",indexes:"index",unique:"unique in",schema:"schema of",access:"access to",trigger:"trigger of",pages:"pages of",release:"released path of"},mt={"fanout.limit":"the limit of derived changes (fanout.limit)","embedded.limit":"the limit of an embedded document (embedded.limit)",open:"whether undeclared collections are open (open)"},Se={added:"New",removed:"Gone",changed:"Changed"};function Z({path:e}){if(e==="")return"more declarations";let[t,n,o,...r]=e.split(".");if(t==="functions"&&n!==void 0)return(o===void 0?"":o+" of ")+"function "+n;if(t!=="collections"||n===void 0)return mt[e]??e;if(o===void 0)return"collection "+n;let s=r.join("."),a=o==="relations"?/^(.+)\.(onDelete|strict)$/.exec(s):null;return a?`${a[2]} of relation ${n}.${a[1]}`:`${pt[o]??o} ${n}${s&&"."+s}`}function J({path:e,change:t,detail:n=""}){let[o,r]=n.split(", was ",2);return t==="changed"&&e.includes(".derive.")&&o===r?"it keeps no values any more that nobody can compute again":n}var Me=e=>e.filter(({path:t})=>/^collections\.[^.]+\.access$/.test(t)).flatMap(({path:t,detail:n=""})=>{let o=t.split(".")[1];return(n.startsWith(o+": ")?n.slice(o.length+2):n).split("; ").filter(s=>s!=="").map(s=>({opens:!/ may not /.test(s),collection:o,text:s}))});function Ae(e){let t=e.filter(o=>o.removes),n=t.filter(o=>o.path!=="").length;return{removals:t,count:n<t.length?`${n} and more`:String(t.length)}}var $t=["count","sum","min","avg","ids"],z=e=>Object.entries(e??{});function Ee(e){let t=z(e?.collections),n=t.flatMap(([s,a])=>z(a?.relations).map(([l,c])=>({key:s+"."+l,collection:s,name:l,path:String(c.path),to:String(c.to),onDelete:String(c.onDelete??"clear"),strict:c.strict===!0,rules:[]}))),o=new Map(n.map(s=>[s.key,s])),r=t.flatMap(([s,a])=>z(a?.derive).map(([l,c])=>ft(s,l,c,o)));for(let s of r)o.get(s.by)?.rules.push(s);return{relations:n,rules:r,functions:ht(e,t)}}var ht=(e,t)=>z(e?.functions).map(([n,o])=>({name:n,call:o.call??["write"],reads:o.reads??[],triggers:t.filter(([,r])=>r?.trigger===n).map(([r])=>r),authority:o.authority==="model",source:String(o.source)}));function ft(e,t,n,o){let r=e+"."+t;if(n.copy!==void 0){let u=e+"."+n.copy;return{name:r,collection:e,path:t,kind:n.frozen?"frozen copy":"copy",from:o.get(u)?.to??"",by:u,says:String(n.value)}}let s=n.recent!==void 0?"recent":$t.find(u=>n[u]!==void 0)??(n.max!==void 0?"max":"");if(s==="")return{name:r,collection:e,path:t,kind:"computed",from:e,by:"",says:String(n.value)};let a=String(n[s]),l=typeof n.orderBy=="object"?"_meta."+n.orderBy?._meta:n.orderBy,c=[n.of,n.fields?.join(", "),l&&"order by "+l,n.where&&"where "+n.where].filter(Boolean).join("; ");return a.includes("[]")?{name:r,collection:e,path:t,kind:s,from:e,by:"",says:[a,c].filter(Boolean).join("; ")}:{name:r,collection:e,path:t,kind:s,from:a.slice(0,a.indexOf(".")),by:a,says:c}}function Oe(e){if(!e)return;let t=new Map((e.ruleErrors??[]).map(o=>[o.rule,o])),n=new Map((e.omitted??[]).map(o=>[o.rule,o.documents]));return o=>({failed:t.get(o),withoutRoom:n.get(o)})}var V=({failed:e,withoutRoom:t})=>e!==void 0||t!==void 0,Te=50;function Pe({differences:e}){let[t,n]=x(!1),o=Me(e),r=t?e:e.slice(0,Te);return i`${e.length>0&&i`<h4>Differences</h4><ul aria-label="Differences" class="documents">${r.map(s=>i`<li>
      <strong>${Se[s.change]??s.change}</strong>: <${$} text=${Z(s)} max=${200} />${s.detail&&i` <span
        class="detail"><${$} text=${J(s)} max=${500} /></span>`}</li>`)}</ul>`}
    ${r.length<e.length&&i`<button type="button" class="small"
      onClick=${()=>n(!0)}>Show ${e.length-Te} more differences</button>`}
    ${o.length>0&&i`<h4>Access</h4><ul aria-label="Access" class="documents">${o.map(s=>i`<li>
      <strong>${s.opens?"Opens":"Closes"}</strong> <${$} text=${s.collection} max=${100} />: <${$} text=${s.text}
        max=${300} /></li>`)}</ul>`}`}function Ce({differences:e,sure:t,onSure:n}){let{removals:o,count:r}=Ae(e);return o.length===0?null:i`<div class="removals"><label class="box"><input type="checkbox" checked=${t}
    onChange=${s=>n(s.target.checked)} />
    ${" "}Remove ${r==="1"?"1 rule or guard":`${r} rules and guards`}</label>
    <ul aria-label="What goes" class="documents">${o.map(s=>i`<li><${$} text=${Z(s)} max=${200} />
      ${s.change==="changed"&&i` <span class="quiet"><${$} text=${J(s)} max=${200} /></span>`}</li>`)}</ul></div>`}var gt={waiting:"Waiting",copying:"Copying pages",computing:"Computing documents",following:"Following what was written meanwhile",ready:"Ready to apply",failed:"It failed"};function Re({pending:e,status:t,mayEdit:n,onChanged:o}){let r=w(0),[s,a]=x(void 0),l=t?.preparing;l&&(r.current=l.model);let c=!e&&r.current>0&&t?.withdrawn?.model===r.current?t.withdrawn.reason:"",u=async()=>{try{await C({method:"DELETE",path:["_model","_pending"]}),a(void 0)}catch(p){a(A(p))}o()};return i`<div role="status">${c&&i`<p>The model that was being prepared does not come: <${$} text=${c} max=${500} />
    </p>`}</div>
    ${e&&i`<section aria-label="Preparation" class="origin"><h2>A model is being prepared</h2>
      ${l?i`<p>${gt[l.phase]??l.phase}${l.total>0&&i`: ${g(l.done)} of ${g(l.total)} <progress
            aria-label="Preparation" max=${l.total} value=${l.done}></progress>`}</p>
        <p class="quiet">${g(l.changes)} documents change, as far as is
          known.${l.waitingFor?.length>0&&i` It waits for <${$} text=${l.waitingFor.join(", ")} max=${300} />.`}</p>
        ${l.error&&i`<p class="wrong"><${$} text=${l.error} max=${1e3} /></p>`}`:i`<p class="quiet">It applies once all nodes have prepared it.</p>`}
      ${n&&i`<p class="actions"><button type="button" onClick=${u}>Withdraw</button></p>`}
    </section>`}
    <${v} problem=${s} />`}function Ie({preview:e,isSame:t,sure:n,onSure:o}){let{differences:r,rules:s,unique:a=[],indexes:l=[],changes:c,problems:u=[],misfits:p=[],kept:m=[],warnings:d=[]}=e;return i`<section aria-label="What this model changes" class="model-preview">
    <h3>What this model changes</h3>
    <p class="sentence">${r.length===0?"Nothing: the model that applies says the same.":`${te(r.length,"difference")}; ${te(c,"document")} of other values`}</p>
    ${u.length>0&&i`<div role="alert" class="problem"><strong>It cannot be applied</strong><ul
      aria-label="What stands in its way">${u.map(h=>i`<${Le} of=${h} />`)}</ul></div>`}
    <${Ce} differences=${r} sure=${n} onSure=${o} />
    <${kt} misfits=${p} />
    ${d.length>0&&i`<h4>Warnings</h4><ul aria-label="Warnings" class="documents">
      ${d.slice(0,100).map(h=>i`<${Le} of=${h} />`)}</ul>`}
    <${Pe} differences=${r} />
    <${yt} rules=${s??[]} unique=${a} />
    <${De} indexes=${l} />
    <${bt} kept=${m} />
  </section>`}var te=(e,t)=>`${g(e)} ${t}${e===1?"":"s"}`,Le=({of:{path:e,detail:t}})=>i`<li>${e&&i`<code><${$} text=${e} max=${200} /></code>: `}<${$} text=${t} max=${1e3} /></li>`,xt={lost:"are lost for good",reserved:"stay stored, and do not show",restored:"show again"};function bt({kept:e}){return e.length===0?null:i`<h4>Values that nobody can compute again</h4><ul aria-label="Values that nobody can compute again" class="documents">${e.slice(0,100).map(t=>i`<li>
    ${te(t.values,t.kind+" value")} of <code><${$} text=${t.rule} max=${200} />
      </code> ${xt[t.outcome]??t.outcome}</li>`)}</ul>`}var Q=200;function yt({rules:e,unique:t}){let n=[...e.filter(o=>o.change!=="same"||o.documents>0).map(o=>({...o,name:o.rule})),...t.filter(o=>o.change!=="same").map(o=>({...o,name:`${o.collection} unique ${o.unique}`,documents:void 0,hides:void 0}))];return n.length===0?null:i`<h4>By rule</h4><div class="scroll"><table aria-label="By rule" class="dense">
    <thead><tr><th scope="col">Rule</th><th scope="col">Change</th><th scope="col" class="number">Documents</th><th
      scope="col">Without a value</th></tr></thead>
    <tbody>${n.slice(0,Q).map(o=>i`<tr key=${o.name}>
      <td><code><${$} text=${o.name} max=${200} /></code>${o.hides&&o.hides.length>0&&i`<div
        class="quiet">hides a member of <${U} document=${o.hides[0]} /></div>`}</td>
      <td>${o.change}</td>
      <td class="number">${o.documents!==void 0&&g(o.documents)}</td>
      <td>${(o.evaluations??[]).map(r=>i`<${wt} key=${r.part} of=${r} />`)}</td></tr>`)}</tbody>
  </table></div>${n.length>Q&&i`<p class="quiet">and ${g(n.length-Q)} more</p>`}`}var wt=({of:{part:e,evaluated:t,noValue:n,document:o,reason:r}})=>i`<div><${$} text=${e} max=${60} />: ${n===0?i`<span class="quiet">none of ${g(t)}</span>`:i`<strong class=${n===t?"wrong":void 0}>
        ${n===t?`all ${g(t)}`:`${g(n)} of ${g(t)}`}</strong>
          ${o&&i`, as <${U} document=${o} />`}
    ${r&&i` <span class="quiet"><${$} text=${r} max=${300} /></span>`}`}</div>`,vt=5;function kt({misfits:e}){return e.length===0?null:i`<div role="alert" class="problem"><strong>Documents do not fit the schema</strong>
    <ul aria-label="Documents that do not fit" class="documents">${e.flatMap(t=>t.first.slice(0,vt).map(n=>i`<li key=${n.document}><${U} document=${n.document} />:
      <${$} text=${n.problems.map(o=>(o.path+" "+o.detail).trim()).join("; ")} max=${300} /></li>`))}</ul>
    <p>${e.map(t=>`${g(t.documents)} in ${t.collection}`).join(", ")}. Mend them, or apply the model by <code>fanfold
      model apply --allow-misfits</code>.</p></div>`}var ee=100;function qe({problem:e,text:t,box:n}){if(!e||e.status===412)return null;let o=Array.isArray(e.of.problems)?e.of.problems:[],r=o.length===0&&e.of.line?[{...e.of,path:""}]:o;return i`<${v} problem=${ge(e)}>
    ${r.length>0&&i`<ul class="mistakes" aria-label="Mistakes">${r.slice(0,ee).map(s=>i`<li><${St} of=${s} text=${t} box=${n} />
      ${s.path&&i`<code><${$} text=${String(s.path)} max=${200} /></code> `}<${$} text=${String(s.detail??"")}
        max=${1e3} /></li>`)}
      ${r.length>ee&&i`<li class="quiet">and ${r.length-ee} more</li>`}</ul>`}<//>`}function St({of:{line:e,column:t},text:n,box:o}){return e?i`<button type="button" class="plain" onClick=${()=>{if(!o.current)return;let s=pe(n,e,t??1),a=n.indexOf(`
`,s);o.current.select(s,a<0?n.length:a)}}>line ${e}, column ${t??1}</button>: `:null}function Fe({onApplied:e,onStale:t}){let[n,o]=x({phase:"idle"}),r=w(new AbortController);y(()=>()=>r.current.abort(),[]);let s=async(a,{text:l,etag:c,preview:u},p)=>{r.current.abort();let m=new AbortController;r.current=m;let d=a==="applying"?{text:l,etag:c,preview:u}:void 0;o({phase:a,previewed:d});try{let[h,f]=a==="merging"?["PATCH","application/merge-patch+json"]:["PUT","application/yaml"],b={method:h,path:["_model"],query:d?{}:{dryRun:!0},headers:{"Content-Type":f,"If-Match":c},body:l},R=O=>o(T=>m.signal.aborted?T:{...T,work:O}),S=await de(b,{signal:m.signal,onWork:R,ends:!d});m.signal.aborted||p(S)}catch(h){if(m.signal.aborted)return;let f=A(h);o({phase:"idle",problem:f,text:l,previewed:f.status===412?void 0:d}),f.status===412&&t()}};return{state:n,preview:(a,l)=>s("previewing",{text:a,etag:l,preview:null},({body:c})=>o({phase:"idle",previewed:{text:a,etag:l,preview:c}})),merge:(a,l,c)=>s("merging",{text:a,etag:l,preview:null},({body:u})=>{o({phase:"idle",previewed:{text:u.merged,etag:l,preview:u}}),c(u.merged)}),apply:()=>n.previewed&&s("applying",n.previewed,({body:a})=>{o({phase:"idle",applied:a??{}}),n.previewed&&e(n.previewed.text)}),stop:()=>{r.current.abort(),o({phase:"idle"})},forget:()=>o(a=>a.phase==="idle"&&(a.previewed||a.problem)?{phase:"idle"}:a)}}function je(e){let t=Mt(e),{box:n,base:o,theirs:r,problem:s,again:a,takeTheirs:l,against:c,change:u,text:p,typed:m,setTyped:d,suggested:h,drafted:f}=t,{state:b,preview:R,apply:S,stop:O,forget:T}=u,[L,P]=x(!1);if(y(()=>P(!1),[b.previewed]),!o)return i`<${v} problem=${s} again=${a} asked />`;let I=b.phase!=="idle",{previewed:E}=b,M=E!==void 0&&E.text===m,ne=()=>{I||R(p(),c())},Je=()=>{l(),T()};return i`<section aria-label="Editor" class="model-editor"><h2>Edit</h2>
    ${h.note}${e.isDrafted&&f.current!==null&&i`<p>The proposal stands in the text.</p>`}
    <${we} box=${n} label="Model" language="yaml" initial=${o.text} rows=${Math.min(30,o.text.split(`
`,40).length+1)}
      readOnly=${b.phase==="applying"||b.phase==="merging"} wrong=${b.problem&&b.text===m}
      onInput=${()=>d(p())} onSave=${ne} onReady=${t.setReady} completeText=${qt} />
    ${r&&i`<div role="alert" class="problem"><strong>Changed meanwhile</strong>
      <p>Another model applies than the one that this text was made from. A preview compares with the model of now: what only that one has
        is told as gone.</p>
      <button type="button" onClick=${Je}>Take theirs</button></div>`}
    <${v} problem=${s} again=${a} asked />
    <${qe} problem=${b.problem} text=${b.text??""} box=${n} />
    <p class="actions"><button type="button" class=${M?"":"main"} aria-disabled=${I?"true":void 0}
      onClick=${ne}>Preview</button>
      <button type="button" class=${M?"main":""} disabled=${!M||I||!At(E.preview,L)}
        onClick=${S}>Apply</button>
      ${(b.phase==="previewing"||b.phase==="merging")&&i`<button type="button" onClick=${O}>Stop</button>`}
      <span role="status" class="quiet">${Et(b,m,e.pending)}</span></p>
    ${E&&i`<${Ie} preview=${E.preview} isSame=${M} sure=${L} onSure=${P} />`}
  </section>`}function Mt({etag:e,suggest:t,isDrafted:n,onChanged:o}){let r=w(null),[s,a]=x(""),[l,c]=x(!1),u=()=>r.current?.text()??"",{base:p,theirs:m,problem:d,again:h,takeTheirs:f,applied:b,against:R}=We(e,r),S=Fe({onApplied:P=>{b(P),(t!==null||n)&&ae(k(["_model"])),o()},onStale:o}),O=Ot(t,l?p:null,S.state,(P,I,E)=>S.merge(P,I,M=>{r.current&&(E(M),r.current.put(M),a(M),r.current.select(0,0))})),T=Pt(n,l?p:null,r,a);y(S.forget,[m]),y(()=>a(u()),[p,l]);let L=w("");return L.current=p?.text??"",y(()=>ie(()=>r.current!==null&&![L.current,O.put.current.text,T.current].includes(u())),[]),{setReady:()=>c(!0),box:r,base:p,theirs:m,problem:d,again:h,takeTheirs:f,against:R,change:S,text:u,typed:s,setTyped:a,suggested:O,drafted:T}}var At=(e,t)=>!e.problems?.length&&!e.misfits?.length&&e.differences.length>0&&(t||!e.differences.some(n=>n.removes)),Tt={merging:"Looking at what the suggestion changes",previewing:"Looking at what it changes",applying:"Applying it"};function Et({phase:e,work:t,applied:n,previewed:o},r,s){return e!=="idle"?Tt[e]+(t&&t.total>0?`: ${t.phase}, ${g(t.done)} of ${g(t.total)}`:""):n?.applied?`It applies since ${n.position}: ${g(n.values)} values on ${g(n.documents)} documents changed.`:n&&s?"It is being prepared, and applies then.":o&&o.text!==r?"The text is another one than was previewed.":s&&o?"Another model is being prepared. Withdraw it, or wait for it.":""}function Ot(e,t,n,o){let r=w({patch:null,etag:""}),s=w({patch:null,text:""}),a=e!==null&&e.length>be,l=n.problem?.status===412&&n.text===e;return y(()=>{!t||e===null||a||r.current.patch===e&&!(l&&r.current.etag!==t.etag)||(r.current={patch:e,etag:t.etag},o(e,t.etag,c=>{s.current={patch:e,text:c}}))},[t,e,l]),{note:e===null?null:Ct(e,a,s.current.patch===e,r.current.patch===e&&n.phase!=="merging"),put:s}}function Pt(e,t,n,o){let r=w(null);return y(()=>{!e||!t||r.current!==null||F.value===null||!n.current||(r.current=F.value,n.current.put(F.value),o(F.value),n.current.select(0,0))},[e,t]),r}function Ct(e,t,n,o){return t?i`<p>The suggestion is longer than a place may be.</p>`:n?i`<p>The suggestion stands in the text.</p>`:o&&i`<p>The suggestion could not be put into the text. This is it, as a merge patch:</p><pre aria-label="Suggestion"><${$}
      text=${e} /></pre>`}var Rt={"":"collections functions access fanout open",collection:"relations derive schema unique indexes checks defaults trigger access private sequences release pages",relation:"path to onDelete strict",rule:"copy value where count sum min max avg ids recent limit frozen of orderBy fields takeOver"},Lt={onDelete:"clear keep unlink cascade restrict",strict:"true false",frozen:"true false",open:"true false"},It=/^(?:to|copy|count|sum|min|max|avg|ids|recent)$/;async function qt(e,t){let n=e.slice(e.lastIndexOf(`
`)+1),[o]=/[\w-]*$/.exec(n)??[""],r=e.length-o.length,[,s=""]=/([\w-]+):\s+[\w-]*$/.exec(n)??[],a=Object.values(Rt).join(" ").split(" "),l=new Set([...t.matchAll(/^ +([A-Za-z][\w-]*):/gm)].map(([,u])=>u).filter(u=>!a.includes(u))),c=Lt[s]?.split(" ")??(It.test(s)?[...l]:s===""?a:[]);return{from:r,choices:[...new Set(c)].map(u=>({label:u}))}}function Ge({place:e,model:t,declared:n,counts:o,largest:r,found:s}){let a=q(()=>Object.keys(t.collections??{}),[t]),l=e.params.get("collection")??"",c=a.length>j?a.includes(l)?l:Nt(a,n.relations):"",{names:u,left:p}=_t(a,n.relations,o,c),m=Bt(u,n,o,r,s),{layout:d,failed:h}=Ft(m,o.size>0&&a.length>0);return a.length===0?null:i`<div role="group" aria-label="Model graph" class="graph">
    <h2>Graph</h2>
    ${c!==""&&i`<${Dt} place=${e} all=${a} chosen=${c} left=${p} />`}
    ${h&&i`<${v}
      problem=${new N(0,{title:"The graph cannot be drawn",detail:"The tables have the same."})} />`}
    <div class="scroll">${d&&i`<svg width=${d.width} height=${d.height} viewBox=${`0 0 ${d.width} ${d.height}`}>
      ${m.edges.map(f=>d.edges.has(f.relation.key)&&i`<${jt} key=${f.relation.key} edge=${f}
        place=${d.edges.get(f.relation.key)} />`)}
      ${m.nodes.map(f=>d.nodes.has(f.name)&&i`<${Wt} key=${f.name} node=${f}
        place=${d.nodes.get(f.name)} chosen=${f.name===c} />`)}
    </svg>`}</div>
    <p class="quiet">An arrow leads where values go, and has the number of its rules; a dashed line has none. A triangle marks what fails:
      an error, no room, or no value
      anywhere. A double line is hot: ${Ve.toLocaleString("en")} documents or more take their values from one, to which it leads.</p>
  </div>`}function Ft(e,t){let[n,o]=x({}),r=JSON.stringify([e.nodes.map(s=>[s.name,s.size]),e.edges.map(s=>[s.relation.key,s.relation.to,s.relation.rules.length,s.load>0,s.failing>0])]);return y(()=>{if(!t)return;let s=!1,l=setTimeout(async()=>{try{let c=await import("./dagre-LG7YM7WV.js");if(s)return;let u=performance.now(),p=Gt(c,e);performance.measure("model graph",{start:u}),o({layout:p})}catch(c){console.warn(c),s||o({failed:!0})}});return()=>{s=!0,clearTimeout(l)}},[r,t]),n}function Dt({place:e,all:t,chosen:n,left:o}){return i`<p class="actions"><label>Around <select value=${n} onChange=${s=>{let a=new URLSearchParams(e.params);a.set("collection",s.target.value),se(k(e.parts,a))}}>${t.map(s=>i`<option key=${s}
    value=${s}><${$} text=${s} max=${100} /></option>`)}</select></label>
    <span class="quiet">with its neighbours, ${j-1} at most,
      of ${t.length.toLocaleString("en")} collections${o>0&&`; ${o.toLocaleString("en")} more have no place`}</span></p>`}var He=e=>D(e.length>K?e.slice(0,K)+"…":e);function jt({edge:e,place:{x:t,y:n,points:o}}){let{relation:r,down:s,up:a,failing:l,load:c,largest:u}=e,p=Ht(o),m=o.length-1,d=Ke({...e,relation:{...r,name:He(r.name)}}),h=u?.id!==void 0&&`${Xe(u)} ${u.documents===1?"refers":"refer"} to ${r.to}/${u.id}`,f=[c>0&&d,`${r.key} to ${r.to}`,c===0&&Ue(r),l>0&&`${l} failing`,h].filter(Boolean).join(", "),b=c>0&&u?.id!==void 0?{href:k([r.to,u.id])}:{role:"img"};return i`<${b.href?"a":"g"} ...${b} aria-label=${D(f)}
    class=${"edge"+(r.rules.length===0?" bare":"")+(l>0?" failing":"")+(c>0?" hot":"")}>
    ${h&&i`<title>${D(h)}</title>`}<path class="line" d=${p} />${c>0&&i`<path class="core" d=${p} />`}
    ${s&&i`<path class="head" d=${Be(o[m],o[m-1])} />`}
    ${a&&i`<path class="head" d=${Be(o[0],o[1])} />`}
    <text class="label" x=${t+(l>0?8:0)} y=${n+4} text-anchor="middle">${d}</text>
    ${l>0&&i`<${ze} x=${t-d.length*3.3-2} y=${n} />`}
  <//>`}var ze=({x:e,y:t})=>i`<path class="warning" d=${`M${e},${t-8} l8,14 h-16 z`} /><text class="warning-sign" x=${e} y=${t+5}
    text-anchor="middle">!</text>`;function Wt({node:{name:e,documents:t,failing:n},place:{x:o,y:r,width:s,height:a},chosen:l}){let c=he(t,"document"),u=`${e}, ${c}`+(n>0?`, ${n} failing`:"");return i`<a href=${k([e])} aria-label=${D(u)}
    class=${"node"+(n>0?" failing":"")+(l?" chosen":"")}>
    <rect x=${o-s/2} y=${r-a/2} width=${s} height=${a} rx="7" />
    <text class="name" x=${o} y=${r-3} text-anchor="middle">${He(e)}</text>${" "}
    <text class="count" x=${o} y=${r+14} text-anchor="middle">${c}</text>
    ${n>0&&i`<${ze} x=${o+s/2-12} y=${r-a/2+12} />`}
  </a>`}var j=40,Ve=1e3;function _t(e,t,n,o){if(e.length<=j)return{names:e,left:0};let r=new Set(t.filter(l=>l.collection===o||l.to===o).flatMap(l=>[l.collection,l.to]));r.delete(o);let s=l=>n.get(l)??0,a=[...r].sort((l,c)=>s(c)-s(l)||(l<c?-1:1));return{names:[o,...a.slice(0,j-1)],left:Math.max(0,a.length-j+1)}}function Nt(e,t){let n=new Map;for(let o of t)for(let r of[o.collection,o.to])n.set(r,(n.get(r)??0)+1);return e.reduce((o,r)=>(n.get(r)??0)>(n.get(o)??0)?r:o,e[0])}function Bt(e,{relations:t,rules:n},o,r,s){let a=new Set(e),l=p=>s?p.filter(m=>V(s(m.name))).length:0,c=e.map(p=>{let m=o.get(p)??0;return{name:p,documents:m,size:Math.min(8,Math.floor(Math.log10(m+1))),failing:l(n.filter(d=>d.collection===p))}}),u=t.filter(p=>a.has(p.collection)&&a.has(p.to)).map(p=>{let m=p.rules.some(h=>h.collection===p.collection),d=r.get(p.key)?.documents??0;return{relation:p,down:m,up:p.rules.some(h=>h.collection===p.to&&h.kind!=="copy"),failing:l(p.rules),load:m&&d>=Ve?d:0,largest:r.get(p.key)}});return{nodes:c,edges:u}}var _e={name:8,label:6.6},K=28,Ne=e=>Math.min(K,e.length)+(e.length>K?1:0),Ue=({rules:e})=>e.length===1?"1 rule":e.length===0?"no rule":`${e.length} rules`,Ke=({relation:e,load:t,largest:n})=>`${e.name} · ${Ue(e)}`+(t>0&&n?` · hot, ${Xe(n)} to one`:""),Xe=({documents:e,partial:t})=>(t?"at least ":"")+e.toLocaleString("en");function Gt(e,{nodes:t,edges:n}){let o=new e.Graph({multigraph:!0});o.setGraph({rankdir:"LR",nodesep:22,ranksep:46,edgesep:14,marginx:8,marginy:8});for(let{name:a,size:l}of t)o.setNode(a,{width:Math.max(Ne(a)*_e.name,100)+24+l*6,height:42+l*6});for(let a of n){let{relation:l}=a;o.setEdge(l.to,l.collection,{width:(Ne(l.name)+Ke(a).length-l.name.length)*_e.label+(a.failing?20:6),height:18,labelpos:"c"},l.name)}e.layout(o);let{width:r,height:s}=o.graph();return{width:r??0,height:s??0,nodes:new Map(t.map(({name:a})=>[a,o.node(a)])),edges:new Map(n.map(({relation:a})=>[a.key,o.edge(a.to,a.collection,a.name)]))}}function Ht(e){let t=r=>`${r.x.toFixed(1)},${r.y.toFixed(1)}`,n=(r,s)=>({x:(r.x+s.x)/2,y:(r.y+s.y)/2}),o=e.slice(1,-1).map((r,s)=>` Q${t(r)} ${t(n(r,e[s+2]))}`);return`M${t(e[0])} L${t(n(e[0],e[1]))}${o.join("")} L${t(e[e.length-1])}`}function Be(e,t){let n=Math.hypot(e.x-t.x,e.y-t.y)||1,[o,r]=[(e.x-t.x)/n,(e.y-t.y)/n],s=a=>`${(e.x-10*o+a*5*r).toFixed(1)},${(e.y-10*r-a*5*o).toFixed(1)}`;return`M${e.x.toFixed(1)},${e.y.toFixed(1)} L${s(1)} L${s(-1)} Z`}function Xn({place:e}){let{shown:t,problem:n,again:o,cancel:r}=ke(),{model:s,status:a,counts:l,largest:c,etag:u,pending:p=!1}=t,m=G("admin"),d=q(()=>s&&Ee(s),[s]),h=q(()=>Oe(a),[a]);return i`<${v} problem=${n} again=${o} />
    <${ye} of=${{value:s,problem:n,cancel:r}}>${d&&i`<${Re} pending=${p} status=${a} mayEdit=${m} onChanged=${o} />
      <${Vt} relations=${d.relations} largest=${c} chosen=${e.params.get("relation")} />
      <${Kt} rules=${d.rules} found=${h} chosen=${e.params.get("rule")} />
      <${zt} functions=${d.functions} />
      <${Ge} place=${e} model=${s} declared=${d} counts=${l} largest=${c} found=${h} />
      ${m&&!a?.readOnly&&i`<${je} etag=${u} suggest=${e.params.get("suggest")}
        isDrafted=${e.params.has("draft")} pending=${p} onChanged=${o} />`}`}<//>
    ${le.value.some(({phase:f})=>f==="stored")&&i`<p><a
      href=${k(["_import"])}>Compare the imported files with the model that applies</a></p>`}
    <${fe} asked=${H} />`}function We(e,t){let[n,o]=x(null),[r,s]=x(null),[a,l]=x(void 0),[c,u]=x(0),p=w(n);p.current=n,y(()=>{if(e===""||p.current?.etag===e)return;let d=new AbortController;return ve(d.signal).then(h=>{let f=t.current?.text();l(void 0),p.current===null||f===void 0||f===p.current.text||f===h.text?m(h):s(h)}).catch(h=>{d.signal.aborted||l(A(h))}),()=>d.abort()},[e,c]);let m=d=>{t.current&&t.current.text()!==d.text&&t.current.put(d.text),p.current=d,o(d),s(null)};return{base:n,theirs:r,problem:a,again:()=>u(d=>d+1),takeTheirs:()=>{r&&m(r)},applied:d=>{n&&o({...n,text:d}),s(null)},against:()=>r?(o(r),s(null),r.etag):n?.etag??""}}function zt({functions:e}){return e.length===0?null:i`<h2>Functions</h2>
    <${me} label="Functions" head=${["Function","Called by","Reads","Trigger of",["Lines"]]}>${e.map(t=>i`<tr key=${t.name}>
      <td><${$} text=${t.name} max=${100} /></td>
      <td>${t.call.length===0?"admin":t.call.join(", ")}${t.authority&&i` <strong>may do everything</strong>`}</td>
      <td><${Ye} names=${t.reads} /></td>
      <td><${Ye} names=${t.triggers} /></td>
      <td class="number">${g(t.source.trimEnd().split(`
`).length)}</td></tr>`)}<//>
    ${e.map(t=>i`<details key=${t.name}><summary>Source of <${$} text=${t.name} max=${100} /></summary><pre>
      <code>${$e(t.source,t.name,5e3)}</code></pre></details>`)}`}var Ye=({names:e})=>e.map((t,n)=>i`${n>0&&", "}<${_} name=${t} />`);function De({indexes:e}){return e.length===0?null:i`<h4>Indexes</h4><div class="scroll"><table aria-label="Indexes" class="dense">
    <thead><tr><th scope="col">Index</th><th scope="col">Change</th><th scope="col">Order</th><th scope="col" class="number">Entries</th><th
      scope="col" class="number">Bytes</th></tr></thead>
    <tbody>${e.map(t=>i`<tr key=${t.collection+"."+t.index+t.change}>
      <td><code><${$} text=${t.collection+"."+t.index} max=${200} /></code></td><td>${t.change}</td>
      <td><code><${$} text=${t.components.join(", ")} max=${300} /></code></td>
      <td class="number">${g(t.entries)}</td><td class="number">${t.bytes!==void 0&&g(t.bytes)}</td></tr>`)}</tbody>
  </table></div>`}var _=({name:e})=>i`<a href=${k([e])}><${$} text=${e} max=${100} /></a>`;function Vt({relations:e,largest:t,chosen:n}){let o=Ze(n);return i`<h2 id="relations">Relations</h2>
    ${e.length===0?i`<p class="quiet">The model declares no relation.</p>`:i`<div class="scroll"><table aria-label="Relations" class="dense">
      <thead><tr><th scope="col">Collection</th><th scope="col">Relation</th><th scope="col">Path</th><th scope="col">To</th><th
        scope="col">On delete</th><th scope="col">Most refer to</th><th scope="col" class="number">Rules</th></tr></thead>
      <tbody>${e.map(r=>i`<tr key=${r.key} ...${r.key===n?o:{}}>
        <td><${_} name=${r.collection} /></td>
        <td><${$} text=${r.name} max=${100} /></td>
        <td><code><${$} text=${r.path} max=${200} /></code></td>
        <td><${_} name=${r.to} /></td>
        <td>${r.onDelete}${r.strict&&", strict"}</td>
        <td><${Ut} largest=${t.get(r.key)} /></td>
        <td class="number">${g(r.rules.length)}</td></tr>`)}</tbody>
    </table></div>`}`}var Ut=({largest:e})=>e?.id!==void 0&&i`<${Y} collection=${e.to} id=${e.id} />: ${e.partial&&"at least "}${g(e.documents)}`,W=100;function Kt({rules:e,found:t,chosen:n}){let[o,r]=x(W),s=e.findIndex(({name:u})=>u===n),a=Math.max(o,Math.ceil((s+1)/W)*W),l=Ze(n),c=Math.min(W,e.length-a);return i`<h2>Rules</h2>
    ${e.length===0?i`<p class="quiet">The model declares no rule.</p>`:i`<div class="scroll"><table aria-label="Rules" class="dense">
      <thead><tr><th scope="col">Collection</th><th scope="col">Path</th><th scope="col">Kind</th><th scope="col">From</th><th
        scope="col">Expression</th>
        ${t&&i`<th scope="col">Error</th>`}</tr></thead>
      <tbody>${e.slice(0,a).map(u=>i`<${Xt} key=${u.name} rule=${u} found=${t?.(u.name)}
        shown=${u.name===n&&l} />`)}</tbody>
    </table></div>`}
    ${c>0&&i`<p><button type="button" class="small" onClick=${()=>r(a+W)}>Show ${c} more rules</button></p>`}`}function Ze(e){let t=w(null);return y(()=>{t.current?.scrollIntoView({block:"center"}),t.current?.focus({preventScroll:!0})},[e]),{ref:t,class:"chosen",tabindex:-1}}function Xt({rule:e,found:t,shown:n}){let o=t&&V(t)?"failing":"";return i`<tr class=${o||void 0} ...${n&&{...n,class:`${o} chosen`.trim()}}>
    <td><${_} name=${e.collection} /></td>
    <td><code><${$} text=${e.path} max=${200} /></code></td>
    <td>${e.kind}</td>
    <td class="from">${e.by===""?i`<span class="quiet">itself</span>`:i`<${_} name=${e.from} /> <span
      class="quiet">by <${$} text=${e.by.slice(e.by.indexOf(".")+1)} max=${60} /></span>`}</td>
    <td><code><${$} text=${e.says} max=${200} /></code></td>
    ${t&&i`<td><${Zt} found=${t} /></td>`}
  </tr>`}function Yt({document:e}){let t=e.indexOf("/");return i`<${Y} collection=${e.slice(0,t)} id=${e.slice(t+1)} />`}function Zt({found:{failed:e,withoutRoom:t}}){return i`${e&&i`<strong class="wrong">${g(e.count)} failed</strong>, last <${Yt} document=${e.document} />
    <div class="quiet"><${$} text=${e.error} max=${300} /></div>`}
    ${t!==void 0&&i`<div><strong class="wrong">No room</strong> in ${g(t)} documents</div>`}`}function U({document:e}){let t=e.indexOf("/");return i`<${xe} collection=${e.slice(0,t)} id=${e.slice(t+1)} />`}export{U as Apart,_ as CollectionLink,zt as Functions,Xn as ModelPage,De as PreviewedIndexes,Vt as Relations,Kt as Rules,We as useBase};
