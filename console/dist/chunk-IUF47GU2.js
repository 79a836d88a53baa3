import{d as M,e as N}from"./chunk-IXPAAYGW.js";import{e as C}from"./chunk-2SZUEHJ2.js";import{Aa as D,Da as E,E as v,Ga as O,H as T,N as k,R as S,T as j,b as x,e as w,k as a,oa as d,s as m,v as A,ya as u}from"./chunk-HGW6AYR2.js";var W=e=>e.writing.state.phase==="asking"||e.writing.state.phase==="sending"?a`<${J} ...${e} />`:null;function J({title:e,go:t,keep:n,writing:s,careful:o=!1}){let{state:r}=s,[l,c]=x(""),{effects:i,past:p}=r,$=i!==void 0&&(p||i.derived>M),y=i!==void 0&&(!$||l.replace(/[\s,.]/g,"")===String(i.derived)),h=r.phase==="sending",R=f=>{f.preventDefault(),y&&!h&&s.go($)};return a`<${E} title=${e} closable=${!h} onClose=${s.stop}>
    <form class="preview" onSubmit=${R}>
      ${i&&a`<${Y} effects=${i} />`}
      ${$&&a`<p>${p?"These are more than the fanout.limit of the model":"These are many changes"}: type their number if they are
          meant.</p>
        <p><label>Number of changes <input data-focus autocomplete="off" inputmode="numeric" size="12" value=${l}
          onInput=${f=>c(f.target.value)} /></label></p>`}
      <${L} state=${r} />
      <p class="actions">${i&&a`<button type="submit" class="main" data-focus=${!o&&!$?"":void 0}
        disabled=${!y} aria-disabled=${h?"true":void 0}>${t}</button>`}
        <button type="button" data-focus=${o&&!$?"":void 0} aria-disabled=${h?"true":void 0}
          onClick=${h?void 0:s.stop}>${n}</button>
        <span role="status" class="quiet">${h&&"Sending it"}</span></p>
    </form>
  <//>`}function L({state:{problem:e,again:t,unknown:n},children:s}){let o=e?.kind==="restricted"?B(e):[],r=e&&o.length?z(e):e;return a`<${O} problem=${r}>
    ${n&&a`<p>Nobody knows yet whether it was written. “Try again” sends the very same write, which happens once.</p>`}
    ${o.length>0&&a`<ul aria-label="Restricted by">${o.map(({collection:l,id:c,detail:i})=>a`<li><${g}
      collection=${l} id=${c} /> <${d} text=${i} max=${500} /></li>`)}</ul>`}
    ${s}
    ${t&&a`<button type="button" onClick=${t}>Try again</button>`}<//>`}var z=e=>new T(e.status,{...e.of,problems:void 0},e.headers),B=e=>(Array.isArray(e.of.problems)?e.of.problems:[]).slice(0,100).map(t=>{let[n,...s]=String(t.path).split("/");return{collection:n,id:s.join("/"),detail:String(t.detail??"")}}),b=20,H=({derived:e,collections:t})=>e===0?"No derived change":u(e)+" derived change"+(e===1?"":"s")+(t.length?": "+t.map(([n,s])=>u(s)+" in "+n).join(", "):"");function Y({effects:e}){let t=e.writes.slice(1);return a`<p class="sentence"><${d} text=${H(e)} /></p>
    <${P} title="Deleted with it" writes=${t.filter(n=>n.op==="delete")} />
    <${P} title="Loses its reference" writes=${t.filter(n=>n.op!=="delete")} />
    ${e.rules.length>0&&a`<div class="scroll"><table aria-label="Changes by rule">
      <thead><tr><th scope="col">Rule</th><th scope="col" class="number">Documents</th></tr></thead>
      <tbody>${e.rules.map(([n,s])=>a`<tr key=${n}><td><code><${d} text=${n} max=${200} /></code></td><td
        class="number">${u(s)}</td></tr>`)}</tbody>
    </table></div>`}
    ${e.examples.length>0&&a`<h3>Examples</h3><ul aria-label="Examples" class="examples">${e.examples.map(n=>a`<li>
      <${g} collection=${n.collection} id=${n.id} /> <span class="quiet">by <code><${d} text=${n.rule} max=${200} />
        </code></span>
      <${C} patch=${n.patch} max=${4} /></li>`)}</ul>`}`}function P({title:e,writes:t}){return t.length===0?null:a`<h3>${e}: ${u(t.length)}</h3><ul aria-label=${e} class="documents">
    ${t.slice(0,b).map(n=>a`<li><${g} collection=${n.collection} id=${n.id} /></li>`)}
    ${t.length>b&&a`<li class="quiet">and ${u(t.length-b)} more</li>`}</ul>`}var g=({collection:e,id:t})=>a`<a href=${m([e,t])} target="_blank" rel="noopener"><${d} text=${e+"/"+t} max=${200} /></a>`,K=4096;function ne({suggest:e}){if(!e)return null;let t=JSON.stringify(e),n={method:"PATCH",path:["_model"],headers:{"Content-Type":"application/merge-patch+json"},body:t};return a`<div class="suggestion"><p>This part of the model has an index that serves it:</p>
    <pre aria-label="Index in YAML"><${d} text=${_(e)} max=${4e3} /></pre>
    ${j("admin")?t.length<=K?a`<p><a href=${m(["_model"],{suggest:t})}>Add it to the model</a></p>`:a`<p>This command adds it:</p><pre aria-label="Command"><${d} text=${k(n)} max=${8e3} /></pre>`:S.value&&a`<p>Whoever has the role <code>admin</code> can add it.</p>`}</div>`}var V=/^(?:true|false|null|yes|no|on|off|y|n)$/i,X=/^-?[A-Za-z_][\w.-]*$/,q=e=>X.test(e)&&!V.test(e)?e:JSON.stringify(e);function _(e,t=""){return Object.entries(e).map(([n,s])=>t+q(n)+":"+(s===null||typeof s!="object"||Array.isArray(s)?" "+I(s)+`
`:`
`+_(s,t+"  "))).join("")}function I(e){return Array.isArray(e)?"["+e.map(I).join(", ")+"]":typeof e=="string"?q(e):JSON.stringify(e)}function se({label:e,done:t,total:n,unit:s="",left:o,children:r}){let l=n>0?Math.min(1,t/n):void 0,c=n>0?`${Math.floor((l??0)*100)}%: ${u(t)} of ${u(n)}`:t>0?`${u(t)}`:"",i=[c&&[c,s].filter(Boolean).join(" "),o===void 0?"time left not known yet":`about ${D(o)} left`].filter(Boolean).join(", ");return a`<div class="progress"><progress aria-label=${e} max="1" value=${l} /><span>${i}${r}</span></div>`}function ae(e,t,n){let s=w({of:"",done:0,time:0,last:0,lastTime:0}),o=s.current,r=performance.now();o.of!==e||t<o.last?s.current={of:e,done:t,time:r,last:t,lastTime:r}:t>o.last&&Object.assign(o,{last:t,lastTime:r});let{done:l,time:c,last:i,lastTime:p}=s.current;if(n<=0||i<=l||p<=c)return;let $=(n-i)*(p-c)/(i-l)/1e3;return Math.max(0,$-(r-p)/1e3)}function oe({collection:e,id:t,etag:n}){let s=N({always:!0,onDone:(r,l)=>{let c=m([e]),i=(l?.writes.length??1)-1;v({href:c,what:`${e}/${t} is deleted${i>0?`, and ${i} more written`:""}`,written:r}),A(c)}}),{state:o}=s;return a`<p class="actions"><a class="button" href=${m([e,t],{edit:""})}>Edit</a>
      <button type="button"
        onClick=${()=>s.begin({method:"DELETE",path:[e,t],headers:{"If-Match":n}})}>Delete</button>
      <span role="status" class="quiet">${o.phase==="looking"&&"Looking at what it changes"}</span></p>
    <${W} title="What this delete changes" go="Delete now" keep="Keep it" writing=${s} careful />
    ${o.phase==="idle"&&a`<${L} state=${o} />`}`}export{W as a,L as b,z as c,Y as d,g as e,K as f,ne as g,se as h,ae as i,oe as j};
