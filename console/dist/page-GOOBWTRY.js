import{$ as O,Aa as J,Ba as S,Ca as _,Da as K,Ea as z,Pa as Q,Qa as W,U as P,a as x,aa as V,ba as R,d as F,ea as M,k as U,la as j,n as q,oa as B,p as v,sa as G,ta as N,ua as H}from"./chunk-AW476DRL.js";import{I as T,b as g,e as L,h as E,l as o,r as y,s as f,t as I,u as C}from"./chunk-JD54O3BL.js";var te=20;function Pe({place:s}){let{parts:[t,e,n],params:r}=s,a=Object.fromEntries(["from","to","derived","view","limit","cursor"].map(d=>[d,r.get(d)??""]).filter(([,d])=>d!=="")),i={path:[t,e,n],query:{limit:te,include_docs:!1,...a}},u=P(d=>se([t,e],{...i,signal:d}),[JSON.stringify(i)]),{value:c,problem:$,again:h}=u,m=ce([t,e],c?.condition??{},(d,k)=>{let D=x([t,e]),Z=new Date(c?.versions.find(({seq:ee})=>ee===d)?.time??"");U({href:D,what:`${t}/${e} is reverted to its version of ${O(Z)}`,written:k}),F(D)}),l=$?void 0:c,p=l?.versions??[],b=d=>x(s.parts,{...a,cursor:void 0,...d}),Y=!r.get("cursor")&&!r.get("to");return o`<p class="above"><${M} collection=${t} id=${e} />
      ${a.derived==="exclude"?o`<a href=${b({derived:void 0})}>With derived changes</a>`:o`<a
        href=${b({derived:"exclude"})}>Without derived changes</a>`}</p>
    <${J} place=${{parts:[t,e],params:new URLSearchParams}} />
    <${S} place=${s} problem=${$} again=${h} />
    ${p.length>1&&o`<${re} key=${p[0].seq} path=${[t,e]} versions=${p} />`}
    <${pe} revert=${m} again=${h} />
    <${W} of=${u}>${l&&o`<ol aria-label="Versions" class="versions">${l.versions.map((d,k)=>o`<${oe} key=${d.seq}
        version=${d} newest=${Y&&k===0} revert=${m} />`)}</ol>
      ${l.versions.length===0&&o`<p class="quiet">There are no versions here.</p>`}
      ${!l.next&&!l.oldest.startsWith("0-")&&o`<p class="quiet">The history begins at <code>${l.oldest}</code>.</p>`}
      ${(r.get("cursor")||l.next)&&o`<p class="actions">${r.get("cursor")&&o`<a href=${b({})}>First page</a>`}
        ${l.next&&o`<a href=${b({cursor:l.next})}>Next page</a>`}</p>`}`}<//>
    <${B} asked=${i} />`}async function se(s,t){let[e,n]=await Promise.all([$e(s,t.signal),v(t)]),r=await C(n.text,t.signal);return{condition:e,versions:(f(r,"items")?.elements??[]).map(ne),next:y(f(r,"next"))??"",oldest:y(f(r,"oldest"))??""}}function ne(s){let t=n=>y(f(s,n))??"",e=f(s,"cause");return{seq:t("seq"),collection:t("collection"),id:t("id"),op:t("op"),time:t("time"),rev:f(s,"rev")?.raw??"",actor:t("actor"),cause:e&&I(e),patch:f(s,"patch")}}function oe({version:s,newest:t,revert:e}){let[n,r]=g(!1),a=E(),{seq:i,collection:u,id:c,op:$,time:h,actor:m,cause:l,patch:p}=s,b=$!=="delete"&&$!=="erase";return o`<li><header id=${a}><strong>${$}</strong> <span class="quiet"><${R} text=${h} position=${i} /></span>
      ${l&&o` <span>by <${M} collection=${l.collection} id=${l.id} />${l.rule&&o` <span
        class="quiet">(<${V} text=${(l.rules??[l.rule]).join(", ")} max=${300} />)</span>`}</span>`}
      ${m&&o` <span>by <${_} of=${m} /></span>`}</header>
    ${p?o`<${H} patch=${p} />`:b&&o`<p class="quiet">What it changed is too long to be shown.</p>`}
    ${b&&o`<p class="actions"><a href=${x([u,c],{at:i})} aria-describedby=${a}>Show</a>
      ${!t&&o`<button type="button" class="small" aria-describedby=${a} aria-expanded=${n}
          onClick=${()=>r(!n)}>Compare with now</button>
        <button type="button" class="small" aria-describedby=${a} onClick=${()=>e.begin(i)}>Revert</button>`}</p>
      ${n&&o`<${ae} collection=${u} id=${c} at=${i} />`}`}
  </li>`}var w=50;function ae({collection:s,id:t,at:e}){let[n,r]=g(w),{value:a,problem:i,again:u,cancel:c}=P(async $=>T(...await Promise.all([A([s,t],e,$),A([s,t],null,$)])),[e]);return o`<section aria-label="Compared with now" class="compared">
    <${S} place=${{parts:[s,t],params:new URLSearchParams({at:e})}} problem=${i} again=${u} />
    <${W} of=${{value:a,problem:i,cancel:c}} shape="text" />
    ${a?.length===0&&o`<p role="status">Nothing differs from now.</p>`}
    ${a?.slice(0,n).map($=>o`<${N} ...${$} />`)}
    ${a&&a.length>n&&o`<button type="button" class="small"
      onClick=${()=>r(n+w)}>Show ${w} more</button>`}
  </section>`}async function A(s,t,e){try{return await C((await v({path:s,query:{at:t},signal:e})).text,e)}catch(n){if(t===null&&n instanceof q&&n.status===404)return;throw n}}function re({path:s,versions:t}){let e=t.toReversed(),n=e.length-1,[r,a]=g([n-1,n]),[i,u]=r.map(m=>Math.max(0,Math.min(m,n))),c=m=>a([i+m,u+m]),$=m=>l=>{let p=Number(l.target.value);a(m===0?[p,Math.max(p,u)]:[Math.min(i,p),p])},h=(m,l,p)=>o`<label class="version-at">
      <span class="quiet">${m}</span> <input type="range" min="0" max=${n} value=${p} onInput=${$(l)}
        aria-valuetext=${`version ${p+1} of ${n+1}, ${e[p].op} of ${O(new Date(e[p].time))}`} />
      <span><strong>${e[p].op}</strong> <${R} text=${e[p].time} position=${e[p].seq} /></span></label>`;return o`<section aria-label="Compare versions" class="slider">
    ${h("From",0,i)}${h("To",1,u)}
    <p class="actions"><button type="button" class="small" disabled=${i===0} onClick=${()=>c(-1)}>Step back</button>
      <button type="button" class="small" disabled=${u===n} onClick=${()=>c(1)}>Step forward</button></p>
    <${ie} path=${s} from=${e[i]} to=${e[u]} /></section>`}function ie({path:s,from:t,to:e}){let[n,r]=g(w),{value:a,problem:i,again:u,busy:c}=P(async $=>T(...await Promise.all([X(s,t,$),X(s,e,$)])),[t.seq,e.seq]);return o`<section aria-label="Difference" aria-busy=${c?"true":void 0} class=${c?"compared stale":"compared"}>
    <${S} place=${{parts:s,params:new URLSearchParams({at:t.seq})}} problem=${i} again=${u} />
    ${a&&o`<p class="quiet">${a.length?j(a.length,"difference"):"Nothing differs."}</p>`}
    ${a?.slice(0,n).map($=>o`<${N} ...${$} />`)}
    ${a&&a.length>n&&o`<button type="button" class="small" onClick=${()=>r(n+w)}>Show ${w} more</button>`}
  </section>`}var X=(s,{op:t,seq:e},n)=>t==="delete"||t==="erase"?void 0:A(s,e,n);function ce(s,t,e){let[n,r]=g(!1),a=L(""),i=G({always:!0,onDone:c=>e(a.current,c),onStale:()=>r(!0)});return{begin:async c=>{a.current=c,r(!1);let $=await le(s,c);a.current===c&&i.begin({method:"POST",path:[...s,"_revert"],headers:t,body:JSON.stringify({at:c})},{own:$})},stale:n,writing:i}}async function le(s,t){let e=n=>v({path:s,query:{view:"referenced",at:n}}).then(({text:r})=>r);try{let[n,r]=await Promise.all([e(void 0).catch(a=>{if(a.status!==404)throw a}),e(t)]);return{before:n,after:r}}catch{return}}async function $e(s,t){try{return{"If-Match":(await v({path:s,signal:t})).headers.get("ETag")??""}}catch(e){if(e instanceof q&&e.status===404)return{"If-None-Match":"*"};throw e}}var pe=({revert:{writing:s,stale:t},again:e})=>o`<span role="status" class="quiet">${s.state.phase==="looking"&&"Looking at what it changes"}</span>
  <${K} title="What this revert changes" go="Revert now" keep="Keep it" writing=${s} careful />
  ${!s.state.effects&&o`<${z} state=${s.state} />`}
  <${Q} problem=${t?new q(412,{title:"Changed meanwhile",detail:"The document has become another since its versions were listed. Nothing was written."}):void 0} again=${e} />`;export{ae as Compare,Pe as HistoryPage,pe as Revert,re as Slider,oe as Version,$e as conditionOf,ce as useRevert,ne as versionOf};
