import{g as ce,h as I,i as Y}from"./chunk-4ZNAQ3G6.js";import{$ as L,B as N,H as U,I as P,O as i,P as u,Q as m,R as f,T as M,V as $e,Y as $,Z as h,_ as w,a as y,aa as _,ba as le,ca as V,ea as b,p as de,r as H,u as S,w as E}from"./chunk-OIXQNFLU.js";import{b as p,c as oe,e as j,h as re,l as n,n as B,o as se,r as ae,s as O,t as ie}from"./chunk-YLTSUMXM.js";var Ge=250,De=5e3;function ue({status:e,work:t,onEnd:r}){let o=(e.work??[]).find(g=>g.kind==="verify"||g.kind==="verify-log"),s=t||o?.id,a=Ge,{value:d,problem:l,again:c}=P(async g=>s?S({path:["_work",s],signal:g}):null,[s],g=>g===null||g.ended?1/0:a=Math.min(2*a,De)),v=!!d?.ended&&d.id===t;return oe(()=>{v&&r()},[v]),l?n`<${b} problem=${l} again=${c}>
      ${l.status===404&&n`<p>Each node knows its own work only, and keeps the newest.</p>`}<//>`:n`<div class="verification">
    <div><span role="status" class="said">${d&&Fe(d)}</span>${d&&n` <span class="quiet">begun <${u} text=${d.started} />
      </span>`}</div>
    ${d&&n`<${We} of=${d} />`}
  </div>`}function We({of:e}){return n`${e.status>=400&&n`<${b} problem=${new de(e.status,e.result??{})} />`}
    ${e.status<400&&e.kind==="verify"&&n`<${je} wrong=${e.result.wrong} more=${e.result.more??0} />`}
    ${e.status<400&&e.kind==="verify-log"&&n`<${me} report=${e.result} />`}`}function Fe(e){let t=e.kind==="verify"?"Verification":"Verification of the log";if(!e.ended)return`${t}: ${e.phase}${e.total>0?`, ${$(e.done)} of ${$(e.total)}`:""}`;if(e.status>=400)return`${t}: failed`;if(e.kind==="verify-log")return`${t}: ${e.summary.damaged?"it is damaged":"it is whole"}`;let{documents:r,wrong:o}=e.summary;return`${t}: ${h(r,"document")} looked at, ${o===0?"every value is right":h(o,"wrong value")}`}var K=50,G=20;function je({wrong:e,more:t}){let[r,o]=p(K);return e.length===0?null:n`<${f} label="Wrong values" head=${["Document","Rule","Where","Expected","Found"]}>
      ${e.slice(0,r).map((s,a)=>n`<${Be} key=${a} one=${s} />`)}<//>
    ${e.length>r&&n`<button type="button"
      onClick=${()=>o(r+K)}>Show ${Math.min(K,e.length-r)} more wrong values</button>`}
    ${t>0&&n`<p>${$(t)} more wrong values are not listed.</p>`}`}function Be({one:e}){let t=he(e.detail),r=t?.slice(0,G)??[void 0],o=n`<th scope="rowgroup" rowspan=${r.length}><${M} name=${e.document} /></th><td
    rowspan=${r.length}>${e.rule&&n`<code><${i} text=${e.rule} max=${200} /></code>`}</td>`;return n`${r.map((s,a)=>n`<tr key=${a}>${a===0&&o}${s===void 0?n`<td colspan="3"><${i} text=${e.detail} max=${2100} /></td>`:n`
    <td><code><${i} text=${s.path||"/"} max=${300} /></code>${t&&a===G-1&&t.length>G&&n` <span
      class="quiet">and ${t.length-G} more</span>`}</td>
    <td>${pe(s.expected)}</td><td>${pe(s.found)}</td>`}</tr>`)}`}var pe=e=>e===void 0?n`<span class="quiet">nothing</span>`:n`<code><${i} text=${e} max=${200} /></code>`;var He={Verify:e=>({method:"POST",path:["_verify"],query:e?{log:e}:{},headers:{Prefer:"respond-async","Content-Type":"application/json"}}),Snapshot:()=>({method:"POST",path:["_snapshot"],headers:{"Content-Type":"application/json"}}),Replay:e=>({method:"POST",path:["_replay"],body:e?'{"check":true}':"{}"})};function we({status:e,refresh:t}){let[r,o]=p(""),[s,a]=p(!1),[d,l]=p(""),[c,v]=p(void 0),[g,x]=p(""),k=e.log==="embedded",q=R=>{a(!1),o(R)},T=async R=>{o(""),v(void 0),l(`${R}: under way`);try{let A=ie(B((await H(He[R](s))).text));if(R==="Verify")return x(A.id);l(R==="Snapshot"?`Snapshot: ${L(A.bytes)}, up to event ${$(A.seq)}`:"Replay: has begun"),t()}catch(A){l(""),v(U(A))}},F=()=>o(""),Ie=()=>{l(""),t()};return n`<${m} title="Maintenance">
    <p class="actions"><button type="button" onClick=${()=>q("Verify")}>Verify</button>
      ${!k&&n`<button type="button" onClick=${()=>q("Snapshot")}>Snapshot</button>`}
      <button type="button" onClick=${()=>q("Replay")}>Replay</button> <span role="status">${d}</span></p>
    ${k&&n`<p class="quiet">Snapshots are for new nodes of a log on outside NATS servers; this log is embedded.</p>`}
    <${b} problem=${c} />
    <${ue} status=${e} work=${g} onEnd=${Ie} />
    <${Ue} check=${e.replay?.check} running=${e.replay?.running} />
    ${r==="Verify"&&n`<${V} name="Verify" onGo=${()=>T("Verify")} onClose=${F}>
      <${ge} of="What is verified" first="Each derived value, recomputed from the documents as written"
        second="The log, read through and compared with what was folded from it" chosen=${s} onChoose=${a} />
      <p>Reads and writes go on. It takes a core for as long as it needs.</p><//>`}
    ${r==="Snapshot"&&n`<${V} name="Snapshot" onGo=${()=>T("Snapshot")} onClose=${F}>
      <p>The read model is copied into the object store beside the log, where new nodes find it. The newest two are kept. Reads and writes
        go on.</p><//>`}
    ${r==="Replay"&&n`<${V} name="Replay" onGo=${()=>T("Replay")} onClose=${F}>
      <${ge} of="What the replay is for" first="The new read model is put in place of this one"
        second="Each row of this one is compared with it, and the new one is removed" chosen=${s} onChoose=${a} />
      <p>The read model of this node is built anew from the log, beside the live one. Reads and writes go on. It needs room for a second
        read model.</p><//>`}
  <//>`}var ge=({of:e,first:t,second:r,chosen:o,onChoose:s})=>n`<fieldset><legend>${e}</legend>
  <label><input type="radio" name="way" checked=${!o} onChange=${()=>s(!1)} /> ${t}</label>
  <label><input type="radio" name="way" checked=${o} onChange=${()=>s(!0)} /> ${r}</label></fieldset>`;function Ue({check:e,running:t}){if(!e||t)return null;let{rows:r,different:o,first:s,tables:a}=e;return n`<p>The replay compared ${$(r)} rows: ${o===0?"none differs.":n`<strong>${$(o)} differ</strong>${a&&` (${Object.entries(a).map(([d,l])=>`${d}: ${$(l)}`).join(", ")})`}.
    ${s&&n` The first is ${s.kind}: ${s.table} <code>${s.key}</code>.`} “Replay” mends it.`}</p>`}function z(e,t){let[r,o]=p(null),[s,a]=p(""),[d,l]=p(void 0),c=async(x,k,q)=>{l(void 0);try{let T=["_groups",k,"_parked",q.id,...x==="POST"?["_retry"]:[]];await H({method:x,path:T,headers:x==="POST"?{"Content-Type":"application/json"}:{}}),a(x==="POST"?"The batch is given again before anything else of its partition.":"The batch was dropped.")}catch(T){a(""),l(U(T))}t.current?.focus(),e()},v=()=>o(null),g=n`<p role="status">${s}</p><${b} problem=${d} />
    ${r&&n`<${le} title="Drop the batch" onClose=${v}>
      <p>Group <b><${i} text=${r.group} max=${200} /></b>, partition ${r.batch.partition}: the changes behind <code>
        ${r.batch.from}</code>, up to <code>${r.batch.to}</code>, will never be given to a member again.</p>
      <p>It failed with: <code><${i} text=${r.batch.error} max=${1e3} /></code></p>
      <p class="actions"><button type="button" onClick=${()=>{v(),c("DELETE",r.group,r.batch)}}>Drop</button> <button type="button" data-focus onClick=${v}>Keep it</button></p>
    <//>`}`;return{retry:(x,k)=>c("POST",x,k),drop:(x,k)=>o({group:x,batch:k}),shown:g}}var Ye={replaying:"read models that never had the contents are being built",switching:"the nodes put them in place",deleting:"messages and older copies go",residue:"a NATS server may have something yet",done:"nothing of it is left"};function Q({erasure:e}){let t=e.nodes??[],r=e.residue??[];return n`<h3>Erasure ${e.number}: ${e.phase}</h3>
    <p>${h(e.documents,"document")}, ${h(e.events,"event")}, asked for <${u} text=${e.time} />
      ${e.by&&n` by <${i} text=${e.by} max=${100} />`}: ${Ye[e.phase]??e.phase}.
      ${t.length>0&&n` It waits for <${i} text=${t.join(", ")} max=${1e3} />.`}
      ${e.error&&n` It is tried again: <${i} text=${e.error} max=${1e3} />`}</p>
    ${r.length>0&&n`<ul aria-label="What a NATS server may still have">${r.map(o=>n`<li><${i}
      text=${o.where} max=${300} />: <${i} text=${o.do} max=${500} /></li>`)}</ul>`}`}var fe=({first:e,last:t})=>e===t?`event ${$(e)}`:`events ${$(e)} to ${$(t)}`;function me({report:e}){let t=e.missing??[];return n`<p>${$(e.read)} events could be read, up
    to ${$(e.last)}.
      ${" "}${e.compared>0?`They are those that were folded, up to ${$(e.compared)}.`:"Nothing was known to compare them with."}</p>
    ${t.length>0&&n`<ul aria-label="Missing events">${t.map(r=>n`<li>
      ${fe(r)} cannot be read</li>`)}${e.more>0&&n`<li>and ${$(e.more)} more runs</li>`}</ul>`}
    ${e.differs&&n`<p><strong>Of ${fe(e.differs)} at least one is not the one that was folded.</strong></p>`}
    ${e.base&&n`<p>The base of ${L(e.base.bytes)}, up to event ${$(e.base.seq)}, is ${e.base.error?n`<strong>of no use</strong>: <${i} text=${e.base.error} max=${1e3} />`:"whole"}.</p>`}`}function ve({status:e}){let{history:t}=e;if(!t)return null;let{base:r,compaction:o,backup:s}=t,a=(t.erasures??[]).filter(d=>d.phase==="done");return n`<${m} title="History"><dl>
    <dt>Oldest position</dt><dd><code><${i} text=${t.oldest} /></code>${t.oldestTime&&n`, <${u} text=${t.oldestTime} />`}
      ${!r&&": the store has all its events"}</dd>
    ${r&&n`<dt>Begins with</dt><dd>a base of ${L(r.bytes)}, which stands for the events up to ${$(r.seq)}</dd>`}
    ${o&&!o.running&&n`<dt>Last compaction</dt><dd>to before <code><${i} text=${o.before} />
      </code>, ${w(o.seconds)}${o.by&&n`, by <${i} text=${o.by} max=${100} />`}
        ${Ke(o)}${o.error&&n`: <${i} text=${o.error} max=${1e3} />`}</dd>`}
    ${s&&n`<dt>Last backup</dt><dd><${u} text=${s.time} />, up to <code><${i} text=${s.last} />
      </code>: it has what was erased since</dd>`}
    ${e.snapshot?.last&&n`<dt>Last snapshot</dt><dd><${u}
      text=${e.snapshot.last.taken} />, up to event ${$(e.snapshot.last.seq)}, ${L(e.snapshot.last.bytes)}</dd>`}
    ${e.snapshot?.startedFrom&&n`<dt>Started from</dt><dd>the snapshot of <${u}
      text=${e.snapshot.startedFrom.taken} />, up to event ${$(e.snapshot.startedFrom.seq)}</dd>`}
    </dl>${a.map(d=>n`<${Q} key=${d.number} erasure=${d} />`)}
  <//>`}var Ke=({waitingFor:e=[]})=>e.length>0&&n`; the log waits for <${i} text=${e.join(", ")} max=${1e3} />`;function ke({status:e}){let t=e.ruleErrors??[],r=e.omitted??[];return n`<${m} title="Rules">
    ${t.length>0?n`<h3>Failed since the start</h3><${f} label="Rule errors" head=${["Rule",["Failed"],"Last document","Error"]}>
      ${t.map(o=>n`<tr key=${o.rule}><td>${be(o.rule)}</td><td class="number">${$(o.count)}
        </td><td><${M} name=${o.document} /></td><td><${i} text=${o.error} max=${1e3} /></td></tr>`)}<//>`:n`<p>No rule has failed since the start.</p>`}
    ${r.length>0&&n`<h3>Without room in some documents</h3><${f} label="Values without room" head=${["Rule",["Documents"],["Values"]]}>
      ${r.map(o=>n`<tr key=${o.rule}><td>${be(o.rule)}</td><td class="number">
        ${$(o.documents)}</td><td class="number">${$(o.values)}</td></tr>`)}<//>`}
  <//>`}var be=e=>n`<code><${i} text=${e} max=${200} /></code>`,xe="from stored (old) to right: ";function he(e){if(e.startsWith(xe))try{return B(e.slice(xe.length)).elements?.map(r=>({path:ae(O(r,"path"))??"",expected:ye(O(r,"value")),found:ye(O(r,"old"))}))}catch{return}}var ye=e=>e&&se(e);var ze=5e3,Qe=1e4,Se={path:["_status"]};function jt(){let e=N("admin"),[t,r]=p(!1),{value:o,problem:s,again:a}=P(d=>S({...Se,signal:d}),[E.value],d=>Ee(d)?ze:Qe);return n`<${b} problem=${s} again=${a} />
    ${o&&n`<${dt} status=${o} />
      <div class="columns"><${it} status=${o} /><div><${tt} status=${o} /><${ve} status=${o} /></div></div>
      ${e&&!o.readOnly&&n`<${we} status=${o} refresh=${a} />`}
      <${Je} status=${o} />`}
    <${Re} admin=${e} />
    ${o&&n`<${ke} status=${o} />
      <${lt} status=${o} all=${t} onAll=${()=>r(!0)} />`}
    <${_} asked=${Se} />`}var Je=({status:e})=>n`<${m} title="Nodes"><${f} label="Nodes" head=${["Node","State","Lag",["Last event"],"Folds","Program"]}>
  ${e.nodes.map(t=>n`<tr key=${t.id+" "+t.address}>
    <th scope="row"><${i} text=${t.address||t.id||"this node"} max=${200} />${t.address&&t.id&&n` <code
      class="quiet"><${i} text=${t.id} max=${60} /></code>`}${t.self&&e.nodes.length>1&&n` <span
        class="quiet">the one asked</span>`}</th>
    <td>${Xe(t)}</td>
    <td class="lag"><${C} of=${Ce(t,e)} /></td>
    <td class="number">${$(t.applied)}</td>
    <td>${t.folds[0]===t.folds[1]?t.folds[0]:`${t.folds[0]} to ${t.folds[1]}`}</td>
    <td><${i} text=${t.version} max=${60} /></td></tr>`)}<//><//>`;function Xe(e){return e.error?n`<strong>unknown</strong>: <${i} text=${e.error} max=${500} />`:!e.live&&e.self?n`<strong>lapsed</strong>: it cannot keep its lease, and takes no writes`:e.live?e.ready?"ready":n`<strong>not ready</strong>`:n`<strong>away</strong>, last seen ${w(e.seenSeconds)} ago`}var Ze={model:"A new model",preview:"Preview of a model",verify:"Verification","verify-log":"Verification of the log"},J=10,qe=e=>(e.work??[]).filter(t=>t.ended===void 0),Ae=e=>(e.history?.erasures??[]).filter(t=>t.phase!=="done"),et=({preparing:e})=>e&&e.phase!=="failed"?e:void 0,Ee=e=>!!(e.replay?.running||et(e)||e.history?.compaction?.running||Ae(e).length||qe(e).length);function tt({status:e}){let{replay:t,preparing:r}=e,o=e.history?.compaction,s=Ae(e);return!Ee(e)&&!r?.error&&!t?.error?null:n`<${m} title="Under way">
    ${t?.running&&n`<${nt} replay=${t} />`}
    ${t&&!t.running&&t.error&&n`<p>The last replay failed: <${i} text=${t.error} max=${2e3} /></p>`}
    ${r&&n`<${ot} preparing=${r} />`}
    ${o?.running&&n`<${Te} title="Compaction" of=${o} />`}
    ${s.slice(0,J).map(a=>n`<${Q} key=${a.number} erasure=${a} />`)}
    ${s.length>J&&n`<p>${h(s.length-J,"more erasure")} under way.</p>`}
    ${qe(e).map(a=>n`<${Te} key=${a.id} title=${Ze[a.kind]??a.kind} of=${a} />`)}
  <//>`}function nt({replay:e}){let t=e.rate>0||e.secondsLeft>0;return n`<h3>Replay: ${e.phase}</h3><${I} label="Replay" done=${e.check?e.check.compared:e.seq}
    total=${e.check&&e.phase!=="replaying"?e.check.rows:e.target}
      unit=${e.phase==="comparing"?"rows":"events"} left=${t?e.secondsLeft:void 0}>
    ${e.rate>0&&`, ${Math.round(e.rate).toLocaleString("en")} a second`}<//>`}function ot({preparing:e}){let t=Y(`${e.model} ${e.phase}`,e.done,e.total),r=e.waitingFor??[],o=n`<h3><a href=${y(["_model"])}>Model of event ${e.model}</a>: ${e.phase}</h3>`;return e.error?n`${o}<p>It cannot come: <${i} text=${e.error} max=${2e3} /></p>`:n`${o}${e.phase!=="ready"&&n`<${I} label="Preparation" done=${e.done} total=${e.total} left=${t} />`}
    <p>It changes ${h(e.changes,"document")} as far as is known.${r.length>0&&n` It waits for <${i}
      text=${r.join(", ")} max=${1e3} />.`}</p>`}function Te({title:e,of:t}){let r=Y(t.phase,t.done,t.total);return n`<h3>${e}: ${t.phase}</h3><${I} label=${e} done=${t.done} total=${t.total} left=${r}>
    ${t.seconds>0&&`, ${w(t.seconds)} so far`}<//>`}var rt=[["mode","Mode"],["view","View"],["derived","Derived changes"],["cascades","Cascades"],["filter","Filter"],["since","Began at"],["lease","Lease"],["maxAttempts","Attempts"],["role","Role"]];function Le({group:e}){let t=e.settings;return n`<${m} title="Settings"><dl>
    <dt>Lag</dt><dd><${C} of=${D(e,e)} /></dd>
    <dt>Collections</dt><dd>
      ${t.collections?t.collections.map((r,o)=>n`${o>0&&", "}<a
        href=${y([r])}><${i} text=${r} max=${100} /></a>`):"all"}</dd>
    ${rt.filter(([r])=>t[r]!==void 0).map(([r,o])=>n`<dt key=${r}>${o}</dt><dd><code><${i}
      text=${String(t[r])} max=${500} /></code></dd>`)}
    <dt>Made</dt><dd><${u} text=${e.created} /></dd>
  </dl><//>`}var st={always:"a write is on disk before it is answered",interval:"a write is on disk within two minutes",unverified:"as the NATS servers have it, which was not verified"},at={group:"one fsync for all writes at a time",server:"an fsync for each message, as the log’s files are not as expected",none:"the server syncs every two minutes"};function it({status:e}){let{foldVersion:t,replicas:r,activated:o,withdrawn:s}=e;return n`<${m} title="This node"><dl>
    <dt>Position</dt><dd><code><${i} text=${e.position} /></code></dd>
    <dt>Lag</dt><dd><${C} of=${Z(e)} />, event ${$(e.applied)} is the last folded one</dd>
    <dt>Model</dt><dd>${e.model?n`<a href=${y(["_model"])}>of event ${$(e.model)}</a>`:"none"}
      ${o&&o.model===e.model&&`: changed ${$(o.documents)} documents`}</dd>
    ${s&&n`<dt>Withdrawn model</dt><dd>of event ${$(s.model)}: <${i} text=${s.reason} max=${1e3} />
      </dd>`}
    <dt>Fold</dt><dd>version ${t.version}${t.newest>t.version?`; this program knows ${t.newest}`:", the newest"} <span
      class="quiet">(<${i} text=${e.fold} max=${200} />)</span></dd>
    <dt>Log</dt><dd>${pt(e)}${r&&`, ${r.current} of ${r.configured} replicas are current`}${!e.logErasable&&!e.readOnly&&"; it lets nothing be erased"}</dd>
    <dt>Durability</dt><dd>${st[e.durability]??e.durability}${e.sync&&`; ${at[e.sync]??e.sync}`}
      </dd>
    <dt>Program</dt><dd><${i} text=${e.version} max=${100} /></dd>
  </dl><//>`}function dt({status:e}){let{stopped:t,logError:r}=e;return n`${r&&n`<${Pe} title="The log cannot be used" text=${r} />`}
    ${t&&n`<${Pe} title=${`Event ${$(t.seq)} cannot be folded`} text=${t.reason}>
      <p>Reads show the state before it.</p><//>`}`}var Pe=({title:e,text:t,children:r})=>n`<div role="alert" class="problem"><strong>${e}</strong><p><${i} text=${t} max=${4e3} /></p>${r}</div>`,$t=10;function lt({status:e,all:t,onAll:r}){let o=e.queries??[],s=t?o:o.slice(0,$t);return n`<${m} title="Slow queries">${o.length===0?n`<p>No query was asked since the start.</p>`:n`
    <p class="quiet">Since the start, those first that looked at the most documents for what they gave. A <code>?</code> stands for a
      constant.</p>
    <${f} label="Slow queries" head=${["Query",["Times"],["Looked at"],["Gave"],["Each took"],"Index"]}>
      ${s.map(a=>n`<tr key=${ct(a)}><td class="wide"><a href=${y([a.collection])}><${i} text=${a.collection}
          max=${100} /></a>
          ${X("filter",a.filter)}${X("sort",a.sort)}${X("group",a.group)}</td>
        <td class="number">${$(a.queries)}</td><td class="number">${$(a.documents)}</td><td class="number">
          ${$(a.given)}</td><td class="number">${w(a.seconds/a.queries)}</td>
        <td class="lag">${a.index===null?"none: all documents":n`<code><${i} text=${a.index} max=${100} /></code>`}
          ${a.suggest&&n`<details><summary>An index that serves it</summary><${ce} suggest=${a.suggest} /></details>`}</td>
            </tr>`)}<//>
    ${o.length>s.length&&n`<button type="button" onClick=${r}>Show all ${o.length} queries</button>`}`}<//>`}var ct=e=>[e.collection,e.filter,e.sort,e.group].join(`
`),X=(e,t)=>t&&n`<div><span class="quiet">${e}</span> <code><${i} text=${t} max=${300} /></code></div>`;function pt(e){return e.readOnly?"none: the server has one position, and nothing later":e.log==="embedded"?"embedded":n`<${i} text=${e.log} max=${500} />`}var ee=20,Ne=1e4;function Re({admin:e}){let[t,r]=p(ee),{value:o,problem:s,again:a}=P(c=>ht(t,c),[t,E.value],()=>Ne),d=j(null),l=z(a,d);return n`<${m} title="Groups" heading=${d}>
    <${b} problem=${s} again=${a} />
    ${o&&(o.all===0?n`<p>There is no consumer group that you may see. <code>fanfold group create NAME</code> makes one.</p>`:n`
      <${f} label="Groups" head=${["Group",["Partitions"],"Owners","Lag","Parked batches"]}>
        ${o.groups.map(c=>n`<${ut} key=${c.name} of=${c} admin=${e} deeds=${l} />`)}<//>
      ${o.all>o.groups.length&&n`<button type="button"
        onClick=${()=>r(t+ee)}>Show ${Math.min(ee,o.all-o.groups.length)} more groups</button>`}`)}
    ${l.shown}
  <//>`}function ut({of:{name:e,group:t,parked:r,problem:o},admin:s,deeds:a}){let d=n`<th scope="row"><a href=${y(["_groups",e])}><${i} text=${e} max=${200} /></a></th>`;return t?n`<tr>${d}<td class="number">${$(t.partitions.length)}</td><td class="whole"><${mt} group=${t} /></td>
    <td class="lag"><${C} of=${D(t,t)} /></td>
    <td class="wide">${r.length===0?"none":n`<ul class="batches" aria-label="Parked batches">${r.slice(0,ne).map(l=>n`<li key=${l.id}><${_e}
          group=${t} batch=${l} admin=${s} deeds=${a} /></li>`)}</ul>
      ${r.length>ne&&n`<a href=${y(["_groups",e])}>${$(r.length-ne)} more</a>`}`}</td></tr>`:n`<tr>${d}<td colspan="4">${o&&n`<${i} text=${o.title+": "+o.detail} max=${500} />`}</td>
      </tr>`}var te=10;function mt({group:e}){let t=new Map;for(let{owner:s}of e.partitions)t.set(s??"",(t.get(s??"")??0)+1);let r=[...t].filter(([s])=>s!==""),o=t.get("")??0;return n`${r.slice(0,te).map(([s,a])=>n`<div><${i} text=${s} max=${128} /> <span class="quiet">${a}</span>
    </div>`)}
    ${r.length>te&&n`<div class="quiet">and ${r.length-te} more</div>`}
    ${o>0&&n`<div>nobody <span class="quiet">${o}</span></div>`}`}function Zt({place:e}){let t=e.parts[1],r=N("admin"),{value:o,problem:s,again:a}=P(c=>Me(t,c),[t,E.value],()=>Ne),d=j(null),l=z(a,d);return n`<p><a href=${y(["_status"])}>All groups</a></p>
    <${b} problem=${s} again=${a} />
    ${o&&n`<div class="columns"><${Le} group=${o.group} /><${bt} group=${o.group} /></div>
      <${ft} group=${o.group} />
      <${m} title="Parked batches" heading=${d}>${o.parked.length===0?n`<p>No batch is parked.</p>`:n`<${$e} label="Parked batches" items=${o.parked} item=${c=>n`<${_e}
            key=${c.id} group=${o.group} batch=${c} admin=${r} deeds=${l} />`} />`}
      ${l.shown}<//>`}
    <${_} asked=${{path:["_groups",t]}} />`}var Oe=4,ne=3;async function ht(e,t){let r=(await S({path:["_groups"],signal:t})).groups.map(d=>d.name),o=r.slice(0,e),s=[],a=async d=>{for(;d<o.length;d+=Oe)s[d]=await Me(o[d],t).catch(l=>({name:o[d],parked:[],problem:l}))};return await Promise.all(Array.from({length:Oe},(d,l)=>a(l))),t.throwIfAborted(),{groups:s,all:r.length}}async function Me(e,t){let r=await S({path:["_groups",e],signal:t}),o=r.partitions.some(s=>s.parked>0);return{name:e,group:r,parked:o?(await S({path:["_groups",e,"_parked"],signal:t})).parked:[]}}var gt=100;function ft({group:e}){let[t,r]=p(!1),o=t?e.partitions:e.partitions.slice(0,gt);return n`<${m} title="Partitions"><${f} label="Partitions"
    head=${[["Partition"],"Owner","Lag","Checkpoint",["Attempts"],["Parked"],"Last error"]}>
    ${o.map(s=>n`<tr key=${s.partition}><td class="number">${s.partition}</td>
      <td>${s.owner===void 0?"nobody":n`<${i} text=${s.owner} max=${128} />`}${s.expires&&n` <div
        class="quiet">until <${u} text=${s.expires} /></div>`}</td>
      <td class="lag"><${C} of=${D(e,s)} /></td><td><code><${i} text=${s.checkpoint} /></code></td>
      <td class="number">${$(s.attempts)}</td><td class="number">${$(s.parked)}</td>
      <td>${s.error&&n`<${i} text=${s.error} max=${500} />`}${s.notBefore&&n` <div class="quiet">comes again <${u}
        text=${s.notBefore} /></div>`}</td></tr>`)}<//>
    ${e.partitions.length>o.length&&n`<button type="button"
      onClick=${()=>r(!0)}>Show all ${$(e.partitions.length)} partitions</button>`}<//>`}var bt=({group:e})=>n`<${m} title="Members">${e.members.length===0?n`<p>Nobody takes its changes.</p>`:n`<ul aria-label="Members">
  ${e.members.map(t=>n`<li key=${t.member}><${i} text=${t.member} max=${128} /> <span
    class="quiet">until <${u} text=${t.expires} />${t.max&&`, at most ${t.max} partitions`}</span></li>`)}</ul>`}<//>`;function _e({group:e,batch:t,admin:r,deeds:o}){let s=re(),{collections:a,filter:d}=e.settings,l=y(["_changes"],{since:t.from,collections:a?.join(","),filter:d});return n`<div id=${s}><code><${i} text=${t.error||"no error was told"} max=${500} /></code>
      <div class="quiet">partition ${t.partition}, ${t.time?n`${h(t.attempts,"attempt")}
        ${t.member&&n` by <${i} text=${t.member} max=${128} />`}, <${u}
          text=${t.time} />`:"parked before a restore"},
      ${" "}<a href=${l}>changes</a> behind <code><${i} text=${t.from} /></code> up to <code><${i} text=${t.to} />
        </code></div></div>
    ${(r||t.retry)&&n`<div class="actions">${t.retry&&n`<span>is to be given again</span>`}
      ${r&&!t.retry&&n`<button type="button" class="small" aria-describedby=${s}
        onClick=${()=>o.retry(e.name,t)}>Retry</button>`}
      ${r&&n`<button type="button" class="small" aria-describedby=${s}
        onClick=${()=>o.drop(e.name,t)}>Drop</button>`}</div>`}`}var C=({of:e})=>e.unknown===void 0?e.text:n`<strong>unknown</strong> <span class="quiet">${e.unknown}${e.text&&`; when last heard ${e.text}`}</span>`;function Ce(e,t){return e.error?{text:"",unknown:"as its entry cannot be read"}:e.self?Z(t):Ve(e)??(e.live?{text:W(e)}:{text:W(e),unknown:"as it is away"})}function Z(e){let t=e.nodes.some(r=>r.self&&!r.live);return Ve(e)??(e.logError||t?{text:W(e),unknown:"as the log cannot be reached"}:{text:W(e)})}var Ve=({lag:e,lagSeconds:t})=>e===0&&t>0?{text:"",unknown:`as the log has told nothing for ${w(t)}`}:void 0,W=({lag:e,lagSeconds:t})=>h(e,"event")+(e>0&&t>0?`, at most ${w(t)} old`:"");function D(e,t){let{changes:r,seconds:o}=t.lag,s=t.gone||t.partitions?.some(a=>a.gone);return r!==void 0&&!s?{text:h(r,"change")+(r>0?`, the oldest ${w(o)} old`:"")}:s?{text:"",unknown:"as changes behind the checkpoint are not kept any more"}:{text:"",unknown:e.settings.filter?"as the group has a filter":"as more than 20,000 changes are behind the checkpoint"}}export{Re as a,Zt as b,ne as c,ht as d,Me as e,ft as f,bt as g,_e as h,C as i,Ce as j,Z as k,D as l,jt as m,Je as n,Ee as o,tt as p,Le as q,it as r,dt as s,lt as t};
