import{h as oe}from"./chunk-EM3OEODN.js";import{$ as te,A as F,C as ee,I as O,J as N,P as c,Q as g,R as K,S as k,U as V,Z as p,_ as S,aa as G,ba as ne,ca as w,da as q,fa as f,p as Q,r as C,u as D,w as X,x as j}from"./chunk-MNRX4NBN.js";import{b as m,c as H,e as W,i as U,l as t,n as R,o as Y,r as Z,s as P,t as E}from"./chunk-YLTSUMXM.js";var ye=250,ke=5e3;function ae({status:e,work:o,onEnd:n}){let s=(e.work??[]).find(u=>u.kind==="verify"||u.kind==="verify-log"),a=o||s?.id,i=ye,{value:r,problem:l,again:$}=N(async u=>a?D({path:["_work",a],signal:u}):null,[a],u=>u===null||u.ended?1/0:i=Math.min(2*i,ke)),d=!!r?.ended&&r.id===o;return H(()=>{d&&n()},[d]),l?t`<${f} problem=${l} again=${$}>
      ${l.status===404&&t`<p>Each node knows its own work only, and keeps the newest.</p>`}<//>`:t`<div class="verification">
    <div><span role="status" class="said">${r&&ve(r)}</span>${r&&t` <span class="quiet">begun <${g} text=${r.started} />
      </span>`}</div>
    ${r&&t`<${we} of=${r} />`}
  </div>`}function we({of:e}){return t`${e.status>=400&&t`<${f} problem=${new Q(e.status,e.result??{})} />`}
    ${e.status<400&&e.kind==="verify"&&t`<${xe} wrong=${e.result.wrong} more=${e.result.more??0} />`}
    ${e.status<400&&e.kind==="verify-log"&&t`<${re} report=${e.result} />`}`}function ve(e){let o=e.kind==="verify"?"Verification":"Verification of the log";if(!e.ended)return`${o}: ${e.phase}${e.total>0?`, ${p(e.done)} of ${p(e.total)}`:""}`;if(e.status>=400)return`${o}: failed`;if(e.kind==="verify-log")return`${o}: ${e.summary.damaged?"it is damaged":"it is whole"}`;let{documents:n,wrong:s}=e.summary;return`${o}: ${S(n,"document")} looked at, ${s===0?"every value is right":S(s,"wrong value")}`}var B=50,A=20;function xe({wrong:e,more:o}){let[n,s]=m(B);return e.length===0?null:t`<${k} label="Wrong values" head=${["Document","Rule","Where","Expected","Found"]}>
      ${e.slice(0,n).map((a,i)=>t`<${Se} key=${i} one=${a} />`)}<//>
    ${e.length>n&&t`<button type="button"
      onClick=${()=>s(n+B)}>Show ${Math.min(B,e.length-n)} more wrong values</button>`}
    ${o>0&&t`<p>${p(o)} more wrong values are not listed.</p>`}`}function Se({one:e}){let o=ie(e.detail),n=o?.slice(0,A)??[void 0],s=t`<th scope="rowgroup" rowspan=${n.length}><${V} name=${e.document} /></th><td
    rowspan=${n.length}>${e.rule&&t`<code><${c} text=${e.rule} max=${200} /></code>`}</td>`;return t`${n.map((a,i)=>t`<tr key=${i}>${i===0&&s}${a===void 0?t`<td colspan="3"><${c} text=${e.detail} max=${2100} /></td>`:t`
    <td><code><${c} text=${a.path||"/"} max=${300} /></code>${o&&i===A-1&&o.length>A&&t` <span
      class="quiet">and ${o.length-A} more</span>`}</td>
    <td>${se(a.expected)}</td><td>${se(a.found)}</td>`}</tr>`)}`}var se=e=>e===void 0?t`<span class="quiet">nothing</span>`:t`<code><${c} text=${e} max=${200} /></code>`;var Te={Verify:e=>({method:"POST",path:["_verify"],query:e?{log:e}:{},headers:{Prefer:"respond-async","Content-Type":"application/json"}}),Snapshot:()=>({method:"POST",path:["_snapshot"],headers:{"Content-Type":"application/json"}}),Replay:e=>({method:"POST",path:["_replay"],body:e?'{"check":true}':"{}"})};function Qe({status:e,refresh:o}){let[n,s]=m(""),[a,i]=m(!1),[r,l]=m(""),[$,d]=m(void 0),[u,h]=m(""),[b,v]=m(null),x=e.log==="embedded",L=y=>{i(!1),s(y)},M=async y=>{s(""),d(void 0),y==="Replay"&&v(null),l(`${y}: under way`);try{let T=E(R((await C(Te[y](a))).text));if(y==="Verify")return h(T.id);y==="Replay"&&v({before:e.replay?.started}),l(y==="Snapshot"?`Snapshot: ${G(T.bytes)}, up to event ${p(T.seq)}`:""),o()}catch(T){l(""),d(O(T))}},_=()=>s(""),ge=()=>{l(""),o()};return t`<${K} title="Maintenance">
    <p class="actions"><button type="button" onClick=${()=>L("Verify")}>Verify</button>
      ${!x&&t`<button type="button" onClick=${()=>L("Snapshot")}>Snapshot</button>`}
      <button type="button" onClick=${()=>L("Replay")}>Replay</button> <span role="status">${r||b&&Re(e.replay?.started===b.before?void 0:e.replay)}</span></p>
    ${b&&e.replay?.running&&t`<${Ce} replay=${e.replay} />`}
    ${x&&t`<p class="quiet">Snapshots are for new nodes of a log on outside NATS servers; this log is embedded.</p>`}
    <${f} problem=${$} />
    <${ae} status=${e} work=${u} onEnd=${ge} />
    <${Oe} check=${e.replay?.check} running=${e.replay?.running} />
    ${n==="Verify"&&t`<${q} name="Verify" onGo=${()=>M("Verify")} onClose=${_}>
      <${le} of="What is verified" first="Each derived value, recomputed from the documents as written"
        second="The log, read through and compared with what was folded from it" chosen=${a} onChoose=${i} />
      <p>Reads and writes go on. It takes a core for as long as it needs.</p><//>`}
    ${n==="Snapshot"&&t`<${q} name="Snapshot" onGo=${()=>M("Snapshot")} onClose=${_}>
      <p>The read model is copied into the object store beside the log, where new nodes find it. The newest two are kept. Reads and writes
        go on.</p><//>`}
    ${n==="Replay"&&t`<${q} name="Replay" onGo=${()=>M("Replay")} onClose=${_}>
      <${le} of="What the replay is for" first="The new read model is put in place of this one"
        second="Each row of this one is compared with it, and the new one is removed" chosen=${a} onChoose=${i} />
      <p>The read model of this node is built anew from the log, beside the live one. Reads and writes go on. It needs room for a second
        read model.</p><//>`}
  <//>`}function Re(e){if(!e)return"Replay: has begun";if(e.running)return`Replay: ${e.phase}`;if(e.error)return"Replay: failed";let o=`in ${te(e.seconds)}`;return e.check?`Replay: compared ${o}`:`Replay: done ${o}, and the new read model is in place`}function Ce({replay:e}){let o=e.rate>0||e.secondsLeft>0;return t`<h3>Replay: ${e.phase}</h3><${oe} label="Replay" done=${e.check?e.check.compared:e.seq}
    total=${e.check&&e.phase!=="replaying"?e.check.rows:e.target}
      unit=${e.phase==="comparing"?"rows":"events"} left=${o?e.secondsLeft:void 0}>
    ${e.rate>0&&`, ${Math.round(e.rate).toLocaleString("en")} a second`}<//>`}function pe({word:e,go:o,busy:n=!1,onGo:s}){let[a,i]=m(""),r=a.trim().toLowerCase()===e.toLowerCase()&&!n;return t`<form class="actions" onSubmit=${$=>{$.preventDefault(),r&&s()}}><label>Type <b><${c} text=${e} max=${100} /></b> to confirm <input
      autocomplete="off" autocapitalize="off" spellcheck=${!1} size="14" value=${a}
      onInput=${$=>i($.target.value)} /></label>
    <button type="submit" class="loss" disabled=${!r}>${o}</button></form>`}var le=({of:e,first:o,second:n,chosen:s,onChoose:a})=>t`<fieldset><legend>${e}</legend>
  <label><input type="radio" name="way" checked=${!s} onChange=${()=>a(!1)} /> ${o}</label>
  <label><input type="radio" name="way" checked=${s} onChange=${()=>a(!0)} /> ${n}</label></fieldset>`;function Oe({check:e,running:o}){if(!e||o)return null;let{rows:n,different:s,first:a,tables:i}=e;return t`<p>The replay compared ${p(n)} rows: ${s===0?"none differs.":t`<strong>${p(s)} differ</strong>${i&&` (${Object.entries(i).map(([r,l])=>`${r}: ${p(l)}`).join(", ")})`}.
    ${a&&t` The first is ${a.kind}: ${a.table} <code>${a.key}</code>.`} “Replay” mends it.`}</p>`}function Xe(e,o){let[n,s]=m(null),[a,i]=m(""),[r,l]=m(void 0),$=async(h,b,v)=>{l(void 0);try{let x=["_groups",b,"_parked",v.id,...h==="POST"?["_retry"]:[]];await C({method:h,path:x,headers:h==="POST"?{"Content-Type":"application/json"}:{}}),i(h==="POST"?"The batch is given again before anything else of its partition.":"The batch was dropped.")}catch(x){i(""),l(O(x))}o.current?.focus(),e()},d=()=>s(null),u=t`<p role="status">${a}</p><${f} problem=${r} />
    ${n&&t`<${w} title="Drop the batch" onClose=${d}>
      <p>Group <b><${c} text=${n.group} max=${200} /></b>, partition ${n.batch.partition}: the changes behind <code>
        ${n.batch.from}</code>, up to <code>${n.batch.to}</code>, will never be given to a member again.</p>
      <p>It failed with: <code><${c} text=${n.batch.error} max=${1e3} /></code></p>
      <p class="actions"><button type="button" onClick=${()=>{d(),$("DELETE",n.group,n.batch)}}>Drop</button> <button type="button" data-focus onClick=${d}>Keep it</button></p>
    <//>`}`;return{retry:(h,b)=>$("POST",h,b),drop:(h,b)=>s({group:h,batch:b}),shown:u}}var Pe={replaying:"read models that never had the contents are being built",switching:"the nodes put them in place",deleting:"messages and older copies go",residue:"a NATS server may have something yet",done:"nothing of it is left"};function et({erasure:e}){let o=e.nodes??[],n=e.residue??[];return t`<h3>Erasure ${e.number}: ${e.phase}</h3>
    <p>${S(e.documents,"document")}, ${S(e.events,"event")}, asked for <${g} text=${e.time} />
      ${e.by&&t` by <${c} text=${e.by} max=${100} />`}: ${Pe[e.phase]??e.phase}.
      ${o.length>0&&t` It waits for <${c} text=${o.join(", ")} max=${1e3} />.`}
      ${e.error&&t` It is tried again: <${c} text=${e.error} max=${1e3} />`}</p>
    ${n.length>0&&t`<ul aria-label="What a NATS server may still have">${n.map(s=>t`<li><${c}
      text=${s.where} max=${300} />: <${c} text=${s.do} max=${500} /></li>`)}</ul>`}`}var de=({first:e,last:o})=>e===o?`event ${p(e)}`:`events ${p(e)} to ${p(o)}`;function re({report:e}){let o=e.missing??[];return t`<p>${p(e.read)} events could be read, up
    to ${p(e.last)}.
      ${" "}${e.compared>0?`They are those that were folded, up to ${p(e.compared)}.`:"Nothing was known to compare them with."}</p>
    ${o.length>0&&t`<ul aria-label="Missing events">${o.map(n=>t`<li>
      ${de(n)} cannot be read</li>`)}${e.more>0&&t`<li>and ${p(e.more)} more runs</li>`}</ul>`}
    ${e.differs&&t`<p><strong>Of ${de(e.differs)} at least one is not the one that was folded.</strong></p>`}
    ${e.base&&t`<p>The base of ${G(e.base.bytes)}, up to event ${p(e.base.seq)}, is ${e.base.error?t`<strong>of no use</strong>: <${c} text=${e.base.error} max=${1e3} />`:"whole"}.</p>`}`}function tt({status:e}){let o=e.ruleErrors??[],n=e.omitted??[];return t`<${K} title="Rules">
    ${o.length>0?t`<h3>Failed since the start</h3><${k} label="Rule errors" head=${["Rule",["Failed"],"Last document","Error"]}>
      ${o.map(s=>t`<tr key=${s.rule}><td>${ce(s.rule)}</td><td class="number">${p(s.count)}
        </td><td><${V} name=${s.document} /></td><td><${c} text=${s.error} max=${1e3} /></td></tr>`)}<//>`:t`<p>No rule has failed since the start.</p>`}
    ${n.length>0&&t`<h3>Without room in some documents</h3><${k} label="Values without room" head=${["Rule",["Documents"],["Values"]]}>
      ${n.map(s=>t`<tr key=${s.rule}><td>${ce(s.rule)}</td><td class="number">
        ${p(s.documents)}</td><td class="number">${p(s.values)}</td></tr>`)}<//>`}
  <//>`}var ce=e=>t`<code><${c} text=${e} max=${200} /></code>`,$e="from stored (old) to right: ";function ie(e){if(e.startsWith($e))try{return R(e.slice($e.length)).elements?.map(n=>({path:Z(P(n,"path"))??"",expected:ue(P(n,"value")),found:ue(P(n,"old"))}))}catch{return}}var ue=e=>e&&Y(e);var Ee=3e4,me={path:["_keys"]},De=[["admin","everything"],["write","reads and writes documents"],["read","reads documents"],["monitor","sees how nodes stand"]],I=U(null);function he(){let[e,o]=m(""),n=I.value;if(!n)return null;let s=()=>{o(""),I.value=null},a=()=>navigator.clipboard.writeText(n.text).then(()=>o("Copied."),()=>o("The browser does not let it be copied: select it."));return t`<${w} title=${n.what} closable=${!1} onClose=${s}>
    <p>Nobody sees this text again. Keep it where it is needed.</p>
    <code class="secret" aria-label="Secret" tabindex="0"><${c} text=${n.text} /></code>
    ${n.note&&t`<p>${n.note}</p>`}
    <p class="actions"><button type="button" class="main" data-focus onClick=${a}>Copy</button>
      <button type="button" onClick=${s}>I have it</button> <span role="status">${e}</span></p>
  <//>`}function ct(){let e=ee("admin"),{value:o,problem:n,again:s}=N(async b=>e?(await D({...me,signal:b})).keys:[],[X.value,e],()=>Ee),[a,i]=m(null),[r,l]=m(""),$=W(null);if(!e)return F.value&&t`<p>Keys are seen and made by whoever has the role <code>admin</code>.</p><${he} />`;let d=()=>i(null),u=b=>{d(),l(b),s()},h=o??[];return t`<${f} problem=${n} again=${s} />
    ${o&&h.length===0&&t`<p>This store has no key, and nobody needs one. The first key closes it for good.</p>`}
    <p class="actions"><button type="button" onClick=${()=>i({what:"make"})}>New key</button>
      <span role="status" tabindex="-1" ref=${$}>${r}</span></p>
    ${h.length>0&&t`<${k} label="Keys" head=${["Name","Roles","State","Made","Secrets","Actions"]}>
      ${h.map(b=>t`<${Ne} key=${b.id} of=${b} onDo=${v=>i({what:v,of:b})} />`)}<//>
      <p class="quiet small-print">The store does not note when a key was used last.</p>`}
    ${a?.what==="make"&&t`<${qe} first=${h.length===0} onDone=${u} onClose=${d} />`}
    ${a?.what==="rotate"&&t`<${Ae} of=${a.of} onDone=${u} onClose=${d} />`}
    ${a?.what==="revoke"&&t`<${Ie} of=${a.of} onDone=${u} onClose=${d} />`}
    <${he} />
    <${ne} asked=${me} />`}var z=e=>F.value?.id===e.id,fe=e=>!!e.revoked||e.expires&&new Date(e.expires)<=new Date;function Ne({of:e,onDo:o}){let n=Object.keys(e.claims??{}).length>0?JSON.stringify(e.claims):"",s=e.secrets.filter(a=>a.until);return t`<tr class=${fe(e)?"ended":void 0}><th scope="row"><${c} text=${e.name} max=${100} />
      <div class="quiet"><code>${e.id}</code>${z(e)&&", of this tab"}</div></th>
    <td><${c} text=${e.roles.join(", ")} max=${300} />
      ${e.sub!=="key:"+e.id&&t`<div class="quiet">as <code><${c} text=${e.sub} max=${100} /></code></div>`}
      ${n&&t`<div class="quiet"><code><${c} text=${n} max=${200} /></code></div>`}</td>
    <td>${Ve(e)}</td><td><${g} text=${e.created} /></td>
    <td>${e.secrets.length}${s.map(a=>t`<div class="quiet">one until <${g} text=${a.until} /></div>`)}</td>
    <td><div class="actions">${!e.revoked&&t`<button type="button" class="small" aria-label=${`Rotate ${e.name}`} onClick=${()=>o("rotate")}>Rotate</button>`}<button type="button" class="small" aria-label=${`${e.revoked?"Forget":"Revoke"} ${e.name}`}
      onClick=${()=>o("revoke")}>${e.revoked?"Forget":"Revoke"}</button></div></td></tr>`}function Ve(e){return e.revoked?t`revoked <${g} text=${e.revoked} />`:e.expires?fe(e)?t`ended <${g} text=${e.expires} />`:t`works until <${g} text=${e.expires} />`:"works, without an end"}function J(e){let[o,n]=m(void 0),s=W(!1);return{send:async i=>{if(!s.current){s.current=!0,n(void 0);try{let{text:r}=await C(i);e(r===""?null:E(R(r)))}catch(r){n(O(r))}s.current=!1}},problem:o}}function qe({first:e,onDone:o,onClose:n}){let{send:s,problem:a}=J(r=>{e&&j(r.key,!1);let l=e?"This tab uses it from now on. A reload asks for it.":void 0;I.value={what:`Key of ${r.name}`,text:r.key,note:l},o(`${r.name} is made.`)});return t`<${w} title="New key" onClose=${n}><form class="form" onSubmit=${r=>{r.preventDefault();let l=new FormData(r.currentTarget),$=h=>String(l.get(h)??"").trim(),d=[...l.getAll("role").map(String),...$("roles").split(/[\s,]+/).filter(Boolean)],u=$("expires")&&new Date($("expires")+"Z").toISOString();s({method:"POST",path:["_keys"],body:JSON.stringify({name:$("name"),roles:d,...u&&{expires:u},...$("sub")&&{sub:$("sub")}})})}}>
    ${e&&t`<p class="wrong">This is the first key. It closes the store for good: nobody comes in without a key then. It needs the
      role admin.</p>`}
    <label>Name <input name="name" required maxlength="100" data-focus autocomplete="off" spellcheck=${!1} /></label>
    <fieldset><legend>Roles</legend>${De.map(([r,l])=>t`<label><input type="checkbox" name="role" value=${r} defaultChecked=${e&&r==="admin"} /> ${r}
        ${" "}<span class="quiet">${l}</span></label>`)}</fieldset>
    <label>Roles of the model, by commas <input name="roles" autocomplete="off" spellcheck=${!1} /></label>
    <label>Ends at (UTC), never where it is empty <input name="expires" type="datetime-local" /></label>
    <label>Who it is to rules; by itself its id <input name="sub" autocomplete="off" spellcheck=${!1} /></label>
    <${f} problem=${a} />
    <p class="actions"><button type="submit" class="main">Make the key</button> <button type="button" onClick=${n}>Cancel</button></p>
  </form><//>`}var be=[["24h","for a day"],["1h","for an hour"],["168h","for a week"],["0s","not at all: it ends at once"]];function Ae({of:e,onDone:o,onClose:n}){let[s,a]=m(be[0][0]),i=z(e)&&s==="0s",{send:r,problem:l}=J(d=>{i&&j(d.key,!1),I.value={what:`New secret of ${e.name}`,text:d.key,note:i?"This tab uses it from now on.":void 0},o(`${e.name} has a new secret.`)}),$=d=>{d.preventDefault(),r({method:"POST",path:["_keys",e.id,"_rotate"],body:JSON.stringify({overlap:s})})};return t`<${w} title=${`Rotate ${e.name}`} onClose=${n}><form class="form" onSubmit=${$}>
    <p>The key gets a new text. Its name, roles and id stay.</p>
    <label>The text before works on <select data-focus value=${s}
      onChange=${d=>a(d.target.value)}>
      ${be.map(([d,u])=>t`<option value=${d}>${u}</option>`)}</select></label>
    <${f} problem=${l} />
    <p class="actions"><button type="submit" class="main">Rotate</button> <button type="button" onClick=${n}>Cancel</button></p>
  </form><//>`}function Ie({of:e,onDone:o,onClose:n}){let s=e.revoked?"Forget":"Revoke",{send:a,problem:i}=J(()=>o(`${e.name} is ${e.revoked?"forgotten":"revoked"}.`));return t`<${w} title=${`${s} ${e.name}`} onClose=${n}>
    <p>${e.revoked?"Its name and roles go, and histories show its id alone.":"Whoever uses it is refused from now on, on all nodes within a second. Nothing brings it back. Its name stays for the record."}</p>
    ${z(e)&&t`<p class="wrong">This tab uses it, and asks for another one then.</p>`}
    <${pe} word=${e.name} go=${s} onGo=${()=>a({method:"DELETE",path:["_keys",e.id]})} />
    <${f} problem=${i} />
    <p class="actions"><button type="button" data-focus onClick=${n}>Keep it</button></p>
  <//>`}export{Qe as a,Ce as b,pe as c,Xe as d,et as e,tt as f,I as g,he as h,ct as i};
