import{B as T,Ca as M,Qa as W,S as A,T as D,a as z,aa as B,ba as E,d as P,ea as b,ka as y,oa as _,ua as j,xa as I}from"./chunk-AW476DRL.js";import{O as V,b as h,c as C,e as R,f as F,l as s}from"./chunk-JD54O3BL.js";var q=100,N={off:"Beginning",open:"Following",cut:"Waiting",ended:"Ended"};function re({place:t}){let{params:e}=t,o=e.get("since")||"now",n=J(e),[c,l]=h(!1),{kept:i,state:a,problem:f,position:$,again:u,anew:x}=ee(o,{...n,mode:"all"},c),[m,k]=h(q);C(()=>k(q),[e]);let d=f?.of.oldest,g=a==="off"&&!c&&i.items.length===0;return s`
    <${Z} params=${e} since=${o} again=${x} />
    <p class="actions">
      ${c?s`<button type="button" onClick=${()=>l(!1)}>Resume</button>`:s`<button type="button"
        onClick=${()=>l(!0)}>Pause</button>`}
      <span class="quiet"><span role="status">${c?"Paused":N[a]}</span>${$&&s` at <code>${$}</code>`}
        </span>
    </p>
    ${!c&&s`<${I} state=${a} problem=${f} again=${u}>${d&&s`<p><a
      href=${z(["_changes"],{...n,since:d})}>Begin at ${d}</a></p>`}<//>`}
    <${W} of=${{value:g?void 0:i,cancel:()=>l(!0)}}>
    <ul aria-label="Changes" class="changes">${i.items.slice(0,m).map(p=>s`<${X} key=${p.seq} item=${p}
      derived=${p.derived} gone=${p.gone} />`)}</ul>
    ${i.items.length===0&&a!=="ended"&&s`<p class="quiet">No change has come yet.</p>`}
    ${i.items.length>m&&s`<p><button type="button" onClick=${()=>k(m+q)}>Show ${q} more</button></p>`}
    ${i.gone>0&&s`<p class="quiet">${i.gone.toLocaleString("en")} older rows are not kept here.</p>`}
    <//>
    <${_} asked=${{path:["_changes"],query:{...n,mode:"all",feed:"continuous",since:o}}} />`}var J=t=>Object.fromEntries(["collections","filter","params","derived","cascades","partition"].map(e=>[e,t.get(e)??""]).filter(([,e])=>e!=="")),O=50;function X({item:t,derived:e,gone:o}){let[n,c]=h(!1);return F(()=>s`<li>
    <${G} item=${t} /> <span class="quiet"><${E} text=${t.time}
      position=${H(t)} /></span><${Q} item=${t} /> <code class="quiet one-line">${H(t)}</code>
    ${e>0&&s` <button type="button" class="small" aria-expanded=${n} onClick=${()=>c(!n)}>
      ${y(e)} derived change${e===1?"":"s"}</button>`}
    ${n&&s`<div class="derived">
      ${o>0&&s`<p class="quiet">${y(o)} of them are not kept here.</p>`}
      ${K(t.rows).map(([l,i])=>s`<${U} key=${l} rule=${l} rows=${i} />`)}</div>`}
  </li>`,[t,e,o,n])}var H=({write:t,cause:e,seq:o})=>t?.seq??e?.seq??o;function G({item:{write:t,cause:e,whole:o}}){return t?s`<${b} collection=${t.collection} id=${t.id} /> <strong>${t.op}</strong>`:e?.collection?s`<${b} collection=${e.collection} id=${e.id} />`:o?"The model":e?.rule==="erase"?"An erasure":"A document that you may not read"}var Q=({item:{write:t}})=>s`${t?.actor&&s` by <${M} of=${t.actor} />`}${t?.cause?.collection&&s` <span class="quiet">because of <${b} collection=${t.cause.collection} id=${t.cause.id} /></span>`}`;function U({rule:t,rows:e}){let[o,n]=h(O);return s`<h2><${B} text=${t} max=${200} />: ${y(e.length)}</h2>
    <ul>${e.slice(0,o).map(c=>s`<${Y} key=${c.seq} row=${c} />`)}</ul>
    ${e.length>o&&s`<button type="button" onClick=${()=>n(o+O)}>Show ${O} more of ${t}
      </button>`}`}var Y=({row:t})=>F(()=>s`<li><${b} collection=${t.collection} id=${t.id} /> <${j} patch=${t.patch} max=${5} /></li>`,[t]);function Z({params:t,since:e,again:o}){let n=c=>{c.preventDefault();let l=new FormData(c.currentTarget),i=u=>String(l.get(u)??"").trim()||void 0,a=i("collections")?.split(/[\s,]+/).filter(Boolean).join(","),f=Object.fromEntries(["params","cascades","partition"].map(u=>[u,t.get(u)])),$=z(["_changes"],{since:i("since"),collections:a,filter:i("filter"),derived:l.get("derived")?void 0:"exclude",...f});$===location.hash?o():P($)};return s`<form aria-label="Feed" class="query" key=${t.toString()} onSubmit=${n}>
    <label>From <input name="since" defaultValue=${e} title="now, 0, a position or a time" autocomplete="off" /></label>
    <label>Collections <input name="collections" defaultValue=${t.get("collections")??""}
      title="names, separated by commas; none for all" autocomplete="off" spellcheck=${!1} /></label>
    <label>Filter <input name="filter" defaultValue=${t.get("filter")??""} title="an expression over doc, previous and change"
      autocomplete="off" spellcheck=${!1} /></label>
    <label class="box"><input type="checkbox" name="derived"
      defaultChecked=${t.get("derived")!=="exclude"} /> Derived changes</label>
    <button type="submit">Follow</button>
  </form>`}var L={rows:2e3,size:8<<20},w=class{constructor(){this.items=[],this.rows=0,this.size=0,this.gone=0}add(e){for(let o of e)for(this.#e(o);this.rows>L.rows||this.size>L.size&&this.rows>1;)this.#t()}#e(e){let o=T(e.seq),n=e.op==="derive";(!n||this.items[0]?.event!==o)&&this.items.unshift({seq:e.seq,event:o,write:n?void 0:e,cause:e.cause,whole:n&&e.seq.split("-")[1]==="0",time:e.time,derived:0,rows:[],gone:0}),n&&(this.items[0].derived++,this.items[0].rows.push(e)),this.rows++,this.size+=e.size}#t(){let e=this.items[this.items.length-1],o=e.rows.shift();o&&e.gone++,e.rows.length===0&&(!o||!e.write)&&this.items.length>1&&this.items.pop(),this.rows--,this.size-=o?.size??0,this.gone++}};function K(t){let e=new Map;for(let o of t)for(let n of o.cause?.rules??[o.cause?.rule??""]){let c=e.get(n);c?c.push(o):e.set(n,[o])}return[...e]}function ee(t,e,o){let n=V(),[c,l]=h(0),i=JSON.stringify([t,e]),a=R({asked:"",rows:new w,position:""});a.current.asked!==i&&(a.current={asked:i,rows:new w,position:""});let[f,$]=h({version:0,asked:i,state:"off",problem:void 0});C(()=>{if(o||n)return;let d=new AbortController,g=a.current,p=r=>$(v=>({...v,...r,asked:i,version:v.version+1})),S=D(()=>p({}));return p({state:"off",problem:void 0}),A({query:e,since:g.position||t,signal:d.signal,onRows:r=>{g.rows.add(r),S.ask()},onPosition:r=>{g.position=r,S.ask()},onState:(r,v)=>p({state:r,problem:v})}).then(r=>{r&&!d.signal.aborted&&p({state:"ended",problem:r})}),()=>{d.abort(),S.end()}},[i,o,n,c]);let u=()=>l(d=>d+1),x=()=>{a.current={asked:i,rows:new w,position:""},u()},{state:m,problem:k}=f.asked===i?f:{state:"off",problem:void 0};return{kept:a.current.rows,position:a.current.position,state:m,problem:k,again:u,anew:x}}export{X as ChangeItem,re as ChangesPage,Z as Choice,w as Kept,L as MAX,K as byRule,ee as useFeed};
