import{c as B,d as x}from"./chunk-D5536E2Z.js";import{a as H}from"./chunk-U37FMEAT.js";import{a as z,b as Q}from"./chunk-EM3OEODN.js";import{e as K}from"./chunk-SAIG3XQC.js";import{a as J,d as M,e as _}from"./chunk-LF2RQJXF.js";import{G as y,O as F,P as U,Q as k,T as O,_ as V,a as S,ba as j,d as E,fa as G,m as I,p as C,r as w}from"./chunk-MNRX4NBN.js";import{H as R,b as g,e as W,h as A,l as s,r as q,s as f,t as D,u as P}from"./chunk-YLTSUMXM.js";var v=50;function Y({collection:o,id:t,at:e}){let[r,a]=g(v),{value:n,problem:c,again:m}=y(async i=>R(...await Promise.all([N([o,t],e,i),N([o,t],null,i)])),[e]);return s`<section aria-label="Compared with now" class="compared">
    <${x} place=${{parts:[o,t],params:new URLSearchParams({at:e})}} problem=${c} again=${m} />
    ${n?.length===0&&s`<p role="status">Nothing differs from now.</p>`}
    ${n?.slice(0,r).map(i=>s`<${M} ...${i} />`)}
    ${n&&n.length>r&&s`<button type="button" class="small"
      onClick=${()=>a(r+v)}>Show ${v} more</button>`}
  </section>`}async function N(o,t,e){try{return await P((await w({path:o,query:{at:t},signal:e})).text,e)}catch(r){if(t===null&&r instanceof C&&r.status===404)return;throw r}}function Z({path:o,versions:t}){let e=t.toReversed(),r=e.length-1,[a,n]=g([r-1,r]),[c,m]=a.map(u=>Math.max(0,Math.min(u,r))),i=u=>n([c+u,m+u]),p=u=>l=>{let $=Number(l.target.value);n(u===0?[$,Math.max($,m)]:[Math.min(c,$),$])},h=(u,l,$)=>s`<label class="version-at">
      <span class="quiet">${u}</span> <input type="range" min="0" max=${r} value=${$} onInput=${p(l)}
        aria-valuetext=${`version ${$+1} of ${r+1}, ${e[$].op} of ${F(new Date(e[$].time))}`} />
      <span><strong>${e[$].op}</strong> <${k} text=${e[$].time} position=${e[$].seq} /></span></label>`;return s`<section aria-label="Compare versions" class="slider">
    ${h("From",0,c)}${h("To",1,m)}
    <p class="actions"><button type="button" class="small" disabled=${c===0} onClick=${()=>i(-1)}>Step back</button>
      <button type="button" class="small" disabled=${m===r} onClick=${()=>i(1)}>Step forward</button></p>
    <${se} path=${o} from=${e[c]} to=${e[m]} /></section>`}function se({path:o,from:t,to:e}){let[r,a]=g(v),{value:n,problem:c,again:m,busy:i}=y(async p=>R(...await Promise.all([X(o,t,p),X(o,e,p)])),[t.seq,e.seq]);return s`<section aria-label="Difference" aria-busy=${i?"true":void 0} class=${i?"compared stale":"compared"}>
    <${x} place=${{parts:o,params:new URLSearchParams({at:t.seq})}} problem=${c} again=${m} />
    ${n&&s`<p class="quiet">${n.length?V(n.length,"difference"):"Nothing differs."}</p>`}
    ${n?.slice(0,r).map(p=>s`<${M} ...${p} />`)}
    ${n&&n.length>r&&s`<button type="button" class="small" onClick=${()=>a(r+v)}>Show ${v} more</button>`}
  </section>`}var X=(o,{op:t,seq:e},r)=>t==="delete"||t==="erase"?void 0:N(o,e,r);function ee(o,t,e){let[r,a]=g(!1),n=W(""),c=K({always:!0,onDone:i=>e(n.current,i),onStale:()=>a(!0)});return{begin:async i=>{n.current=i,a(!1);let p=await ne(o,i);n.current===i&&c.begin({method:"POST",path:[...o,"_revert"],headers:t,body:JSON.stringify({at:i})},{own:p})},stale:r,writing:c}}async function ne(o,t){let e=r=>w({path:o,query:{view:"referenced",at:r}}).then(({text:a})=>a);try{let[r,a]=await Promise.all([e(void 0).catch(n=>{if(n.status!==404)throw n}),e(t)]);return{before:r,after:a}}catch{return}}async function te(o,t){try{return{"If-Match":(await w({path:o,signal:t})).headers.get("ETag")??""}}catch(e){if(e instanceof C&&e.status===404)return{"If-None-Match":"*"};throw e}}var oe=({revert:{writing:o,stale:t},again:e})=>s`<span role="status" class="quiet">${o.state.phase==="looking"&&"Looking at what it changes"}</span>
  <${z} title="What this revert changes" go="Revert now" keep="Keep it" writing=${o} careful />
  ${!o.state.effects&&s`<${Q} state=${o.state} />`}
  <${G} problem=${t?new C(412,{title:"Changed meanwhile",detail:"The document has become another since its versions were listed. Nothing was written."}):void 0} again=${e} />`;var ae=20;function We({place:o}){let{parts:[t,e,r],params:a}=o,n=Object.fromEntries(["from","to","derived","view","limit","cursor"].map(d=>[d,a.get(d)??""]).filter(([,d])=>d!=="")),c={path:[t,e,r],query:{limit:ae,include_docs:!1,...n}},m=y(d=>ie([t,e],{...c,signal:d}),[JSON.stringify(c)]),{value:i,problem:p,again:h}=m,u=ee([t,e],i?.condition??{},(d,T)=>{let L=S([t,e]);I({href:L,what:`${t}/${e} is reverted to ${d}`,written:T}),E(L)}),l=p?void 0:i,$=l?.versions??[],b=d=>S(o.parts,{...n,cursor:void 0,...d}),re=!a.get("cursor")&&!a.get("to");return s`<p class="above"><${O} collection=${t} id=${e} />
      ${n.derived==="exclude"?s`<a href=${b({derived:void 0})}>With derived changes</a>`:s`<a
        href=${b({derived:"exclude"})}>Without derived changes</a>`}</p>
    <${B} place=${{parts:[t,e],params:new URLSearchParams}} />
    <${x} place=${o} problem=${p} again=${h} />
    ${$.length>1&&s`<${Z} key=${$[0].seq} path=${[t,e]} versions=${$} />`}
    <${oe} revert=${u} again=${h} />
    <${H} of=${m}>${l&&s`<ol aria-label="Versions" class="versions">${l.versions.map((d,T)=>s`<${le} key=${d.seq}
        version=${d} newest=${re&&T===0} revert=${u} />`)}</ol>
      ${l.versions.length===0&&s`<p class="quiet">There are no versions here.</p>`}
      ${!l.next&&!l.oldest.startsWith("0-")&&s`<p class="quiet">The history begins at <code>${l.oldest}</code>.</p>`}
      ${(a.get("cursor")||l.next)&&s`<p class="actions">${a.get("cursor")&&s`<a href=${b({})}>First page</a>`}
        ${l.next&&s`<a href=${b({cursor:l.next})}>Next page</a>`}</p>`}`}<//>
    <${j} asked=${c} />`}async function ie(o,t){let[e,r]=await Promise.all([te(o,t.signal),w(t)]),a=await P(r.text,t.signal);return{condition:e,versions:(f(a,"items")?.elements??[]).map(ce),next:q(f(a,"next"))??"",oldest:q(f(a,"oldest"))??""}}function ce(o){let t=r=>q(f(o,r))??"",e=f(o,"cause");return{seq:t("seq"),collection:t("collection"),id:t("id"),op:t("op"),time:t("time"),rev:f(o,"rev")?.raw??"",actor:t("actor"),cause:e&&D(e),patch:f(o,"patch")}}function le({version:o,newest:t,revert:e}){let[r,a]=g(!1),n=A(),{seq:c,collection:m,id:i,op:p,time:h,actor:u,cause:l,patch:$}=o,b=p!=="delete"&&p!=="erase";return s`<li><header id=${n}><strong>${p}</strong> <code>${c}</code>
      <span class="quiet"><${k} text=${h} position=${c} /></span>
      ${l&&s` <span>by <${O} collection=${l.collection} id=${l.id} />${l.rule&&s` <span
        class="quiet">(<${U} text=${(l.rules??[l.rule]).join(", ")} max=${300} />)</span>`}</span>`}
      ${u&&s` <span>by <${J} of=${u} /></span>`}</header>
    ${$?s`<${_} patch=${$} />`:b&&s`<p class="quiet">What it changed is too long to be shown.</p>`}
    ${b&&s`<p class="actions"><a href=${S([m,i],{at:c})} aria-describedby=${n}>Show</a>
      ${!t&&s`<button type="button" class="small" aria-describedby=${n} aria-expanded=${r}
          onClick=${()=>a(!r)}>Compare with now</button>
        <button type="button" class="small" aria-describedby=${n} onClick=${()=>e.begin(c)}>Revert</button>`}</p>
      ${r&&s`<${Y} collection=${m} id=${i} at=${c} />`}`}
  </li>`}export{We as HistoryPage,le as Version,ce as versionOf};
