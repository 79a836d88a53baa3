import{d as L}from"./chunk-5MVB55MF.js";import{d as _,e as I}from"./chunk-2CPSNNAE.js";import{$ as P,A as C,C as N,P as $,Z as c,a as g,ba as q,ca as D,fa as E,p as S,v as j}from"./chunk-E7RJ2GXA.js";import{H as M,b as T,e as k,f as O,l as n,n as b}from"./chunk-YLTSUMXM.js";var ce=e=>e.writing.state.phase==="asking"||e.writing.state.phase==="sending"?n`<${z} ...${e} />`:null;function z({title:e,go:t,keep:s,writing:a,careful:i=!1,loses:r=!1,children:d}){let{state:o}=a,[l,m]=T(""),{effects:u,past:w}=o,f=u!==void 0&&(w||u.derived>L),A=u!==void 0&&(!f||l.replace(/[\s,.]/g,"")===String(u.derived)),p=o.phase==="sending",J=h=>{h.preventDefault(),A&&!p&&a.go(f)};return n`<${D} title=${e} closable=${!p} onClose=${a.stop}>
    <form class="preview" onSubmit=${J}>
      <div class="effects" tabindex="0" role="group" aria-label="What it changes">
        <${Y} state=${o} />
        ${u&&n`<${F} effects=${u} own=${o.own}>${d}<//>`}</div>
      ${f&&n`<p>${w?"These are more than the fanout.limit of the model":"These are many changes"}: type their number if they are
          meant. <label>Number of changes <input data-focus autocomplete="off" inputmode="numeric" size="12" value=${l}
          onInput=${h=>m(h.target.value)} /></label></p>`}
      <p class="actions">${u&&n`<button type="submit" class=${r?"main loses":"main"} data-focus=${!i&&!f?"":void 0}
        disabled=${!A} aria-disabled=${p?"true":void 0}>${t}</button>`}
        <button type="button" data-focus=${i&&!f?"":void 0} aria-disabled=${p?"true":void 0}
          onClick=${p?void 0:a.stop}>${s}</button>
        <span role="status" class="quiet">${p&&"Sending it"}</span></p>
      ${o.asked&&n`<${q} asked=${o.asked} />`}
    </form>
  <//>`}function Y({state:{problem:e,again:t,unknown:s},children:a}){let i=e?.kind==="restricted"?X(e):[],r=e&&i.length?V(e):e;return n`<${E} problem=${r}>
    ${s&&n`<p>Nobody knows yet whether it was written. “Try again” sends the very same write, which happens once.</p>`}
    ${i.length>0&&n`<ul aria-label="Restricted by">${i.map(({collection:d,id:o,detail:l})=>n`<li><${v}
      collection=${d} id=${o} /> <${$} text=${l} max=${500} /></li>`)}</ul>`}
    ${a}
    ${t&&n`<button type="button" onClick=${t}>Try again</button>`}<//>`}var V=e=>new S(e.status,{...e.of,problems:void 0},e.headers),X=e=>(Array.isArray(e.of.problems)?e.of.problems:[]).slice(0,100).map(t=>{let[s,...a]=String(t.path).split("/");return{collection:s,id:a.join("/"),detail:String(t.detail??"")}}),y=20,Z=({derived:e,collections:t})=>e===0?"No derived change":c(e)+" derived change"+(e===1?"":"s")+(t.length?": "+t.map(([s,a])=>c(a)+" in "+s).join(", "):"");function F({effects:e,own:t,children:s}){let a=e.writes.slice(1);return n`<${R} title="Deleted with it" writes=${a.filter(i=>i.op==="delete")} />
    <${R} title="Loses its reference" writes=${a.filter(i=>i.op!=="delete")} />
    <div class="columns">${t&&n`<${G} ...${t} />`}<div>
      <p class="sentence"><${$} text=${Z(e)} /></p>
      ${s}
      ${e.rules.length>0&&n`<div class="scroll"><table aria-label="Changes by rule">
      <thead><tr><th scope="col">Rule</th><th scope="col" class="number">Documents</th></tr></thead>
      <tbody>${e.rules.map(([i,r])=>n`<tr key=${i}><td><code><${$} text=${i} max=${200} /></code></td><td
        class="number">${c(r)}</td></tr>`)}</tbody>
    </table></div>`}
      ${e.examples.length>0&&n`<h3>Examples</h3><ul aria-label="Examples" class="examples">${e.examples.map(i=>n`<li>
      <${v} collection=${i.collection} id=${i.id} /> <span class="quiet">by <code><${$} text=${i.rule} max=${200} />
        </code></span>
      <${I} patch=${i.patch} max=${4} /></li>`)}</ul>`}</div></div>`}var x=50;function G({before:e,after:t}){let s=O(()=>e===void 0?[]:M(b(e),b(t)),[e,t]);return n`<section aria-label="This document"><h3>This document</h3>
    ${e===void 0&&n`<p class="quiet">It is new.</p>`}
    ${e!==void 0&&s.length===0&&n`<p class="quiet">Blanks, escapes or the order of members differ.</p>`}
    <ul class="differences">${s.slice(0,x).map(a=>n`<li><${_} ...${a} /></li>`)}</ul>
    ${s.length>x&&n`<p class="quiet">${c(s.length-x)} more</p>`}</section>`}function R({title:e,writes:t}){return t.length===0?null:n`<h3>${e}: ${c(t.length)}</h3><ul aria-label=${e} class="documents ids">
    ${t.slice(0,y).map(s=>n`<li><${v} collection=${s.collection} id=${s.id} /></li>`)}
    ${t.length>y&&n`<li class="quiet">and ${c(t.length-y)} more</li>`}</ul>`}var v=({collection:e,id:t})=>n`<a href=${g([e,t])} target="_blank" rel="noopener"><${$} text=${e+"/"+t} max=${200} /></a>`,K=4096;function de({suggest:e}){if(!e)return null;let t=JSON.stringify(e),s={method:"PATCH",path:["_model"],headers:{"Content-Type":"application/merge-patch+json"},body:t};return n`<div class="suggestion"><p>This part of the model has an index that serves it:</p>
    <pre aria-label="Index in YAML"><${$} text=${B(e)} max=${4e3} /></pre>
    ${N("admin")?t.length<=K?n`<p><a href=${g(["_model"],{suggest:t})}>Add it to the model</a></p>`:n`<p>This command adds it:</p><pre aria-label="Command"><${$} text=${j(s)} max=${8e3} /></pre>`:C.value&&n`<p>Whoever has the role <code>admin</code> can add it.</p>`}</div>`}var Q=/^(?:true|false|null|yes|no|on|off|y|n)$/i,U=/^-?[A-Za-z_][\w.-]*$/,W=e=>U.test(e)&&!Q.test(e)?e:JSON.stringify(e);function B(e,t=""){return Object.entries(e).map(([s,a])=>t+W(s)+":"+(a===null||typeof a!="object"||Array.isArray(a)?" "+H(a)+`
`:`
`+B(a,t+"  "))).join("")}function H(e){return Array.isArray(e)?"["+e.map(H).join(", ")+"]":typeof e=="string"?W(e):JSON.stringify(e)}function ue({label:e,done:t,total:s,unit:a="",left:i,children:r}){let d=s>0?Math.min(1,t/s):void 0,o=s>0?`${Math.floor((d??0)*100)}%: ${c(t)} of ${c(s)}`:t>0?`${c(t)}`:"",l=[o&&[o,a].filter(Boolean).join(" "),i===void 0?"time left not known yet":`about ${P(i)} left`].filter(Boolean).join(", ");return n`<div class="progress"><progress aria-label=${e} max="1" value=${d} /><span>${l}${r}</span></div>`}function $e(e,t,s){let a=k({of:"",done:0,time:0,last:0,lastTime:0}),i=a.current,r=performance.now();i.of!==e||t<i.last?a.current={of:e,done:t,time:r,last:t,lastTime:r}:t>i.last&&Object.assign(i,{last:t,lastTime:r});let{done:d,time:o,last:l,lastTime:m}=a.current;if(s<=0||l<=d||m<=o)return;let u=(s-l)*(m-o)/(l-d)/1e3;return Math.max(0,u-(r-m)/1e3)}export{ce as a,Y as b,V as c,F as d,v as e,K as f,de as g,ue as h,$e as i};
