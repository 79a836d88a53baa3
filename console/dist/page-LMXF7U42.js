import{a as B,d as W,g as _}from"./chunk-CPSA4ANE.js";import{S as P,b as f,c as y,e as A,f as F,ja as E,k as s,ka as z,oa as g,s as R,u as D,ua as x,ya as V}from"./chunk-JCWJPE4V.js";var j={rows:2e3,size:8<<20},b=class{constructor(){this.items=[],this.rows=0,this.size=0,this.gone=0}add(e){for(let o of e)for(this.#e(o);this.rows>j.rows||this.size>j.size&&this.rows>1;)this.#t()}#e(e){let o=P(e.seq),n=e.op==="derive";(!n||this.items[0]?.event!==o)&&this.items.unshift({seq:e.seq,event:o,write:n?void 0:e,cause:e.cause,whole:n&&e.seq.split("-")[1]==="0",time:e.time,derived:0,rows:[],gone:0}),n&&(this.items[0].derived++,this.items[0].rows.push(e)),this.rows++,this.size+=e.size}#t(){let e=this.items[this.items.length-1],o=e.rows.shift();o&&e.gone++,e.rows.length===0&&(!o||!e.write)&&this.items.length>1&&this.items.pop(),this.rows--,this.size-=o?.size??0,this.gone++}};function I(t){let e=new Map;for(let o of t)for(let n of o.cause?.rules??[o.cause?.rule??""]){let c=e.get(n);c?c.push(o):e.set(n,[o])}return[...e]}var H=100;function M(t,e,o){let n=E(),[c,l]=f(0),i=JSON.stringify([t,e]),a=A({asked:"",rows:new b,position:""});a.current.asked!==i&&(a.current={asked:i,rows:new b,position:""});let[$,m]=f({version:0,asked:i,state:"off",problem:void 0});y(()=>{if(o||n)return;let d=new AbortController,p=a.current,C=0,k=r=>m(v=>({...v,...r,asked:i,version:v.version+1})),O=()=>{C||=setTimeout(()=>{C=0,k({})},H)};return k({state:"off",problem:void 0}),B({query:e,since:p.position||t,signal:d.signal,onRows:r=>{p.rows.add(r),O()},onPosition:r=>{p.position=r,O()},onState:(r,v)=>k({state:r,problem:v})}).then(r=>{r&&!d.signal.aborted&&k({state:"ended",problem:r})}),()=>{d.abort(),clearTimeout(C)}},[i,o,n,c]);let u=()=>l(d=>d+1),S=()=>{a.current={asked:i,rows:new b,position:""},u()},{state:h,problem:w}=$.asked===i?$:{state:"off",problem:void 0};return{kept:a.current.rows,position:a.current.position,state:h,problem:w,again:u,anew:S}}var q=100,L={off:"Beginning",open:"Following",cut:"Waiting",ended:"Ended"};function le({place:t}){let{params:e}=t,o=e.get("since")||"now",n=N(e),[c,l]=f(!1),{kept:i,state:a,problem:$,position:m,again:u,anew:S}=M(o,{...n,mode:"all"},c),[h,w]=f(q);y(()=>w(q),[e]);let d=$?.of.oldest;return s`
    <${Y} params=${e} since=${o} again=${S} />
    <p class="actions">
      ${c?s`<button type="button" onClick=${()=>l(!1)}>Resume</button>`:s`<button type="button"
        onClick=${()=>l(!0)}>Pause</button>`}
      <span class="quiet"><span role="status">${c?"Paused":L[a]}</span>${m&&s` at <code>${m}</code>`}
        </span>
    </p>
    ${!c&&s`<${_} state=${a} problem=${$} again=${u}>${d&&s`<p><a
      href=${R(["_changes"],{...n,since:d})}>Begin at ${d}</a></p>`}<//>`}
    <ul aria-label="Changes" class="changes">${i.items.slice(0,h).map(p=>s`<${J} key=${p.seq} item=${p}
      derived=${p.derived} gone=${p.gone} />`)}</ul>
    ${i.items.length===0&&a!=="ended"&&s`<p class="quiet">No change has come yet.</p>`}
    ${i.items.length>h&&s`<p><button type="button" onClick=${()=>w(h+q)}>Show ${q} more</button></p>`}
    ${i.gone>0&&s`<p class="quiet">${i.gone.toLocaleString("en")} older rows are not kept here.</p>`}
    <${V} asked=${{path:["_changes"],query:{...n,mode:"all",feed:"continuous",since:o}}} />`}var N=t=>Object.fromEntries(["collections","filter","params","derived","cascades","partition"].map(e=>[e,t.get(e)??""]).filter(([,e])=>e!=="")),T=50;function J({item:t,derived:e,gone:o}){let[n,c]=f(!1);return F(()=>s`<li>
    <${X} item=${t} /> <code>${t.write?.seq??t.cause?.seq??t.seq}</code> <time class="quiet" datetime=${t.time}>
      ${t.time}</time><${G} item=${t} />
    ${e>0&&s` <button type="button" aria-expanded=${n} onClick=${()=>c(!n)}>
      ${x(e)} derived change${e===1?"":"s"}</button>`}
    ${n&&s`<div class="derived">
      ${o>0&&s`<p class="quiet">${x(o)} of them are not kept here.</p>`}
      ${I(t.rows).map(([l,i])=>s`<${Q} key=${l} rule=${l} rows=${i} />`)}</div>`}
  </li>`,[t,e,o,n])}function X({item:{write:t,cause:e,whole:o}}){return t?s`<${g} collection=${t.collection} id=${t.id} /> <strong>${t.op}</strong>`:e?.collection?s`<${g} collection=${e.collection} id=${e.id} />`:o?"The model":e?.rule==="erase"?"An erasure":"A document that you may not read"}var G=({item:{write:t}})=>s`${t?.actor&&s` by <${z} text=${t.actor} max=${80} />`}${t?.cause?.collection&&s` <span class="quiet">because of <${g} collection=${t.cause.collection} id=${t.cause.id} /></span>`}`;function Q({rule:t,rows:e}){let[o,n]=f(T);return s`<h2><${z} text=${t} max=${200} />: ${x(e.length)}</h2>
    <ul>${e.slice(0,o).map(c=>s`<${U} key=${c.seq} row=${c} />`)}</ul>
    ${e.length>o&&s`<button type="button" onClick=${()=>n(o+T)}>Show ${T} more of ${t}
      </button>`}`}var U=({row:t})=>F(()=>s`<li><${g} collection=${t.collection} id=${t.id} /> <${W} patch=${t.patch} max=${5} /></li>`,[t]);function Y({params:t,since:e,again:o}){let n=c=>{c.preventDefault();let l=new FormData(c.currentTarget),i=u=>String(l.get(u)??"").trim()||void 0,a=i("collections")?.split(/[\s,]+/).filter(Boolean).join(","),$=Object.fromEntries(["params","cascades","partition"].map(u=>[u,t.get(u)])),m=R(["_changes"],{since:i("since"),collections:a,filter:i("filter"),derived:l.get("derived")?void 0:"exclude",...$});m===location.hash?o():D(m)};return s`<form aria-label="Feed" class="query" key=${t.toString()} onSubmit=${n}>
    <label>From <input name="since" defaultValue=${e} title="now, 0, a position or a time" autocomplete="off" /></label>
    <label>Collections <input name="collections" defaultValue=${t.get("collections")??""}
      title="names, separated by commas; none for all" autocomplete="off" spellcheck=${!1} /></label>
    <label>Filter <input name="filter" defaultValue=${t.get("filter")??""} title="an expression over doc, previous and change"
      autocomplete="off" spellcheck=${!1} /></label>
    <label class="box"><input type="checkbox" name="derived"
      defaultChecked=${t.get("derived")!=="exclude"} /> Derived changes</label>
    <button type="submit">Follow</button>
  </form>`}export{J as ChangeItem,le as ChangesPage,Y as Choice};
