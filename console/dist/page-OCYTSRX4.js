import{a as B}from"./chunk-KOJ4EXBX.js";import{C as z,G as g,P as r,R as v,S as x,T as E,Z as d,_ as $,a as f,aa as F,d as L,fa as c,ga as S,ha as w,ia as k,ja as y,ka as j,la as N,ma as p,na as q,o as M,oa as W,pa as P,qa as H,r as A}from"./chunk-E7RJ2GXA.js";import{M as h,c as D,e as b,h as O,l as t,q as C,r as T,s as m}from"./chunk-YLTSUMXM.js";var _={json:"JSON",fanfold:"an export of Fanfold",cosmos:"an export of Cosmos DB",mongo:"an export of MongoDB",couch:"an export of CouchDB",firestore:"documents of Firestore"};function V({one:e,storing:s}){let{file:l,phase:o,found:a,stored:n,problem:u,number:i}=e,I=O(),R=o==="looking"||o==="storing";return t`<section class="moved" aria-labelledby=${I}><h2 id=${I}><${r} text=${l.name} max=${200} /></h2>
    ${R&&t`<p role="status">
      ${o==="looking"?"The server looks at it, and stores nothing":"The server stores it"}: ${F(l.size)}.</p><progress
        aria-label=${`Progress of ${h(l.name.slice(0,200))}`} />`}
    <${c} problem=${u} />
    ${!R&&(n??a)&&t`<${U} report=${n??a} />`}
    ${o==="looked"&&t`${a&&t`<${K} one=${e} />`}<${J} one=${e} formats=${_} />
      <p class="actions"><button type="button" onClick=${()=>q(i)}>Look again</button></p>`}
    ${o!=="stored"&&!s&&t`<p><button type="button" class="small"
      aria-label=${`Leave it out: ${h(l.name.slice(0,200))}`} onClick=${()=>N(i)}>Leave it out</button></p>`}
  </section>`}function K({one:{number:e,found:s,reading:l}}){return t`<form class="query" onSubmit=${o=>o.preventDefault()}>
    ${(s.proposed||l.collection)&&t`<label>Collection <input required value=${l.collection}
      pattern="[a-zA-Z][a-zA-Z0-9_\\-]*" maxlength="64" autocapitalize="off" autocomplete="off" spellcheck=${!1}
        onInput=${o=>p(e,{collection:o.target.value.trim()})} /></label>`}
    ${s.withoutId>0&&t`<label>Id of the documents <select value=${l.id}
        onChange=${o=>p(e,{id:o.target.value})}>
      <option value="">a new one each</option>${(s.ids??[]).map(o=>t`<option value=${o}>
        ${h(o)}</option>`)}</select></label>`}
  </form>
  ${s.withoutId>0&&!l.id&&t`<p>
    ${$(s.withoutId,"document")} without an id: loaded twice, they are there twice.</p>`}`}function U({report:e}){let s=Object.entries(e.collections??{}),l=o=>Object.entries(o).map(([a,n])=>`${a} ${d(n)}`).join(", ");return t`<dl>
      <dt>Taken for</dt><dd>${_[e.from]??e.from}</dd>
      <dt>Documents</dt><dd>${d(e.documents)}
        ${s.length>0&&t`: ${s.map(([o,a],n)=>t`${n>0&&", "}${e.dryRun?t`<${r}
          text=${o} />`:t`<a href=${f([o])}><${r} text=${o} /></a>`} ${d(a)}`)}`}
            </dd>
      ${!e.dryRun&&t`<dt>Stored</dt><dd>${d(e.written)}</dd>`}
      ${e.dropped&&t`<dt>Dropped members</dt><dd><${r} text=${l(e.dropped)} max=${2e3} /></dd>`}
      ${e.left&&t`<dt>Left out</dt><dd><${r} text=${l(e.left)} max=${2e3} /></dd>`}
      <dt>Refused lines</dt><dd>${d(e.refused)}</dd>
    </dl>
    ${e.refusals&&t`<ul aria-label="Refused lines" class="mistakes">
        ${e.refusals.map(o=>t`<li>Line ${d(o.line)}: <${r} text=${o.detail} max=${500} />
          </li>`)}
      ${e.refused>e.refusals.length&&t`<li
        class="quiet">and ${d(e.refused-e.refusals.length)} more: <code>fanfold import --errors FILE</code> has all</li>`}
          </ul>`}
    ${!e.done&&t`<div role="alert" class="problem"><strong>It was not read to the end</strong><p><${r}
      text=${e.detail??""} max=${1e3} /></p></div>`}
    ${e.done&&e.folded===!1&&t`<p><${r} text=${e.detail??""} max=${1e3} /></p>`}`}function we(){let e=S.value,s=e.filter(({phase:i})=>i==="stored"),l=e.some(({phase:i})=>i==="storing"),o=e.filter(({phase:i})=>i==="looked").length,a=b(null),n=e.length>0&&s.length===e.length,u=b(n);return D(()=>{n&&!u.current&&a.current?.focus(),u.current=n},[n]),t`${e.length===0&&t`<p>Nothing was dropped yet.</p>`}
    ${w.value&&t`<p role="status"><${r} text=${w.value} max=${2e3} /></p>`}
    ${e.map(i=>t`<${V} key=${i.number} one=${i} storing=${l} />`)}
    ${!n&&e.length>0&&t`<p class="actions"><button type="button" class="main" disabled=${!y.value||l} onClick=${W}>
        ${`Import ${$(o||e.length,"file")}`}</button>
      <span role="status" class="quiet">${l?"Storing. Leave this tab open.":y.value?"Nothing is stored yet.":""}</span>
        </p>`}
    ${n&&t`<p role="status" tabindex="-1" ref=${a}>${Y(s)}</p>
      ${z("admin")?t`<${X} key=${s.map(({number:i})=>i).join()} />
        <${Q} />`:t`<p>Whoever has the role <code>admin</code> can have a model proposed, and copies compared.</p>`}`}
    ${!l&&t`<${B} title=${e.length>0?"Drop more files here":"Drop your export here"} onFiles=${j} />`}`}var Y=e=>`${$(e.reduce((s,l)=>s+l.stored.written,0),"document")} stored, ${$(e.reduce((s,l)=>s+l.stored.refused,0),"line")} refused.`;function J({one:{number:e,reading:s,problem:l},formats:o}){let a=n=>u=>p(e,{[n]:u.target.type==="checkbox"?u.target.checked:u.target.value});return t`<details open=${l!==void 0}><summary>How it is read</summary>
    <form class="query" onSubmit=${n=>n.preventDefault()}>
      <label>Format <select value=${s.from} onChange=${a("from")}><option value="auto">as it looks</option>
        ${Object.entries(o).map(([n,u])=>t`<option value=${n}>${u}</option>`)}</select></label>
      <label>Member with the list of documents <input value=${s.list} autocomplete="off" autocapitalize="off" spellcheck=${!1}
        onInput=${a("list")} /></label>
      <label class="box"><input type="checkbox" checked=${s.keepExtended}
        onChange=${a("keepExtended")} /> Keep values without a JSON form</label>
    </form>
    <p><label>Members with another name, as OLD=NEW, one a line <textarea rows="2" value=${s.rename} autocomplete="off"
      autocapitalize="off" spellcheck=${!1} onInput=${a("rename")} /></label></p>
    <p><label>Members to drop, one a line <textarea rows="2" value=${s.drop} autocomplete="off" autocapitalize="off"
      spellcheck=${!1} onInput=${a("drop")} /></label></p>
  </details>`}var Z=2e4;function Q(){let{value:e,problem:s,again:l,busy:o}=g(n=>A({path:["_suggest-model"],signal:n}),[]),a=()=>{M.value=e?.text??null,L(f(["_model"],{draft:""}))};return t`<${v} title="Proposed model">
    <${c} problem=${s} again=${l} />
    ${o&&!e&&t`<p role="status">The server looks at a sample of the documents.</p>`}
    ${e&&t`<p>This is a guess from the values. The comments say how often each line holds. Nothing is applied: read it, change it, preview
        it.</p>
      <p class="actions"><button type="button" class="main" onClick=${a}>Open it in the editor</button></p>
      <pre aria-label="Model in YAML"><${r} text=${e.text} max=${Z} /></pre>`}
  <//>`}function X(){let{value:e,problem:s,again:l,busy:o}=g(async a=>await P(a)?H(a):null,[]);return t`<${v} title="Which copies were wrong">
    <${c} problem=${s} again=${l} />
    ${o&&t`<p role="status">What the files brought is compared with what the rules give.</p>`}
    ${e===null&&t`<p>No model applies that derives members. Apply one, and come back here:
      then the files are compared with what its rules give.</p>`}
    ${e&&t`<p role="status" class="foundOf">${ee(e.rules)} ${$(e.documents,"document")} compared.</p>
      <${x} label="Values by rule" head=${["Rule",["Right"],["Wrong"],["Missing"],["Orphaned"],"Note"]}>${e.rules.map(a=>t`<tr key=${a.rule}>
        <td><code><${r} text=${a.rule} max=${200} /></code></td><td class="number">${d(a.right)}</td><td class="number">
          ${d(a.wrong)}</td>
        <td class="number">${d(a.missing)}</td><td class="number">${d(a.orphaned)}</td><td>${te(a)}</td></tr>`)}<//>
      ${e.rules.filter(({examples:a,isNew:n})=>a.length>0&&!n).map(a=>t`<${oe} key=${a.rule}
        rule=${a} />`)}
      <p>The store shows what is right. What was
        brought ${k.value?"stays in the documents as they were written":"is dropped"}.
        All differences, not the first 20 of each rule:</p>
      <pre aria-label="All differences">${G()}</pre>`}
    ${!o&&t`<p class="actions"><button type="button" onClick=${l}>Compare again</button></p>`}
  <//>`}function G(){let e=new URL("..",document.baseURI).href.replace(/\/$/,"");return k.value?`fanfold drift --out differences.ndjson --server ${e}`:`fanfold import DIRECTORY --drift --dry-run --out differences.ndjson --server ${e}`}function ee(e){let s=e.reduce((l,{wrong:o,orphaned:a,missing:n,isNew:u})=>l+o+a+(u?0:n),0);return s===0?"Every value that was brought is right.":`${$(s,"value")} ${s===1?"was":"were"} not right.`}var te=({frozen:e,isNew:s})=>e?"frozen: not compared":s?"new: no document brought a value":"";function oe({rule:e}){let s=o=>o?t`<${r} text=${C(o,2e3)} max=${200} />`:t`<span class="quiet">nothing</span>`,l=(o,a)=>T(m(o,a))??"";return t`<h3><code><${r} text=${e.rule} max=${200} /></code></h3>
    <${x} label=${`Examples of ${e.rule}`} head=${["Kind","Document","Member","Brought","Right"]}>${e.examples.map(o=>t`<tr>
      <td>${l(o,"kind")}</td><td><${E} collection=${l(o,"collection")} id=${l(o,"id")} /></td>
      <td><code><${r} text=${l(o,"path")} max=${200} /></code></td><td>${s(m(o,"brought"))}</td><td>
        ${s(m(o,"right"))}</td></tr>`)}<//>`}export{X as Drift,J as HowItIsRead,we as ImportPage,Q as Proposal};
