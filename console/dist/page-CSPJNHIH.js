import{b as ae}from"./chunk-SFCAIICG.js";import{$ as p,F as g,G as Z,H as j,I as q,J as E,K as Q,L as G,M as v,N as z,O as A,Oa as O,P as ee,Q as te,R as oe,T as N,V as ne,a as M,ba as F,ca as k,d as U,da as se,ja as f,ka as b,m as H,ma as ie,n as Y,p as X,z as K}from"./chunk-2RUBGJ57.js";import{N as x,c as R,e as C,h as _,l as a,n as W,q as J,r as V,s as y}from"./chunk-JD54O3BL.js";var m={columns:500,row:8<<20,size:256<<20,path:200},w={bytes:1<<20,rows:100,documents:5,refusals:20},re={text:"text",number:"number",boolean:"true or false",json:"JSON",none:"leave out"},P={",":"comma",";":"semicolon","	":"tab","|":"bar"},h=class extends Error{},I=class{constructor(o=",",t=m.row){this.delimiter=o,this.most=t,this.token=new RegExp(`"|\\r?\\n|[${o}]|\\r|[^"\\r\\n${o}]+`,"y"),this.isFirst=!0,this.waiting="",this.line=this.from=1,this.cells=[],this.state="start",this.cell=this.fault="",this.opened=this.wrong=this.length=0}add(o){let t=this.waiting+(this.isFirst?o.replace(/^\ufeff/,""):o);this.isFirst&&=o==="",this.waiting=t.endsWith("\r")?"\r":"",this.waiting&&(t=t.slice(0,-1));let s=[];for(let n=0;n<t.length;){let i=n;if(this.state==="quoted")n=this.quoted(t,n);else{this.token.lastIndex=n,this.token.test(t),n=this.token.lastIndex;let r=t.slice(i,n);r.endsWith(`
`)?s.push(...this.finish()):this.take(r)}if((this.state!=="start"||this.cells.length>0)&&(this.length+=n-i),!(this.length<=this.most))throw new h(`The row of line ${this.from} is too long, perhaps for a quote in line ${this.opened||this.from} without an end.`)}return s}quoted(o,t){let s=o.indexOf('"',t),n=o.slice(t,s<0?void 0:s);this.cell+=n;for(let i=n.indexOf(`
`);i>=0;i=n.indexOf(`
`,i+1))this.line++;return s>=0&&(this.state="closed"),t+n.length+(s>=0?1:0)}take(o){o===this.delimiter?(this.cells.push(this.cell),this.cell="",this.state="start"):o==='"'&&this.state!=="plain"?(this.state==="closed"?this.cell+='"':this.opened=this.line,this.state="quoted"):(o==='"'&&this.refuse("a quote stands in a cell that does not begin with one",this.line),this.state==="closed"&&this.refuse("text follows a cell in quotes; a quote within quotes is written twice",this.line),this.state="plain",this.cell+=o)}refuse(o,t){this.fault||([this.fault,this.wrong]=[o,t])}finish(){let o=this.cells.length===0&&this.state==="start",t={line:this.fault?this.wrong:this.from,cells:[...this.cells,this.cell],fault:this.fault};return this.from=++this.line,this.cells=[],this.state="start",this.cell=this.fault="",this.opened=this.length=0,o?[]:[t]}end(){return this.state==="quoted"&&this.refuse("the quote that opens in this line is never closed",this.opened),this.finish()}},le={text:JSON.stringify,number:e=>/^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/.test(e)?e:void 0,boolean:e=>/^(?:true|false)$/i.test(e)?e.toLowerCase():void 0,json:e=>{try{return W(e),e.replace(/[\r\n]+/g," ")}catch{return}}},ye={number:"no number as JSON has it",boolean:"neither true nor false",json:"no JSON"};function ve(e){let o=t=>e.every(s=>le[t](s)!==void 0);return e.length===0?"text":o("number")?"number":o("boolean")?"boolean":e.every(t=>/^\s*[{[]/.test(t))&&o("json")?"json":"text"}var L=(e,o)=>e.slice(0,m.path).split(".").map(t=>t.trim().replace(/^_+/,"")).filter(Boolean).join(".")||"column"+(o+1);function ke(e,o){let t=e.map((n,i)=>{let r=o.map(({cells:c})=>c[i]??"").filter(Boolean),l=r.length===o.length&&new Set(r).size===r.length;return{name:n,path:L(n,i),type:ve(r),isID:l&&/^(?:[iI][dD]|.*_[iI][dD]|.*[a-z]Id)$/.test(n)}}),s=t.find(({name:n})=>/^_?id$/i.test(n))??t.find(({isID:n})=>n);return s&&Object.assign(s,{path:"id",type:"text"}),t.map(({isID:n,...i})=>i)}var B=(e,o)=>e.map((t,s)=>s===o?{...t,path:"id",type:"text"}:t.path!=="id"?t:L(t.name,s)==="id"?{...t,path:"id_",type:"none"}:{...t,path:L(t.name,s)});function ce(e){let o=new Map;for(let[t,{name:s,path:n,type:i}]of e.entries()){if(i==="none")continue;let r=n.split(".").map(u=>JSON.stringify(u));if(r.includes('""'))throw new h(`Column ${t+1}, ${s.slice(0,100)}, has no path such as title or address.city.`);let l=r.pop(),c=o;for(let u of r)if(c.has(u)||c.set(u,new Map),c=c.get(u),!(c instanceof Map))break;if(!(c instanceof Map)||c.has(l))throw new h(`Two columns become ${n}, or one is within the other: change a path.`);c.set(l,t)}if(o.size===0)throw new h("Every column is left out.");return o}function ue(e,o,t){let s=[];for(let[n,i]of e){let r=i instanceof Map?ue(i,o,t):t[i];if(r!==""){if(!(i instanceof Map)){let l=le[o[i].type](r);if(l===void 0)throw new h(`column ${o[i].name.slice(0,100)} is ${JSON.stringify(r.slice(0,100))}, ${ye[o[i].type]}`);r=l}s.push(n+":"+r)}}return s.length>0?"{"+s.join(",")+"}":""}function de(e,o,{cells:t,fault:s}){if(s)throw new h(s);if(t.length!==o.length)throw new h(`the row has another number of cells than the header line: ${t.length}, not ${o.length}`);let n=ue(e,o,t);if(n==="")throw new h("the row has no value");return n}function he({columns:e,rows:o}){let t=ce(e),s=[];for(let n of o)try{s.length<w.documents&&s.push(de(t,e,n))}catch(i){if(!(i instanceof h))throw i}return s}async function*pe(e,o){let t=new TextDecoder("utf-8",{fatal:!0,ignoreBOM:!0}),s=e.stream().getReader(),n=i=>{try{return t.decode(i,{stream:i!==void 0})}catch{throw new h("The file is not UTF-8. Save it as UTF-8, or import it by fanfold import --encoding.")}};try{for(;;){o?.throwIfAborted();let{done:i,value:r}=await s.read();if(yield n(r),i)return}}finally{s.cancel().catch(()=>{})}}async function fe(e,o){if(e.size>m.size)throw new h(`The file has more than ${m.size>>20} MiB. Import it by fanfold import.`);let t="";for await(let d of pe(e))if(t+=d,t.length>=w.bytes)break;let s=t.length<w.bytes;t=t.slice(0,w.bytes);let n=d=>{let $=new I(d);return[...$.add(t),...s?$.end():[]]},i=d=>n(d)[0]?.cells??[],r=o??Object.keys(P).find(d=>i(d).length>1)??",",[l,...c]=n(r);if(!l)throw new h(s?"The file has no header line.":"The header line is too long.");if(l.fault)throw new h(`The header line is wrong: ${l.fault}.`);if(l.cells.length>m.columns)throw new h(`The file has more than ${m.columns} columns.`);let u=c.slice(0,w.rows);return{delimiter:r,rows:u,columns:ke(l.cells,u.filter(({fault:d})=>!d))}}async function $e(e,{delimiter:o,columns:t},s){let n=ce(t),i=new I(o),r={parts:[],lines:[],refused:0,refusals:[]},l=!0,c=$=>{let T=[];for(let S of l?$.slice(1):$)try{T.push(de(n,t,S)+`
`),r.lines.push(S.line)}catch(D){if(!(D instanceof h))throw D;++r.refused<=w.refusals&&r.refusals.push({line:S.line,detail:D.message})}l&&=$.length===0,T.length>0&&r.parts.push(new Blob(T))};for await(let $ of pe(e,s))c(i.add($));c(i.end());let{parts:u,...d}=r;return{body:new Blob(u),...d}}function Ze(){let e=Z.value,o=e.filter(({phase:l})=>l==="stored"),t=e.some(({phase:l})=>l==="storing"),s=e.filter(({phase:l})=>l==="looked").length,n=C(null),i=e.length>0&&o.length===e.length,r=C(i);return R(()=>{i&&!r.current&&n.current?.focus(),r.current=i},[i]),a`${e.length===0&&a`<p>Nothing was dropped yet.</p>`}
    ${j.value&&a`<p role="status"><${p} text=${j.value} max=${2e3} /></p>`}
    ${e.map(l=>a`<${je} key=${l.number} one=${l} storing=${t} />`)}
    ${!i&&e.length>0&&a`<p class="actions"><button type="button" class="main" disabled=${!E.value||t} onClick=${ee}>
        ${`Import ${b(s||e.length,"file")}`}</button>
      <span role="status" class="quiet">${t?"Storing. Leave this tab open.":E.value?"Nothing is stored yet.":""}</span>
        </p>`}
    ${i&&a`<p role="status" tabindex="-1" ref=${n}>${Oe(o)}</p>
      ${K("admin")?a`<${Se} key=${o.map(({number:l})=>l).join()} />
        <${Te} />`:a`<p>Whoever has the role <code>admin</code> can have a model proposed, and copies compared.</p>`}`}
    ${!t&&a`<${ae} title=${e.length>0?"Drop more files here":"Drop your export here"} onFiles=${Q} />`}`}var Oe=e=>`${b(e.reduce((o,t)=>o+t.stored.written,0),"document")} stored, ${b(e.reduce((o,t)=>o+t.stored.refused,0),"line")} refused.`;function Ie({one:{number:e,reading:o,problem:t},formats:s}){let n=i=>r=>v(e,{[i]:r.target.type==="checkbox"?r.target.checked:r.target.value});return a`<details open=${t!==void 0}><summary>How it is read</summary>
    <form class="query" onSubmit=${i=>i.preventDefault()}>
      <label>Format <select value=${o.from} onChange=${n("from")}><option value="auto">as it looks</option>
        ${Object.entries(s).map(([i,r])=>a`<option value=${i}>${r}</option>`)}</select></label>
      <label>Member with the list of documents <input value=${o.list} autocomplete="off" autocapitalize="off" spellcheck=${!1}
        onInput=${n("list")} /></label>
      <label class="box"><input type="checkbox" checked=${o.keepExtended}
        onChange=${n("keepExtended")} /> Keep values without a JSON form</label>
    </form>
    <p><label>Members with another name, as OLD=NEW, one a line <textarea rows="2" value=${o.rename} autocomplete="off"
      autocapitalize="off" spellcheck=${!1} onInput=${n("rename")} /></label></p>
    <p><label>Members to drop, one a line <textarea rows="2" value=${o.drop} autocomplete="off" autocapitalize="off"
      spellcheck=${!1} onInput=${n("drop")} /></label></p>
  </details>`}var be=2e4;function Te(){let{value:e,problem:o,again:t,busy:s}=N(i=>X({path:["_suggest-model"],signal:i}),[]),n=()=>{H.value=e?.text??null,U(M(["_model"],{draft:""}))};return a`<${F} title="Proposed model">
    <${O} problem=${o} again=${t} />
    ${s&&!e&&a`<p role="status">The server looks at a sample of the documents.</p>`}
    ${e&&a`<p>This is a guess from the values. The comments say how often each line holds. Nothing is applied: read it, change it, preview
        it.</p>
      <p class="actions"><button type="button" class="main" onClick=${n}>Open it in the editor</button></p>
      <pre aria-label="Model in YAML"><${p} text=${e.text} max=${be} /></pre>`}
  <//>`}function Se(){let{value:e,problem:o,again:t,busy:s}=N(async n=>await te(n)?oe(n):null,[]);return a`<${F} title="Which copies were wrong">
    <${O} problem=${o} again=${t} />
    ${s&&a`<p role="status">What the files brought is compared with what the rules give.</p>`}
    ${e===null&&a`<p>No model applies that derives members. Apply one, and come back here:
      then the files are compared with what its rules give.</p>`}
    ${e&&a`<p role="status" class="foundOf">${Re(e.rules)} ${b(e.documents,"document")} compared.</p>
      <${k} label="Values by rule" head=${["Rule",["Right"],["Wrong"],["Missing"],["Orphaned"],"Note"]}>${e.rules.map(n=>a`<tr key=${n.rule}>
        <td><code><${p} text=${n.rule} max=${200} /></code></td><td class="number">${f(n.right)}</td><td class="number">
          ${f(n.wrong)}</td>
        <td class="number">${f(n.missing)}</td><td class="number">${f(n.orphaned)}</td><td>${Ce(n)}</td></tr>`)}<//>
      ${e.rules.filter(({examples:n,isNew:i})=>n.length>0&&!i).map(n=>a`<${Me} key=${n.rule}
        rule=${n} />`)}
      <p>The store shows what is right. What was
        brought ${q.value?"stays in the documents as they were written":"is dropped"}.
        All differences, not the first 20 of each rule:</p>
      <pre aria-label="All differences">${De()}</pre>`}
    ${!s&&a`<p class="actions"><button type="button" onClick=${t}>Compare again</button></p>`}
  <//>`}function De(){let e=new URL("..",document.baseURI).href.replace(/\/$/,"");return q.value?`fanfold drift --out differences.ndjson --server ${e}`:`fanfold import DIRECTORY --drift --dry-run --out differences.ndjson --server ${e}`}function Re(e){let o=e.reduce((t,{wrong:s,orphaned:n,missing:i,isNew:r})=>t+s+n+(r?0:i),0);return o===0?"Every value that was brought is right.":`${b(o,"value")} ${o===1?"was":"were"} not right.`}var Ce=({frozen:e,isNew:o})=>e?"frozen: not compared":o?"new: no document brought a value":"";function Me({rule:e}){let o=s=>s?a`<${p} text=${J(s,2e3)} max=${200} />`:a`<span class="quiet">nothing</span>`,t=(s,n)=>V(y(s,n))??"";return a`<h3><code><${p} text=${e.rule} max=${200} /></code></h3>
    <${k} label=${`Examples of ${e.rule}`} head=${["Kind","Document","Member","Brought","Right"]}>${e.examples.map(s=>a`<tr>
      <td>${t(s,"kind")}</td><td><${se} collection=${t(s,"collection")} id=${t(s,"id")} /></td>
      <td><code><${p} text=${t(s,"path")} max=${200} /></code></td><td>${o(y(s,"brought"))}</td><td>
        ${o(y(s,"right"))}</td></tr>`)}<//>`}var ge={json:"JSON",fanfold:"an export of Fanfold",cosmos:"an export of Cosmos DB",mongo:"an export of MongoDB",couch:"an export of CouchDB",firestore:"documents of Firestore"};function je({one:e,storing:o}){let{file:t,phase:s,found:n,stored:i,problem:r,table:l,number:c}=e,u=_(),d=s==="looking"||s==="storing";return a`<section class="moved" aria-labelledby=${u}><h2 id=${u}><${p} text=${t.name} max=${200} /></h2>
    ${d&&a`<p role="status">
      ${s==="looking"?"The server looks at it, and stores nothing":"The server stores it"}: ${ie(t.size)}.</p><progress
        aria-label=${`Progress of ${x(t.name.slice(0,200))}`} />`}
    <${O} problem=${r} />
    ${g(t)&&s!=="stored"&&!o&&a`<${qe} one=${e} />`}
    ${!d&&(i??n)&&a`<${Ne} report=${i??n} table=${g(t)} />`}
    ${s==="looked"&&a`${n&&a`<${Ae} one=${e} />`}${!g(t)&&a`<${Ie} one=${e} formats=${ge} />`}
      ${(!g(t)||l)&&a`<p class="actions"><button type="button" onClick=${()=>A(c)}>Look again</button>
          ${l&&!n&&!r&&a`<span role="status" class="quiet">The mapping changed. Look again before you import.</span>`}
        </p>`}`}
    ${s!=="stored"&&!o&&a`<p><button type="button" class="small"
      aria-label=${`Leave it out: ${x(t.name.slice(0,200))}`} onClick=${()=>G(c)}>Leave it out</button></p>`}
  </section>`}var we=e=>e().catch(o=>{throw o instanceof h?new Y(0,{title:"It cannot be read as CSV",detail:o.message}):o}),xe=(e,o,t)=>z(e,{table:t,convert:s=>we(()=>$e(o,t,s))});async function me(e,o,t){try{xe(e,o,await we(()=>fe(o,t))),await A(e)}catch(s){z(e,{problem:ne(s)})}}function qe({one:{number:e,file:o,table:t}}){if(R(()=>{t||me(e,o)},[]),!t)return null;let{columns:s,delimiter:n}=t,i=l=>xe(e,o,{...t,columns:l}),r=s.findIndex(({path:l,type:c})=>l==="id"&&c!=="none");return a`<form class="mapping" onSubmit=${l=>l.preventDefault()}>
    <p class="actions"><label>Separator <select value=${n}
      onChange=${l=>me(e,o,l.target.value)}>
      ${Object.entries(P).map(([l,c])=>a`<option value=${l}>${c}</option>`)}</select></label>
      <label><input type="radio" name=${`id-${e}`} checked=${r<0} onChange=${()=>i(B(s,-1))} />
        No column is the id: each document gets a new one</label></p>
    <${k} label="Mapping" head=${["Column","First value","Becomes","Type","Id"]}>${s.map((l,c)=>a`<${Ee} key=${c} column=${l} i=${c} of=${e}
        first=${t.rows.find(u=>u.cells[c])?.cells[c]??""}
        onChange=${u=>i(s.with(c,{...l,...u}))} onID=${()=>i(B(s,c))} />`)}<//>
    <${ze} table=${t} />
  </form>`}function Ee({column:{name:e,path:o,type:t},i:s,of:n,first:i,onChange:r,onID:l}){let c=o==="id"&&t!=="none",u=x(e.slice(0,100))||`column ${s+1}`;return a`<tr><th scope="row"><${p} text=${e} max=${100} /></th>
    <td class="quiet"><${p} text=${i} max=${60} /></td>
    <td><input aria-label=${`Path of ${u}`} value=${o} disabled=${t==="none"} maxlength=${m.path} autocomplete="off"
      autocapitalize="off" spellcheck=${!1}
      onInput=${d=>r({path:d.target.value.trim()})} /></td>
    <td><select aria-label=${`Type of ${u}`} value=${t}
      onChange=${d=>r({type:d.target.value})}>
      ${Object.entries(re).map(([d,$])=>a`<option value=${d}>${$}</option>`)}</select></td>
    <td><input type="radio" name=${`id-${n}`} aria-label=${`${u} is the id`} checked=${c} onChange=${l} /></td></tr>`}function ze({table:e}){try{let o=he(e);return a`<h3>The first documents</h3><pre aria-label="The first documents" tabindex="0"><${p}
      text=${o.join(`
`)} max=${be} /></pre>`}catch(o){if(!(o instanceof h))throw o;return a`<p role="alert" class="problem"><${p} text=${o.message} /></p>`}}function Ae({one:{number:e,file:o,found:t,reading:s}}){return a`<form class="query" onSubmit=${n=>n.preventDefault()}>
    ${(t.proposed||s.collection)&&a`<label>Collection <input required value=${s.collection}
      pattern="[a-zA-Z][a-zA-Z0-9_\\-]*" maxlength="64" autocapitalize="off" autocomplete="off" spellcheck=${!1}
        onInput=${n=>v(e,{collection:n.target.value.trim()})} /></label>`}
    ${t.withoutId>0&&!g(o)&&a`<label>Id of the documents <select value=${s.id}
        onChange=${n=>v(e,{id:n.target.value})}>
      <option value="">a new one each</option>${(t.ids??[]).map(n=>a`<option value=${n}>
        ${x(n)}</option>`)}</select></label>`}
  </form>
  ${t.withoutId>0&&!s.id&&a`<p>
    ${b(t.withoutId,"document")} without an id: loaded twice, they are there twice.</p>`}`}function Ne({report:e,table:o}){let t=Object.entries(e.collections??{}),s=n=>Object.entries(n).map(([i,r])=>`${i} ${f(r)}`).join(", ");return a`<dl>
      <dt>Taken for</dt><dd>${ge[e.from]??e.from}</dd>
      <dt>Documents</dt><dd>${f(e.documents)}
        ${t.length>0&&a`: ${t.map(([n,i],r)=>a`${r>0&&", "}${e.dryRun?a`<${p}
          text=${n} />`:a`<a href=${M([n])}><${p} text=${n} /></a>`} ${f(i)}`)}`}
            </dd>
      ${!e.dryRun&&a`<dt>Stored</dt><dd>${f(e.written)}</dd>`}
      ${e.dropped&&a`<dt>Dropped members</dt><dd><${p} text=${s(e.dropped)} max=${2e3} /></dd>`}
      ${e.left&&a`<dt>Left out</dt><dd><${p} text=${s(e.left)} max=${2e3} /></dd>`}
      <dt>Refused lines</dt><dd>${f(e.refused)}</dd>
    </dl>
    ${e.refusals&&a`<ul aria-label="Refused lines" class="mistakes">
        ${e.refusals.map(n=>a`<li>Line ${f(n.line)}: <${p} text=${n.detail} max=${500} /></li>`)}
      ${e.refused>e.refusals.length&&a`<li
        class="quiet">and ${f(e.refused-e.refusals.length)} more: <code>fanfold import --errors FILE</code> has all${o&&a`. It takes the mapping as a file, by <code>--mapping</code>`}</li>`}</ul>`}
    ${!e.done&&a`<div role="alert" class="problem"><strong>It was not read to the end</strong><p><${p}
      text=${e.detail??""} max=${1e3} /></p></div>`}
    ${e.done&&e.folded===!1&&a`<p><${p} text=${e.detail??""} max=${1e3} /></p>`}`}export{Se as Drift,je as FileToMove,Ie as HowItIsRead,Ze as ImportPage,Te as Proposal};
