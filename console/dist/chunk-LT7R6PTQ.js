import{a as Te,b as Re,c as W,d as ee,e as z,f as Ae,g as te,h as ne}from"./chunk-2AVT7XRB.js";import{$,A as Ee,Ia as Ce,Ja as Z,Ka as X,La as A,Oa as v,Pa as B,T as Pe,V as C,W as G,a as g,aa as w,ba as x,ca as T,d as K,ga as qe,ja as u,ka as f,la as y,ma as S,na as F,o as _e,p as q,r as Se,s as k,t as _,w as Ne,x as Oe,z as D}from"./chunk-2RUBGJ57.js";import{b as p,c as we,e as P,h as ve,i as ke,l as o,n as L,t as M}from"./chunk-JD54O3BL.js";var at=e=>e.split(/[\s,]+/).filter(Boolean);function it(e){let t=r=>String(e.get(r)??"").trim(),s=at(t("collections")),n={since:t("since")||"now",partitions:Number(t("partitions"))||void 0,collections:s.length>0?s:void 0,filter:t("filter")||void 0,derived:e.get("derived")?void 0:"exclude",role:t("role")||void 0,push:t("push")?{url:t("push")}:void 0};return{name:t("name"),body:JSON.stringify(n)}}function Ie(){let[e,t]=p(!1),[s,n]=p(void 0),[r,l]=p(""),i=async a=>{a.preventDefault();let{name:d,body:c}=it(new FormData(a.currentTarget));n(void 0),l("");try{if((await k({path:["_groups"]})).groups.some(b=>b.name===d))return l(d);let{text:h}=await q({method:"PUT",path:["_groups",d],body:c});h!==""&&(te.value={what:`Secret of ${d}`,text:M(L(h)).secret,note:"Posts are signed by it."}),t(!1),K(g(["_groups",d]))}catch(m){n(C(m))}};return Oe.value?o`<button type="button" onClick=${()=>t(!0)}>New group</button>
    ${e&&o`<${A} title="New group" onClose=${()=>t(!1)}><form class="form" onSubmit=${i}>
      <label>Name <input name="name" required maxlength="64" pattern="[a-z][a-z0-9_\\-]*" title="small letters, digits, - and _" data-focus
        autocomplete="off" spellcheck=${!1} /></label>
      <label>Begins at <input name="since" defaultValue="now" title="now, 0, a position or a time" autocomplete="off" /></label>
      <label>Partitions, for ever <input name="partitions" type="number" min="1" max="1000" defaultValue="16" /></label>
      <label>Collections; none for all <input name="collections" autocomplete="off" spellcheck=${!1} /></label>
      <label>Filter <input name="filter" autocomplete="off" spellcheck=${!1} placeholder="doc.year > 1900" /></label>
      <label class="box"><input type="checkbox" name="derived" defaultChecked /> Derived changes</label>
      <label>Role that its members have; admin where it is empty <input name="role" autocomplete="off" spellcheck=${!1} /></label>
      <label>URL that its batches are posted to; none for members of yours <input name="push" type="url" autocomplete="off" /></label>
      ${r&&o`<p role="alert" class="wrong">There is a group ${r} already.</p>`}
      <${v} problem=${s} />
      <p class="actions"><button type="submit" class="main">Make the group</button>
        <button type="button" onClick=${()=>t(!1)}>Cancel</button></p>
    </form><//>`}`:null}function Le({group:e,refresh:t}){let[s,n]=p(""),[r,l]=p(void 0),[i,a]=p(""),{name:d}=e,c=async(h,b,E,N=void 0)=>{l(void 0);try{let{text:R}=await q({method:b,path:["_groups",d,...E],body:N&&JSON.stringify(N)});if(E[0]==="_rotate"&&(te.value={what:`New secret of ${d}`,text:M(L(R)).secret,note:"Posts have both signatures for a day."}),n(""),a(h),h==="")return K(g(["_groups"]));t()}catch(R){l(C(R))}},m=()=>{n(""),l(void 0)};return o`<p class="actions"><button type="button" onClick=${()=>n("reset")}>Reset</button>
      ${e.push&&o`<button type="button" onClick=${()=>c("It has a new secret.","POST",["_rotate"],{overlap:"24h"})}>New
        secret</button>`}
      <button type="button" onClick=${()=>n("delete")}>Delete</button> <span role="status">${i}</span></p>
    ${s===""&&o`<${v} problem=${r} />`}
    ${s==="reset"&&o`<${dt} group=${e} problem=${r} onClose=${m} onGo=${h=>c("It begins there from now on.","POST",["_reset"],h)} />`}
    ${s==="delete"&&o`<${A} title=${`Delete ${d}`} onClose=${m}>
      <p>Its members are refused, and its checkpoints and parked batches go. Nothing brings them back. Documents and the feed stay.</p>
      <${W} word=${d} go="Delete" onGo=${()=>c("","DELETE",[])}>
        <button type="button" data-focus onClick=${m}>Keep it</button><//>
      <${v} problem=${r} /><//>`}`}var lt=[["now","Now: what its members have yet to take is never given to them"],["0","At the beginning: every change is given once more"],["at","At a position or a time: changes after it are given, once more or for the first time"]];function dt({group:e,problem:t,onGo:s,onClose:n}){let[r,l]=p("now"),[i,a]=p(""),[d,c]=p(!1),m=r==="at"?i.trim():r,h=e.partitions.filter(b=>b.owner!==void 0).length;return o`<${A} title=${`Reset ${e.name}`} onClose=${n}>
    <div class="form"><fieldset class="column"><legend>Where it begins</legend>${lt.map(([b,E],N)=>o`<label><input type="radio" name="to" data-focus=${N===0?"":void 0} checked=${r===b}
        onChange=${()=>l(b)} /> ${E}</label>`)}</fieldset>
    ${r==="at"&&o`<label>Position or time <input value=${i} autocomplete="off" spellcheck=${!1}
      onInput=${b=>a(b.target.value)} /></label>`}
    ${h>0&&o`<label class="box"><input type="checkbox" checked=${d} onChange=${()=>c(!d)} /> Also take the leases of its
        members, who have ${h} of ${e.partitions.length} partitions</label>`}</div>
    <${W} word=${e.name} go="Reset" busy=${m===""} onGo=${()=>s({to:m,...d?{force:!0}:{}})}>
      <button type="button" onClick=${n}>Cancel</button><//>
    <${v} problem=${t} />
  <//>`}var ct=/^([a-zA-Z_:][\w:]*)(?:\{((?:\s*\w+="(?:[^"\\]|\\.)*"\s*,?)*)\})?\s+(\S+)/,re={"+Inf":1/0,Inf:1/0,"-Inf":-1/0,NaN:NaN};function $t(e){let t=new Map;for(let s of e.split(`
`)){let n=ct.exec(s);if(!n)continue;let[,r,l,i]=n;if(!(i in re)&&Number.isNaN(Number(i)))continue;let a={labels:ut(l??""),value:re[i]??Number(i)},d=t.get(r);d?d.push(a):t.set(r,[a])}return t}var ut=e=>Object.fromEntries([...e.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([,t,s])=>[t,s.replace(/\\(.)/g,(n,r)=>r==="n"?`
`:r)])),pt=/^\/v1\/(?::collection\b|_transactions$|_functions\/)/,mt=/\/_query$/,ft=({route:e,method:t})=>/^\/v1\/:collection\b/.test(e)&&(/^(GET|HEAD)$/.test(t)||mt.test(e));function Ge(e,t){let s=$t(e),n=(i,a=()=>!0)=>(s.get(i)??[]).reduce((d,c)=>d+(a(c.labels)?c.value:0),0),r=i=>s.has(i)?n(i):void 0,l=new Map;for(let{labels:i,value:a}of s.get("fanfold_http_request_duration_seconds_bucket")??[]){if(!pt.test(i.route))continue;let d=re[i.le]??Number(i.le);l.set(d,(l.get(d)??0)+a)}return{time:t,writes:n("fanfold_writes_total"),derived:n("fanfold_fanout_changes_sum"),reads:n("fanfold_http_requests_total",ft),took:[...l].sort(([i],[a])=>i-a),folds:n("fanfold_fold_duration_seconds_count"),folding:n("fanfold_fold_duration_seconds_sum"),lag:r("fanfold_lag_events"),log:r("fanfold_log_bytes"),model:r("fanfold_sqlite_bytes"),free:r("fanfold_disk_free_bytes"),memory:r("process_resident_memory_bytes")}}var Me={time:36e5,samples:400},Fe=(e,t)=>[...e,t].filter(({time:s})=>t.time-s<=Me.time).slice(-Me.samples),De={most:6e4,least:1e3};function Be(e){let t=n=>e.map((r,l)=>{let i=oe(e,l);return i&&1e3*se(n(i),n(r))/(r.time-i.time)}),s=n=>e.map(r=>r[n]);return{times:e.map(({time:n})=>n),of:{writes:t(n=>n.writes),derived:t(n=>n.derived),reads:t(n=>n.reads),p99:e.map((n,r)=>ht(oe(e,r)?.took,n.took,.99)),fold:e.map((n,r)=>{let l=oe(e,r),i=l?se(l.folds,n.folds):0;return l&&i>0?se(l.folding,n.folding)/i:void 0}),lag:s("lag"),log:s("log"),model:s("model"),free:s("free"),memory:s("memory")}}}function oe(e,t){let s;for(let n=t-1;n>=0&&e[t].time-e[n].time<=De.most;n--)s=e[n];return s&&e[t].time-s.time>=De.least?s:void 0}var se=(e,t)=>t>=e?t-e:t;function ht(e,t,s){if(!e)return;let n=new Map(e),l=(t.at(-1)?.[1]??0)<(e.at(-1)?.[1]??0),i=t.map(([m,h])=>[m,l?h:h-(n.get(m)??0)]),a=i.at(-1)?.[1]??0;if(a<=0)return;let d=0,c=0;for(let[m,h]of i){if(h>=s*a)return m===1/0?d:d+(m-d)*(s*a-c)/Math.max(1,h-c);[d,c]=[m,h]}return d}var ce=1e4,I=ke({samples:[],by:"",why:""}),We=!1,ae=!1;async function ie(){let e=I.value.by===_.value?I.value:{samples:[],by:_.value,why:""},t=e.samples.at(-1)?.time??-1/0;if(!(document.hidden||ae||Date.now()-t<ce/2)){ae=!0;try{let s=AbortSignal.timeout(ce),n=await fetch(new URL("../metrics",document.baseURI),{headers:Ne(),cache:"no-store",signal:s}),r=await n.text();if(e.by!==_.value)return;let l=n.ok?Fe(e.samples,Ge(r,Date.now())):e.samples;I.value={...e,samples:l,why:n.ok?"":gt(Se(n,r))}}catch{I.value={...e,why:"The server cannot be reached."}}finally{ae=!1}}}function gt({status:e,title:t,detail:s}){return e===404?"This server has no /metrics here.":`/metrics does not answer: ${[t,s].filter(Boolean).join(": ")}.`}function bt(){let e=_.value;return we(()=>{ie(),!We&&(We=!0,setInterval(ie,ce),document.addEventListener("visibilitychange",ie))},[e]),I.value.by===e?I.value:{samples:[],by:e,why:""}}var le=e=>e===0?"0":e<10?e.toFixed(1):u(Math.round(e)),yt=[["writes","Writes a second",le],["derived","Derived changes a second",le],["reads","Reads a second",le],["p99","Slowest of 100",y,"what 99 of 100 requests about documents stay below"],["lag","Lag",e=>f(e,"event")],["fold","Fold",y,"how long a transaction takes that folds events"],["log","Log",S],["model","Read model",S],["free","Free disk",S],["memory","Memory",S]];function Ve({status:e}){let{samples:t,why:s}=bt(),{times:n,of:r}=Be(t),l=n[0]??0;return o`<section aria-label="At a glance" class="glance">
    <${wt} status=${e} bare=${t.length===0} />
    <${vt} needs=${e.needs??[]} />
    ${s&&o`<p class="quiet" role="status"><${$} text=${s} max=${400} /></p>`}
    ${t.length>0&&o`<ul aria-label="Figures of the last hour" class="figures">${yt.map(([i,a,d,c])=>o`<${xt} key=${i} called=${a} say=${d} about=${c}
          times=${n} values=${r[i]} since=${l} />`)}</ul>
      <p class="quiet small-print">${n.length<2?"Lines begin with the second reading, ten seconds later.":`The last ${y((n[n.length-1]-l)/1e3)}. This tab reads every ten seconds, and keeps an hour.`}</p>`}
  </section>`}function xt({called:e,say:t,about:s,times:n,values:r,since:l}){let i=r.at(-1),a=r.filter(m=>m!==void 0);if(a.length===0&&n.length>1&&s===void 0)return null;let d=i===void 0?"–":t(i),c=a.length?`, at most ${t(Math.max(...a))}`:"";return o`<li title=${s}><span class="called">${e}</span> <b>${d}</b>
    ${a.length>1&&o`<${St} label=${`${e}: ${d}${c}`} times=${n} values=${r} since=${l} />`}</li>`}function wt({status:e,bare:t}){let s=e.nodes.find(d=>d.self),n=e.nodes.filter(d=>d.live).length,r=!!s?.ready,{value:l}=Pe(async d=>r?void 0:Ee(d),[r,e.position]),i=(l?.of.problems??[]).map(d=>d.detail??String(d)).join("; ")||l?.of.detail,a=j(e);return o`<p class="standing"><strong class=${r?"ready":"wrong"}>${r?"Ready":"Not ready"}</strong>${!r&&i&&o`<span><${$} text=${i} max=${1e3} /></span>`}
    ${(t||a.unknown!==void 0)&&o`<span>lag <${O} of=${a} /></span>`}
    <span>${e.nodes.length===1?"1 node":`${n} of ${f(e.nodes.length,"node")} live`}</span>
    <span>${e.model?o`<a href=${g(["_model"])}>Model of event ${u(e.model)}</a>`:"no model"}</span></p>`}var de=10;function vt({needs:e}){return e.length===0?o`<p class="quiet">Nothing needs attention.</p>`:o`<ul aria-label="Needs attention" class="needs">${e.slice(0,de).map(({what:t,detail:s,place:n})=>o`<li><strong><${$} text=${t} max=${300} /></strong>${s&&o`: <${$} text=${s} max=${1e3} />`}${n&&n!=="/_status"&&o` <a href=${"#"+n}>Open</a>`}</li>`)}${e.length>de&&o`<li class="quiet">and ${e.length-de} more</li>`}</ul>`}var je=200,V=40,kt=45e3;function _t(e,t,{since:s,until:n,top:r}){let l=[],i=-1/0;return t.forEach((a,d)=>{if(a===void 0)return;e[d]-i>kt&&l.push([]),i=e[d];let c=(e[d]-s)/Math.max(1,n-s)*je;l[l.length-1].push(`${c.toFixed(1)},${(V-2-a/r*(V-4)).toFixed(1)}`)}),l}function St({label:e,times:t,values:s,since:n}){let r=s.filter(a=>a!==void 0),l={since:n,until:t.at(-1)??n,top:Math.max(...r,0)||1},i=a=>a.split(",")[0];return o`<svg class="spark" role="img" aria-label=${e} viewBox=${`0 0 ${je} ${V}`} preserveAspectRatio="none">
    ${_t(t,s,l).map(a=>o`<polygon points=${`${i(a[0])},${V} ${a.join(" ")} ${i(a[a.length-1])},${V}`} />
        <polyline points=${a.join(" ")} />`)}</svg>`}function He({status:e,admin:t,refresh:s}){let{history:n}=e;if(!n)return null;let{base:r,compaction:l,backup:i}=n,a=(n.erasures??[]).filter(d=>d.phase==="done");return o`<${x} title="History"><dl>
    <dt>Oldest position</dt><dd><code><${$} text=${n.oldest} /></code>${n.oldestTime&&o`, <${w} text=${n.oldestTime} />`}
      ${!r&&": the store has all its events"}</dd>
    ${r&&o`<dt>Begins with</dt><dd>a base of ${S(r.bytes)}, which stands for the events up to ${u(r.seq)}</dd>`}
    ${l&&!l.running&&o`<dt>Last compaction</dt><dd>to before <code><${$} text=${l.before} />
      </code>, ${y(l.seconds)}${l.by&&o`, by <${$} text=${l.by} max=${100} />`}
        ${Nt(l)}${l.error&&o`: <${$} text=${l.error} max=${1e3} />`}</dd>`}
    ${i&&o`<dt>Last backup</dt><dd><${w} text=${i.time} />, up to <code><${$} text=${i.last} />
      </code>: it has what was erased since</dd>`}
    ${e.snapshot?.last&&o`<dt>Last snapshot</dt><dd><${w}
      text=${e.snapshot.last.taken} />, up to event ${u(e.snapshot.last.seq)}, ${S(e.snapshot.last.bytes)}</dd>`}
    ${e.snapshot?.startedFrom&&o`<dt>Started from</dt><dd>the snapshot of <${w}
      text=${e.snapshot.startedFrom.taken} />, up to event ${u(e.snapshot.startedFrom.seq)}</dd>`}
    </dl>
    ${t&&!e.readOnly&&o`<${Ot} status=${e} refresh=${s} />`}
    ${a.length>0&&o`<details><summary>${f(a.length,"erasure")}</summary>
      ${a.map(d=>o`<${z} key=${d.number} erasure=${d} />`)}</details>`}
  <//>`}var Nt=({waitingFor:e=[]})=>e.length>0&&o`; the log waits for <${$} text=${e.join(", ")} max=${1e3} />`;function Ot({status:e,refresh:t}){let[s,n]=p(""),[r,l]=p(""),i=()=>n(""),a=d=>{i(),l(d),t()};return o`<p class="actions"><${Tt} />
      <button type="button" onClick=${()=>n("compact")}>Compact</button>
      ${e.logErasable&&o`<button type="button" onClick=${()=>n("erase")}>Erase</button>`}
      <span role="status">${r}</span></p>
    ${s==="compact"&&o`<${Et} onGone=${a} onClose=${i} />`}
    ${s==="erase"&&o`<${Pt} onGone=${a} onClose=${i} />`}`}function Ue({name:e,title:t,fields:s,asked:n,shown:r,isNothing:l,onGone:i,onClose:a}){let[d,c]=p(void 0),[m,h]=p(void 0),[b,E]=p(!1),N=P(""),R=JSON.stringify(n(!0)),ye=N.current===R,xe=async H=>{E(!0),h(void 0);try{let U=M(L((await q(n(H))).text));if(!H)return i(U);N.current=R,c(U)}catch(U){N.current="",h(C(U))}finally{E(!1)}};return o`<${A} title=${t} onClose=${a}>
    <form class="form" onSubmit=${H=>{H.preventDefault(),b||xe(!0)}}>${s}
      <p class="actions"><button type="submit" aria-disabled=${b?"true":void 0}>What would go</button>
        <button type="button" onClick=${a}>Cancel</button> <span role="status" class="quiet">${b&&"Asking the server"}</span></p>
    </form>
    <${v} problem=${m} />
    ${ye&&d&&o`<div class="plan" role="group" aria-label="What would go">${r(d)}</div>`}
    ${ye&&d&&!l(d)&&o`<${W} word=${e} go=${e} busy=${b} onGo=${()=>xe(!1)} />`}
  <//>`}function Et({onGone:e,onClose:t}){let[s,n]=p(""),[r,l]=p(!1),i=/^\d{4}-\d\d-\d\d$/.test(s.trim())?s.trim()+"T00:00:00Z":s.trim(),a=o`<p>The store then begins at this moment. What it is stays; older versions, older rows of the feed and the events
      of the log go for good. Only a backup from before has them.</p>
    <label>Begin at <input data-focus required value=${s} placeholder="2026-01-31, a time or a position" autocomplete="off"
      spellcheck=${!1} onInput=${c=>n(c.target.value)} /></label>
    <label class="box"><input type="checkbox" checked=${r} onChange=${()=>l(!r)} /> Also where a group has yet to take what
      goes: it has to be reset then</label>`;return o`<${Ue} name="Compact" title="Let the store begin later" fields=${a} shown=${c=>c.done?o`<p>Nothing: the store begins at <code><${$} text=${c.before} /></code> already, or later.</p>`:o`<p><strong>${f(c.events,"event")} of the log</strong> (about ${S(c.bytes)}) and
        ${" "}<strong>${f(c.versions,"version")} of documents</strong>. The oldest position is <code>
        <${$} text=${c.before} />        </code> then${c.time&&o`, of <${w} text=${c.time} />`}.</p>
      ${c.groups.length>0&&o`<p class="wrong">Groups that have yet to take some of it: <${$} text=${c.groups.join(", ")}
        max=${1e3} />.</p>`}
      ${c.feeds>0&&o`<p>${f(c.feeds,"open feed")} would end, as late as that.</p>`}`} onClose=${t}
    isNothing=${c=>c.done} onGone=${c=>e(c.done?"Compaction: nothing is left to do":"Compaction: has begun, and shows under way")}
    asked=${c=>({method:"POST",path:["_compact"],body:JSON.stringify({before:i,...c?{dryRun:!0}:r?{force:!0}:{}})})} />`}function Pt({onGone:e,onClose:t}){let[s,n]=p(""),[r,l]=p(""),i=$e(s).map(c=>{let m=c.indexOf("/");return{collection:c.slice(0,Math.max(0,m)),id:c.slice(m+1)}}),a=$e(r),d=o`<p>All that these documents were goes from every version, every copy and the log, as if it had never been written.
      Nothing brings it back; a backup from before loses it with its next run.</p>
    <label>Documents, one a line <textarea data-focus required rows="3" spellcheck=${!1} placeholder="customers/c1" value=${s}
      onInput=${c=>n(c.target.value)}></textarea></label>
    <${qt} onFound=${c=>n([...new Set([...$e(s),...c])].join(`
`))} />
    <label>Only these members, one a line; none for the whole documents, which are deleted <textarea rows="2" spellcheck=${!1}
      placeholder="/email" value=${r} onInput=${c=>l(c.target.value)}></textarea></label>`;return o`<${Ue} name="Erase" title="Erase documents" fields=${d} shown=${Ct} onClose=${t}
    isNothing=${c=>c.events===0} onGone=${c=>e(`Erasure ${c.number}: ${c.phase}`)}
    asked=${c=>({method:"POST",path:["_erase"],query:c?{dryRun:!0}:{},body:JSON.stringify({documents:i,...a.length>0?{members:a}:{}})})} />`}function qt({onFound:e}){let[t,s]=p(""),[n,r]=p(""),l=async()=>{r("Looking");try{let{found:a,more:d}=await k({method:"POST",path:["_find"],body:JSON.stringify({text:t})});r(`${f(a.length,"document")} found${d?", and there are more":""}.`),e(a.map(c=>c.collection+"/"+c.id))}catch(a){let{title:d,detail:c}=C(a);r([d,c].filter(Boolean).join(": "))}};return o`<p class="actions"><label>Or those with this text in any version <input value=${t} autocomplete="off" spellcheck=${!1}
      maxlength="1000" onKeyDown=${a=>{a.key==="Enter"&&(a.preventDefault(),t&&l())}} onInput=${a=>s(a.target.value)} /></label>
    <button type="button" class="small" disabled=${t===""} onClick=${l}>Find</button>
    <span role="status" class="quiet">${n}</span></p>`}var $e=e=>e.split(`
`).map(t=>t.trim()).filter(Boolean);function Ct({documents:e,living:t,versions:s,events:n,...r}){let l=[["copies","copies"],["frozen","frozen copies"],["kept","values that outlived a delete"]];return o`<p><strong>${f(e,"document")}</strong>, ${u(t)} still there: ${f(s,"version")} and
      ${" "}${f(n,"event")}.</p>
    <ul>${l.flatMap(([i,a])=>Object.entries(r[i]??{}).map(([d,c])=>o`<li><code><${$} text=${d} max=${200} /></code>: ${f(c,"document")} with
        ${" "}${a}</li>`))}</ul>`}function Tt(){let[e,t]=p(""),[s,n]=p(void 0);return o`<button type="button" onClick=${async()=>{t("Asking the server"),n(void 0);try{await Rt(),t("Backup: see the downloads of your browser")}catch(l){t(""),n(C(l))}}}>Download a backup</button>
    <span role="status" class="quiet">${e}</span><${v} problem=${s} />`}async function Rt(){let{ticket:e}=await k({method:"POST",path:["_tickets"],body:JSON.stringify({path:"/v1/_backup"})}),t=document.createElement("a");t.href=_e({path:["_backup"],query:{ticket:e||void 0}}),t.download="",t.click()}var ue=5e3,At=1e4,It=125,ze={path:["_status"]};function zn(){let e=D("admin"),t=P(ue),{value:s,problem:n,again:r,cancel:l}=G(d=>k({...ze,signal:d}),[_.value],d=>Xe(d)||t.current<ue?t.current=Math.min(2*t.current,ue):At),i=()=>{t.current=It,r()},a=s&&{top:o`<${zt} status=${s} /><${Ve} status=${s} />
      <${Ft} status=${s} admin=${e} refresh=${i} />
      <div class="columns"><${Ut} status=${s} /><div><${He} status=${s} admin=${e} refresh=${i} />
        ${e&&!s.readOnly&&o`<${Te} status=${s} refresh=${i} />`}</div></div>
      <${Lt} status=${s} />`,end:o`<${Kt} status=${s} /><${Xt} status=${s} /><${Ae} status=${s} />`};return o`<div class="operations"><${v} problem=${n} again=${r} />
    <${B} of=${{value:s,problem:n,cancel:l}}>${a?.top}<//><${fe} admin=${e} />${a?.end}</div>
    <${F} asked=${ze} />`}var Lt=({status:e})=>o`<${x} title="Nodes"><${T} label="Nodes" head=${["Node","State","Lag",["Last event"],"Folds","Program"]}>
  ${e.nodes.map(t=>o`<tr key=${t.id+" "+t.address}>
    <th scope="row"><${$} text=${t.address||t.id||"this node"} max=${200} />${t.address&&t.id&&o` <code
      class="quiet"><${$} text=${t.id} max=${60} /></code>`}${t.self&&e.nodes.length>1&&o` <span
        class="quiet">the one asked</span>`}</th>
    <td>${Mt(t)}</td>
    <td class="lag"><${O} of=${Qe(t,e)} /></td>
    <td class="number">${u(t.applied)}</td>
    <td>${t.folds[0]===t.folds[1]?t.folds[0]:`${t.folds[0]} to ${t.folds[1]}`}</td>
    <td><${$} text=${t.version} max=${60} /></td></tr>`)}<//><//>`;function Mt(e){return e.error?o`<strong>unknown</strong>: <${$} text=${e.error} max=${500} />`:!e.live&&e.self?o`<strong>lapsed</strong>: it cannot keep its lease, and takes no writes`:e.live?e.ready?"ready":o`<strong>not ready</strong>`:o`<strong>away</strong>, last seen ${y(e.seenSeconds)} ago`}var Dt={model:"A new model",preview:"Preview of a model",verify:"Verification","verify-log":"Verification of the log"},pe=10,Ke=e=>(e.work??[]).filter(t=>t.ended===void 0),Ze=e=>(e.history?.erasures??[]).filter(t=>t.phase!=="done"),Gt=({preparing:e})=>e&&e.phase!=="failed"?e:void 0,Xe=e=>!!(e.replay?.running||Gt(e)||e.history?.compaction?.running||Ze(e).length||Ke(e).length);function Ft({status:e,admin:t,refresh:s}){let{replay:n,preparing:r}=e,l=e.history?.compaction,i=Ze(e);return!Xe(e)&&!r?.error&&!n?.error?null:o`<${x} title="Under way">
    ${n?.running&&o`<${Re} replay=${n} />`}
    ${n&&!n.running&&n.error&&o`<p>The last replay failed: <${$} text=${n.error} max=${2e3} /></p>`}
    ${r&&o`<${Bt} preparing=${r} />`}
    ${l?.running&&o`<${Je} title="Compaction" of=${l} />`}
    ${i.slice(0,pe).map(a=>o`<${z} key=${a.number} erasure=${a} />`)}
    ${i.length>pe&&o`<p>${f(i.length-pe,"more erasure")} under way.</p>`}
    ${Ke(e).map(a=>o`<${Je} key=${a.id} title=${Dt[a.kind]??a.kind} of=${a} />
      ${t&&o`<${Wt} id=${a.id} refresh=${s} />`}`)}
  <//>`}function Bt({preparing:e}){let t=X(`${e.model} ${e.phase}`,e.done,e.total),s=e.waitingFor??[],n=o`<h3><a href=${g(["_model"])}>Model of event ${e.model}</a>: ${e.phase}</h3>`;return e.error?o`${n}<p>It cannot come: <${$} text=${e.error} max=${2e3} /></p>`:o`${n}${e.phase!=="ready"&&o`<${Z} label="Preparation" done=${e.done} total=${e.total} left=${t} />`}
    <p>It changes ${f(e.changes,"document")} as far as is known.${s.length>0&&o` It waits for <${$}
      text=${s.join(", ")} max=${1e3} />.`}</p>`}function Je({title:e,of:t}){let s=X(t.phase,t.done,t.total);return o`<h3>${e}: ${t.phase}</h3><${Z} label=${e} done=${t.done} total=${t.total} left=${s}>
    ${t.seconds>0&&`, ${y(t.seconds)} so far`}<//>`}function Wt({id:e,refresh:t}){return o`<p><button type="button" class="small" onClick=${()=>q({method:"DELETE",path:["_work",e]}).then(t,t)}>End it</button></p>`}var Vt=[["mode","Mode"],["view","View"],["derived","Derived changes"],["cascades","Cascades"],["filter","Filter"],["since","Began at"],["lease","Lease"],["maxAttempts","Attempts"],["role","Role"]];function et({group:e}){let t=e.settings;return o`<${x} title="Settings"><dl>
    <dt>Lag</dt><dd><${O} of=${Y(e,e)} /></dd>
    <dt>Collections</dt><dd>
      ${t.collections?t.collections.map((s,n)=>o`${n>0&&", "}<a
        href=${g([s])}><${$} text=${s} max=${100} /></a>`):"all"}</dd>
    ${Vt.filter(([s])=>t[s]!==void 0).map(([s,n])=>o`<dt key=${s}>${n}</dt><dd><code><${$}
      text=${String(t[s])} max=${500} /></code></dd>`)}
    <dt>Made</dt><dd><${w} text=${e.created} /></dd>
  </dl><//>`}var jt={always:"a write is on disk before it is answered",interval:"a write is on disk within two minutes",unverified:"as the NATS servers have it, which was not verified"},Ht={group:"one fsync for all writes at a time",server:"an fsync for each message, as the log’s files are not as expected",none:"the server syncs every two minutes"};function Ut({status:e}){let{foldVersion:t,replicas:s,activated:n,withdrawn:r}=e;return o`<${x} title="This node"><dl>
    <dt>Position</dt><dd><code><${$} text=${e.position} /></code></dd>
    <dt>Lag</dt><dd><${O} of=${j(e)} />, event ${u(e.applied)} is the last folded one</dd>
    <dt>Model</dt><dd>${e.model?o`<a href=${g(["_model"])}>of event ${u(e.model)}</a>`:"none"}
      ${n&&n.model===e.model&&`: changed ${u(n.documents)} documents`}</dd>
    ${r&&o`<dt>Withdrawn model</dt><dd>of event ${u(r.model)}: <${$} text=${r.reason} max=${1e3} />
      </dd>`}
    <dt>Fold</dt><dd>version ${t.version}${t.newest>t.version?`; this program knows ${t.newest}`:", the newest"} <span
      class="quiet">(<${$} text=${e.fold} max=${200} />)</span></dd>
    <dt>Log</dt><dd>${tn(e)}${s&&`, ${s.current} of ${s.configured} replicas are current`}${!e.logErasable&&!e.readOnly&&"; it lets nothing be erased"}</dd>
    <dt>Durability</dt><dd>${jt[e.durability]??e.durability}${e.sync&&`; ${Ht[e.sync]??e.sync}`}
      </dd>
    <dt>Program</dt><dd><${$} text=${e.version} max=${100} /></dd>
  </dl><//>`}function zt({status:e}){let{stopped:t,logError:s}=e;return o`${s&&o`<${Ye} title="The log cannot be used" text=${s} />`}
    ${t&&o`<${Ye} title=${`Event ${u(t.seq)} cannot be folded`} text=${t.reason}>
      <p>Reads show the state before it.</p><//>`}`}var Ye=({title:e,text:t,children:s})=>o`<div role="alert" class="problem"><strong>${e}</strong><p><${$} text=${t} max=${4e3} /></p>${s}</div>`,Jt=10,J={seconds:.05,inVain:1e3},Yt=`None took ${y(J.seconds)}, or looked at ${u(J.inVain)} documents in vain.`,Qt=e=>e.seconds/e.queries>=J.seconds||e.documents-e.given>=J.inVain;function Kt({status:e}){let[t,s]=p(!1),n=e.queries??[],r=n.filter(Qt),l=t?n:r.slice(0,Jt);return o`<${x} title="Slow queries">
    ${r.length===0&&o`<p>${n.length===0?"No query was asked since the start.":Yt}</p>`}
    ${l.length>0&&o`<p class="quiet">Since the start, those first that looked at the most documents for what they gave. A <code>?</code> stands for a
      constant.</p>
    <${T} label="Slow queries" head=${["Query",["Times"],["Looked at"],["Gave"],["Each took"],"Index"]}>
      ${l.map(i=>o`<${Zt} key=${en(i)} one=${i} />`)}<//>`}
    ${n.length>l.length&&o`<button type="button" onClick=${()=>s(!0)}>Show all ${u(n.length)} queries</button>`}<//>`}function Zt({one:e}){return o`<tr><td class="wide"><a href=${g([e.collection])}><${$} text=${e.collection} max=${100} /></a>
      ${e.console===e.queries&&o` <span class="kind">by the console</span>`}
      ${me("filter",e.filter)}${me("sort",e.sort)}${me("group",e.group)}</td>
    <td class="number">${u(e.queries)}</td><td class="number">${u(e.documents)}</td>
    <td class="number">${u(e.given)}</td>
    <td class="number">${y(e.seconds/e.queries)}</td>
    <td class="lag">${e.index===null?"none: all documents":o`<code><${$} text=${e.index} max=${100} /></code>`}
      ${e.suggest&&o`<details><summary>An index that serves it</summary><${Ce} suggest=${e.suggest} />
      </details>`}</td></tr>`}function Xt({status:e}){let t=e.indexes??[];if(t.length===0)return null;let s=t.filter(({queries:n})=>n===0).length;return o`<${x} title="Indexes"><details><summary>${t.length===1?"1 index":`${u(t.length)} indexes`}${s>0&&`, ${u(s)} not used since the start`}</summary>
    <${T} label="Indexes" head=${["Index","Collection",["Entries"],["Queries since the start"]]}>
      ${t.map(n=>o`<tr key=${n.collection+"/"+n.name}><th scope="row"><${$} text=${n.name} max=${100} /></th>
        <td><a href=${g([n.collection])}><${$} text=${n.collection} max=${100} /></a></td>
        <td class="number">${u(n.entries)}</td><td class="number">${u(n.queries)}</td></tr>`)}<//></details><//>`}var en=e=>[e.collection,e.filter,e.sort,e.group].join(`
`),me=(e,t)=>t&&o`<div><span class="quiet">${e}</span> <code><${$} text=${t} max=${300} /></code></div>`;function tn(e){return e.readOnly?"none: the server has one position, and nothing later":e.log==="embedded"?"embedded":o`<${$} text=${e.log} max=${500} />`}var he=20,nt=1e4;function ro(){return o`<div class="groups-page"><p class="actions"><${Ie} /></p><${fe} admin=${D("admin")} /></div>
    <${ne} /><${F} asked=${{path:["_groups"]}} />`}function fe({admin:e}){let[t,s]=p(he),{value:n,problem:r,again:l,cancel:i}=G(c=>sn(t,c),[t,_.value],()=>nt),a=P(null),d=ee(l,a);return o`<${x} title="Groups" heading=${a}>
    <${v} problem=${r} again=${l} />
    <${B} of=${{value:n,problem:r,cancel:i}}>${n&&(n.all===0?o`<p>There is no consumer group that you may see. <a href=${g(["_groups"])}>Make one</a>.</p>`:o`
      <${T} label="Groups" head=${["Group",["Partitions"],"Owners","Lag","Parked batches"]}>
        ${n.groups.map(c=>o`<${nn} key=${c.name} of=${c} admin=${e} deeds=${d} />`)}<//>
      ${n.all>n.groups.length&&o`<button type="button"
        onClick=${()=>s(t+he)}>Show ${Math.min(he,n.all-n.groups.length)} more groups</button>`}`)}<//>
    ${d.shown}
  <//>`}function nn({of:{name:e,group:t,parked:s,problem:n},admin:r,deeds:l}){let i=o`<th scope="row"><a href=${g(["_groups",e])}><${$} text=${e} max=${200} /></a></th>`;return t?o`<tr>${i}<td class="number">${u(t.partitions.length)}</td><td class="whole"><${on} group=${t} /></td>
    <td class="lag"><${O} of=${Y(t,t)} /></td>
    <td class="wide">${s.length===0?"none":o`<ul class="batches" aria-label="Parked batches">${s.slice(0,be).map(a=>o`<li key=${a.id}><${st}
          group=${t} batch=${a} admin=${r} deeds=${l} /></li>`)}</ul>
      ${s.length>be&&o`<a href=${g(["_groups",e])}>${u(s.length-be)} more</a>`}`}</td></tr>`:o`<tr>${i}<td colspan="4">${n&&o`<${$} text=${n.title+": "+n.detail} max=${500} />`}</td>
      </tr>`}var ge=10;function on({group:e}){let t=new Map;for(let{owner:r}of e.partitions)t.set(r??"",(t.get(r??"")??0)+1);let s=[...t].filter(([r])=>r!==""),n=t.get("")??0;return o`${s.slice(0,ge).map(([r,l])=>o`<div><${$} text=${r} max=${128} /> <span class="quiet">${l}</span>
    </div>`)}
    ${s.length>ge&&o`<div class="quiet">and ${s.length-ge} more</div>`}
    ${n>0&&o`<div>nobody <span class="quiet">${n}</span></div>`}`}function ao({place:e}){let t=e.parts[1],s=D("admin"),{value:n,problem:r,again:l,cancel:i}=G(c=>ot(t,c),[t,_.value],()=>nt),a=P(null),d=ee(l,a);return o`<p><a href=${g(["_groups"])}>All groups</a></p>
    <${v} problem=${r} again=${l} /><${ne} /><${B} of=${{value:n,problem:r,cancel:i}} />
    ${n&&o`${s&&o`<${Le} group=${n.group} refresh=${l} />`}
      <div class="columns"><${et} group=${n.group} /><${ln} group=${n.group} /></div>
      <${an} group=${n.group} />
      <${x} title="Parked batches" heading=${a}>${n.parked.length===0?o`<p>No batch is parked.</p>`:o`<${qe} label="Parked batches" items=${n.parked} item=${c=>o`<${st}
            key=${c.id} group=${n.group} batch=${c} admin=${s} deeds=${d} />`} />`}
      ${d.shown}<//>`}
    <${F} asked=${{path:["_groups",t]}} />`}var tt=4,be=3;async function sn(e,t){let s=(await k({path:["_groups"],signal:t})).groups.map(i=>i.name),n=s.slice(0,e),r=[],l=async i=>{for(;i<n.length;i+=tt)r[i]=await ot(n[i],t).catch(a=>({name:n[i],parked:[],problem:a}))};return await Promise.all(Array.from({length:tt},(i,a)=>l(a))),t.throwIfAborted(),{groups:r,all:s.length}}async function ot(e,t){let s=await k({path:["_groups",e],signal:t}),n=s.partitions.some(r=>r.parked>0);return{name:e,group:s,parked:n?(await k({path:["_groups",e,"_parked"],signal:t})).parked:[]}}var rn=100;function an({group:e}){let[t,s]=p(!1),n=t?e.partitions:e.partitions.slice(0,rn);return o`<${x} title="Partitions"><${T} label="Partitions"
    head=${[["Partition"],"Owner","Lag","Checkpoint",["Attempts"],["Parked"],"Last error"]}>
    ${n.map(r=>o`<tr key=${r.partition}><td class="number">${r.partition}</td>
      <td>${r.owner===void 0?"nobody":o`<${$} text=${r.owner} max=${128} />`}${r.expires&&o` <div
        class="quiet">until <${w} text=${r.expires} /></div>`}</td>
      <td class="lag"><${O} of=${Y(e,r)} /></td><td><code><${$} text=${r.checkpoint} /></code></td>
      <td class="number">${u(r.attempts)}</td><td class="number">${u(r.parked)}</td>
      <td>${r.error&&o`<${$} text=${r.error} max=${500} />`}${r.notBefore&&o` <div class="quiet">comes again <${w}
        text=${r.notBefore} /></div>`}</td></tr>`)}<//>
    ${e.partitions.length>n.length&&o`<button type="button"
      onClick=${()=>s(!0)}>Show all ${u(e.partitions.length)} partitions</button>`}<//>`}var ln=({group:e})=>o`<${x} title="Members">${e.members.length===0?o`<p>Nobody takes its changes.</p>`:o`<ul aria-label="Members">
  ${e.members.map(t=>o`<li key=${t.member}><${$} text=${t.member} max=${128} /> <span
    class="quiet">until <${w} text=${t.expires} />${t.max&&`, at most ${t.max} partitions`}</span></li>`)}</ul>`}<//>`;function st({group:e,batch:t,admin:s,deeds:n}){let r=ve(),{collections:l,filter:i}=e.settings,a=g(["_changes"],{since:t.from,collections:l?.join(","),filter:i});return o`<div id=${r}><code><${$} text=${t.error||"no error was told"} max=${500} /></code>
      <div class="quiet">partition ${t.partition}, ${t.time?o`${f(t.attempts,"attempt")}
        ${t.member&&o` by <${$} text=${t.member} max=${128} />`}, <${w}
          text=${t.time} />`:"parked before a restore"},
      ${" "}<a href=${a}>changes</a> behind <code><${$} text=${t.from} /></code> up to <code><${$} text=${t.to} />
        </code></div></div>
    ${(s||t.retry)&&o`<div class="actions">${t.retry&&o`<span>is to be given again</span>`}
      ${s&&!t.retry&&o`<button type="button" class="small" aria-describedby=${r}
        onClick=${()=>n.retry(e.name,t)}>Retry</button>`}
      ${s&&o`<button type="button" class="small" aria-describedby=${r}
        onClick=${()=>n.drop(e.name,t)}>Drop</button>`}</div>`}`}var O=({of:e})=>e.unknown===void 0?e.text:o`<strong>unknown</strong> <span class="quiet">${e.unknown}${e.text&&`; when last heard ${e.text}`}</span>`;function Qe(e,t){return e.error?{text:"",unknown:"as its entry cannot be read"}:e.self?j(t):rt(e)??(e.live?{text:Q(e)}:{text:Q(e),unknown:"as it is away"})}function j(e){let t=e.nodes.some(s=>s.self&&!s.live);return rt(e)??(e.logError||t?{text:Q(e),unknown:"as the log cannot be reached"}:{text:Q(e)})}var rt=({lag:e,lagSeconds:t})=>e===0&&t>0?{text:"",unknown:`as the log has told nothing for ${y(t)}`}:void 0,Q=({lag:e,lagSeconds:t})=>f(e,"event")+(e>0&&t>0?`, at most ${y(t)} old`:"");function Y(e,t){let{changes:s,seconds:n}=t.lag,r=t.gone||t.partitions?.some(l=>l.gone);return s!==void 0&&!r?{text:f(s,"change")+(s>0?`, the oldest ${y(n)} old`:"")}:r?{text:"",unknown:"as changes behind the checkpoint are not kept any more"}:t.lag.most!==void 0?{text:`up to ${f(t.lag.most,"change")}`}:{text:"",unknown:"as there are too many to count"}}export{ro as a,fe as b,ao as c,be as d,sn as e,ot as f,an as g,ln as h,st as i,O as j,Qe as k,j as l,Y as m,zn as n,Lt as o,Xe as p,Ft as q,et as r,Ut as s,zt as t,Kt as u,Xt as v};
