import{c as F}from"./chunk-DLW6OXUA.js";import{Ma as k,Pa as y,Qa as _,W as E,X as A,aa as b,ba as m,da as I,oa as K,p as D,s as N,t as q,u as w,x,z as P}from"./chunk-AW476DRL.js";import{b as p,e as g,i as R,l as t,n as T,t as O}from"./chunk-JD54O3BL.js";var j=3e4,L={path:["_keys"]},B=[["admin","everything"],["write","reads and writes documents"],["read","reads documents"],["monitor","sees how nodes stand"]],v=R(null);function M(){let[e,a]=p(""),n=v.value;if(!n)return null;let o=()=>{a(""),v.value=null},i=()=>navigator.clipboard.writeText(n.text).then(()=>a("Copied."),()=>a("The browser does not let it be copied: select it."));return t`<${k} title=${n.what} closable=${!1} onClose=${o}>
    <p>Nobody sees this text again. Keep it where it is needed.</p>
    <code class="secret" aria-label="Secret" tabindex="0"><${b} text=${n.text} /></code>
    ${n.note&&t`<p>${n.note}</p>`}
    <p class="actions"><button type="button" class="main" data-focus onClick=${i}>Copy</button>
      <button type="button" onClick=${o}>I have it</button> <span role="status">${e}</span></p>
  <//>`}function oe(){let e=P("admin"),{value:a,problem:n,again:o,cancel:i}=A(async $=>e?(await N({...L,signal:$})).keys:[],[q.value,e],()=>j),[l,s]=p(null),[c,d]=p(""),r=g(null);if(!e)return x.value&&t`<p>Keys are seen and made by whoever has the role <code>admin</code>.</p><${M} />`;let u=()=>s(null),h=$=>{u(),d($),o()},f=a??[];return t`<div class="keys-page"><${y} problem=${n} again=${o} />
    ${a&&f.length===0&&t`<p>This store has no key, and nobody needs one. The first key closes it for good.</p>`}
    <p class="actions"><button type="button" onClick=${()=>s({what:"make"})}>New key</button>
      <span role="status" tabindex="-1" ref=${r}>${c}</span></p>
    <${_} of=${{value:a,problem:n,cancel:i}}>${f.length>0&&t`<${I} label="Keys" head=${["Name","Roles","State","Made","Last used","Secrets","Actions"]}>
      ${f.map($=>t`<${W} key=${$.id} of=${$} onDo=${V=>s({what:V,of:$})} />`)}<//>
      <p class="quiet small-print">A use is noted to the minute. Those on other nodes show within a few minutes.</p>`}<//>
    ${l?.what==="make"&&t`<${Y} first=${f.length===0} onDone=${h} onClose=${u} />`}
    ${l?.what==="rotate"&&t`<${Z} of=${l.of} onDone=${h} onClose=${u} />`}
    ${l?.what==="revoke"&&t`<${z} of=${l.of} onDone=${h} onClose=${u} />`}
    <${M} />
    <${K} asked=${L} /></div>`}var S=e=>x.value?.id===e.id,U=e=>!!e.revoked||e.expires&&new Date(e.expires)<=new Date;function W({of:e,onDo:a}){let n=Object.keys(e.claims??{}).length>0?JSON.stringify(e.claims):"",o=e.secrets.filter(i=>i.until);return t`<tr class=${U(e)?"ended":void 0}><th scope="row"><${b} text=${e.name} max=${100} />
      <div class="quiet"><code>${e.id}</code>${S(e)&&", of this tab"}</div></th>
    <td><${b} text=${e.roles.join(", ")} max=${300} />
      ${e.sub!=="key:"+e.id&&t`<div class="quiet">as <code><${b} text=${e.sub} max=${100} /></code></div>`}
      ${n&&t`<div class="quiet"><code><${b} text=${n} max=${200} /></code></div>`}</td>
    <td>${G(e)}</td><td class="one-line"><${m} text=${e.created} /></td>
    <td class="one-line">${e.lastUsed?t`<${m} text=${e.lastUsed} />`:t`<span class="quiet">never</span>`}</td>
    <td>${e.secrets.length}${o.map(i=>t`<div class="quiet">one until <${m} text=${i.until} /></div>`)}</td>
    <td><div class="actions one-line">${!e.revoked&&t`<button type="button" class="small" aria-label=${`Rotate ${e.name}`} onClick=${()=>a("rotate")}>Rotate</button>`}<button type="button" class="small loss" aria-label=${`${e.revoked?"Forget":"Revoke"} ${e.name}`}
      onClick=${()=>a("revoke")}>${e.revoked?"Forget":"Revoke"}</button></div></td></tr>`}function G(e){return e.revoked?t`revoked <${m} text=${e.revoked} />`:e.expires?U(e)?t`ended <${m} text=${e.expires} />`:t`works until <${m} text=${e.expires} />`:"works, without an end"}function C(e){let[a,n]=p(void 0),o=g(!1);return{send:async l=>{if(!o.current){o.current=!0,n(void 0);try{let{text:s}=await D(l);e(s===""?null:O(T(s)))}catch(s){n(E(s))}o.current=!1}},problem:a}}function Y({first:e,onDone:a,onClose:n}){let{send:o,problem:i}=C(s=>{e&&w(s.key,!1);let c=e?"This tab uses it from now on. A reload asks for it.":void 0;v.value={what:`Key of ${s.name}`,text:s.key,note:c},a(`${s.name} is made.`)});return t`<${k} title="New key" onClose=${n}><form class="form" onSubmit=${s=>{s.preventDefault();let c=new FormData(s.currentTarget),d=h=>String(c.get(h)??"").trim(),r=[...c.getAll("role").map(String),...d("roles").split(/[\s,]+/).filter(Boolean)],u=d("expires")&&new Date(d("expires")+"Z").toISOString();o({method:"POST",path:["_keys"],body:JSON.stringify({name:d("name"),roles:r,...u&&{expires:u},...d("sub")&&{sub:d("sub")}})})}}>
    ${e&&t`<p class="wrong">This is the first key. It closes the store for good: nobody comes in without a key then. It needs the
      role admin.</p>`}
    <label>Name <input name="name" required maxlength="100" data-focus autocomplete="off" spellcheck=${!1} /></label>
    <fieldset><legend>Roles</legend>${B.map(([s,c])=>t`<label><input type="checkbox" name="role" value=${s} defaultChecked=${e&&s==="admin"} /> ${s}
        ${" "}<span class="quiet">${c}</span></label>`)}</fieldset>
    <label>Roles of the model, by commas <input name="roles" autocomplete="off" spellcheck=${!1} /></label>
    <label>Ends at (UTC), never where it is empty <input name="expires" type="datetime-local" /></label>
    <label>Who it is to rules; by itself its id <input name="sub" autocomplete="off" spellcheck=${!1} /></label>
    <${y} problem=${i} />
    <p class="actions"><button type="submit" class="main">Make the key</button> <button type="button" onClick=${n}>Cancel</button></p>
  </form><//>`}var J=[["24h","for a day"],["1h","for an hour"],["168h","for a week"],["0s","not at all: it ends at once"]];function Z({of:e,onDone:a,onClose:n}){let[o,i]=p(J[0][0]),l=S(e)&&o==="0s",{send:s,problem:c}=C(r=>{l&&w(r.key,!1),v.value={what:`New secret of ${e.name}`,text:r.key,note:l?"This tab uses it from now on.":void 0},a(`${e.name} has a new secret.`)}),d=r=>{r.preventDefault(),s({method:"POST",path:["_keys",e.id,"_rotate"],body:JSON.stringify({overlap:o})})};return t`<${k} title=${`Rotate ${e.name}`} onClose=${n}><form class="form" onSubmit=${d}>
    <p>The key gets a new text. Its name, roles and id stay.</p>
    <label>The text before works on <select data-focus value=${o}
      onChange=${r=>i(r.target.value)}>
      ${J.map(([r,u])=>t`<option value=${r}>${u}</option>`)}</select></label>
    <${y} problem=${c} />
    <p class="actions"><button type="submit" class="main">Rotate</button> <button type="button" onClick=${n}>Cancel</button></p>
  </form><//>`}function z({of:e,onDone:a,onClose:n}){let o=e.revoked?"Forget":"Revoke",{send:i,problem:l}=C(()=>a(`${e.name} is ${e.revoked?"forgotten":"revoked"}.`));return t`<${k} title=${`${o} ${e.name}`} onClose=${n}>
    <p>${e.revoked?"Its name and roles go, and histories show its id alone.":"Whoever uses it is refused from now on, on all nodes within a second. Nothing brings it back. Its name stays for the record."}</p>
    ${S(e)&&t`<p class="wrong">This tab uses it, and asks for another one then.</p>`}
    <${F} word=${e.name} go=${o} onGo=${()=>i({method:"DELETE",path:["_keys",e.id]})}>
      <button type="button" data-focus onClick=${n}>Keep it</button><//>
    <${y} problem=${l} />
  <//>`}export{v as a,M as b,oe as c};
