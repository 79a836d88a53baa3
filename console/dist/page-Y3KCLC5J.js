import{b as S}from"./chunk-AWWDHEWY.js";import{a as j}from"./chunk-5VDGOZDF.js";import{a as G,b as K}from"./chunk-IUF47GU2.js";import{e as F}from"./chunk-IXPAAYGW.js";import{a as H,d as J,e as _}from"./chunk-2SZUEHJ2.js";import{Ca as M,E as A,Ga as V,H as P,J as g,X as q,b as h,e as R,h as W,k as r,ka as E,o as w,oa as D,p as $,pa as I,q as N,r as x,s as y,sa as T,v as L}from"./chunk-HGW6AYR2.js";var k=50;function z({collection:o,id:e,at:t}){let[s,a]=h(k),{value:n,problem:l,again:p}=q(async c=>E(...await Promise.all([U([o,e],t,c),U([o,e],null,c)])),[t]);return r`<section aria-label="Compared with now" class="compared">
    <${S} place=${{parts:[o,e],params:new URLSearchParams({at:t})}} problem=${l} again=${p} />
    ${n?.length===0&&r`<p role="status">Nothing differs from now.</p>`}
    ${n?.slice(0,s).map(c=>r`<${J} ...${c} />`)}
    ${n&&n.length>s&&r`<button type="button" class="small"
      onClick=${()=>a(s+k)}>Show ${k} more</button>`}
  </section>`}async function U(o,e,t){try{return await x((await g({path:o,query:{at:e},signal:t})).text,t)}catch(s){if(e===null&&s instanceof P&&s.status===404)return;throw s}}function B(o,e,t){let[s,a]=h(!1),n=R(""),l=F({always:!0,onDone:c=>t(n.current,c),onStale:()=>a(!0)});return{begin:c=>{n.current=c,a(!1),l.begin({method:"POST",path:[...o,"_revert"],headers:e,body:JSON.stringify({at:c})})},stale:s,writing:l}}async function Q(o,e){try{return{"If-Match":(await g({path:o,signal:e})).headers.get("ETag")??""}}catch(t){if(t instanceof P&&t.status===404)return{"If-None-Match":"*"};throw t}}var X=({revert:{writing:o,stale:e},again:t})=>r`<span role="status" class="quiet">${o.state.phase==="looking"&&"Looking at what it changes"}</span>
  <${G} title="What this revert changes" go="Revert now" keep="Keep it" writing=${o} careful />
  ${!o.state.effects&&r`<${K} state=${o.state} />`}
  <${V} problem=${e?new P(412,{title:"Changed meanwhile",detail:"The document has become another since its versions were listed. Nothing was written."}):void 0} again=${t} />`;var Y=20;function qe({place:o}){let{parts:[e,t,s],params:a}=o,n=Object.fromEntries(["from","to","derived","view","limit","cursor"].map(m=>[m,a.get(m)??""]).filter(([,m])=>m!=="")),l={path:[e,t,s],query:{limit:Y,include_docs:!1,...n}},p=q(m=>Z([e,t],{...l,signal:m}),[JSON.stringify(l)]),{value:c,problem:d,again:b}=p,f=B([e,t],c?.condition??{},(m,C)=>{let O=y([e,t]);A({href:O,what:`${e}/${t} is reverted to ${m}`,written:C}),L(O)}),i=d?void 0:c,u=m=>y(o.parts,{...n,cursor:void 0,...m}),v=!a.get("cursor")&&!a.get("to");return r`<p class="above"><${T} collection=${e} id=${t} />
      ${n.derived==="exclude"?r`<a href=${u({derived:void 0})}>With derived changes</a>`:r`<a
        href=${u({derived:"exclude"})}>Without derived changes</a>`}</p>
    <${S} place=${o} problem=${d} again=${b} />
    <${X} revert=${f} again=${b} />
    <${j} of=${p}>${i&&r`<ol aria-label="Versions" class="versions">${i.versions.map((m,C)=>r`<${te} key=${m.seq}
        version=${m} newest=${v&&C===0} revert=${f} />`)}</ol>
      ${i.versions.length===0&&r`<p class="quiet">There are no versions here.</p>`}
      ${!i.next&&!i.oldest.startsWith("0-")&&r`<p class="quiet">The history begins at <code>${i.oldest}</code>.</p>`}
      ${(a.get("cursor")||i.next)&&r`<p class="actions">${a.get("cursor")&&r`<a href=${u({})}>First page</a>`}
        ${i.next&&r`<a href=${u({cursor:i.next})}>Next page</a>`}</p>`}`}<//>
    <${M} asked=${l} />`}async function Z(o,e){let[t,s]=await Promise.all([Q(o,e.signal),g(e)]),a=await x(s.text,e.signal);return{condition:t,versions:($(a,"items")?.elements??[]).map(ee),next:w($(a,"next"))??"",oldest:w($(a,"oldest"))??""}}function ee(o){let e=s=>w($(o,s))??"",t=$(o,"cause");return{seq:e("seq"),collection:e("collection"),id:e("id"),op:e("op"),time:e("time"),rev:$(o,"rev")?.raw??"",actor:e("actor"),cause:t&&N(t),patch:$(o,"patch")}}function te({version:o,newest:e,revert:t}){let[s,a]=h(!1),n=W(),{seq:l,collection:p,id:c,op:d,time:b,actor:f,cause:i,patch:u}=o,v=d!=="delete"&&d!=="erase";return r`<li><header id=${n}><strong>${d}</strong> <code>${l}</code> <span class="quiet"><${I} text=${b} /></span>
      ${i&&r` <span>by <${T} collection=${i.collection} id=${i.id} />${i.rule&&r` <span
        class="quiet">(<${D} text=${(i.rules??[i.rule]).join(", ")} max=${300} />)</span>`}</span>`}
      ${f&&r` <span>by <${H} of=${f} /></span>`}</header>
    ${u?r`<${_} patch=${u} />`:v&&r`<p class="quiet">What it changed is too long to be shown.</p>`}
    ${v&&r`<p class="actions"><a href=${y([p,c],{at:l})} aria-describedby=${n}>Show</a>
      ${!e&&r`<button type="button" class="small" aria-describedby=${n} aria-expanded=${s}
          onClick=${()=>a(!s)}>Compare with now</button>
        <button type="button" class="small" aria-describedby=${n} onClick=${()=>t.begin(l)}>Revert</button>`}</p>
      ${s&&r`<${z} collection=${p} id=${c} at=${l} />`}`}
  </li>`}export{qe as HistoryPage,te as Version,ee as versionOf};
