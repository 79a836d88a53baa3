import{Ka as G,Ma as z,Na as B,Pa as w,W as V,X as _,aa as l,ba as S,ca as A,da as v,fa as R,ka as i,la as y,ma as F,n as W,na as D,p as O,s as j}from"./chunk-AW476DRL.js";import{b as u,c as I,l as t,n as E,q,r as M,s as T,t as N}from"./chunk-JD54O3BL.js";var oe=250,re=5e3;function K({status:e,work:n,onEnd:o}){let r=(e.work??[]).find(p=>p.kind==="verify"||p.kind==="verify-log"),s=n||r?.id,a=oe,{value:d,problem:$,again:b}=_(async p=>s?j({path:["_work",s],signal:p}):null,[s],p=>p===null||p.ended?1/0:a=Math.min(2*a,re)),c=!!d?.ended&&d.id===n;return I(()=>{c&&o()},[c]),$?t`<${w} problem=${$} again=${b}>
      ${$.status===404&&t`<p>Each node knows its own work only, and keeps the newest.</p>`}<//>`:t`<div class="verification">
    <div><span role="status" class="said">${d&&ae(d)}</span>${d&&t` <span class="quiet">begun <${S} text=${d.started} />
      </span>`}</div>
    ${d&&t`<${se} of=${d} />`}
  </div>`}function se({of:e}){return t`${e.status>=400&&t`<${w} problem=${new W(e.status,e.result??{})} />`}
    ${e.status<400&&e.kind==="verify"&&t`<${ie} wrong=${e.result.wrong} more=${e.result.more??0} />`}
    ${e.status<400&&e.kind==="verify-log"&&t`<${J} report=${e.result} />`}`}function ae(e){let n=e.kind==="verify"?"Verification":"Verification of the log";if(!e.ended)return`${n}: ${e.phase}${e.total>0?`, ${i(e.done)} of ${i(e.total)}`:""}`;if(e.status>=400)return`${n}: failed`;if(e.kind==="verify-log")return`${n}: ${e.summary.damaged?"it is damaged":"it is whole"}`;let{documents:o,wrong:r}=e.summary;return`${n}: ${y(o,"document")} looked at, ${r===0?"every value is right":y(r,"wrong value")}`}var L=50,C=20;function ie({wrong:e,more:n}){let[o,r]=u(L);return e.length===0?null:t`<${v} label="Wrong values" head=${["Document","Rule","Where","Expected","Found"]}>
      ${e.slice(0,o).map((s,a)=>t`<${de} key=${a} one=${s} />`)}<//>
    ${e.length>o&&t`<button type="button"
      onClick=${()=>r(o+L)}>Show ${Math.min(L,e.length-o)} more wrong values</button>`}
    ${n>0&&t`<p>${i(n)} more wrong values are not listed.</p>`}`}function de({one:e}){let n=Q(e.detail),o=n?.slice(0,C)??[void 0],r=t`<th scope="rowgroup" rowspan=${o.length}><${R} name=${e.document} /></th><td
    rowspan=${o.length}>${e.rule&&t`<code><${l} text=${e.rule} max=${200} /></code>`}</td>`;return t`${o.map((s,a)=>t`<tr key=${a}>${a===0&&r}${s===void 0?t`<td colspan="3"><${l} text=${e.detail} max=${2100} /></td>`:t`
    <td><code><${l} text=${s.path||"/"} max=${300} /></code>${n&&a===C-1&&n.length>C&&t` <span
      class="quiet">and ${n.length-C} more</span>`}</td>
    <td>${H(s.expected)}</td><td>${H(s.found)}</td>`}</tr>`)}`}var H=e=>e===void 0?t`<span class="quiet">nothing</span>`:t`<code><${l} text=${e} max=${200} /></code>`;var le={Verify:e=>({method:"POST",path:["_verify"],query:e?{log:e}:{},headers:{Prefer:"respond-async","Content-Type":"application/json"}}),Snapshot:()=>({method:"POST",path:["_snapshot"],headers:{"Content-Type":"application/json"}}),Replay:e=>({method:"POST",path:["_replay"],body:e?'{"check":true}':"{}"})};function Oe({status:e,refresh:n}){let[o,r]=u(""),[s,a]=u(!1),[d,$]=u(""),[b,c]=u(void 0),[p,h]=u(""),[m,k]=u(null),g=e.log==="embedded",P=f=>{a(!1),r(f)},te=async f=>{r(""),c(void 0),f==="Replay"&&k(null),$(`${f}: under way`);try{let x=N(E((await O(le[f](s))).text));if(f==="Verify")return h(x.id);f==="Replay"&&k({before:e.replay?.started}),$(f==="Snapshot"?`Snapshot: ${D(x.bytes)}, up to event ${i(x.seq)}`:""),n()}catch(x){$(""),c(V(x))}},ne=()=>{$(""),n()};return t`<${A} title="Maintenance">
    <p class="actions"><button type="button" onClick=${()=>P("Verify")}>Verify</button>
      ${!g&&t`<button type="button" onClick=${()=>P("Snapshot")}>Snapshot</button>`}
      <button type="button" onClick=${()=>P("Replay")}>Replay</button> <span role="status">${d||m&&ce(e.replay?.started===m.before?void 0:e.replay)}</span></p>
    ${m&&e.replay?.running&&t`<${ue} replay=${e.replay} />`}
    ${g&&t`<p class="quiet">Snapshots are for new nodes of a log on outside NATS servers; this log is embedded.</p>`}
    <${w} problem=${b} />
    <${K} status=${e} work=${p} onEnd=${ne} />
    <${pe} check=${e.replay?.check} running=${e.replay?.running} />
    <${$e} name=${o} other=${s} onOther=${a} onGo=${te} onClose=${()=>r("")} />
  <//>`}function $e({name:e,other:n,onOther:o,onGo:r,onClose:s}){let a=d=>t`<${B} name=${e} onGo=${()=>r(e)} onClose=${s}>${d}<//>`;return e==="Verify"?a(t`<${U} of="What is verified" first="Each derived value, recomputed from the documents as written"
        second="The log, read through and compared with what was folded from it" chosen=${n} onChoose=${o} />
      <p>Reads and writes go on. It takes a core for as long as it needs.</p>`):e==="Snapshot"?a(t`<p>The read model is copied into the object store beside the log, where new nodes find it. The newest two are kept.
        Reads and writes go on.</p>`):e!=="Replay"?null:a(t`<${U} of="What the replay is for" first="The new read model is put in place of this one"
      second="Each row of this one is compared with it, and the new one is removed" chosen=${n} onChoose=${o} />
    <p>The read model of this node is built anew from the log, beside the live one. Reads and writes go on. It needs room for a second
      read model.</p>`)}function ce(e){if(!e)return"Replay: has begun";if(e.running)return`Replay: ${e.phase}`;if(e.error)return"Replay: failed";let n=`in ${F(e.seconds)}`;return e.check?`Replay: compared ${n}`:`Replay: done ${n}, and the new read model is in place`}function ue({replay:e}){let n=e.rate>0||e.secondsLeft>0;return t`<h3>Replay: ${e.phase}</h3><${G} label="Replay" done=${e.check?e.check.compared:e.seq}
    total=${e.check&&e.phase!=="replaying"?e.check.rows:e.target}
      unit=${e.phase==="comparing"?"rows":"events"} left=${n?e.secondsLeft:void 0}>
    ${e.rate>0&&`, ${Math.round(e.rate).toLocaleString("en")} a second`}<//>`}function Ve({word:e,go:n,busy:o=!1,onGo:r,children:s}){let[a,d]=u(""),$=a.trim().toLowerCase()===e.toLowerCase()&&!o;return t`<form class="actions" onSubmit=${c=>{c.preventDefault(),$&&r()}}><label>Type <b><${l} text=${e} max=${100} /></b> to confirm <input
      autocomplete="off" autocapitalize="off" spellcheck=${!1} size="14" value=${a}
      onInput=${c=>d(c.target.value)} /></label>
    <button type="submit" class="loss" disabled=${!$}>${n}</button>${s}</form>`}var U=({of:e,first:n,second:o,chosen:r,onChoose:s})=>t`<fieldset><legend>${e}</legend>
  <label><input type="radio" name="way" checked=${!r} onChange=${()=>s(!1)} /> ${n}</label>
  <label><input type="radio" name="way" checked=${r} onChange=${()=>s(!0)} /> ${o}</label></fieldset>`;function pe({check:e,running:n}){if(!e||n)return null;let{rows:o,different:r,first:s,tables:a}=e;return t`<p>The replay compared ${i(o)} rows: ${r===0?"none differs.":t`<strong>${i(r)} differ</strong>${a&&` (${Object.entries(a).map(([d,$])=>`${d}: ${i($)}`).join(", ")})`}.
    ${s&&t` The first is ${s.kind}: ${s.table} <code>${s.key}</code>.`} “Replay” mends it.`}</p>`}function Ae(e,n){let[o,r]=u(null),[s,a]=u(""),[d,$]=u(void 0),b=async(h,m,k)=>{$(void 0);try{let g=["_groups",m,"_parked",k.id,...h==="POST"?["_retry"]:[]];await O({method:h,path:g,headers:h==="POST"?{"Content-Type":"application/json"}:{}}),a(h==="POST"?"The batch is given again before anything else of its partition.":"The batch was dropped.")}catch(g){a(""),$(V(g))}n.current?.focus(),e()},c=()=>r(null),p=t`<p role="status">${s}</p><${w} problem=${d} />
    ${o&&t`<${z} title="Drop the batch" onClose=${c}>
      <p>Group <b><${l} text=${o.group} max=${200} /></b>, partition ${o.batch.partition}: the changes behind <code>
        ${o.batch.from}</code>, up to <code>${o.batch.to}</code>, will never be given to a member again.</p>
      <p>It failed with: <code><${l} text=${o.batch.error} max=${1e3} /></code></p>
      <p class="actions"><button type="button" onClick=${()=>{c(),b("DELETE",o.group,o.batch)}}>Drop</button> <button type="button" data-focus onClick=${c}>Keep it</button></p>
    <//>`}`;return{retry:(h,m)=>b("POST",h,m),drop:(h,m)=>r({group:h,batch:m}),shown:p}}var he={replaying:"read models that never had the contents are being built",switching:"the nodes put them in place",deleting:"messages and older copies go",residue:"a NATS server may have something yet",done:"nothing of it is left"};function De({erasure:e}){let n=e.nodes??[],o=e.residue??[];return t`<h3>Erasure ${e.number}: ${e.phase}</h3>
    <p>${y(e.documents,"document")}, ${y(e.events,"event")}, asked for <${S} text=${e.time} />
      ${e.by&&t` by <${l} text=${e.by} max=${100} />`}: ${he[e.phase]??e.phase}.
      ${n.length>0&&t` It waits for <${l} text=${n.join(", ")} max=${1e3} />.`}
      ${e.error&&t` It is tried again: <${l} text=${e.error} max=${1e3} />`}</p>
    ${o.length>0&&t`<ul aria-label="What a NATS server may still have">${o.map(r=>t`<li><${l}
      text=${r.where} max=${300} />: <${l} text=${r.do} max=${500} /></li>`)}</ul>`}`}var X=({first:e,last:n})=>e===n?`event ${i(e)}`:`events ${i(e)} to ${i(n)}`;function J({report:e}){let n=e.missing??[];return t`<p>${i(e.read)} events could be read, up
    to ${i(e.last)}.
      ${" "}${e.compared>0?`They are those that were folded, up to ${i(e.compared)}.`:"Nothing was known to compare them with."}</p>
    ${n.length>0&&t`<ul aria-label="Missing events">${n.map(o=>t`<li>
      ${X(o)} cannot be read</li>`)}${e.more>0&&t`<li>and ${i(e.more)} more runs</li>`}</ul>`}
    ${e.differs&&t`<p><strong>Of ${X(e.differs)} at least one is not the one that was folded.</strong></p>`}
    ${e.base&&t`<p>The base of ${D(e.base.bytes)}, up to event ${i(e.base.seq)}, is ${e.base.error?t`<strong>of no use</strong>: <${l} text=${e.base.error} max=${1e3} />`:"whole"}.</p>`}`}function Le({status:e}){let n=e.ruleErrors??[],o=e.omitted??[];return t`<${A} title="Rules">
    ${n.length>0?t`<h3>Failed since the start</h3><${v} label="Rule errors" head=${["Rule",["Failed"],"Last document","Error"]}>
      ${n.map(r=>t`<tr key=${r.rule}><td>${Y(r.rule)}</td><td class="number">${i(r.count)}
        </td><td><${R} name=${r.document} /></td><td><${l} text=${r.error} max=${1e3} /></td></tr>`)}<//>`:t`<p>No rule has failed since the start.</p>`}
    ${o.length>0&&t`<h3>Without room in some documents</h3><${v} label="Values without room" head=${["Rule",["Documents"],["Values"]]}>
      ${o.map(r=>t`<tr key=${r.rule}><td>${Y(r.rule)}</td><td class="number">
        ${i(r.documents)}</td><td class="number">${i(r.values)}</td></tr>`)}<//>`}
  <//>`}var Y=e=>t`<code><${l} text=${e} max=${200} /></code>`,Z="from stored (old) to right: ";function Q(e){if(e.startsWith(Z))try{return E(e.slice(Z.length)).elements?.map(o=>({path:M(T(o,"path"))??"",expected:ee(T(o,"value")),found:ee(T(o,"old"))}))}catch{return}}var ee=e=>e&&q(e);export{Oe as a,ue as b,Ve as c,Ae as d,De as e,Le as f};
