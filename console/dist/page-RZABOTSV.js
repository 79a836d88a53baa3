import{a as we}from"./chunk-SNZMEUGZ.js";import{$,Ea as ge,G as ie,Ga as xe,Ha as be,Oa as v,Pa as ye,U as le,V as A,X as ce,Y as de,a as M,ca as pe,d as re,da as me,e as se,f as ae,ia as $e,ja as f,ka as he,m as F,n as N,na as fe,p as C,s as K,x as X,z as B}from"./chunk-2RUBGJ57.js";import{H as ue,N as G,b as g,c as x,e as b,f as q,l as a,n as ne,t as oe}from"./chunk-JD54O3BL.js";var _={path:["_model"]},Je=5;async function Qe(e,t){let{status:o,text:n,headers:s}=await C({..._,headers:t?{"If-None-Match":t}:{},signal:e});if(o!==304)return{model:oe(ne(n)),etag:s.get("ETag")??"",position:s.get("Fanfold-Position")??""}}async function ve(e){let{text:t,headers:o}=await C({..._,headers:{Accept:"application/yaml"},signal:e});return{text:t,etag:o.get("ETag")??""}}async function et(e){let t=new Map,o;for(let n=0;n<Je;n++){let{collections:s,next:r}=await K({path:[],query:{limit:1e3,cursor:o},signal:e});for(let{name:i,documents:l}of s)t.set(i,l);if(!r)break;o=r}return t}var tt=e=>K({path:["_status"],signal:e});async function nt(e){try{return await C({path:["_model","_pending"],signal:e}),!0}catch(t){if(t instanceof N&&t.status===404)return!1;throw t}}var ot=5e3,rt=1e3,st=1e3,at=40,it={etag:"",position:"",counts:new Map};function ke(){let[e,t]=g(it),[o,n]=g(void 0),s=b(e),r=b(null),i=u=>{s.current={...s.current,...u},t(s.current)},l=async()=>{r.current?.abort();let u=new AbortController;r.current=u;try{await lt(s.current,i,u.signal),u.signal.aborted||n(void 0)}catch(h){u.signal.aborted||n(A(h))}finally{r.current===u&&(r.current=null)}};x(()=>{let u=()=>{!document.hidden&&!r.current&&l()},h=setInterval(u,e.pending?rt:ot);return document.addEventListener("visibilitychange",u),()=>{clearInterval(h),document.removeEventListener("visibilitychange",u)}},[e.pending]);let d=X.value;x(()=>(l(),()=>r.current?.abort()),[d]);let c=b(void 0);x(()=>()=>clearTimeout(c.current),[]);let p=e.model?Object.keys(e.model.collections??{}).slice(0,at):[];return de(p,e.position,()=>{c.current??=setTimeout(()=>{c.current=void 0,l()},st)}),{shown:e,problem:o,again:l,cancel:()=>{r.current?.abort(),n(le())}}}async function lt(e,t,o){let n=await Qe(o,e.etag);o.throwIfAborted(),n&&t(n);let[s,r]=await Promise.all([et(o),B("monitor")?tt(o):void 0]),i=await ct(e.pending,r,o);o.throwIfAborted(),t({counts:s,status:r,pending:i})}async function ct(e,t,o){return e||(t?t.preparing!==void 0:X.value!==null&&e===void 0)?nt(o):t?!1:e}var dt={derive:"rule",relations:"relation",indexes:"index",unique:"unique in",schema:"schema of",access:"access to",trigger:"trigger of",pages:"pages of",release:"released path of"},ut={"fanout.limit":"the limit of derived changes (fanout.limit)","embedded.limit":"the limit of an embedded document (embedded.limit)",open:"whether undeclared collections are open (open)"},Se={added:"New",removed:"Gone",changed:"Changed"};function Y({path:e}){if(e==="")return"more declarations";let[t,o,n,...s]=e.split(".");if(t==="functions"&&o!==void 0)return(n===void 0?"":n+" of ")+"function "+o;if(t!=="collections"||o===void 0)return ut[e]??e;if(n===void 0)return"collection "+o;let r=s.join("."),i=n==="relations"?/^(.+)\.(onDelete|strict)$/.exec(r):null;return i?`${i[2]} of relation ${o}.${i[1]}`:`${dt[n]??n} ${o}${r&&"."+r}`}function Z({path:e,change:t,detail:o=""}){let[n,s]=o.split(", was ",2);return t==="changed"&&e.includes(".derive.")&&n===s?"it keeps no values any more that nobody can compute again":o}var Me=e=>e.filter(({path:t})=>/^collections\.[^.]+\.access$/.test(t)).flatMap(({path:t,detail:o=""})=>{let n=t.split(".")[1];return(o.startsWith(n+": ")?o.slice(n.length+2):o).split("; ").filter(r=>r!=="").map(r=>({opens:!/ may not /.test(r),collection:n,text:r}))});function Ae(e){let t=e.filter(n=>n.removes),o=t.filter(n=>n.path!=="").length;return{removals:t,count:o<t.length?`${o} and more`:String(t.length)}}var pt=["count","sum","min","avg","ids"],H=e=>Object.entries(e??{});function Ee(e){let t=H(e?.collections),o=t.flatMap(([r,i])=>H(i?.relations).map(([l,d])=>({key:r+"."+l,collection:r,name:l,path:String(d.path),to:String(d.to),onDelete:String(d.onDelete??"clear"),strict:d.strict===!0,rules:[]}))),n=new Map(o.map(r=>[r.key,r])),s=t.flatMap(([r,i])=>H(i?.derive).map(([l,d])=>$t(r,l,d,n)));for(let r of s)n.get(r.by)?.rules.push(r);return{relations:o,rules:s,functions:mt(e,t)}}var mt=(e,t)=>H(e?.functions).map(([o,n])=>({name:o,call:n.call??["write"],reads:n.reads??[],triggers:t.filter(([,s])=>s?.trigger===o).map(([s])=>s),authority:n.authority==="model",source:String(n.source)}));function $t(e,t,o,n){let s=e+"."+t;if(o.copy!==void 0){let c=e+"."+o.copy;return{name:s,collection:e,path:t,kind:o.frozen?"frozen copy":"copy",from:n.get(c)?.to??"",by:c,says:String(o.value)}}let r=o.recent!==void 0?"recent":pt.find(c=>o[c]!==void 0)??(o.max!==void 0?"max":"");if(r==="")return{name:s,collection:e,path:t,kind:"computed",from:e,by:"",says:String(o.value)};let i=String(o[r]),l=typeof o.orderBy=="object"?"_meta."+o.orderBy?._meta:o.orderBy,d=[o.of,o.fields?.join(", "),l&&"order by "+l,o.where&&"where "+o.where].filter(Boolean).join("; ");return i.includes("[]")?{name:s,collection:e,path:t,kind:r,from:e,by:"",says:[i,d].filter(Boolean).join("; ")}:{name:s,collection:e,path:t,kind:r,from:i.slice(0,i.indexOf(".")),by:i,says:d}}function Oe(e){if(!e)return;let t=new Map((e.ruleErrors??[]).map(n=>[n.rule,n])),o=new Map((e.omitted??[]).map(n=>[n.rule,n.documents]));return n=>({failed:t.get(n),withoutRoom:o.get(n)})}var z=({failed:e,withoutRoom:t})=>e!==void 0||t!==void 0,Te=50;function Pe({differences:e}){let[t,o]=g(!1),n=Me(e),s=t?e:e.slice(0,Te);return a`${e.length>0&&a`<h4>Differences</h4><ul aria-label="Differences" class="documents">${s.map(r=>a`<li>
      <strong>${Se[r.change]??r.change}</strong>: <${$} text=${Y(r)} max=${200} />${r.detail&&a` <span
        class="detail"><${$} text=${Z(r)} max=${500} /></span>`}</li>`)}</ul>`}
    ${s.length<e.length&&a`<button type="button" class="small"
      onClick=${()=>o(!0)}>Show ${e.length-Te} more differences</button>`}
    ${n.length>0&&a`<h4>Access</h4><ul aria-label="Access" class="documents">${n.map(r=>a`<li>
      <strong>${r.opens?"Opens":"Closes"}</strong> <${$} text=${r.collection} max=${100} />: <${$} text=${r.text}
        max=${300} /></li>`)}</ul>`}`}function Ce({differences:e,sure:t,onSure:o}){let{removals:n,count:s}=Ae(e);return n.length===0?null:a`<div class="removals"><label class="box"><input type="checkbox" checked=${t}
    onChange=${r=>o(r.target.checked)} />
    ${" "}Remove ${s==="1"?"1 rule or guard":`${s} rules and guards`}</label>
    <ul aria-label="What goes" class="documents">${n.map(r=>a`<li><${$} text=${Y(r)} max=${200} />
      ${r.change==="changed"&&a` <span class="quiet"><${$} text=${Z(r)} max=${200} /></span>`}</li>`)}</ul></div>`}var ht={waiting:"Waiting",copying:"Copying pages",computing:"Computing documents",following:"Following what was written meanwhile",ready:"Ready to apply",failed:"It failed"};function Re({pending:e,status:t,mayEdit:o,onChanged:n}){let s=b(0),[r,i]=g(void 0),l=t?.preparing;l&&(s.current=l.model);let d=!e&&s.current>0&&t?.withdrawn?.model===s.current?t.withdrawn.reason:"",c=async()=>{try{await C({method:"DELETE",path:["_model","_pending"]}),i(void 0)}catch(p){i(A(p))}n()};return a`<div role="status">${d&&a`<p>The model that was being prepared does not come: <${$} text=${d} max=${500} />
    </p>`}</div>
    ${e&&a`<section aria-label="Preparation" class="origin"><h2>A model is being prepared</h2>
      ${l?a`<p>${ht[l.phase]??l.phase}${l.total>0&&a`: ${f(l.done)} of ${f(l.total)} <progress
            aria-label="Preparation" max=${l.total} value=${l.done}></progress>`}</p>
        <p class="quiet">${f(l.changes)} documents change, as far as is
          known.${l.waitingFor?.length>0&&a` It waits for <${$} text=${l.waitingFor.join(", ")} max=${300} />.`}</p>
        ${l.error&&a`<p class="wrong"><${$} text=${l.error} max=${1e3} /></p>`}`:a`<p class="quiet">It applies once all nodes have prepared it.</p>`}
      ${o&&a`<p class="actions"><button type="button" onClick=${c}>Withdraw</button></p>`}
    </section>`}
    <${v} problem=${r} />`}function Le({preview:e,isSame:t,sure:o,onSure:n}){let{differences:s,rules:r,unique:i=[],indexes:l=[],changes:d,problems:c=[],misfits:p=[],kept:m=[],warnings:u=[]}=e;return a`<section aria-label="What this model changes" class="model-preview">
    <h3>What this model changes</h3>
    <p class="sentence">${s.length===0?"Nothing: the model that applies says the same.":`${ee(s.length,"difference")}; ${ee(d,"document")} of other values`}</p>
    ${c.length>0&&a`<div role="alert" class="problem"><strong>It cannot be applied</strong><ul
      aria-label="What stands in its way">${c.map(h=>a`<${Ie} of=${h} />`)}</ul></div>`}
    <${Ce} differences=${s} sure=${o} onSure=${n} />
    <${wt} misfits=${p} />
    ${u.length>0&&a`<h4>Warnings</h4><ul aria-label="Warnings" class="documents">
      ${u.slice(0,100).map(h=>a`<${Ie} of=${h} />`)}</ul>`}
    <${Pe} differences=${s} />
    <${xt} rules=${r??[]} unique=${i} />
    <${De} indexes=${l} />
    <${gt} kept=${m} />
  </section>`}var ee=(e,t)=>`${f(e)} ${t}${e===1?"":"s"}`,Ie=({of:{path:e,detail:t}})=>a`<li>${e&&a`<code><${$} text=${e} max=${200} /></code>: `}<${$} text=${t} max=${1e3} /></li>`,ft={lost:"are lost for good",reserved:"stay stored, and do not show",restored:"show again"};function gt({kept:e}){return e.length===0?null:a`<h4>Values that nobody can compute again</h4><ul aria-label="Values that nobody can compute again" class="documents">${e.slice(0,100).map(t=>a`<li>
    ${ee(t.values,t.kind+" value")} of <code><${$} text=${t.rule} max=${200} />
      </code> ${ft[t.outcome]??t.outcome}</li>`)}</ul>`}var J=200;function xt({rules:e,unique:t}){let o=[...e.filter(n=>n.change!=="same"||n.documents>0).map(n=>({...n,name:n.rule})),...t.filter(n=>n.change!=="same").map(n=>({...n,name:`${n.collection} unique ${n.unique}`,documents:void 0,hides:void 0}))];return o.length===0?null:a`<h4>By rule</h4><div class="scroll"><table aria-label="By rule" class="dense">
    <thead><tr><th scope="col">Rule</th><th scope="col">Change</th><th scope="col" class="number">Documents</th><th
      scope="col">Without a value</th></tr></thead>
    <tbody>${o.slice(0,J).map(n=>a`<tr key=${n.name}>
      <td><code><${$} text=${n.name} max=${200} /></code>${n.hides&&n.hides.length>0&&a`<div
        class="quiet">hides a member of <${V} document=${n.hides[0]} /></div>`}</td>
      <td>${n.change}</td>
      <td class="number">${n.documents!==void 0&&f(n.documents)}</td>
      <td>${(n.evaluations??[]).map(s=>a`<${bt} key=${s.part} of=${s} />`)}</td></tr>`)}</tbody>
  </table></div>${o.length>J&&a`<p class="quiet">and ${f(o.length-J)} more</p>`}`}var bt=({of:{part:e,evaluated:t,noValue:o,document:n,reason:s}})=>a`<div><${$} text=${e} max=${60} />: ${o===0?a`<span class="quiet">none of ${f(t)}</span>`:a`<strong class=${o===t?"wrong":void 0}>
        ${o===t?`all ${f(t)}`:`${f(o)} of ${f(t)}`}</strong>
          ${n&&a`, as <${V} document=${n} />`}
    ${s&&a` <span class="quiet"><${$} text=${s} max=${300} /></span>`}`}</div>`,yt=5;function wt({misfits:e}){return e.length===0?null:a`<div role="alert" class="problem"><strong>Documents do not fit the schema</strong>
    <ul aria-label="Documents that do not fit" class="documents">${e.flatMap(t=>t.first.slice(0,yt).map(o=>a`<li key=${o.document}><${V} document=${o.document} />:
      <${$} text=${o.problems.map(n=>(n.path+" "+n.detail).trim()).join("; ")} max=${300} /></li>`))}</ul>
    <p>${e.map(t=>`${f(t.documents)} in ${t.collection}`).join(", ")}. Mend them, or apply the model by <code>fanfold
      model apply --allow-misfits</code>.</p></div>`}var Q=100;function qe({problem:e,text:t,box:o}){if(!e||e.status===412)return null;let n=Array.isArray(e.of.problems)?e.of.problems:[],s=n.length===0&&e.of.line?[{...e.of,path:""}]:n;return a`<${v} problem=${ge(e)}>
    ${s.length>0&&a`<ul class="mistakes" aria-label="Mistakes">${s.slice(0,Q).map(r=>a`<li><${vt} of=${r} text=${t} box=${o} />
      ${r.path&&a`<code><${$} text=${String(r.path)} max=${200} /></code> `}<${$} text=${String(r.detail??"")}
        max=${1e3} /></li>`)}
      ${s.length>Q&&a`<li class="quiet">and ${s.length-Q} more</li>`}</ul>`}<//>`}function vt({of:{line:e,column:t},text:o,box:n}){return e?a`<button type="button" class="plain" onClick=${()=>{if(!n.current)return;let r=ue(o,e,t??1),i=o.indexOf(`
`,r);n.current.select(r,i<0?o.length:i)}}>line ${e}, column ${t??1}</button>: `:null}function Fe({onApplied:e,onStale:t}){let[o,n]=g({phase:"idle"}),s=b(new AbortController);x(()=>()=>s.current.abort(),[]);let r=async(i,{text:l,etag:d,preview:c},p)=>{s.current.abort();let m=new AbortController;s.current=m;let u=i==="applying"?{text:l,etag:d,preview:c}:void 0;n({phase:i,previewed:u});try{let[h,w]=i==="merging"?["PATCH","application/merge-patch+json"]:["PUT","application/yaml"],y={method:h,path:["_model"],query:u?{}:{dryRun:!0},headers:{"Content-Type":w,"If-Match":d},body:l},R=O=>n(T=>m.signal.aborted?T:{...T,work:O}),k=await ce(y,{signal:m.signal,onWork:R,ends:!u});m.signal.aborted||p(k)}catch(h){if(m.signal.aborted)return;let w=A(h);n({phase:"idle",problem:w,text:l,previewed:w.status===412?void 0:u}),w.status===412&&t()}};return{state:o,preview:(i,l)=>r("previewing",{text:i,etag:l,preview:null},({body:d})=>n({phase:"idle",previewed:{text:i,etag:l,preview:d}})),merge:(i,l,d)=>r("merging",{text:i,etag:l,preview:null},({body:c})=>{n({phase:"idle",previewed:{text:c.merged,etag:l,preview:c}}),d(c.merged)}),apply:()=>o.previewed&&r("applying",o.previewed,({body:i})=>{n({phase:"idle",applied:i??{}}),o.previewed&&e(o.previewed.text)}),stop:()=>{s.current.abort(),n({phase:"idle"})},forget:()=>n(i=>i.phase==="idle"&&(i.previewed||i.problem)?{phase:"idle"}:i)}}function je(e){let t=kt(e),{box:o,base:n,theirs:s,problem:r,again:i,takeTheirs:l,against:d,change:c,text:p,typed:m,setTyped:u,suggested:h,drafted:w}=t,{state:y,preview:R,apply:k,stop:O,forget:T}=c,[I,P]=g(!1);if(x(()=>P(!1),[y.previewed]),!n)return a`<${v} problem=${r} again=${i} asked />`;let L=y.phase!=="idle",{previewed:E}=y,S=E!==void 0&&E.text===m,te=()=>{L||R(p(),d())},Ze=()=>{l(),T()};return a`<section aria-label="Editor" class="model-editor"><h2>Edit</h2>
    ${h.note}${e.isDrafted&&w.current!==null&&a`<p>The proposal stands in the text.</p>`}
    <${we} box=${o} label="Model" language="yaml" initial=${n.text} rows=${Math.min(30,n.text.split(`
`,40).length+1)}
      readOnly=${y.phase==="applying"||y.phase==="merging"} wrong=${y.problem&&y.text===m}
      onInput=${()=>u(p())} onSave=${te} onReady=${t.setReady} completeText=${It} />
    ${s&&a`<div role="alert" class="problem"><strong>Changed meanwhile</strong>
      <p>Another model applies than the one that this text was made from. A preview compares with the model of now: what only that one has
        is told as gone.</p>
      <button type="button" onClick=${Ze}>Take theirs</button></div>`}
    <${v} problem=${r} again=${i} asked />
    <${qe} problem=${y.problem} text=${y.text??""} box=${o} />
    <p class="actions"><button type="button" class=${S?"":"main"} aria-disabled=${L?"true":void 0}
      onClick=${te}>Preview</button>
      <button type="button" class=${S?"main":""} disabled=${!S||L||!St(E.preview,I)}
        onClick=${k}>Apply</button>
      ${(y.phase==="previewing"||y.phase==="merging")&&a`<button type="button" onClick=${O}>Stop</button>`}
      <span role="status" class="quiet">${At(y,m,e.pending)}</span></p>
    ${E&&a`<${Le} preview=${E.preview} isSame=${S} sure=${I} onSure=${P} />`}
  </section>`}function kt({etag:e,suggest:t,isDrafted:o,onChanged:n}){let s=b(null),[r,i]=g(""),[l,d]=g(!1),c=()=>s.current?.text()??"",{base:p,theirs:m,problem:u,again:h,takeTheirs:w,applied:y,against:R}=We(e,s),k=Fe({onApplied:P=>{y(P),(t!==null||o)&&se(M(["_model"])),n()},onStale:n}),O=Tt(t,l?p:null,k.state,(P,L,E)=>k.merge(P,L,S=>{s.current&&(E(S),s.current.put(S),i(S),s.current.select(0,0))})),T=Et(o,l?p:null,s,i);x(k.forget,[m]),x(()=>i(c()),[p,l]);let I=b("");return I.current=p?.text??"",x(()=>ae(()=>s.current!==null&&![I.current,O.put.current.text,T.current].includes(c())),[]),{setReady:()=>d(!0),box:s,base:p,theirs:m,problem:u,again:h,takeTheirs:w,against:R,change:k,text:c,typed:r,setTyped:i,suggested:O,drafted:T}}var St=(e,t)=>!e.problems?.length&&!e.misfits?.length&&e.differences.length>0&&(t||!e.differences.some(o=>o.removes)),Mt={merging:"Looking at what the suggestion changes",previewing:"Looking at what it changes",applying:"Applying it"};function At({phase:e,work:t,applied:o,previewed:n},s,r){return e!=="idle"?Mt[e]+(t&&t.total>0?`: ${t.phase}, ${f(t.done)} of ${f(t.total)}`:""):o?.applied?`It applies since ${o.position}: ${f(o.values)} values on ${f(o.documents)} documents changed.`:o&&r?"It is being prepared, and applies then.":n&&n.text!==s?"The text is another one than was previewed.":r&&n?"Another model is being prepared. Withdraw it, or wait for it.":""}function Tt(e,t,o,n){let s=b({patch:null,etag:""}),r=b({patch:null,text:""}),i=e!==null&&e.length>be,l=o.problem?.status===412&&o.text===e;return x(()=>{!t||e===null||i||s.current.patch===e&&!(l&&s.current.etag!==t.etag)||(s.current={patch:e,etag:t.etag},n(e,t.etag,d=>{r.current={patch:e,text:d}}))},[t,e,l]),{note:e===null?null:Ot(e,i,r.current.patch===e,s.current.patch===e&&o.phase!=="merging"),put:r}}function Et(e,t,o,n){let s=b(null);return x(()=>{!e||!t||s.current!==null||F.value===null||!o.current||(s.current=F.value,o.current.put(F.value),n(F.value),o.current.select(0,0))},[e,t]),s}function Ot(e,t,o,n){return t?a`<p>The suggestion is longer than a place may be.</p>`:o?a`<p>The suggestion stands in the text.</p>`:n&&a`<p>The suggestion could not be put into the text. This is it, as a merge patch:</p><pre aria-label="Suggestion"><${$}
      text=${e} /></pre>`}var Pt={"":"collections functions access fanout open",collection:"relations derive schema unique indexes checks defaults trigger access private sequences release pages",relation:"path to onDelete strict",rule:"copy value where count sum min max avg ids recent limit frozen of orderBy fields takeOver"},Ct={onDelete:"clear keep unlink cascade restrict",strict:"true false",frozen:"true false",open:"true false"},Rt=/^(?:to|copy|count|sum|min|max|avg|ids|recent)$/;async function It(e,t){let o=e.slice(e.lastIndexOf(`
`)+1),[n]=/[\w-]*$/.exec(o)??[""],s=e.length-n.length,[,r=""]=/([\w-]+):\s+[\w-]*$/.exec(o)??[],i=Object.values(Pt).join(" ").split(" "),l=new Set([...t.matchAll(/^ +([A-Za-z][\w-]*):/gm)].map(([,c])=>c).filter(c=>!i.includes(c))),d=Ct[r]?.split(" ")??(Rt.test(r)?[...l]:r===""?i:[]);return{from:s,choices:[...new Set(d)].map(c=>({label:c}))}}function _e({place:e,model:t,declared:o,counts:n,found:s}){let r=q(()=>Object.keys(t.collections??{}),[t]),i=e.params.get("collection")??"",l=r.length>D?r.includes(i)?i:Wt(r,o.relations):"",{names:d,left:c}=jt(r,o.relations,n,l),p=Nt(d,o,n,s),{layout:m,failed:u}=Lt(p,n.size>0&&r.length>0);return r.length===0?null:a`<div role="group" aria-label="Model graph" class="graph">
    <h2>Graph</h2>
    ${l!==""&&a`<${qt} place=${e} all=${r} chosen=${l} left=${c} />`}
    ${u&&a`<${v}
      problem=${new N(0,{title:"The graph cannot be drawn",detail:"The tables have the same."})} />`}
    <div class="scroll">${m&&a`<svg width=${m.width} height=${m.height} viewBox=${`0 0 ${m.width} ${m.height}`}>
      ${p.edges.map(h=>m.edges.has(h.relation.key)&&a`<${Ft} key=${h.relation.key} edge=${h}
        place=${m.edges.get(h.relation.key)} />`)}
      ${p.nodes.map(h=>m.nodes.has(h.name)&&a`<${Dt} key=${h.name} node=${h}
        place=${m.nodes.get(h.name)} chosen=${h.name===l} />`)}
    </svg>`}</div>
    <p class="quiet">An arrow leads where values go, and has the number of its rules; a dashed line has none. A triangle marks what fails:
      an error, no room, or no value
      anywhere. A double line is hot: ${Ve.toLocaleString("en")} documents or more take their values from one on average.
      Single documents may have more: their pages tell it.</p>
  </div>`}function Lt(e,t){let[o,n]=g({}),s=JSON.stringify([e.nodes.map(r=>[r.name,r.size]),e.edges.map(r=>[r.relation.key,r.relation.to,r.relation.rules.length,r.load>0,r.failing>0])]);return x(()=>{if(!t)return;let r=!1,l=setTimeout(async()=>{try{let d=await import("./dagre-LG7YM7WV.js");if(r)return;let c=performance.now(),p=Bt(d,e);performance.measure("model graph",{start:c}),n({layout:p})}catch(d){console.warn(d),r||n({failed:!0})}});return()=>{r=!0,clearTimeout(l)}},[s,t]),o}function qt({place:e,all:t,chosen:o,left:n}){return a`<p class="actions"><label>Around <select value=${o} onChange=${r=>{let i=new URLSearchParams(e.params);i.set("collection",r.target.value),re(M(e.parts,i))}}>${t.map(r=>a`<option key=${r}
    value=${r}><${$} text=${r} max=${100} /></option>`)}</select></label>
    <span class="quiet">with its neighbours, ${D-1} at most,
      of ${t.length.toLocaleString("en")} collections${n>0&&`; ${n.toLocaleString("en")} more have no place`}</span></p>`}var He=e=>G(e.length>U?e.slice(0,U)+"…":e);function Ft({edge:e,place:{x:t,y:o,points:n}}){let{relation:s,down:r,up:i,failing:l,load:d}=e,c=Gt(n),p=n.length-1,m=Ke({...e,relation:{...s,name:He(s.name)}}),u=[`${s.key} to ${s.to}`,Ue(s),l>0&&`${l} failing`,d>0&&`hot, ${d} documents each on average`].filter(Boolean).join(", ");return a`<g role="img" aria-label=${G(u)}
    class=${"edge"+(s.rules.length===0?" bare":"")+(l>0?" failing":"")+(d>0?" hot":"")}>
    <path class="line" d=${c} />${d>0&&a`<path class="core" d=${c} />`}
    ${r&&a`<path class="head" d=${Ge(n[p],n[p-1])} />`}
    ${i&&a`<path class="head" d=${Ge(n[0],n[1])} />`}
    <text class="label" x=${t+(l>0?8:0)} y=${o+4} text-anchor="middle">${m}</text>
    ${l>0&&a`<${ze} x=${t-m.length*3.3-2} y=${o} />`}
  </g>`}var ze=({x:e,y:t})=>a`<path class="warning" d=${`M${e},${t-8} l8,14 h-16 z`} /><text class="warning-sign" x=${e} y=${t+5}
    text-anchor="middle">!</text>`;function Dt({node:{name:e,documents:t,failing:o},place:{x:n,y:s,width:r,height:i},chosen:l}){let d=he(t,"document"),c=`${e}, ${d}`+(o>0?`, ${o} failing`:"");return a`<a href=${M([e])} aria-label=${G(c)}
    class=${"node"+(o>0?" failing":"")+(l?" chosen":"")}>
    <rect x=${n-r/2} y=${s-i/2} width=${r} height=${i} rx="7" />
    <text class="name" x=${n} y=${s-3} text-anchor="middle">${He(e)}</text>${" "}
    <text class="count" x=${n} y=${s+14} text-anchor="middle">${d}</text>
    ${o>0&&a`<${ze} x=${n+r/2-12} y=${s-i/2+12} />`}
  </a>`}var D=40,Ve=1e3;function jt(e,t,o,n){if(e.length<=D)return{names:e,left:0};let s=new Set(t.filter(l=>l.collection===n||l.to===n).flatMap(l=>[l.collection,l.to]));s.delete(n);let r=l=>o.get(l)??0,i=[...s].sort((l,d)=>r(d)-r(l)||(l<d?-1:1));return{names:[n,...i.slice(0,D-1)],left:Math.max(0,i.length-D+1)}}function Wt(e,t){let o=new Map;for(let n of t)for(let s of[n.collection,n.to])o.set(s,(o.get(s)??0)+1);return e.reduce((n,s)=>(o.get(s)??0)>(o.get(n)??0)?s:n,e[0])}function Nt(e,{relations:t,rules:o},n,s){let r=new Set(e),i=c=>s?c.filter(p=>z(s(p.name))).length:0,l=e.map(c=>{let p=n.get(c)??0;return{name:c,documents:p,size:Math.min(8,Math.floor(Math.log10(p+1))),failing:i(o.filter(m=>m.collection===c))}}),d=t.filter(c=>r.has(c.collection)&&r.has(c.to)).map(c=>{let p=c.rules.some(u=>u.collection===c.collection),m=Math.round((n.get(c.collection)??0)/Math.max(1,n.get(c.to)??0));return{relation:c,down:p,up:c.rules.some(u=>u.collection===c.to&&u.kind!=="copy"),failing:i(c.rules),load:p&&m>=Ve?m:0}});return{nodes:l,edges:d}}var Ne={name:8,label:6.6},U=28,Be=e=>Math.min(U,e.length)+(e.length>U?1:0),Ue=({rules:e})=>e.length===1?"1 rule":e.length===0?"no rule":`${e.length} rules`,Ke=({relation:e,load:t})=>`${e.name} · ${Ue(e)}`+(t>0?` · hot, ${t.toLocaleString("en")} each on average`:"");function Bt(e,{nodes:t,edges:o}){let n=new e.Graph({multigraph:!0});n.setGraph({rankdir:"LR",nodesep:22,ranksep:46,edgesep:14,marginx:8,marginy:8});for(let{name:i,size:l}of t)n.setNode(i,{width:Math.max(Be(i)*Ne.name,100)+24+l*6,height:42+l*6});for(let i of o){let{relation:l}=i;n.setEdge(l.to,l.collection,{width:(Be(l.name)+Ke(i).length-l.name.length)*Ne.label+(i.failing?20:6),height:18,labelpos:"c"},l.name)}e.layout(n);let{width:s,height:r}=n.graph();return{width:s??0,height:r??0,nodes:new Map(t.map(({name:i})=>[i,n.node(i)])),edges:new Map(o.map(({relation:i})=>[i.key,n.edge(i.to,i.collection,i.name)]))}}function Gt(e){let t=s=>`${s.x.toFixed(1)},${s.y.toFixed(1)}`,o=(s,r)=>({x:(s.x+r.x)/2,y:(s.y+r.y)/2}),n=e.slice(1,-1).map((s,r)=>` Q${t(s)} ${t(o(s,e[r+2]))}`);return`M${t(e[0])} L${t(o(e[0],e[1]))}${n.join("")} L${t(e[e.length-1])}`}function Ge(e,t){let o=Math.hypot(e.x-t.x,e.y-t.y)||1,[n,s]=[(e.x-t.x)/o,(e.y-t.y)/o],r=i=>`${(e.x-10*n+i*5*s).toFixed(1)},${(e.y-10*s-i*5*n).toFixed(1)}`;return`M${e.x.toFixed(1)},${e.y.toFixed(1)} L${r(1)} L${r(-1)} Z`}function Vn({place:e}){let{shown:t,problem:o,again:n,cancel:s}=ke(),{model:r,status:i,counts:l,etag:d,pending:c=!1}=t,p=B("admin"),m=q(()=>r&&Ee(r),[r]),u=q(()=>Oe(i),[i]);return a`<${v} problem=${o} again=${n} />
    <${ye} of=${{value:r,problem:o,cancel:s}}>${m&&a`<${Re} pending=${c} status=${i} mayEdit=${p} onChanged=${n} />
      <${Ht} relations=${m.relations} chosen=${e.params.get("relation")} />
      <${zt} rules=${m.rules} found=${u} chosen=${e.params.get("rule")} />
      <${_t} functions=${m.functions} />
      <${_e} place=${e} model=${r} declared=${m} counts=${l} found=${u} />
      ${p&&!i?.readOnly&&a`<${je} etag=${d} suggest=${e.params.get("suggest")}
        isDrafted=${e.params.has("draft")} pending=${c} onChanged=${n} />`}`}<//>
    ${ie.value.some(({phase:h})=>h==="stored")&&a`<p><a
      href=${M(["_import"])}>Compare the imported files with the model that applies</a></p>`}
    <${fe} asked=${_} />`}function We(e,t){let[o,n]=g(null),[s,r]=g(null),[i,l]=g(void 0),[d,c]=g(0),p=b(o);p.current=o,x(()=>{if(e===""||p.current?.etag===e)return;let u=new AbortController;return ve(u.signal).then(h=>{let w=t.current?.text();l(void 0),p.current===null||w===void 0||w===p.current.text||w===h.text?m(h):r(h)}).catch(h=>{u.signal.aborted||l(A(h))}),()=>u.abort()},[e,d]);let m=u=>{t.current&&t.current.text()!==u.text&&t.current.put(u.text),p.current=u,n(u),r(null)};return{base:o,theirs:s,problem:i,again:()=>c(u=>u+1),takeTheirs:()=>{s&&m(s)},applied:u=>{o&&n({...o,text:u}),r(null)},against:()=>s?(n(s),r(null),s.etag):o?.etag??""}}function _t({functions:e}){return e.length===0?null:a`<h2>Functions</h2>
    <${pe} label="Functions" head=${["Function","Called by","Reads","Trigger of",["Lines"]]}>${e.map(t=>a`<tr key=${t.name}>
      <td><${$} text=${t.name} max=${100} /></td>
      <td>${t.call.length===0?"admin":t.call.join(", ")}${t.authority&&a` <strong>may do everything</strong>`}</td>
      <td><${Xe} names=${t.reads} /></td>
      <td><${Xe} names=${t.triggers} /></td>
      <td class="number">${f(t.source.trimEnd().split(`
`).length)}</td></tr>`)}<//>
    ${e.map(t=>a`<details key=${t.name}><summary>Source of <${$} text=${t.name} max=${100} /></summary><pre>
      <code>${$e(t.source,t.name,5e3)}</code></pre></details>`)}`}var Xe=({names:e})=>e.map((t,o)=>a`${o>0&&", "}<${W} name=${t} />`);function De({indexes:e}){return e.length===0?null:a`<h4>Indexes</h4><div class="scroll"><table aria-label="Indexes" class="dense">
    <thead><tr><th scope="col">Index</th><th scope="col">Change</th><th scope="col">Order</th><th scope="col" class="number">Entries</th><th
      scope="col" class="number">Bytes</th></tr></thead>
    <tbody>${e.map(t=>a`<tr key=${t.collection+"."+t.index+t.change}>
      <td><code><${$} text=${t.collection+"."+t.index} max=${200} /></code></td><td>${t.change}</td>
      <td><code><${$} text=${t.components.join(", ")} max=${300} /></code></td>
      <td class="number">${f(t.entries)}</td><td class="number">${t.bytes!==void 0&&f(t.bytes)}</td></tr>`)}</tbody>
  </table></div>`}var W=({name:e})=>a`<a href=${M([e])}><${$} text=${e} max=${100} /></a>`;function Ht({relations:e,chosen:t}){let o=Ye(t);return a`<h2 id="relations">Relations</h2>
    ${e.length===0?a`<p class="quiet">The model declares no relation.</p>`:a`<div class="scroll"><table aria-label="Relations" class="dense">
      <thead><tr><th scope="col">Collection</th><th scope="col">Relation</th><th scope="col">Path</th><th scope="col">To</th><th
        scope="col">On delete</th><th scope="col" class="number">Rules</th></tr></thead>
      <tbody>${e.map(n=>a`<tr key=${n.key} ...${n.key===t?o:{}}>
        <td><${W} name=${n.collection} /></td>
        <td><${$} text=${n.name} max=${100} /></td>
        <td><code><${$} text=${n.path} max=${200} /></code></td>
        <td><${W} name=${n.to} /></td>
        <td>${n.onDelete}${n.strict&&", strict"}</td>
        <td class="number">${f(n.rules.length)}</td></tr>`)}</tbody>
    </table></div>`}`}var j=100;function zt({rules:e,found:t,chosen:o}){let[n,s]=g(j),r=e.findIndex(({name:c})=>c===o),i=Math.max(n,Math.ceil((r+1)/j)*j),l=Ye(o),d=Math.min(j,e.length-i);return a`<h2>Rules</h2>
    ${e.length===0?a`<p class="quiet">The model declares no rule.</p>`:a`<div class="scroll"><table aria-label="Rules" class="dense">
      <thead><tr><th scope="col">Collection</th><th scope="col">Path</th><th scope="col">Kind</th><th scope="col">From</th><th
        scope="col">Expression</th>
        ${t&&a`<th scope="col">Error</th>`}</tr></thead>
      <tbody>${e.slice(0,i).map(c=>a`<${Vt} key=${c.name} rule=${c} found=${t?.(c.name)}
        shown=${c.name===o&&l} />`)}</tbody>
    </table></div>`}
    ${d>0&&a`<p><button type="button" class="small" onClick=${()=>s(i+j)}>Show ${d} more rules</button></p>`}`}function Ye(e){let t=b(null);return x(()=>{t.current?.scrollIntoView({block:"center"}),t.current?.focus({preventScroll:!0})},[e]),{ref:t,class:"chosen",tabindex:-1}}function Vt({rule:e,found:t,shown:o}){let n=t&&z(t)?"failing":"";return a`<tr class=${n||void 0} ...${o&&{...o,class:`${n} chosen`.trim()}}>
    <td><${W} name=${e.collection} /></td>
    <td><code><${$} text=${e.path} max=${200} /></code></td>
    <td>${e.kind}</td>
    <td class="from">${e.by===""?a`<span class="quiet">itself</span>`:a`<${W} name=${e.from} /> <span
      class="quiet">by <${$} text=${e.by.slice(e.by.indexOf(".")+1)} max=${60} /></span>`}</td>
    <td><code><${$} text=${e.says} max=${200} /></code></td>
    ${t&&a`<td><${Kt} found=${t} /></td>`}
  </tr>`}function Ut({document:e}){let t=e.indexOf("/");return a`<${me} collection=${e.slice(0,t)} id=${e.slice(t+1)} />`}function Kt({found:{failed:e,withoutRoom:t}}){return a`${e&&a`<strong class="wrong">${f(e.count)} failed</strong>, last <${Ut} document=${e.document} />
    <div class="quiet"><${$} text=${e.error} max=${300} /></div>`}
    ${t!==void 0&&a`<div><strong class="wrong">No room</strong> in ${f(t)} documents</div>`}`}function V({document:e}){let t=e.indexOf("/");return a`<${xe} collection=${e.slice(0,t)} id=${e.slice(t+1)} />`}export{V as Apart,W as CollectionLink,_t as Functions,Vn as ModelPage,De as PreviewedIndexes,Ht as Relations,zt as Rules,We as useBase};
