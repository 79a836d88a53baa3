import{a as _}from"./chunk-XCFNXLWG.js";import{$ as k,F as E,G as g,H as x,I as v,J as S,K as j,L as p,M as F,Ma as f,N,O as q,P as W,R as w,Z as r,a as b,aa as y,ba as P,d as T,ha as $,ia as u,ka as B,m as M,p as z,z as A}from"./chunk-CAK6GB4Q.js";import{N as m,c as D,e as h,h as O,l as t,q as C,r as L,s as c}from"./chunk-JD54O3BL.js";function pe(){let e=E.value,s=e.filter(({phase:i})=>i==="stored"),l=e.some(({phase:i})=>i==="storing"),o=e.filter(({phase:i})=>i==="looked").length,a=h(null),n=e.length>0&&s.length===e.length,d=h(n);return D(()=>{n&&!d.current&&a.current?.focus(),d.current=n},[n]),t`${e.length===0&&t`<p>Nothing was dropped yet.</p>`}
    ${g.value&&t`<p role="status"><${r} text=${g.value} max=${2e3} /></p>`}
    ${e.map(i=>t`<${ee} key=${i.number} one=${i} storing=${l} />`)}
    ${!n&&e.length>0&&t`<p class="actions"><button type="button" class="main" disabled=${!v.value||l} onClick=${N}>
        ${`Import ${u(o||e.length,"file")}`}</button>
      <span role="status" class="quiet">${l?"Storing. Leave this tab open.":v.value?"Nothing is stored yet.":""}</span>
        </p>`}
    ${n&&t`<p role="status" tabindex="-1" ref=${a}>${J(s)}</p>
      ${A("admin")?t`<${Y} key=${s.map(({number:i})=>i).join()} />
        <${V} />`:t`<p>Whoever has the role <code>admin</code> can have a model proposed, and copies compared.</p>`}`}
    ${!l&&t`<${_} title=${e.length>0?"Drop more files here":"Drop your export here"} onFiles=${S} />`}`}var J=e=>`${u(e.reduce((s,l)=>s+l.stored.written,0),"document")} stored, ${u(e.reduce((s,l)=>s+l.stored.refused,0),"line")} refused.`;function K({one:{number:e,reading:s,problem:l},formats:o}){let a=n=>d=>p(e,{[n]:d.target.type==="checkbox"?d.target.checked:d.target.value});return t`<details open=${l!==void 0}><summary>How it is read</summary>
    <form class="query" onSubmit=${n=>n.preventDefault()}>
      <label>Format <select value=${s.from} onChange=${a("from")}><option value="auto">as it looks</option>
        ${Object.entries(o).map(([n,d])=>t`<option value=${n}>${d}</option>`)}</select></label>
      <label>Member with the list of documents <input value=${s.list} autocomplete="off" autocapitalize="off" spellcheck=${!1}
        onInput=${a("list")} /></label>
      <label class="box"><input type="checkbox" checked=${s.keepExtended}
        onChange=${a("keepExtended")} /> Keep values without a JSON form</label>
    </form>
    <p><label>Members with another name, as OLD=NEW, one a line <textarea rows="2" value=${s.rename} autocomplete="off"
      autocapitalize="off" spellcheck=${!1} onInput=${a("rename")} /></label></p>
    <p><label>Members to drop, one a line <textarea rows="2" value=${s.drop} autocomplete="off" autocapitalize="off"
      spellcheck=${!1} onInput=${a("drop")} /></label></p>
  </details>`}var U=2e4;function V(){let{value:e,problem:s,again:l,busy:o}=w(n=>z({path:["_suggest-model"],signal:n}),[]),a=()=>{M.value=e?.text??null,T(b(["_model"],{draft:""}))};return t`<${k} title="Proposed model">
    <${f} problem=${s} again=${l} />
    ${o&&!e&&t`<p role="status">The server looks at a sample of the documents.</p>`}
    ${e&&t`<p>This is a guess from the values. The comments say how often each line holds. Nothing is applied: read it, change it, preview
        it.</p>
      <p class="actions"><button type="button" class="main" onClick=${a}>Open it in the editor</button></p>
      <pre aria-label="Model in YAML"><${r} text=${e.text} max=${U} /></pre>`}
  <//>`}function Y(){let{value:e,problem:s,again:l,busy:o}=w(async a=>await q(a)?W(a):null,[]);return t`<${k} title="Which copies were wrong">
    <${f} problem=${s} again=${l} />
    ${o&&t`<p role="status">What the files brought is compared with what the rules give.</p>`}
    ${e===null&&t`<p>No model applies that derives members. Apply one, and come back here:
      then the files are compared with what its rules give.</p>`}
    ${e&&t`<p role="status" class="foundOf">${Q(e.rules)} ${u(e.documents,"document")} compared.</p>
      <${y} label="Values by rule" head=${["Rule",["Right"],["Wrong"],["Missing"],["Orphaned"],"Note"]}>${e.rules.map(a=>t`<tr key=${a.rule}>
        <td><code><${r} text=${a.rule} max=${200} /></code></td><td class="number">${$(a.right)}</td><td class="number">
          ${$(a.wrong)}</td>
        <td class="number">${$(a.missing)}</td><td class="number">${$(a.orphaned)}</td><td>${X(a)}</td></tr>`)}<//>
      ${e.rules.filter(({examples:a,isNew:n})=>a.length>0&&!n).map(a=>t`<${G} key=${a.rule}
        rule=${a} />`)}
      <p>The store shows what is right. What was
        brought ${x.value?"stays in the documents as they were written":"is dropped"}.
        All differences, not the first 20 of each rule:</p>
      <pre aria-label="All differences">${Z()}</pre>`}
    ${!o&&t`<p class="actions"><button type="button" onClick=${l}>Compare again</button></p>`}
  <//>`}function Z(){let e=new URL("..",document.baseURI).href.replace(/\/$/,"");return x.value?`fanfold drift --out differences.ndjson --server ${e}`:`fanfold import DIRECTORY --drift --dry-run --out differences.ndjson --server ${e}`}function Q(e){let s=e.reduce((l,{wrong:o,orphaned:a,missing:n,isNew:d})=>l+o+a+(d?0:n),0);return s===0?"Every value that was brought is right.":`${u(s,"value")} ${s===1?"was":"were"} not right.`}var X=({frozen:e,isNew:s})=>e?"frozen: not compared":s?"new: no document brought a value":"";function G({rule:e}){let s=o=>o?t`<${r} text=${C(o,2e3)} max=${200} />`:t`<span class="quiet">nothing</span>`,l=(o,a)=>L(c(o,a))??"";return t`<h3><code><${r} text=${e.rule} max=${200} /></code></h3>
    <${y} label=${`Examples of ${e.rule}`} head=${["Kind","Document","Member","Brought","Right"]}>${e.examples.map(o=>t`<tr>
      <td>${l(o,"kind")}</td><td><${P} collection=${l(o,"collection")} id=${l(o,"id")} /></td>
      <td><code><${r} text=${l(o,"path")} max=${200} /></code></td><td>${s(c(o,"brought"))}</td><td>
        ${s(c(o,"right"))}</td></tr>`)}<//>`}var H={json:"JSON",fanfold:"an export of Fanfold",cosmos:"an export of Cosmos DB",mongo:"an export of MongoDB",couch:"an export of CouchDB",firestore:"documents of Firestore"};function ee({one:e,storing:s}){let{file:l,phase:o,found:a,stored:n,problem:d,number:i}=e,R=O(),I=o==="looking"||o==="storing";return t`<section class="moved" aria-labelledby=${R}><h2 id=${R}><${r} text=${l.name} max=${200} /></h2>
    ${I&&t`<p role="status">
      ${o==="looking"?"The server looks at it, and stores nothing":"The server stores it"}: ${B(l.size)}.</p><progress
        aria-label=${`Progress of ${m(l.name.slice(0,200))}`} />`}
    <${f} problem=${d} />
    ${!I&&(n??a)&&t`<${oe} report=${n??a} />`}
    ${o==="looked"&&t`${a&&t`<${te} one=${e} />`}<${K} one=${e} formats=${H} />
      <p class="actions"><button type="button" onClick=${()=>F(i)}>Look again</button></p>`}
    ${o!=="stored"&&!s&&t`<p><button type="button" class="small"
      aria-label=${`Leave it out: ${m(l.name.slice(0,200))}`} onClick=${()=>j(i)}>Leave it out</button></p>`}
  </section>`}function te({one:{number:e,found:s,reading:l}}){return t`<form class="query" onSubmit=${o=>o.preventDefault()}>
    ${(s.proposed||l.collection)&&t`<label>Collection <input required value=${l.collection}
      pattern="[a-zA-Z][a-zA-Z0-9_\\-]*" maxlength="64" autocapitalize="off" autocomplete="off" spellcheck=${!1}
        onInput=${o=>p(e,{collection:o.target.value.trim()})} /></label>`}
    ${s.withoutId>0&&t`<label>Id of the documents <select value=${l.id}
        onChange=${o=>p(e,{id:o.target.value})}>
      <option value="">a new one each</option>${(s.ids??[]).map(o=>t`<option value=${o}>
        ${m(o)}</option>`)}</select></label>`}
  </form>
  ${s.withoutId>0&&!l.id&&t`<p>
    ${u(s.withoutId,"document")} without an id: loaded twice, they are there twice.</p>`}`}function oe({report:e}){let s=Object.entries(e.collections??{}),l=o=>Object.entries(o).map(([a,n])=>`${a} ${$(n)}`).join(", ");return t`<dl>
      <dt>Taken for</dt><dd>${H[e.from]??e.from}</dd>
      <dt>Documents</dt><dd>${$(e.documents)}
        ${s.length>0&&t`: ${s.map(([o,a],n)=>t`${n>0&&", "}${e.dryRun?t`<${r}
          text=${o} />`:t`<a href=${b([o])}><${r} text=${o} /></a>`} ${$(a)}`)}`}
            </dd>
      ${!e.dryRun&&t`<dt>Stored</dt><dd>${$(e.written)}</dd>`}
      ${e.dropped&&t`<dt>Dropped members</dt><dd><${r} text=${l(e.dropped)} max=${2e3} /></dd>`}
      ${e.left&&t`<dt>Left out</dt><dd><${r} text=${l(e.left)} max=${2e3} /></dd>`}
      <dt>Refused lines</dt><dd>${$(e.refused)}</dd>
    </dl>
    ${e.refusals&&t`<ul aria-label="Refused lines" class="mistakes">
        ${e.refusals.map(o=>t`<li>Line ${$(o.line)}: <${r} text=${o.detail} max=${500} />
          </li>`)}
      ${e.refused>e.refusals.length&&t`<li
        class="quiet">and ${$(e.refused-e.refusals.length)} more: <code>fanfold import --errors FILE</code> has all</li>`}
          </ul>`}
    ${!e.done&&t`<div role="alert" class="problem"><strong>It was not read to the end</strong><p><${r}
      text=${e.detail??""} max=${1e3} /></p></div>`}
    ${e.done&&e.folded===!1&&t`<p><${r} text=${e.detail??""} max=${1e3} /></p>`}`}export{Y as Drift,ee as FileToMove,K as HowItIsRead,pe as ImportPage,V as Proposal};
