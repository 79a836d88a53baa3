import{a as qe,b as Ae,c as W,d as te,e as J,f as Le,g as oe,h as ne}from"./chunk-7RTQIGAR.js";import{g as Re,h as X,i as ee}from"./chunk-XFBWXMUH.js";import{a as F}from"./chunk-JSRVEYTP.js";import{$ as y,A as Ee,C as D,D as Pe,G as Te,I as C,J as G,P as $,Q as x,R as w,S as R,W as Ce,Z as u,_ as h,a as b,aa as k,ba as B,ca as A,d as Z,fa as v,p as Se,r as T,s as Ne,t as z,u as _,w as S,z as Oe}from"./chunk-E7RJ2GXA.js";import{b as p,c as ve,e as O,h as ke,i as _e,l as n,n as I,t as M}from"./chunk-YLTSUMXM.js";var dt=e=>e.split(/[\s,]+/).filter(Boolean);function ct(e){let t=r=>String(e.get(r)??"").trim(),s=dt(t("collections")),o={since:t("since")||"now",partitions:Number(t("partitions"))||void 0,collections:s.length>0?s:void 0,filter:t("filter")||void 0,derived:e.get("derived")?void 0:"exclude",role:t("role")||void 0,push:t("push")?{url:t("push")}:void 0};return{name:t("name"),body:JSON.stringify(o)}}function Ie(){let[e,t]=p(!1),[s,o]=p(void 0),[r,l]=p(""),i=async a=>{a.preventDefault();let{name:d,body:c}=ct(new FormData(a.currentTarget));o(void 0),l("");try{if((await _({path:["_groups"]})).groups.some(g=>g.name===d))return l(d);let{text:f}=await T({method:"PUT",path:["_groups",d],body:c});f!==""&&(oe.value={what:`Secret of ${d}`,text:M(I(f)).secret,note:"Posts are signed by it."}),t(!1),Z(b(["_groups",d]))}catch(m){o(C(m))}};return Ee.value?n`<button type="button" onClick=${()=>t(!0)}>New group</button>
    ${e&&n`<${A} title="New group" onClose=${()=>t(!1)}><form class="form" onSubmit=${i}>
      <label>Name <input name="name" required maxlength="64" pattern="[a-z][a-z0-9_\\-]*" title="small letters, digits, - and _" data-focus
        autocomplete="off" spellcheck=${!1} /></label>
      <label>Begins at <input name="since" defaultValue="now" title="now, 0, a position or a time" autocomplete="off" /></label>
      <label>Partitions, for ever <input name="partitions" type="number" min="1" max="1000" defaultValue="16" /></label>
      <label>Collections; none for all <input name="collections" autocomplete="off" spellcheck=${!1} /></label>
      <label>Filter <input name="filter" autocomplete="off" spellcheck=${!1} placeholder="doc.year > 1900" /></label>
      <label class="box"><input type="checkbox" name="derived" defaultChecked /> Derived changes</label>
      <label>Role that its members have; admin where it is empty <input name="role" autocomplete="off" spellcheck=${!1} /></label>
      <label>URL that its batches are posted to; none for members of yours <input name="push" type="url" autocomplete="off" /></label>
      ${r&&n`<p role="alert" class="wrong">There is a group ${r} already.</p>`}
      <${v} problem=${s} />
      <p class="actions"><button type="submit" class="main">Make the group</button>
        <button type="button" onClick=${()=>t(!1)}>Cancel</button></p>
    </form><//>`}`:null}function Me({group:e,refresh:t}){let[s,o]=p(""),[r,l]=p(void 0),[i,a]=p(""),{name:d}=e,c=async(f,g,P,N=void 0)=>{l(void 0);try{let{text:q}=await T({method:g,path:["_groups",d,...P],body:N&&JSON.stringify(N)});if(P[0]==="_rotate"&&(oe.value={what:`New secret of ${d}`,text:M(I(q)).secret,note:"Posts have both signatures for a day."}),o(""),a(f),f==="")return Z(b(["_groups"]));t()}catch(q){l(C(q))}},m=()=>{o(""),l(void 0)};return n`<p class="actions"><button type="button" onClick=${()=>o("reset")}>Reset</button>
      ${e.push&&n`<button type="button" onClick=${()=>c("It has a new secret.","POST",["_rotate"],{overlap:"24h"})}>New
        secret</button>`}
      <button type="button" onClick=${()=>o("delete")}>Delete</button> <span role="status">${i}</span></p>
    ${s===""&&n`<${v} problem=${r} />`}
    ${s==="reset"&&n`<${ut} group=${e} problem=${r} onClose=${m} onGo=${f=>c("It begins there from now on.","POST",["_reset"],f)} />`}
    ${s==="delete"&&n`<${A} title=${`Delete ${d}`} onClose=${m}>
      <p>Its members are refused, and its checkpoints and parked batches go. Nothing brings them back. Documents and the feed stay.</p>
      <${W} word=${d} go="Delete" onGo=${()=>c("","DELETE",[])}>
        <button type="button" data-focus onClick=${m}>Keep it</button><//>
      <${v} problem=${r} /><//>`}`}var $t=[["now","Now: what its members have yet to take is never given to them"],["0","At the beginning: every change is given once more"],["at","At a position or a time: changes after it are given, once more or for the first time"]];function ut({group:e,problem:t,onGo:s,onClose:o}){let[r,l]=p("now"),[i,a]=p(""),[d,c]=p(!1),m=r==="at"?i.trim():r,f=e.partitions.filter(g=>g.owner!==void 0).length;return n`<${A} title=${`Reset ${e.name}`} onClose=${o}>
    <div class="form"><fieldset class="column"><legend>Where it begins</legend>${$t.map(([g,P],N)=>n`<label><input type="radio" name="to" data-focus=${N===0?"":void 0} checked=${r===g}
        onChange=${()=>l(g)} /> ${P}</label>`)}</fieldset>
    ${r==="at"&&n`<label>Position or time <input value=${i} autocomplete="off" spellcheck=${!1}
      onInput=${g=>a(g.target.value)} /></label>`}
    ${f>0&&n`<label class="box"><input type="checkbox" checked=${d} onChange=${()=>c(!d)} /> Also take the leases of its
        members, who have ${f} of ${e.partitions.length} partitions</label>`}</div>
    <${W} word=${e.name} go="Reset" busy=${m===""} onGo=${()=>s({to:m,...d?{force:!0}:{}})}>
      <button type="button" onClick=${o}>Cancel</button><//>
    <${v} problem=${t} />
  <//>`}var pt=/^([a-zA-Z_:][\w:]*)(?:\{((?:\s*\w+="(?:[^"\\]|\\.)*"\s*,?)*)\})?\s+(\S+)/,ae={"+Inf":1/0,Inf:1/0,"-Inf":-1/0,NaN:NaN};function mt(e){let t=new Map;for(let s of e.split(`
`)){let o=pt.exec(s);if(!o)continue;let[,r,l,i]=o;if(!(i in ae)&&Number.isNaN(Number(i)))continue;let a={labels:ft(l??""),value:ae[i]??Number(i)},d=t.get(r);d?d.push(a):t.set(r,[a])}return t}var ft=e=>Object.fromEntries([...e.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([,t,s])=>[t,s.replace(/\\(.)/g,(o,r)=>r==="n"?`
`:r)])),ht=/^\/v1\/(?::collection\b|_transactions$|_functions\/)/,gt=/\/_query$/,bt=({route:e,method:t})=>/^\/v1\/:collection\b/.test(e)&&(/^(GET|HEAD)$/.test(t)||gt.test(e));function Be(e,t){let s=mt(e),o=(i,a=()=>!0)=>(s.get(i)??[]).reduce((d,c)=>d+(a(c.labels)?c.value:0),0),r=i=>s.has(i)?o(i):void 0,l=new Map;for(let{labels:i,value:a}of s.get("fanfold_http_request_duration_seconds_bucket")??[]){if(!ht.test(i.route))continue;let d=ae[i.le]??Number(i.le);l.set(d,(l.get(d)??0)+a)}return{time:t,writes:o("fanfold_writes_total"),derived:o("fanfold_fanout_changes_sum"),reads:o("fanfold_http_requests_total",bt),took:[...l].sort(([i],[a])=>i-a),folds:o("fanfold_fold_duration_seconds_count"),folding:o("fanfold_fold_duration_seconds_sum"),lag:r("fanfold_lag_events"),log:r("fanfold_log_bytes"),model:r("fanfold_sqlite_bytes"),free:r("fanfold_disk_free_bytes"),memory:r("process_resident_memory_bytes")}}var De={time:36e5,samples:400},Fe=(e,t)=>[...e,t].filter(({time:s})=>t.time-s<=De.time).slice(-De.samples),Ge={most:6e4,least:1e3};function We(e){let t=o=>e.map((r,l)=>{let i=se(e,l);return i&&1e3*re(o(i),o(r))/(r.time-i.time)}),s=o=>e.map(r=>r[o]);return{times:e.map(({time:o})=>o),of:{writes:t(o=>o.writes),derived:t(o=>o.derived),reads:t(o=>o.reads),p99:e.map((o,r)=>yt(se(e,r)?.took,o.took,.99)),fold:e.map((o,r)=>{let l=se(e,r),i=l?re(l.folds,o.folds):0;return l&&i>0?re(l.folding,o.folding)/i:void 0}),lag:s("lag"),log:s("log"),model:s("model"),free:s("free"),memory:s("memory")}}}function se(e,t){let s;for(let o=t-1;o>=0&&e[t].time-e[o].time<=Ge.most;o--)s=e[o];return s&&e[t].time-s.time>=Ge.least?s:void 0}var re=(e,t)=>t>=e?t-e:t;function yt(e,t,s){if(!e)return;let o=new Map(e),l=(t.at(-1)?.[1]??0)<(e.at(-1)?.[1]??0),i=t.map(([m,f])=>[m,l?f:f-(o.get(m)??0)]),a=i.at(-1)?.[1]??0;if(a<=0)return;let d=0,c=0;for(let[m,f]of i){if(f>=s*a)return m===1/0?d:d+(m-d)*(s*a-c)/Math.max(1,f-c);[d,c]=[m,f]}return d}var je=200,j=40,wt=45e3;function xt(e,t,{since:s,until:o,top:r}){let l=[],i=-1/0;return t.forEach((a,d)=>{if(a===void 0)return;e[d]-i>wt&&l.push([]),i=e[d];let c=(e[d]-s)/Math.max(1,o-s)*je;l[l.length-1].push(`${c.toFixed(1)},${(j-2-a/r*(j-4)).toFixed(1)}`)}),l}function Ue({label:e,times:t,values:s,since:o}){let r=s.filter(a=>a!==void 0),l={since:o,until:t.at(-1)??o,top:Math.max(...r,0)||1},i=a=>a.split(",")[0];return n`<svg class="spark" role="img" aria-label=${e} viewBox=${`0 0 ${je} ${j}`} preserveAspectRatio="none">
    ${xt(t,s,l).map(a=>n`<polygon points=${`${i(a[0])},${j} ${a.join(" ")} ${i(a[a.length-1])},${j}`} />
        <polyline points=${a.join(" ")} />`)}</svg>`}var $e=1e4,L=_e({samples:[],by:"",why:""}),Ve=!1,ie=!1;async function le(){let e=L.value.by===S.value?L.value:{samples:[],by:S.value,why:""},t=e.samples.at(-1)?.time??-1/0;if(!(document.hidden||ie||Date.now()-t<$e/2)){ie=!0;try{let s=AbortSignal.timeout($e),o=await fetch(new URL("../metrics",document.baseURI),{headers:Oe(),cache:"no-store",signal:s}),r=await o.text();if(e.by!==S.value)return;let l=o.ok?Fe(e.samples,Be(r,Date.now())):e.samples;L.value={...e,samples:l,why:o.ok?"":vt(z(o,r))}}catch{L.value={...e,why:"The server cannot be reached."}}finally{ie=!1}}}function vt({status:e,title:t,detail:s}){return e===404?"This server has no /metrics here.":`/metrics does not answer: ${[t,s].filter(Boolean).join(": ")}.`}function kt(){let e=S.value;return ve(()=>{le(),!Ve&&(Ve=!0,setInterval(le,$e),document.addEventListener("visibilitychange",le))},[e]),L.value.by===e?L.value:{samples:[],by:e,why:""}}var de=e=>e===0?"0":e<10?e.toFixed(1):u(Math.round(e)),_t=[["writes","Writes a second",de],["derived","Derived changes a second",de],["reads","Reads a second",de],["p99","Slowest of 100",y,"what 99 of 100 requests about documents stay below"],["lag","Lag",e=>h(e,"event")],["fold","Fold",y,"how long a transaction takes that folds events"],["log","Log",k],["model","Read model",k],["free","Free disk",k],["memory","Memory",k]];function He({status:e}){let{samples:t,why:s}=kt(),{times:o,of:r}=We(t),l=o[0]??0;return n`<section aria-label="At a glance" class="glance">
    <${Nt} status=${e} bare=${t.length===0} />
    <${Ot} needs=${e.needs??[]} />
    ${s&&n`<p class="quiet" role="status"><${$} text=${s} max=${400} /></p>`}
    ${t.length>0&&n`<ul aria-label="Figures of the last hour" class="figures">${_t.map(([i,a,d,c])=>n`<${St} key=${i} called=${a} say=${d} about=${c}
          times=${o} values=${r[i]} since=${l} />`)}</ul>
      <p class="quiet small-print">${o.length<2?"Lines begin with the second reading, ten seconds later.":`The last ${y((o[o.length-1]-l)/1e3)}. This tab reads every ten seconds, and keeps an hour.`}</p>`}
  </section>`}function St({called:e,say:t,about:s,times:o,values:r,since:l}){let i=r.at(-1),a=r.filter(m=>m!==void 0);if(a.length===0&&o.length>1&&s===void 0)return null;let d=i===void 0?"–":t(i),c=a.length?`, at most ${t(Math.max(...a))}`:"";return n`<li title=${s}><span class="called">${e}</span> <b>${d}</b>
    ${a.length>1&&n`<${Ue} label=${`${e}: ${d}${c}`} times=${o} values=${r} since=${l} />`}</li>`}function Nt({status:e,bare:t}){let s=e.nodes.find(d=>d.self),o=e.nodes.filter(d=>d.live).length,r=!!s?.ready,{value:l}=Te(async d=>r?void 0:Pe(d),[r,e.position]),i=(l?.of.problems??[]).map(d=>d.detail??String(d)).join("; ")||l?.of.detail,a=U(e);return n`<p class="standing"><strong class=${r?"ready":"wrong"}>${r?"Ready":"Not ready"}</strong>${!r&&i&&n`<span><${$} text=${i} max=${1e3} /></span>`}
    ${(t||a.unknown!==void 0)&&n`<span>lag <${E} of=${a} /></span>`}
    <span>${e.nodes.length===1?"1 node":`${o} of ${h(e.nodes.length,"node")} live`}</span>
    <span>${e.model?n`<a href=${b(["_model"])}>Model of event ${u(e.model)}</a>`:"no model"}</span></p>`}var ce=10;function Ot({needs:e}){return e.length===0?n`<p class="quiet">Nothing needs attention.</p>`:n`<ul aria-label="Needs attention" class="needs">${e.slice(0,ce).map(({what:t,detail:s,place:o})=>n`<li><strong><${$} text=${t} max=${300} /></strong>${s&&n`: <${$} text=${s} max=${1e3} />`}${o&&o!=="/_status"&&n` <a href=${"#"+o}>Open</a>`}</li>`)}${e.length>ce&&n`<li class="quiet">and ${e.length-ce} more</li>`}</ul>`}function Je({status:e,admin:t,refresh:s}){let{history:o}=e;if(!o)return null;let{base:r,compaction:l,backup:i}=o,a=(o.erasures??[]).filter(d=>d.phase==="done");return n`<${w} title="History"><dl>
    <dt>Oldest position</dt><dd><code><${$} text=${o.oldest} /></code>${o.oldestTime&&n`, <${x} text=${o.oldestTime} />`}
      ${!r&&": the store has all its events"}</dd>
    ${r&&n`<dt>Begins with</dt><dd>a base of ${k(r.bytes)}, which stands for the events up to ${u(r.seq)}</dd>`}
    ${l&&!l.running&&n`<dt>Last compaction</dt><dd>to before <code><${$} text=${l.before} />
      </code>, ${y(l.seconds)}${l.by&&n`, by <${$} text=${l.by} max=${100} />`}
        ${Et(l)}${l.error&&n`: <${$} text=${l.error} max=${1e3} />`}</dd>`}
    ${i&&n`<dt>Last backup</dt><dd><${x} text=${i.time} />, up to <code><${$} text=${i.last} />
      </code>: it has what was erased since</dd>`}
    ${e.snapshot?.last&&n`<dt>Last snapshot</dt><dd><${x}
      text=${e.snapshot.last.taken} />, up to event ${u(e.snapshot.last.seq)}, ${k(e.snapshot.last.bytes)}</dd>`}
    ${e.snapshot?.startedFrom&&n`<dt>Started from</dt><dd>the snapshot of <${x}
      text=${e.snapshot.startedFrom.taken} />, up to event ${u(e.snapshot.startedFrom.seq)}</dd>`}
    </dl>
    ${t&&!e.readOnly&&n`<${Pt} status=${e} refresh=${s} />`}
    ${a.length>0&&n`<details><summary>${h(a.length,"erasure")}</summary>
      ${a.map(d=>n`<${J} key=${d.number} erasure=${d} />`)}</details>`}
  <//>`}var Et=({waitingFor:e=[]})=>e.length>0&&n`; the log waits for <${$} text=${e.join(", ")} max=${1e3} />`;function Pt({status:e,refresh:t}){let[s,o]=p(""),[r,l]=p(""),i=()=>o(""),a=d=>{i(),l(d),t()};return n`<p class="actions"><${At} />
      <button type="button" onClick=${()=>o("compact")}>Compact</button>
      ${e.logErasable&&n`<button type="button" onClick=${()=>o("erase")}>Erase</button>`}
      <span role="status">${r}</span></p>
    ${s==="compact"&&n`<${Tt} onGone=${a} onClose=${i} />`}
    ${s==="erase"&&n`<${Ct} onGone=${a} onClose=${i} />`}`}function Ye({name:e,title:t,fields:s,asked:o,shown:r,isNothing:l,onGone:i,onClose:a}){let[d,c]=p(void 0),[m,f]=p(void 0),[g,P]=p(!1),N=O(""),q=JSON.stringify(o(!0)),we=N.current===q,xe=async V=>{P(!0),f(void 0);try{let H=M(I((await T(o(V))).text));if(!V)return i(H);N.current=q,c(H)}catch(H){N.current="",f(C(H))}finally{P(!1)}};return n`<${A} title=${t} onClose=${a}>
    <form class="form" onSubmit=${V=>{V.preventDefault(),g||xe(!0)}}>${s}
      <p class="actions"><button type="submit" aria-disabled=${g?"true":void 0}>What would go</button>
        <button type="button" onClick=${a}>Cancel</button> <span role="status" class="quiet">${g&&"Asking the server"}</span></p>
    </form>
    <${v} problem=${m} />
    ${we&&d&&n`<div class="plan" role="group" aria-label="What would go">${r(d)}</div>`}
    ${we&&d&&!l(d)&&n`<${W} word=${e} go=${e} busy=${g} onGo=${()=>xe(!1)} />`}
  <//>`}function Tt({onGone:e,onClose:t}){let[s,o]=p(""),[r,l]=p(!1),i=/^\d{4}-\d\d-\d\d$/.test(s.trim())?s.trim()+"T00:00:00Z":s.trim(),a=n`<p>The store then begins at this moment. What it is stays; older versions, older rows of the feed and the events
      of the log go for good. Only a backup from before has them.</p>
    <label>Begin at <input data-focus required value=${s} placeholder="2026-01-31, a time or a position" autocomplete="off"
      spellcheck=${!1} onInput=${c=>o(c.target.value)} /></label>
    <label class="box"><input type="checkbox" checked=${r} onChange=${()=>l(!r)} /> Also where a group has yet to take what
      goes: it has to be reset then</label>`;return n`<${Ye} name="Compact" title="Let the store begin later" fields=${a} shown=${c=>c.done?n`<p>Nothing: the store begins at <code><${$} text=${c.before} /></code> already, or later.</p>`:n`<p><strong>${h(c.events,"event")} of the log</strong> (about ${k(c.bytes)}) and
        ${" "}<strong>${h(c.versions,"version")} of documents</strong>. The oldest position is <code>
        <${$} text=${c.before} />        </code> then${c.time&&n`, of <${x} text=${c.time} />`}.</p>
      ${c.groups.length>0&&n`<p class="wrong">Groups that have yet to take some of it: <${$} text=${c.groups.join(", ")}
        max=${1e3} />.</p>`}
      ${c.feeds>0&&n`<p>${h(c.feeds,"open feed")} would end, as late as that.</p>`}`} onClose=${t}
    isNothing=${c=>c.done} onGone=${c=>e(c.done?"Compaction: nothing is left to do":"Compaction: has begun, and shows under way")}
    asked=${c=>({method:"POST",path:["_compact"],body:JSON.stringify({before:i,...c?{dryRun:!0}:r?{force:!0}:{}})})} />`}function Ct({onGone:e,onClose:t}){let[s,o]=p(""),[r,l]=p(""),i=ue(s).map(c=>{let m=c.indexOf("/");return{collection:c.slice(0,Math.max(0,m)),id:c.slice(m+1)}}),a=ue(r),d=n`<p>All that these documents were goes from every version, every copy and the log, as if it had never been written.
      Nothing brings it back; a backup from before loses it with its next run.</p>
    <label>Documents, one a line <textarea data-focus required rows="3" spellcheck=${!1} placeholder="customers/c1" value=${s}
      onInput=${c=>o(c.target.value)}></textarea></label>
    <${Rt} onFound=${c=>o([...new Set([...ue(s),...c])].join(`
`))} />
    <label>Only these members, one a line; none for the whole documents, which are deleted <textarea rows="2" spellcheck=${!1}
      placeholder="/email" value=${r} onInput=${c=>l(c.target.value)}></textarea></label>`;return n`<${Ye} name="Erase" title="Erase documents" fields=${d} shown=${qt} onClose=${t}
    isNothing=${c=>c.events===0} onGone=${c=>e(`Erasure ${c.number}: ${c.phase}`)}
    asked=${c=>({method:"POST",path:["_erase"],query:c?{dryRun:!0}:{},body:JSON.stringify({documents:i,...a.length>0?{members:a}:{}})})} />`}function Rt({onFound:e}){let[t,s]=p(""),[o,r]=p(""),l=async()=>{r("Looking");try{let{found:a,more:d}=await _({method:"POST",path:["_find"],body:JSON.stringify({text:t})});r(`${h(a.length,"document")} found${d?", and there are more":""}.`),e(a.map(c=>c.collection+"/"+c.id))}catch(a){let{title:d,detail:c}=C(a);r([d,c].filter(Boolean).join(": "))}};return n`<p class="actions"><label>Or those with this text in any version <input value=${t} autocomplete="off" spellcheck=${!1}
      maxlength="1000" onKeyDown=${a=>{a.key==="Enter"&&(a.preventDefault(),t&&l())}} onInput=${a=>s(a.target.value)} /></label>
    <button type="button" class="small" disabled=${t===""} onClick=${l}>Find</button>
    <span role="status" class="quiet">${o}</span></p>`}var ue=e=>e.split(`
`).map(t=>t.trim()).filter(Boolean);function qt({documents:e,living:t,versions:s,events:o,...r}){let l=[["copies","copies"],["frozen","frozen copies"],["kept","values that outlived a delete"]];return n`<p><strong>${h(e,"document")}</strong>, ${u(t)} still there: ${h(s,"version")} and
      ${" "}${h(o,"event")}.</p>
    <ul>${l.flatMap(([i,a])=>Object.entries(r[i]??{}).map(([d,c])=>n`<li><code><${$} text=${d} max=${200} /></code>: ${h(c,"document")} with
        ${" "}${a}</li>`))}</ul>`}var ze=globalThis.showSaveFilePicker?.bind(globalThis);function At(){let[e,t]=p(""),[s,o]=p(void 0),r=O(null),l=async()=>{let d=new AbortController;o(void 0);try{let c=`fanfold-${new Date().toISOString().slice(0,19).replaceAll(":","")}.tar`,m=ze&&await ze({suggestedName:c});r.current=d,t("Backup: under way");let f=await Lt(d.signal,await m?.createWritable(),g=>t(`Backup: ${k(g)}`));f.blob&&It(f.blob,c),t(`Backup: ${k(f.bytes)}, up to ${f.position}`)}catch(c){t(c?.name==="AbortError"?"Backup: ended by you":""),c?.name!=="AbortError"&&o(C(c))}r.current=null},i=r.current!==null;return n`<button type="button" onClick=${i?()=>r.current?.abort():l}>${i?"End the backup":"Download a backup"}</button>
    <span role="status" aria-live=${i?"off":"polite"} class="quiet">${e}</span><${v} problem=${s} />`}async function Lt(e,t,s){let o=await Ne({path:["_backup"],signal:e});if(!o.ok||!o.body)throw z(o,await o.text());let r=[],l=0;try{let a=o.body.getReader();for(let d=await a.read();!d.done;d=await a.read())l+=d.value.length,t?await t.write(d.value):r.push(d.value),s(l);await t?.close()}catch(a){throw await t?.abort().catch(()=>{}),a?.name==="AbortError"?a:new Se(0,{title:"The backup was cut",detail:"What came is not whole: download it once more."})}let i=o.headers.get("Fanfold-Position")??"";return{bytes:l,position:i,blob:t?void 0:new Blob(r,{type:"application/x-tar"})}}function It(e,t){let s=document.createElement("a");s.href=URL.createObjectURL(e),s.download=t,s.click(),setTimeout(()=>URL.revokeObjectURL(s.href),6e4)}var pe=5e3,Mt=1e4,Dt=125,Qe={path:["_status"]};function en(){let e=D("admin"),t=O(pe),{value:s,problem:o,again:r,cancel:l}=G(d=>_({...Qe,signal:d}),[S.value],d=>ot(d)||t.current<pe?t.current=Math.min(2*t.current,pe):Mt),i=()=>{t.current=Dt,r()},a=s&&{top:n`<${Qt} status=${s} /><${He} status=${s} />
      <${jt} status=${s} admin=${e} refresh=${i} />
      <div class="columns"><${Yt} status=${s} /><div><${Je} status=${s} admin=${e} refresh=${i} />
        ${e&&!s.readOnly&&n`<${qe} status=${s} refresh=${i} />`}</div></div>
      <${Gt} status=${s} />`,end:n`<${eo} status=${s} /><${oo} status=${s} /><${Le} status=${s} />`};return n`<div class="operations"><${v} problem=${o} again=${r} />
    <${F} of=${{value:s,problem:o,cancel:l}}>${a?.top}<//><${he} admin=${e} />${a?.end}</div>
    <${B} asked=${Qe} />`}var Gt=({status:e})=>n`<${w} title="Nodes"><${R} label="Nodes" head=${["Node","State","Lag",["Last event"],"Folds","Program"]}>
  ${e.nodes.map(t=>n`<tr key=${t.id+" "+t.address}>
    <th scope="row"><${$} text=${t.address||t.id||"this node"} max=${200} />${t.address&&t.id&&n` <code
      class="quiet"><${$} text=${t.id} max=${60} /></code>`}${t.self&&e.nodes.length>1&&n` <span
        class="quiet">the one asked</span>`}</th>
    <td>${Bt(t)}</td>
    <td class="lag"><${E} of=${Xe(t,e)} /></td>
    <td class="number">${u(t.applied)}</td>
    <td>${t.folds[0]===t.folds[1]?t.folds[0]:`${t.folds[0]} to ${t.folds[1]}`}</td>
    <td><${$} text=${t.version} max=${60} /></td></tr>`)}<//><//>`;function Bt(e){return e.error?n`<strong>unknown</strong>: <${$} text=${e.error} max=${500} />`:!e.live&&e.self?n`<strong>lapsed</strong>: it cannot keep its lease, and takes no writes`:e.live?e.ready?"ready":n`<strong>not ready</strong>`:n`<strong>away</strong>, last seen ${y(e.seenSeconds)} ago`}var Ft={model:"A new model",preview:"Preview of a model",verify:"Verification","verify-log":"Verification of the log"},me=10,et=e=>(e.work??[]).filter(t=>t.ended===void 0),tt=e=>(e.history?.erasures??[]).filter(t=>t.phase!=="done"),Wt=({preparing:e})=>e&&e.phase!=="failed"?e:void 0,ot=e=>!!(e.replay?.running||Wt(e)||e.history?.compaction?.running||tt(e).length||et(e).length);function jt({status:e,admin:t,refresh:s}){let{replay:o,preparing:r}=e,l=e.history?.compaction,i=tt(e);return!ot(e)&&!r?.error&&!o?.error?null:n`<${w} title="Under way">
    ${o?.running&&n`<${Ae} replay=${o} />`}
    ${o&&!o.running&&o.error&&n`<p>The last replay failed: <${$} text=${o.error} max=${2e3} /></p>`}
    ${r&&n`<${Ut} preparing=${r} />`}
    ${l?.running&&n`<${Ke} title="Compaction" of=${l} />`}
    ${i.slice(0,me).map(a=>n`<${J} key=${a.number} erasure=${a} />`)}
    ${i.length>me&&n`<p>${h(i.length-me,"more erasure")} under way.</p>`}
    ${et(e).map(a=>n`<${Ke} key=${a.id} title=${Ft[a.kind]??a.kind} of=${a} />
      ${t&&n`<${Vt} id=${a.id} refresh=${s} />`}`)}
  <//>`}function Ut({preparing:e}){let t=ee(`${e.model} ${e.phase}`,e.done,e.total),s=e.waitingFor??[],o=n`<h3><a href=${b(["_model"])}>Model of event ${e.model}</a>: ${e.phase}</h3>`;return e.error?n`${o}<p>It cannot come: <${$} text=${e.error} max=${2e3} /></p>`:n`${o}${e.phase!=="ready"&&n`<${X} label="Preparation" done=${e.done} total=${e.total} left=${t} />`}
    <p>It changes ${h(e.changes,"document")} as far as is known.${s.length>0&&n` It waits for <${$}
      text=${s.join(", ")} max=${1e3} />.`}</p>`}function Ke({title:e,of:t}){let s=ee(t.phase,t.done,t.total);return n`<h3>${e}: ${t.phase}</h3><${X} label=${e} done=${t.done} total=${t.total} left=${s}>
    ${t.seconds>0&&`, ${y(t.seconds)} so far`}<//>`}function Vt({id:e,refresh:t}){return n`<p><button type="button" class="small" onClick=${()=>T({method:"DELETE",path:["_work",e]}).then(t,t)}>End it</button></p>`}var Ht=[["mode","Mode"],["view","View"],["derived","Derived changes"],["cascades","Cascades"],["filter","Filter"],["since","Began at"],["lease","Lease"],["maxAttempts","Attempts"],["role","Role"]];function nt({group:e}){let t=e.settings;return n`<${w} title="Settings"><dl>
    <dt>Lag</dt><dd><${E} of=${Q(e,e)} /></dd>
    <dt>Collections</dt><dd>
      ${t.collections?t.collections.map((s,o)=>n`${o>0&&", "}<a
        href=${b([s])}><${$} text=${s} max=${100} /></a>`):"all"}</dd>
    ${Ht.filter(([s])=>t[s]!==void 0).map(([s,o])=>n`<dt key=${s}>${o}</dt><dd><code><${$}
      text=${String(t[s])} max=${500} /></code></dd>`)}
    <dt>Made</dt><dd><${x} text=${e.created} /></dd>
  </dl><//>`}var zt={always:"a write is on disk before it is answered",interval:"a write is on disk within two minutes",unverified:"as the NATS servers have it, which was not verified"},Jt={group:"one fsync for all writes at a time",server:"an fsync for each message, as the log’s files are not as expected",none:"the server syncs every two minutes"};function Yt({status:e}){let{foldVersion:t,replicas:s,activated:o,withdrawn:r}=e;return n`<${w} title="This node"><dl>
    <dt>Position</dt><dd><code><${$} text=${e.position} /></code></dd>
    <dt>Lag</dt><dd><${E} of=${U(e)} />, event ${u(e.applied)} is the last folded one</dd>
    <dt>Model</dt><dd>${e.model?n`<a href=${b(["_model"])}>of event ${u(e.model)}</a>`:"none"}
      ${o&&o.model===e.model&&`: changed ${u(o.documents)} documents`}</dd>
    ${r&&n`<dt>Withdrawn model</dt><dd>of event ${u(r.model)}: <${$} text=${r.reason} max=${1e3} />
      </dd>`}
    <dt>Fold</dt><dd>version ${t.version}${t.newest>t.version?`; this program knows ${t.newest}`:", the newest"} <span
      class="quiet">(<${$} text=${e.fold} max=${200} />)</span></dd>
    <dt>Log</dt><dd>${so(e)}${s&&`, ${s.current} of ${s.configured} replicas are current`}${!e.logErasable&&!e.readOnly&&"; it lets nothing be erased"}</dd>
    <dt>Durability</dt><dd>${zt[e.durability]??e.durability}${e.sync&&`; ${Jt[e.sync]??e.sync}`}
      </dd>
    <dt>Program</dt><dd><${$} text=${e.version} max=${100} /></dd>
  </dl><//>`}function Qt({status:e}){let{stopped:t,logError:s}=e;return n`${s&&n`<${Ze} title="The log cannot be used" text=${s} />`}
    ${t&&n`<${Ze} title=${`Event ${u(t.seq)} cannot be folded`} text=${t.reason}>
      <p>Reads show the state before it.</p><//>`}`}var Ze=({title:e,text:t,children:s})=>n`<div role="alert" class="problem"><strong>${e}</strong><p><${$} text=${t} max=${4e3} /></p>${s}</div>`,Kt=10,Y={seconds:.05,inVain:1e3},Zt=`None took ${y(Y.seconds)}, or looked at ${u(Y.inVain)} documents in vain.`,Xt=e=>e.seconds/e.queries>=Y.seconds||e.documents-e.given>=Y.inVain;function eo({status:e}){let[t,s]=p(!1),o=e.queries??[],r=o.filter(Xt),l=t?o:r.slice(0,Kt);return n`<${w} title="Slow queries">
    ${r.length===0&&n`<p>${o.length===0?"No query was asked since the start.":Zt}</p>`}
    ${l.length>0&&n`<p class="quiet">Since the start, those first that looked at the most documents for what they gave. A <code>?</code> stands for a
      constant.</p>
    <${R} label="Slow queries" head=${["Query",["Times"],["Looked at"],["Gave"],["Each took"],"Index"]}>
      ${l.map(i=>n`<${to} key=${no(i)} one=${i} />`)}<//>`}
    ${o.length>l.length&&n`<button type="button" onClick=${()=>s(!0)}>Show all ${u(o.length)} queries</button>`}<//>`}function to({one:e}){return n`<tr><td class="wide"><a href=${b([e.collection])}><${$} text=${e.collection} max=${100} /></a>
      ${e.console===e.queries&&n` <span class="kind">by the console</span>`}
      ${fe("filter",e.filter)}${fe("sort",e.sort)}${fe("group",e.group)}</td>
    <td class="number">${u(e.queries)}</td><td class="number">${u(e.documents)}</td>
    <td class="number">${u(e.given)}</td>
    <td class="number">${y(e.seconds/e.queries)}</td>
    <td class="lag">${e.index===null?"none: all documents":n`<code><${$} text=${e.index} max=${100} /></code>`}
      ${e.suggest&&n`<details><summary>An index that serves it</summary><${Re} suggest=${e.suggest} />
      </details>`}</td></tr>`}function oo({status:e}){let t=e.indexes??[];if(t.length===0)return null;let s=t.filter(({queries:o})=>o===0).length;return n`<${w} title="Indexes"><details><summary>${t.length===1?"1 index":`${u(t.length)} indexes`}${s>0&&`, ${u(s)} not used since the start`}</summary>
    <${R} label="Indexes" head=${["Index","Collection",["Entries"],["Queries since the start"]]}>
      ${t.map(o=>n`<tr key=${o.collection+"/"+o.name}><th scope="row"><${$} text=${o.name} max=${100} /></th>
        <td><a href=${b([o.collection])}><${$} text=${o.collection} max=${100} /></a></td>
        <td class="number">${u(o.entries)}</td><td class="number">${u(o.queries)}</td></tr>`)}<//></details><//>`}var no=e=>[e.collection,e.filter,e.sort,e.group].join(`
`),fe=(e,t)=>t&&n`<div><span class="quiet">${e}</span> <code><${$} text=${t} max=${300} /></code></div>`;function so(e){return e.readOnly?"none: the server has one position, and nothing later":e.log==="embedded"?"embedded":n`<${$} text=${e.log} max=${500} />`}var ge=20,rt=1e4;function mn(){return n`<div class="groups-page"><p class="actions"><${Ie} /></p><${he} admin=${D("admin")} /></div>
    <${ne} /><${B} asked=${{path:["_groups"]}} />`}function he({admin:e}){let[t,s]=p(ge),{value:o,problem:r,again:l,cancel:i}=G(c=>io(t,c),[t,S.value],()=>rt),a=O(null),d=te(l,a);return n`<${w} title="Groups" heading=${a}>
    <${v} problem=${r} again=${l} />
    <${F} of=${{value:o,problem:r,cancel:i}}>${o&&(o.all===0?n`<p>There is no consumer group that you may see. <a href=${b(["_groups"])}>Make one</a>.</p>`:n`
      <${R} label="Groups" head=${["Group",["Partitions"],"Owners","Lag","Parked batches"]}>
        ${o.groups.map(c=>n`<${ro} key=${c.name} of=${c} admin=${e} deeds=${d} />`)}<//>
      ${o.all>o.groups.length&&n`<button type="button"
        onClick=${()=>s(t+ge)}>Show ${Math.min(ge,o.all-o.groups.length)} more groups</button>`}`)}<//>
    ${d.shown}
  <//>`}function ro({of:{name:e,group:t,parked:s,problem:o},admin:r,deeds:l}){let i=n`<th scope="row"><a href=${b(["_groups",e])}><${$} text=${e} max=${200} /></a></th>`;return t?n`<tr>${i}<td class="number">${u(t.partitions.length)}</td><td class="whole"><${ao} group=${t} /></td>
    <td class="lag"><${E} of=${Q(t,t)} /></td>
    <td class="wide">${s.length===0?"none":n`<ul class="batches" aria-label="Parked batches">${s.slice(0,ye).map(a=>n`<li key=${a.id}><${it}
          group=${t} batch=${a} admin=${r} deeds=${l} /></li>`)}</ul>
      ${s.length>ye&&n`<a href=${b(["_groups",e])}>${u(s.length-ye)} more</a>`}`}</td></tr>`:n`<tr>${i}<td colspan="4">${o&&n`<${$} text=${o.title+": "+o.detail} max=${500} />`}</td>
      </tr>`}var be=10;function ao({group:e}){let t=new Map;for(let{owner:r}of e.partitions)t.set(r??"",(t.get(r??"")??0)+1);let s=[...t].filter(([r])=>r!==""),o=t.get("")??0;return n`${s.slice(0,be).map(([r,l])=>n`<div><${$} text=${r} max=${128} /> <span class="quiet">${l}</span>
    </div>`)}
    ${s.length>be&&n`<div class="quiet">and ${s.length-be} more</div>`}
    ${o>0&&n`<div>nobody <span class="quiet">${o}</span></div>`}`}function fn({place:e}){let t=e.parts[1],s=D("admin"),{value:o,problem:r,again:l,cancel:i}=G(c=>at(t,c),[t,S.value],()=>rt),a=O(null),d=te(l,a);return n`<p><a href=${b(["_groups"])}>All groups</a></p>
    <${v} problem=${r} again=${l} /><${ne} /><${F} of=${{value:o,problem:r,cancel:i}} />
    ${o&&n`${s&&n`<${Me} group=${o.group} refresh=${l} />`}
      <div class="columns"><${nt} group=${o.group} /><${$o} group=${o.group} /></div>
      <${co} group=${o.group} />
      <${w} title="Parked batches" heading=${a}>${o.parked.length===0?n`<p>No batch is parked.</p>`:n`<${Ce} label="Parked batches" items=${o.parked} item=${c=>n`<${it}
            key=${c.id} group=${o.group} batch=${c} admin=${s} deeds=${d} />`} />`}
      ${d.shown}<//>`}
    <${B} asked=${{path:["_groups",t]}} />`}var st=4,ye=3;async function io(e,t){let s=(await _({path:["_groups"],signal:t})).groups.map(i=>i.name),o=s.slice(0,e),r=[],l=async i=>{for(;i<o.length;i+=st)r[i]=await at(o[i],t).catch(a=>({name:o[i],parked:[],problem:a}))};return await Promise.all(Array.from({length:st},(i,a)=>l(a))),t.throwIfAborted(),{groups:r,all:s.length}}async function at(e,t){let s=await _({path:["_groups",e],signal:t}),o=s.partitions.some(r=>r.parked>0);return{name:e,group:s,parked:o?(await _({path:["_groups",e,"_parked"],signal:t})).parked:[]}}var lo=100;function co({group:e}){let[t,s]=p(!1),o=t?e.partitions:e.partitions.slice(0,lo);return n`<${w} title="Partitions"><${R} label="Partitions"
    head=${[["Partition"],"Owner","Lag","Checkpoint",["Attempts"],["Parked"],"Last error"]}>
    ${o.map(r=>n`<tr key=${r.partition}><td class="number">${r.partition}</td>
      <td>${r.owner===void 0?"nobody":n`<${$} text=${r.owner} max=${128} />`}${r.expires&&n` <div
        class="quiet">until <${x} text=${r.expires} /></div>`}</td>
      <td class="lag"><${E} of=${Q(e,r)} /></td><td><code><${$} text=${r.checkpoint} /></code></td>
      <td class="number">${u(r.attempts)}</td><td class="number">${u(r.parked)}</td>
      <td>${r.error&&n`<${$} text=${r.error} max=${500} />`}${r.notBefore&&n` <div class="quiet">comes again <${x}
        text=${r.notBefore} /></div>`}</td></tr>`)}<//>
    ${e.partitions.length>o.length&&n`<button type="button"
      onClick=${()=>s(!0)}>Show all ${u(e.partitions.length)} partitions</button>`}<//>`}var $o=({group:e})=>n`<${w} title="Members">${e.members.length===0?n`<p>Nobody takes its changes.</p>`:n`<ul aria-label="Members">
  ${e.members.map(t=>n`<li key=${t.member}><${$} text=${t.member} max=${128} /> <span
    class="quiet">until <${x} text=${t.expires} />${t.max&&`, at most ${t.max} partitions`}</span></li>`)}</ul>`}<//>`;function it({group:e,batch:t,admin:s,deeds:o}){let r=ke(),{collections:l,filter:i}=e.settings,a=b(["_changes"],{since:t.from,collections:l?.join(","),filter:i});return n`<div id=${r}><code><${$} text=${t.error||"no error was told"} max=${500} /></code>
      <div class="quiet">partition ${t.partition}, ${t.time?n`${h(t.attempts,"attempt")}
        ${t.member&&n` by <${$} text=${t.member} max=${128} />`}, <${x}
          text=${t.time} />`:"parked before a restore"},
      ${" "}<a href=${a}>changes</a> behind <code><${$} text=${t.from} /></code> up to <code><${$} text=${t.to} />
        </code></div></div>
    ${(s||t.retry)&&n`<div class="actions">${t.retry&&n`<span>is to be given again</span>`}
      ${s&&!t.retry&&n`<button type="button" class="small" aria-describedby=${r}
        onClick=${()=>o.retry(e.name,t)}>Retry</button>`}
      ${s&&n`<button type="button" class="small" aria-describedby=${r}
        onClick=${()=>o.drop(e.name,t)}>Drop</button>`}</div>`}`}var E=({of:e})=>e.unknown===void 0?e.text:n`<strong>unknown</strong> <span class="quiet">${e.unknown}${e.text&&`; when last heard ${e.text}`}</span>`;function Xe(e,t){return e.error?{text:"",unknown:"as its entry cannot be read"}:e.self?U(t):lt(e)??(e.live?{text:K(e)}:{text:K(e),unknown:"as it is away"})}function U(e){let t=e.nodes.some(s=>s.self&&!s.live);return lt(e)??(e.logError||t?{text:K(e),unknown:"as the log cannot be reached"}:{text:K(e)})}var lt=({lag:e,lagSeconds:t})=>e===0&&t>0?{text:"",unknown:`as the log has told nothing for ${y(t)}`}:void 0,K=({lag:e,lagSeconds:t})=>h(e,"event")+(e>0&&t>0?`, at most ${y(t)} old`:"");function Q(e,t){let{changes:s,seconds:o}=t.lag,r=t.gone||t.partitions?.some(l=>l.gone);return s!==void 0&&!r?{text:h(s,"change")+(s>0?`, the oldest ${y(o)} old`:"")}:r?{text:"",unknown:"as changes behind the checkpoint are not kept any more"}:t.lag.most!==void 0?{text:`up to ${h(t.lag.most,"change")}`}:{text:"",unknown:"as there are too many to count"}}export{mn as a,he as b,fn as c,ye as d,io as e,at as f,co as g,$o as h,it as i,E as j,Xe as k,U as l,Q as m,en as n,Gt as o,ot as p,jt as q,nt as r,Yt as s,Qt as t,eo as u,oo as v};
