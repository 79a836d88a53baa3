import{$ as V,Aa as S,Ba as _,Ca as K,Da as z,Oa as Q,Pa as N,T as P,_ as U,a as x,aa as O,d as I,da as R,k as F,ka as j,n as q,na as B,p as v,ra as G,sa as M,ta as H,za as J}from"./chunk-2RUBGJ57.js";import{I as T,b as g,e as L,h as D,l as n,r as y,s as f,t as E,u as C}from"./chunk-JD54O3BL.js";var Z=20;function xe({place:s}){let{parts:[t,e,o],params:r}=s,a=Object.fromEntries(["from","to","derived","view","limit","cursor"].map(d=>[d,r.get(d)??""]).filter(([,d])=>d!=="")),i={path:[t,e,o],query:{limit:Z,include_docs:!1,...a}},u=P(d=>ee([t,e],{...i,signal:d}),[JSON.stringify(i)]),{value:l,problem:$,again:h}=u,m=re([t,e],l?.condition??{},(d,k)=>{let A=x([t,e]);F({href:A,what:`${t}/${e} is reverted to ${d}`,written:k}),I(A)}),c=$?void 0:l,p=c?.versions??[],b=d=>x(s.parts,{...a,cursor:void 0,...d}),Y=!r.get("cursor")&&!r.get("to");return n`<p class="above"><${R} collection=${t} id=${e} />
      ${a.derived==="exclude"?n`<a href=${b({derived:void 0})}>With derived changes</a>`:n`<a
        href=${b({derived:"exclude"})}>Without derived changes</a>`}</p>
    <${J} place=${{parts:[t,e],params:new URLSearchParams}} />
    <${S} place=${s} problem=${$} again=${h} />
    ${p.length>1&&n`<${ne} key=${p[0].seq} path=${[t,e]} versions=${p} />`}
    <${le} revert=${m} again=${h} />
    <${N} of=${u}>${c&&n`<ol aria-label="Versions" class="versions">${c.versions.map((d,k)=>n`<${se} key=${d.seq}
        version=${d} newest=${Y&&k===0} revert=${m} />`)}</ol>
      ${c.versions.length===0&&n`<p class="quiet">There are no versions here.</p>`}
      ${!c.next&&!c.oldest.startsWith("0-")&&n`<p class="quiet">The history begins at <code>${c.oldest}</code>.</p>`}
      ${(r.get("cursor")||c.next)&&n`<p class="actions">${r.get("cursor")&&n`<a href=${b({})}>First page</a>`}
        ${c.next&&n`<a href=${b({cursor:c.next})}>Next page</a>`}</p>`}`}<//>
    <${B} asked=${i} />`}async function ee(s,t){let[e,o]=await Promise.all([ce(s,t.signal),v(t)]),r=await C(o.text,t.signal);return{condition:e,versions:(f(r,"items")?.elements??[]).map(te),next:y(f(r,"next"))??"",oldest:y(f(r,"oldest"))??""}}function te(s){let t=o=>y(f(s,o))??"",e=f(s,"cause");return{seq:t("seq"),collection:t("collection"),id:t("id"),op:t("op"),time:t("time"),rev:f(s,"rev")?.raw??"",actor:t("actor"),cause:e&&E(e),patch:f(s,"patch")}}function se({version:s,newest:t,revert:e}){let[o,r]=g(!1),a=D(),{seq:i,collection:u,id:l,op:$,time:h,actor:m,cause:c,patch:p}=s,b=$!=="delete"&&$!=="erase";return n`<li><header id=${a}><strong>${$}</strong> <code>${i}</code>
      <span class="quiet"><${O} text=${h} position=${i} /></span>
      ${c&&n` <span>by <${R} collection=${c.collection} id=${c.id} />${c.rule&&n` <span
        class="quiet">(<${V} text=${(c.rules??[c.rule]).join(", ")} max=${300} />)</span>`}</span>`}
      ${m&&n` <span>by <${_} of=${m} /></span>`}</header>
    ${p?n`<${H} patch=${p} />`:b&&n`<p class="quiet">What it changed is too long to be shown.</p>`}
    ${b&&n`<p class="actions"><a href=${x([u,l],{at:i})} aria-describedby=${a}>Show</a>
      ${!t&&n`<button type="button" class="small" aria-describedby=${a} aria-expanded=${o}
          onClick=${()=>r(!o)}>Compare with now</button>
        <button type="button" class="small" aria-describedby=${a} onClick=${()=>e.begin(i)}>Revert</button>`}</p>
      ${o&&n`<${oe} collection=${u} id=${l} at=${i} />`}`}
  </li>`}var w=50;function oe({collection:s,id:t,at:e}){let[o,r]=g(w),{value:a,problem:i,again:u,cancel:l}=P(async $=>T(...await Promise.all([W([s,t],e,$),W([s,t],null,$)])),[e]);return n`<section aria-label="Compared with now" class="compared">
    <${S} place=${{parts:[s,t],params:new URLSearchParams({at:e})}} problem=${i} again=${u} />
    <${N} of=${{value:a,problem:i,cancel:l}} shape="text" />
    ${a?.length===0&&n`<p role="status">Nothing differs from now.</p>`}
    ${a?.slice(0,o).map($=>n`<${M} ...${$} />`)}
    ${a&&a.length>o&&n`<button type="button" class="small"
      onClick=${()=>r(o+w)}>Show ${w} more</button>`}
  </section>`}async function W(s,t,e){try{return await C((await v({path:s,query:{at:t},signal:e})).text,e)}catch(o){if(t===null&&o instanceof q&&o.status===404)return;throw o}}function ne({path:s,versions:t}){let e=t.toReversed(),o=e.length-1,[r,a]=g([o-1,o]),[i,u]=r.map(m=>Math.max(0,Math.min(m,o))),l=m=>a([i+m,u+m]),$=m=>c=>{let p=Number(c.target.value);a(m===0?[p,Math.max(p,u)]:[Math.min(i,p),p])},h=(m,c,p)=>n`<label class="version-at">
      <span class="quiet">${m}</span> <input type="range" min="0" max=${o} value=${p} onInput=${$(c)}
        aria-valuetext=${`version ${p+1} of ${o+1}, ${e[p].op} of ${U(new Date(e[p].time))}`} />
      <span><strong>${e[p].op}</strong> <${O} text=${e[p].time} position=${e[p].seq} /></span></label>`;return n`<section aria-label="Compare versions" class="slider">
    ${h("From",0,i)}${h("To",1,u)}
    <p class="actions"><button type="button" class="small" disabled=${i===0} onClick=${()=>l(-1)}>Step back</button>
      <button type="button" class="small" disabled=${u===o} onClick=${()=>l(1)}>Step forward</button></p>
    <${ae} path=${s} from=${e[i]} to=${e[u]} /></section>`}function ae({path:s,from:t,to:e}){let[o,r]=g(w),{value:a,problem:i,again:u,busy:l}=P(async $=>T(...await Promise.all([X(s,t,$),X(s,e,$)])),[t.seq,e.seq]);return n`<section aria-label="Difference" aria-busy=${l?"true":void 0} class=${l?"compared stale":"compared"}>
    <${S} place=${{parts:s,params:new URLSearchParams({at:t.seq})}} problem=${i} again=${u} />
    ${a&&n`<p class="quiet">${a.length?j(a.length,"difference"):"Nothing differs."}</p>`}
    ${a?.slice(0,o).map($=>n`<${M} ...${$} />`)}
    ${a&&a.length>o&&n`<button type="button" class="small" onClick=${()=>r(o+w)}>Show ${w} more</button>`}
  </section>`}var X=(s,{op:t,seq:e},o)=>t==="delete"||t==="erase"?void 0:W(s,e,o);function re(s,t,e){let[o,r]=g(!1),a=L(""),i=G({always:!0,onDone:l=>e(a.current,l),onStale:()=>r(!0)});return{begin:async l=>{a.current=l,r(!1);let $=await ie(s,l);a.current===l&&i.begin({method:"POST",path:[...s,"_revert"],headers:t,body:JSON.stringify({at:l})},{own:$})},stale:o,writing:i}}async function ie(s,t){let e=o=>v({path:s,query:{view:"referenced",at:o}}).then(({text:r})=>r);try{let[o,r]=await Promise.all([e(void 0).catch(a=>{if(a.status!==404)throw a}),e(t)]);return{before:o,after:r}}catch{return}}async function ce(s,t){try{return{"If-Match":(await v({path:s,signal:t})).headers.get("ETag")??""}}catch(e){if(e instanceof q&&e.status===404)return{"If-None-Match":"*"};throw e}}var le=({revert:{writing:s,stale:t},again:e})=>n`<span role="status" class="quiet">${s.state.phase==="looking"&&"Looking at what it changes"}</span>
  <${K} title="What this revert changes" go="Revert now" keep="Keep it" writing=${s} careful />
  ${!s.state.effects&&n`<${z} state=${s.state} />`}
  <${Q} problem=${t?new q(412,{title:"Changed meanwhile",detail:"The document has become another since its versions were listed. Nothing was written."}):void 0} again=${e} />`;export{oe as Compare,xe as HistoryPage,le as Revert,ne as Slider,se as Version,ce as conditionOf,re as useRevert,te as versionOf};
