import{a as qe,b as Ae,c as W,d as te,e as J,f as Le,g as ne,h as oe}from"./chunk-2AVT7XRB.js";import{$,A as Pe,Ia as Re,Ja as X,Ka as ee,La as A,Oa as v,Pa as F,T as Te,V as C,W as G,a as b,aa as x,ba as w,ca as R,d as Z,ga as Ce,ja as u,ka as h,la as y,ma as k,n as Se,na as B,p as T,q as Ne,r as z,s as _,t as S,w as Oe,x as Ee,z as D}from"./chunk-2RUBGJ57.js";import{b as p,c as ve,e as O,h as ke,i as _e,l as s,n as I,t as M}from"./chunk-JD54O3BL.js";var lt=e=>e.split(/[\s,]+/).filter(Boolean);function dt(e){let t=r=>String(e.get(r)??"").trim(),o=lt(t("collections")),n={since:t("since")||"now",partitions:Number(t("partitions"))||void 0,collections:o.length>0?o:void 0,filter:t("filter")||void 0,derived:e.get("derived")?void 0:"exclude",role:t("role")||void 0,push:t("push")?{url:t("push")}:void 0};return{name:t("name"),body:JSON.stringify(n)}}function Ie(){let[e,t]=p(!1),[o,n]=p(void 0),[r,l]=p(""),i=async a=>{a.preventDefault();let{name:d,body:c}=dt(new FormData(a.currentTarget));n(void 0),l("");try{if((await _({path:["_groups"]})).groups.some(g=>g.name===d))return l(d);let{text:f}=await T({method:"PUT",path:["_groups",d],body:c});f!==""&&(ne.value={what:`Secret of ${d}`,text:M(I(f)).secret,note:"Posts are signed by it."}),t(!1),Z(b(["_groups",d]))}catch(m){n(C(m))}};return Ee.value?s`<button type="button" onClick=${()=>t(!0)}>New group</button>
    ${e&&s`<${A} title="New group" onClose=${()=>t(!1)}><form class="form" onSubmit=${i}>
      <label>Name <input name="name" required maxlength="64" pattern="[a-z][a-z0-9_\\-]*" title="small letters, digits, - and _" data-focus
        autocomplete="off" spellcheck=${!1} /></label>
      <label>Begins at <input name="since" defaultValue="now" title="now, 0, a position or a time" autocomplete="off" /></label>
      <label>Partitions, for ever <input name="partitions" type="number" min="1" max="1000" defaultValue="16" /></label>
      <label>Collections; none for all <input name="collections" autocomplete="off" spellcheck=${!1} /></label>
      <label>Filter <input name="filter" autocomplete="off" spellcheck=${!1} placeholder="doc.year > 1900" /></label>
      <label class="box"><input type="checkbox" name="derived" defaultChecked /> Derived changes</label>
      <label>Role that its members have; admin where it is empty <input name="role" autocomplete="off" spellcheck=${!1} /></label>
      <label>URL that its batches are posted to; none for members of yours <input name="push" type="url" autocomplete="off" /></label>
      ${r&&s`<p role="alert" class="wrong">There is a group ${r} already.</p>`}
      <${v} problem=${o} />
      <p class="actions"><button type="submit" class="main">Make the group</button>
        <button type="button" onClick=${()=>t(!1)}>Cancel</button></p>
    </form><//>`}`:null}function Me({group:e,refresh:t}){let[o,n]=p(""),[r,l]=p(void 0),[i,a]=p(""),{name:d}=e,c=async(f,g,P,N=void 0)=>{l(void 0);try{let{text:q}=await T({method:g,path:["_groups",d,...P],body:N&&JSON.stringify(N)});if(P[0]==="_rotate"&&(ne.value={what:`New secret of ${d}`,text:M(I(q)).secret,note:"Posts have both signatures for a day."}),n(""),a(f),f==="")return Z(b(["_groups"]));t()}catch(q){l(C(q))}},m=()=>{n(""),l(void 0)};return s`<p class="actions"><button type="button" onClick=${()=>n("reset")}>Reset</button>
      ${e.push&&s`<button type="button" onClick=${()=>c("It has a new secret.","POST",["_rotate"],{overlap:"24h"})}>New
        secret</button>`}
      <button type="button" onClick=${()=>n("delete")}>Delete</button> <span role="status">${i}</span></p>
    ${o===""&&s`<${v} problem=${r} />`}
    ${o==="reset"&&s`<${$t} group=${e} problem=${r} onClose=${m} onGo=${f=>c("It begins there from now on.","POST",["_reset"],f)} />`}
    ${o==="delete"&&s`<${A} title=${`Delete ${d}`} onClose=${m}>
      <p>Its members are refused, and its checkpoints and parked batches go. Nothing brings them back. Documents and the feed stay.</p>
      <${W} word=${d} go="Delete" onGo=${()=>c("","DELETE",[])}>
        <button type="button" data-focus onClick=${m}>Keep it</button><//>
      <${v} problem=${r} /><//>`}`}var ct=[["now","Now: what its members have yet to take is never given to them"],["0","At the beginning: every change is given once more"],["at","At a position or a time: changes after it are given, once more or for the first time"]];function $t({group:e,problem:t,onGo:o,onClose:n}){let[r,l]=p("now"),[i,a]=p(""),[d,c]=p(!1),m=r==="at"?i.trim():r,f=e.partitions.filter(g=>g.owner!==void 0).length;return s`<${A} title=${`Reset ${e.name}`} onClose=${n}>
    <div class="form"><fieldset class="column"><legend>Where it begins</legend>${ct.map(([g,P],N)=>s`<label><input type="radio" name="to" data-focus=${N===0?"":void 0} checked=${r===g}
        onChange=${()=>l(g)} /> ${P}</label>`)}</fieldset>
    ${r==="at"&&s`<label>Position or time <input value=${i} autocomplete="off" spellcheck=${!1}
      onInput=${g=>a(g.target.value)} /></label>`}
    ${f>0&&s`<label class="box"><input type="checkbox" checked=${d} onChange=${()=>c(!d)} /> Also take the leases of its
        members, who have ${f} of ${e.partitions.length} partitions</label>`}</div>
    <${W} word=${e.name} go="Reset" busy=${m===""} onGo=${()=>o({to:m,...d?{force:!0}:{}})}>
      <button type="button" onClick=${n}>Cancel</button><//>
    <${v} problem=${t} />
  <//>`}var ut=/^([a-zA-Z_:][\w:]*)(?:\{((?:\s*\w+="(?:[^"\\]|\\.)*"\s*,?)*)\})?\s+(\S+)/,ae={"+Inf":1/0,Inf:1/0,"-Inf":-1/0,NaN:NaN};function pt(e){let t=new Map;for(let o of e.split(`
`)){let n=ut.exec(o);if(!n)continue;let[,r,l,i]=n;if(!(i in ae)&&Number.isNaN(Number(i)))continue;let a={labels:mt(l??""),value:ae[i]??Number(i)},d=t.get(r);d?d.push(a):t.set(r,[a])}return t}var mt=e=>Object.fromEntries([...e.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([,t,o])=>[t,o.replace(/\\(.)/g,(n,r)=>r==="n"?`
`:r)])),ft=/^\/v1\/(?::collection\b|_transactions$|_functions\/)/,ht=/\/_query$/,gt=({route:e,method:t})=>/^\/v1\/:collection\b/.test(e)&&(/^(GET|HEAD)$/.test(t)||ht.test(e));function Be(e,t){let o=pt(e),n=(i,a=()=>!0)=>(o.get(i)??[]).reduce((d,c)=>d+(a(c.labels)?c.value:0),0),r=i=>o.has(i)?n(i):void 0,l=new Map;for(let{labels:i,value:a}of o.get("fanfold_http_request_duration_seconds_bucket")??[]){if(!ft.test(i.route))continue;let d=ae[i.le]??Number(i.le);l.set(d,(l.get(d)??0)+a)}return{time:t,writes:n("fanfold_writes_total"),derived:n("fanfold_fanout_changes_sum"),reads:n("fanfold_http_requests_total",gt),took:[...l].sort(([i],[a])=>i-a),folds:n("fanfold_fold_duration_seconds_count"),folding:n("fanfold_fold_duration_seconds_sum"),lag:r("fanfold_lag_events"),log:r("fanfold_log_bytes"),model:r("fanfold_sqlite_bytes"),free:r("fanfold_disk_free_bytes"),memory:r("process_resident_memory_bytes")}}var De={time:36e5,samples:400},Fe=(e,t)=>[...e,t].filter(({time:o})=>t.time-o<=De.time).slice(-De.samples),Ge={most:6e4,least:1e3};function We(e){let t=n=>e.map((r,l)=>{let i=se(e,l);return i&&1e3*re(n(i),n(r))/(r.time-i.time)}),o=n=>e.map(r=>r[n]);return{times:e.map(({time:n})=>n),of:{writes:t(n=>n.writes),derived:t(n=>n.derived),reads:t(n=>n.reads),p99:e.map((n,r)=>bt(se(e,r)?.took,n.took,.99)),fold:e.map((n,r)=>{let l=se(e,r),i=l?re(l.folds,n.folds):0;return l&&i>0?re(l.folding,n.folding)/i:void 0}),lag:o("lag"),log:o("log"),model:o("model"),free:o("free"),memory:o("memory")}}}function se(e,t){let o;for(let n=t-1;n>=0&&e[t].time-e[n].time<=Ge.most;n--)o=e[n];return o&&e[t].time-o.time>=Ge.least?o:void 0}var re=(e,t)=>t>=e?t-e:t;function bt(e,t,o){if(!e)return;let n=new Map(e),l=(t.at(-1)?.[1]??0)<(e.at(-1)?.[1]??0),i=t.map(([m,f])=>[m,l?f:f-(n.get(m)??0)]),a=i.at(-1)?.[1]??0;if(a<=0)return;let d=0,c=0;for(let[m,f]of i){if(f>=o*a)return m===1/0?d:d+(m-d)*(o*a-c)/Math.max(1,f-c);[d,c]=[m,f]}return d}var $e=1e4,L=_e({samples:[],by:"",why:""}),je=!1,ie=!1;async function le(){let e=L.value.by===S.value?L.value:{samples:[],by:S.value,why:""},t=e.samples.at(-1)?.time??-1/0;if(!(document.hidden||ie||Date.now()-t<$e/2)){ie=!0;try{let o=AbortSignal.timeout($e),n=await fetch(new URL("../metrics",document.baseURI),{headers:Oe(),cache:"no-store",signal:o}),r=await n.text();if(e.by!==S.value)return;let l=n.ok?Fe(e.samples,Be(r,Date.now())):e.samples;L.value={...e,samples:l,why:n.ok?"":yt(z(n,r))}}catch{L.value={...e,why:"The server cannot be reached."}}finally{ie=!1}}}function yt({status:e,title:t,detail:o}){return e===404?"This server has no /metrics here.":`/metrics does not answer: ${[t,o].filter(Boolean).join(": ")}.`}function wt(){let e=S.value;return ve(()=>{le(),!je&&(je=!0,setInterval(le,$e),document.addEventListener("visibilitychange",le))},[e]),L.value.by===e?L.value:{samples:[],by:e,why:""}}var de=e=>e===0?"0":e<10?e.toFixed(1):u(Math.round(e)),xt=[["writes","Writes a second",de],["derived","Derived changes a second",de],["reads","Reads a second",de],["p99","Slowest of 100",y,"what 99 of 100 requests about documents stay below"],["lag","Lag",e=>h(e,"event")],["fold","Fold",y,"how long a transaction takes that folds events"],["log","Log",k],["model","Read model",k],["free","Free disk",k],["memory","Memory",k]];function Ue({status:e}){let{samples:t,why:o}=wt(),{times:n,of:r}=We(t),l=n[0]??0;return s`<section aria-label="At a glance" class="glance">
    <${kt} status=${e} bare=${t.length===0} />
    <${_t} needs=${e.needs??[]} />
    ${o&&s`<p class="quiet" role="status"><${$} text=${o} max=${400} /></p>`}
    ${t.length>0&&s`<ul aria-label="Figures of the last hour" class="figures">${xt.map(([i,a,d,c])=>s`<${vt} key=${i} called=${a} say=${d} about=${c}
          times=${n} values=${r[i]} since=${l} />`)}</ul>
      <p class="quiet small-print">${n.length<2?"Lines begin with the second reading, ten seconds later.":`The last ${y((n[n.length-1]-l)/1e3)}. This tab reads every ten seconds, and keeps an hour.`}</p>`}
  </section>`}function vt({called:e,say:t,about:o,times:n,values:r,since:l}){let i=r.at(-1),a=r.filter(m=>m!==void 0);if(a.length===0&&n.length>1&&o===void 0)return null;let d=i===void 0?"–":t(i),c=a.length?`, at most ${t(Math.max(...a))}`:"";return s`<li title=${o}><span class="called">${e}</span> <b>${d}</b>
    ${a.length>1&&s`<${Ot} label=${`${e}: ${d}${c}`} times=${n} values=${r} since=${l} />`}</li>`}function kt({status:e,bare:t}){let o=e.nodes.find(d=>d.self),n=e.nodes.filter(d=>d.live).length,r=!!o?.ready,{value:l}=Te(async d=>r?void 0:Pe(d),[r,e.position]),i=(l?.of.problems??[]).map(d=>d.detail??String(d)).join("; ")||l?.of.detail,a=U(e);return s`<p class="standing"><strong class=${r?"ready":"wrong"}>${r?"Ready":"Not ready"}</strong>${!r&&i&&s`<span><${$} text=${i} max=${1e3} /></span>`}
    ${(t||a.unknown!==void 0)&&s`<span>lag <${E} of=${a} /></span>`}
    <span>${e.nodes.length===1?"1 node":`${n} of ${h(e.nodes.length,"node")} live`}</span>
    <span>${e.model?s`<a href=${b(["_model"])}>Model of event ${u(e.model)}</a>`:"no model"}</span></p>`}var ce=10;function _t({needs:e}){return e.length===0?s`<p class="quiet">Nothing needs attention.</p>`:s`<ul aria-label="Needs attention" class="needs">${e.slice(0,ce).map(({what:t,detail:o,place:n})=>s`<li><strong><${$} text=${t} max=${300} /></strong>${o&&s`: <${$} text=${o} max=${1e3} />`}${n&&n!=="/_status"&&s` <a href=${"#"+n}>Open</a>`}</li>`)}${e.length>ce&&s`<li class="quiet">and ${e.length-ce} more</li>`}</ul>`}var Ve=200,j=40,St=45e3;function Nt(e,t,{since:o,until:n,top:r}){let l=[],i=-1/0;return t.forEach((a,d)=>{if(a===void 0)return;e[d]-i>St&&l.push([]),i=e[d];let c=(e[d]-o)/Math.max(1,n-o)*Ve;l[l.length-1].push(`${c.toFixed(1)},${(j-2-a/r*(j-4)).toFixed(1)}`)}),l}function Ot({label:e,times:t,values:o,since:n}){let r=o.filter(a=>a!==void 0),l={since:n,until:t.at(-1)??n,top:Math.max(...r,0)||1},i=a=>a.split(",")[0];return s`<svg class="spark" role="img" aria-label=${e} viewBox=${`0 0 ${Ve} ${j}`} preserveAspectRatio="none">
    ${Nt(t,o,l).map(a=>s`<polygon points=${`${i(a[0])},${j} ${a.join(" ")} ${i(a[a.length-1])},${j}`} />
        <polyline points=${a.join(" ")} />`)}</svg>`}function ze({status:e,admin:t,refresh:o}){let{history:n}=e;if(!n)return null;let{base:r,compaction:l,backup:i}=n,a=(n.erasures??[]).filter(d=>d.phase==="done");return s`<${w} title="History"><dl>
    <dt>Oldest position</dt><dd><code><${$} text=${n.oldest} /></code>${n.oldestTime&&s`, <${x} text=${n.oldestTime} />`}
      ${!r&&": the store has all its events"}</dd>
    ${r&&s`<dt>Begins with</dt><dd>a base of ${k(r.bytes)}, which stands for the events up to ${u(r.seq)}</dd>`}
    ${l&&!l.running&&s`<dt>Last compaction</dt><dd>to before <code><${$} text=${l.before} />
      </code>, ${y(l.seconds)}${l.by&&s`, by <${$} text=${l.by} max=${100} />`}
        ${Et(l)}${l.error&&s`: <${$} text=${l.error} max=${1e3} />`}</dd>`}
    ${i&&s`<dt>Last backup</dt><dd><${x} text=${i.time} />, up to <code><${$} text=${i.last} />
      </code>: it has what was erased since</dd>`}
    ${e.snapshot?.last&&s`<dt>Last snapshot</dt><dd><${x}
      text=${e.snapshot.last.taken} />, up to event ${u(e.snapshot.last.seq)}, ${k(e.snapshot.last.bytes)}</dd>`}
    ${e.snapshot?.startedFrom&&s`<dt>Started from</dt><dd>the snapshot of <${x}
      text=${e.snapshot.startedFrom.taken} />, up to event ${u(e.snapshot.startedFrom.seq)}</dd>`}
    </dl>
    ${t&&!e.readOnly&&s`<${Pt} status=${e} refresh=${o} />`}
    ${a.length>0&&s`<details><summary>${h(a.length,"erasure")}</summary>
      ${a.map(d=>s`<${J} key=${d.number} erasure=${d} />`)}</details>`}
  <//>`}var Et=({waitingFor:e=[]})=>e.length>0&&s`; the log waits for <${$} text=${e.join(", ")} max=${1e3} />`;function Pt({status:e,refresh:t}){let[o,n]=p(""),[r,l]=p(""),i=()=>n(""),a=d=>{i(),l(d),t()};return s`<p class="actions"><${At} />
      <button type="button" onClick=${()=>n("compact")}>Compact</button>
      ${e.logErasable&&s`<button type="button" onClick=${()=>n("erase")}>Erase</button>`}
      <span role="status">${r}</span></p>
    ${o==="compact"&&s`<${Tt} onGone=${a} onClose=${i} />`}
    ${o==="erase"&&s`<${Ct} onGone=${a} onClose=${i} />`}`}function Je({name:e,title:t,fields:o,asked:n,shown:r,isNothing:l,onGone:i,onClose:a}){let[d,c]=p(void 0),[m,f]=p(void 0),[g,P]=p(!1),N=O(""),q=JSON.stringify(n(!0)),we=N.current===q,xe=async V=>{P(!0),f(void 0);try{let H=M(I((await T(n(V))).text));if(!V)return i(H);N.current=q,c(H)}catch(H){N.current="",f(C(H))}finally{P(!1)}};return s`<${A} title=${t} onClose=${a}>
    <form class="form" onSubmit=${V=>{V.preventDefault(),g||xe(!0)}}>${o}
      <p class="actions"><button type="submit" aria-disabled=${g?"true":void 0}>What would go</button>
        <button type="button" onClick=${a}>Cancel</button> <span role="status" class="quiet">${g&&"Asking the server"}</span></p>
    </form>
    <${v} problem=${m} />
    ${we&&d&&s`<div class="plan" role="group" aria-label="What would go">${r(d)}</div>`}
    ${we&&d&&!l(d)&&s`<${W} word=${e} go=${e} busy=${g} onGo=${()=>xe(!1)} />`}
  <//>`}function Tt({onGone:e,onClose:t}){let[o,n]=p(""),[r,l]=p(!1),i=/^\d{4}-\d\d-\d\d$/.test(o.trim())?o.trim()+"T00:00:00Z":o.trim(),a=s`<p>The store then begins at this moment. What it is stays; older versions, older rows of the feed and the events
      of the log go for good. Only a backup from before has them.</p>
    <label>Begin at <input data-focus required value=${o} placeholder="2026-01-31, a time or a position" autocomplete="off"
      spellcheck=${!1} onInput=${c=>n(c.target.value)} /></label>
    <label class="box"><input type="checkbox" checked=${r} onChange=${()=>l(!r)} /> Also where a group has yet to take what
      goes: it has to be reset then</label>`;return s`<${Je} name="Compact" title="Let the store begin later" fields=${a} shown=${c=>c.done?s`<p>Nothing: the store begins at <code><${$} text=${c.before} /></code> already, or later.</p>`:s`<p><strong>${h(c.events,"event")} of the log</strong> (about ${k(c.bytes)}) and
        ${" "}<strong>${h(c.versions,"version")} of documents</strong>. The oldest position is <code>
        <${$} text=${c.before} />        </code> then${c.time&&s`, of <${x} text=${c.time} />`}.</p>
      ${c.groups.length>0&&s`<p class="wrong">Groups that have yet to take some of it: <${$} text=${c.groups.join(", ")}
        max=${1e3} />.</p>`}
      ${c.feeds>0&&s`<p>${h(c.feeds,"open feed")} would end, as late as that.</p>`}`} onClose=${t}
    isNothing=${c=>c.done} onGone=${c=>e(c.done?"Compaction: nothing is left to do":"Compaction: has begun, and shows under way")}
    asked=${c=>({method:"POST",path:["_compact"],body:JSON.stringify({before:i,...c?{dryRun:!0}:r?{force:!0}:{}})})} />`}function Ct({onGone:e,onClose:t}){let[o,n]=p(""),[r,l]=p(""),i=ue(o).map(c=>{let m=c.indexOf("/");return{collection:c.slice(0,Math.max(0,m)),id:c.slice(m+1)}}),a=ue(r),d=s`<p>All that these documents were goes from every version, every copy and the log, as if it had never been written.
      Nothing brings it back; a backup from before loses it with its next run.</p>
    <label>Documents, one a line <textarea data-focus required rows="3" spellcheck=${!1} placeholder="customers/c1" value=${o}
      onInput=${c=>n(c.target.value)}></textarea></label>
    <${Rt} onFound=${c=>n([...new Set([...ue(o),...c])].join(`
`))} />
    <label>Only these members, one a line; none for the whole documents, which are deleted <textarea rows="2" spellcheck=${!1}
      placeholder="/email" value=${r} onInput=${c=>l(c.target.value)}></textarea></label>`;return s`<${Je} name="Erase" title="Erase documents" fields=${d} shown=${qt} onClose=${t}
    isNothing=${c=>c.events===0} onGone=${c=>e(`Erasure ${c.number}: ${c.phase}`)}
    asked=${c=>({method:"POST",path:["_erase"],query:c?{dryRun:!0}:{},body:JSON.stringify({documents:i,...a.length>0?{members:a}:{}})})} />`}function Rt({onFound:e}){let[t,o]=p(""),[n,r]=p(""),l=async()=>{r("Looking");try{let{found:a,more:d}=await _({method:"POST",path:["_find"],body:JSON.stringify({text:t})});r(`${h(a.length,"document")} found${d?", and there are more":""}.`),e(a.map(c=>c.collection+"/"+c.id))}catch(a){let{title:d,detail:c}=C(a);r([d,c].filter(Boolean).join(": "))}};return s`<p class="actions"><label>Or those with this text in any version <input value=${t} autocomplete="off" spellcheck=${!1}
      maxlength="1000" onKeyDown=${a=>{a.key==="Enter"&&(a.preventDefault(),t&&l())}} onInput=${a=>o(a.target.value)} /></label>
    <button type="button" class="small" disabled=${t===""} onClick=${l}>Find</button>
    <span role="status" class="quiet">${n}</span></p>`}var ue=e=>e.split(`
`).map(t=>t.trim()).filter(Boolean);function qt({documents:e,living:t,versions:o,events:n,...r}){let l=[["copies","copies"],["frozen","frozen copies"],["kept","values that outlived a delete"]];return s`<p><strong>${h(e,"document")}</strong>, ${u(t)} still there: ${h(o,"version")} and
      ${" "}${h(n,"event")}.</p>
    <ul>${l.flatMap(([i,a])=>Object.entries(r[i]??{}).map(([d,c])=>s`<li><code><${$} text=${d} max=${200} /></code>: ${h(c,"document")} with
        ${" "}${a}</li>`))}</ul>`}var He=globalThis.showSaveFilePicker?.bind(globalThis);function At(){let[e,t]=p(""),[o,n]=p(void 0),r=O(null),l=async()=>{let d=new AbortController;n(void 0);try{let c=`fanfold-${new Date().toISOString().slice(0,19).replaceAll(":","")}.tar`,m=He&&await He({suggestedName:c});r.current=d,t("Backup: under way");let f=await Lt(d.signal,await m?.createWritable(),g=>t(`Backup: ${k(g)}`));f.blob&&It(f.blob,c),t(`Backup: ${k(f.bytes)}, up to ${f.position}`)}catch(c){t(c?.name==="AbortError"?"Backup: ended by you":""),c?.name!=="AbortError"&&n(C(c))}r.current=null},i=r.current!==null;return s`<button type="button" onClick=${i?()=>r.current?.abort():l}>${i?"End the backup":"Download a backup"}</button>
    <span role="status" aria-live=${i?"off":"polite"} class="quiet">${e}</span><${v} problem=${o} />`}async function Lt(e,t,o){let n=await Ne({path:["_backup"],signal:e});if(!n.ok||!n.body)throw z(n,await n.text());let r=[],l=0;try{let a=n.body.getReader();for(let d=await a.read();!d.done;d=await a.read())l+=d.value.length,t?await t.write(d.value):r.push(d.value),o(l);await t?.close()}catch(a){throw await t?.abort().catch(()=>{}),a?.name==="AbortError"?a:new Se(0,{title:"The backup was cut",detail:"What came is not whole: download it once more."})}let i=n.headers.get("Fanfold-Position")??"";return{bytes:l,position:i,blob:t?void 0:new Blob(r,{type:"application/x-tar"})}}function It(e,t){let o=document.createElement("a");o.href=URL.createObjectURL(e),o.download=t,o.click(),setTimeout(()=>URL.revokeObjectURL(o.href),6e4)}var pe=5e3,Mt=1e4,Dt=125,Ye={path:["_status"]};function Qn(){let e=D("admin"),t=O(pe),{value:o,problem:n,again:r,cancel:l}=G(d=>_({...Ye,signal:d}),[S.value],d=>tt(d)||t.current<pe?t.current=Math.min(2*t.current,pe):Mt),i=()=>{t.current=Dt,r()},a=o&&{top:s`<${Qt} status=${o} /><${Ue} status=${o} />
      <${jt} status=${o} admin=${e} refresh=${i} />
      <div class="columns"><${Yt} status=${o} /><div><${ze} status=${o} admin=${e} refresh=${i} />
        ${e&&!o.readOnly&&s`<${qe} status=${o} refresh=${i} />`}</div></div>
      <${Gt} status=${o} />`,end:s`<${en} status=${o} /><${nn} status=${o} /><${Le} status=${o} />`};return s`<div class="operations"><${v} problem=${n} again=${r} />
    <${F} of=${{value:o,problem:n,cancel:l}}>${a?.top}<//><${he} admin=${e} />${a?.end}</div>
    <${B} asked=${Ye} />`}var Gt=({status:e})=>s`<${w} title="Nodes"><${R} label="Nodes" head=${["Node","State","Lag",["Last event"],"Folds","Program"]}>
  ${e.nodes.map(t=>s`<tr key=${t.id+" "+t.address}>
    <th scope="row"><${$} text=${t.address||t.id||"this node"} max=${200} />${t.address&&t.id&&s` <code
      class="quiet"><${$} text=${t.id} max=${60} /></code>`}${t.self&&e.nodes.length>1&&s` <span
        class="quiet">the one asked</span>`}</th>
    <td>${Bt(t)}</td>
    <td class="lag"><${E} of=${Ze(t,e)} /></td>
    <td class="number">${u(t.applied)}</td>
    <td>${t.folds[0]===t.folds[1]?t.folds[0]:`${t.folds[0]} to ${t.folds[1]}`}</td>
    <td><${$} text=${t.version} max=${60} /></td></tr>`)}<//><//>`;function Bt(e){return e.error?s`<strong>unknown</strong>: <${$} text=${e.error} max=${500} />`:!e.live&&e.self?s`<strong>lapsed</strong>: it cannot keep its lease, and takes no writes`:e.live?e.ready?"ready":s`<strong>not ready</strong>`:s`<strong>away</strong>, last seen ${y(e.seenSeconds)} ago`}var Ft={model:"A new model",preview:"Preview of a model",verify:"Verification","verify-log":"Verification of the log"},me=10,Xe=e=>(e.work??[]).filter(t=>t.ended===void 0),et=e=>(e.history?.erasures??[]).filter(t=>t.phase!=="done"),Wt=({preparing:e})=>e&&e.phase!=="failed"?e:void 0,tt=e=>!!(e.replay?.running||Wt(e)||e.history?.compaction?.running||et(e).length||Xe(e).length);function jt({status:e,admin:t,refresh:o}){let{replay:n,preparing:r}=e,l=e.history?.compaction,i=et(e);return!tt(e)&&!r?.error&&!n?.error?null:s`<${w} title="Under way">
    ${n?.running&&s`<${Ae} replay=${n} />`}
    ${n&&!n.running&&n.error&&s`<p>The last replay failed: <${$} text=${n.error} max=${2e3} /></p>`}
    ${r&&s`<${Ut} preparing=${r} />`}
    ${l?.running&&s`<${Qe} title="Compaction" of=${l} />`}
    ${i.slice(0,me).map(a=>s`<${J} key=${a.number} erasure=${a} />`)}
    ${i.length>me&&s`<p>${h(i.length-me,"more erasure")} under way.</p>`}
    ${Xe(e).map(a=>s`<${Qe} key=${a.id} title=${Ft[a.kind]??a.kind} of=${a} />
      ${t&&s`<${Vt} id=${a.id} refresh=${o} />`}`)}
  <//>`}function Ut({preparing:e}){let t=ee(`${e.model} ${e.phase}`,e.done,e.total),o=e.waitingFor??[],n=s`<h3><a href=${b(["_model"])}>Model of event ${e.model}</a>: ${e.phase}</h3>`;return e.error?s`${n}<p>It cannot come: <${$} text=${e.error} max=${2e3} /></p>`:s`${n}${e.phase!=="ready"&&s`<${X} label="Preparation" done=${e.done} total=${e.total} left=${t} />`}
    <p>It changes ${h(e.changes,"document")} as far as is known.${o.length>0&&s` It waits for <${$}
      text=${o.join(", ")} max=${1e3} />.`}</p>`}function Qe({title:e,of:t}){let o=ee(t.phase,t.done,t.total);return s`<h3>${e}: ${t.phase}</h3><${X} label=${e} done=${t.done} total=${t.total} left=${o}>
    ${t.seconds>0&&`, ${y(t.seconds)} so far`}<//>`}function Vt({id:e,refresh:t}){return s`<p><button type="button" class="small" onClick=${()=>T({method:"DELETE",path:["_work",e]}).then(t,t)}>End it</button></p>`}var Ht=[["mode","Mode"],["view","View"],["derived","Derived changes"],["cascades","Cascades"],["filter","Filter"],["since","Began at"],["lease","Lease"],["maxAttempts","Attempts"],["role","Role"]];function nt({group:e}){let t=e.settings;return s`<${w} title="Settings"><dl>
    <dt>Lag</dt><dd><${E} of=${Q(e,e)} /></dd>
    <dt>Collections</dt><dd>
      ${t.collections?t.collections.map((o,n)=>s`${n>0&&", "}<a
        href=${b([o])}><${$} text=${o} max=${100} /></a>`):"all"}</dd>
    ${Ht.filter(([o])=>t[o]!==void 0).map(([o,n])=>s`<dt key=${o}>${n}</dt><dd><code><${$}
      text=${String(t[o])} max=${500} /></code></dd>`)}
    <dt>Made</dt><dd><${x} text=${e.created} /></dd>
  </dl><//>`}var zt={always:"a write is on disk before it is answered",interval:"a write is on disk within two minutes",unverified:"as the NATS servers have it, which was not verified"},Jt={group:"one fsync for all writes at a time",server:"an fsync for each message, as the log’s files are not as expected",none:"the server syncs every two minutes"};function Yt({status:e}){let{foldVersion:t,replicas:o,activated:n,withdrawn:r}=e;return s`<${w} title="This node"><dl>
    <dt>Position</dt><dd><code><${$} text=${e.position} /></code></dd>
    <dt>Lag</dt><dd><${E} of=${U(e)} />, event ${u(e.applied)} is the last folded one</dd>
    <dt>Model</dt><dd>${e.model?s`<a href=${b(["_model"])}>of event ${u(e.model)}</a>`:"none"}
      ${n&&n.model===e.model&&`: changed ${u(n.documents)} documents`}</dd>
    ${r&&s`<dt>Withdrawn model</dt><dd>of event ${u(r.model)}: <${$} text=${r.reason} max=${1e3} />
      </dd>`}
    <dt>Fold</dt><dd>version ${t.version}${t.newest>t.version?`; this program knows ${t.newest}`:", the newest"} <span
      class="quiet">(<${$} text=${e.fold} max=${200} />)</span></dd>
    <dt>Log</dt><dd>${sn(e)}${o&&`, ${o.current} of ${o.configured} replicas are current`}${!e.logErasable&&!e.readOnly&&"; it lets nothing be erased"}</dd>
    <dt>Durability</dt><dd>${zt[e.durability]??e.durability}${e.sync&&`; ${Jt[e.sync]??e.sync}`}
      </dd>
    <dt>Program</dt><dd><${$} text=${e.version} max=${100} /></dd>
  </dl><//>`}function Qt({status:e}){let{stopped:t,logError:o}=e;return s`${o&&s`<${Ke} title="The log cannot be used" text=${o} />`}
    ${t&&s`<${Ke} title=${`Event ${u(t.seq)} cannot be folded`} text=${t.reason}>
      <p>Reads show the state before it.</p><//>`}`}var Ke=({title:e,text:t,children:o})=>s`<div role="alert" class="problem"><strong>${e}</strong><p><${$} text=${t} max=${4e3} /></p>${o}</div>`,Kt=10,Y={seconds:.05,inVain:1e3},Zt=`None took ${y(Y.seconds)}, or looked at ${u(Y.inVain)} documents in vain.`,Xt=e=>e.seconds/e.queries>=Y.seconds||e.documents-e.given>=Y.inVain;function en({status:e}){let[t,o]=p(!1),n=e.queries??[],r=n.filter(Xt),l=t?n:r.slice(0,Kt);return s`<${w} title="Slow queries">
    ${r.length===0&&s`<p>${n.length===0?"No query was asked since the start.":Zt}</p>`}
    ${l.length>0&&s`<p class="quiet">Since the start, those first that looked at the most documents for what they gave. A <code>?</code> stands for a
      constant.</p>
    <${R} label="Slow queries" head=${["Query",["Times"],["Looked at"],["Gave"],["Each took"],"Index"]}>
      ${l.map(i=>s`<${tn} key=${on(i)} one=${i} />`)}<//>`}
    ${n.length>l.length&&s`<button type="button" onClick=${()=>o(!0)}>Show all ${u(n.length)} queries</button>`}<//>`}function tn({one:e}){return s`<tr><td class="wide"><a href=${b([e.collection])}><${$} text=${e.collection} max=${100} /></a>
      ${e.console===e.queries&&s` <span class="kind">by the console</span>`}
      ${fe("filter",e.filter)}${fe("sort",e.sort)}${fe("group",e.group)}</td>
    <td class="number">${u(e.queries)}</td><td class="number">${u(e.documents)}</td>
    <td class="number">${u(e.given)}</td>
    <td class="number">${y(e.seconds/e.queries)}</td>
    <td class="lag">${e.index===null?"none: all documents":s`<code><${$} text=${e.index} max=${100} /></code>`}
      ${e.suggest&&s`<details><summary>An index that serves it</summary><${Re} suggest=${e.suggest} />
      </details>`}</td></tr>`}function nn({status:e}){let t=e.indexes??[];if(t.length===0)return null;let o=t.filter(({queries:n})=>n===0).length;return s`<${w} title="Indexes"><details><summary>${t.length===1?"1 index":`${u(t.length)} indexes`}${o>0&&`, ${u(o)} not used since the start`}</summary>
    <${R} label="Indexes" head=${["Index","Collection",["Entries"],["Queries since the start"]]}>
      ${t.map(n=>s`<tr key=${n.collection+"/"+n.name}><th scope="row"><${$} text=${n.name} max=${100} /></th>
        <td><a href=${b([n.collection])}><${$} text=${n.collection} max=${100} /></a></td>
        <td class="number">${u(n.entries)}</td><td class="number">${u(n.queries)}</td></tr>`)}<//></details><//>`}var on=e=>[e.collection,e.filter,e.sort,e.group].join(`
`),fe=(e,t)=>t&&s`<div><span class="quiet">${e}</span> <code><${$} text=${t} max=${300} /></code></div>`;function sn(e){return e.readOnly?"none: the server has one position, and nothing later":e.log==="embedded"?"embedded":s`<${$} text=${e.log} max=${500} />`}var ge=20,st=1e4;function lo(){return s`<div class="groups-page"><p class="actions"><${Ie} /></p><${he} admin=${D("admin")} /></div>
    <${oe} /><${B} asked=${{path:["_groups"]}} />`}function he({admin:e}){let[t,o]=p(ge),{value:n,problem:r,again:l,cancel:i}=G(c=>ln(t,c),[t,S.value],()=>st),a=O(null),d=te(l,a);return s`<${w} title="Groups" heading=${a}>
    <${v} problem=${r} again=${l} />
    <${F} of=${{value:n,problem:r,cancel:i}}>${n&&(n.all===0?s`<p>There is no consumer group that you may see. <a href=${b(["_groups"])}>Make one</a>.</p>`:s`
      <${R} label="Groups" head=${["Group",["Partitions"],"Owners","Lag","Parked batches"]}>
        ${n.groups.map(c=>s`<${rn} key=${c.name} of=${c} admin=${e} deeds=${d} />`)}<//>
      ${n.all>n.groups.length&&s`<button type="button"
        onClick=${()=>o(t+ge)}>Show ${Math.min(ge,n.all-n.groups.length)} more groups</button>`}`)}<//>
    ${d.shown}
  <//>`}function rn({of:{name:e,group:t,parked:o,problem:n},admin:r,deeds:l}){let i=s`<th scope="row"><a href=${b(["_groups",e])}><${$} text=${e} max=${200} /></a></th>`;return t?s`<tr>${i}<td class="number">${u(t.partitions.length)}</td><td class="whole"><${an} group=${t} /></td>
    <td class="lag"><${E} of=${Q(t,t)} /></td>
    <td class="wide">${o.length===0?"none":s`<ul class="batches" aria-label="Parked batches">${o.slice(0,ye).map(a=>s`<li key=${a.id}><${at}
          group=${t} batch=${a} admin=${r} deeds=${l} /></li>`)}</ul>
      ${o.length>ye&&s`<a href=${b(["_groups",e])}>${u(o.length-ye)} more</a>`}`}</td></tr>`:s`<tr>${i}<td colspan="4">${n&&s`<${$} text=${n.title+": "+n.detail} max=${500} />`}</td>
      </tr>`}var be=10;function an({group:e}){let t=new Map;for(let{owner:r}of e.partitions)t.set(r??"",(t.get(r??"")??0)+1);let o=[...t].filter(([r])=>r!==""),n=t.get("")??0;return s`${o.slice(0,be).map(([r,l])=>s`<div><${$} text=${r} max=${128} /> <span class="quiet">${l}</span>
    </div>`)}
    ${o.length>be&&s`<div class="quiet">and ${o.length-be} more</div>`}
    ${n>0&&s`<div>nobody <span class="quiet">${n}</span></div>`}`}function co({place:e}){let t=e.parts[1],o=D("admin"),{value:n,problem:r,again:l,cancel:i}=G(c=>rt(t,c),[t,S.value],()=>st),a=O(null),d=te(l,a);return s`<p><a href=${b(["_groups"])}>All groups</a></p>
    <${v} problem=${r} again=${l} /><${oe} /><${F} of=${{value:n,problem:r,cancel:i}} />
    ${n&&s`${o&&s`<${Me} group=${n.group} refresh=${l} />`}
      <div class="columns"><${nt} group=${n.group} /><${$n} group=${n.group} /></div>
      <${cn} group=${n.group} />
      <${w} title="Parked batches" heading=${a}>${n.parked.length===0?s`<p>No batch is parked.</p>`:s`<${Ce} label="Parked batches" items=${n.parked} item=${c=>s`<${at}
            key=${c.id} group=${n.group} batch=${c} admin=${o} deeds=${d} />`} />`}
      ${d.shown}<//>`}
    <${B} asked=${{path:["_groups",t]}} />`}var ot=4,ye=3;async function ln(e,t){let o=(await _({path:["_groups"],signal:t})).groups.map(i=>i.name),n=o.slice(0,e),r=[],l=async i=>{for(;i<n.length;i+=ot)r[i]=await rt(n[i],t).catch(a=>({name:n[i],parked:[],problem:a}))};return await Promise.all(Array.from({length:ot},(i,a)=>l(a))),t.throwIfAborted(),{groups:r,all:o.length}}async function rt(e,t){let o=await _({path:["_groups",e],signal:t}),n=o.partitions.some(r=>r.parked>0);return{name:e,group:o,parked:n?(await _({path:["_groups",e,"_parked"],signal:t})).parked:[]}}var dn=100;function cn({group:e}){let[t,o]=p(!1),n=t?e.partitions:e.partitions.slice(0,dn);return s`<${w} title="Partitions"><${R} label="Partitions"
    head=${[["Partition"],"Owner","Lag","Checkpoint",["Attempts"],["Parked"],"Last error"]}>
    ${n.map(r=>s`<tr key=${r.partition}><td class="number">${r.partition}</td>
      <td>${r.owner===void 0?"nobody":s`<${$} text=${r.owner} max=${128} />`}${r.expires&&s` <div
        class="quiet">until <${x} text=${r.expires} /></div>`}</td>
      <td class="lag"><${E} of=${Q(e,r)} /></td><td><code><${$} text=${r.checkpoint} /></code></td>
      <td class="number">${u(r.attempts)}</td><td class="number">${u(r.parked)}</td>
      <td>${r.error&&s`<${$} text=${r.error} max=${500} />`}${r.notBefore&&s` <div class="quiet">comes again <${x}
        text=${r.notBefore} /></div>`}</td></tr>`)}<//>
    ${e.partitions.length>n.length&&s`<button type="button"
      onClick=${()=>o(!0)}>Show all ${u(e.partitions.length)} partitions</button>`}<//>`}var $n=({group:e})=>s`<${w} title="Members">${e.members.length===0?s`<p>Nobody takes its changes.</p>`:s`<ul aria-label="Members">
  ${e.members.map(t=>s`<li key=${t.member}><${$} text=${t.member} max=${128} /> <span
    class="quiet">until <${x} text=${t.expires} />${t.max&&`, at most ${t.max} partitions`}</span></li>`)}</ul>`}<//>`;function at({group:e,batch:t,admin:o,deeds:n}){let r=ke(),{collections:l,filter:i}=e.settings,a=b(["_changes"],{since:t.from,collections:l?.join(","),filter:i});return s`<div id=${r}><code><${$} text=${t.error||"no error was told"} max=${500} /></code>
      <div class="quiet">partition ${t.partition}, ${t.time?s`${h(t.attempts,"attempt")}
        ${t.member&&s` by <${$} text=${t.member} max=${128} />`}, <${x}
          text=${t.time} />`:"parked before a restore"},
      ${" "}<a href=${a}>changes</a> behind <code><${$} text=${t.from} /></code> up to <code><${$} text=${t.to} />
        </code></div></div>
    ${(o||t.retry)&&s`<div class="actions">${t.retry&&s`<span>is to be given again</span>`}
      ${o&&!t.retry&&s`<button type="button" class="small" aria-describedby=${r}
        onClick=${()=>n.retry(e.name,t)}>Retry</button>`}
      ${o&&s`<button type="button" class="small" aria-describedby=${r}
        onClick=${()=>n.drop(e.name,t)}>Drop</button>`}</div>`}`}var E=({of:e})=>e.unknown===void 0?e.text:s`<strong>unknown</strong> <span class="quiet">${e.unknown}${e.text&&`; when last heard ${e.text}`}</span>`;function Ze(e,t){return e.error?{text:"",unknown:"as its entry cannot be read"}:e.self?U(t):it(e)??(e.live?{text:K(e)}:{text:K(e),unknown:"as it is away"})}function U(e){let t=e.nodes.some(o=>o.self&&!o.live);return it(e)??(e.logError||t?{text:K(e),unknown:"as the log cannot be reached"}:{text:K(e)})}var it=({lag:e,lagSeconds:t})=>e===0&&t>0?{text:"",unknown:`as the log has told nothing for ${y(t)}`}:void 0,K=({lag:e,lagSeconds:t})=>h(e,"event")+(e>0&&t>0?`, at most ${y(t)} old`:"");function Q(e,t){let{changes:o,seconds:n}=t.lag,r=t.gone||t.partitions?.some(l=>l.gone);return o!==void 0&&!r?{text:h(o,"change")+(o>0?`, the oldest ${y(n)} old`:"")}:r?{text:"",unknown:"as changes behind the checkpoint are not kept any more"}:t.lag.most!==void 0?{text:`up to ${h(t.lag.most,"change")}`}:{text:"",unknown:"as there are too many to count"}}export{lo as a,he as b,co as c,ye as d,ln as e,rt as f,cn as g,$n as h,at as i,E as j,Ze as k,U as l,Q as m,Qn as n,Gt as o,tt as p,jt as q,nt as r,Yt as s,Qt as t,en as u,nn as v};
