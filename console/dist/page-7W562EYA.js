import{b as ae}from"./chunk-SFCAIICG.js";import{$ as p,F as w,G as Z,H as j,I as q,J as E,K as Q,L as G,M as v,N as z,O as A,Oa as O,P as ee,Q as te,R as oe,T as N,V as ne,a as M,ba as F,ca as k,d as U,da as se,ja as f,ka as b,m as H,ma as ie,n as Y,p as X,z as K}from"./chunk-2RUBGJ57.js";import{N as x,c as R,e as C,h as _,l as a,n as W,q as J,r as V,s as y}from"./chunk-JD54O3BL.js";var m={columns:500,row:8<<20,size:256<<20,path:200},g={bytes:1<<20,rows:100,documents:5,refusals:20},re={text:"text",number:"number",boolean:"true or false",json:"JSON",none:"leave out"},P={",":"comma",";":"semicolon","	":"tab","|":"bar"},h=class extends Error{},I=class{constructor(o=",",t=m.row){this.delimiter=o,this.most=t,this.token=new RegExp(`"|\\r?\\n|[${o}]|\\r|[^"\\r\\n${o}]+`,"y"),this.isFirst=!0,this.waiting="",this.line=this.from=1,this.cells=[],this.state="start",this.cell=this.fault="",this.opened=this.wrong=this.length=0}add(o){let t=this.waiting+(this.isFirst?o.replace(/^\ufeff/,""):o);this.isFirst&&=o==="",this.waiting=t.endsWith("\r")?"\r":"",this.waiting&&(t=t.slice(0,-1));let n=[];for(let s=0;s<t.length;){let i=s;if(this.state==="quoted")s=this.quoted(t,s);else{this.token.lastIndex=s,this.token.test(t),s=this.token.lastIndex;let r=t.slice(i,s);r.endsWith(`
`)?n.push(...this.finish()):this.take(r)}if((this.state!=="start"||this.cells.length>0)&&(this.length+=s-i),!(this.length<=this.most))throw new h(`The row of line ${this.from} is too long, perhaps for a quote in line ${this.opened||this.from} without an end.`)}return n}quoted(o,t){let n=o.indexOf('"',t),s=o.slice(t,n<0?void 0:n);this.cell+=s;for(let i=s.indexOf(`
`);i>=0;i=s.indexOf(`
`,i+1))this.line++;return n>=0&&(this.state="closed"),t+s.length+(n>=0?1:0)}take(o){o===this.delimiter?(this.cells.push(this.cell),this.cell="",this.state="start"):o==='"'&&this.state!=="plain"?(this.state==="closed"?this.cell+='"':this.opened=this.line,this.state="quoted"):(o==='"'&&this.refuse("a quote stands in a cell that does not begin with one",this.line),this.state==="closed"&&this.refuse("text follows a cell in quotes; a quote within quotes is written twice",this.line),this.state="plain",this.cell+=o)}refuse(o,t){this.fault||([this.fault,this.wrong]=[o,t])}finish(){let o=this.cells.length===0&&this.state==="start",t={line:this.fault?this.wrong:this.from,cells:[...this.cells,this.cell],fault:this.fault};return this.from=++this.line,this.cells=[],this.state="start",this.cell=this.fault="",this.opened=this.length=0,o?[]:[t]}end(){return this.state==="quoted"&&this.refuse("the quote that opens in this line is never closed",this.opened),this.finish()}},le={text:JSON.stringify,number:e=>/^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/.test(e)?e:void 0,boolean:e=>/^(?:true|false)$/i.test(e)?e.toLowerCase():void 0,json:e=>{try{return W(e),e.replace(/[\r\n]+/g," ")}catch{return}}},ye={number:"no number as JSON has it",boolean:"neither true nor false",json:"no JSON"};function ve(e){let o=t=>e.every(n=>le[t](n)!==void 0);return e.length===0?"text":o("number")?"number":o("boolean")?"boolean":e.every(t=>/^\s*[{[]/.test(t))&&o("json")?"json":"text"}var L=(e,o)=>e.slice(0,m.path).split(".").map(t=>t.trim().replace(/^_+/,"")).filter(Boolean).join(".")||"column"+(o+1);function ke(e,o){let t=e.map((s,i)=>{let r=o.map(({cells:c})=>c[i]??"").filter(Boolean),l=r.length===o.length&&new Set(r).size===r.length;return{name:s,path:L(s,i),type:ve(r),isID:l&&/^(?:[iI][dD]|.*_[iI][dD]|.*[a-z]Id)$/.test(s)}}),n=t.find(({name:s})=>/^_?id$/i.test(s))??t.find(({isID:s})=>s);return n&&Object.assign(n,{path:"id",type:"text"}),t.map(({isID:s,...i})=>i)}var B=(e,o)=>e.map((t,n)=>n===o?{...t,path:"id",type:"text"}:t.path!=="id"?t:L(t.name,n)==="id"?{...t,path:"id_",type:"none"}:{...t,path:L(t.name,n)});function ce(e){let o=new Map;for(let[t,{name:n,path:s,type:i}]of e.entries()){if(i==="none")continue;let r=s.split(".").map(u=>JSON.stringify(u));if(r.includes('""'))throw new h(`Column ${t+1}, ${n.slice(0,100)}, has no path such as title or address.city.`);let l=r.pop(),c=o;for(let u of r)if(c.has(u)||c.set(u,new Map),c=c.get(u),!(c instanceof Map))break;if(!(c instanceof Map)||c.has(l))throw new h(`Two columns become ${s}, or one is within the other: change a path.`);c.set(l,t)}if(o.size===0)throw new h("Every column is left out.");return o}function ue(e,o,t){let n=[];for(let[s,i]of e){let r=i instanceof Map?ue(i,o,t):t[i];if(r!==""){if(!(i instanceof Map)){let l=le[o[i].type](r);if(l===void 0)throw new h(`column ${o[i].name.slice(0,100)} is ${JSON.stringify(r.slice(0,100))}, ${ye[o[i].type]}`);r=l}n.push(s+":"+r)}}return n.length>0?"{"+n.join(",")+"}":""}function de(e,o,{cells:t,fault:n}){if(n)throw new h(n);if(t.length!==o.length)throw new h(`the row has another number of cells than the header line: ${t.length}, not ${o.length}`);let s=ue(e,o,t);if(s==="")throw new h("the row has no value");return s}function he({columns:e,rows:o}){let t=ce(e),n=[];for(let s of o)try{n.length<g.documents&&n.push(de(t,e,s))}catch(i){if(!(i instanceof h))throw i}return n}async function*pe(e,o){let t=new TextDecoder("utf-8",{fatal:!0,ignoreBOM:!0}),n=e.stream().getReader(),s=i=>{try{return t.decode(i,{stream:i!==void 0})}catch{throw new h("The file is not UTF-8. Save it as UTF-8, or import it by fanfold import --encoding.")}};try{for(;;){o?.throwIfAborted();let{done:i,value:r}=await n.read();if(yield s(r),i)return}}finally{n.cancel().catch(()=>{})}}async function fe(e,o){if(e.size>m.size)throw new h(`The file has more than ${m.size>>20} MiB. Import it by fanfold import.`);let t="";for await(let d of pe(e))if(t+=d,t.length>=g.bytes)break;let n=t.length<g.bytes;t=t.slice(0,g.bytes);let s=d=>{let $=new I(d);return[...$.add(t),...n?$.end():[]]},i=d=>s(d)[0]?.cells??[],r=o??Object.keys(P).find(d=>i(d).length>1)??",",[l,...c]=s(r);if(!l)throw new h(n?"The file has no header line.":"The header line is too long.");if(l.fault)throw new h(`The header line is wrong: ${l.fault}.`);if(l.cells.length>m.columns)throw new h(`The file has more than ${m.columns} columns.`);let u=c.slice(0,g.rows);return{delimiter:r,rows:u,columns:ke(l.cells,u.filter(({fault:d})=>!d))}}async function $e(e,{delimiter:o,columns:t},n){let s=ce(t),i=new I(o),r={parts:[],lines:[],refused:0,refusals:[]},l=!0,c=$=>{let T=[];for(let S of l?$.slice(1):$)try{T.push(de(s,t,S)+`
`),r.lines.push(S.line)}catch(D){if(!(D instanceof h))throw D;++r.refused<=g.refusals&&r.refusals.push({line:S.line,detail:D.message})}l&&=$.length===0,T.length>0&&r.parts.push(new Blob(T))};for await(let $ of pe(e,n))c(i.add($));c(i.end());let{parts:u,...d}=r;return{body:new Blob(u),...d}}function Ze(){let e=Z.value,o=e.filter(({phase:l})=>l==="stored"),t=e.some(({phase:l})=>l==="storing"),n=e.filter(({phase:l})=>l==="looked").length,s=C(null),i=e.length>0&&o.length===e.length,r=C(i);return R(()=>{i&&!r.current&&s.current?.focus(),r.current=i},[i]),a`${e.length===0&&a`<p>Nothing was dropped yet.</p>`}
    ${j.value&&a`<p role="status"><${p} text=${j.value} max=${2e3} /></p>`}
    ${e.map(l=>a`<${je} key=${l.number} one=${l} storing=${t} />`)}
    ${!i&&e.length>0&&a`<p class="actions"><button type="button" class="main" disabled=${!E.value||t} onClick=${ee}>
        ${`Import ${b(n||e.length,"file")}`}</button>
      <span role="status" class="quiet">${t?"Storing. Leave this tab open.":E.value?"Nothing is stored yet.":""}</span>
        </p>`}
    ${i&&a`<p role="status" tabindex="-1" ref=${s}>${Oe(o)}</p>
      ${K("admin")?a`<${Se} key=${o.map(({number:l})=>l).join()} />
        <${Te} />`:a`<p>Whoever has the role <code>admin</code> can have a model proposed, and copies compared.</p>`}`}
    ${!t&&a`<${ae} title=${e.length>0?"Drop more files here":"Drop your export here"} onFiles=${Q} />`}`}var Oe=e=>`${b(e.reduce((o,t)=>o+t.stored.written,0),"document")} stored, ${b(e.reduce((o,t)=>o+t.stored.refused,0),"line")} refused.`;function Ie({one:{number:e,reading:o,problem:t},formats:n}){let s=i=>r=>v(e,{[i]:r.target.type==="checkbox"?r.target.checked:r.target.value});return a`<details open=${t!==void 0}><summary>How it is read</summary>
    <form class="query" onSubmit=${i=>i.preventDefault()}>
      <label>Format <select value=${o.from} onChange=${s("from")}><option value="auto">as it looks</option>
        ${Object.entries(n).map(([i,r])=>a`<option value=${i}>${r}</option>`)}</select></label>
      <label>Member with the list of documents <input value=${o.list} autocomplete="off" autocapitalize="off" spellcheck=${!1}
        onInput=${s("list")} /></label>
      <label class="box"><input type="checkbox" checked=${o.keepExtended}
        onChange=${s("keepExtended")} /> Keep values without a JSON form</label>
    </form>
    <p><label>Members with another name, as OLD=NEW, one a line <textarea rows="2" value=${o.rename} autocomplete="off"
      autocapitalize="off" spellcheck=${!1} onInput=${s("rename")} /></label></p>
    <p><label>Members to drop, one a line <textarea rows="2" value=${o.drop} autocomplete="off" autocapitalize="off"
      spellcheck=${!1} onInput=${s("drop")} /></label></p>
  </details>`}var be=2e4;function Te(){let{value:e,problem:o,again:t,busy:n}=N(i=>X({path:["_suggest-model"],signal:i}),[]),s=()=>{H.value=e?.text??null,U(M(["_model"],{draft:""}))};return a`<${F} title="Proposed model">
    <${O} problem=${o} again=${t} />
    ${n&&!e&&a`<p role="status">The server looks at a sample of the documents.</p>`}
    ${e&&a`<p>This is a guess from the values. The comments say how often each line holds. Nothing is applied: read it, change it, preview
        it.</p>
      <p class="actions"><button type="button" class="main" onClick=${s}>Open it in the editor</button></p>
      <pre aria-label="Model in YAML"><${p} text=${e.text} max=${be} /></pre>`}
  <//>`}function Se(){let{value:e,problem:o,again:t,busy:n}=N(async s=>await te(s)?oe(s):null,[]);return a`<${F} title="Which copies were wrong">
    <${O} problem=${o} again=${t} />
    ${n&&a`<p role="status">What the files brought is compared with what the rules give.</p>`}
    ${e===null&&a`<p>No model applies that derives members. Apply one, and come back here:
      then the files are compared with what its rules give.</p>`}
    ${e&&a`<p role="status" class="foundOf">${Re(e.rules)} ${b(e.documents,"document")} compared.</p>
      <${k} label="Values by rule" head=${["Rule",["Right"],["Wrong"],["Missing"],["Orphaned"],"Note"]}>${e.rules.map(s=>a`<tr key=${s.rule}>
        <td><code><${p} text=${s.rule} max=${200} /></code></td><td class="number">${f(s.right)}</td><td class="number">
          ${f(s.wrong)}</td>
        <td class="number">${f(s.missing)}</td><td class="number">${f(s.orphaned)}</td><td>${Ce(s)}</td></tr>`)}<//>
      ${e.rules.filter(({examples:s,isNew:i})=>s.length>0&&!i).map(s=>a`<${Me} key=${s.rule}
        rule=${s} />`)}
      <p>The store shows what is right. What was
        brought ${q.value?"stays in the documents as they were written":"is dropped"}.
        All differences, not the first 20 of each rule:</p>
      <pre aria-label="All differences">${De()}</pre>`}
    ${!n&&a`<p class="actions"><button type="button" onClick=${t}>Compare again</button></p>`}
  <//>`}function De(){let e=new URL("..",document.baseURI).href.replace(/\/$/,"");return q.value?`fanfold drift --out differences.ndjson --server ${e}`:`fanfold import DIRECTORY --drift --dry-run --out differences.ndjson --server ${e}`}function Re(e){let o=e.reduce((t,{wrong:n,orphaned:s,missing:i,isNew:r})=>t+n+s+(r?0:i),0);return o===0?"Every value that was brought is right.":`${b(o,"value")} ${o===1?"was":"were"} not right.`}var Ce=({frozen:e,isNew:o})=>e?"frozen: not compared":o?"new: no document brought a value":"";function Me({rule:e}){let o=n=>n?a`<${p} text=${J(n,2e3)} max=${200} />`:a`<span class="quiet">nothing</span>`,t=(n,s)=>V(y(n,s))??"";return a`<h3><code><${p} text=${e.rule} max=${200} /></code></h3>
    <${k} label=${`Examples of ${e.rule}`} head=${["Kind","Document","Member","Brought","Right"]}>${e.examples.map(n=>a`<tr>
      <td>${t(n,"kind")}</td><td><${se} collection=${t(n,"collection")} id=${t(n,"id")} /></td>
      <td><code><${p} text=${t(n,"path")} max=${200} /></code></td><td>${o(y(n,"brought"))}</td><td>
        ${o(y(n,"right"))}</td></tr>`)}<//>`}var ge={json:"JSON",fanfold:"an export of Fanfold",cosmos:"an export of Cosmos DB",mongo:"an export of MongoDB",couch:"an export of CouchDB",firestore:"documents of Firestore"};function je({one:e,storing:o}){let{file:t,phase:n,found:s,stored:i,problem:r,table:l,number:c}=e,u=_(),d=n==="looking"||n==="storing";return a`<section class="moved" aria-labelledby=${u}><h2 id=${u}><${p} text=${t.name} max=${200} /></h2>
    ${d&&a`<p role="status">
      ${n==="looking"?"The server looks at it, and stores nothing":"The server stores it"}: ${ie(t.size)}.</p><progress
        aria-label=${`Progress of ${x(t.name.slice(0,200))}`} />`}
    <${O} problem=${r} />
    ${w(t)&&n!=="stored"&&!o&&a`<${qe} one=${e} />`}
    ${!d&&(i??s)&&a`<${Ne} report=${i??s} />`}
    ${n==="looked"&&a`${s&&a`<${Ae} one=${e} />`}${!w(t)&&a`<${Ie} one=${e} formats=${ge} />`}
      ${(!w(t)||l)&&a`<p class="actions"><button type="button" onClick=${()=>A(c)}>Look again</button>
          ${l&&!s&&!r&&a`<span role="status" class="quiet">The mapping changed. Look again before you import.</span>`}
        </p>`}`}
    ${n!=="stored"&&!o&&a`<p><button type="button" class="small"
      aria-label=${`Leave it out: ${x(t.name.slice(0,200))}`} onClick=${()=>G(c)}>Leave it out</button></p>`}
  </section>`}var we=e=>e().catch(o=>{throw o instanceof h?new Y(0,{title:"It cannot be read as CSV",detail:o.message}):o}),xe=(e,o,t)=>z(e,{table:t,convert:n=>we(()=>$e(o,t,n))});async function me(e,o,t){try{xe(e,o,await we(()=>fe(o,t))),await A(e)}catch(n){z(e,{problem:ne(n)})}}function qe({one:{number:e,file:o,table:t}}){if(R(()=>{t||me(e,o)},[]),!t)return null;let{columns:n,delimiter:s}=t,i=l=>xe(e,o,{...t,columns:l}),r=n.findIndex(({path:l,type:c})=>l==="id"&&c!=="none");return a`<form class="mapping" onSubmit=${l=>l.preventDefault()}>
    <p class="actions"><label>Separator <select value=${s}
      onChange=${l=>me(e,o,l.target.value)}>
      ${Object.entries(P).map(([l,c])=>a`<option value=${l}>${c}</option>`)}</select></label>
      <label><input type="radio" name=${`id-${e}`} checked=${r<0} onChange=${()=>i(B(n,-1))} />
        No column is the id: each document gets a new one</label></p>
    <${k} label="Mapping" head=${["Column","First value","Becomes","Type","Id"]}>${n.map((l,c)=>a`<${Ee} key=${c} column=${l} i=${c} of=${e}
        first=${t.rows.find(u=>u.cells[c])?.cells[c]??""}
        onChange=${u=>i(n.with(c,{...l,...u}))} onID=${()=>i(B(n,c))} />`)}<//>
    <${ze} table=${t} />
  </form>`}function Ee({column:{name:e,path:o,type:t},i:n,of:s,first:i,onChange:r,onID:l}){let c=o==="id"&&t!=="none",u=x(e.slice(0,100))||`column ${n+1}`;return a`<tr><th scope="row"><${p} text=${e} max=${100} /></th>
    <td class="quiet"><${p} text=${i} max=${60} /></td>
    <td><input aria-label=${`Path of ${u}`} value=${o} disabled=${t==="none"} maxlength=${m.path} autocomplete="off"
      autocapitalize="off" spellcheck=${!1}
      onInput=${d=>r({path:d.target.value.trim()})} /></td>
    <td><select aria-label=${`Type of ${u}`} value=${t}
      onChange=${d=>r({type:d.target.value})}>
      ${Object.entries(re).map(([d,$])=>a`<option value=${d}>${$}</option>`)}</select></td>
    <td><input type="radio" name=${`id-${s}`} aria-label=${`${u} is the id`} checked=${c} onChange=${l} /></td></tr>`}function ze({table:e}){try{let o=he(e);return a`<h3>The first documents</h3><pre aria-label="The first documents" tabindex="0"><${p}
      text=${o.join(`
`)} max=${be} /></pre>`}catch(o){if(!(o instanceof h))throw o;return a`<p role="alert" class="problem"><${p} text=${o.message} /></p>`}}function Ae({one:{number:e,file:o,found:t,reading:n}}){return a`<form class="query" onSubmit=${s=>s.preventDefault()}>
    ${(t.proposed||n.collection)&&a`<label>Collection <input required value=${n.collection}
      pattern="[a-zA-Z][a-zA-Z0-9_\\-]*" maxlength="64" autocapitalize="off" autocomplete="off" spellcheck=${!1}
        onInput=${s=>v(e,{collection:s.target.value.trim()})} /></label>`}
    ${t.withoutId>0&&!w(o)&&a`<label>Id of the documents <select value=${n.id}
        onChange=${s=>v(e,{id:s.target.value})}>
      <option value="">a new one each</option>${(t.ids??[]).map(s=>a`<option value=${s}>
        ${x(s)}</option>`)}</select></label>`}
  </form>
  ${t.withoutId>0&&!n.id&&a`<p>
    ${b(t.withoutId,"document")} without an id: loaded twice, they are there twice.</p>`}`}function Ne({report:e}){let o=Object.entries(e.collections??{}),t=n=>Object.entries(n).map(([s,i])=>`${s} ${f(i)}`).join(", ");return a`<dl>
      <dt>Taken for</dt><dd>${ge[e.from]??e.from}</dd>
      <dt>Documents</dt><dd>${f(e.documents)}
        ${o.length>0&&a`: ${o.map(([n,s],i)=>a`${i>0&&", "}${e.dryRun?a`<${p}
          text=${n} />`:a`<a href=${M([n])}><${p} text=${n} /></a>`} ${f(s)}`)}`}
            </dd>
      ${!e.dryRun&&a`<dt>Stored</dt><dd>${f(e.written)}</dd>`}
      ${e.dropped&&a`<dt>Dropped members</dt><dd><${p} text=${t(e.dropped)} max=${2e3} /></dd>`}
      ${e.left&&a`<dt>Left out</dt><dd><${p} text=${t(e.left)} max=${2e3} /></dd>`}
      <dt>Refused lines</dt><dd>${f(e.refused)}</dd>
    </dl>
    ${e.refusals&&a`<ul aria-label="Refused lines" class="mistakes">
        ${e.refusals.map(n=>a`<li>Line ${f(n.line)}: <${p} text=${n.detail} max=${500} />
          </li>`)}
      ${e.refused>e.refusals.length&&a`<li
        class="quiet">and ${f(e.refused-e.refusals.length)} more: <code>fanfold import --errors FILE</code> has all</li>`}
          </ul>`}
    ${!e.done&&a`<div role="alert" class="problem"><strong>It was not read to the end</strong><p><${p}
      text=${e.detail??""} max=${1e3} /></p></div>`}
    ${e.done&&e.folded===!1&&a`<p><${p} text=${e.detail??""} max=${1e3} /></p>`}`}export{Se as Drift,je as FileToMove,Ie as HowItIsRead,Ze as ImportPage,Te as Proposal};
