import{b as de}from"./chunk-RDXSOL26.js";import{F as w,G as ne,H as A,I as N,J as q,K as se,L as oe,M as O,N as T,O as L,P as ie,Pa as S,Q as ae,R as re,U as F,W as le,a as j,aa as d,ca as P,d as K,da as I,ea as ce,ka as f,la as b,m as Z,n as Q,na as he,p as ee,z as te}from"./chunk-AW476DRL.js";import{N as x,c as z,e as M,h as H,l as r,n as X,q as Y,r as G,s as k}from"./chunk-JD54O3BL.js";var p={columns:500,row:8388608,size:268435456,path:200,ids:2e6},_="Import it by fanfold import.",Re="The file cannot be read. It was changed, moved or taken away since it was chosen: choose it again.",h=class extends Error{},y=class{constructor(n=",",t=p.row){this.delimiter=n,this.most=t,this.token=new RegExp(`"|\\r?\\n|[${n}]|\\r|[^"\\r\\n${n}]+`,"y"),this.isFirst=!0,this.ends="",this.waiting="",this.line=this.from=1,this.cells=[],this.state="start",this.cell=this.fault="",this.opened=this.wrong=this.length=0}add(n){let t=this.waiting+(this.isFirst?n.replace(/^\ufeff/,""):n);this.isFirst&&=n==="",this.waiting=t.endsWith("\r")?"\r":"",this.waiting&&(t=t.slice(0,-1));let o=[];for(let s=0;s<t.length;){let i=s;if(this.state==="quoted")s=this.quoted(t,s);else{this.token.lastIndex=s,this.token.test(t),s=this.token.lastIndex;let a=t.slice(i,s);a.endsWith(`
`)||a==="\r"&&this.ends!==`
`?o.push(...this.finish(a.at(-1))):this.take(a)}if((this.state!=="start"||this.cells.length>0)&&(this.length+=s-i),!(this.length<=this.most))throw new h(`The row of line ${this.from} is too long, perhaps for a quote in line ${this.opened||this.from} without an end.`)}return o}quoted(n,t){let o=n.indexOf('"',t),s=n.slice(t,o<0?void 0:o);this.cell+=s;let i=this.ends==="\r"?"\r":`
`;for(let a=s.indexOf(i);a>=0;a=s.indexOf(i,a+1))this.line++;return o>=0&&(this.state="closed"),t+s.length+(o>=0?1:0)}take(n){n===this.delimiter?(this.cells.push(this.cell),this.cell="",this.state="start"):n==='"'&&this.state!=="plain"?(this.state==="closed"?this.cell+='"':this.opened=this.line,this.state="quoted"):(n==='"'&&this.refuse("a quote stands in a cell that does not begin with one",this.line),this.state==="closed"&&this.refuse("text follows a cell in quotes; a quote within quotes is written twice",this.line),this.state="plain",this.cell+=n)}refuse(n,t){this.fault||([this.fault,this.wrong]=[n,t])}finish(n=""){this.ends||=n;let t=this.cells.length===0&&this.state==="start",o={line:this.fault?this.wrong:this.from,cells:[...this.cells,this.cell],fault:this.fault};return this.from=++this.line,this.cells=[],this.state="start",this.cell=this.fault="",this.opened=this.length=0,t?[]:[o]}end(){return this.state==="quoted"&&this.refuse("the quote that opens in this line is never closed",this.opened),this.finish()}},ue=(e,n)=>n&&!["NotReadableError","NotFoundError"].includes(e?.name)?new h("The file is no whole gzip. Unpack it first."):new h(Re);async function*De(e,n){let[t,o,s]=await e.slice(0,3).arrayBuffer().then(c=>new Uint8Array(c),c=>{throw ue(c,!1)});if(t===40&&o===181&&s===47)throw new h("The file is packed as zstd. Unpack it first, or pack it as gzip.");let i=t===31&&o===139,a=(i?e.stream().pipeThrough(new DecompressionStream("gzip")):e.stream()).getReader(),l=0;try{for(;;){n?.throwIfAborted();let{done:c,value:u}=await a.read();if(c)return;if(l+=u.length,l>p.size)throw new h(`The file has more than ${p.size>>20} MiB${i?" unpacked":""}. ${_}`);yield u}}catch(c){throw n?.aborted||c instanceof h?c:ue(c,i)}finally{a.cancel().catch(()=>{})}}function Ee([e,n]){let t=e===255&&n===254?"utf-16le":e===254&&n===255?"utf-16be":"utf-8";return new TextDecoder(t,{fatal:!0,ignoreBOM:!0})}async function*B(e,n){let t,o=s=>{try{return t?.decode(s,{stream:s!==void 0})??""}catch{throw new h("The file is not UTF-8. Save it as UTF-8, or import it by fanfold import --encoding.")}};for await(let s of De(e,n))t??=Ee(s),yield o(s);yield o(void 0)}var R=class{constructor(){this.length=0,this.next=0,this.runs=[]}push(n){n!==this.next&&this.runs.push({from:this.length,line:n}),this.next=n+1,this.length++}at(n){let t=n<this.length?this.runs.findLast(({from:o})=>o<=n):void 0;return t&&t.line+n-t.from}};var g={bytes:1<<20,rows:100,documents:5,refusals:20},$e={text:"text",number:"number",boolean:"true or false",json:"JSON",none:"leave out"},J={",":"comma",";":"semicolon","	":"tab","|":"bar"},me={text:JSON.stringify,number:e=>/^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/.test(e)?e:void 0,boolean:e=>/^(?:true|false)$/i.test(e)?e.toLowerCase():void 0,json:e=>{try{return X(e),e.replace(/[\r\n]+/g," ")}catch{return}}},Ce={number:"no number as JSON has it",boolean:"neither true nor false",json:"no JSON"};function ze(e){let n=t=>e.every(o=>me[t](o)!==void 0);return e.length===0?"text":n("number")?"number":n("boolean")?"boolean":e.every(t=>/^\s*[{[]/.test(t))&&n("json")?"json":"text"}var U=(e,n)=>e.slice(0,p.path).split(".").map(t=>t.trim().replace(/^_+/,"")).filter(Boolean).join(".")||"column"+(n+1);function Me(e,n){let t=e.map((s,i)=>{let a=n.map(({cells:c})=>c[i]??"").filter(Boolean),l=a.length===n.length&&new Set(a).size===a.length;return{name:s,path:U(s,i),type:ze(a),isID:l&&/^(?:[iI][dD]|.*_[iI][dD]|.*[a-z]Id)$/.test(s)}}),o=t.find(({name:s})=>/^_?id$/i.test(s))??t.find(({isID:s})=>s);return o&&Object.assign(o,{path:"id",type:"text"}),t.map(({isID:s,...i})=>i)}var V=(e,n)=>e.map((t,o)=>o===n?{...t,path:"id",type:"text"}:t.path!=="id"?t:U(t.name,o)==="id"?{...t,path:"id_",type:"none"}:{...t,path:U(t.name,o)}),D=({path:e,type:n})=>e.trim()==="id"&&n!=="none";function be(e){let n=new Map;for(let[t,{name:o,path:s,type:i}]of e.entries()){if(i==="none")continue;let a=s.split(".").map(u=>JSON.stringify(u.trim()));if(a.includes('""'))throw new h(`Column ${t+1}, ${o.slice(0,100)}, has no path such as title or address.city.`);let l=a.pop(),c=n;for(let u of a)if(c.has(u)||c.set(u,new Map),c=c.get(u),!(c instanceof Map))break;if(!(c instanceof Map)||c.has(l))throw new h(`Two columns become ${s}, or one is within the other: change a path.`);c.set(l,t)}if(n.size===0)throw new h("Every column is left out.");return n}function we(e,n,t){let o=[];for(let[s,i]of e){let a=i instanceof Map?we(i,n,t):t[i];if(a!==""){if(!(i instanceof Map)){let l=me[n[i].type](a);if(l===void 0)throw new h(`column ${n[i].name.slice(0,100)} is ${JSON.stringify(a.slice(0,100))}, ${Ce[n[i].type]}`);a=l}o.push(s+":"+a)}}return o.length>0?"{"+o.join(",")+"}":""}function ge(e,n,{cells:t,fault:o}){if(o)throw new h(o);if(t.length!==n.length)throw new h(`the row has another number of cells than the header line: ${t.length}, not ${n.length}`);let s=we(e,n,t);if(s==="")throw new h("the row has no value");return s}function xe({columns:e,rows:n}){let t=be(e),o=[];for(let s of n)try{o.length<g.documents&&o.push(ge(t,e,s))}catch(i){if(!(i instanceof h))throw i}return o}function fe(e,n,t,o){let s=new y(t),i=[];for(let a=0;a<e.length;a+=pe)if(i.push(...s.add(e.slice(a,a+pe))),i.length>=o)return i.slice(0,o);return n?[...i,...s.end()].slice(0,o):i}var pe=4096;function je(e){let n={by:",",cells:1};for(let t of Object.keys(J)){let o=e(t),s=o?.fault?0:o?.cells.length??0;s>n.cells&&(n={by:t,cells:s})}return n.by}async function ye(e,n){if(e.size>p.size)throw new h(`The file has more than ${p.size>>20} MiB. ${_}`);let t="";for await(let c of B(e))if(t+=c,t.length>=g.bytes)break;let o=t.length<g.bytes;t=t.slice(0,g.bytes);let s=n??je(c=>fe(t,o,c,1)[0]),[i,...a]=fe(t,o,s,1+g.rows);if(!i)throw new h(o?"The file has no header line.":"The header line is too long.");if(i.fault)throw new h(`The header line is wrong: ${i.fault}.`);if(i.cells.some(c=>c.includes("\0")))throw new h("The header line has zero bytes, perhaps of UTF-16 without a mark. Save the file as UTF-8.");if(i.cells.length>p.columns)throw new h(`The file has more than ${p.columns} columns.`);let l=a.filter(({fault:c})=>!c);return{delimiter:s,rows:a,columns:Me(i.cells,l)}}var W=class{constructor(n,t=p.ids){this.column=n,this.most=t,this.known=new Set,this.repeated=0,this.first=0}told(){if(this.repeated===0)return"";let[n,t]=[this.repeated,this.first].map(o=>o.toLocaleString("en"));return`${n}, the first is line ${t}: of documents with the same id the last one stays`}add({cells:n,line:t}){let o=n[this.column];o&&(this.known.has(o)?this.repeated++===0&&(this.first=t):this.known.size<this.most&&this.known.add(o))}};async function ve(e,{delimiter:n,columns:t},o){let s=be(t),i=new y(n),a={lines:new R,refused:0,refusals:[]},l=new W(t.findIndex(D)),c=[],u=!0,$=m=>{let E=[];for(let v of u?m.slice(1):m)try{E.push(ge(s,t,v)+`
`),a.lines.push(v.line),l.add(v)}catch(C){if(!(C instanceof h))throw C;++a.refused<=g.refusals&&a.refusals.push({line:v.line,detail:C.message})}u&&=m.length===0,E.length>0&&c.push(new Blob([E.join("")]))};for await(let m of B(e,o))$(i.add(m));return $(i.end()),{body:new Blob(c),repeated:l.told(),...a}}function ut(){let e=ne.value,n=e.filter(({phase:l})=>l==="stored"),t=e.some(({phase:l})=>l==="storing"),o=e.filter(({phase:l})=>l==="looked").length,s=M(null),i=e.length>0&&n.length===e.length,a=M(i);return z(()=>{i&&!a.current&&s.current?.focus(),a.current=i},[i]),r`${e.length===0&&r`<p>Nothing was dropped yet.</p>`}
    ${A.value&&r`<p role="status"><${d} text=${A.value} max=${2e3} /></p>`}
    ${e.map(l=>r`<${We} key=${l.number} one=${l} storing=${t} />`)}
    ${!i&&e.length>0&&r`<p class="actions"><button type="button" class="main" disabled=${!q.value||t} onClick=${ie}>
        ${`Import ${b(o||e.length,"file")}`}</button>
      <span role="status" class="quiet">${t?"Storing. Leave this tab open.":q.value?Ae(e):""}</span>
        </p>`}
    ${i&&r`<p role="status" tabindex="-1" ref=${s}>${Ne(n)}</p>
      ${te("admin")?r`<${Fe} key=${n.map(({number:l})=>l).join()} />
        <${Le} />`:r`<p>Whoever has the role <code>admin</code> can have a model proposed, and copies compared.</p>`}`}
    ${!t&&r`<${de} title=${e.length>0?"Drop more files here":"Drop your export here"} onFiles=${se} />`}`}var Ae=e=>e.some(({stored:n,problem:t})=>n||t)?"Not all is stored.":"Nothing is stored yet.";function Ne(e){let n=t=>e.reduce((o,s)=>o+s.stored[t],0);return`${b(n("written"),"document")} stored, ${b(n("refused"),"line")} refused.`}function qe({one:{number:e,reading:n,problem:t},formats:o}){let s=i=>a=>O(e,{[i]:a.target.type==="checkbox"?a.target.checked:a.target.value});return r`<details open=${t!==void 0}><summary>How it is read</summary>
    <form class="query" onSubmit=${i=>i.preventDefault()}>
      <label>Format <select value=${n.from} onChange=${s("from")}><option value="auto">as it looks</option>
        ${Object.entries(o).map(([i,a])=>r`<option value=${i}>${a}</option>`)}</select></label>
      <label>Member with the list of documents <input value=${n.list} autocomplete="off" autocapitalize="off" spellcheck=${!1}
        onInput=${s("list")} /></label>
      <label class="box"><input type="checkbox" checked=${n.keepExtended}
        onChange=${s("keepExtended")} /> Keep values without a JSON form</label>
    </form>
    <p><label>Members with another name, as OLD=NEW, one a line <textarea rows="2" value=${n.rename} autocomplete="off"
      autocapitalize="off" spellcheck=${!1} onInput=${s("rename")} /></label></p>
    <p><label>Members to drop, one a line <textarea rows="2" value=${n.drop} autocomplete="off" autocapitalize="off"
      spellcheck=${!1} onInput=${s("drop")} /></label></p>
  </details>`}var Oe=2e4;function Le(){let{value:e,problem:n,again:t,busy:o}=F(i=>ee({path:["_suggest-model"],signal:i}),[]),s=()=>{Z.value=e?.text??null,K(j(["_model"],{draft:""}))};return r`<${P} title="Proposed model">
    <${S} problem=${n} again=${t} />
    ${o&&!e&&r`<p role="status">The server looks at a sample of the documents.</p>`}
    ${e&&r`<p>This is a guess from the values. The comments say how often each line holds. Nothing is applied: read it, change it, preview
        it.</p>
      <p class="actions"><button type="button" class="main" onClick=${s}>Open it in the editor</button></p>
      <pre aria-label="Model in YAML"><${d} text=${e.text} max=${Oe} /></pre>`}
  <//>`}function Fe(){let{value:e,problem:n,again:t,busy:o}=F(async s=>await ae(s)?re(s):null,[]);return r`<${P} title="Which copies were wrong">
    <${S} problem=${n} again=${t} />
    ${o&&r`<p role="status">What the files brought is compared with what the rules give.</p>`}
    ${e===null&&r`<p>No model applies that derives members. Apply one, and come back here:
      then the files are compared with what its rules give.</p>`}
    ${e&&r`<p role="status" class="foundOf">${_e(e.rules)} ${b(e.documents,"document")} compared.</p>
      <${I} label="Values by rule" head=${["Rule",["Right"],["Wrong"],["Missing"],["Orphaned"],"Note"]}>${e.rules.map(s=>r`<tr key=${s.rule}>
        <td><code><${d} text=${s.rule} max=${200} /></code></td><td class="number">${f(s.right)}</td><td class="number">
          ${f(s.wrong)}</td>
        <td class="number">${f(s.missing)}</td><td class="number">${f(s.orphaned)}</td><td>${Be(s)}</td></tr>`)}<//>
      ${e.rules.filter(({examples:s,isNew:i})=>s.length>0&&!i).map(s=>r`<${Ue} key=${s.rule}
        rule=${s} />`)}
      <p>The store shows what is right. What was
        brought ${N.value?"stays in the documents as they were written":"is dropped"}.
        All differences, not the first 20 of each rule:</p>
      <pre aria-label="All differences">${Pe()}</pre>`}
    ${!o&&r`<p class="actions"><button type="button" onClick=${t}>Compare again</button></p>`}
  <//>`}function Pe(){let e=new URL("..",document.baseURI).href.replace(/\/$/,"");return N.value?`fanfold drift --out differences.ndjson --server ${e}`:`fanfold import DIRECTORY --drift --dry-run --out differences.ndjson --server ${e}`}function _e(e){let n=e.reduce((t,{wrong:o,orphaned:s,missing:i,isNew:a})=>t+o+s+(a?0:i),0);return n===0?"Every value that was brought is right.":`${b(n,"value")} ${n===1?"was":"were"} not right.`}var Be=({frozen:e,isNew:n})=>e?"frozen: not compared":n?"new: no document brought a value":"";function Ue({rule:e}){let n=o=>o?r`<${d} text=${Y(o,2e3)} max=${200} />`:r`<span class="quiet">nothing</span>`,t=(o,s)=>G(k(o,s))??"";return r`<h3><code><${d} text=${e.rule} max=${200} /></code></h3>
    <${I} label=${`Examples of ${e.rule}`} head=${["Kind","Document","Member","Brought","Right"]}>${e.examples.map(o=>r`<tr>
      <td>${t(o,"kind")}</td><td><${ce} collection=${t(o,"collection")} id=${t(o,"id")} /></td>
      <td><code><${d} text=${t(o,"path")} max=${200} /></code></td><td>${n(k(o,"brought"))}</td><td>
        ${n(k(o,"right"))}</td></tr>`)}<//>`}var Te={json:"JSON",fanfold:"an export of Fanfold",cosmos:"an export of Cosmos DB",mongo:"an export of MongoDB",couch:"an export of CouchDB",firestore:"documents of Firestore"};function We({one:e,storing:n}){let{file:t,phase:o,found:s,stored:i,problem:a,table:l,number:c}=e,u=H(),$=o==="looking"||o==="storing";return r`<section class="moved" aria-labelledby=${u}><h2 id=${u}><${d} text=${t.name} max=${200} /></h2>
    ${$&&r`<p role="status">
      ${o==="looking"?"The server looks at it, and stores nothing":"The server stores it"}: ${he(t.size)}.</p><progress
        aria-label=${`Progress of ${x(t.name.slice(0,200))}`} />`}
    <${S} problem=${a} />
    ${w(t)&&o!=="stored"&&!n&&r`<${Je} one=${e} />`}
    ${!$&&(i??s)&&r`<${Ye} report=${i??s} table=${w(t)} />`}
    ${o==="looked"&&r`${s&&r`<${Xe} one=${e} />`}${!w(t)&&r`<${qe} one=${e} formats=${Te} />`}
      ${(!w(t)||l)&&r`<p class="actions"><button type="button" onClick=${()=>L(c)}>Look again</button>
          ${l&&!s&&!a&&r`<span role="status" class="quiet">The mapping changed. Look again before you import.</span>`}
        </p>`}`}
    ${o!=="stored"&&!n&&r`<p><button type="button" class="small"
      aria-label=${`Leave it out: ${x(t.name.slice(0,200))}`} onClick=${()=>oe(c)}>Leave it out</button></p>`}
  </section>`}var Ie=e=>e().catch(n=>{throw n instanceof h?new Q(0,{title:"It cannot be read as CSV",detail:n.message}):n}),Se=(e,n,t)=>T(e,{table:t,convert:o=>Ie(()=>ve(n,t,o))});async function ke(e,n,t){try{T(e,{phase:"looking"}),Se(e,n,await Ie(()=>ye(n,t))),await L(e)}catch(o){T(e,{problem:le(o)})}}function Je({one:{number:e,file:n,table:t}}){if(z(()=>{t||ke(e,n)},[]),!t)return null;let{columns:o,delimiter:s}=t,i=a=>Se(e,n,{...t,columns:a});return r`<form class="mapping" onSubmit=${a=>a.preventDefault()}>
    <p class="actions"><label>Separator <select value=${s}
      onChange=${a=>ke(e,n,a.target.value)}>
      ${Object.entries(J).map(([a,l])=>r`<option value=${a}>${l}</option>`)}</select></label>
      <label><input type="radio" name=${`id-${e}`} checked=${!o.some(D)} onChange=${()=>i(V(o,-1))} />
        No column is the id: each document gets a new one</label></p>
    <${I} label="Mapping" head=${["Column","First value","Becomes","Type","Id"]}>${o.map((a,l)=>r`<${Ve} key=${l} column=${a} i=${l} of=${e}
        first=${t.rows.find(c=>c.cells[l])?.cells[l]??""}
        onChange=${c=>i(o.with(l,{...a,...c}))} onID=${()=>i(V(o,l))} />`)}<//>
    <${He} table=${t} />
  </form>`}function Ve({column:e,i:n,of:t,first:o,onChange:s,onID:i}){let{name:a,path:l,type:c}=e,u=x(a.slice(0,100))||`column ${n+1}`;return r`<tr><th scope="row"><${d} text=${a} max=${100} /></th>
    <td class="quiet"><${d} text=${o} max=${60} /></td>
    <td><input aria-label=${`Path of ${u}`} value=${l} disabled=${c==="none"} maxlength=${p.path} autocomplete="off"
      autocapitalize="off" spellcheck=${!1}
      onInput=${$=>s({path:$.target.value})} /></td>
    <td><select aria-label=${`Type of ${u}`} value=${c}
      onChange=${$=>s({type:$.target.value})}>
      ${Object.entries($e).map(([$,m])=>r`<option value=${$}>${m}</option>`)}</select></td>
    <td><input type="radio" name=${`id-${t}`} aria-label=${`${u} is the id`} checked=${D(e)} onChange=${i} /></td></tr>`}function He({table:e}){try{return r`<h3>The first documents</h3><pre aria-label="The first documents" tabindex="0"><${d}
      text=${xe(e).join(`
`)} max=${Oe} /></pre>`}catch(n){if(!(n instanceof h))throw n;return r`<p role="alert" class="problem"><${d} text=${n.message} /></p>`}}function Xe({one:{number:e,file:n,found:t,reading:o}}){return r`<form class="query" onSubmit=${s=>s.preventDefault()}>
    ${(t.proposed||o.collection)&&r`<label>Collection <input required value=${o.collection}
      pattern="[a-zA-Z][a-zA-Z0-9_\\-]*" maxlength="64" autocapitalize="off" autocomplete="off" spellcheck=${!1}
        onInput=${s=>O(e,{collection:s.target.value.trim()})} /></label>`}
    ${t.withoutId>0&&!w(n)&&r`<label>Id of the documents <select value=${o.id}
        onChange=${s=>O(e,{id:s.target.value})}>
      <option value="">a new one each</option>${(t.ids??[]).map(s=>r`<option value=${s}>
        ${x(s)}</option>`)}</select></label>`}
  </form>
  ${t.withoutId>0&&!o.id&&r`<p>
    ${b(t.withoutId,"document")} without an id: loaded twice, they are there twice.</p>`}`}function Ye({report:e,table:n}){let t=Object.entries(e.collections??{}),o=s=>Object.entries(s).map(([i,a])=>`${i} ${f(a)}`).join(", ");return r`<dl>
      <dt>Taken for</dt><dd>${Te[e.from]??e.from}</dd>
      <dt>Documents</dt><dd>${f(e.documents)}
        ${t.length>0&&r`: ${t.map(([s,i],a)=>r`${a>0&&", "}${e.dryRun?r`<${d}
          text=${s} />`:r`<a href=${j([s])}><${d} text=${s} /></a>`} ${f(i)}`)}`}
            </dd>
      ${!e.dryRun&&r`<dt>Stored</dt><dd>${f(e.written)}</dd>`}
      ${e.dropped&&r`<dt>Dropped members</dt><dd><${d} text=${o(e.dropped)} max=${2e3} /></dd>`}
      ${e.left&&r`<dt>Left out</dt><dd><${d} text=${o(e.left)} max=${2e3} /></dd>`}
      <dt>Refused lines</dt><dd>${f(e.refused)}</dd>
      ${e.repeated&&r`<dt>Lines with an earlier id</dt><dd>${e.repeated}</dd>`}
    </dl>
    ${e.refusals&&r`<ul aria-label="Refused lines" class="mistakes">
        ${e.refusals.map(s=>r`<li>Line ${f(s.line)}: <${d} text=${s.detail} max=${500} /></li>`)}
      ${e.refused>e.refusals.length&&r`<li
        class="quiet">and ${f(e.refused-e.refusals.length)} more: <code>fanfold import --errors FILE</code> has all${n&&r`. It takes the mapping as a file, by <code>--mapping</code>`}</li>`}</ul>`}
    ${!e.done&&r`<div role="alert" class="problem"><strong>It was not read to the end</strong><p><${d}
      text=${e.detail??""} max=${1e3} /></p></div>`}
    ${e.done&&e.folded===!1&&r`<p><${d} text=${e.detail??""} max=${1e3} /></p>`}`}export{Fe as Drift,We as FileToMove,qe as HowItIsRead,ut as ImportPage,Le as Proposal};
