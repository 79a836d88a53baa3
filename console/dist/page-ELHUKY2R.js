import{d as ke,e as Se,f as Me}from"./chunk-SHLDFFL3.js";import{c as ve}from"./chunk-RWN6LVXJ.js";import{Ca as v,D as E,Da as we,E as R,G as M,J as K,O as U,Q as I,V as S,X as me,b as g,c as x,e as b,f as T,fa as $e,ia as L,k as s,ka as $,m as le,na as he,oa as fe,q as ce,qa as ge,s as k,ta as xe,u as de,ua as f,v as ue,va as be,w as pe,ya as ye}from"./chunk-JCWJPE4V.js";var q={path:["_model"]},nt=5;async function ot(e,t){let{status:o,text:n,headers:a}=await M({...q,headers:t?{"If-None-Match":t}:{},signal:e});if(o!==304)return{model:ce(le(n)),etag:a.get("ETag")??"",position:a.get("Fanfold-Position")??""}}async function Ae(e){let{text:t,headers:o}=await M({...q,headers:{Accept:"application/yaml"},signal:e});return{text:t,etag:o.get("ETag")??""}}async function rt(e){let t=new Map,o;for(let n=0;n<nt;n++){let{collections:a,next:r}=await K({path:[],query:{limit:1e3,cursor:o},signal:e});for(let{name:l,documents:i}of a)t.set(l,i);if(!r)break;o=r}return t}var at=e=>K({path:["_status"],signal:e});async function st(e){try{return await M({path:["_model","_pending"],signal:e}),!0}catch(t){if(t instanceof R&&t.status===404)return!1;throw t}}var it=5e3,lt=1e3,ct=1e3,dt=40,ut={etag:"",position:"",counts:new Map};function Te(){let[e,t]=g(ut),[o,n]=g(void 0),a=b(e),r=b(null),l=u=>{a.current={...a.current,...u},t(a.current)},i=async()=>{r.current?.abort();let u=new AbortController;r.current=u;try{await pt(a.current,l,u.signal),u.signal.aborted||n(void 0)}catch(m){u.signal.aborted||n(S(m))}finally{r.current===u&&(r.current=null)}};x(()=>{let u=()=>{!document.hidden&&!r.current&&i()},m=setInterval(u,e.pending?lt:it);return document.addEventListener("visibilitychange",u),()=>{clearInterval(m),document.removeEventListener("visibilitychange",u)}},[e.pending]);let c=U.value;x(()=>(i(),()=>r.current?.abort()),[c]);let d=b(void 0);x(()=>()=>clearTimeout(d.current),[]);let p=e.model?Object.keys(e.model.collections??{}).slice(0,dt):[];return ve(p,e.position,()=>{d.current??=setTimeout(()=>{d.current=void 0,i()},ct)}),{shown:e,problem:o,again:i}}async function pt(e,t,o){let n=await ot(o,e.etag);o.throwIfAborted(),n&&t(n);let[a,r]=await Promise.all([rt(o),I("monitor")?at(o):void 0]),l=await mt(e.pending,r,o);o.throwIfAborted(),t({counts:a,status:r,pending:l})}async function mt(e,t,o){return e||(t?t.preparing!==void 0:U.value!==null&&e===void 0)?st(o):t?!1:e}var $t={derive:"rule",relations:"relation",indexes:"index",unique:"unique in",schema:"schema of",access:"access to",trigger:"trigger of",pages:"pages of",release:"released path of"},ht={"fanout.limit":"the limit of derived changes (fanout.limit)","embedded.limit":"the limit of an embedded document (embedded.limit)",open:"whether undeclared collections are open (open)"},Ee={added:"New",removed:"Gone",changed:"Changed"};function X({path:e}){if(e==="")return"more declarations";let[t,o,n,...a]=e.split(".");if(t==="functions"&&o!==void 0)return(n===void 0?"":n+" of ")+"function "+o;if(t!=="collections"||o===void 0)return ht[e]??e;if(n===void 0)return"collection "+o;let r=a.join("."),l=n==="relations"?/^(.+)\.(onDelete|strict)$/.exec(r):null;return l?`${l[2]} of relation ${o}.${l[1]}`:`${$t[n]??n} ${o}${r&&"."+r}`}function Y({path:e,change:t,detail:o=""}){let[n,a]=o.split(", was ",2);return t==="changed"&&e.includes(".derive.")&&n===a?"it keeps no values any more that nobody can compute again":o}var Pe=e=>e.filter(({path:t})=>/^collections\.[^.]+\.access$/.test(t)).flatMap(({path:t,detail:o=""})=>{let n=t.split(".")[1];return(o.startsWith(n+": ")?o.slice(n.length+2):o).split("; ").filter(r=>r!=="").map(r=>({opens:!/ may not /.test(r),collection:n,text:r}))});function Oe(e){let t=e.filter(n=>n.removes),o=t.filter(n=>n.path!=="").length;return{removals:t,count:o<t.length?`${o} and more`:String(t.length)}}var ft=["count","sum","min","avg","ids"],F=e=>Object.entries(e??{});function Re(e){let t=F(e?.collections),o=t.flatMap(([r,l])=>F(l?.relations).map(([i,c])=>({key:r+"."+i,collection:r,name:i,path:String(c.path),to:String(c.to),onDelete:String(c.onDelete??"clear"),strict:c.strict===!0,rules:[]}))),n=new Map(o.map(r=>[r.key,r])),a=t.flatMap(([r,l])=>F(l?.derive).map(([i,c])=>xt(r,i,c,n)));for(let r of a)n.get(r.by)?.rules.push(r);return{relations:o,rules:a,functions:gt(e,t)}}var gt=(e,t)=>F(e?.functions).map(([o,n])=>({name:o,call:n.call??["write"],reads:n.reads??[],triggers:t.filter(([,a])=>a?.trigger===o).map(([a])=>a),authority:n.authority==="model",source:String(n.source)}));function xt(e,t,o,n){let a=e+"."+t;if(o.copy!==void 0){let d=e+"."+o.copy;return{name:a,collection:e,path:t,kind:o.frozen?"frozen copy":"copy",from:n.get(d)?.to??"",by:d,says:String(o.value)}}let r=o.recent!==void 0?"recent":ft.find(d=>o[d]!==void 0)??(o.max!==void 0?"max":"");if(r==="")return{name:a,collection:e,path:t,kind:"computed",from:e,by:"",says:String(o.value)};let l=String(o[r]),i=typeof o.orderBy=="object"?"_meta."+o.orderBy?._meta:o.orderBy,c=[o.of,o.fields?.join(", "),i&&"order by "+i,o.where&&"where "+o.where].filter(Boolean).join("; ");return l.includes("[]")?{name:a,collection:e,path:t,kind:r,from:e,by:"",says:[l,c].filter(Boolean).join("; ")}:{name:a,collection:e,path:t,kind:r,from:l.slice(0,l.indexOf(".")),by:l,says:c}}function Ie(e){if(!e)return;let t=new Map((e.ruleErrors??[]).map(n=>[n.rule,n])),o=new Map((e.omitted??[]).map(n=>[n.rule,n.documents]));return n=>({failed:t.get(n),withoutRoom:o.get(n)})}var j=({failed:e,withoutRoom:t})=>e!==void 0||t!==void 0,Ce=50;function Le({differences:e}){let[t,o]=g(!1),n=Pe(e),a=t?e:e.slice(0,Ce);return s`${e.length>0&&s`<h4>Differences</h4><ul aria-label="Differences" class="documents">${a.map(r=>s`<li>
      <strong>${Ee[r.change]??r.change}</strong>: <${$} text=${X(r)} max=${200} />${r.detail&&s` <span
        class="detail"><${$} text=${Y(r)} max=${500} /></span>`}</li>`)}</ul>`}
    ${a.length<e.length&&s`<button type="button" class="small"
      onClick=${()=>o(!0)}>Show ${e.length-Ce} more differences</button>`}
    ${n.length>0&&s`<h4>Access</h4><ul aria-label="Access" class="documents">${n.map(r=>s`<li>
      <strong>${r.opens?"Opens":"Closes"}</strong> <${$} text=${r.collection} max=${100} />: <${$} text=${r.text}
        max=${300} /></li>`)}</ul>`}`}function qe({differences:e,sure:t,onSure:o}){let{removals:n,count:a}=Oe(e);return n.length===0?null:s`<div class="removals"><label class="box"><input type="checkbox" checked=${t}
    onChange=${r=>o(r.target.checked)} />
    ${" "}Remove ${a==="1"?"1 rule or guard":`${a} rules and guards`}</label>
    <ul aria-label="What goes" class="documents">${n.map(r=>s`<li><${$} text=${X(r)} max=${200} />
      ${r.change==="changed"&&s` <span class="quiet"><${$} text=${Y(r)} max=${200} /></span>`}</li>`)}</ul></div>`}var bt={waiting:"Waiting",copying:"Copying pages",computing:"Computing documents",following:"Following what was written meanwhile",ready:"Ready to apply",failed:"It failed"};function Fe({pending:e,status:t,mayEdit:o,onChanged:n}){let a=b(0),[r,l]=g(void 0),i=t?.preparing;i&&(a.current=i.model);let c=!e&&a.current>0&&t?.withdrawn?.model===a.current?t.withdrawn.reason:"",d=async()=>{try{await M({method:"DELETE",path:["_model","_pending"]}),l(void 0)}catch(p){l(S(p))}n()};return s`<div role="status">${c&&s`<p>The model that was being prepared does not come: <${$} text=${c} max=${500} />
    </p>`}</div>
    ${e&&s`<section aria-label="Preparation" class="origin"><h2>A model is being prepared</h2>
      ${i?s`<p>${bt[i.phase]??i.phase}${i.total>0&&s`: ${f(i.done)} of ${f(i.total)} <progress
            aria-label="Preparation" max=${i.total} value=${i.done}></progress>`}</p>
        <p class="quiet">${f(i.changes)} documents change, as far as is
          known.${i.waitingFor?.length>0&&s` It waits for <${$} text=${i.waitingFor.join(", ")} max=${300} />.`}</p>
        ${i.error&&s`<p class="wrong"><${$} text=${i.error} max=${1e3} /></p>`}`:s`<p class="quiet">It applies once all nodes have prepared it.</p>`}
      ${o&&s`<p class="actions"><button type="button" onClick=${d}>Withdraw</button></p>`}
    </section>`}
    <${v} problem=${r} />`}function We({preview:e,isSame:t,sure:o,onSure:n}){let{differences:a,rules:r,unique:l=[],indexes:i=[],changes:c,problems:d=[],misfits:p=[],kept:u=[],warnings:m=[]}=e;return s`<section aria-label="What this model changes" class="model-preview">
    <h3>What this model changes</h3>
    <p class="sentence">${a.length===0?"Nothing: the model that applies says the same.":`${Z(a.length,"difference")}; ${Z(c,"document")} of other values`}</p>
    ${d.length>0&&s`<div role="alert" class="problem"><strong>It cannot be applied</strong><ul
      aria-label="What stands in its way">${d.map(h=>s`<${je} of=${h} />`)}</ul></div>`}
    <${qe} differences=${a} sure=${o} onSure=${n} />
    <${Mt} misfits=${p} />
    ${m.length>0&&s`<h4>Warnings</h4><ul aria-label="Warnings" class="documents">
      ${m.slice(0,100).map(h=>s`<${je} of=${h} />`)}</ul>`}
    <${Le} differences=${a} />
    <${vt} rules=${r??[]} unique=${l} />
    <${Ne} indexes=${i} />
    <${wt} kept=${u} />
  </section>`}var Z=(e,t)=>`${f(e)} ${t}${e===1?"":"s"}`,je=({of:{path:e,detail:t}})=>s`<li>${e&&s`<code><${$} text=${e} max=${200} /></code>: `}<${$} text=${t} max=${1e3} /></li>`,yt={lost:"are lost for good",reserved:"stay stored, and do not show",restored:"show again"};function wt({kept:e}){return e.length===0?null:s`<h4>Values that nobody can compute again</h4><ul aria-label="Values that nobody can compute again" class="documents">${e.slice(0,100).map(t=>s`<li>
    ${Z(t.values,t.kind+" value")} of <code><${$} text=${t.rule} max=${200} />
      </code> ${yt[t.outcome]??t.outcome}</li>`)}</ul>`}var J=200;function vt({rules:e,unique:t}){let o=[...e.filter(n=>n.change!=="same"||n.documents>0).map(n=>({...n,name:n.rule})),...t.filter(n=>n.change!=="same").map(n=>({...n,name:`${n.collection} unique ${n.unique}`,documents:void 0,hides:void 0}))];return o.length===0?null:s`<h4>By rule</h4><div class="scroll"><table aria-label="By rule" class="dense">
    <thead><tr><th scope="col">Rule</th><th scope="col">Change</th><th scope="col" class="number">Documents</th><th
      scope="col">Without a value</th></tr></thead>
    <tbody>${o.slice(0,J).map(n=>s`<tr key=${n.name}>
      <td><code><${$} text=${n.name} max=${200} /></code>${n.hides&&n.hides.length>0&&s`<div
        class="quiet">hides a member of <${W} document=${n.hides[0]} /></div>`}</td>
      <td>${n.change}</td>
      <td class="number">${n.documents!==void 0&&f(n.documents)}</td>
      <td>${(n.evaluations??[]).map(a=>s`<${kt} key=${a.part} of=${a} />`)}</td></tr>`)}</tbody>
  </table></div>${o.length>J&&s`<p class="quiet">and ${f(o.length-J)} more</p>`}`}var kt=({of:{part:e,evaluated:t,noValue:o,document:n,reason:a}})=>s`<div><${$} text=${e} max=${60} />: ${o===0?s`<span class="quiet">none of ${f(t)}</span>`:s`<strong class=${o===t?"wrong":void 0}>
        ${o===t?`all ${f(t)}`:`${f(o)} of ${f(t)}`}</strong>
          ${n&&s`, as <${W} document=${n} />`}
    ${a&&s` <span class="quiet"><${$} text=${a} max=${300} /></span>`}`}</div>`,St=5;function Mt({misfits:e}){return e.length===0?null:s`<div role="alert" class="problem"><strong>Documents do not fit the schema</strong>
    <ul aria-label="Documents that do not fit" class="documents">${e.flatMap(t=>t.first.slice(0,St).map(o=>s`<li key=${o.document}><${W} document=${o.document} />:
      <${$} text=${o.problems.map(n=>(n.path+" "+n.detail).trim()).join("; ")} max=${300} /></li>`))}</ul>
    <p>${e.map(t=>`${f(t.documents)} in ${t.collection}`).join(", ")}. Mend them, or apply the model by <code>fanfold
      model apply --allow-misfits</code>.</p></div>`}var Q=100;function De({problem:e,text:t,box:o}){if(!e||e.status===412)return null;let n=Array.isArray(e.of.problems)?e.of.problems:[],a=n.length===0&&e.of.line?[{...e.of,path:""}]:n;return s`<${v} problem=${ke(e)}>
    ${a.length>0&&s`<ul class="mistakes" aria-label="Mistakes">${a.slice(0,Q).map(r=>s`<li><${At} of=${r} text=${t} box=${o} />
      ${r.path&&s`<code><${$} text=${String(r.path)} max=${200} /></code> `}<${$} text=${String(r.detail??"")}
        max=${1e3} /></li>`)}
      ${a.length>Q&&s`<li class="quiet">and ${a.length-Q} more</li>`}</ul>`}<//>`}function At({of:{line:e,column:t},text:o,box:n}){return e?s`<button type="button" class="plain" onClick=${()=>{if(!n.current)return;let r=$e(o,e,t??1),l=o.indexOf(`
`,r);ge(n.current,r,l<0?o.length:l)}}>line ${e}, column ${t??1}</button>: `:null}function Ge({onApplied:e,onStale:t}){let[o,n]=g({phase:"idle"}),a=b(new AbortController);x(()=>()=>a.current.abort(),[]);let r=async(l,{text:i,etag:c,preview:d},p)=>{a.current.abort();let u=new AbortController;a.current=u;let m=l==="applying"?{text:i,etag:c,preview:d}:void 0;n({phase:l,previewed:m});try{let[h,w]=l==="merging"?["PATCH","application/merge-patch+json"]:["PUT","application/yaml"],y={method:h,path:["_model"],query:m?{}:{dryRun:!0},headers:{"Content-Type":w,"If-Match":c},body:i},G=_=>{u.signal.aborted||n(B=>({...B,work:_}))},N=await me(y,{signal:u.signal,onWork:G,ends:!m});u.signal.aborted||p(N)}catch(h){if(u.signal.aborted)return;let w=S(h);n({phase:"idle",problem:w,text:i,previewed:w.status===412?void 0:m}),w.status===412&&t()}};return{state:o,preview:(l,i)=>r("previewing",{text:l,etag:i,preview:null},({body:c})=>n({phase:"idle",previewed:{text:l,etag:i,preview:c}})),merge:(l,i,c)=>r("merging",{text:l,etag:i,preview:null},({body:d})=>{n({phase:"idle",previewed:{text:d.merged,etag:i,preview:d}}),c(d.merged)}),apply:()=>o.previewed&&r("applying",o.previewed,({body:l})=>{n({phase:"idle",applied:l??{}}),o.previewed&&e(o.previewed.text)}),stop:()=>{a.current.abort(),n({phase:"idle"})},forget:()=>n(l=>l.phase==="idle"&&(l.previewed||l.problem)?{phase:"idle"}:l)}}function _e({etag:e,suggest:t,isDrafted:o,pending:n,onChanged:a}){let r=b(null),[l,i]=g(""),{base:c,theirs:d,problem:p,again:u,takeTheirs:m,applied:h,against:w}=Be(e,r),{state:y,preview:G,merge:N,apply:_,stop:B,forget:te}=Ge({onApplied:z=>{h(z),(t!==null||o)&&ue(k(["_model"])),a()},onStale:a}),ne=Ot(t,c,y,(z,et,tt)=>N(z,et,V=>{r.current&&(r.current.value=V,i(V),tt(V),r.current.focus(),r.current.scrollIntoView({block:"center"}))})),oe=Ct(o,c,r,i),[re,ae]=g(!1);x(()=>ae(!1),[y.previewed]),x(te,[d]),x(()=>i(r.current?.value??""),[c]);let se=b("");if(se.current=c?.text??"",x(()=>pe(()=>r.current!==null&&r.current.value!==se.current&&r.current.value!==ne.put.current.text&&r.current.value!==oe.current),[]),!c)return s`<${v} problem=${p} again=${u} asked />`;let H=y.phase!=="idle",{previewed:A}=y,C=A!==void 0&&A.text===l,ie=()=>r.current?.value??"";return s`<section aria-label="Editor" class="model-editor"><h2>Edit</h2>
    ${ne.note}${o&&oe.current!==null&&s`<p>The proposal stands in the text.</p>`}
    <textarea class="document" aria-label="Model" ref=${r} defaultValue=${c.text}
      rows=${Math.min(30,Math.max(12,c.text.split(`
`,40).length+1))}
        readOnly=${y.phase==="applying"||y.phase==="merging"}
      onInput=${()=>i(ie())} spellcheck=${!1} autocomplete="off" autocapitalize="off"
        aria-invalid=${y.problem&&y.text===l?"true":void 0}></textarea>
    ${d&&s`<div role="alert" class="problem"><strong>Changed meanwhile</strong>
      <p>Another model applies than the one that this text was made from. A preview compares with the model of now: what only that one has
        is told as gone.</p>
      <button type="button" onClick=${()=>{m(),te()}}>Take theirs</button></div>`}
    <${v} problem=${p} again=${u} asked />
    <${De} problem=${y.problem} text=${y.text??""} box=${r} />
    <p class="actions"><button type="button" class=${C?"":"main"} aria-disabled=${H?"true":void 0}
      onClick=${H?void 0:()=>G(ie(),w())}>Preview</button>
      <button type="button" class=${C?"main":""} disabled=${!C||H||!Tt(A.preview,re)}
        onClick=${_}>Apply</button>
      ${(y.phase==="previewing"||y.phase==="merging")&&s`<button type="button" onClick=${B}>Stop</button>`}
      <span role="status" class="quiet">${Pt(y,l,n)}</span></p>
    ${A&&s`<${We} preview=${A.preview} isSame=${C} sure=${re} onSure=${ae} />`}
  </section>`}var Tt=(e,t)=>!e.problems?.length&&!e.misfits?.length&&e.differences.length>0&&(t||!e.differences.some(o=>o.removes)),Et={merging:"Looking at what the suggestion changes",previewing:"Looking at what it changes",applying:"Applying it"};function Pt({phase:e,work:t,applied:o,previewed:n},a,r){return e!=="idle"?Et[e]+(t&&t.total>0?`: ${t.phase}, ${f(t.done)} of ${f(t.total)}`:""):o?.applied?`It applies since ${o.position}: ${f(o.values)} values on ${f(o.documents)} documents changed.`:o&&r?"It is being prepared, and applies then.":n&&n.text!==a?"The text is another one than was previewed.":r&&n?"Another model is being prepared. Withdraw it, or wait for it.":""}function Ot(e,t,o,n){let a=b({patch:null,etag:""}),r=b({patch:null,text:""}),l=e!==null&&e.length>Me,i=o.problem?.status===412&&o.text===e;return x(()=>{!t||e===null||l||a.current.patch===e&&!(i&&a.current.etag!==t.etag)||(a.current={patch:e,etag:t.etag},n(e,t.etag,c=>{r.current={patch:e,text:c}}))},[t,e,i]),{note:e===null?null:Rt(e,l,r.current.patch===e,a.current.patch===e&&o.phase!=="merging"),put:r}}function Ct(e,t,o,n){let a=b(null);return x(()=>{!e||!t||a.current!==null||E.value===null||!o.current||(a.current=E.value,o.current.value=E.value,n(E.value),o.current.focus(),o.current.setSelectionRange(0,0),o.current.scrollIntoView({block:"center"}))},[e,t]),a}function Rt(e,t,o,n){return t?s`<p>The suggestion is longer than a place may be.</p>`:o?s`<p>The suggestion stands in the text.</p>`:n&&s`<p>The suggestion could not be put into the text. This is it, as a merge patch:</p><pre aria-label="Suggestion"><${$}
      text=${e} /></pre>`}function Ke({place:e,model:t,declared:o,counts:n,found:a}){let r=T(()=>Object.keys(t.collections??{}),[t]),l=e.params.get("collection")??"",i=r.length>P?r.includes(l)?l:Wt(r,o.relations):"",{names:c,left:d}=jt(r,o.relations,n,i),p=Dt(c,o,n,a),{layout:u,failed:m}=It(p,n.size>0&&r.length>0);return r.length===0?null:s`<div role="group" aria-label="Model graph" class="graph">
    <h2>Graph</h2>
    ${i!==""&&s`<${Lt} place=${e} all=${r} chosen=${i} left=${d} />`}
    ${m&&s`<${v}
      problem=${new R(0,{title:"The graph cannot be drawn",detail:"The tables have the same."})} />`}
    <div class="scroll">${u&&s`<svg width=${u.width} height=${u.height} viewBox=${`0 0 ${u.width} ${u.height}`}>
      ${p.edges.map(h=>u.edges.has(h.relation.key)&&s`<${qt} key=${h.relation.key} edge=${h}
        place=${u.edges.get(h.relation.key)} />`)}
      ${p.nodes.map(h=>u.nodes.has(h.name)&&s`<${Ft} key=${h.name} node=${h}
        place=${u.nodes.get(h.name)} chosen=${h.name===i} />`)}
    </svg>`}</div>
    <p class="quiet">An arrow leads where values go, and has the number of its rules; a dashed line has none. A triangle marks what fails:
      an error, no room, or no value
      anywhere. A double line is hot: ${Ye.toLocaleString("en")} documents or more take their values from one.</p>
  </div>`}function It(e,t){let[o,n]=g({}),a=JSON.stringify([e.nodes.map(r=>[r.name,r.size]),e.edges.map(r=>[r.relation.key,r.relation.to,r.relation.rules.length,r.load>0,r.failing>0])]);return x(()=>{if(!t)return;let r=!1,i=setTimeout(async()=>{try{let c=await import("./dagre-LG7YM7WV.js");if(r)return;let d=performance.now(),p=Gt(c,e);performance.measure("model graph",{start:d}),n({layout:p})}catch(c){console.warn(c),r||n({failed:!0})}});return()=>{r=!0,clearTimeout(i)}},[a,t]),o}function Lt({place:e,all:t,chosen:o,left:n}){return s`<p class="actions"><label>Around <select value=${o} onChange=${r=>{let l=new URLSearchParams(e.params);l.set("collection",r.target.value),de(k(e.parts,l))}}>${t.map(r=>s`<option key=${r}
    value=${r}><${$} text=${r} max=${100} /></option>`)}</select></label>
    <span class="quiet">with its neighbours, ${P-1} at most,
      of ${t.length.toLocaleString("en")} collections${n>0&&`; ${n.toLocaleString("en")} more have no place`}</span></p>`}var Ue=e=>L(e.length>D?e.slice(0,D)+"…":e);function qt({edge:e,place:{x:t,y:o,points:n}}){let{relation:a,down:r,up:l,failing:i,load:c}=e,d=Nt(n),p=n.length-1,u=Qe({...e,relation:{...a,name:Ue(a.name)}}),m=[`${a.key} to ${a.to}`,Je(a),i>0&&`${i} failing`,c>0&&`hot, ${c} documents each`].filter(Boolean).join(", ");return s`<g role="img" aria-label=${L(m)}
    class=${"edge"+(a.rules.length===0?" bare":"")+(i>0?" failing":"")+(c>0?" hot":"")}>
    <path class="line" d=${d} />${c>0&&s`<path class="core" d=${d} />`}
    ${r&&s`<path class="head" d=${Ve(n[p],n[p-1])} />`}
    ${l&&s`<path class="head" d=${Ve(n[0],n[1])} />`}
    <text class="label" x=${t+(i>0?8:0)} y=${o+4} text-anchor="middle">${u}</text>
    ${i>0&&s`<${Xe} x=${t-u.length*3.3-2} y=${o} />`}
  </g>`}var Xe=({x:e,y:t})=>s`<path class="warning" d=${`M${e},${t-8} l8,14 h-16 z`} /><text class="warning-sign" x=${e} y=${t+5}
    text-anchor="middle">!</text>`;function Ft({node:{name:e,documents:t,failing:o},place:{x:n,y:a,width:r,height:l},chosen:i}){let c=be(t,"document"),d=`${e}, ${c}`+(o>0?`, ${o} failing`:"");return s`<a href=${k([e])} aria-label=${L(d)}
    class=${"node"+(o>0?" failing":"")+(i?" chosen":"")}>
    <rect x=${n-r/2} y=${a-l/2} width=${r} height=${l} rx="7" />
    <text class="name" x=${n} y=${a-3} text-anchor="middle">${Ue(e)}</text>${" "}
    <text class="count" x=${n} y=${a+14} text-anchor="middle">${c}</text>
    ${o>0&&s`<${Xe} x=${n+r/2-12} y=${a-l/2+12} />`}
  </a>`}var P=40,Ye=1e3;function jt(e,t,o,n){if(e.length<=P)return{names:e,left:0};let a=new Set(t.filter(i=>i.collection===n||i.to===n).flatMap(i=>[i.collection,i.to]));a.delete(n);let r=i=>o.get(i)??0,l=[...a].sort((i,c)=>r(c)-r(i)||(i<c?-1:1));return{names:[n,...l.slice(0,P-1)],left:Math.max(0,l.length-P+1)}}function Wt(e,t){let o=new Map;for(let n of t)for(let a of[n.collection,n.to])o.set(a,(o.get(a)??0)+1);return e.reduce((n,a)=>(o.get(a)??0)>(o.get(n)??0)?a:n,e[0])}function Dt(e,{relations:t,rules:o},n,a){let r=new Set(e),l=d=>a?d.filter(p=>j(a(p.name))).length:0,i=e.map(d=>{let p=n.get(d)??0;return{name:d,documents:p,size:Math.min(8,Math.floor(Math.log10(p+1))),failing:l(o.filter(u=>u.collection===d))}}),c=t.filter(d=>r.has(d.collection)&&r.has(d.to)).map(d=>{let p=d.rules.some(m=>m.collection===d.collection),u=Math.round((n.get(d.collection)??0)/Math.max(1,n.get(d.to)??0));return{relation:d,down:p,up:d.rules.some(m=>m.collection===d.to&&m.kind!=="copy"),failing:l(d.rules),load:p&&u>=Ye?u:0}});return{nodes:i,edges:c}}var He={name:8,label:6.6},D=28,ze=e=>Math.min(D,e.length)+(e.length>D?1:0),Je=({rules:e})=>e.length===1?"1 rule":e.length===0?"no rule":`${e.length} rules`,Qe=({relation:e,load:t})=>`${e.name} · ${Je(e)}`+(t>0?` · hot, ${t.toLocaleString("en")} each`:"");function Gt(e,{nodes:t,edges:o}){let n=new e.Graph({multigraph:!0});n.setGraph({rankdir:"LR",nodesep:22,ranksep:46,edgesep:14,marginx:8,marginy:8});for(let{name:l,size:i}of t)n.setNode(l,{width:Math.max(ze(l)*He.name,100)+24+i*6,height:42+i*6});for(let l of o){let{relation:i}=l;n.setEdge(i.to,i.collection,{width:(ze(i.name)+Qe(l).length-i.name.length)*He.label+(l.failing?20:6),height:18,labelpos:"c"},i.name)}e.layout(n);let{width:a,height:r}=n.graph();return{width:a??0,height:r??0,nodes:new Map(t.map(({name:l})=>[l,n.node(l)])),edges:new Map(o.map(({relation:l})=>[l.key,n.edge(l.to,l.collection,l.name)]))}}function Nt(e){let t=a=>`${a.x.toFixed(1)},${a.y.toFixed(1)}`,o=(a,r)=>({x:(a.x+r.x)/2,y:(a.y+r.y)/2}),n=e.slice(1,-1).map((a,r)=>` Q${t(a)} ${t(o(a,e[r+2]))}`);return`M${t(e[0])} L${t(o(e[0],e[1]))}${n.join("")} L${t(e[e.length-1])}`}function Ve(e,t){let o=Math.hypot(e.x-t.x,e.y-t.y)||1,[n,a]=[(e.x-t.x)/o,(e.y-t.y)/o],r=l=>`${(e.x-10*n+l*5*a).toFixed(1)},${(e.y-10*a-l*5*n).toFixed(1)}`;return`M${e.x.toFixed(1)},${e.y.toFixed(1)} L${r(1)} L${r(-1)} Z`}function zn({place:e}){let{shown:t,problem:o,again:n}=Te(),{model:a,status:r,counts:l,etag:i,pending:c=!1}=t,d=I("admin"),p=T(()=>a&&Re(a),[a]),u=T(()=>Ie(r),[r]);return s`<${v} problem=${o} again=${n} />
    ${p&&s`<${Fe} pending=${c} status=${r} mayEdit=${d} onChanged=${n} />
      <${Bt} relations=${p.relations} />
      <${Ht} rules=${p.rules} found=${u} />
      <${_t} functions=${p.functions} />
      <${Ke} place=${e} model=${a} declared=${p} counts=${l} found=${u} />
      ${d&&!r?.readOnly&&s`<${_e} etag=${i} suggest=${e.params.get("suggest")}
        isDrafted=${e.params.has("draft")} pending=${c} onChanged=${n} />`}`}
    ${we.value.some(({phase:m})=>m==="stored")&&s`<p><a
      href=${k(["_import"])}>Compare the imported files with the model that applies</a></p>`}
    <${ye} asked=${q} />`}function Be(e,t){let[o,n]=g(null),[a,r]=g(null),[l,i]=g(void 0),[c,d]=g(0),p=b(o);p.current=o,x(()=>{if(e===""||p.current?.etag===e)return;let m=new AbortController;return Ae(m.signal).then(h=>{let w=t.current?.value;i(void 0),p.current===null||w===void 0||w===p.current.text||w===h.text?u(h):r(h)}).catch(h=>{m.signal.aborted||i(S(h))}),()=>m.abort()},[e,c]);let u=m=>{t.current&&t.current.value!==m.text&&(t.current.value=m.text),p.current=m,n(m),r(null)};return{base:o,theirs:a,problem:l,again:()=>d(m=>m+1),takeTheirs:()=>{a&&u(a)},applied:m=>{o&&n({...o,text:m}),r(null)},against:()=>a?(n(a),r(null),a.etag):o?.etag??""}}function _t({functions:e}){return e.length===0?null:s`<h2>Functions</h2>
    <${he} label="Functions" head=${["Function","Called by","Reads","Trigger of",["Lines"]]}>${e.map(t=>s`<tr key=${t.name}>
      <td><${$} text=${t.name} max=${100} /></td>
      <td>${t.call.length===0?"admin":t.call.join(", ")}${t.authority&&s` <strong>may do everything</strong>`}</td>
      <td><${Ze} names=${t.reads} /></td>
      <td><${Ze} names=${t.triggers} /></td>
      <td class="number">${f(t.source.trimEnd().split(`
`).length)}</td></tr>`)}<//>
    ${e.map(t=>s`<details key=${t.name}><summary>Source of <${$} text=${t.name} max=${100} /></summary><pre>
      <code>${xe(t.source,t.name,5e3)}</code></pre></details>`)}`}var Ze=({names:e})=>e.map((t,o)=>s`${o>0&&", "}<${O} name=${t} />`);function Ne({indexes:e}){return e.length===0?null:s`<h4>Indexes</h4><div class="scroll"><table aria-label="Indexes" class="dense">
    <thead><tr><th scope="col">Index</th><th scope="col">Change</th><th scope="col">Order</th><th scope="col" class="number">Entries</th><th
      scope="col" class="number">Bytes</th></tr></thead>
    <tbody>${e.map(t=>s`<tr key=${t.collection+"."+t.index+t.change}>
      <td><code><${$} text=${t.collection+"."+t.index} max=${200} /></code></td><td>${t.change}</td>
      <td><code><${$} text=${t.components.join(", ")} max=${300} /></code></td>
      <td class="number">${f(t.entries)}</td><td class="number">${t.bytes!==void 0&&f(t.bytes)}</td></tr>`)}</tbody>
  </table></div>`}var O=({name:e})=>s`<a href=${k([e])}><${$} text=${e} max=${100} /></a>`;function Bt({relations:e}){return s`<h2 id="relations">Relations</h2>
    ${e.length===0?s`<p class="quiet">The model declares no relation.</p>`:s`<div class="scroll"><table aria-label="Relations" class="dense">
      <thead><tr><th scope="col">Collection</th><th scope="col">Relation</th><th scope="col">Path</th><th scope="col">To</th><th
        scope="col">On delete</th><th scope="col" class="number">Rules</th></tr></thead>
      <tbody>${e.map(t=>s`<tr key=${t.key}>
        <td><${O} name=${t.collection} /></td>
        <td><${$} text=${t.name} max=${100} /></td>
        <td><code><${$} text=${t.path} max=${200} /></code></td>
        <td><${O} name=${t.to} /></td>
        <td>${t.onDelete}${t.strict&&", strict"}</td>
        <td class="number">${f(t.rules.length)}</td></tr>`)}</tbody>
    </table></div>`}`}var ee=100;function Ht({rules:e,found:t}){let[o,n]=g(ee),a=Math.min(ee,e.length-o);return s`<h2>Rules</h2>
    ${e.length===0?s`<p class="quiet">The model declares no rule.</p>`:s`<div class="scroll"><table aria-label="Rules" class="dense">
      <thead><tr><th scope="col">Collection</th><th scope="col">Path</th><th scope="col">Kind</th><th scope="col">From</th><th
        scope="col">Expression</th>
        ${t&&s`<th scope="col">Error</th>`}</tr></thead>
      <tbody>${e.slice(0,o).map(r=>s`<${zt} key=${r.name} rule=${r} found=${t?.(r.name)} />`)}</tbody>
    </table></div>`}
    ${a>0&&s`<p><button type="button" class="small" onClick=${()=>n(o+ee)}>Show ${a} more rules</button></p>`}`}function zt({rule:e,found:t}){return s`<tr class=${t&&j(t)?"failing":void 0}>
    <td><${O} name=${e.collection} /></td>
    <td><code><${$} text=${e.path} max=${200} /></code></td>
    <td>${e.kind}</td>
    <td class="from">${e.by===""?s`<span class="quiet">itself</span>`:s`<${O} name=${e.from} /> <span
      class="quiet">by <${$} text=${e.by.slice(e.by.indexOf(".")+1)} max=${60} /></span>`}</td>
    <td><code><${$} text=${e.says} max=${200} /></code></td>
    ${t&&s`<td><${Kt} found=${t} /></td>`}
  </tr>`}function Vt({document:e}){let t=e.indexOf("/");return s`<${fe} collection=${e.slice(0,t)} id=${e.slice(t+1)} />`}function Kt({found:{failed:e,withoutRoom:t}}){return s`${e&&s`<strong class="wrong">${f(e.count)} failed</strong>, last <${Vt} document=${e.document} />
    <div class="quiet"><${$} text=${e.error} max=${300} /></div>`}
    ${t!==void 0&&s`<div><strong class="wrong">No room</strong> in ${f(t)} documents</div>`}`}function W({document:e}){let t=e.indexOf("/");return s`<${Se} collection=${e.slice(0,t)} id=${e.slice(t+1)} />`}export{W as Apart,O as CollectionLink,_t as Functions,zn as ModelPage,Ne as PreviewedIndexes,Bt as Relations,Ht as Rules,Be as useBase};
