import{c as M,e as R}from"./chunk-DLW6OXUA.js";import{Ma as z,Pa as T,W as k,a as S,aa as p,ba as h,ca as H,d as j,e as A,ka as b,la as f,ma as I,na as x,o as J,p as L,s as E}from"./chunk-AW476DRL.js";import{b as u,c as G,e as _,l as t,n as D,t as F}from"./chunk-JD54O3BL.js";function de({status:e,admin:s,refresh:l}){let{history:n}=e;if(!n)return null;let{base:i,compaction:a,backup:$}=n,r=(n.erasures??[]).filter(c=>c.phase==="done");return t`<${H} title="History"><dl>
    <dt>Oldest position</dt><dd><code><${p} text=${n.oldest} /></code>${n.oldestTime&&t`, <${h} text=${n.oldestTime} />`}
      ${!i&&": the store has all its events"}</dd>
    ${i&&t`<dt>Begins with</dt><dd>a base of ${x(i.bytes)}, which stands for the events up to ${b(i.seq)}</dd>`}
    ${a&&!a.running&&t`<dt>Last compaction</dt><dd>to before <code><${p} text=${a.before} />
      </code>, ${I(a.seconds)}${a.by&&t`, by <${p} text=${a.by} max=${100} />`}
        ${Z(a)}${a.error&&t`: <${p} text=${a.error} max=${1e3} />`}</dd>`}
    ${$&&t`<dt>Last backup</dt><dd><${h} text=${$.time} />, up to <code><${p} text=${$.last} />
      </code>: it has what was erased since</dd>`}
    ${e.snapshot?.last&&t`<dt>Last snapshot</dt><dd><${h}
      text=${e.snapshot.last.taken} />, up to event ${b(e.snapshot.last.seq)}, ${x(e.snapshot.last.bytes)}</dd>`}
    ${e.snapshot?.startedFrom&&t`<dt>Started from</dt><dd>the snapshot of <${h}
      text=${e.snapshot.startedFrom.taken} />, up to event ${b(e.snapshot.startedFrom.seq)}</dd>`}
    </dl>
    ${s&&!e.readOnly&&t`<${Q} status=${e} refresh=${l} />`}
    ${r.length>0&&t`<details><summary>${f(r.length,"erasure")}</summary>
      ${r.map(c=>t`<${R} key=${c.number} erasure=${c} />`)}</details>`}
  <//>`}var Z=({waitingFor:e=[]})=>e.length>0&&t`; the log waits for <${p} text=${e.join(", ")} max=${1e3} />`;function Q({status:e,refresh:s}){let[l,n]=u(""),[i,a]=u(""),$=()=>n(""),r=c=>{$(),a(c),s()};return t`<p class="actions"><${ee} />
      <button type="button" onClick=${()=>n("compact")}>Compact</button>
      ${e.logErasable&&t`<button type="button" class="loss" onClick=${()=>n("erase")}>Erase</button>`}
      <span role="status">${i}</span></p>
    ${l==="compact"&&t`<${U} onGone=${r} onClose=${$} />`}
    ${l==="erase"&&t`<${K} onGone=${r} onClose=${$} />`}`}function W({name:e,title:s,fields:l,asked:n,shown:i,isNothing:a,atOnce:$=!1,onGone:r,onClose:c}){let[o,v]=u(void 0),[d,m]=u(void 0),[g,N]=u(!1),O=_(""),P=JSON.stringify(n(!0)),B=O.current===P,C=async y=>{N(!0),m(void 0);try{let w=F(D((await L(n(y))).text));if(!y)return r(w);O.current=P,v(w)}catch(w){O.current="",m(k(w))}finally{N(!1)}},V=y=>{y.preventDefault(),g||C(!0)};return G(()=>{$&&C(!0)},[]),t`<${z} title=${s} onClose=${c}>
    <form class="form" onSubmit=${V}>${l}
      <p class="actions"><button type="submit" aria-disabled=${g?"true":void 0}>What would go</button>
        <button type="button" onClick=${c}>Cancel</button> <span role="status" class="quiet">${g&&"Asking the server"}</span></p>
    </form>
    <${T} problem=${d} />
    ${B&&o&&t`<div class="plan" role="group" aria-label="What would go">${i(o)}</div>`}
    ${B&&o&&!a(o)&&t`<${M} word=${e} go=${e} busy=${g} onGo=${()=>C(!1)} />`}
  <//>`}function U({onGone:e,onClose:s}){let[l,n]=u(""),[i,a]=u(!1),$=/^\d{4}-\d\d-\d\d$/.test(l.trim())?l.trim()+"T00:00:00Z":l.trim(),r=t`<p>The store then begins at this moment. What it is stays; older versions, older rows of the feed and the events
      of the log go for good. Only a backup from before has them.</p>
    <label>Begin at <input data-focus required value=${l} placeholder="2026-01-31, a time or a position" autocomplete="off"
      spellcheck=${!1} onInput=${o=>n(o.target.value)} /></label>
    <label class="box"><input type="checkbox" checked=${i} onChange=${()=>a(!i)} /> Also where a group has yet to take what
      goes: it has to be reset then</label>`;return t`<${W} name="Compact" title="Let the store begin later" fields=${r} shown=${o=>o.done?t`<p>Nothing: the store begins at <code><${p} text=${o.before} /></code> already, or later.</p>`:t`<p><strong>${f(o.events,"event")} of the log</strong> (about ${x(o.bytes)}) and
        ${" "}<strong>${f(o.versions,"version")} of documents</strong>. The oldest position is <code>
        <${p} text=${o.before} />        </code> then${o.time&&t`, of <${h} text=${o.time} />`}.</p>
      ${o.groups.length>0&&t`<p class="wrong">Groups that have yet to take some of it: <${p} text=${o.groups.join(", ")}
        max=${1e3} />.</p>`}
      ${o.feeds>0&&t`<p>${f(o.feeds,"open feed")} would end, as late as that.</p>`}`} onClose=${s}
    isNothing=${o=>o.done} onGone=${o=>e(o.done?"Compaction: nothing is left to do":"Compaction: has begun, and shows under way")}
    asked=${o=>({method:"POST",path:["_compact"],body:JSON.stringify({before:$,...o?{dryRun:!0}:i?{force:!0}:{}})})} />`}function $e({place:{parts:e}}){let[s,l]=e;return t`<${K} document=${{collection:s,id:l}} onGone=${()=>j(S(["_status"]))}
    onClose=${()=>A(S(e))} />`}function K({document:e,onGone:s,onClose:l}){let[n,i]=u(""),[a,$]=u(""),r=e?[e]:q(n).map(d=>{let m=d.indexOf("/");return{collection:d.slice(0,Math.max(0,m)),id:d.slice(m+1)}}),c=q(a),o=t`<label>Documents, one a line <textarea data-focus required rows="3" spellcheck=${!1} placeholder="customers/c1"
      value=${n} onInput=${d=>i(d.target.value)}></textarea></label>
    <${X} onFound=${d=>i([...new Set([...q(n),...d])].join(`
`))} />`,v=t`<p>All that ${e?"this document was":"these documents were"} goes from every version, every copy and
      the log, as if it had never been written. Nothing brings it back; a backup from before loses it with its next run.</p>
    ${e?t`<p><b><${p} text=${e.collection+"/"+e.id} max=${300} /></b></p>`:o}
    <label>Only these members, one a line; none for the whole ${e?"document, which is":"documents, which are"} deleted
      <textarea rows="2" data-focus=${e?"":void 0} spellcheck=${!1}
      placeholder="/email" value=${a} onInput=${d=>$(d.target.value)}></textarea></label>`;return t`<${W} name="Erase" title=${e?"Erase a document":"Erase documents"} atOnce=${e!==void 0}
    fields=${v} shown=${Y} onClose=${l}
    isNothing=${d=>d.events===0} onGone=${d=>s(`Erasure ${d.number}: ${d.phase}`)}
    asked=${d=>({method:"POST",path:["_erase"],query:d?{dryRun:!0}:{},body:JSON.stringify({documents:r,...c.length>0?{members:c}:{}})})} />`}function X({onFound:e}){let[s,l]=u(""),[n,i]=u(""),a=async()=>{i("Looking");try{let{found:r,more:c}=await E({method:"POST",path:["_find"],body:JSON.stringify({text:s})});i(`${f(r.length,"document")} found${c?", and there are more":""}.`),e(r.map(o=>o.collection+"/"+o.id))}catch(r){let{title:c,detail:o}=k(r);i([c,o].filter(Boolean).join(": "))}};return t`<p class="actions"><label>Or those with this text in any version <input value=${s} autocomplete="off" spellcheck=${!1}
      maxlength="1000" onKeyDown=${r=>{r.key==="Enter"&&(r.preventDefault(),s&&a())}} onInput=${r=>l(r.target.value)} /></label>
    <button type="button" class="small" disabled=${s===""} onClick=${a}>Find</button>
    <span role="status" class="quiet">${n}</span></p>`}var q=e=>e.split(`
`).map(s=>s.trim()).filter(Boolean);function Y({documents:e,living:s,versions:l,events:n,...i}){let a=[["copies","copies"],["frozen","frozen copies"],["kept","values that outlived a delete"]];return t`<p><strong>${f(e,"document")}</strong>, ${b(s)} still there: ${f(l,"version")} and
      ${" "}${f(n,"event")}.</p>
    <ul>${a.flatMap(([$,r])=>Object.entries(i[$]??{}).map(([c,o])=>t`<li><code><${p} text=${c} max=${200} /></code>: ${f(o,"document")} with
        ${" "}${r}</li>`))}</ul>`}function ee(){let[e,s]=u(""),[l,n]=u(void 0);return t`<button type="button" onClick=${async()=>{s("Asking the server"),n(void 0);try{await te(),s("Backup: see the downloads of your browser")}catch(a){s(""),n(k(a))}}}>Download a backup</button>
    <span role="status" class="quiet">${e}</span><${T} problem=${l} />`}async function te(){let{ticket:e}=await E({method:"POST",path:["_tickets"],body:JSON.stringify({path:"/v1/_backup"})}),s=document.createElement("a");s.href=J({path:["_backup"],query:{ticket:e||void 0}}),s.download="",s.click()}export{de as a,$e as b};
