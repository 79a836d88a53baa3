import{a as we}from"./chunk-RDXSOL26.js";import{Fa as ge,G as le,Ha as xe,Ia as be,Pa as v,Qa as ye,V as ce,W as M,Y as de,Z as ue,a as k,aa as h,d as se,da as me,e as ae,ea as Y,f as ie,ja as $e,ka as g,la as he,m as F,n as N,oa as fe,p as P,s as B,x as X,z as G}from"./chunk-AW476DRL.js";import{H as pe,N as D,b,c as y,e as w,f as q,l as i,n as oe,t as re}from"./chunk-JD54O3BL.js";var H={path:["_model"]},Qe=5;async function et(e,t){let{status:o,text:n,headers:r}=await P({...H,headers:t?{"If-None-Match":t}:{},signal:e});if(o!==304)return{model:re(oe(n)),etag:r.get("ETag")??"",position:r.get("Fanfold-Position")??""}}async function ve(e){let{text:t,headers:o}=await P({...H,headers:{Accept:"application/yaml"},signal:e});return{text:t,etag:o.get("ETag")??""}}async function tt(e){let t=new Map,o;for(let n=0;n<Qe;n++){let{collections:r,next:s}=await B({path:[],query:{limit:1e3,cursor:o},signal:e});for(let{name:a,documents:l}of r)t.set(a,l);if(!s)break;o=s}return t}async function nt(e){let{relations:t}=await B({path:["_model","_targets"],signal:e});return new Map(t.map(o=>[o.relation,o]))}var ot=e=>B({path:["_status"],signal:e});async function rt(e){try{return await P({path:["_model","_pending"],signal:e}),!0}catch(t){if(t instanceof N&&t.status===404)return!1;throw t}}var st=5e3,at=1e3,it=1e3,lt=40,ct={etag:"",position:"",counts:new Map,largest:new Map};function ke(){let[e,t]=b(ct),[o,n]=b(void 0),r=w(e),s=w(null),a=u=>{r.current={...r.current,...u},t(r.current)},l=async()=>{s.current?.abort();let u=new AbortController;s.current=u;try{await dt(r.current,a,u.signal),u.signal.aborted||n(void 0)}catch(m){u.signal.aborted||n(M(m))}finally{s.current===u&&(s.current=null)}};y(()=>{let u=()=>{!document.hidden&&!s.current&&l()},m=setInterval(u,e.pending?at:st);return document.addEventListener("visibilitychange",u),()=>{clearInterval(m),document.removeEventListener("visibilitychange",u)}},[e.pending]);let c=X.value;y(()=>(l(),()=>s.current?.abort()),[c]);let d=w(void 0);y(()=>()=>clearTimeout(d.current),[]);let p=e.model?Object.keys(e.model.collections??{}).slice(0,lt):[];return ue(p,e.position,()=>{d.current??=setTimeout(()=>{d.current=void 0,l()},it)}),{shown:e,problem:o,again:l,cancel:()=>{s.current?.abort(),n(ce())}}}async function dt(e,t,o){let n=await et(o,e.etag);o.throwIfAborted(),n&&t(n);let[r,s,a]=await Promise.all([tt(o),nt(o),G("monitor")?ot(o):void 0]),l=await ut(e.pending,a,o);o.throwIfAborted(),t({counts:r,largest:s,status:a,pending:l})}async function ut(e,t,o){return e||(t?t.preparing!==void 0:X.value!==null&&e===void 0)?rt(o):t?!1:e}var pt={derive:"rule",relations:"relation",indexes:"index",unique:"unique in",schema:"schema of",access:"access to",trigger:"trigger of",pages:"pages of",release:"released path of"},mt={"fanout.limit":"the limit of derived changes (fanout.limit)","embedded.limit":"the limit of an embedded document (embedded.limit)",open:"whether undeclared collections are open (open)"},Se={added:"New",removed:"Gone",changed:"Changed"};function Z({path:e}){if(e==="")return"more declarations";let[t,o,n,...r]=e.split(".");if(t==="functions"&&o!==void 0)return(n===void 0?"":n+" of ")+"function "+o;if(t!=="collections"||o===void 0)return mt[e]??e;if(n===void 0)return"collection "+o;let s=r.join("."),a=n==="relations"?/^(.+)\.(onDelete|strict)$/.exec(s):null;return a?`${a[2]} of relation ${o}.${a[1]}`:`${pt[n]??n} ${o}${s&&"."+s}`}function J({path:e,change:t,detail:o=""}){let[n,r]=o.split(", was ",2);return t==="changed"&&e.includes(".derive.")&&n===r?"it keeps no values any more that nobody can compute again":o}var Me=e=>e.filter(({path:t})=>/^collections\.[^.]+\.access$/.test(t)).flatMap(({path:t,detail:o=""})=>{let n=t.split(".")[1];return(o.startsWith(n+": ")?o.slice(n.length+2):o).split("; ").filter(s=>s!=="").map(s=>({opens:!/ may not /.test(s),collection:n,text:s}))});function Ae(e){let t=e.filter(n=>n.removes),o=t.filter(n=>n.path!=="").length;return{removals:t,count:o<t.length?`${o} and more`:String(t.length)}}var $t=["count","sum","min","avg","ids"],z=e=>Object.entries(e??{});function Ee(e){let t=z(e?.collections),o=t.flatMap(([s,a])=>z(a?.relations).map(([l,c])=>({key:s+"."+l,collection:s,name:l,path:String(c.path),to:String(c.to),onDelete:String(c.onDelete??"clear"),strict:c.strict===!0,rules:[]}))),n=new Map(o.map(s=>[s.key,s])),r=t.flatMap(([s,a])=>z(a?.derive).map(([l,c])=>ft(s,l,c,n)));for(let s of r)n.get(s.by)?.rules.push(s);return{relations:o,rules:r,functions:ht(e,t)}}var ht=(e,t)=>z(e?.functions).map(([o,n])=>({name:o,call:n.call??["write"],reads:n.reads??[],triggers:t.filter(([,r])=>r?.trigger===o).map(([r])=>r),authority:n.authority==="model",source:String(n.source)}));function ft(e,t,o,n){let r=e+"."+t;if(o.copy!==void 0){let d=e+"."+o.copy;return{name:r,collection:e,path:t,kind:o.frozen?"frozen copy":"copy",from:n.get(d)?.to??"",by:d,says:String(o.value)}}let s=o.recent!==void 0?"recent":$t.find(d=>o[d]!==void 0)??(o.max!==void 0?"max":"");if(s==="")return{name:r,collection:e,path:t,kind:"computed",from:e,by:"",says:String(o.value)};let a=String(o[s]),l=typeof o.orderBy=="object"?"_meta."+o.orderBy?._meta:o.orderBy,c=[o.of,o.fields?.join(", "),l&&"order by "+l,o.where&&"where "+o.where].filter(Boolean).join("; ");return a.includes("[]")?{name:r,collection:e,path:t,kind:s,from:e,by:"",says:[a,c].filter(Boolean).join("; ")}:{name:r,collection:e,path:t,kind:s,from:a.slice(0,a.indexOf(".")),by:a,says:c}}function Oe(e){if(!e)return;let t=new Map((e.ruleErrors??[]).map(n=>[n.rule,n])),o=new Map((e.omitted??[]).map(n=>[n.rule,n.documents]));return n=>({failed:t.get(n),withoutRoom:o.get(n)})}var V=({failed:e,withoutRoom:t})=>e!==void 0||t!==void 0,Te=50;function Pe({differences:e}){let[t,o]=b(!1),n=Me(e),r=t?e:e.slice(0,Te);return i`${e.length>0&&i`<h4>Differences</h4><ul aria-label="Differences" class="documents">${r.map(s=>i`<li>
      <strong>${Se[s.change]??s.change}</strong>: <${h} text=${Z(s)} max=${200} />${s.detail&&i` <span
        class="detail"><${h} text=${J(s)} max=${500} /></span>`}</li>`)}</ul>`}
    ${r.length<e.length&&i`<button type="button" class="small"
      onClick=${()=>o(!0)}>Show ${e.length-Te} more differences</button>`}
    ${n.length>0&&i`<h4>Access</h4><ul aria-label="Access" class="documents">${n.map(s=>i`<li>
      <strong>${s.opens?"Opens":"Closes"}</strong> <${h} text=${s.collection} max=${100} />: <${h} text=${s.text}
        max=${300} /></li>`)}</ul>`}`}function Ce({differences:e,sure:t,onSure:o}){let{removals:n,count:r}=Ae(e);return n.length===0?null:i`<div class="removals"><label class="box"><input type="checkbox" checked=${t}
    onChange=${s=>o(s.target.checked)} />
    ${" "}Remove ${r==="1"?"1 rule or guard":`${r} rules and guards`}</label>
    <ul aria-label="What goes" class="documents">${n.map(s=>i`<li><${h} text=${Z(s)} max=${200} />
      ${s.change==="changed"&&i` <span class="quiet"><${h} text=${J(s)} max=${200} /></span>`}</li>`)}</ul></div>`}var gt={waiting:"Waiting",copying:"Copying pages",computing:"Computing documents",following:"Following what was written meanwhile",ready:"Ready to apply",failed:"It failed"};function Re({pending:e,status:t,mayEdit:o,onChanged:n}){let r=w(0),[s,a]=b(void 0),l=t?.preparing;l&&(r.current=l.model);let c=!e&&r.current>0&&t?.withdrawn?.model===r.current?t.withdrawn.reason:"",d=async()=>{try{await P({method:"DELETE",path:["_model","_pending"]}),a(void 0)}catch(p){a(M(p))}n()};return i`<div role="status">${c&&i`<p>The model that was being prepared does not come: <${h} text=${c} max=${500} />
    </p>`}</div>
    ${e&&i`<section aria-label="Preparation" class="origin"><h2>A model is being prepared</h2>
      ${l?i`<p>${gt[l.phase]??l.phase}${l.total>0&&i`: ${g(l.done)} of ${g(l.total)} <progress
            aria-label="Preparation" max=${l.total} value=${l.done}></progress>`}</p>
        <p class="quiet">${g(l.changes)} documents change, as far as is
          known.${l.waitingFor?.length>0&&i` It waits for <${h} text=${l.waitingFor.join(", ")} max=${300} />.`}</p>
        ${l.error&&i`<p class="wrong"><${h} text=${l.error} max=${1e3} /></p>`}`:i`<p class="quiet">It applies once all nodes have prepared it.</p>`}
      ${o&&i`<p class="actions"><button type="button" onClick=${d}>Withdraw</button></p>`}
    </section>`}
    <${v} problem=${s} />`}function Ie({preview:e,isSame:t,sure:o,onSure:n}){let{differences:r,rules:s,unique:a=[],indexes:l=[],changes:c,problems:d=[],misfits:p=[],kept:$=[],warnings:u=[]}=e;return i`<section aria-label="What this model changes" class="model-preview">
    <h3>What this model changes</h3>
    <p class="sentence">${r.length===0?"Nothing: the model that applies says the same.":`${te(r.length,"difference")}; ${te(c,"document")} of other values`}</p>
    ${d.length>0&&i`<div role="alert" class="problem"><strong>It cannot be applied</strong><ul
      aria-label="What stands in its way">${d.map(m=>i`<${Le} of=${m} />`)}</ul></div>`}
    <${Ce} differences=${r} sure=${o} onSure=${n} />
    <${kt} misfits=${p} />
    ${u.length>0&&i`<h4>Warnings</h4><ul aria-label="Warnings" class="documents">
      ${u.slice(0,100).map(m=>i`<${Le} of=${m} />`)}</ul>`}
    <${Pe} differences=${r} />
    <${yt} rules=${s??[]} unique=${a} />
    <${De} indexes=${l} />
    <${bt} kept=${$} />
  </section>`}var te=(e,t)=>`${g(e)} ${t}${e===1?"":"s"}`,Le=({of:{path:e,detail:t}})=>i`<li>${e&&i`<code><${h} text=${e} max=${200} /></code>: `}<${h} text=${t} max=${1e3} /></li>`,xt={lost:"are lost for good",reserved:"stay stored, and do not show",restored:"show again"};function bt({kept:e}){return e.length===0?null:i`<h4>Values that nobody can compute again</h4><ul aria-label="Values that nobody can compute again" class="documents">${e.slice(0,100).map(t=>i`<li>
    ${te(t.values,t.kind+" value")} of <code><${h} text=${t.rule} max=${200} />
      </code> ${xt[t.outcome]??t.outcome}</li>`)}</ul>`}var Q=200;function yt({rules:e,unique:t}){let o=[...e.filter(n=>n.change!=="same"||n.documents>0).map(n=>({...n,name:n.rule})),...t.filter(n=>n.change!=="same").map(n=>({...n,name:`${n.collection} unique ${n.unique}`,documents:void 0,hides:void 0}))];return o.length===0?null:i`<h4>By rule</h4><div class="scroll"><table aria-label="By rule" class="dense">
    <thead><tr><th scope="col">Rule</th><th scope="col">Change</th><th scope="col" class="number">Documents</th><th
      scope="col">Without a value</th></tr></thead>
    <tbody>${o.slice(0,Q).map(n=>i`<tr key=${n.name}>
      <td><code><${h} text=${n.name} max=${200} /></code>${n.hides&&n.hides.length>0&&i`<div
        class="quiet">hides a member of <${U} document=${n.hides[0]} /></div>`}</td>
      <td>${n.change}</td>
      <td class="number">${n.documents!==void 0&&g(n.documents)}</td>
      <td>${(n.evaluations??[]).map(r=>i`<${wt} key=${r.part} of=${r} />`)}</td></tr>`)}</tbody>
  </table></div>${o.length>Q&&i`<p class="quiet">and ${g(o.length-Q)} more</p>`}`}var wt=({of:{part:e,evaluated:t,noValue:o,document:n,reason:r}})=>i`<div><${h} text=${e} max=${60} />: ${o===0?i`<span class="quiet">none of ${g(t)}</span>`:i`<strong class=${o===t?"wrong":void 0}>
        ${o===t?`all ${g(t)}`:`${g(o)} of ${g(t)}`}</strong>
          ${n&&i`, as <${U} document=${n} />`}
    ${r&&i` <span class="quiet"><${h} text=${r} max=${300} /></span>`}`}</div>`,vt=5;function kt({misfits:e}){return e.length===0?null:i`<div role="alert" class="problem"><strong>Documents do not fit the schema</strong>
    <ul aria-label="Documents that do not fit" class="documents">${e.flatMap(t=>t.first.slice(0,vt).map(o=>i`<li key=${o.document}><${U} document=${o.document} />:
      <${h} text=${o.problems.map(n=>(n.path+" "+n.detail).trim()).join("; ")} max=${300} /></li>`))}</ul>
    <p>${e.map(t=>`${g(t.documents)} in ${t.collection}`).join(", ")}. Mend them, or apply the model by <code>fanfold
      model apply --allow-misfits</code>.</p></div>`}var ee=100;function qe({problem:e,text:t,box:o}){if(!e||e.status===412)return null;let n=Array.isArray(e.of.problems)?e.of.problems:[],r=n.length===0&&e.of.line?[{...e.of,path:""}]:n;return i`<${v} problem=${ge(e)}>
    ${r.length>0&&i`<ul class="mistakes" aria-label="Mistakes">${r.slice(0,ee).map(s=>i`<li><${St} of=${s} text=${t} box=${o} />
      ${s.path&&i`<code><${h} text=${String(s.path)} max=${200} /></code> `}<${h} text=${String(s.detail??"")}
        max=${1e3} /></li>`)}
      ${r.length>ee&&i`<li class="quiet">and ${r.length-ee} more</li>`}</ul>`}<//>`}function St({of:{line:e,column:t},text:o,box:n}){return e?i`<button type="button" class="plain" onClick=${()=>{if(!n.current)return;let s=pe(o,e,t??1),a=o.indexOf(`
`,s);n.current.select(s,a<0?o.length:a)}}>line ${e}, column ${t??1}</button>: `:null}function Fe({onApplied:e,onStale:t}){let[o,n]=b({phase:"idle"}),r=w(new AbortController);y(()=>()=>r.current.abort(),[]);let s=async(a,{text:l,etag:c,preview:d},p)=>{r.current.abort();let $=new AbortController;r.current=$;let u=a==="applying"?{text:l,etag:c,preview:d}:void 0;n({phase:a,previewed:u});try{let[m,f]=a==="merging"?["PATCH","application/merge-patch+json"]:["PUT","application/yaml"],x={method:m,path:["_model"],query:u?{}:{dryRun:!0},headers:{"Content-Type":f,"If-Match":c},body:l},C=E=>n(A=>$.signal.aborted?A:{...A,work:E}),R=await de(x,{signal:$.signal,onWork:C,ends:!u});$.signal.aborted||p(R)}catch(m){if($.signal.aborted)return;let f=M(m);n({phase:"idle",problem:f,text:l,previewed:f.status===412?void 0:u}),f.status===412&&t()}};return{state:o,preview:(a,l)=>s("previewing",{text:a,etag:l,preview:null},({body:c})=>n({phase:"idle",previewed:{text:a,etag:l,preview:c}})),merge:(a,l,c)=>s("merging",{text:a,etag:l,preview:null},({body:d})=>{n({phase:"idle",previewed:{text:d.merged,etag:l,preview:d}}),c(d.merged)}),apply:()=>o.previewed&&s("applying",o.previewed,({body:a})=>{n({phase:"idle",applied:a??{}}),o.previewed&&e(o.previewed.text)}),stop:()=>{r.current.abort(),n({phase:"idle"})},forget:()=>n(a=>a.phase==="idle"&&(a.previewed||a.problem)?{phase:"idle"}:a)}}function je(e){let t=Mt(e),{box:o,base:n,theirs:r,problem:s,again:a,takeTheirs:l,against:c,change:d,text:p,typed:$,setTyped:u,suggested:m,drafted:f}=t,{state:x,preview:C,apply:R,stop:E,forget:A}=d,[L,O]=b(!1);if(y(()=>O(!1),[x.previewed]),!n)return i`<${v} problem=${s} again=${a} asked />`;let I=x.phase!=="idle",{previewed:T}=x,S=T!==void 0&&T.text===$,ne=()=>{I||C(p(),c())},Je=()=>{l(),A()};return i`<section aria-label="Editor" class="model-editor"><h2>Edit</h2>
    ${m.note}${e.isDrafted&&f.current!==null&&i`<p>The proposal stands in the text.</p>`}
    <${we} box=${o} label="Model" language="yaml" initial=${n.text} rows=${Math.min(30,n.text.split(`
`,40).length+1)}
      readOnly=${x.phase==="applying"||x.phase==="merging"} wrong=${x.problem&&x.text===$}
      onInput=${()=>u(p())} onSave=${ne} onReady=${t.setReady} completeText=${qt} />
    ${r&&i`<div role="alert" class="problem"><strong>Changed meanwhile</strong>
      <p>Another model applies than the one that this text was made from. A preview compares with the model of now: what only that one has
        is told as gone.</p>
      <button type="button" onClick=${Je}>Take theirs</button></div>`}
    <${v} problem=${s} again=${a} asked />
    <${qe} problem=${x.problem} text=${x.text??""} box=${o} />
    <p class="actions"><button type="button" class=${S?"":"main"} aria-disabled=${I?"true":void 0}
      onClick=${ne}>Preview</button>
      <button type="button" class=${S?"main":""} disabled=${!S||I||!At(T.preview,L)}
        onClick=${R}>Apply</button>
      ${(x.phase==="previewing"||x.phase==="merging")&&i`<button type="button" onClick=${E}>Stop</button>`}
      <span role="status" class="quiet">${Et(x,$,e.pending)}</span></p>
    ${T&&i`<${Ie} preview=${T.preview} isSame=${S} sure=${L} onSure=${O} />`}
  </section>`}function Mt({etag:e,suggest:t,isDrafted:o,onChanged:n}){let r=w(null),[s,a]=b(""),[l,c]=b(!1),d=()=>r.current?.text()??"",p=Fe({onApplied:O=>{$.applied(O),(t!==null||o)&&ae(k(["_model"])),n()},onStale:n}),$=We(e,r,p.state.phase==="applying"),{base:u,theirs:m,problem:f,again:x,takeTheirs:C,against:R}=$,E=Ot(t,l?u:null,p.state,(O,I,T)=>p.merge(O,I,S=>{r.current&&(T(S),r.current.put(S),a(S),r.current.select(0,0))})),A=Pt(o,l?u:null,r,a);y(p.forget,[m]),y(()=>a(d()),[u,l]);let L=w("");return L.current=u?.text??"",y(()=>ie(()=>r.current!==null&&![L.current,E.put.current.text,A.current].includes(d())),[]),{setReady:()=>c(!0),box:r,base:u,theirs:m,problem:f,again:x,takeTheirs:C,against:R,change:p,text:d,typed:s,setTyped:a,suggested:E,drafted:A}}var At=(e,t)=>!e.problems?.length&&!e.misfits?.length&&e.differences.length>0&&(t||!e.differences.some(o=>o.removes)),Tt={merging:"Looking at what the suggestion changes",previewing:"Looking at what it changes",applying:"Applying it"};function Et({phase:e,work:t,applied:o,previewed:n},r,s){return e!=="idle"?Tt[e]+(t&&t.total>0?`: ${t.phase}, ${g(t.done)} of ${g(t.total)}`:""):o?.applied?`It applies since ${o.position}: ${g(o.values)} values on ${g(o.documents)} documents changed.`:o&&s?"It is being prepared, and applies then.":n&&n.text!==r?"The text is another one than was previewed.":s&&n?"Another model is being prepared. Withdraw it, or wait for it.":""}function Ot(e,t,o,n){let r=w({patch:null,etag:""}),s=w({patch:null,text:""}),a=e!==null&&e.length>be,l=o.problem?.status===412&&o.text===e;return y(()=>{!t||e===null||a||r.current.patch===e&&!(l&&r.current.etag!==t.etag)||(r.current={patch:e,etag:t.etag},n(e,t.etag,c=>{s.current={patch:e,text:c}}))},[t,e,l]),{note:e===null?null:Ct(e,a,s.current.patch===e,r.current.patch===e&&o.phase!=="merging"),put:s}}function Pt(e,t,o,n){let r=w(null);return y(()=>{!e||!t||r.current!==null||F.value===null||!o.current||(r.current=F.value,o.current.put(F.value),n(F.value),o.current.select(0,0))},[e,t]),r}function Ct(e,t,o,n){return t?i`<p>The suggestion is longer than a place may be.</p>`:o?i`<p>The suggestion stands in the text.</p>`:n&&i`<p>The suggestion could not be put into the text. This is it, as a merge patch:</p><pre aria-label="Suggestion"><${h}
      text=${e} /></pre>`}var Rt={"":"collections functions access fanout open",collection:"relations derive schema unique indexes checks defaults trigger access private sequences release pages",relation:"path to onDelete strict",rule:"copy value where count sum min max avg ids recent limit frozen of orderBy fields takeOver"},Lt={onDelete:"clear keep unlink cascade restrict",strict:"true false",frozen:"true false",open:"true false"},It=/^(?:to|copy|count|sum|min|max|avg|ids|recent)$/;async function qt(e,t){let o=e.slice(e.lastIndexOf(`
`)+1),[n]=/[\w-]*$/.exec(o)??[""],r=e.length-n.length,[,s=""]=/([\w-]+):\s+[\w-]*$/.exec(o)??[],a=Object.values(Rt).join(" ").split(" "),l=new Set([...t.matchAll(/^ +([A-Za-z][\w-]*):/gm)].map(([,d])=>d).filter(d=>!a.includes(d))),c=Lt[s]?.split(" ")??(It.test(s)?[...l]:s===""?a:[]);return{from:r,choices:[...new Set(c)].map(d=>({label:d}))}}function Ge({place:e,model:t,declared:o,counts:n,largest:r,found:s}){let a=q(()=>Object.keys(t.collections??{}),[t]),l=e.params.get("collection")??"",c=a.length>j?a.includes(l)?l:Nt(a,o.relations):"",{names:d,left:p}=_t(a,o.relations,n,c),$=Bt(d,o,n,r,s),{layout:u,failed:m}=Ft($,n.size>0&&a.length>0);return a.length===0?null:i`<div role="group" aria-label="Model graph" class="graph">
    <h2>Graph</h2>
    ${c!==""&&i`<${Dt} place=${e} all=${a} chosen=${c} left=${p} />`}
    ${m&&i`<${v}
      problem=${new N(0,{title:"The graph cannot be drawn",detail:"The tables have the same."})} />`}
    <div class="scroll">${u&&i`<svg width=${u.width} height=${u.height} viewBox=${`0 0 ${u.width} ${u.height}`}>
      ${$.edges.map(f=>u.edges.has(f.relation.key)&&i`<${jt} key=${f.relation.key} edge=${f}
        place=${u.edges.get(f.relation.key)} />`)}
      ${$.nodes.map(f=>u.nodes.has(f.name)&&i`<${Wt} key=${f.name} node=${f}
        place=${u.nodes.get(f.name)} chosen=${f.name===c} />`)}
    </svg>`}</div>
    <p class="quiet">An arrow leads where values go, and has the number of its rules; a dashed line has none. A triangle marks what fails:
      an error, no room, or no value
      anywhere. A double line is hot: ${Ve.toLocaleString("en")} documents or more take their values from one, to which it leads.</p>
  </div>`}function Ft(e,t){let[o,n]=b({}),r=JSON.stringify([e.nodes.map(s=>[s.name,s.size]),e.edges.map(s=>[s.relation.key,s.relation.to,s.relation.rules.length,s.load>0,s.failing>0])]);return y(()=>{if(!t)return;let s=!1,l=setTimeout(async()=>{try{let c=await import("./dagre-LG7YM7WV.js");if(s)return;let d=performance.now(),p=Gt(c,e);performance.measure("model graph",{start:d}),n({layout:p})}catch(c){console.warn(c),s||n({failed:!0})}});return()=>{s=!0,clearTimeout(l)}},[r,t]),o}function Dt({place:e,all:t,chosen:o,left:n}){return i`<p class="actions"><label>Around <select value=${o} onChange=${s=>{let a=new URLSearchParams(e.params);a.set("collection",s.target.value),se(k(e.parts,a))}}>${t.map(s=>i`<option key=${s}
    value=${s}><${h} text=${s} max=${100} /></option>`)}</select></label>
    <span class="quiet">with its neighbours, ${j-1} at most,
      of ${t.length.toLocaleString("en")} collections${n>0&&`; ${n.toLocaleString("en")} more have no place`}</span></p>`}var He=e=>D(e.length>K?e.slice(0,K)+"…":e);function jt({edge:e,place:{x:t,y:o,points:n}}){let{relation:r,down:s,up:a,failing:l,load:c,largest:d}=e,p=Ht(n),$=n.length-1,u=Ke({...e,relation:{...r,name:He(r.name)}}),m=d?.id!==void 0&&`${Xe(d)} ${d.documents===1?"refers":"refer"} to ${r.to}/${d.id}`,f=[c>0&&u,`${r.key} to ${r.to}`,c===0&&Ue(r),l>0&&`${l} failing`,m].filter(Boolean).join(", "),x=c>0&&d?.id!==void 0?{href:k([r.to,d.id])}:{role:"img"};return i`<${x.href?"a":"g"} ...${x} aria-label=${D(f)}
    class=${"edge"+(r.rules.length===0?" bare":"")+(l>0?" failing":"")+(c>0?" hot":"")}>
    ${m&&i`<title>${D(m)}</title>`}<path class="line" d=${p} />${c>0&&i`<path class="core" d=${p} />`}
    ${s&&i`<path class="head" d=${Be(n[$],n[$-1])} />`}
    ${a&&i`<path class="head" d=${Be(n[0],n[1])} />`}
    <text class="label" x=${t+(l>0?8:0)} y=${o+4} text-anchor="middle">${u}</text>
    ${l>0&&i`<${ze} x=${t-u.length*3.3-2} y=${o} />`}
  <//>`}var ze=({x:e,y:t})=>i`<path class="warning" d=${`M${e},${t-8} l8,14 h-16 z`} /><text class="warning-sign" x=${e} y=${t+5}
    text-anchor="middle">!</text>`;function Wt({node:{name:e,documents:t,failing:o},place:{x:n,y:r,width:s,height:a},chosen:l}){let c=he(t,"document"),d=`${e}, ${c}`+(o>0?`, ${o} failing`:"");return i`<a href=${k([e])} aria-label=${D(d)}
    class=${"node"+(o>0?" failing":"")+(l?" chosen":"")}>
    <rect x=${n-s/2} y=${r-a/2} width=${s} height=${a} rx="7" />
    <text class="name" x=${n} y=${r-3} text-anchor="middle">${He(e)}</text>${" "}
    <text class="count" x=${n} y=${r+14} text-anchor="middle">${c}</text>
    ${o>0&&i`<${ze} x=${n+s/2-12} y=${r-a/2+12} />`}
  </a>`}var j=40,Ve=1e3;function _t(e,t,o,n){if(e.length<=j)return{names:e,left:0};let r=new Set(t.filter(l=>l.collection===n||l.to===n).flatMap(l=>[l.collection,l.to]));r.delete(n);let s=l=>o.get(l)??0,a=[...r].sort((l,c)=>s(c)-s(l)||(l<c?-1:1));return{names:[n,...a.slice(0,j-1)],left:Math.max(0,a.length-j+1)}}function Nt(e,t){let o=new Map;for(let n of t)for(let r of[n.collection,n.to])o.set(r,(o.get(r)??0)+1);return e.reduce((n,r)=>(o.get(r)??0)>(o.get(n)??0)?r:n,e[0])}function Bt(e,{relations:t,rules:o},n,r,s){let a=new Set(e),l=p=>s?p.filter($=>V(s($.name))).length:0,c=e.map(p=>{let $=n.get(p)??0;return{name:p,documents:$,size:Math.min(8,Math.floor(Math.log10($+1))),failing:l(o.filter(u=>u.collection===p))}}),d=t.filter(p=>a.has(p.collection)&&a.has(p.to)).map(p=>{let $=p.rules.some(m=>m.collection===p.collection),u=r.get(p.key)?.documents??0;return{relation:p,down:$,up:p.rules.some(m=>m.collection===p.to&&m.kind!=="copy"),failing:l(p.rules),load:$&&u>=Ve?u:0,largest:r.get(p.key)}});return{nodes:c,edges:d}}var _e={name:8,label:6.6},K=28,Ne=e=>Math.min(K,e.length)+(e.length>K?1:0),Ue=({rules:e})=>e.length===1?"1 rule":e.length===0?"no rule":`${e.length} rules`,Ke=({relation:e,load:t,largest:o})=>`${e.name} · ${Ue(e)}`+(t>0&&o?` · hot, ${Xe(o)} to one`:""),Xe=({documents:e,partial:t})=>(t?"at least ":"")+e.toLocaleString("en");function Gt(e,{nodes:t,edges:o}){let n=new e.Graph({multigraph:!0});n.setGraph({rankdir:"LR",nodesep:22,ranksep:46,edgesep:14,marginx:8,marginy:8});for(let{name:a,size:l}of t)n.setNode(a,{width:Math.max(Ne(a)*_e.name,100)+24+l*6,height:42+l*6});for(let a of o){let{relation:l}=a;n.setEdge(l.to,l.collection,{width:(Ne(l.name)+Ke(a).length-l.name.length)*_e.label+(a.failing?20:6),height:18,labelpos:"c"},l.name)}e.layout(n);let{width:r,height:s}=n.graph();return{width:r??0,height:s??0,nodes:new Map(t.map(({name:a})=>[a,n.node(a)])),edges:new Map(o.map(({relation:a})=>[a.key,n.edge(a.to,a.collection,a.name)]))}}function Ht(e){let t=r=>`${r.x.toFixed(1)},${r.y.toFixed(1)}`,o=(r,s)=>({x:(r.x+s.x)/2,y:(r.y+s.y)/2}),n=e.slice(1,-1).map((r,s)=>` Q${t(r)} ${t(o(r,e[s+2]))}`);return`M${t(e[0])} L${t(o(e[0],e[1]))}${n.join("")} L${t(e[e.length-1])}`}function Be(e,t){let o=Math.hypot(e.x-t.x,e.y-t.y)||1,[n,r]=[(e.x-t.x)/o,(e.y-t.y)/o],s=a=>`${(e.x-10*n+a*5*r).toFixed(1)},${(e.y-10*r-a*5*n).toFixed(1)}`;return`M${e.x.toFixed(1)},${e.y.toFixed(1)} L${s(1)} L${s(-1)} Z`}function Xn({place:e}){let{shown:t,problem:o,again:n,cancel:r}=ke(),{model:s,status:a,counts:l,largest:c,etag:d,pending:p=!1}=t,$=G("admin"),u=q(()=>s&&Ee(s),[s]),m=q(()=>Oe(a),[a]);return i`<${v} problem=${o} again=${n} />
    <${ye} of=${{value:s,problem:o,cancel:r}}>${u&&i`<${Re} pending=${p} status=${a} mayEdit=${$} onChanged=${n} />
      <${Vt} relations=${u.relations} largest=${c} chosen=${e.params.get("relation")} />
      <${Kt} rules=${u.rules} found=${m} chosen=${e.params.get("rule")} />
      <${zt} functions=${u.functions} />
      <${Ge} place=${e} model=${s} declared=${u} counts=${l} largest=${c} found=${m} />
      ${$&&!a?.readOnly&&i`<${je} etag=${d} suggest=${e.params.get("suggest")}
        isDrafted=${e.params.has("draft")} pending=${p} onChanged=${n} />`}`}<//>
    ${le.value.some(({phase:f})=>f==="stored")&&i`<p><a
      href=${k(["_import"])}>Compare the imported files with the model that applies</a></p>`}
    <${fe} asked=${H} />`}function We(e,t,o){let[n,r]=b(null),[s,a]=b(null),[l,c]=b(void 0),[d,p]=b(0),$=w(n);$.current=n,y(()=>{if(o||e===""||$.current?.etag===e)return;let m=new AbortController;return ve(m.signal).then(f=>{if(m.signal.aborted)return;let x=t.current?.text();c(void 0),$.current===null||x===void 0||x===$.current.text||x===f.text?u(f):a(f)}).catch(f=>{m.signal.aborted||c(M(f))}),()=>m.abort()},[e,d,o]);let u=m=>{t.current&&t.current.text()!==m.text&&t.current.put(m.text),$.current=m,r(m),a(null)};return{base:n,theirs:s,problem:l,again:()=>p(m=>m+1),takeTheirs:()=>{s&&u(s)},applied:m=>{n&&r({...n,text:m}),a(null)},against:()=>s?(r(s),a(null),s.etag):n?.etag??""}}function zt({functions:e}){return e.length===0?null:i`<h2>Functions</h2>
    <${me} label="Functions" head=${["Function","Called by","Reads","Trigger of",["Lines"]]}>${e.map(t=>i`<tr key=${t.name}>
      <td><${h} text=${t.name} max=${100} /></td>
      <td>${t.call.length===0?"admin":t.call.join(", ")}${t.authority&&i` <strong>may do everything</strong>`}</td>
      <td><${Ye} names=${t.reads} /></td>
      <td><${Ye} names=${t.triggers} /></td>
      <td class="number">${g(t.source.trimEnd().split(`
`).length)}</td></tr>`)}<//>
    ${e.map(t=>i`<details key=${t.name}><summary>Source of <${h} text=${t.name} max=${100} /></summary><pre>
      <code>${$e(t.source,t.name,5e3)}</code></pre></details>`)}`}var Ye=({names:e})=>e.map((t,o)=>i`${o>0&&", "}<${_} name=${t} />`);function De({indexes:e}){return e.length===0?null:i`<h4>Indexes</h4><div class="scroll"><table aria-label="Indexes" class="dense">
    <thead><tr><th scope="col">Index</th><th scope="col">Change</th><th scope="col">Order</th><th scope="col" class="number">Entries</th><th
      scope="col" class="number">Bytes</th></tr></thead>
    <tbody>${e.map(t=>i`<tr key=${t.collection+"."+t.index+t.change}>
      <td><code><${h} text=${t.collection+"."+t.index} max=${200} /></code></td><td>${t.change}</td>
      <td><code><${h} text=${t.components.join(", ")} max=${300} /></code></td>
      <td class="number">${g(t.entries)}</td><td class="number">${t.bytes!==void 0&&g(t.bytes)}</td></tr>`)}</tbody>
  </table></div>`}var _=({name:e})=>i`<a href=${k([e])}><${h} text=${e} max=${100} /></a>`;function Vt({relations:e,largest:t,chosen:o}){let n=Ze(o);return i`<h2 id="relations">Relations</h2>
    ${e.length===0?i`<p class="quiet">The model declares no relation.</p>`:i`<div class="scroll"><table aria-label="Relations" class="dense">
      <thead><tr><th scope="col">Collection</th><th scope="col">Relation</th><th scope="col">Path</th><th scope="col">To</th><th
        scope="col">On delete</th><th scope="col">Most refer to</th><th scope="col" class="number">Rules</th></tr></thead>
      <tbody>${e.map(r=>i`<tr key=${r.key} ...${r.key===o?n:{}}>
        <td><${_} name=${r.collection} /></td>
        <td><${h} text=${r.name} max=${100} /></td>
        <td><code><${h} text=${r.path} max=${200} /></code></td>
        <td><${_} name=${r.to} /></td>
        <td>${r.onDelete}${r.strict&&", strict"}</td>
        <td><${Ut} largest=${t.get(r.key)} /></td>
        <td class="number">${g(r.rules.length)}</td></tr>`)}</tbody>
    </table></div>`}`}var Ut=({largest:e})=>e?.id!==void 0&&i`<${Y} collection=${e.to} id=${e.id} />: ${e.partial&&"at least "}${g(e.documents)}`,W=100;function Kt({rules:e,found:t,chosen:o}){let[n,r]=b(W),s=e.findIndex(({name:d})=>d===o),a=Math.max(n,Math.ceil((s+1)/W)*W),l=Ze(o),c=Math.min(W,e.length-a);return i`<h2>Rules</h2>
    ${e.length===0?i`<p class="quiet">The model declares no rule.</p>`:i`<div class="scroll"><table aria-label="Rules" class="dense">
      <thead><tr><th scope="col">Collection</th><th scope="col">Path</th><th scope="col">Kind</th><th scope="col">From</th><th
        scope="col">Expression</th>
        ${t&&i`<th scope="col">Error</th>`}</tr></thead>
      <tbody>${e.slice(0,a).map(d=>i`<${Xt} key=${d.name} rule=${d} found=${t?.(d.name)}
        shown=${d.name===o&&l} />`)}</tbody>
    </table></div>`}
    ${c>0&&i`<p><button type="button" class="small" onClick=${()=>r(a+W)}>Show ${c} more rules</button></p>`}`}function Ze(e){let t=w(null);return y(()=>{t.current?.scrollIntoView({block:"center"}),t.current?.focus({preventScroll:!0})},[e]),{ref:t,class:"chosen",tabindex:-1}}function Xt({rule:e,found:t,shown:o}){let n=t&&V(t)?"failing":"";return i`<tr class=${n||void 0} ...${o&&{...o,class:`${n} chosen`.trim()}}>
    <td><${_} name=${e.collection} /></td>
    <td><code><${h} text=${e.path} max=${200} /></code></td>
    <td>${e.kind}</td>
    <td class="from">${e.by===""?i`<span class="quiet">itself</span>`:i`<${_} name=${e.from} /> <span
      class="quiet">by <${h} text=${e.by.slice(e.by.indexOf(".")+1)} max=${60} /></span>`}</td>
    <td><code><${h} text=${e.says} max=${200} /></code></td>
    ${t&&i`<td><${Zt} found=${t} /></td>`}
  </tr>`}function Yt({document:e}){let t=e.indexOf("/");return i`<${Y} collection=${e.slice(0,t)} id=${e.slice(t+1)} />`}function Zt({found:{failed:e,withoutRoom:t}}){return i`${e&&i`<strong class="wrong">${g(e.count)} failed</strong>, last <${Yt} document=${e.document} />
    <div class="quiet"><${h} text=${e.error} max=${300} /></div>`}
    ${t!==void 0&&i`<div><strong class="wrong">No room</strong> in ${g(t)} documents</div>`}`}function U({document:e}){let t=e.indexOf("/");return i`<${xe} collection=${e.slice(0,t)} id=${e.slice(t+1)} />`}export{U as Apart,_ as CollectionLink,zt as Functions,Xn as ModelPage,De as PreviewedIndexes,Vt as Relations,Kt as Rules,We as useBase};
