import{$ as c,Ja as ee,La as x,Ma as te,Oa as y,Pa as ne,V as O,W as A,aa as g,ba as W,ca as w,ea as N,ja as u,ka as S,la as Q,ma as j,n as H,na as X,p as C,s as D,t as Y,u as M,x as _,z as Z}from"./chunk-2RUBGJ57.js";import{b as p,c as B,e as L,i as z,l as t,n as R,q as J,r as U,s as P,t as E}from"./chunk-JD54O3BL.js";var ye=250,ke=5e3;function se({status:e,work:o,onEnd:n}){let s=(e.work??[]).find($=>$.kind==="verify"||$.kind==="verify-log"),a=o||s?.id,i=ye,{value:r,problem:l,again:m}=A(async $=>a?D({path:["_work",a],signal:$}):null,[a],$=>$===null||$.ended?1/0:i=Math.min(2*i,ke)),d=!!r?.ended&&r.id===o;return B(()=>{d&&n()},[d]),l?t`<${y} problem=${l} again=${m}>
      ${l.status===404&&t`<p>Each node knows its own work only, and keeps the newest.</p>`}<//>`:t`<div class="verification">
    <div><span role="status" class="said">${r&&we(r)}</span>${r&&t` <span class="quiet">begun <${g} text=${r.started} />
      </span>`}</div>
    ${r&&t`<${ve} of=${r} />`}
  </div>`}function ve({of:e}){return t`${e.status>=400&&t`<${y} problem=${new H(e.status,e.result??{})} />`}
    ${e.status<400&&e.kind==="verify"&&t`<${xe} wrong=${e.result.wrong} more=${e.result.more??0} />`}
    ${e.status<400&&e.kind==="verify-log"&&t`<${ae} report=${e.result} />`}`}function we(e){let o=e.kind==="verify"?"Verification":"Verification of the log";if(!e.ended)return`${o}: ${e.phase}${e.total>0?`, ${u(e.done)} of ${u(e.total)}`:""}`;if(e.status>=400)return`${o}: failed`;if(e.kind==="verify-log")return`${o}: ${e.summary.damaged?"it is damaged":"it is whole"}`;let{documents:n,wrong:s}=e.summary;return`${o}: ${S(n,"document")} looked at, ${s===0?"every value is right":S(s,"wrong value")}`}var F=50,q=20;function xe({wrong:e,more:o}){let[n,s]=p(F);return e.length===0?null:t`<${w} label="Wrong values" head=${["Document","Rule","Where","Expected","Found"]}>
      ${e.slice(0,n).map((a,i)=>t`<${Se} key=${i} one=${a} />`)}<//>
    ${e.length>n&&t`<button type="button"
      onClick=${()=>s(n+F)}>Show ${Math.min(F,e.length-n)} more wrong values</button>`}
    ${o>0&&t`<p>${u(o)} more wrong values are not listed.</p>`}`}function Se({one:e}){let o=re(e.detail),n=o?.slice(0,q)??[void 0],s=t`<th scope="rowgroup" rowspan=${n.length}><${N} name=${e.document} /></th><td
    rowspan=${n.length}>${e.rule&&t`<code><${c} text=${e.rule} max=${200} /></code>`}</td>`;return t`${n.map((a,i)=>t`<tr key=${i}>${i===0&&s}${a===void 0?t`<td colspan="3"><${c} text=${e.detail} max=${2100} /></td>`:t`
    <td><code><${c} text=${a.path||"/"} max=${300} /></code>${o&&i===q-1&&o.length>q&&t` <span
      class="quiet">and ${o.length-q} more</span>`}</td>
    <td>${oe(a.expected)}</td><td>${oe(a.found)}</td>`}</tr>`)}`}var oe=e=>e===void 0?t`<span class="quiet">nothing</span>`:t`<code><${c} text=${e} max=${200} /></code>`;var Te={Verify:e=>({method:"POST",path:["_verify"],query:e?{log:e}:{},headers:{Prefer:"respond-async","Content-Type":"application/json"}}),Snapshot:()=>({method:"POST",path:["_snapshot"],headers:{"Content-Type":"application/json"}}),Replay:e=>({method:"POST",path:["_replay"],body:e?'{"check":true}':"{}"})};function Xe({status:e,refresh:o}){let[n,s]=p(""),[a,i]=p(!1),[r,l]=p(""),[m,d]=p(void 0),[$,h]=p(""),[b,f]=p(null),k=e.log==="embedded",V=v=>{i(!1),s(v)},fe=async v=>{s(""),d(void 0),v==="Replay"&&f(null),l(`${v}: under way`);try{let T=E(R((await C(Te[v](a))).text));if(v==="Verify")return h(T.id);v==="Replay"&&f({before:e.replay?.started}),l(v==="Snapshot"?`Snapshot: ${j(T.bytes)}, up to event ${u(T.seq)}`:""),o()}catch(T){l(""),d(O(T))}},ge=()=>{l(""),o()};return t`<${W} title="Maintenance">
    <p class="actions"><button type="button" onClick=${()=>V("Verify")}>Verify</button>
      ${!k&&t`<button type="button" onClick=${()=>V("Snapshot")}>Snapshot</button>`}
      <button type="button" onClick=${()=>V("Replay")}>Replay</button> <span role="status">${r||b&&Ce(e.replay?.started===b.before?void 0:e.replay)}</span></p>
    ${b&&e.replay?.running&&t`<${Oe} replay=${e.replay} />`}
    ${k&&t`<p class="quiet">Snapshots are for new nodes of a log on outside NATS servers; this log is embedded.</p>`}
    <${y} problem=${m} />
    <${se} status=${e} work=${$} onEnd=${ge} />
    <${Pe} check=${e.replay?.check} running=${e.replay?.running} />
    <${Re} name=${n} other=${a} onOther=${i} onGo=${fe} onClose=${()=>s("")} />
  <//>`}function Re({name:e,other:o,onOther:n,onGo:s,onClose:a}){let i=r=>t`<${te} name=${e} onGo=${()=>s(e)} onClose=${a}>${r}<//>`;return e==="Verify"?i(t`<${ie} of="What is verified" first="Each derived value, recomputed from the documents as written"
        second="The log, read through and compared with what was folded from it" chosen=${o} onChoose=${n} />
      <p>Reads and writes go on. It takes a core for as long as it needs.</p>`):e==="Snapshot"?i(t`<p>The read model is copied into the object store beside the log, where new nodes find it. The newest two are kept.
        Reads and writes go on.</p>`):e!=="Replay"?null:i(t`<${ie} of="What the replay is for" first="The new read model is put in place of this one"
      second="Each row of this one is compared with it, and the new one is removed" chosen=${o} onChoose=${n} />
    <p>The read model of this node is built anew from the log, beside the live one. Reads and writes go on. It needs room for a second
      read model.</p>`)}function Ce(e){if(!e)return"Replay: has begun";if(e.running)return`Replay: ${e.phase}`;if(e.error)return"Replay: failed";let o=`in ${Q(e.seconds)}`;return e.check?`Replay: compared ${o}`:`Replay: done ${o}, and the new read model is in place`}function Oe({replay:e}){let o=e.rate>0||e.secondsLeft>0;return t`<h3>Replay: ${e.phase}</h3><${ee} label="Replay" done=${e.check?e.check.compared:e.seq}
    total=${e.check&&e.phase!=="replaying"?e.check.rows:e.target}
      unit=${e.phase==="comparing"?"rows":"events"} left=${o?e.secondsLeft:void 0}>
    ${e.rate>0&&`, ${Math.round(e.rate).toLocaleString("en")} a second`}<//>`}function ue({word:e,go:o,busy:n=!1,onGo:s,children:a}){let[i,r]=p(""),l=i.trim().toLowerCase()===e.toLowerCase()&&!n;return t`<form class="actions" onSubmit=${d=>{d.preventDefault(),l&&s()}}><label>Type <b><${c} text=${e} max=${100} /></b> to confirm <input
      autocomplete="off" autocapitalize="off" spellcheck=${!1} size="14" value=${i}
      onInput=${d=>r(d.target.value)} /></label>
    <button type="submit" class="loss" disabled=${!l}>${o}</button>${a}</form>`}var ie=({of:e,first:o,second:n,chosen:s,onChoose:a})=>t`<fieldset><legend>${e}</legend>
  <label><input type="radio" name="way" checked=${!s} onChange=${()=>a(!1)} /> ${o}</label>
  <label><input type="radio" name="way" checked=${s} onChange=${()=>a(!0)} /> ${n}</label></fieldset>`;function Pe({check:e,running:o}){if(!e||o)return null;let{rows:n,different:s,first:a,tables:i}=e;return t`<p>The replay compared ${u(n)} rows: ${s===0?"none differs.":t`<strong>${u(s)} differ</strong>${i&&` (${Object.entries(i).map(([r,l])=>`${r}: ${u(l)}`).join(", ")})`}.
    ${a&&t` The first is ${a.kind}: ${a.table} <code>${a.key}</code>.`} “Replay” mends it.`}</p>`}function et(e,o){let[n,s]=p(null),[a,i]=p(""),[r,l]=p(void 0),m=async(h,b,f)=>{l(void 0);try{let k=["_groups",b,"_parked",f.id,...h==="POST"?["_retry"]:[]];await C({method:h,path:k,headers:h==="POST"?{"Content-Type":"application/json"}:{}}),i(h==="POST"?"The batch is given again before anything else of its partition.":"The batch was dropped.")}catch(k){i(""),l(O(k))}o.current?.focus(),e()},d=()=>s(null),$=t`<p role="status">${a}</p><${y} problem=${r} />
    ${n&&t`<${x} title="Drop the batch" onClose=${d}>
      <p>Group <b><${c} text=${n.group} max=${200} /></b>, partition ${n.batch.partition}: the changes behind <code>
        ${n.batch.from}</code>, up to <code>${n.batch.to}</code>, will never be given to a member again.</p>
      <p>It failed with: <code><${c} text=${n.batch.error} max=${1e3} /></code></p>
      <p class="actions"><button type="button" onClick=${()=>{d(),m("DELETE",n.group,n.batch)}}>Drop</button> <button type="button" data-focus onClick=${d}>Keep it</button></p>
    <//>`}`;return{retry:(h,b)=>m("POST",h,b),drop:(h,b)=>s({group:h,batch:b}),shown:$}}var Ee={replaying:"read models that never had the contents are being built",switching:"the nodes put them in place",deleting:"messages and older copies go",residue:"a NATS server may have something yet",done:"nothing of it is left"};function tt({erasure:e}){let o=e.nodes??[],n=e.residue??[];return t`<h3>Erasure ${e.number}: ${e.phase}</h3>
    <p>${S(e.documents,"document")}, ${S(e.events,"event")}, asked for <${g} text=${e.time} />
      ${e.by&&t` by <${c} text=${e.by} max=${100} />`}: ${Ee[e.phase]??e.phase}.
      ${o.length>0&&t` It waits for <${c} text=${o.join(", ")} max=${1e3} />.`}
      ${e.error&&t` It is tried again: <${c} text=${e.error} max=${1e3} />`}</p>
    ${n.length>0&&t`<ul aria-label="What a NATS server may still have">${n.map(s=>t`<li><${c}
      text=${s.where} max=${300} />: <${c} text=${s.do} max=${500} /></li>`)}</ul>`}`}var le=({first:e,last:o})=>e===o?`event ${u(e)}`:`events ${u(e)} to ${u(o)}`;function ae({report:e}){let o=e.missing??[];return t`<p>${u(e.read)} events could be read, up
    to ${u(e.last)}.
      ${" "}${e.compared>0?`They are those that were folded, up to ${u(e.compared)}.`:"Nothing was known to compare them with."}</p>
    ${o.length>0&&t`<ul aria-label="Missing events">${o.map(n=>t`<li>
      ${le(n)} cannot be read</li>`)}${e.more>0&&t`<li>and ${u(e.more)} more runs</li>`}</ul>`}
    ${e.differs&&t`<p><strong>Of ${le(e.differs)} at least one is not the one that was folded.</strong></p>`}
    ${e.base&&t`<p>The base of ${j(e.base.bytes)}, up to event ${u(e.base.seq)}, is ${e.base.error?t`<strong>of no use</strong>: <${c} text=${e.base.error} max=${1e3} />`:"whole"}.</p>`}`}function nt({status:e}){let o=e.ruleErrors??[],n=e.omitted??[];return t`<${W} title="Rules">
    ${o.length>0?t`<h3>Failed since the start</h3><${w} label="Rule errors" head=${["Rule",["Failed"],"Last document","Error"]}>
      ${o.map(s=>t`<tr key=${s.rule}><td>${de(s.rule)}</td><td class="number">${u(s.count)}
        </td><td><${N} name=${s.document} /></td><td><${c} text=${s.error} max=${1e3} /></td></tr>`)}<//>`:t`<p>No rule has failed since the start.</p>`}
    ${n.length>0&&t`<h3>Without room in some documents</h3><${w} label="Values without room" head=${["Rule",["Documents"],["Values"]]}>
      ${n.map(s=>t`<tr key=${s.rule}><td>${de(s.rule)}</td><td class="number">
        ${u(s.documents)}</td><td class="number">${u(s.values)}</td></tr>`)}<//>`}
  <//>`}var de=e=>t`<code><${c} text=${e} max=${200} /></code>`,ce="from stored (old) to right: ";function re(e){if(e.startsWith(ce))try{return R(e.slice(ce.length)).elements?.map(n=>({path:U(P(n,"path"))??"",expected:$e(P(n,"value")),found:$e(P(n,"old"))}))}catch{return}}var $e=e=>e&&J(e);var De=3e4,pe={path:["_keys"]},Ae=[["admin","everything"],["write","reads and writes documents"],["read","reads documents"],["monitor","sees how nodes stand"]],I=z(null);function me(){let[e,o]=p(""),n=I.value;if(!n)return null;let s=()=>{o(""),I.value=null},a=()=>navigator.clipboard.writeText(n.text).then(()=>o("Copied."),()=>o("The browser does not let it be copied: select it."));return t`<${x} title=${n.what} closable=${!1} onClose=${s}>
    <p>Nobody sees this text again. Keep it where it is needed.</p>
    <code class="secret" aria-label="Secret" tabindex="0"><${c} text=${n.text} /></code>
    ${n.note&&t`<p>${n.note}</p>`}
    <p class="actions"><button type="button" class="main" data-focus onClick=${a}>Copy</button>
      <button type="button" onClick=${s}>I have it</button> <span role="status">${e}</span></p>
  <//>`}function $t(){let e=Z("admin"),{value:o,problem:n,again:s,cancel:a}=A(async f=>e?(await D({...pe,signal:f})).keys:[],[Y.value,e],()=>De),[i,r]=p(null),[l,m]=p(""),d=L(null);if(!e)return _.value&&t`<p>Keys are seen and made by whoever has the role <code>admin</code>.</p><${me} />`;let $=()=>r(null),h=f=>{$(),m(f),s()},b=o??[];return t`<div class="keys-page"><${y} problem=${n} again=${s} />
    ${o&&b.length===0&&t`<p>This store has no key, and nobody needs one. The first key closes it for good.</p>`}
    <p class="actions"><button type="button" onClick=${()=>r({what:"make"})}>New key</button>
      <span role="status" tabindex="-1" ref=${d}>${l}</span></p>
    <${ne} of=${{value:o,problem:n,cancel:a}}>${b.length>0&&t`<${w} label="Keys" head=${["Name","Roles","State","Made","Last used","Secrets","Actions"]}>
      ${b.map(f=>t`<${Ne} key=${f.id} of=${f} onDo=${k=>r({what:k,of:f})} />`)}<//>
      <p class="quiet small-print">A use is noted to the minute. Those on other nodes show within a few minutes.</p>`}<//>
    ${i?.what==="make"&&t`<${Ie} first=${b.length===0} onDone=${h} onClose=${$} />`}
    ${i?.what==="rotate"&&t`<${Ve} of=${i.of} onDone=${h} onClose=${$} />`}
    ${i?.what==="revoke"&&t`<${Le} of=${i.of} onDone=${h} onClose=${$} />`}
    <${me} />
    <${X} asked=${pe} /></div>`}var K=e=>_.value?.id===e.id,be=e=>!!e.revoked||e.expires&&new Date(e.expires)<=new Date;function Ne({of:e,onDo:o}){let n=Object.keys(e.claims??{}).length>0?JSON.stringify(e.claims):"",s=e.secrets.filter(a=>a.until);return t`<tr class=${be(e)?"ended":void 0}><th scope="row"><${c} text=${e.name} max=${100} />
      <div class="quiet"><code>${e.id}</code>${K(e)&&", of this tab"}</div></th>
    <td><${c} text=${e.roles.join(", ")} max=${300} />
      ${e.sub!=="key:"+e.id&&t`<div class="quiet">as <code><${c} text=${e.sub} max=${100} /></code></div>`}
      ${n&&t`<div class="quiet"><code><${c} text=${n} max=${200} /></code></div>`}</td>
    <td>${qe(e)}</td><td><${g} text=${e.created} /></td>
    <td>${e.lastUsed?t`<${g} text=${e.lastUsed} />`:t`<span class="quiet">never</span>`}</td>
    <td>${e.secrets.length}${s.map(a=>t`<div class="quiet">one until <${g} text=${a.until} /></div>`)}</td>
    <td><div class="actions">${!e.revoked&&t`<button type="button" class="small" aria-label=${`Rotate ${e.name}`} onClick=${()=>o("rotate")}>Rotate</button>`}<button type="button" class="small" aria-label=${`${e.revoked?"Forget":"Revoke"} ${e.name}`}
      onClick=${()=>o("revoke")}>${e.revoked?"Forget":"Revoke"}</button></div></td></tr>`}function qe(e){return e.revoked?t`revoked <${g} text=${e.revoked} />`:e.expires?be(e)?t`ended <${g} text=${e.expires} />`:t`works until <${g} text=${e.expires} />`:"works, without an end"}function G(e){let[o,n]=p(void 0),s=L(!1);return{send:async i=>{if(!s.current){s.current=!0,n(void 0);try{let{text:r}=await C(i);e(r===""?null:E(R(r)))}catch(r){n(O(r))}s.current=!1}},problem:o}}function Ie({first:e,onDone:o,onClose:n}){let{send:s,problem:a}=G(r=>{e&&M(r.key,!1);let l=e?"This tab uses it from now on. A reload asks for it.":void 0;I.value={what:`Key of ${r.name}`,text:r.key,note:l},o(`${r.name} is made.`)});return t`<${x} title="New key" onClose=${n}><form class="form" onSubmit=${r=>{r.preventDefault();let l=new FormData(r.currentTarget),m=h=>String(l.get(h)??"").trim(),d=[...l.getAll("role").map(String),...m("roles").split(/[\s,]+/).filter(Boolean)],$=m("expires")&&new Date(m("expires")+"Z").toISOString();s({method:"POST",path:["_keys"],body:JSON.stringify({name:m("name"),roles:d,...$&&{expires:$},...m("sub")&&{sub:m("sub")}})})}}>
    ${e&&t`<p class="wrong">This is the first key. It closes the store for good: nobody comes in without a key then. It needs the
      role admin.</p>`}
    <label>Name <input name="name" required maxlength="100" data-focus autocomplete="off" spellcheck=${!1} /></label>
    <fieldset><legend>Roles</legend>${Ae.map(([r,l])=>t`<label><input type="checkbox" name="role" value=${r} defaultChecked=${e&&r==="admin"} /> ${r}
        ${" "}<span class="quiet">${l}</span></label>`)}</fieldset>
    <label>Roles of the model, by commas <input name="roles" autocomplete="off" spellcheck=${!1} /></label>
    <label>Ends at (UTC), never where it is empty <input name="expires" type="datetime-local" /></label>
    <label>Who it is to rules; by itself its id <input name="sub" autocomplete="off" spellcheck=${!1} /></label>
    <${y} problem=${a} />
    <p class="actions"><button type="submit" class="main">Make the key</button> <button type="button" onClick=${n}>Cancel</button></p>
  </form><//>`}var he=[["24h","for a day"],["1h","for an hour"],["168h","for a week"],["0s","not at all: it ends at once"]];function Ve({of:e,onDone:o,onClose:n}){let[s,a]=p(he[0][0]),i=K(e)&&s==="0s",{send:r,problem:l}=G(d=>{i&&M(d.key,!1),I.value={what:`New secret of ${e.name}`,text:d.key,note:i?"This tab uses it from now on.":void 0},o(`${e.name} has a new secret.`)}),m=d=>{d.preventDefault(),r({method:"POST",path:["_keys",e.id,"_rotate"],body:JSON.stringify({overlap:s})})};return t`<${x} title=${`Rotate ${e.name}`} onClose=${n}><form class="form" onSubmit=${m}>
    <p>The key gets a new text. Its name, roles and id stay.</p>
    <label>The text before works on <select data-focus value=${s}
      onChange=${d=>a(d.target.value)}>
      ${he.map(([d,$])=>t`<option value=${d}>${$}</option>`)}</select></label>
    <${y} problem=${l} />
    <p class="actions"><button type="submit" class="main">Rotate</button> <button type="button" onClick=${n}>Cancel</button></p>
  </form><//>`}function Le({of:e,onDone:o,onClose:n}){let s=e.revoked?"Forget":"Revoke",{send:a,problem:i}=G(()=>o(`${e.name} is ${e.revoked?"forgotten":"revoked"}.`));return t`<${x} title=${`${s} ${e.name}`} onClose=${n}>
    <p>${e.revoked?"Its name and roles go, and histories show its id alone.":"Whoever uses it is refused from now on, on all nodes within a second. Nothing brings it back. Its name stays for the record."}</p>
    ${K(e)&&t`<p class="wrong">This tab uses it, and asks for another one then.</p>`}
    <${ue} word=${e.name} go=${s} onGo=${()=>a({method:"DELETE",path:["_keys",e.id]})}>
      <button type="button" data-focus onClick=${n}>Keep it</button><//>
    <${y} problem=${i} />
  <//>`}export{Xe as a,Oe as b,ue as c,et as d,tt as e,nt as f,I as g,me as h,$t as i};
