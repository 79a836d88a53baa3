import{a as W,b as _,e as j,h as I}from"./chunk-2CPSNNAE.js";import{a as B}from"./chunk-JSRVEYTP.js";import{E as P,P as E,T as b,Z as x,a as R,ba as V,d as O}from"./chunk-E7RJ2GXA.js";import{N as D,b as p,c as q,e as A,f as F,l as s}from"./chunk-YLTSUMXM.js";var M={rows:2e3,size:8<<20},w=class{constructor(){this.items=[],this.rows=0,this.size=0,this.gone=0}add(e){for(let o of e)for(this.#e(o);this.rows>M.rows||this.size>M.size&&this.rows>1;)this.#t()}#e(e){let o=P(e.seq),n=e.op==="derive";(!n||this.items[0]?.event!==o)&&this.items.unshift({seq:e.seq,event:o,write:n?void 0:e,cause:e.cause,whole:n&&e.seq.split("-")[1]==="0",time:e.time,derived:0,rows:[],gone:0}),n&&(this.items[0].derived++,this.items[0].rows.push(e)),this.rows++,this.size+=e.size}#t(){let e=this.items[this.items.length-1],o=e.rows.shift();o&&e.gone++,e.rows.length===0&&(!o||!e.write)&&this.items.length>1&&this.items.pop(),this.rows--,this.size-=o?.size??0,this.gone++}};function H(t){let e=new Map;for(let o of t)for(let n of o.cause?.rules??[o.cause?.rule??""]){let c=e.get(n);c?c.push(o):e.set(n,[o])}return[...e]}var N=100;function L(t,e,o){let n=D(),[c,a]=p(0),i=JSON.stringify([t,e]),r=A({asked:"",rows:new w,position:""});r.current.asked!==i&&(r.current={asked:i,rows:new w,position:""});let[$,m]=p({version:0,asked:i,state:"off",problem:void 0});q(()=>{if(o||n)return;let d=new AbortController,g=r.current,f=0,k=l=>m(y=>({...y,...l,asked:i,version:y.version+1})),T=()=>{f||=setTimeout(()=>{f=0,k({})},N)};return k({state:"off",problem:void 0}),_({query:e,since:g.position||t,signal:d.signal,onRows:l=>{g.rows.add(l),T()},onPosition:l=>{g.position=l,T()},onState:(l,y)=>k({state:l,problem:y})}).then(l=>{l&&!d.signal.aborted&&k({state:"ended",problem:l})}),()=>{d.abort(),clearTimeout(f)}},[i,o,n,c]);let u=()=>a(d=>d+1),C=()=>{r.current={asked:i,rows:new w,position:""},u()},{state:h,problem:v}=$.asked===i?$:{state:"off",problem:void 0};return{kept:r.current.rows,position:r.current.position,state:h,problem:v,again:u,anew:C}}var S=100,J={off:"Beginning",open:"Following",cut:"Waiting",ended:"Ended"};function fe({place:t}){let{params:e}=t,o=e.get("since")||"now",n=X(e),[c,a]=p(!1),{kept:i,state:r,problem:$,position:m,again:u,anew:C}=L(o,{...n,mode:"all"},c),[h,v]=p(S);q(()=>v(S),[e]);let d=$?.of.oldest,g=r==="off"&&!c&&i.items.length===0;return s`
    <${K} params=${e} since=${o} again=${C} />
    <p class="actions">
      ${c?s`<button type="button" onClick=${()=>a(!1)}>Resume</button>`:s`<button type="button"
        onClick=${()=>a(!0)}>Pause</button>`}
      <span class="quiet"><span role="status">${c?"Paused":J[r]}</span>${m&&s` at <code>${m}</code>`}
        </span>
    </p>
    ${!c&&s`<${I} state=${r} problem=${$} again=${u}>${d&&s`<p><a
      href=${R(["_changes"],{...n,since:d})}>Begin at ${d}</a></p>`}<//>`}
    <${B} of=${{value:g?void 0:i,cancel:()=>a(!0)}}>
    <ul aria-label="Changes" class="changes">${i.items.slice(0,h).map(f=>s`<${G} key=${f.seq} item=${f}
      derived=${f.derived} gone=${f.gone} />`)}</ul>
    ${i.items.length===0&&r!=="ended"&&s`<p class="quiet">No change has come yet.</p>`}
    ${i.items.length>h&&s`<p><button type="button" onClick=${()=>v(h+S)}>Show ${S} more</button></p>`}
    ${i.gone>0&&s`<p class="quiet">${i.gone.toLocaleString("en")} older rows are not kept here.</p>`}
    <//>
    <${V} asked=${{path:["_changes"],query:{...n,mode:"all",feed:"continuous",since:o}}} />`}var X=t=>Object.fromEntries(["collections","filter","params","derived","cascades","partition"].map(e=>[e,t.get(e)??""]).filter(([,e])=>e!=="")),z=50;function G({item:t,derived:e,gone:o}){let[n,c]=p(!1);return F(()=>s`<li>
    <${Q} item=${t} /> <code>${t.write?.seq??t.cause?.seq??t.seq}</code> <time class="quiet" datetime=${t.time}>
      ${t.time}</time><${U} item=${t} />
    ${e>0&&s` <button type="button" aria-expanded=${n} onClick=${()=>c(!n)}>
      ${x(e)} derived change${e===1?"":"s"}</button>`}
    ${n&&s`<div class="derived">
      ${o>0&&s`<p class="quiet">${x(o)} of them are not kept here.</p>`}
      ${H(t.rows).map(([a,i])=>s`<${Y} key=${a} rule=${a} rows=${i} />`)}</div>`}
  </li>`,[t,e,o,n])}function Q({item:{write:t,cause:e,whole:o}}){return t?s`<${b} collection=${t.collection} id=${t.id} /> <strong>${t.op}</strong>`:e?.collection?s`<${b} collection=${e.collection} id=${e.id} />`:o?"The model":e?.rule==="erase"?"An erasure":"A document that you may not read"}var U=({item:{write:t}})=>s`${t?.actor&&s` by <${W} of=${t.actor} />`}${t?.cause?.collection&&s` <span class="quiet">because of <${b} collection=${t.cause.collection} id=${t.cause.id} /></span>`}`;function Y({rule:t,rows:e}){let[o,n]=p(z);return s`<h2><${E} text=${t} max=${200} />: ${x(e.length)}</h2>
    <ul>${e.slice(0,o).map(c=>s`<${Z} key=${c.seq} row=${c} />`)}</ul>
    ${e.length>o&&s`<button type="button" onClick=${()=>n(o+z)}>Show ${z} more of ${t}
      </button>`}`}var Z=({row:t})=>F(()=>s`<li><${b} collection=${t.collection} id=${t.id} /> <${j} patch=${t.patch} max=${5} /></li>`,[t]);function K({params:t,since:e,again:o}){let n=c=>{c.preventDefault();let a=new FormData(c.currentTarget),i=u=>String(a.get(u)??"").trim()||void 0,r=i("collections")?.split(/[\s,]+/).filter(Boolean).join(","),$=Object.fromEntries(["params","cascades","partition"].map(u=>[u,t.get(u)])),m=R(["_changes"],{since:i("since"),collections:r,filter:i("filter"),derived:a.get("derived")?void 0:"exclude",...$});m===location.hash?o():O(m)};return s`<form aria-label="Feed" class="query" key=${t.toString()} onSubmit=${n}>
    <label>From <input name="since" defaultValue=${e} title="now, 0, a position or a time" autocomplete="off" /></label>
    <label>Collections <input name="collections" defaultValue=${t.get("collections")??""}
      title="names, separated by commas; none for all" autocomplete="off" spellcheck=${!1} /></label>
    <label>Filter <input name="filter" defaultValue=${t.get("filter")??""} title="an expression over doc, previous and change"
      autocomplete="off" spellcheck=${!1} /></label>
    <label class="box"><input type="checkbox" name="derived"
      defaultChecked=${t.get("derived")!=="exclude"} /> Derived changes</label>
    <button type="submit">Follow</button>
  </form>`}export{G as ChangeItem,fe as ChangesPage,K as Choice};
