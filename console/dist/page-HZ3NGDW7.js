import{b as q}from"./chunk-S76LYCHP.js";import{a as J,b as _,c as F}from"./chunk-SHLDFFL3.js";import{a as V,d as j,e as H}from"./chunk-RWN6LVXJ.js";import{B as L,Ca as M,E as y,G as h,U as P,b as f,e as O,ga as A,h as R,k as r,ka as E,la as D,o as v,oa as C,p as u,q as W,r as w,s as x,u as N,ya as I}from"./chunk-JCWJPE4V.js";var T=50;function K({collection:o,id:e,at:t}){let[s,a]=f(T),{value:n,problem:l,again:$}=P(async c=>A(...await Promise.all([G([o,e],t,c),G([o,e],null,c)])),[t]);return r`<section aria-label="Compared with now" class="compared">
    <${q} place=${{parts:[o,e],params:new URLSearchParams({at:t})}} problem=${l} again=${$} />
    ${n?.length===0&&r`<p role="status">Nothing differs from now.</p>`}
    ${n?.slice(0,s).map(c=>r`<${j} ...${c} />`)}
    ${n&&n.length>s&&r`<button type="button" class="small"
      onClick=${()=>a(s+T)}>Show ${T} more</button>`}
  </section>`}async function G(o,e,t){try{return await w((await h({path:o,query:{at:e},signal:t})).text,t)}catch(s){if(e===null&&s instanceof y&&s.status===404)return;throw s}}function U(o,e,t){let[s,a]=f(!1),n=O(""),l=J({always:!0,onDone:c=>t(n.current,c),onStale:()=>a(!0)});return{begin:c=>{n.current=c,a(!1),l.begin({method:"POST",path:[...o,"_revert"],headers:e,body:JSON.stringify({at:c})})},stale:s,writing:l}}async function z(o,e){try{return{"If-Match":(await h({path:o,signal:e})).headers.get("ETag")??""}}catch(t){if(t instanceof y&&t.status===404)return{"If-None-Match":"*"};throw t}}var B=({revert:{writing:o,stale:e},again:t})=>r`<span role="status" class="quiet">${o.state.phase==="looking"&&"Looking at what it changes"}</span>
  <${_} title="What this revert changes" go="Revert now" keep="Keep it" writing=${o} careful />
  ${!o.state.effects&&r`<${F} state=${o.state} />`}
  <${M} problem=${e?new y(412,{title:"Changed meanwhile",detail:"The document has become another since its versions were listed. Nothing was written."}):void 0} again=${t} />`;var Q=20;function xe({place:o}){let{parts:[e,t,s],params:a}=o,n=Object.fromEntries(["from","to","derived","view","limit","cursor"].map(i=>[i,a.get(i)??""]).filter(([,i])=>i!=="")),l={path:[e,t,s],query:{limit:Q,include_docs:!1,...n}},{value:$,problem:c,again:d}=P(i=>X([e,t],{...l,signal:i}),[JSON.stringify(l)]),b=U([e,t],$?.condition??{},(i,S)=>{let k=x([e,t]);L({href:k,what:`${e}/${t} is reverted to ${i}`,written:S}),N(k)}),m=c?void 0:$,p=i=>x(o.parts,{...n,cursor:void 0,...i}),g=!a.get("cursor")&&!a.get("to");return r`<p class="above"><${C} collection=${e} id=${t} />
      ${n.derived==="exclude"?r`<a href=${p({derived:void 0})}>With derived changes</a>`:r`<a
        href=${p({derived:"exclude"})}>Without derived changes</a>`}</p>
    <${q} place=${o} problem=${c} again=${d} />
    <${B} revert=${b} again=${d} />
    ${m&&r`<ol aria-label="Versions" class="versions">${m.versions.map((i,S)=>r`<${Z} key=${i.seq}
        version=${i} newest=${g&&S===0} revert=${b} />`)}</ol>
      ${m.versions.length===0&&r`<p class="quiet">There are no versions here.</p>`}
      ${!m.next&&!m.oldest.startsWith("0-")&&r`<p class="quiet">The history begins at <code>${m.oldest}</code>.</p>`}
      ${(a.get("cursor")||m.next)&&r`<p class="actions">${a.get("cursor")&&r`<a href=${p({})}>First page</a>`}
        ${m.next&&r`<a href=${p({cursor:m.next})}>Next page</a>`}</p>`}`}
    <${I} asked=${l} />`}async function X(o,e){let[t,s]=await Promise.all([z(o,e.signal),h(e)]),a=await w(s.text,e.signal);return{condition:t,versions:(u(a,"items")?.elements??[]).map(Y),next:v(u(a,"next"))??"",oldest:v(u(a,"oldest"))??""}}function Y(o){let e=s=>v(u(o,s))??"",t=u(o,"cause");return{seq:e("seq"),collection:e("collection"),id:e("id"),op:e("op"),time:e("time"),rev:u(o,"rev")?.raw??"",actor:e("actor"),cause:t&&W(t),patch:u(o,"patch")}}function Z({version:o,newest:e,revert:t}){let[s,a]=f(!1),n=R(),{seq:l,collection:$,id:c,op:d,time:b,actor:m,cause:p,patch:g}=o,i=d!=="delete"&&d!=="erase";return r`<li><header id=${n}><strong>${d}</strong> <code>${l}</code> <span class="quiet"><${D} text=${b} /></span>
      ${p&&r` <span>by <${C} collection=${p.collection} id=${p.id} />${p.rule&&r` <span
        class="quiet">(<${E} text=${(p.rules??[p.rule]).join(", ")} max=${300} />)</span>`}</span>`}
      ${m&&r` <span>by <${V} of=${m} /></span>`}</header>
    ${g?r`<${H} patch=${g} />`:i&&r`<p class="quiet">What it changed is too long to be shown.</p>`}
    ${i&&r`<p class="actions"><a href=${x([$,c],{at:l})} aria-describedby=${n}>Show</a>
      ${!e&&r`<button type="button" class="small" aria-describedby=${n} aria-expanded=${s}
          onClick=${()=>a(!s)}>Compare with now</button>
        <button type="button" class="small" aria-describedby=${n} onClick=${()=>t.begin(l)}>Revert</button>`}</p>
      ${s&&r`<${K} collection=${$} id=${c} at=${l} />`}`}
  </li>`}export{xe as HistoryPage,Z as Version,Y as versionOf};
