import{a as X,b as Z}from"./chunk-IKUE5DEF.js";import{a as Pe}from"./chunk-UX2B37SL.js";import{a as Se,b as Ne,c as J,d as K,e as Re,f as Ee}from"./chunk-DLW6OXUA.js";import{A as we,Ja as _e,Ka as z,La as Q,Ma as G,Pa as v,Qa as I,U as ve,W as Y,X as q,a as f,aa as c,ba as S,ca as b,d as j,da as N,ha as ke,ka as u,la as x,ma as h,na as A,oa as T,p as P,r as be,s as k,t as w,w as xe,x as ye,z as O}from"./chunk-AW476DRL.js";import{b as g,c as fe,e as E,h as ge,i as he,l as s,n as H,t as U}from"./chunk-JD54O3BL.js";var Ze=e=>e.split(/[\s,]+/).filter(Boolean);function et(e){let t=r=>String(e.get(r)??"").trim(),o=Ze(t("collections")),n={since:t("since")||"now",partitions:Number(t("partitions"))||void 0,collections:o.length>0?o:void 0,filter:t("filter")||void 0,derived:e.get("derived")?void 0:"exclude",role:t("role")||void 0,push:t("push")?{url:t("push")}:void 0};return{name:t("name"),body:JSON.stringify(n)}}function Oe(){let[e,t]=g(!1),[o,n]=g(void 0),[r,l]=g(""),a=async i=>{i.preventDefault();let{name:d,body:$}=et(new FormData(i.currentTarget));n(void 0),l("");try{if((await k({path:["_groups"]})).groups.some(y=>y.name===d))return l(d);let{text:m}=await P({method:"PUT",path:["_groups",d],body:$});m!==""&&(X.value={what:`Secret of ${d}`,text:U(H(m)).secret,note:"Posts are signed by it."}),t(!1),j(f(["_groups",d]))}catch(p){n(Y(p))}};return ye.value?s`<button type="button" onClick=${()=>t(!0)}>New group</button>
    ${e&&s`<${G} title="New group" onClose=${()=>t(!1)}><form class="form" onSubmit=${a}>
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
    </form><//>`}`:null}function qe({group:e,refresh:t}){let[o,n]=g(""),[r,l]=g(void 0),[a,i]=g(""),{name:d}=e,$=async(m,y,M,D=void 0)=>{l(void 0);try{let{text:B}=await P({method:y,path:["_groups",d,...M],body:D&&JSON.stringify(D)});if(M[0]==="_rotate"&&(X.value={what:`New secret of ${d}`,text:U(H(B)).secret,note:"Posts have both signatures for a day."}),n(""),i(m),m==="")return j(f(["_groups"]));t()}catch(B){l(Y(B))}},p=()=>{n(""),l(void 0)};return s`<p class="actions"><button type="button" onClick=${()=>n("reset")}>Reset</button>
      ${e.push&&s`<button type="button" onClick=${()=>$("It has a new secret.","POST",["_rotate"],{overlap:"24h"})}>New
        secret</button>`}
      <button type="button" class="loss" onClick=${()=>n("delete")}>Delete</button> <span role="status">${a}</span></p>
    ${o===""&&s`<${v} problem=${r} />`}
    ${o==="reset"&&s`<${nt} group=${e} problem=${r} onClose=${p} onGo=${m=>$("It begins there from now on.","POST",["_reset"],m)} />`}
    ${o==="delete"&&s`<${G} title=${`Delete ${d}`} onClose=${p}>
      <p>Its members are refused, and its checkpoints and parked batches go. Nothing brings them back. Documents and the feed stay.</p>
      <${J} word=${d} go="Delete" onGo=${()=>$("","DELETE",[])}>
        <button type="button" data-focus onClick=${p}>Keep it</button><//>
      <${v} problem=${r} /><//>`}`}var tt=[["now","Now: what its members have yet to take is never given to them"],["0","At the beginning: every change is given once more"],["at","At a position or a time: changes after it are given, once more or for the first time"]];function nt({group:e,problem:t,onGo:o,onClose:n}){let[r,l]=g("now"),[a,i]=g(""),[d,$]=g(!1),p=r==="at"?a.trim():r,m=e.partitions.filter(y=>y.owner!==void 0).length;return s`<${G} title=${`Reset ${e.name}`} onClose=${n}>
    <div class="form"><fieldset class="column"><legend>Where it begins</legend>${tt.map(([y,M],D)=>s`<label><input type="radio" name="to" data-focus=${D===0?"":void 0} checked=${r===y}
        onChange=${()=>l(y)} /> ${M}</label>`)}</fieldset>
    ${r==="at"&&s`<label>Position or time <input value=${a} autocomplete="off" spellcheck=${!1}
      onInput=${y=>i(y.target.value)} /></label>`}
    ${m>0&&s`<label class="box"><input type="checkbox" checked=${d} onChange=${()=>$(!d)} /> Also take the leases of its
        members, who have ${m} of ${e.partitions.length} partitions</label>`}</div>
    <${J} word=${e.name} go="Reset" busy=${p===""} onGo=${()=>o({to:p,...d?{force:!0}:{}})}>
      <button type="button" onClick=${n}>Cancel</button><//>
    <${v} problem=${t} />
  <//>`}var ot=/^([a-zA-Z_:][\w:]*)(?:\{((?:\s*\w+="(?:[^"\\]|\\.)*"\s*,?)*)\})?\s+(\S+)/,ne={"+Inf":1/0,Inf:1/0,"-Inf":-1/0,NaN:NaN};function st(e){let t=new Map;for(let o of e.split(`
`)){let n=ot.exec(o);if(!n)continue;let[,r,l,a]=n;if(!(a in ne)&&Number.isNaN(Number(a)))continue;let i={labels:rt(l??""),value:ne[a]??Number(a)},d=t.get(r);d?d.push(i):t.set(r,[i])}return t}var rt=e=>Object.fromEntries([...e.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([,t,o])=>[t,o.replace(/\\(.)/g,(n,r)=>r==="n"?`
`:r)])),at=/^\/v1\/(?::collection\b|_transactions$|_functions\/)/,it=/\/_query$/,lt=({route:e,method:t})=>/^\/v1\/:collection\b/.test(e)&&(/^(GET|HEAD)$/.test(t)||it.test(e));function Ie(e,t){let o=st(e),n=(a,i=()=>!0)=>(o.get(a)??[]).reduce((d,$)=>d+(i($.labels)?$.value:0),0),r=a=>o.has(a)?n(a):void 0,l=new Map;for(let{labels:a,value:i}of o.get("fanfold_http_request_duration_seconds_bucket")??[]){if(!at.test(a.route))continue;let d=ne[a.le]??Number(a.le);l.set(d,(l.get(d)??0)+i)}return{time:t,writes:n("fanfold_writes_total"),derived:n("fanfold_fanout_changes_sum"),reads:n("fanfold_http_requests_total",lt),took:[...l].sort(([a],[i])=>a-i),folds:n("fanfold_fold_duration_seconds_count"),folding:n("fanfold_fold_duration_seconds_sum"),lag:r("fanfold_lag_events"),log:r("fanfold_log_bytes"),model:r("fanfold_sqlite_bytes"),free:r("fanfold_disk_free_bytes"),memory:r("process_resident_memory_bytes")}}var Ae={time:36e5,samples:400},Le=(e,t)=>[...e,t].filter(({time:o})=>t.time-o<=Ae.time).slice(-Ae.samples),Te={most:6e4,least:1e3};function Ce(e){let t=n=>e.map((r,l)=>{let a=ee(e,l);return a&&1e3*te(n(a),n(r))/(r.time-a.time)}),o=n=>e.map(r=>r[n]);return{times:e.map(({time:n})=>n),of:{writes:t(n=>n.writes),derived:t(n=>n.derived),reads:t(n=>n.reads),p99:e.map((n,r)=>dt(ee(e,r)?.took,n.took,.99)),fold:e.map((n,r)=>{let l=ee(e,r),a=l?te(l.folds,n.folds):0;return l&&a>0?te(l.folding,n.folding)/a:void 0}),lag:o("lag"),log:o("log"),model:o("model"),free:o("free"),memory:o("memory")}}}function ee(e,t){let o;for(let n=t-1;n>=0&&e[t].time-e[n].time<=Te.most;n--)o=e[n];return o&&e[t].time-o.time>=Te.least?o:void 0}var te=(e,t)=>t>=e?t-e:t;function dt(e,t,o){if(!e)return;let n=new Map(e),l=(t.at(-1)?.[1]??0)<(e.at(-1)?.[1]??0),a=t.map(([p,m])=>[p,l?m:m-(n.get(p)??0)]),i=a.at(-1)?.[1]??0;if(i<=0)return;let d=0,$=0;for(let[p,m]of a){if(m>=o*i)return p===1/0?d:d+(p-d)*(o*i-$)/Math.max(1,m-$);[d,$]=[p,m]}return d}var ie=1e4,R=he({samples:[],by:"",why:""}),Me=!1,oe=!1;async function se(){let e=R.value.by===w.value?R.value:{samples:[],by:w.value,why:""},t=e.samples.at(-1)?.time??-1/0;if(!(document.hidden||oe||Date.now()-t<ie/2)){oe=!0;try{let o=AbortSignal.timeout(ie),n=await fetch(new URL("../metrics",document.baseURI),{headers:xe(),cache:"no-store",signal:o}),r=await n.text();if(e.by!==w.value)return;let l=n.ok?Le(e.samples,Ie(r,Date.now())):e.samples;R.value={...e,samples:l,why:n.ok?"":ct(be(n,r))}}catch{R.value={...e,why:"The server cannot be reached."}}finally{oe=!1}}}function ct({status:e,title:t,detail:o}){return e===404?"This server has no /metrics here.":`/metrics does not answer: ${[t,o].filter(Boolean).join(": ")}.`}function $t(){let e=w.value;return fe(()=>{se(),!Me&&(Me=!0,setInterval(se,ie),document.addEventListener("visibilitychange",se))},[e]),R.value.by===e?R.value:{samples:[],by:e,why:""}}var re=e=>e===0?"0":e<10?e.toFixed(1):u(Math.round(e)),ut=[["writes","Writes a second",re],["derived","Derived changes a second",re],["reads","Reads a second",re],["p99","Slowest of 100",h,"what 99 of 100 requests about documents stay below"],["lag","Lag",e=>x(e,"event")],["fold","Fold",h,"how long a transaction takes that folds events"],["log","Log",A],["model","Read model",A],["free","Free disk",A],["memory","Memory",A]];function De({status:e}){let{samples:t,why:o}=$t(),{times:n,of:r}=Ce(t),l=n[0]??0;return s`<section aria-label="At a glance" class="glance">
    <${mt} status=${e} bare=${t.length===0} />
    <${ft} needs=${e.needs??[]} />
    ${o&&s`<p class="quiet" role="status"><${c} text=${o} max=${400} /></p>`}
    ${t.length>0&&s`<ul aria-label="Figures of the last hour" class="figures">${ut.map(([a,i,d,$])=>s`<${pt} key=${a} called=${i} say=${d} about=${$}
          times=${n} values=${r[a]} since=${l} />`)}</ul>
      <p class="quiet small-print">${n.length<2?"Lines begin with the second reading, ten seconds later.":`The last ${h((n[n.length-1]-l)/1e3)}. This tab reads every ten seconds, and keeps an hour.`}</p>`}
  </section>`}function pt({called:e,say:t,about:o,times:n,values:r,since:l}){let a=r.at(-1),i=r.filter(p=>p!==void 0);if(i.length===0&&n.length>1&&o===void 0)return null;let d=a===void 0?"–":t(a),$=i.length?`, at most ${t(Math.max(...i))}`:"";return s`<li title=${o}><span class="called">${e}</span> <b>${d}</b>
    ${i.length>1&&s`<${bt} label=${`${e}: ${d}${$}`} times=${n} values=${r} since=${l} />`}</li>`}function mt({status:e,bare:t}){let o=e.nodes.find(d=>d.self),n=e.nodes.filter(d=>d.live).length,r=!!o?.ready,{value:l}=ve(async d=>r?void 0:we(d),[r,e.position]),a=(l?.of.problems??[]).map(d=>d.detail??String(d)).join("; ")||l?.of.detail,i=C(e);return s`<p class="standing"><strong class=${r?"ready":"wrong"}>${r?"Ready":"Not ready"}</strong>${!r&&a&&s`<span><${c} text=${a} max=${1e3} /></span>`}
    ${(t||i.unknown!==void 0)&&s`<span>lag <${_} of=${i} /></span>`}
    <span>${e.nodes.length===1?"1 node":`${n} of ${x(e.nodes.length,"node")} live`}</span>
    <span>${e.model?s`<a href=${f(["_model"])}>Model of event ${u(e.model)}</a>`:"no model"}</span></p>`}var ae=10;function ft({needs:e}){return e.length===0?s`<p class="quiet">Nothing needs attention.</p>`:s`<ul aria-label="Needs attention" class="needs">${e.slice(0,ae).map(({what:t,detail:o,place:n})=>s`<li><strong><${c} text=${t} max=${300} /></strong>${o&&s`: <${c} text=${o} max=${1e3} />`}${n&&n!=="/_status"&&s` <a href=${"#"+n}>Open</a>`}</li>`)}${e.length>ae&&s`<li class="quiet">and ${e.length-ae} more</li>`}</ul>`}var Ge=200,L=40,gt=45e3;function ht(e,t,{since:o,until:n,top:r}){let l=[],a=-1/0;return t.forEach((i,d)=>{if(i===void 0)return;e[d]-a>gt&&l.push([]),a=e[d];let $=(e[d]-o)/Math.max(1,n-o)*Ge;l[l.length-1].push(`${$.toFixed(1)},${(L-2-i/r*(L-4)).toFixed(1)}`)}),l}function bt({label:e,times:t,values:o,since:n}){let r=o.filter(i=>i!==void 0),l={since:n,until:t.at(-1)??n,top:Math.max(...r,0)||1},a=i=>i.split(",")[0];return s`<svg class="spark" role="img" aria-label=${e} viewBox=${`0 0 ${Ge} ${L}`} preserveAspectRatio="none">
    ${ht(t,o,l).map(i=>s`<polygon points=${`${a(i[0])},${L} ${i.join(" ")} ${a(i[i.length-1])},${L}`} />
        <polyline points=${i.join(" ")} />`)}</svg>`}var le=5e3,xt=1e4,yt=125,Fe={path:["_status"]};function kn(){let e=O("admin"),t=E(le),{value:o,problem:n,again:r,cancel:l}=q(d=>k({...Fe,signal:d}),[w.value],d=>je(d)||t.current<le?t.current=Math.min(2*t.current,le):xt),a=()=>{t.current=yt,r()},i=o&&{top:s`<${At} status=${o} /><${De} status=${o} />
      <${St} status=${o} admin=${e} refresh=${a} />
      <div class="columns"><${qt} status=${o} /><div><${Pe} status=${o} admin=${e} refresh=${a} />
        ${e&&!o.readOnly&&s`<${Se} status=${o} refresh=${a} />`}</div></div>
      <${wt} status=${o} />`,end:s`<${Ct} status=${o} /><${Dt} status=${o} /><${Ee} status=${o} />`};return s`<div class="operations"><${v} problem=${n} again=${r} />
    <${I} of=${{value:o,problem:n,cancel:l}}>${i?.top}<//><${$e} admin=${e} />${i?.end}</div>
    <${T} asked=${Fe} />`}var wt=({status:e})=>s`<${b} title="Nodes"><${N} label="Nodes" head=${["Node","State","Lag",["Last event"],"Folds","Program"]}>
  ${e.nodes.map(t=>s`<tr key=${t.id+" "+t.address}>
    <th scope="row"><${c} text=${t.address||t.id||"this node"} max=${200} />${t.address&&t.id&&s` <code
      class="quiet"><${c} text=${t.id} max=${60} /></code>`}${t.self&&e.nodes.length>1&&s` <span
        class="quiet">the one asked</span>`}</th>
    <td>${vt(t)}</td>
    <td class="lag"><${_} of=${Be(t,e)} /></td>
    <td class="number">${u(t.applied)}</td>
    <td>${t.folds[0]===t.folds[1]?t.folds[0]:`${t.folds[0]} to ${t.folds[1]}`}</td>
    <td><${c} text=${t.version} max=${60} /></td></tr>`)}<//><//>`;function vt(e){return e.error?s`<strong>unknown</strong>: <${c} text=${e.error} max=${500} />`:!e.live&&e.self?s`<strong>lapsed</strong>: it cannot keep its lease, and takes no writes`:e.live?e.ready?"ready":s`<strong>not ready</strong>`:s`<strong>away</strong>, last seen ${h(e.seenSeconds)} ago`}var kt={model:"A new model",preview:"Preview of a model",verify:"Verification","verify-log":"Verification of the log"},de=10,He=e=>(e.work??[]).filter(t=>t.ended===void 0),Ue=e=>(e.history?.erasures??[]).filter(t=>t.phase!=="done"),_t=({preparing:e})=>e&&e.phase!=="failed"?e:void 0,je=e=>!!(e.replay?.running||_t(e)||e.history?.compaction?.running||Ue(e).length||He(e).length);function St({status:e,admin:t,refresh:o}){let{replay:n,preparing:r}=e,l=e.history?.compaction,a=Ue(e);return!je(e)&&!r?.error&&!n?.error?null:s`<${b} title="Under way">
    ${n?.running&&s`<${Ne} replay=${n} />`}
    ${n&&!n.running&&n.error&&s`<p>The last replay failed: <${c} text=${n.error} max=${2e3} /></p>`}
    ${r&&s`<${Nt} preparing=${r} />`}
    ${l?.running&&s`<${We} title="Compaction" of=${l} />`}
    ${a.slice(0,de).map(i=>s`<${Re} key=${i.number} erasure=${i} />`)}
    ${a.length>de&&s`<p>${x(a.length-de,"more erasure")} under way.</p>`}
    ${He(e).map(i=>s`<${We} key=${i.id} title=${kt[i.kind]??i.kind} of=${i} />
      ${t&&s`<${Rt} id=${i.id} refresh=${o} />`}`)}
  <//>`}function Nt({preparing:e}){let t=Q(`${e.model} ${e.phase}`,e.done,e.total),o=e.waitingFor??[],n=s`<h3><a href=${f(["_model"])}>Model of event ${e.model}</a>: ${e.phase}</h3>`;return e.error?s`${n}<p>It cannot come: <${c} text=${e.error} max=${2e3} /></p>`:s`${n}${e.phase!=="ready"&&s`<${z} label="Preparation" done=${e.done} total=${e.total} left=${t} />`}
    <p>It changes ${x(e.changes,"document")} as far as is known.${o.length>0&&s` It waits for <${c}
      text=${o.join(", ")} max=${1e3} />.`}</p>`}function We({title:e,of:t}){let o=Q(t.phase,t.done,t.total);return s`<h3>${e}: ${t.phase}</h3><${z} label=${e} done=${t.done} total=${t.total} left=${o}>
    ${t.seconds>0&&`, ${h(t.seconds)} so far`}<//>`}function Rt({id:e,refresh:t}){return s`<p><button type="button" class="small" onClick=${()=>P({method:"DELETE",path:["_work",e]}).then(t,t)}>End it</button></p>`}var Et=[["mode","Mode"],["view","View"],["derived","Derived changes"],["cascades","Cascades"],["filter","Filter"],["since","Began at"],["lease","Lease"],["maxAttempts","Attempts"],["role","Role"]];function Ye({group:e}){let t=e.settings;return s`<${b} title="Settings"><dl>
    <dt>Lag</dt><dd><${_} of=${W(e,e)} /></dd>
    <dt>Collections</dt><dd>
      ${t.collections?t.collections.map((o,n)=>s`${n>0&&", "}<a
        href=${f([o])}><${c} text=${o} max=${100} /></a>`):"all"}</dd>
    ${Et.filter(([o])=>t[o]!==void 0).map(([o,n])=>s`<dt key=${o}>${n}</dt><dd><code><${c}
      text=${String(t[o])} max=${500} /></code></dd>`)}
    <dt>Made</dt><dd><${S} text=${e.created} /></dd>
  </dl><//>`}var Pt={always:"a write is on disk before it is answered",interval:"a write is on disk within two minutes",unverified:"as the NATS servers have it, which was not verified"},Ot={group:"one fsync for all writes at a time",server:"an fsync for each message, as the log’s files are not as expected",none:"the server syncs every two minutes"};function qt({status:e}){let{foldVersion:t,replicas:o,activated:n,withdrawn:r}=e;return s`<${b} title="This node"><dl>
    <dt>Position</dt><dd><code><${c} text=${e.position} /></code></dd>
    <dt>Lag</dt><dd><${_} of=${C(e)} />, event ${u(e.applied)} is the last folded one</dd>
    <dt>Model</dt><dd>${e.model?s`<a href=${f(["_model"])}>of event ${u(e.model)}</a>`:"none"}
      ${n&&n.model===e.model&&`: changed ${u(n.documents)} documents`}</dd>
    ${r&&s`<dt>Withdrawn model</dt><dd>of event ${u(r.model)}: <${c} text=${r.reason} max=${1e3} />
      </dd>`}
    <dt>Fold</dt><dd>version ${t.version}${t.newest>t.version?`; this program knows ${t.newest}`:", the newest"} <span
      class="quiet">(<${c} text=${e.fold} max=${200} />)</span></dd>
    <dt>Log</dt><dd>${Ft(e)}${o&&`, ${o.current} of ${o.configured} replicas are current`}${!e.logErasable&&!e.readOnly&&"; it lets nothing be erased"}</dd>
    <dt>Durability</dt><dd>${Pt[e.durability]??e.durability}${e.sync&&`; ${Ot[e.sync]??e.sync}`}
      </dd>
    <dt>Program</dt><dd><${c} text=${e.version} max=${100} /></dd>
  </dl><//>`}function At({status:e}){let{stopped:t,logError:o}=e;return s`${o&&s`<${Ve} title="The log cannot be used" text=${o} />`}
    ${t&&s`<${Ve} title=${`Event ${u(t.seq)} cannot be folded`} text=${t.reason}>
      <p>Reads show the state before it.</p><//>`}`}var Ve=({title:e,text:t,children:o})=>s`<div role="alert" class="problem"><strong>${e}</strong><p><${c} text=${t} max=${4e3} /></p>${o}</div>`,Tt=10,F={seconds:.05,inVain:1e3},It=`None took ${h(F.seconds)}, or looked at ${u(F.inVain)} documents in vain.`,Lt=e=>e.seconds/e.queries>=F.seconds||e.documents-e.given>=F.inVain;function Ct({status:e}){let[t,o]=g(!1),n=e.queries??[],r=n.filter(Lt),l=t?n:r.slice(0,Tt);return s`<${b} title="Slow queries">
    ${r.length===0&&s`<p>${n.length===0?"No query was asked since the start.":It}</p>`}
    ${l.length>0&&s`<p class="quiet">Since the start, those first that looked at the most documents for what they gave. A <code>?</code> stands for a
      constant.</p>
    <${N} label="Slow queries" head=${["Query",["Times"],["Looked at"],["Gave"],["Each took"],"Index"]}>
      ${l.map(a=>s`<${Mt} key=${Gt(a)} one=${a} />`)}<//>`}
    ${n.length>l.length&&s`<button type="button" onClick=${()=>o(!0)}>Show all ${u(n.length)} queries</button>`}<//>`}function Mt({one:e}){return s`<tr><td class="wide"><a href=${f([e.collection])}><${c} text=${e.collection} max=${100} /></a>
      ${e.console===e.queries&&s` <span class="kind">by the console</span>`}
      ${ce("filter",e.filter)}${ce("sort",e.sort)}${ce("group",e.group)}</td>
    <td class="number">${u(e.queries)}</td><td class="number">${u(e.documents)}</td>
    <td class="number">${u(e.given)}</td>
    <td class="number">${h(e.seconds/e.queries)}</td>
    <td class="lag">${e.index===null?"none: all documents":s`<code><${c} text=${e.index} max=${100} /></code>`}
      ${e.suggest&&s`<details><summary>An index that serves it</summary><${_e} suggest=${e.suggest} />
      </details>`}</td></tr>`}function Dt({status:e}){let t=e.indexes??[];if(t.length===0)return null;let o=t.filter(({queries:n})=>n===0).length;return s`<${b} title="Indexes"><details><summary>${t.length===1?"1 index":`${u(t.length)} indexes`}${o>0&&`, ${u(o)} not used since the start`}</summary>
    <${N} label="Indexes" head=${["Index","Collection",["Entries"],["Queries since the start"]]}>
      ${t.map(n=>s`<tr key=${n.collection+"/"+n.name}><th scope="row"><${c} text=${n.name} max=${100} /></th>
        <td><a href=${f([n.collection])}><${c} text=${n.collection} max=${100} /></a></td>
        <td class="number">${u(n.entries)}</td><td class="number">${u(n.queries)}</td></tr>`)}<//></details><//>`}var Gt=e=>[e.collection,e.filter,e.sort,e.group].join(`
`),ce=(e,t)=>t&&s`<div><span class="quiet">${e}</span> <code><${c} text=${t} max=${300} /></code></div>`;function Ft(e){return e.readOnly?"none: the server has one position, and nothing later":e.log==="embedded"?"embedded":s`<${c} text=${e.log} max=${500} />`}var ue=20,Qe=1e4;function Ln(){return s`<div class="groups-page"><p class="actions"><${Oe} /></p><${$e} admin=${O("admin")} /></div>
    <${Z} /><${T} asked=${{path:["_groups"]}} />`}function $e({admin:e}){let[t,o]=g(ue),{value:n,problem:r,again:l,cancel:a}=q($=>Bt(t,$),[t,w.value],()=>Qe),i=E(null),d=K(l,i);return s`<${b} title="Groups" heading=${i}>
    <${v} problem=${r} again=${l} />
    <${I} of=${{value:n,problem:r,cancel:a}}>${n&&(n.all===0?s`<p>There is no consumer group that you may see. <a href=${f(["_groups"])}>Make one</a>.</p>`:s`
      <${N} label="Groups" head=${["Group",["Partitions"],"Owners","Lag","Parked batches"]}>
        ${n.groups.map($=>s`<${Wt} key=${$.name} of=${$} admin=${e} deeds=${d} />`)}<//>
      ${n.all>n.groups.length&&s`<button type="button"
        onClick=${()=>o(t+ue)}>Show ${Math.min(ue,n.all-n.groups.length)} more groups</button>`}`)}<//>
    ${d.shown}
  <//>`}function Wt({of:{name:e,group:t,parked:o,problem:n},admin:r,deeds:l}){let a=s`<th scope="row"><a href=${f(["_groups",e])}><${c} text=${e} max=${200} /></a></th>`;return t?s`<tr>${a}<td class="number">${u(t.partitions.length)}</td><td class="whole"><${Vt} group=${t} /></td>
    <td class="lag"><${_} of=${W(t,t)} /></td>
    <td class="wide">${o.length===0?"none":s`<ul class="batches" aria-label="Parked batches">${o.slice(0,me).map(i=>s`<li key=${i.id}><${Ke}
          group=${t} batch=${i} admin=${r} deeds=${l} /></li>`)}</ul>
      ${o.length>me&&s`<a href=${f(["_groups",e])}>${u(o.length-me)} more</a>`}`}</td></tr>`:s`<tr>${a}<td colspan="4">${n&&s`<${c} text=${n.title+": "+n.detail} max=${500} />`}</td>
      </tr>`}var pe=10;function Vt({group:e}){let t=new Map;for(let{owner:r}of e.partitions)t.set(r??"",(t.get(r??"")??0)+1);let o=[...t].filter(([r])=>r!==""),n=t.get("")??0;return s`${o.slice(0,pe).map(([r,l])=>s`<div><${c} text=${r} max=${128} /> <span class="quiet">${l}</span>
    </div>`)}
    ${o.length>pe&&s`<div class="quiet">and ${o.length-pe} more</div>`}
    ${n>0&&s`<div>nobody <span class="quiet">${n}</span></div>`}`}function Cn({place:e}){let t=e.parts[1],o=O("admin"),{value:n,problem:r,again:l,cancel:a}=q($=>Je(t,$),[t,w.value],()=>Qe),i=E(null),d=K(l,i);return s`<p><a href=${f(["_groups"])}>All groups</a></p>
    <${v} problem=${r} again=${l} /><${Z} /><${I} of=${{value:n,problem:r,cancel:a}} />
    ${n&&s`${o&&s`<${qe} group=${n.group} refresh=${l} />`}
      <div class="columns"><${Ye} group=${n.group} /><${jt} group=${n.group} /></div>
      <${Ut} group=${n.group} />
      <${b} title="Parked batches" heading=${i}>${n.parked.length===0?s`<p>No batch is parked.</p>`:s`<${ke} label="Parked batches" items=${n.parked} item=${$=>s`<${Ke}
            key=${$.id} group=${n.group} batch=${$} admin=${o} deeds=${d} />`} />`}
      ${d.shown}<//>`}
    <${T} asked=${{path:["_groups",t]}} />`}var ze=4,me=3;async function Bt(e,t){let o=(await k({path:["_groups"],signal:t})).groups.map(a=>a.name),n=o.slice(0,e),r=[],l=async a=>{for(;a<n.length;a+=ze)r[a]=await Je(n[a],t).catch(i=>({name:n[a],parked:[],problem:i}))};return await Promise.all(Array.from({length:ze},(a,i)=>l(i))),t.throwIfAborted(),{groups:r,all:o.length}}async function Je(e,t){let o=await k({path:["_groups",e],signal:t}),n=o.partitions.some(r=>r.parked>0);return{name:e,group:o,parked:n?(await k({path:["_groups",e,"_parked"],signal:t})).parked:[]}}var Ht=100;function Ut({group:e}){let[t,o]=g(!1),n=t?e.partitions:e.partitions.slice(0,Ht);return s`<${b} title="Partitions"><${N} label="Partitions"
    head=${[["Partition"],"Owner","Lag","Checkpoint",["Attempts"],["Parked"],"Last error"]}>
    ${n.map(r=>s`<tr key=${r.partition}><td class="number">${r.partition}</td>
      <td class="whole">${r.owner===void 0?"nobody":s`<${c} text=${r.owner} max=${128} />`}${r.expires&&s` <div
        class="quiet">until <${S} text=${r.expires} /></div>`}</td>
      <td class="lag"><${_} of=${W(e,r)} /></td>
      <td><code class="one-line"><${c} text=${r.checkpoint} /></code></td>
      <td class="number">${u(r.attempts)}</td><td class="number">${u(r.parked)}</td>
      <td>${r.error&&s`<${c} text=${r.error} max=${500} />`}${r.notBefore&&s` <div class="quiet">comes again <${S}
        text=${r.notBefore} /></div>`}</td></tr>`)}<//>
    ${e.partitions.length>n.length&&s`<button type="button"
      onClick=${()=>o(!0)}>Show all ${u(e.partitions.length)} partitions</button>`}<//>`}var jt=({group:e})=>s`<${b} title="Members">${e.members.length===0?s`<p>Nobody takes its changes.</p>`:s`<ul aria-label="Members">
  ${e.members.map(t=>s`<li key=${t.member}><${c} text=${t.member} max=${128} /> <span
    class="quiet">until <${S} text=${t.expires} />${t.max&&`, at most ${t.max} partitions`}</span></li>`)}</ul>`}<//>`;function Ke({group:e,batch:t,admin:o,deeds:n}){let r=ge(),{collections:l,filter:a}=e.settings,i=f(["_changes"],{since:t.from,collections:l?.join(","),filter:a});return s`<div id=${r}><code><${c} text=${t.error||"no error was told"} max=${500} /></code>
      <div class="quiet">partition ${t.partition}, ${t.time?s`${x(t.attempts,"attempt")}
        ${t.member&&s` by <${c} text=${t.member} max=${128} />`}, <${S}
          text=${t.time} />`:"parked before a restore"},
      ${" "}<a href=${i}>changes</a> behind <code><${c} text=${t.from} /></code> up to <code><${c} text=${t.to} />
        </code></div></div>
    ${(o||t.retry)&&s`<div class="actions">${t.retry&&s`<span>is to be given again</span>`}
      ${o&&!t.retry&&s`<button type="button" class="small" aria-describedby=${r}
        onClick=${()=>n.retry(e.name,t)}>Retry</button>`}
      ${o&&s`<button type="button" class="small" aria-describedby=${r}
        onClick=${()=>n.drop(e.name,t)}>Drop</button>`}</div>`}`}var _=({of:e})=>e.unknown===void 0?e.text:s`<strong>unknown</strong> <span class="quiet">${e.unknown}${e.text&&`; when last heard ${e.text}`}</span>`;function Be(e,t){return e.error?{text:"",unknown:"as its entry cannot be read"}:e.self?C(t):Xe(e)??(e.live?{text:V(e)}:{text:V(e),unknown:"as it is away"})}function C(e){let t=e.nodes.some(o=>o.self&&!o.live);return Xe(e)??(e.logError||t?{text:V(e),unknown:"as the log cannot be reached"}:{text:V(e)})}var Xe=({lag:e,lagSeconds:t})=>e===0&&t>0?{text:"",unknown:`as the log has told nothing for ${h(t)}`}:void 0,V=({lag:e,lagSeconds:t})=>x(e,"event")+(e>0&&t>0?`, at most ${h(t)} old`:"");function W(e,t){let{changes:o,seconds:n}=t.lag,r=t.gone||t.partitions?.some(l=>l.gone);return o!==void 0&&!r?{text:x(o,"change")+(o>0?`, the oldest ${h(n)} old`:"")}:r?{text:"",unknown:"as changes behind the checkpoint are not kept any more"}:t.lag.most!==void 0?{text:`up to ${x(t.lag.most,"change")}`}:{text:"",unknown:"as there are too many to count"}}export{Ln as a,$e as b,Cn as c,me as d,Bt as e,Je as f,Ut as g,jt as h,Ke as i,_ as j,Be as k,C as l,W as m,kn as n,wt as o,je as p,St as q,Ye as r,qt as s,At as t,Ct as u,Dt as v};
