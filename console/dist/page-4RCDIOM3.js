import{c as B,d as y}from"./chunk-3QLU4M2F.js";import{a as z,b as Q}from"./chunk-XFBWXMUH.js";import{e as K}from"./chunk-5MVB55MF.js";import{a as J,d as N,e as _}from"./chunk-2CPSNNAE.js";import{a as T}from"./chunk-JSRVEYTP.js";import{G as x,O as U,P as V,Q as k,T as M,_ as j,a as S,ba as G,d as I,fa as H,m as F,p as C,r as w}from"./chunk-E7RJ2GXA.js";import{H as O,b as g,e as A,h as D,l as s,r as q,s as f,t as E,u as P}from"./chunk-YLTSUMXM.js";var v=50;function Y({collection:o,id:t,at:e}){let[r,a]=g(v),{value:n,problem:i,again:p,cancel:l}=x(async $=>O(...await Promise.all([L([o,t],e,$),L([o,t],null,$)])),[e]);return s`<section aria-label="Compared with now" class="compared">
    <${y} place=${{parts:[o,t],params:new URLSearchParams({at:e})}} problem=${i} again=${p} />
    <${T} of=${{value:n,problem:i,cancel:l}} shape="text" />
    ${n?.length===0&&s`<p role="status">Nothing differs from now.</p>`}
    ${n?.slice(0,r).map($=>s`<${N} ...${$} />`)}
    ${n&&n.length>r&&s`<button type="button" class="small"
      onClick=${()=>a(r+v)}>Show ${v} more</button>`}
  </section>`}async function L(o,t,e){try{return await P((await w({path:o,query:{at:t},signal:e})).text,e)}catch(r){if(t===null&&r instanceof C&&r.status===404)return;throw r}}function Z({path:o,versions:t}){let e=t.toReversed(),r=e.length-1,[a,n]=g([r-1,r]),[i,p]=a.map(u=>Math.max(0,Math.min(u,r))),l=u=>n([i+u,p+u]),$=u=>c=>{let m=Number(c.target.value);n(u===0?[m,Math.max(m,p)]:[Math.min(i,m),m])},h=(u,c,m)=>s`<label class="version-at">
      <span class="quiet">${u}</span> <input type="range" min="0" max=${r} value=${m} onInput=${$(c)}
        aria-valuetext=${`version ${m+1} of ${r+1}, ${e[m].op} of ${U(new Date(e[m].time))}`} />
      <span><strong>${e[m].op}</strong> <${k} text=${e[m].time} position=${e[m].seq} /></span></label>`;return s`<section aria-label="Compare versions" class="slider">
    ${h("From",0,i)}${h("To",1,p)}
    <p class="actions"><button type="button" class="small" disabled=${i===0} onClick=${()=>l(-1)}>Step back</button>
      <button type="button" class="small" disabled=${p===r} onClick=${()=>l(1)}>Step forward</button></p>
    <${se} path=${o} from=${e[i]} to=${e[p]} /></section>`}function se({path:o,from:t,to:e}){let[r,a]=g(v),{value:n,problem:i,again:p,busy:l}=x(async $=>O(...await Promise.all([X(o,t,$),X(o,e,$)])),[t.seq,e.seq]);return s`<section aria-label="Difference" aria-busy=${l?"true":void 0} class=${l?"compared stale":"compared"}>
    <${y} place=${{parts:o,params:new URLSearchParams({at:t.seq})}} problem=${i} again=${p} />
    ${n&&s`<p class="quiet">${n.length?j(n.length,"difference"):"Nothing differs."}</p>`}
    ${n?.slice(0,r).map($=>s`<${N} ...${$} />`)}
    ${n&&n.length>r&&s`<button type="button" class="small" onClick=${()=>a(r+v)}>Show ${v} more</button>`}
  </section>`}var X=(o,{op:t,seq:e},r)=>t==="delete"||t==="erase"?void 0:L(o,e,r);function ee(o,t,e){let[r,a]=g(!1),n=A(""),i=K({always:!0,onDone:l=>e(n.current,l),onStale:()=>a(!0)});return{begin:async l=>{n.current=l,a(!1);let $=await ne(o,l);n.current===l&&i.begin({method:"POST",path:[...o,"_revert"],headers:t,body:JSON.stringify({at:l})},{own:$})},stale:r,writing:i}}async function ne(o,t){let e=r=>w({path:o,query:{view:"referenced",at:r}}).then(({text:a})=>a);try{let[r,a]=await Promise.all([e(void 0).catch(n=>{if(n.status!==404)throw n}),e(t)]);return{before:r,after:a}}catch{return}}async function te(o,t){try{return{"If-Match":(await w({path:o,signal:t})).headers.get("ETag")??""}}catch(e){if(e instanceof C&&e.status===404)return{"If-None-Match":"*"};throw e}}var oe=({revert:{writing:o,stale:t},again:e})=>s`<span role="status" class="quiet">${o.state.phase==="looking"&&"Looking at what it changes"}</span>
  <${z} title="What this revert changes" go="Revert now" keep="Keep it" writing=${o} careful />
  ${!o.state.effects&&s`<${Q} state=${o.state} />`}
  <${H} problem=${t?new C(412,{title:"Changed meanwhile",detail:"The document has become another since its versions were listed. Nothing was written."}):void 0} again=${e} />`;var ae=20;function Ae({place:o}){let{parts:[t,e,r],params:a}=o,n=Object.fromEntries(["from","to","derived","view","limit","cursor"].map(d=>[d,a.get(d)??""]).filter(([,d])=>d!=="")),i={path:[t,e,r],query:{limit:ae,include_docs:!1,...n}},p=x(d=>ie([t,e],{...i,signal:d}),[JSON.stringify(i)]),{value:l,problem:$,again:h}=p,u=ee([t,e],l?.condition??{},(d,R)=>{let W=S([t,e]);F({href:W,what:`${t}/${e} is reverted to ${d}`,written:R}),I(W)}),c=$?void 0:l,m=c?.versions??[],b=d=>S(o.parts,{...n,cursor:void 0,...d}),re=!a.get("cursor")&&!a.get("to");return s`<p class="above"><${M} collection=${t} id=${e} />
      ${n.derived==="exclude"?s`<a href=${b({derived:void 0})}>With derived changes</a>`:s`<a
        href=${b({derived:"exclude"})}>Without derived changes</a>`}</p>
    <${B} place=${{parts:[t,e],params:new URLSearchParams}} />
    <${y} place=${o} problem=${$} again=${h} />
    ${m.length>1&&s`<${Z} key=${m[0].seq} path=${[t,e]} versions=${m} />`}
    <${oe} revert=${u} again=${h} />
    <${T} of=${p}>${c&&s`<ol aria-label="Versions" class="versions">${c.versions.map((d,R)=>s`<${le} key=${d.seq}
        version=${d} newest=${re&&R===0} revert=${u} />`)}</ol>
      ${c.versions.length===0&&s`<p class="quiet">There are no versions here.</p>`}
      ${!c.next&&!c.oldest.startsWith("0-")&&s`<p class="quiet">The history begins at <code>${c.oldest}</code>.</p>`}
      ${(a.get("cursor")||c.next)&&s`<p class="actions">${a.get("cursor")&&s`<a href=${b({})}>First page</a>`}
        ${c.next&&s`<a href=${b({cursor:c.next})}>Next page</a>`}</p>`}`}<//>
    <${G} asked=${i} />`}async function ie(o,t){let[e,r]=await Promise.all([te(o,t.signal),w(t)]),a=await P(r.text,t.signal);return{condition:e,versions:(f(a,"items")?.elements??[]).map(ce),next:q(f(a,"next"))??"",oldest:q(f(a,"oldest"))??""}}function ce(o){let t=r=>q(f(o,r))??"",e=f(o,"cause");return{seq:t("seq"),collection:t("collection"),id:t("id"),op:t("op"),time:t("time"),rev:f(o,"rev")?.raw??"",actor:t("actor"),cause:e&&E(e),patch:f(o,"patch")}}function le({version:o,newest:t,revert:e}){let[r,a]=g(!1),n=D(),{seq:i,collection:p,id:l,op:$,time:h,actor:u,cause:c,patch:m}=o,b=$!=="delete"&&$!=="erase";return s`<li><header id=${n}><strong>${$}</strong> <code>${i}</code>
      <span class="quiet"><${k} text=${h} position=${i} /></span>
      ${c&&s` <span>by <${M} collection=${c.collection} id=${c.id} />${c.rule&&s` <span
        class="quiet">(<${V} text=${(c.rules??[c.rule]).join(", ")} max=${300} />)</span>`}</span>`}
      ${u&&s` <span>by <${J} of=${u} /></span>`}</header>
    ${m?s`<${_} patch=${m} />`:b&&s`<p class="quiet">What it changed is too long to be shown.</p>`}
    ${b&&s`<p class="actions"><a href=${S([p,l],{at:i})} aria-describedby=${n}>Show</a>
      ${!t&&s`<button type="button" class="small" aria-describedby=${n} aria-expanded=${r}
          onClick=${()=>a(!r)}>Compare with now</button>
        <button type="button" class="small" aria-describedby=${n} onClick=${()=>e.begin(i)}>Revert</button>`}</p>
      ${r&&s`<${Y} collection=${p} id=${l} at=${i} />`}`}
  </li>`}export{Ae as HistoryPage,le as Version,ce as versionOf};
