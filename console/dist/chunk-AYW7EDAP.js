import{a as Ce,b as Re,c as F,d as ee,e as z,f as qe,g as te,h as oe}from"./chunk-6J2TRA4R.js";import{g as Te,h as Z,i as X}from"./chunk-EM3OEODN.js";import{$ as y,A as Ne,C as D,D as Oe,G as Ee,I as C,J as G,P as $,Q as x,R as w,S as R,W as Pe,Z as u,_ as h,a as b,aa as v,ba as B,ca as A,d as K,fa as k,p as ve,r as T,s as _e,t as H,u as _,w as S,z as Se}from"./chunk-MNRX4NBN.js";import{b as p,c as we,e as O,h as xe,i as ke,l as n,n as I,t as M}from"./chunk-YLTSUMXM.js";var lt=e=>e.split(/[\s,]+/).filter(Boolean);function dt(e){let t=r=>String(e.get(r)??"").trim(),s=lt(t("collections")),o={since:t("since")||"now",partitions:Number(t("partitions"))||void 0,collections:s.length>0?s:void 0,filter:t("filter")||void 0,derived:e.get("derived")?void 0:"exclude",role:t("role")||void 0,push:t("push")?{url:t("push")}:void 0};return{name:t("name"),body:JSON.stringify(o)}}function Ae(){let[e,t]=p(!1),[s,o]=p(void 0),[r,l]=p(""),a=async i=>{i.preventDefault();let{name:d,body:c}=dt(new FormData(i.currentTarget));o(void 0),l("");try{if((await _({path:["_groups"]})).groups.some(g=>g.name===d))return l(d);let{text:f}=await T({method:"PUT",path:["_groups",d],body:c});f!==""&&(te.value={what:`Secret of ${d}`,text:M(I(f)).secret,note:"Posts are signed by it."}),t(!1),K(b(["_groups",d]))}catch(m){o(C(m))}};return Ne.value?n`<button type="button" onClick=${()=>t(!0)}>New group</button>
    ${e&&n`<${A} title="New group" onClose=${()=>t(!1)}><form class="form" onSubmit=${a}>
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
      <${k} problem=${s} />
      <p class="actions"><button type="submit" class="main">Make the group</button>
        <button type="button" onClick=${()=>t(!1)}>Cancel</button></p>
    </form><//>`}`:null}function Le({group:e,refresh:t}){let[s,o]=p(""),[r,l]=p(void 0),[a,i]=p(""),{name:d}=e,c=async(f,g,P,N=void 0)=>{l(void 0);try{let{text:q}=await T({method:g,path:["_groups",d,...P],body:N&&JSON.stringify(N)});if(P[0]==="_rotate"&&(te.value={what:`New secret of ${d}`,text:M(I(q)).secret,note:"Posts have both signatures for a day."}),o(""),i(f),f==="")return K(b(["_groups"]));t()}catch(q){l(C(q))}},m=()=>{o(""),l(void 0)};return n`<p class="actions"><button type="button" onClick=${()=>o("reset")}>Reset</button>
      ${e.push&&n`<button type="button" onClick=${()=>c("It has a new secret.","POST",["_rotate"],{overlap:"24h"})}>New
        secret</button>`}
      <button type="button" onClick=${()=>o("delete")}>Delete</button> <span role="status">${a}</span></p>
    ${s===""&&n`<${k} problem=${r} />`}
    ${s==="reset"&&n`<${$t} group=${e} problem=${r} onClose=${m} onGo=${f=>c("It begins there from now on.","POST",["_reset"],f)} />`}
    ${s==="delete"&&n`<${A} title=${`Delete ${d}`} onClose=${m}>
      <p>Its members are refused, and its checkpoints and parked batches go. Nothing brings them back. Documents and the feed stay.</p>
      <${F} word=${d} go="Delete" onGo=${()=>c("","DELETE",[])} /><${k} problem=${r} />
      <p class="actions"><button type="button" data-focus onClick=${m}>Keep it</button></p><//>`}`}var ct=[["now","Now: what its members have yet to take is never given to them"],["0","At the beginning: every change is given once more"],["at","At a position or a time: changes after it are given, once more or for the first time"]];function $t({group:e,problem:t,onGo:s,onClose:o}){let[r,l]=p("now"),[a,i]=p(""),[d,c]=p(!1),m=r==="at"?a.trim():r,f=e.partitions.filter(g=>g.owner!==void 0).length;return n`<${A} title=${`Reset ${e.name}`} onClose=${o}>
    <div class="form"><fieldset class="column"><legend>Where it begins</legend>${ct.map(([g,P],N)=>n`<label><input type="radio" name="to" data-focus=${N===0?"":void 0} checked=${r===g}
        onChange=${()=>l(g)} /> ${P}</label>`)}</fieldset>
    ${r==="at"&&n`<label>Position or time <input value=${a} autocomplete="off" spellcheck=${!1}
      onInput=${g=>i(g.target.value)} /></label>`}
    ${f>0&&n`<label class="box"><input type="checkbox" checked=${d} onChange=${()=>c(!d)} /> Also take the leases of its
        members, who have ${f} of ${e.partitions.length} partitions</label>`}</div>
    <${F} word=${e.name} go="Reset" busy=${m===""} onGo=${()=>s({to:m,...d?{force:!0}:{}})} />
    <${k} problem=${t} />
    <p class="actions"><button type="button" onClick=${o}>Cancel</button></p>
  <//>`}var ut=/^([a-zA-Z_:][\w:]*)(?:\{((?:\s*\w+="(?:[^"\\]|\\.)*"\s*,?)*)\})?\s+(\S+)/,re={"+Inf":1/0,Inf:1/0,"-Inf":-1/0,NaN:NaN};function pt(e){let t=new Map;for(let s of e.split(`
`)){let o=ut.exec(s);if(!o)continue;let[,r,l,a]=o;if(!(a in re)&&Number.isNaN(Number(a)))continue;let i={labels:mt(l??""),value:re[a]??Number(a)},d=t.get(r);d?d.push(i):t.set(r,[i])}return t}var mt=e=>Object.fromEntries([...e.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([,t,s])=>[t,s.replace(/\\(.)/g,(o,r)=>r==="n"?`
`:r)])),ft=/^\/v1\/(?::collection\b|_transactions$|_functions\/)/,ht=/\/_query$/,gt=({route:e,method:t})=>/^\/v1\/:collection\b/.test(e)&&(/^(GET|HEAD)$/.test(t)||ht.test(e));function De(e,t){let s=pt(e),o=(a,i=()=>!0)=>(s.get(a)??[]).reduce((d,c)=>d+(i(c.labels)?c.value:0),0),r=a=>s.has(a)?o(a):void 0,l=new Map;for(let{labels:a,value:i}of s.get("fanfold_http_request_duration_seconds_bucket")??[]){if(!ft.test(a.route))continue;let d=re[a.le]??Number(a.le);l.set(d,(l.get(d)??0)+i)}return{time:t,writes:o("fanfold_writes_total"),reads:o("fanfold_http_requests_total",gt),took:[...l].sort(([a],[i])=>a-i),folds:o("fanfold_fold_duration_seconds_count"),folding:o("fanfold_fold_duration_seconds_sum"),lag:r("fanfold_lag_events"),log:r("fanfold_log_bytes"),model:r("fanfold_sqlite_bytes"),free:r("fanfold_disk_free_bytes"),memory:r("process_resident_memory_bytes")}}var Ie={time:36e5,samples:400},Ge=(e,t)=>[...e,t].filter(({time:s})=>t.time-s<=Ie.time).slice(-Ie.samples),Me={most:6e4,least:1e3};function Be(e){let t=o=>e.map((r,l)=>{let a=ne(e,l);return a&&1e3*se(o(a),o(r))/(r.time-a.time)}),s=o=>e.map(r=>r[o]);return{times:e.map(({time:o})=>o),of:{writes:t(o=>o.writes),reads:t(o=>o.reads),p99:e.map((o,r)=>bt(ne(e,r)?.took,o.took,.99)),fold:e.map((o,r)=>{let l=ne(e,r),a=l?se(l.folds,o.folds):0;return l&&a>0?se(l.folding,o.folding)/a:void 0}),lag:s("lag"),log:s("log"),model:s("model"),free:s("free"),memory:s("memory")}}}function ne(e,t){let s;for(let o=t-1;o>=0&&e[t].time-e[o].time<=Me.most;o--)s=e[o];return s&&e[t].time-s.time>=Me.least?s:void 0}var se=(e,t)=>t>=e?t-e:t;function bt(e,t,s){if(!e)return;let o=new Map(e),l=(t.at(-1)?.[1]??0)<(e.at(-1)?.[1]??0),a=t.map(([m,f])=>[m,l?f:f-(o.get(m)??0)]),i=a.at(-1)?.[1]??0;if(i<=0)return;let d=0,c=0;for(let[m,f]of a){if(f>=s*i)return m===1/0?d:d+(m-d)*(s*i-c)/Math.max(1,f-c);[d,c]=[m,f]}return d}var Fe=200,W=40,yt=45e3;function wt(e,t,{since:s,until:o,top:r}){let l=[],a=-1/0;return t.forEach((i,d)=>{if(i===void 0)return;e[d]-a>yt&&l.push([]),a=e[d];let c=(e[d]-s)/Math.max(1,o-s)*Fe;l[l.length-1].push(`${c.toFixed(1)},${(W-2-i/r*(W-4)).toFixed(1)}`)}),l}function We({label:e,times:t,values:s,since:o}){let r=s.filter(i=>i!==void 0),l={since:o,until:t.at(-1)??o,top:Math.max(...r,0)||1},a=i=>i.split(",")[0];return n`<svg class="spark" role="img" aria-label=${e} viewBox=${`0 0 ${Fe} ${W}`} preserveAspectRatio="none">
    ${wt(t,s,l).map(i=>n`<polygon points=${`${a(i[0])},${W} ${i.join(" ")} ${a(i[i.length-1])},${W}`} />
        <polyline points=${i.join(" ")} />`)}</svg>`}var de=1e4,L=ke({samples:[],by:"",why:""}),je=!1,ae=!1;async function ie(){let e=L.value.by===S.value?L.value:{samples:[],by:S.value,why:""},t=e.samples.at(-1)?.time??-1/0;if(!(document.hidden||ae||Date.now()-t<de/2)){ae=!0;try{let s=AbortSignal.timeout(de),o=await fetch(new URL("../metrics",document.baseURI),{headers:Se(),cache:"no-store",signal:s}),r=await o.text();if(e.by!==S.value)return;let l=o.ok?Ge(e.samples,De(r,Date.now())):e.samples;L.value={...e,samples:l,why:o.ok?"":xt(H(o,r))}}catch{L.value={...e,why:"The server cannot be reached."}}finally{ae=!1}}}function xt({status:e,title:t,detail:s}){return e===404?"This server has no /metrics here.":`/metrics does not answer: ${[t,s].filter(Boolean).join(": ")}.`}function kt(){let e=S.value;return we(()=>{ie(),!je&&(je=!0,setInterval(ie,de),document.addEventListener("visibilitychange",ie))},[e]),L.value.by===e?L.value:{samples:[],by:e,why:""}}var Ue=e=>e===0?"0":e<10?e.toFixed(1):u(Math.round(e)),vt=[["writes","Writes a second",Ue],["reads","Reads a second",Ue],["p99","Slowest of 100",y,"what 99 of 100 requests about documents stay below"],["lag","Lag",e=>h(e,"event")],["fold","Fold",y,"how long a transaction takes that folds events"],["log","Log",v],["model","Read model",v],["free","Free disk",v],["memory","Memory",v]];function Ve({status:e}){let{samples:t,why:s}=kt(),{times:o,of:r}=Be(t),l=o[0]??0;return n`<section aria-label="At a glance" class="glance">
    <${St} status=${e} bare=${t.length===0} />
    <${Nt} needs=${e.needs??[]} />
    ${s&&n`<p class="quiet" role="status"><${$} text=${s} max=${400} /></p>`}
    ${t.length>0&&n`<ul aria-label="Figures of the last hour" class="figures">${vt.map(([a,i,d,c])=>n`<${_t} key=${a} called=${i} say=${d} about=${c}
          times=${o} values=${r[a]} since=${l} />`)}</ul>
      <p class="quiet small-print">${o.length<2?"Lines begin with the second reading, ten seconds later.":`The last ${y((o[o.length-1]-l)/1e3)}. This tab reads every ten seconds, and keeps an hour.`}</p>`}
  </section>`}function _t({called:e,say:t,about:s,times:o,values:r,since:l}){let a=r.at(-1),i=r.filter(m=>m!==void 0);if(i.length===0&&o.length>1&&s===void 0)return null;let d=a===void 0?"–":t(a),c=i.length?`, at most ${t(Math.max(...i))}`:"";return n`<li title=${s}><span class="called">${e}</span> <b>${d}</b>
    ${i.length>1&&n`<${We} label=${`${e}: ${d}${c}`} times=${o} values=${r} since=${l} />`}</li>`}function St({status:e,bare:t}){let s=e.nodes.find(d=>d.self),o=e.nodes.filter(d=>d.live).length,r=!!s?.ready,{value:l}=Ee(async d=>r?void 0:Oe(d),[r,e.position]),a=(l?.of.problems??[]).map(d=>d.detail??String(d)).join("; ")||l?.of.detail,i=j(e);return n`<p class="standing"><strong class=${r?"ready":"wrong"}>${r?"Ready":"Not ready"}</strong>${!r&&a&&n`<span><${$} text=${a} max=${1e3} /></span>`}
    ${(t||i.unknown!==void 0)&&n`<span>lag <${E} of=${i} /></span>`}
    <span>${e.nodes.length===1?"1 node":`${o} of ${h(e.nodes.length,"node")} live`}</span>
    <span>${e.model?n`<a href=${b(["_model"])}>Model of event ${u(e.model)}</a>`:"no model"}</span></p>`}var le=10;function Nt({needs:e}){return e.length===0?n`<p class="quiet">Nothing needs attention.</p>`:n`<ul aria-label="Needs attention" class="needs">${e.slice(0,le).map(({what:t,detail:s,place:o})=>n`<li><strong><${$} text=${t} max=${300} /></strong>${s&&n`: <${$} text=${s} max=${1e3} />`}${o&&o!=="/_status"&&n` <a href=${"#"+o}>Open</a>`}</li>`)}${e.length>le&&n`<li class="quiet">and ${e.length-le} more</li>`}</ul>`}function ze({status:e,admin:t,refresh:s}){let{history:o}=e;if(!o)return null;let{base:r,compaction:l,backup:a}=o,i=(o.erasures??[]).filter(d=>d.phase==="done");return n`<${w} title="History"><dl>
    <dt>Oldest position</dt><dd><code><${$} text=${o.oldest} /></code>${o.oldestTime&&n`, <${x} text=${o.oldestTime} />`}
      ${!r&&": the store has all its events"}</dd>
    ${r&&n`<dt>Begins with</dt><dd>a base of ${v(r.bytes)}, which stands for the events up to ${u(r.seq)}</dd>`}
    ${l&&!l.running&&n`<dt>Last compaction</dt><dd>to before <code><${$} text=${l.before} />
      </code>, ${y(l.seconds)}${l.by&&n`, by <${$} text=${l.by} max=${100} />`}
        ${Ot(l)}${l.error&&n`: <${$} text=${l.error} max=${1e3} />`}</dd>`}
    ${a&&n`<dt>Last backup</dt><dd><${x} text=${a.time} />, up to <code><${$} text=${a.last} />
      </code>: it has what was erased since</dd>`}
    ${e.snapshot?.last&&n`<dt>Last snapshot</dt><dd><${x}
      text=${e.snapshot.last.taken} />, up to event ${u(e.snapshot.last.seq)}, ${v(e.snapshot.last.bytes)}</dd>`}
    ${e.snapshot?.startedFrom&&n`<dt>Started from</dt><dd>the snapshot of <${x}
      text=${e.snapshot.startedFrom.taken} />, up to event ${u(e.snapshot.startedFrom.seq)}</dd>`}
    </dl>
    ${t&&!e.readOnly&&n`<${Et} status=${e} refresh=${s} />`}
    ${i.length>0&&n`<details><summary>${h(i.length,"erasure")}</summary>
      ${i.map(d=>n`<${z} key=${d.number} erasure=${d} />`)}</details>`}
  <//>`}var Ot=({waitingFor:e=[]})=>e.length>0&&n`; the log waits for <${$} text=${e.join(", ")} max=${1e3} />`;function Et({status:e,refresh:t}){let[s,o]=p(""),[r,l]=p(""),a=()=>o(""),i=d=>{a(),l(d),t()};return n`<p class="actions"><${qt} />
      <button type="button" onClick=${()=>o("compact")}>Compact</button>
      ${e.logErasable&&n`<button type="button" onClick=${()=>o("erase")}>Erase</button>`}
      <span role="status">${r}</span></p>
    ${s==="compact"&&n`<${Pt} onGone=${i} onClose=${a} />`}
    ${s==="erase"&&n`<${Tt} onGone=${i} onClose=${a} />`}`}function Je({name:e,title:t,fields:s,asked:o,shown:r,isNothing:l,onGone:a,onClose:i}){let[d,c]=p(void 0),[m,f]=p(void 0),[g,P]=p(!1),N=O(""),q=JSON.stringify(o(!0)),be=N.current===q,ye=async U=>{P(!0),f(void 0);try{let V=M(I((await T(o(U))).text));if(!U)return a(V);N.current=q,c(V)}catch(V){N.current="",f(C(V))}finally{P(!1)}};return n`<${A} title=${t} onClose=${i}>
    <form class="form" onSubmit=${U=>{U.preventDefault(),g||ye(!0)}}>${s}
      <p class="actions"><button type="submit" aria-disabled=${g?"true":void 0}>What would go</button>
        <button type="button" onClick=${i}>Cancel</button> <span role="status" class="quiet">${g&&"Asking the server"}</span></p>
    </form>
    <${k} problem=${m} />
    ${be&&d&&n`<div class="plan" role="group" aria-label="What would go">${r(d)}</div>`}
    ${be&&d&&!l(d)&&n`<${F} word=${e} go=${e} busy=${g} onGo=${()=>ye(!1)} />`}
  <//>`}function Pt({onGone:e,onClose:t}){let[s,o]=p(""),[r,l]=p(!1),a=/^\d{4}-\d\d-\d\d$/.test(s.trim())?s.trim()+"T00:00:00Z":s.trim(),i=n`<p>The store then begins at this moment. What it is stays; older versions, older rows of the feed and the events
      of the log go for good. Only a backup from before has them.</p>
    <label>Begin at <input data-focus required value=${s} placeholder="2026-01-31, a time or a position" autocomplete="off"
      spellcheck=${!1} onInput=${c=>o(c.target.value)} /></label>
    <label class="box"><input type="checkbox" checked=${r} onChange=${()=>l(!r)} /> Also where a group has yet to take what
      goes: it has to be reset then</label>`;return n`<${Je} name="Compact" title="Let the store begin later" fields=${i} shown=${c=>c.done?n`<p>Nothing: the store begins at <code><${$} text=${c.before} /></code> already, or later.</p>`:n`<p><strong>${h(c.events,"event")} of the log</strong> (about ${v(c.bytes)}) and
        ${" "}<strong>${h(c.versions,"version")} of documents</strong>. The oldest position is <code>
        <${$} text=${c.before} />        </code> then${c.time&&n`, of <${x} text=${c.time} />`}.</p>
      ${c.groups.length>0&&n`<p class="wrong">Groups that have yet to take some of it: <${$} text=${c.groups.join(", ")}
        max=${1e3} />.</p>`}
      ${c.feeds>0&&n`<p>${h(c.feeds,"open feed")} would end, as late as that.</p>`}`} onClose=${t}
    isNothing=${c=>c.done} onGone=${c=>e(c.done?"Compaction: nothing is left to do":"Compaction: has begun, and shows under way")}
    asked=${c=>({method:"POST",path:["_compact"],body:JSON.stringify({before:a,...c?{dryRun:!0}:r?{force:!0}:{}})})} />`}function Tt({onGone:e,onClose:t}){let[s,o]=p(""),[r,l]=p(""),a=ce(s).map(c=>{let m=c.indexOf("/");return{collection:c.slice(0,Math.max(0,m)),id:c.slice(m+1)}}),i=ce(r),d=n`<p>All that these documents were goes from every version, every copy and the log, as if it had never been written.
      Nothing brings it back; a backup from before loses it with its next run.</p>
    <label>Documents, one a line <textarea data-focus required rows="3" spellcheck=${!1} placeholder="customers/c1" value=${s}
      onInput=${c=>o(c.target.value)}></textarea></label>
    <${Ct} onFound=${c=>o([...new Set([...ce(s),...c])].join(`
`))} />
    <label>Only these members, one a line; none for the whole documents, which are deleted <textarea rows="2" spellcheck=${!1}
      placeholder="/email" value=${r} onInput=${c=>l(c.target.value)}></textarea></label>`;return n`<${Je} name="Erase" title="Erase documents" fields=${d} shown=${Rt} onClose=${t}
    isNothing=${c=>c.events===0} onGone=${c=>e(`Erasure ${c.number}: ${c.phase}`)}
    asked=${c=>({method:"POST",path:["_erase"],query:c?{dryRun:!0}:{},body:JSON.stringify({documents:a,...i.length>0?{members:i}:{}})})} />`}function Ct({onFound:e}){let[t,s]=p(""),[o,r]=p(""),l=async()=>{r("Looking");try{let{found:i,more:d}=await _({method:"POST",path:["_find"],body:JSON.stringify({text:t})});r(`${h(i.length,"document")} found${d?", and there are more":""}.`),e(i.map(c=>c.collection+"/"+c.id))}catch(i){let{title:d,detail:c}=C(i);r([d,c].filter(Boolean).join(": "))}};return n`<p class="actions"><label>Or those with this text in any version <input value=${t} autocomplete="off" spellcheck=${!1}
      maxlength="1000" onKeyDown=${i=>{i.key==="Enter"&&(i.preventDefault(),t&&l())}} onInput=${i=>s(i.target.value)} /></label>
    <button type="button" class="small" disabled=${t===""} onClick=${l}>Find</button>
    <span role="status" class="quiet">${o}</span></p>`}var ce=e=>e.split(`
`).map(t=>t.trim()).filter(Boolean);function Rt({documents:e,living:t,versions:s,events:o,...r}){let l=[["copies","copies"],["frozen","frozen copies"],["kept","values that outlived a delete"]];return n`<p><strong>${h(e,"document")}</strong>, ${u(t)} still there: ${h(s,"version")} and
      ${" "}${h(o,"event")}.</p>
    <ul>${l.flatMap(([a,i])=>Object.entries(r[a]??{}).map(([d,c])=>n`<li><code><${$} text=${d} max=${200} /></code>: ${h(c,"document")} with
        ${" "}${i}</li>`))}</ul>`}var He=globalThis.showSaveFilePicker?.bind(globalThis);function qt(){let[e,t]=p(""),[s,o]=p(void 0),r=O(null),l=async()=>{let d=new AbortController;o(void 0);try{let c=`fanfold-${new Date().toISOString().slice(0,19).replaceAll(":","")}.tar`,m=He&&await He({suggestedName:c});r.current=d,t("Backup: under way");let f=await At(d.signal,await m?.createWritable(),g=>t(`Backup: ${v(g)}`));f.blob&&Lt(f.blob,c),t(`Backup: ${v(f.bytes)}, up to ${f.position}`)}catch(c){t(c?.name==="AbortError"?"Backup: ended by you":""),c?.name!=="AbortError"&&o(C(c))}r.current=null},a=r.current!==null;return n`<button type="button" onClick=${a?()=>r.current?.abort():l}>${a?"End the backup":"Download a backup"}</button>
    <span role="status" aria-live=${a?"off":"polite"} class="quiet">${e}</span><${k} problem=${s} />`}async function At(e,t,s){let o=await _e({path:["_backup"],signal:e});if(!o.ok||!o.body)throw H(o,await o.text());let r=[],l=0;try{let i=o.body.getReader();for(let d=await i.read();!d.done;d=await i.read())l+=d.value.length,t?await t.write(d.value):r.push(d.value),s(l);await t?.close()}catch(i){throw await t?.abort().catch(()=>{}),i?.name==="AbortError"?i:new ve(0,{title:"The backup was cut",detail:"What came is not whole: download it once more."})}let a=o.headers.get("Fanfold-Position")??"";return{bytes:l,position:a,blob:t?void 0:new Blob(r,{type:"application/x-tar"})}}function Lt(e,t){let s=document.createElement("a");s.href=URL.createObjectURL(e),s.download=t,s.click(),setTimeout(()=>URL.revokeObjectURL(s.href),6e4)}var $e=5e3,It=1e4,Mt=125,Ye={path:["_status"]};function Zo(){let e=D("admin"),t=O($e),{value:s,problem:o,again:r}=G(a=>_({...Ye,signal:a}),[S.value],a=>tt(a)||t.current<$e?t.current=Math.min(2*t.current,$e):It),l=()=>{t.current=Mt,r()};return n`<${k} problem=${o} again=${r} />
    ${s&&n`<${Yt} status=${s} /><${Ve} status=${s} />
      <${Wt} status=${s} admin=${e} refresh=${l} />`}
    <div class="operations"><div>
      <${me} admin=${e} />
      ${s&&n`<${Xt} status=${s} /><${to} status=${s} /><${qe} status=${s} /><${Dt} status=${s} />`}
    </div><div>
      ${s&&n`<${Jt} status=${s} /><${ze} status=${s} admin=${e} refresh=${l} />
        ${e&&!s.readOnly&&n`<${Ce} status=${s} refresh=${l} />`}`}
    </div></div>
    <${B} asked=${Ye} />`}var Dt=({status:e})=>n`<${w} title="Nodes"><${R} label="Nodes" head=${["Node","State","Lag",["Last event"],"Folds","Program"]}>
  ${e.nodes.map(t=>n`<tr key=${t.id+" "+t.address}>
    <th scope="row"><${$} text=${t.address||t.id||"this node"} max=${200} />${t.address&&t.id&&n` <code
      class="quiet"><${$} text=${t.id} max=${60} /></code>`}${t.self&&e.nodes.length>1&&n` <span
        class="quiet">the one asked</span>`}</th>
    <td>${Gt(t)}</td>
    <td class="lag"><${E} of=${Ze(t,e)} /></td>
    <td class="number">${u(t.applied)}</td>
    <td>${t.folds[0]===t.folds[1]?t.folds[0]:`${t.folds[0]} to ${t.folds[1]}`}</td>
    <td><${$} text=${t.version} max=${60} /></td></tr>`)}<//><//>`;function Gt(e){return e.error?n`<strong>unknown</strong>: <${$} text=${e.error} max=${500} />`:!e.live&&e.self?n`<strong>lapsed</strong>: it cannot keep its lease, and takes no writes`:e.live?e.ready?"ready":n`<strong>not ready</strong>`:n`<strong>away</strong>, last seen ${y(e.seenSeconds)} ago`}var Bt={model:"A new model",preview:"Preview of a model",verify:"Verification","verify-log":"Verification of the log"},ue=10,Xe=e=>(e.work??[]).filter(t=>t.ended===void 0),et=e=>(e.history?.erasures??[]).filter(t=>t.phase!=="done"),Ft=({preparing:e})=>e&&e.phase!=="failed"?e:void 0,tt=e=>!!(e.replay?.running||Ft(e)||e.history?.compaction?.running||et(e).length||Xe(e).length);function Wt({status:e,admin:t,refresh:s}){let{replay:o,preparing:r}=e,l=e.history?.compaction,a=et(e);return!tt(e)&&!r?.error&&!o?.error?null:n`<${w} title="Under way">
    ${o?.running&&n`<${Re} replay=${o} />`}
    ${o&&!o.running&&o.error&&n`<p>The last replay failed: <${$} text=${o.error} max=${2e3} /></p>`}
    ${r&&n`<${jt} preparing=${r} />`}
    ${l?.running&&n`<${Qe} title="Compaction" of=${l} />`}
    ${a.slice(0,ue).map(i=>n`<${z} key=${i.number} erasure=${i} />`)}
    ${a.length>ue&&n`<p>${h(a.length-ue,"more erasure")} under way.</p>`}
    ${Xe(e).map(i=>n`<${Qe} key=${i.id} title=${Bt[i.kind]??i.kind} of=${i} />
      ${t&&n`<${Ut} id=${i.id} refresh=${s} />`}`)}
  <//>`}function jt({preparing:e}){let t=X(`${e.model} ${e.phase}`,e.done,e.total),s=e.waitingFor??[],o=n`<h3><a href=${b(["_model"])}>Model of event ${e.model}</a>: ${e.phase}</h3>`;return e.error?n`${o}<p>It cannot come: <${$} text=${e.error} max=${2e3} /></p>`:n`${o}${e.phase!=="ready"&&n`<${Z} label="Preparation" done=${e.done} total=${e.total} left=${t} />`}
    <p>It changes ${h(e.changes,"document")} as far as is known.${s.length>0&&n` It waits for <${$}
      text=${s.join(", ")} max=${1e3} />.`}</p>`}function Qe({title:e,of:t}){let s=X(t.phase,t.done,t.total);return n`<h3>${e}: ${t.phase}</h3><${Z} label=${e} done=${t.done} total=${t.total} left=${s}>
    ${t.seconds>0&&`, ${y(t.seconds)} so far`}<//>`}function Ut({id:e,refresh:t}){return n`<p><button type="button" class="small" onClick=${()=>T({method:"DELETE",path:["_work",e]}).then(t,t)}>End it</button></p>`}var Vt=[["mode","Mode"],["view","View"],["derived","Derived changes"],["cascades","Cascades"],["filter","Filter"],["since","Began at"],["lease","Lease"],["maxAttempts","Attempts"],["role","Role"]];function ot({group:e}){let t=e.settings;return n`<${w} title="Settings"><dl>
    <dt>Lag</dt><dd><${E} of=${Y(e,e)} /></dd>
    <dt>Collections</dt><dd>
      ${t.collections?t.collections.map((s,o)=>n`${o>0&&", "}<a
        href=${b([s])}><${$} text=${s} max=${100} /></a>`):"all"}</dd>
    ${Vt.filter(([s])=>t[s]!==void 0).map(([s,o])=>n`<dt key=${s}>${o}</dt><dd><code><${$}
      text=${String(t[s])} max=${500} /></code></dd>`)}
    <dt>Made</dt><dd><${x} text=${e.created} /></dd>
  </dl><//>`}var Ht={always:"a write is on disk before it is answered",interval:"a write is on disk within two minutes",unverified:"as the NATS servers have it, which was not verified"},zt={group:"one fsync for all writes at a time",server:"an fsync for each message, as the log’s files are not as expected",none:"the server syncs every two minutes"};function Jt({status:e}){let{foldVersion:t,replicas:s,activated:o,withdrawn:r}=e;return n`<${w} title="This node"><dl>
    <dt>Position</dt><dd><code><${$} text=${e.position} /></code></dd>
    <dt>Lag</dt><dd><${E} of=${j(e)} />, event ${u(e.applied)} is the last folded one</dd>
    <dt>Model</dt><dd>${e.model?n`<a href=${b(["_model"])}>of event ${u(e.model)}</a>`:"none"}
      ${o&&o.model===e.model&&`: changed ${u(o.documents)} documents`}</dd>
    ${r&&n`<dt>Withdrawn model</dt><dd>of event ${u(r.model)}: <${$} text=${r.reason} max=${1e3} />
      </dd>`}
    <dt>Fold</dt><dd>version ${t.version}${t.newest>t.version?`; this program knows ${t.newest}`:", the newest"} <span
      class="quiet">(<${$} text=${e.fold} max=${200} />)</span></dd>
    <dt>Log</dt><dd>${no(e)}${s&&`, ${s.current} of ${s.configured} replicas are current`}${!e.logErasable&&!e.readOnly&&"; it lets nothing be erased"}</dd>
    <dt>Durability</dt><dd>${Ht[e.durability]??e.durability}${e.sync&&`; ${zt[e.sync]??e.sync}`}
      </dd>
    <dt>Program</dt><dd><${$} text=${e.version} max=${100} /></dd>
  </dl><//>`}function Yt({status:e}){let{stopped:t,logError:s}=e;return n`${s&&n`<${Ke} title="The log cannot be used" text=${s} />`}
    ${t&&n`<${Ke} title=${`Event ${u(t.seq)} cannot be folded`} text=${t.reason}>
      <p>Reads show the state before it.</p><//>`}`}var Ke=({title:e,text:t,children:s})=>n`<div role="alert" class="problem"><strong>${e}</strong><p><${$} text=${t} max=${4e3} /></p>${s}</div>`,Qt=10,J={seconds:.05,inVain:1e3},Kt=`None took ${y(J.seconds)}, or looked at ${u(J.inVain)} documents in vain.`,Zt=e=>e.seconds/e.queries>=J.seconds||e.documents-e.given>=J.inVain;function Xt({status:e}){let[t,s]=p(!1),o=e.queries??[],r=o.filter(Zt),l=t?o:r.slice(0,Qt);return n`<${w} title="Slow queries">
    ${r.length===0&&n`<p>${o.length===0?"No query was asked since the start.":Kt}</p>`}
    ${l.length>0&&n`<p class="quiet">Since the start, those first that looked at the most documents for what they gave. A <code>?</code> stands for a
      constant.</p>
    <${R} label="Slow queries" head=${["Query",["Times"],["Looked at"],["Gave"],["Each took"],"Index"]}>
      ${l.map(a=>n`<${eo} key=${oo(a)} one=${a} />`)}<//>`}
    ${o.length>l.length&&n`<button type="button" onClick=${()=>s(!0)}>Show all ${u(o.length)} queries</button>`}<//>`}function eo({one:e}){return n`<tr><td class="wide"><a href=${b([e.collection])}><${$} text=${e.collection} max=${100} /></a>
      ${e.console===e.queries&&n` <span class="kind">by the console</span>`}
      ${pe("filter",e.filter)}${pe("sort",e.sort)}${pe("group",e.group)}</td>
    <td class="number">${u(e.queries)}</td><td class="number">${u(e.documents)}</td>
    <td class="number">${u(e.given)}</td>
    <td class="number">${y(e.seconds/e.queries)}</td>
    <td class="lag">${e.index===null?"none: all documents":n`<code><${$} text=${e.index} max=${100} /></code>`}
      ${e.suggest&&n`<details><summary>An index that serves it</summary><${Te} suggest=${e.suggest} />
      </details>`}</td></tr>`}function to({status:e}){let t=e.indexes??[];if(t.length===0)return null;let s=t.filter(({queries:o})=>o===0).length;return n`<${w} title="Indexes"><details><summary>${t.length===1?"1 index":`${u(t.length)} indexes`}${s>0&&`, ${u(s)} not used since the start`}</summary>
    <${R} label="Indexes" head=${["Index","Collection",["Entries"],["Queries since the start"]]}>
      ${t.map(o=>n`<tr key=${o.collection+"/"+o.name}><th scope="row"><${$} text=${o.name} max=${100} /></th>
        <td><a href=${b([o.collection])}><${$} text=${o.collection} max=${100} /></a></td>
        <td class="number">${u(o.entries)}</td><td class="number">${u(o.queries)}</td></tr>`)}<//></details><//>`}var oo=e=>[e.collection,e.filter,e.sort,e.group].join(`
`),pe=(e,t)=>t&&n`<div><span class="quiet">${e}</span> <code><${$} text=${t} max=${300} /></code></div>`;function no(e){return e.readOnly?"none: the server has one position, and nothing later":e.log==="embedded"?"embedded":n`<${$} text=${e.log} max=${500} />`}var fe=20,st=1e4;function $n(){return n`<div class="groups-page"><p class="actions"><${Ae} /></p><${me} admin=${D("admin")} /></div>
    <${oe} /><${B} asked=${{path:["_groups"]}} />`}function me({admin:e}){let[t,s]=p(fe),{value:o,problem:r,again:l}=G(d=>ao(t,d),[t,S.value],()=>st),a=O(null),i=ee(l,a);return n`<${w} title="Groups" heading=${a}>
    <${k} problem=${r} again=${l} />
    ${o&&(o.all===0?n`<p>There is no consumer group that you may see. <a href=${b(["_groups"])}>Make one</a>.</p>`:n`
      <${R} label="Groups" head=${["Group",["Partitions"],"Owners","Lag","Parked batches"]}>
        ${o.groups.map(d=>n`<${so} key=${d.name} of=${d} admin=${e} deeds=${i} />`)}<//>
      ${o.all>o.groups.length&&n`<button type="button"
        onClick=${()=>s(t+fe)}>Show ${Math.min(fe,o.all-o.groups.length)} more groups</button>`}`)}
    ${i.shown}
  <//>`}function so({of:{name:e,group:t,parked:s,problem:o},admin:r,deeds:l}){let a=n`<th scope="row"><a href=${b(["_groups",e])}><${$} text=${e} max=${200} /></a></th>`;return t?n`<tr>${a}<td class="number">${u(t.partitions.length)}</td><td class="whole"><${ro} group=${t} /></td>
    <td class="lag"><${E} of=${Y(t,t)} /></td>
    <td class="wide">${s.length===0?"none":n`<ul class="batches" aria-label="Parked batches">${s.slice(0,ge).map(i=>n`<li key=${i.id}><${at}
          group=${t} batch=${i} admin=${r} deeds=${l} /></li>`)}</ul>
      ${s.length>ge&&n`<a href=${b(["_groups",e])}>${u(s.length-ge)} more</a>`}`}</td></tr>`:n`<tr>${a}<td colspan="4">${o&&n`<${$} text=${o.title+": "+o.detail} max=${500} />`}</td>
      </tr>`}var he=10;function ro({group:e}){let t=new Map;for(let{owner:r}of e.partitions)t.set(r??"",(t.get(r??"")??0)+1);let s=[...t].filter(([r])=>r!==""),o=t.get("")??0;return n`${s.slice(0,he).map(([r,l])=>n`<div><${$} text=${r} max=${128} /> <span class="quiet">${l}</span>
    </div>`)}
    ${s.length>he&&n`<div class="quiet">and ${s.length-he} more</div>`}
    ${o>0&&n`<div>nobody <span class="quiet">${o}</span></div>`}`}function un({place:e}){let t=e.parts[1],s=D("admin"),{value:o,problem:r,again:l}=G(d=>rt(t,d),[t,S.value],()=>st),a=O(null),i=ee(l,a);return n`<p><a href=${b(["_groups"])}>All groups</a></p>
    <${k} problem=${r} again=${l} /><${oe} />
    ${o&&n`${s&&n`<${Le} group=${o.group} refresh=${l} />`}
      <div class="columns"><${ot} group=${o.group} /><${co} group=${o.group} /></div>
      <${lo} group=${o.group} />
      <${w} title="Parked batches" heading=${a}>${o.parked.length===0?n`<p>No batch is parked.</p>`:n`<${Pe} label="Parked batches" items=${o.parked} item=${d=>n`<${at}
            key=${d.id} group=${o.group} batch=${d} admin=${s} deeds=${i} />`} />`}
      ${i.shown}<//>`}
    <${B} asked=${{path:["_groups",t]}} />`}var nt=4,ge=3;async function ao(e,t){let s=(await _({path:["_groups"],signal:t})).groups.map(a=>a.name),o=s.slice(0,e),r=[],l=async a=>{for(;a<o.length;a+=nt)r[a]=await rt(o[a],t).catch(i=>({name:o[a],parked:[],problem:i}))};return await Promise.all(Array.from({length:nt},(a,i)=>l(i))),t.throwIfAborted(),{groups:r,all:s.length}}async function rt(e,t){let s=await _({path:["_groups",e],signal:t}),o=s.partitions.some(r=>r.parked>0);return{name:e,group:s,parked:o?(await _({path:["_groups",e,"_parked"],signal:t})).parked:[]}}var io=100;function lo({group:e}){let[t,s]=p(!1),o=t?e.partitions:e.partitions.slice(0,io);return n`<${w} title="Partitions"><${R} label="Partitions"
    head=${[["Partition"],"Owner","Lag","Checkpoint",["Attempts"],["Parked"],"Last error"]}>
    ${o.map(r=>n`<tr key=${r.partition}><td class="number">${r.partition}</td>
      <td>${r.owner===void 0?"nobody":n`<${$} text=${r.owner} max=${128} />`}${r.expires&&n` <div
        class="quiet">until <${x} text=${r.expires} /></div>`}</td>
      <td class="lag"><${E} of=${Y(e,r)} /></td><td><code><${$} text=${r.checkpoint} /></code></td>
      <td class="number">${u(r.attempts)}</td><td class="number">${u(r.parked)}</td>
      <td>${r.error&&n`<${$} text=${r.error} max=${500} />`}${r.notBefore&&n` <div class="quiet">comes again <${x}
        text=${r.notBefore} /></div>`}</td></tr>`)}<//>
    ${e.partitions.length>o.length&&n`<button type="button"
      onClick=${()=>s(!0)}>Show all ${u(e.partitions.length)} partitions</button>`}<//>`}var co=({group:e})=>n`<${w} title="Members">${e.members.length===0?n`<p>Nobody takes its changes.</p>`:n`<ul aria-label="Members">
  ${e.members.map(t=>n`<li key=${t.member}><${$} text=${t.member} max=${128} /> <span
    class="quiet">until <${x} text=${t.expires} />${t.max&&`, at most ${t.max} partitions`}</span></li>`)}</ul>`}<//>`;function at({group:e,batch:t,admin:s,deeds:o}){let r=xe(),{collections:l,filter:a}=e.settings,i=b(["_changes"],{since:t.from,collections:l?.join(","),filter:a});return n`<div id=${r}><code><${$} text=${t.error||"no error was told"} max=${500} /></code>
      <div class="quiet">partition ${t.partition}, ${t.time?n`${h(t.attempts,"attempt")}
        ${t.member&&n` by <${$} text=${t.member} max=${128} />`}, <${x}
          text=${t.time} />`:"parked before a restore"},
      ${" "}<a href=${i}>changes</a> behind <code><${$} text=${t.from} /></code> up to <code><${$} text=${t.to} />
        </code></div></div>
    ${(s||t.retry)&&n`<div class="actions">${t.retry&&n`<span>is to be given again</span>`}
      ${s&&!t.retry&&n`<button type="button" class="small" aria-describedby=${r}
        onClick=${()=>o.retry(e.name,t)}>Retry</button>`}
      ${s&&n`<button type="button" class="small" aria-describedby=${r}
        onClick=${()=>o.drop(e.name,t)}>Drop</button>`}</div>`}`}var E=({of:e})=>e.unknown===void 0?e.text:n`<strong>unknown</strong> <span class="quiet">${e.unknown}${e.text&&`; when last heard ${e.text}`}</span>`;function Ze(e,t){return e.error?{text:"",unknown:"as its entry cannot be read"}:e.self?j(t):it(e)??(e.live?{text:Q(e)}:{text:Q(e),unknown:"as it is away"})}function j(e){let t=e.nodes.some(s=>s.self&&!s.live);return it(e)??(e.logError||t?{text:Q(e),unknown:"as the log cannot be reached"}:{text:Q(e)})}var it=({lag:e,lagSeconds:t})=>e===0&&t>0?{text:"",unknown:`as the log has told nothing for ${y(t)}`}:void 0,Q=({lag:e,lagSeconds:t})=>h(e,"event")+(e>0&&t>0?`, at most ${y(t)} old`:"");function Y(e,t){let{changes:s,seconds:o}=t.lag,r=t.gone||t.partitions?.some(l=>l.gone);return s!==void 0&&!r?{text:h(s,"change")+(s>0?`, the oldest ${y(o)} old`:"")}:r?{text:"",unknown:"as changes behind the checkpoint are not kept any more"}:t.lag.most!==void 0?{text:`up to ${h(t.lag.most,"change")}`}:{text:"",unknown:"as there are too many to count"}}export{$n as a,me as b,un as c,ge as d,ao as e,rt as f,lo as g,co as h,at as i,E as j,Ze as k,j as l,Y as m,Zo as n,Dt as o,tt as p,Wt as q,ot as r,Jt as s,Yt as t,Xt as u,to as v};
