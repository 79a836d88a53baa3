import{a as B,b as W,e as _,h as j}from"./chunk-RWN6LVXJ.js";import{S as D,b as p,c as y,e as A,f as F,ja as P,k as s,ka as E,oa as g,s as R,u as O,ua as q,ya as V}from"./chunk-JCWJPE4V.js";var I={rows:2e3,size:8<<20},b=class{constructor(){this.items=[],this.rows=0,this.size=0,this.gone=0}add(e){for(let o of e)for(this.#e(o);this.rows>I.rows||this.size>I.size&&this.rows>1;)this.#t()}#e(e){let o=D(e.seq),n=e.op==="derive";(!n||this.items[0]?.event!==o)&&this.items.unshift({seq:e.seq,event:o,write:n?void 0:e,cause:e.cause,whole:n&&e.seq.split("-")[1]==="0",time:e.time,derived:0,rows:[],gone:0}),n&&(this.items[0].derived++,this.items[0].rows.push(e)),this.rows++,this.size+=e.size}#t(){let e=this.items[this.items.length-1],o=e.rows.shift();o&&e.gone++,e.rows.length===0&&(!o||!e.write)&&this.items.length>1&&this.items.pop(),this.rows--,this.size-=o?.size??0,this.gone++}};function M(t){let e=new Map;for(let o of t)for(let n of o.cause?.rules??[o.cause?.rule??""]){let c=e.get(n);c?c.push(o):e.set(n,[o])}return[...e]}var L=100;function H(t,e,o){let n=P(),[c,a]=p(0),i=JSON.stringify([t,e]),r=A({asked:"",rows:new b,position:""});r.current.asked!==i&&(r.current={asked:i,rows:new b,position:""});let[$,m]=p({version:0,asked:i,state:"off",problem:void 0});y(()=>{if(o||n)return;let d=new AbortController,f=r.current,C=0,k=l=>m(v=>({...v,...l,asked:i,version:v.version+1})),T=()=>{C||=setTimeout(()=>{C=0,k({})},L)};return k({state:"off",problem:void 0}),W({query:e,since:f.position||t,signal:d.signal,onRows:l=>{f.rows.add(l),T()},onPosition:l=>{f.position=l,T()},onState:(l,v)=>k({state:l,problem:v})}).then(l=>{l&&!d.signal.aborted&&k({state:"ended",problem:l})}),()=>{d.abort(),clearTimeout(C)}},[i,o,n,c]);let u=()=>a(d=>d+1),S=()=>{r.current={asked:i,rows:new b,position:""},u()},{state:h,problem:w}=$.asked===i?$:{state:"off",problem:void 0};return{kept:r.current.rows,position:r.current.position,state:h,problem:w,again:u,anew:S}}var x=100,N={off:"Beginning",open:"Following",cut:"Waiting",ended:"Ended"};function ue({place:t}){let{params:e}=t,o=e.get("since")||"now",n=J(e),[c,a]=p(!1),{kept:i,state:r,problem:$,position:m,again:u,anew:S}=H(o,{...n,mode:"all"},c),[h,w]=p(x);y(()=>w(x),[e]);let d=$?.of.oldest;return s`
    <${Z} params=${e} since=${o} again=${S} />
    <p class="actions">
      ${c?s`<button type="button" onClick=${()=>a(!1)}>Resume</button>`:s`<button type="button"
        onClick=${()=>a(!0)}>Pause</button>`}
      <span class="quiet"><span role="status">${c?"Paused":N[r]}</span>${m&&s` at <code>${m}</code>`}
        </span>
    </p>
    ${!c&&s`<${j} state=${r} problem=${$} again=${u}>${d&&s`<p><a
      href=${R(["_changes"],{...n,since:d})}>Begin at ${d}</a></p>`}<//>`}
    <ul aria-label="Changes" class="changes">${i.items.slice(0,h).map(f=>s`<${X} key=${f.seq} item=${f}
      derived=${f.derived} gone=${f.gone} />`)}</ul>
    ${i.items.length===0&&r!=="ended"&&s`<p class="quiet">No change has come yet.</p>`}
    ${i.items.length>h&&s`<p><button type="button" onClick=${()=>w(h+x)}>Show ${x} more</button></p>`}
    ${i.gone>0&&s`<p class="quiet">${i.gone.toLocaleString("en")} older rows are not kept here.</p>`}
    <${V} asked=${{path:["_changes"],query:{...n,mode:"all",feed:"continuous",since:o}}} />`}var J=t=>Object.fromEntries(["collections","filter","params","derived","cascades","partition"].map(e=>[e,t.get(e)??""]).filter(([,e])=>e!=="")),z=50;function X({item:t,derived:e,gone:o}){let[n,c]=p(!1);return F(()=>s`<li>
    <${G} item=${t} /> <code>${t.write?.seq??t.cause?.seq??t.seq}</code> <time class="quiet" datetime=${t.time}>
      ${t.time}</time><${Q} item=${t} />
    ${e>0&&s` <button type="button" aria-expanded=${n} onClick=${()=>c(!n)}>
      ${q(e)} derived change${e===1?"":"s"}</button>`}
    ${n&&s`<div class="derived">
      ${o>0&&s`<p class="quiet">${q(o)} of them are not kept here.</p>`}
      ${M(t.rows).map(([a,i])=>s`<${U} key=${a} rule=${a} rows=${i} />`)}</div>`}
  </li>`,[t,e,o,n])}function G({item:{write:t,cause:e,whole:o}}){return t?s`<${g} collection=${t.collection} id=${t.id} /> <strong>${t.op}</strong>`:e?.collection?s`<${g} collection=${e.collection} id=${e.id} />`:o?"The model":e?.rule==="erase"?"An erasure":"A document that you may not read"}var Q=({item:{write:t}})=>s`${t?.actor&&s` by <${B} of=${t.actor} />`}${t?.cause?.collection&&s` <span class="quiet">because of <${g} collection=${t.cause.collection} id=${t.cause.id} /></span>`}`;function U({rule:t,rows:e}){let[o,n]=p(z);return s`<h2><${E} text=${t} max=${200} />: ${q(e.length)}</h2>
    <ul>${e.slice(0,o).map(c=>s`<${Y} key=${c.seq} row=${c} />`)}</ul>
    ${e.length>o&&s`<button type="button" onClick=${()=>n(o+z)}>Show ${z} more of ${t}
      </button>`}`}var Y=({row:t})=>F(()=>s`<li><${g} collection=${t.collection} id=${t.id} /> <${_} patch=${t.patch} max=${5} /></li>`,[t]);function Z({params:t,since:e,again:o}){let n=c=>{c.preventDefault();let a=new FormData(c.currentTarget),i=u=>String(a.get(u)??"").trim()||void 0,r=i("collections")?.split(/[\s,]+/).filter(Boolean).join(","),$=Object.fromEntries(["params","cascades","partition"].map(u=>[u,t.get(u)])),m=R(["_changes"],{since:i("since"),collections:r,filter:i("filter"),derived:a.get("derived")?void 0:"exclude",...$});m===location.hash?o():O(m)};return s`<form aria-label="Feed" class="query" key=${t.toString()} onSubmit=${n}>
    <label>From <input name="since" defaultValue=${e} title="now, 0, a position or a time" autocomplete="off" /></label>
    <label>Collections <input name="collections" defaultValue=${t.get("collections")??""}
      title="names, separated by commas; none for all" autocomplete="off" spellcheck=${!1} /></label>
    <label>Filter <input name="filter" defaultValue=${t.get("filter")??""} title="an expression over doc, previous and change"
      autocomplete="off" spellcheck=${!1} /></label>
    <label class="box"><input type="checkbox" name="derived"
      defaultChecked=${t.get("derived")!=="exclude"} /> Derived changes</label>
    <button type="submit">Follow</button>
  </form>`}export{X as ChangeItem,ue as ChangesPage,Z as Choice};
