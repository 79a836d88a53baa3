import{a as ve}from"./chunk-5VDGOZDF.js";import{c as Me,e as Ae,f as Te}from"./chunk-IUF47GU2.js";import"./chunk-IXPAAYGW.js";import{c as Se}from"./chunk-2SZUEHJ2.js";import{$ as $e,Ca as we,G as E,Ga as v,H as I,Ha as ke,J as M,M as U,R as X,T as L,Y as me,Z as S,b as g,c as x,e as b,f as T,ja as he,k as s,m as le,ma as q,oa as $,q as ce,ra as fe,s as k,sa as ge,ua as xe,v as de,w as ue,xa as be,ya as f,z as pe,za as ye}from"./chunk-HGW6AYR2.js";var F={path:["_model"]},at=5;async function st(e,t){let{status:o,text:n,headers:a}=await M({...F,headers:t?{"If-None-Match":t}:{},signal:e});if(o!==304)return{model:ce(le(n)),etag:a.get("ETag")??"",position:a.get("Fanfold-Position")??""}}async function Ee(e){let{text:t,headers:o}=await M({...F,headers:{Accept:"application/yaml"},signal:e});return{text:t,etag:o.get("ETag")??""}}async function it(e){let t=new Map,o;for(let n=0;n<at;n++){let{collections:a,next:r}=await U({path:[],query:{limit:1e3,cursor:o},signal:e});for(let{name:i,documents:l}of a)t.set(i,l);if(!r)break;o=r}return t}var lt=e=>U({path:["_status"],signal:e});async function ct(e){try{return await M({path:["_model","_pending"],signal:e}),!0}catch(t){if(t instanceof I&&t.status===404)return!1;throw t}}var dt=5e3,ut=1e3,pt=1e3,mt=40,$t={etag:"",position:"",counts:new Map};function Pe(){let[e,t]=g($t),[o,n]=g(void 0),a=b(e),r=b(null),i=u=>{a.current={...a.current,...u},t(a.current)},l=async()=>{r.current?.abort();let u=new AbortController;r.current=u;try{await ht(a.current,i,u.signal),u.signal.aborted||n(void 0)}catch(h){u.signal.aborted||n(S(h))}finally{r.current===u&&(r.current=null)}};x(()=>{let u=()=>{!document.hidden&&!r.current&&l()},h=setInterval(u,e.pending?ut:dt);return document.addEventListener("visibilitychange",u),()=>{clearInterval(h),document.removeEventListener("visibilitychange",u)}},[e.pending]);let d=X.value;x(()=>(l(),()=>r.current?.abort()),[d]);let c=b(void 0);x(()=>()=>clearTimeout(c.current),[]);let m=e.model?Object.keys(e.model.collections??{}).slice(0,mt):[];return Se(m,e.position,()=>{c.current??=setTimeout(()=>{c.current=void 0,l()},pt)}),{shown:e,problem:o,again:l,cancel:()=>{r.current?.abort(),n(me())}}}async function ht(e,t,o){let n=await st(o,e.etag);o.throwIfAborted(),n&&t(n);let[a,r]=await Promise.all([it(o),L("monitor")?lt(o):void 0]),i=await ft(e.pending,r,o);o.throwIfAborted(),t({counts:a,status:r,pending:i})}async function ft(e,t,o){return e||(t?t.preparing!==void 0:X.value!==null&&e===void 0)?ct(o):t?!1:e}var gt={derive:"rule",relations:"relation",indexes:"index",unique:"unique in",schema:"schema of",access:"access to",trigger:"trigger of",pages:"pages of",release:"released path of"},xt={"fanout.limit":"the limit of derived changes (fanout.limit)","embedded.limit":"the limit of an embedded document (embedded.limit)",open:"whether undeclared collections are open (open)"},Oe={added:"New",removed:"Gone",changed:"Changed"};function Y({path:e}){if(e==="")return"more declarations";let[t,o,n,...a]=e.split(".");if(t==="functions"&&o!==void 0)return(n===void 0?"":n+" of ")+"function "+o;if(t!=="collections"||o===void 0)return xt[e]??e;if(n===void 0)return"collection "+o;let r=a.join("."),i=n==="relations"?/^(.+)\.(onDelete|strict)$/.exec(r):null;return i?`${i[2]} of relation ${o}.${i[1]}`:`${gt[n]??n} ${o}${r&&"."+r}`}function J({path:e,change:t,detail:o=""}){let[n,a]=o.split(", was ",2);return t==="changed"&&e.includes(".derive.")&&n===a?"it keeps no values any more that nobody can compute again":o}var Ce=e=>e.filter(({path:t})=>/^collections\.[^.]+\.access$/.test(t)).flatMap(({path:t,detail:o=""})=>{let n=t.split(".")[1];return(o.startsWith(n+": ")?o.slice(n.length+2):o).split("; ").filter(r=>r!=="").map(r=>({opens:!/ may not /.test(r),collection:n,text:r}))});function Re(e){let t=e.filter(n=>n.removes),o=t.filter(n=>n.path!=="").length;return{removals:t,count:o<t.length?`${o} and more`:String(t.length)}}var bt=["count","sum","min","avg","ids"],j=e=>Object.entries(e??{});function Le(e){let t=j(e?.collections),o=t.flatMap(([r,i])=>j(i?.relations).map(([l,d])=>({key:r+"."+l,collection:r,name:l,path:String(d.path),to:String(d.to),onDelete:String(d.onDelete??"clear"),strict:d.strict===!0,rules:[]}))),n=new Map(o.map(r=>[r.key,r])),a=t.flatMap(([r,i])=>j(i?.derive).map(([l,d])=>wt(r,l,d,n)));for(let r of a)n.get(r.by)?.rules.push(r);return{relations:o,rules:a,functions:yt(e,t)}}var yt=(e,t)=>j(e?.functions).map(([o,n])=>({name:o,call:n.call??["write"],reads:n.reads??[],triggers:t.filter(([,a])=>a?.trigger===o).map(([a])=>a),authority:n.authority==="model",source:String(n.source)}));function wt(e,t,o,n){let a=e+"."+t;if(o.copy!==void 0){let c=e+"."+o.copy;return{name:a,collection:e,path:t,kind:o.frozen?"frozen copy":"copy",from:n.get(c)?.to??"",by:c,says:String(o.value)}}let r=o.recent!==void 0?"recent":bt.find(c=>o[c]!==void 0)??(o.max!==void 0?"max":"");if(r==="")return{name:a,collection:e,path:t,kind:"computed",from:e,by:"",says:String(o.value)};let i=String(o[r]),l=typeof o.orderBy=="object"?"_meta."+o.orderBy?._meta:o.orderBy,d=[o.of,o.fields?.join(", "),l&&"order by "+l,o.where&&"where "+o.where].filter(Boolean).join("; ");return i.includes("[]")?{name:a,collection:e,path:t,kind:r,from:e,by:"",says:[i,d].filter(Boolean).join("; ")}:{name:a,collection:e,path:t,kind:r,from:i.slice(0,i.indexOf(".")),by:i,says:d}}function qe(e){if(!e)return;let t=new Map((e.ruleErrors??[]).map(n=>[n.rule,n])),o=new Map((e.omitted??[]).map(n=>[n.rule,n.documents]));return n=>({failed:t.get(n),withoutRoom:o.get(n)})}var W=({failed:e,withoutRoom:t})=>e!==void 0||t!==void 0,Ie=50;function Fe({differences:e}){let[t,o]=g(!1),n=Ce(e),a=t?e:e.slice(0,Ie);return s`${e.length>0&&s`<h4>Differences</h4><ul aria-label="Differences" class="documents">${a.map(r=>s`<li>
      <strong>${Oe[r.change]??r.change}</strong>: <${$} text=${Y(r)} max=${200} />${r.detail&&s` <span
        class="detail"><${$} text=${J(r)} max=${500} /></span>`}</li>`)}</ul>`}
    ${a.length<e.length&&s`<button type="button" class="small"
      onClick=${()=>o(!0)}>Show ${e.length-Ie} more differences</button>`}
    ${n.length>0&&s`<h4>Access</h4><ul aria-label="Access" class="documents">${n.map(r=>s`<li>
      <strong>${r.opens?"Opens":"Closes"}</strong> <${$} text=${r.collection} max=${100} />: <${$} text=${r.text}
        max=${300} /></li>`)}</ul>`}`}function je({differences:e,sure:t,onSure:o}){let{removals:n,count:a}=Re(e);return n.length===0?null:s`<div class="removals"><label class="box"><input type="checkbox" checked=${t}
    onChange=${r=>o(r.target.checked)} />
    ${" "}Remove ${a==="1"?"1 rule or guard":`${a} rules and guards`}</label>
    <ul aria-label="What goes" class="documents">${n.map(r=>s`<li><${$} text=${Y(r)} max=${200} />
      ${r.change==="changed"&&s` <span class="quiet"><${$} text=${J(r)} max=${200} /></span>`}</li>`)}</ul></div>`}var vt={waiting:"Waiting",copying:"Copying pages",computing:"Computing documents",following:"Following what was written meanwhile",ready:"Ready to apply",failed:"It failed"};function We({pending:e,status:t,mayEdit:o,onChanged:n}){let a=b(0),[r,i]=g(void 0),l=t?.preparing;l&&(a.current=l.model);let d=!e&&a.current>0&&t?.withdrawn?.model===a.current?t.withdrawn.reason:"",c=async()=>{try{await M({method:"DELETE",path:["_model","_pending"]}),i(void 0)}catch(m){i(S(m))}n()};return s`<div role="status">${d&&s`<p>The model that was being prepared does not come: <${$} text=${d} max=${500} />
    </p>`}</div>
    ${e&&s`<section aria-label="Preparation" class="origin"><h2>A model is being prepared</h2>
      ${l?s`<p>${vt[l.phase]??l.phase}${l.total>0&&s`: ${f(l.done)} of ${f(l.total)} <progress
            aria-label="Preparation" max=${l.total} value=${l.done}></progress>`}</p>
        <p class="quiet">${f(l.changes)} documents change, as far as is
          known.${l.waitingFor?.length>0&&s` It waits for <${$} text=${l.waitingFor.join(", ")} max=${300} />.`}</p>
        ${l.error&&s`<p class="wrong"><${$} text=${l.error} max=${1e3} /></p>`}`:s`<p class="quiet">It applies once all nodes have prepared it.</p>`}
      ${o&&s`<p class="actions"><button type="button" onClick=${c}>Withdraw</button></p>`}
    </section>`}
    <${v} problem=${r} />`}function Ge({preview:e,isSame:t,sure:o,onSure:n}){let{differences:a,rules:r,unique:i=[],indexes:l=[],changes:d,problems:c=[],misfits:m=[],kept:p=[],warnings:u=[]}=e;return s`<section aria-label="What this model changes" class="model-preview">
    <h3>What this model changes</h3>
    <p class="sentence">${a.length===0?"Nothing: the model that applies says the same.":`${ee(a.length,"difference")}; ${ee(d,"document")} of other values`}</p>
    ${c.length>0&&s`<div role="alert" class="problem"><strong>It cannot be applied</strong><ul
      aria-label="What stands in its way">${c.map(h=>s`<${De} of=${h} />`)}</ul></div>`}
    <${je} differences=${a} sure=${o} onSure=${n} />
    <${Et} misfits=${m} />
    ${u.length>0&&s`<h4>Warnings</h4><ul aria-label="Warnings" class="documents">
      ${u.slice(0,100).map(h=>s`<${De} of=${h} />`)}</ul>`}
    <${Fe} differences=${a} />
    <${Mt} rules=${r??[]} unique=${i} />
    <${Be} indexes=${l} />
    <${St} kept=${p} />
  </section>`}var ee=(e,t)=>`${f(e)} ${t}${e===1?"":"s"}`,De=({of:{path:e,detail:t}})=>s`<li>${e&&s`<code><${$} text=${e} max=${200} /></code>: `}<${$} text=${t} max=${1e3} /></li>`,kt={lost:"are lost for good",reserved:"stay stored, and do not show",restored:"show again"};function St({kept:e}){return e.length===0?null:s`<h4>Values that nobody can compute again</h4><ul aria-label="Values that nobody can compute again" class="documents">${e.slice(0,100).map(t=>s`<li>
    ${ee(t.values,t.kind+" value")} of <code><${$} text=${t.rule} max=${200} />
      </code> ${kt[t.outcome]??t.outcome}</li>`)}</ul>`}var Q=200;function Mt({rules:e,unique:t}){let o=[...e.filter(n=>n.change!=="same"||n.documents>0).map(n=>({...n,name:n.rule})),...t.filter(n=>n.change!=="same").map(n=>({...n,name:`${n.collection} unique ${n.unique}`,documents:void 0,hides:void 0}))];return o.length===0?null:s`<h4>By rule</h4><div class="scroll"><table aria-label="By rule" class="dense">
    <thead><tr><th scope="col">Rule</th><th scope="col">Change</th><th scope="col" class="number">Documents</th><th
      scope="col">Without a value</th></tr></thead>
    <tbody>${o.slice(0,Q).map(n=>s`<tr key=${n.name}>
      <td><code><${$} text=${n.name} max=${200} /></code>${n.hides&&n.hides.length>0&&s`<div
        class="quiet">hides a member of <${D} document=${n.hides[0]} /></div>`}</td>
      <td>${n.change}</td>
      <td class="number">${n.documents!==void 0&&f(n.documents)}</td>
      <td>${(n.evaluations??[]).map(a=>s`<${At} key=${a.part} of=${a} />`)}</td></tr>`)}</tbody>
  </table></div>${o.length>Q&&s`<p class="quiet">and ${f(o.length-Q)} more</p>`}`}var At=({of:{part:e,evaluated:t,noValue:o,document:n,reason:a}})=>s`<div><${$} text=${e} max=${60} />: ${o===0?s`<span class="quiet">none of ${f(t)}</span>`:s`<strong class=${o===t?"wrong":void 0}>
        ${o===t?`all ${f(t)}`:`${f(o)} of ${f(t)}`}</strong>
          ${n&&s`, as <${D} document=${n} />`}
    ${a&&s` <span class="quiet"><${$} text=${a} max=${300} /></span>`}`}</div>`,Tt=5;function Et({misfits:e}){return e.length===0?null:s`<div role="alert" class="problem"><strong>Documents do not fit the schema</strong>
    <ul aria-label="Documents that do not fit" class="documents">${e.flatMap(t=>t.first.slice(0,Tt).map(o=>s`<li key=${o.document}><${D} document=${o.document} />:
      <${$} text=${o.problems.map(n=>(n.path+" "+n.detail).trim()).join("; ")} max=${300} /></li>`))}</ul>
    <p>${e.map(t=>`${f(t.documents)} in ${t.collection}`).join(", ")}. Mend them, or apply the model by <code>fanfold
      model apply --allow-misfits</code>.</p></div>`}var Z=100;function Ne({problem:e,text:t,box:o}){if(!e||e.status===412)return null;let n=Array.isArray(e.of.problems)?e.of.problems:[],a=n.length===0&&e.of.line?[{...e.of,path:""}]:n;return s`<${v} problem=${Me(e)}>
    ${a.length>0&&s`<ul class="mistakes" aria-label="Mistakes">${a.slice(0,Z).map(r=>s`<li><${Pt} of=${r} text=${t} box=${o} />
      ${r.path&&s`<code><${$} text=${String(r.path)} max=${200} /></code> `}<${$} text=${String(r.detail??"")}
        max=${1e3} /></li>`)}
      ${a.length>Z&&s`<li class="quiet">and ${a.length-Z} more</li>`}</ul>`}<//>`}function Pt({of:{line:e,column:t},text:o,box:n}){return e?s`<button type="button" class="plain" onClick=${()=>{if(!n.current)return;let r=he(o,e,t??1),i=o.indexOf(`
`,r);xe(n.current,r,i<0?o.length:i)}}>line ${e}, column ${t??1}</button>: `:null}function _e({onApplied:e,onStale:t}){let[o,n]=g({phase:"idle"}),a=b(new AbortController);x(()=>()=>a.current.abort(),[]);let r=async(i,{text:l,etag:d,preview:c},m)=>{a.current.abort();let p=new AbortController;a.current=p;let u=i==="applying"?{text:l,etag:d,preview:c}:void 0;n({phase:i,previewed:u});try{let[h,w]=i==="merging"?["PATCH","application/merge-patch+json"]:["PUT","application/yaml"],y={method:h,path:["_model"],query:u?{}:{dryRun:!0},headers:{"Content-Type":w,"If-Match":d},body:l},N=B=>{p.signal.aborted||n(H=>({...H,work:B}))},_=await $e(y,{signal:p.signal,onWork:N,ends:!u});p.signal.aborted||m(_)}catch(h){if(p.signal.aborted)return;let w=S(h);n({phase:"idle",problem:w,text:l,previewed:w.status===412?void 0:u}),w.status===412&&t()}};return{state:o,preview:(i,l)=>r("previewing",{text:i,etag:l,preview:null},({body:d})=>n({phase:"idle",previewed:{text:i,etag:l,preview:d}})),merge:(i,l,d)=>r("merging",{text:i,etag:l,preview:null},({body:c})=>{n({phase:"idle",previewed:{text:c.merged,etag:l,preview:c}}),d(c.merged)}),apply:()=>o.previewed&&r("applying",o.previewed,({body:i})=>{n({phase:"idle",applied:i??{}}),o.previewed&&e(o.previewed.text)}),stop:()=>{a.current.abort(),n({phase:"idle"})},forget:()=>n(i=>i.phase==="idle"&&(i.previewed||i.problem)?{phase:"idle"}:i)}}function He({etag:e,suggest:t,isDrafted:o,pending:n,onChanged:a}){let r=b(null),[i,l]=g(""),{base:d,theirs:c,problem:m,again:p,takeTheirs:u,applied:h,against:w}=Ve(e,r),{state:y,preview:N,merge:_,apply:B,stop:H,forget:te}=_e({onApplied:z=>{h(z),(t!==null||o)&&ue(k(["_model"])),a()},onStale:a}),ne=It(t,d,y,(z,ot,rt)=>_(z,ot,K=>{r.current&&(r.current.value=K,l(K),rt(K),r.current.focus(),r.current.scrollIntoView({block:"center"}))})),oe=Lt(o,d,r,l),[re,ae]=g(!1);x(()=>ae(!1),[y.previewed]),x(te,[c]),x(()=>l(r.current?.value??""),[d]);let se=b("");if(se.current=d?.text??"",x(()=>pe(()=>r.current!==null&&r.current.value!==se.current&&r.current.value!==ne.put.current.text&&r.current.value!==oe.current),[]),!d)return s`<${v} problem=${m} again=${p} asked />`;let V=y.phase!=="idle",{previewed:A}=y,R=A!==void 0&&A.text===i,ie=()=>r.current?.value??"";return s`<section aria-label="Editor" class="model-editor"><h2>Edit</h2>
    ${ne.note}${o&&oe.current!==null&&s`<p>The proposal stands in the text.</p>`}
    <textarea class="document" aria-label="Model" ref=${r} defaultValue=${d.text}
      rows=${Math.min(30,Math.max(12,d.text.split(`
`,40).length+1))}
        readOnly=${y.phase==="applying"||y.phase==="merging"}
      onInput=${()=>l(ie())} spellcheck=${!1} autocomplete="off" autocapitalize="off"
        aria-invalid=${y.problem&&y.text===i?"true":void 0}></textarea>
    ${c&&s`<div role="alert" class="problem"><strong>Changed meanwhile</strong>
      <p>Another model applies than the one that this text was made from. A preview compares with the model of now: what only that one has
        is told as gone.</p>
      <button type="button" onClick=${()=>{u(),te()}}>Take theirs</button></div>`}
    <${v} problem=${m} again=${p} asked />
    <${Ne} problem=${y.problem} text=${y.text??""} box=${r} />
    <p class="actions"><button type="button" class=${R?"":"main"} aria-disabled=${V?"true":void 0}
      onClick=${V?void 0:()=>N(ie(),w())}>Preview</button>
      <button type="button" class=${R?"main":""} disabled=${!R||V||!Ot(A.preview,re)}
        onClick=${B}>Apply</button>
      ${(y.phase==="previewing"||y.phase==="merging")&&s`<button type="button" onClick=${H}>Stop</button>`}
      <span role="status" class="quiet">${Rt(y,i,n)}</span></p>
    ${A&&s`<${Ge} preview=${A.preview} isSame=${R} sure=${re} onSure=${ae} />`}
  </section>`}var Ot=(e,t)=>!e.problems?.length&&!e.misfits?.length&&e.differences.length>0&&(t||!e.differences.some(o=>o.removes)),Ct={merging:"Looking at what the suggestion changes",previewing:"Looking at what it changes",applying:"Applying it"};function Rt({phase:e,work:t,applied:o,previewed:n},a,r){return e!=="idle"?Ct[e]+(t&&t.total>0?`: ${t.phase}, ${f(t.done)} of ${f(t.total)}`:""):o?.applied?`It applies since ${o.position}: ${f(o.values)} values on ${f(o.documents)} documents changed.`:o&&r?"It is being prepared, and applies then.":n&&n.text!==a?"The text is another one than was previewed.":r&&n?"Another model is being prepared. Withdraw it, or wait for it.":""}function It(e,t,o,n){let a=b({patch:null,etag:""}),r=b({patch:null,text:""}),i=e!==null&&e.length>Te,l=o.problem?.status===412&&o.text===e;return x(()=>{!t||e===null||i||a.current.patch===e&&!(l&&a.current.etag!==t.etag)||(a.current={patch:e,etag:t.etag},n(e,t.etag,d=>{r.current={patch:e,text:d}}))},[t,e,l]),{note:e===null?null:qt(e,i,r.current.patch===e,a.current.patch===e&&o.phase!=="merging"),put:r}}function Lt(e,t,o,n){let a=b(null);return x(()=>{!e||!t||a.current!==null||E.value===null||!o.current||(a.current=E.value,o.current.value=E.value,n(E.value),o.current.focus(),o.current.setSelectionRange(0,0),o.current.scrollIntoView({block:"center"}))},[e,t]),a}function qt(e,t,o,n){return t?s`<p>The suggestion is longer than a place may be.</p>`:o?s`<p>The suggestion stands in the text.</p>`:n&&s`<p>The suggestion could not be put into the text. This is it, as a merge patch:</p><pre aria-label="Suggestion"><${$}
      text=${e} /></pre>`}function Xe({place:e,model:t,declared:o,counts:n,found:a}){let r=T(()=>Object.keys(t.collections??{}),[t]),i=e.params.get("collection")??"",l=r.length>P?r.includes(i)?i:Nt(r,o.relations):"",{names:d,left:c}=Gt(r,o.relations,n,l),m=_t(d,o,n,a),{layout:p,failed:u}=Ft(m,n.size>0&&r.length>0);return r.length===0?null:s`<div role="group" aria-label="Model graph" class="graph">
    <h2>Graph</h2>
    ${l!==""&&s`<${jt} place=${e} all=${r} chosen=${l} left=${c} />`}
    ${u&&s`<${v}
      problem=${new I(0,{title:"The graph cannot be drawn",detail:"The tables have the same."})} />`}
    <div class="scroll">${p&&s`<svg width=${p.width} height=${p.height} viewBox=${`0 0 ${p.width} ${p.height}`}>
      ${m.edges.map(h=>p.edges.has(h.relation.key)&&s`<${Wt} key=${h.relation.key} edge=${h}
        place=${p.edges.get(h.relation.key)} />`)}
      ${m.nodes.map(h=>p.nodes.has(h.name)&&s`<${Dt} key=${h.name} node=${h}
        place=${p.nodes.get(h.name)} chosen=${h.name===l} />`)}
    </svg>`}</div>
    <p class="quiet">An arrow leads where values go, and has the number of its rules; a dashed line has none. A triangle marks what fails:
      an error, no room, or no value
      anywhere. A double line is hot: ${Qe.toLocaleString("en")} documents or more take their values from one on average.
      Single documents may have more: their pages tell it.</p>
  </div>`}function Ft(e,t){let[o,n]=g({}),a=JSON.stringify([e.nodes.map(r=>[r.name,r.size]),e.edges.map(r=>[r.relation.key,r.relation.to,r.relation.rules.length,r.load>0,r.failing>0])]);return x(()=>{if(!t)return;let r=!1,l=setTimeout(async()=>{try{let d=await import("./dagre-LG7YM7WV.js");if(r)return;let c=performance.now(),m=Bt(d,e);performance.measure("model graph",{start:c}),n({layout:m})}catch(d){console.warn(d),r||n({failed:!0})}});return()=>{r=!0,clearTimeout(l)}},[a,t]),o}function jt({place:e,all:t,chosen:o,left:n}){return s`<p class="actions"><label>Around <select value=${o} onChange=${r=>{let i=new URLSearchParams(e.params);i.set("collection",r.target.value),de(k(e.parts,i))}}>${t.map(r=>s`<option key=${r}
    value=${r}><${$} text=${r} max=${100} /></option>`)}</select></label>
    <span class="quiet">with its neighbours, ${P-1} at most,
      of ${t.length.toLocaleString("en")} collections${n>0&&`; ${n.toLocaleString("en")} more have no place`}</span></p>`}var Ye=e=>q(e.length>G?e.slice(0,G)+"…":e);function Wt({edge:e,place:{x:t,y:o,points:n}}){let{relation:a,down:r,up:i,failing:l,load:d}=e,c=Ht(n),m=n.length-1,p=et({...e,relation:{...a,name:Ye(a.name)}}),u=[`${a.key} to ${a.to}`,Ze(a),l>0&&`${l} failing`,d>0&&`hot, ${d} documents each on average`].filter(Boolean).join(", ");return s`<g role="img" aria-label=${q(u)}
    class=${"edge"+(a.rules.length===0?" bare":"")+(l>0?" failing":"")+(d>0?" hot":"")}>
    <path class="line" d=${c} />${d>0&&s`<path class="core" d=${c} />`}
    ${r&&s`<path class="head" d=${Ue(n[m],n[m-1])} />`}
    ${i&&s`<path class="head" d=${Ue(n[0],n[1])} />`}
    <text class="label" x=${t+(l>0?8:0)} y=${o+4} text-anchor="middle">${p}</text>
    ${l>0&&s`<${Je} x=${t-p.length*3.3-2} y=${o} />`}
  </g>`}var Je=({x:e,y:t})=>s`<path class="warning" d=${`M${e},${t-8} l8,14 h-16 z`} /><text class="warning-sign" x=${e} y=${t+5}
    text-anchor="middle">!</text>`;function Dt({node:{name:e,documents:t,failing:o},place:{x:n,y:a,width:r,height:i},chosen:l}){let d=ye(t,"document"),c=`${e}, ${d}`+(o>0?`, ${o} failing`:"");return s`<a href=${k([e])} aria-label=${q(c)}
    class=${"node"+(o>0?" failing":"")+(l?" chosen":"")}>
    <rect x=${n-r/2} y=${a-i/2} width=${r} height=${i} rx="7" />
    <text class="name" x=${n} y=${a-3} text-anchor="middle">${Ye(e)}</text>${" "}
    <text class="count" x=${n} y=${a+14} text-anchor="middle">${d}</text>
    ${o>0&&s`<${Je} x=${n+r/2-12} y=${a-i/2+12} />`}
  </a>`}var P=40,Qe=1e3;function Gt(e,t,o,n){if(e.length<=P)return{names:e,left:0};let a=new Set(t.filter(l=>l.collection===n||l.to===n).flatMap(l=>[l.collection,l.to]));a.delete(n);let r=l=>o.get(l)??0,i=[...a].sort((l,d)=>r(d)-r(l)||(l<d?-1:1));return{names:[n,...i.slice(0,P-1)],left:Math.max(0,i.length-P+1)}}function Nt(e,t){let o=new Map;for(let n of t)for(let a of[n.collection,n.to])o.set(a,(o.get(a)??0)+1);return e.reduce((n,a)=>(o.get(a)??0)>(o.get(n)??0)?a:n,e[0])}function _t(e,{relations:t,rules:o},n,a){let r=new Set(e),i=c=>a?c.filter(m=>W(a(m.name))).length:0,l=e.map(c=>{let m=n.get(c)??0;return{name:c,documents:m,size:Math.min(8,Math.floor(Math.log10(m+1))),failing:i(o.filter(p=>p.collection===c))}}),d=t.filter(c=>r.has(c.collection)&&r.has(c.to)).map(c=>{let m=c.rules.some(u=>u.collection===c.collection),p=Math.round((n.get(c.collection)??0)/Math.max(1,n.get(c.to)??0));return{relation:c,down:m,up:c.rules.some(u=>u.collection===c.to&&u.kind!=="copy"),failing:i(c.rules),load:m&&p>=Qe?p:0}});return{nodes:l,edges:d}}var ze={name:8,label:6.6},G=28,Ke=e=>Math.min(G,e.length)+(e.length>G?1:0),Ze=({rules:e})=>e.length===1?"1 rule":e.length===0?"no rule":`${e.length} rules`,et=({relation:e,load:t})=>`${e.name} · ${Ze(e)}`+(t>0?` · hot, ${t.toLocaleString("en")} each on average`:"");function Bt(e,{nodes:t,edges:o}){let n=new e.Graph({multigraph:!0});n.setGraph({rankdir:"LR",nodesep:22,ranksep:46,edgesep:14,marginx:8,marginy:8});for(let{name:i,size:l}of t)n.setNode(i,{width:Math.max(Ke(i)*ze.name,100)+24+l*6,height:42+l*6});for(let i of o){let{relation:l}=i;n.setEdge(l.to,l.collection,{width:(Ke(l.name)+et(i).length-l.name.length)*ze.label+(i.failing?20:6),height:18,labelpos:"c"},l.name)}e.layout(n);let{width:a,height:r}=n.graph();return{width:a??0,height:r??0,nodes:new Map(t.map(({name:i})=>[i,n.node(i)])),edges:new Map(o.map(({relation:i})=>[i.key,n.edge(i.to,i.collection,i.name)]))}}function Ht(e){let t=a=>`${a.x.toFixed(1)},${a.y.toFixed(1)}`,o=(a,r)=>({x:(a.x+r.x)/2,y:(a.y+r.y)/2}),n=e.slice(1,-1).map((a,r)=>` Q${t(a)} ${t(o(a,e[r+2]))}`);return`M${t(e[0])} L${t(o(e[0],e[1]))}${n.join("")} L${t(e[e.length-1])}`}function Ue(e,t){let o=Math.hypot(e.x-t.x,e.y-t.y)||1,[n,a]=[(e.x-t.x)/o,(e.y-t.y)/o],r=i=>`${(e.x-10*n+i*5*a).toFixed(1)},${(e.y-10*a-i*5*n).toFixed(1)}`;return`M${e.x.toFixed(1)},${e.y.toFixed(1)} L${r(1)} L${r(-1)} Z`}function Xn({place:e}){let{shown:t,problem:o,again:n,cancel:a}=Pe(),{model:r,status:i,counts:l,etag:d,pending:c=!1}=t,m=L("admin"),p=T(()=>r&&Le(r),[r]),u=T(()=>qe(i),[i]);return s`<${v} problem=${o} again=${n} />
    <${ve} of=${{value:r,problem:o,cancel:a}}>${p&&s`<${We} pending=${c} status=${i} mayEdit=${m} onChanged=${n} />
      <${zt} relations=${p.relations} chosen=${e.params.get("relation")} />
      <${Kt} rules=${p.rules} found=${u} chosen=${e.params.get("rule")} />
      <${Vt} functions=${p.functions} />
      <${Xe} place=${e} model=${r} declared=${p} counts=${l} found=${u} />
      ${m&&!i?.readOnly&&s`<${He} etag=${d} suggest=${e.params.get("suggest")}
        isDrafted=${e.params.has("draft")} pending=${c} onChanged=${n} />`}`}<//>
    ${ke.value.some(({phase:h})=>h==="stored")&&s`<p><a
      href=${k(["_import"])}>Compare the imported files with the model that applies</a></p>`}
    <${we} asked=${F} />`}function Ve(e,t){let[o,n]=g(null),[a,r]=g(null),[i,l]=g(void 0),[d,c]=g(0),m=b(o);m.current=o,x(()=>{if(e===""||m.current?.etag===e)return;let u=new AbortController;return Ee(u.signal).then(h=>{let w=t.current?.value;l(void 0),m.current===null||w===void 0||w===m.current.text||w===h.text?p(h):r(h)}).catch(h=>{u.signal.aborted||l(S(h))}),()=>u.abort()},[e,d]);let p=u=>{t.current&&t.current.value!==u.text&&(t.current.value=u.text),m.current=u,n(u),r(null)};return{base:o,theirs:a,problem:i,again:()=>c(u=>u+1),takeTheirs:()=>{a&&p(a)},applied:u=>{o&&n({...o,text:u}),r(null)},against:()=>a?(n(a),r(null),a.etag):o?.etag??""}}function Vt({functions:e}){return e.length===0?null:s`<h2>Functions</h2>
    <${fe} label="Functions" head=${["Function","Called by","Reads","Trigger of",["Lines"]]}>${e.map(t=>s`<tr key=${t.name}>
      <td><${$} text=${t.name} max=${100} /></td>
      <td>${t.call.length===0?"admin":t.call.join(", ")}${t.authority&&s` <strong>may do everything</strong>`}</td>
      <td><${tt} names=${t.reads} /></td>
      <td><${tt} names=${t.triggers} /></td>
      <td class="number">${f(t.source.trimEnd().split(`
`).length)}</td></tr>`)}<//>
    ${e.map(t=>s`<details key=${t.name}><summary>Source of <${$} text=${t.name} max=${100} /></summary><pre>
      <code>${be(t.source,t.name,5e3)}</code></pre></details>`)}`}var tt=({names:e})=>e.map((t,o)=>s`${o>0&&", "}<${C} name=${t} />`);function Be({indexes:e}){return e.length===0?null:s`<h4>Indexes</h4><div class="scroll"><table aria-label="Indexes" class="dense">
    <thead><tr><th scope="col">Index</th><th scope="col">Change</th><th scope="col">Order</th><th scope="col" class="number">Entries</th><th
      scope="col" class="number">Bytes</th></tr></thead>
    <tbody>${e.map(t=>s`<tr key=${t.collection+"."+t.index+t.change}>
      <td><code><${$} text=${t.collection+"."+t.index} max=${200} /></code></td><td>${t.change}</td>
      <td><code><${$} text=${t.components.join(", ")} max=${300} /></code></td>
      <td class="number">${f(t.entries)}</td><td class="number">${t.bytes!==void 0&&f(t.bytes)}</td></tr>`)}</tbody>
  </table></div>`}var C=({name:e})=>s`<a href=${k([e])}><${$} text=${e} max=${100} /></a>`;function zt({relations:e,chosen:t}){let o=nt(t);return s`<h2 id="relations">Relations</h2>
    ${e.length===0?s`<p class="quiet">The model declares no relation.</p>`:s`<div class="scroll"><table aria-label="Relations" class="dense">
      <thead><tr><th scope="col">Collection</th><th scope="col">Relation</th><th scope="col">Path</th><th scope="col">To</th><th
        scope="col">On delete</th><th scope="col" class="number">Rules</th></tr></thead>
      <tbody>${e.map(n=>s`<tr key=${n.key} ...${n.key===t?o:{}}>
        <td><${C} name=${n.collection} /></td>
        <td><${$} text=${n.name} max=${100} /></td>
        <td><code><${$} text=${n.path} max=${200} /></code></td>
        <td><${C} name=${n.to} /></td>
        <td>${n.onDelete}${n.strict&&", strict"}</td>
        <td class="number">${f(n.rules.length)}</td></tr>`)}</tbody>
    </table></div>`}`}var O=100;function Kt({rules:e,found:t,chosen:o}){let[n,a]=g(O),r=e.findIndex(({name:c})=>c===o),i=Math.max(n,Math.ceil((r+1)/O)*O),l=nt(o),d=Math.min(O,e.length-i);return s`<h2>Rules</h2>
    ${e.length===0?s`<p class="quiet">The model declares no rule.</p>`:s`<div class="scroll"><table aria-label="Rules" class="dense">
      <thead><tr><th scope="col">Collection</th><th scope="col">Path</th><th scope="col">Kind</th><th scope="col">From</th><th
        scope="col">Expression</th>
        ${t&&s`<th scope="col">Error</th>`}</tr></thead>
      <tbody>${e.slice(0,i).map(c=>s`<${Ut} key=${c.name} rule=${c} found=${t?.(c.name)}
        shown=${c.name===o&&l} />`)}</tbody>
    </table></div>`}
    ${d>0&&s`<p><button type="button" class="small" onClick=${()=>a(i+O)}>Show ${d} more rules</button></p>`}`}function nt(e){let t=b(null);return x(()=>{t.current?.scrollIntoView({block:"center"}),t.current?.focus({preventScroll:!0})},[e]),{ref:t,class:"chosen",tabindex:-1}}function Ut({rule:e,found:t,shown:o}){let n=t&&W(t)?"failing":"";return s`<tr class=${n||void 0} ...${o&&{...o,class:`${n} chosen`.trim()}}>
    <td><${C} name=${e.collection} /></td>
    <td><code><${$} text=${e.path} max=${200} /></code></td>
    <td>${e.kind}</td>
    <td class="from">${e.by===""?s`<span class="quiet">itself</span>`:s`<${C} name=${e.from} /> <span
      class="quiet">by <${$} text=${e.by.slice(e.by.indexOf(".")+1)} max=${60} /></span>`}</td>
    <td><code><${$} text=${e.says} max=${200} /></code></td>
    ${t&&s`<td><${Yt} found=${t} /></td>`}
  </tr>`}function Xt({document:e}){let t=e.indexOf("/");return s`<${ge} collection=${e.slice(0,t)} id=${e.slice(t+1)} />`}function Yt({found:{failed:e,withoutRoom:t}}){return s`${e&&s`<strong class="wrong">${f(e.count)} failed</strong>, last <${Xt} document=${e.document} />
    <div class="quiet"><${$} text=${e.error} max=${300} /></div>`}
    ${t!==void 0&&s`<div><strong class="wrong">No room</strong> in ${f(t)} documents</div>`}`}function D({document:e}){let t=e.indexOf("/");return s`<${Ae} collection=${e.slice(0,t)} id=${e.slice(t+1)} />`}export{D as Apart,C as CollectionLink,Vt as Functions,Xn as ModelPage,Be as PreviewedIndexes,zt as Relations,Kt as Rules,Ve as useBase};
