import{b as B,c as y}from"./chunk-IJSVSODT.js";import{a as H}from"./chunk-U37FMEAT.js";import{a as z,b as Q}from"./chunk-ADE6NZGY.js";import{e as K}from"./chunk-SAIG3XQC.js";import{a as J,d as M,e as _}from"./chunk-LF2RQJXF.js";import{G as x,O as F,P as U,Q as k,T as O,_ as V,a as S,ba as j,d as E,fa as G,m as I,p as C,r as w}from"./chunk-MNRX4NBN.js";import{H as R,b as g,e as W,h as A,l as s,r as q,s as f,t as D,u as P}from"./chunk-YLTSUMXM.js";var v=50;function Y({collection:o,id:t,at:e}){let[r,l]=g(v),{value:a,problem:n,again:p}=x(async i=>R(...await Promise.all([N([o,t],e,i),N([o,t],null,i)])),[e]);return s`<section aria-label="Compared with now" class="compared">
    <${y} place=${{parts:[o,t],params:new URLSearchParams({at:e})}} problem=${n} again=${p} />
    ${a?.length===0&&s`<p role="status">Nothing differs from now.</p>`}
    ${a?.slice(0,r).map(i=>s`<${M} ...${i} />`)}
    ${a&&a.length>r&&s`<button type="button" class="small"
      onClick=${()=>l(r+v)}>Show ${v} more</button>`}
  </section>`}async function N(o,t,e){try{return await P((await w({path:o,query:{at:t},signal:e})).text,e)}catch(r){if(t===null&&r instanceof C&&r.status===404)return;throw r}}function Z({path:o,versions:t}){let e=t.toReversed(),r=e.length-1,[l,a]=g([r-1,r]),[n,p]=l.map(m=>Math.max(0,Math.min(m,r))),i=m=>a([n+m,p+m]),u=m=>c=>{let $=Number(c.target.value);a(m===0?[$,Math.max($,p)]:[Math.min(n,$),$])},h=(m,c,$)=>s`<label class="version-at">
      <span class="quiet">${m}</span> <input type="range" min="0" max=${r} value=${$} onInput=${u(c)}
        aria-valuetext=${`version ${$+1} of ${r+1}, ${e[$].op} of ${F(new Date(e[$].time))}`} />
      <span><strong>${e[$].op}</strong> <${k} text=${e[$].time} position=${e[$].seq} /></span></label>`;return s`<section aria-label="Compare versions" class="slider">
    ${h("From",0,n)}${h("To",1,p)}
    <p class="actions"><button type="button" class="small" disabled=${n===0} onClick=${()=>i(-1)}>Step back</button>
      <button type="button" class="small" disabled=${p===r} onClick=${()=>i(1)}>Step forward</button></p>
    <${re} path=${o} from=${e[n]} to=${e[p]} /></section>`}function re({path:o,from:t,to:e}){let[r,l]=g(v),{value:a,problem:n,again:p,busy:i}=x(async u=>R(...await Promise.all([X(o,t,u),X(o,e,u)])),[t.seq,e.seq]);return s`<section aria-label="Difference" aria-busy=${i?"true":void 0} class=${i?"compared stale":"compared"}>
    <${y} place=${{parts:o,params:new URLSearchParams({at:t.seq})}} problem=${n} again=${p} />
    ${a&&s`<p class="quiet">${a.length?V(a.length,"difference"):"Nothing differs."}</p>`}
    ${a?.slice(0,r).map(u=>s`<${M} ...${u} />`)}
    ${a&&a.length>r&&s`<button type="button" class="small" onClick=${()=>l(r+v)}>Show ${v} more</button>`}
  </section>`}var X=(o,{op:t,seq:e},r)=>t==="delete"||t==="erase"?void 0:N(o,e,r);function ee(o,t,e){let[r,l]=g(!1),a=W(""),n=K({always:!0,onDone:i=>e(a.current,i),onStale:()=>l(!0)});return{begin:i=>{a.current=i,l(!1),n.begin({method:"POST",path:[...o,"_revert"],headers:t,body:JSON.stringify({at:i})})},stale:r,writing:n}}async function te(o,t){try{return{"If-Match":(await w({path:o,signal:t})).headers.get("ETag")??""}}catch(e){if(e instanceof C&&e.status===404)return{"If-None-Match":"*"};throw e}}var oe=({revert:{writing:o,stale:t},again:e})=>s`<span role="status" class="quiet">${o.state.phase==="looking"&&"Looking at what it changes"}</span>
  <${z} title="What this revert changes" go="Revert now" keep="Keep it" writing=${o} careful />
  ${!o.state.effects&&s`<${Q} state=${o.state} />`}
  <${G} problem=${t?new C(412,{title:"Changed meanwhile",detail:"The document has become another since its versions were listed. Nothing was written."}):void 0} again=${e} />`;var ae=20;function Le({place:o}){let{parts:[t,e,r],params:l}=o,a=Object.fromEntries(["from","to","derived","view","limit","cursor"].map(d=>[d,l.get(d)??""]).filter(([,d])=>d!=="")),n={path:[t,e,r],query:{limit:ae,include_docs:!1,...a}},p=x(d=>ne([t,e],{...n,signal:d}),[JSON.stringify(n)]),{value:i,problem:u,again:h}=p,m=ee([t,e],i?.condition??{},(d,T)=>{let L=S([t,e]);I({href:L,what:`${t}/${e} is reverted to ${d}`,written:T}),E(L)}),c=u?void 0:i,$=c?.versions??[],b=d=>S(o.parts,{...a,cursor:void 0,...d}),se=!l.get("cursor")&&!l.get("to");return s`<p class="above"><${O} collection=${t} id=${e} />
      ${a.derived==="exclude"?s`<a href=${b({derived:void 0})}>With derived changes</a>`:s`<a
        href=${b({derived:"exclude"})}>Without derived changes</a>`}</p>
    <${B} place=${{parts:[t,e],params:new URLSearchParams}} />
    <${y} place=${o} problem=${u} again=${h} />
    ${$.length>1&&s`<${Z} key=${$[0].seq} path=${[t,e]} versions=${$} />`}
    <${oe} revert=${m} again=${h} />
    <${H} of=${p}>${c&&s`<ol aria-label="Versions" class="versions">${c.versions.map((d,T)=>s`<${ce} key=${d.seq}
        version=${d} newest=${se&&T===0} revert=${m} />`)}</ol>
      ${c.versions.length===0&&s`<p class="quiet">There are no versions here.</p>`}
      ${!c.next&&!c.oldest.startsWith("0-")&&s`<p class="quiet">The history begins at <code>${c.oldest}</code>.</p>`}
      ${(l.get("cursor")||c.next)&&s`<p class="actions">${l.get("cursor")&&s`<a href=${b({})}>First page</a>`}
        ${c.next&&s`<a href=${b({cursor:c.next})}>Next page</a>`}</p>`}`}<//>
    <${j} asked=${n} />`}async function ne(o,t){let[e,r]=await Promise.all([te(o,t.signal),w(t)]),l=await P(r.text,t.signal);return{condition:e,versions:(f(l,"items")?.elements??[]).map(ie),next:q(f(l,"next"))??"",oldest:q(f(l,"oldest"))??""}}function ie(o){let t=r=>q(f(o,r))??"",e=f(o,"cause");return{seq:t("seq"),collection:t("collection"),id:t("id"),op:t("op"),time:t("time"),rev:f(o,"rev")?.raw??"",actor:t("actor"),cause:e&&D(e),patch:f(o,"patch")}}function ce({version:o,newest:t,revert:e}){let[r,l]=g(!1),a=A(),{seq:n,collection:p,id:i,op:u,time:h,actor:m,cause:c,patch:$}=o,b=u!=="delete"&&u!=="erase";return s`<li><header id=${a}><strong>${u}</strong> <code>${n}</code>
      <span class="quiet"><${k} text=${h} position=${n} /></span>
      ${c&&s` <span>by <${O} collection=${c.collection} id=${c.id} />${c.rule&&s` <span
        class="quiet">(<${U} text=${(c.rules??[c.rule]).join(", ")} max=${300} />)</span>`}</span>`}
      ${m&&s` <span>by <${J} of=${m} /></span>`}</header>
    ${$?s`<${_} patch=${$} />`:b&&s`<p class="quiet">What it changed is too long to be shown.</p>`}
    ${b&&s`<p class="actions"><a href=${S([p,i],{at:n})} aria-describedby=${a}>Show</a>
      ${!t&&s`<button type="button" class="small" aria-describedby=${a} aria-expanded=${r}
          onClick=${()=>l(!r)}>Compare with now</button>
        <button type="button" class="small" aria-describedby=${a} onClick=${()=>e.begin(n)}>Revert</button>`}</p>
      ${r&&s`<${Y} collection=${p} id=${i} at=${n} />`}`}
  </li>`}export{Le as HistoryPage,ce as Version,ie as versionOf};
