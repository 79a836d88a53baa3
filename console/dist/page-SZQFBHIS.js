import{$ as B,B as P,Ba as j,Pa as I,S as D,a as R,d as O,da as b,ja as q,na as E,ta as W,wa as _}from"./chunk-2RUBGJ57.js";import{O as V,b as m,c as C,e as A,f as F,l as n}from"./chunk-JD54O3BL.js";var x=100,H={off:"Beginning",open:"Following",cut:"Waiting",ended:"Ended"};function le({place:t}){let{params:e}=t,o=e.get("since")||"now",s=L(e),[c,l]=m(!1),{kept:i,state:a,problem:p,position:$,again:u,anew:S}=K(o,{...s,mode:"all"},c),[h,v]=m(x);C(()=>v(x),[e]);let d=p?.of.oldest,g=a==="off"&&!c&&i.items.length===0;return n`
    <${U} params=${e} since=${o} again=${S} />
    <p class="actions">
      ${c?n`<button type="button" onClick=${()=>l(!1)}>Resume</button>`:n`<button type="button"
        onClick=${()=>l(!0)}>Pause</button>`}
      <span class="quiet"><span role="status">${c?"Paused":H[a]}</span>${$&&n` at <code>${$}</code>`}
        </span>
    </p>
    ${!c&&n`<${_} state=${a} problem=${p} again=${u}>${d&&n`<p><a
      href=${R(["_changes"],{...s,since:d})}>Begin at ${d}</a></p>`}<//>`}
    <${I} of=${{value:g?void 0:i,cancel:()=>l(!0)}}>
    <ul aria-label="Changes" class="changes">${i.items.slice(0,h).map(f=>n`<${N} key=${f.seq} item=${f}
      derived=${f.derived} gone=${f.gone} />`)}</ul>
    ${i.items.length===0&&a!=="ended"&&n`<p class="quiet">No change has come yet.</p>`}
    ${i.items.length>h&&n`<p><button type="button" onClick=${()=>v(h+x)}>Show ${x} more</button></p>`}
    ${i.gone>0&&n`<p class="quiet">${i.gone.toLocaleString("en")} older rows are not kept here.</p>`}
    <//>
    <${E} asked=${{path:["_changes"],query:{...s,mode:"all",feed:"continuous",since:o}}} />`}var L=t=>Object.fromEntries(["collections","filter","params","derived","cascades","partition"].map(e=>[e,t.get(e)??""]).filter(([,e])=>e!=="")),z=50;function N({item:t,derived:e,gone:o}){let[s,c]=m(!1);return F(()=>n`<li>
    <${J} item=${t} /> <code>${t.write?.seq??t.cause?.seq??t.seq}</code> <time class="quiet" datetime=${t.time}>
      ${t.time}</time><${X} item=${t} />
    ${e>0&&n` <button type="button" aria-expanded=${s} onClick=${()=>c(!s)}>
      ${q(e)} derived change${e===1?"":"s"}</button>`}
    ${s&&n`<div class="derived">
      ${o>0&&n`<p class="quiet">${q(o)} of them are not kept here.</p>`}
      ${Y(t.rows).map(([l,i])=>n`<${G} key=${l} rule=${l} rows=${i} />`)}</div>`}
  </li>`,[t,e,o,s])}function J({item:{write:t,cause:e,whole:o}}){return t?n`<${b} collection=${t.collection} id=${t.id} /> <strong>${t.op}</strong>`:e?.collection?n`<${b} collection=${e.collection} id=${e.id} />`:o?"The model":e?.rule==="erase"?"An erasure":"A document that you may not read"}var X=({item:{write:t}})=>n`${t?.actor&&n` by <${j} of=${t.actor} />`}${t?.cause?.collection&&n` <span class="quiet">because of <${b} collection=${t.cause.collection} id=${t.cause.id} /></span>`}`;function G({rule:t,rows:e}){let[o,s]=m(z);return n`<h2><${B} text=${t} max=${200} />: ${q(e.length)}</h2>
    <ul>${e.slice(0,o).map(c=>n`<${Q} key=${c.seq} row=${c} />`)}</ul>
    ${e.length>o&&n`<button type="button" onClick=${()=>s(o+z)}>Show ${z} more of ${t}
      </button>`}`}var Q=({row:t})=>F(()=>n`<li><${b} collection=${t.collection} id=${t.id} /> <${W} patch=${t.patch} max=${5} /></li>`,[t]);function U({params:t,since:e,again:o}){let s=c=>{c.preventDefault();let l=new FormData(c.currentTarget),i=u=>String(l.get(u)??"").trim()||void 0,a=i("collections")?.split(/[\s,]+/).filter(Boolean).join(","),p=Object.fromEntries(["params","cascades","partition"].map(u=>[u,t.get(u)])),$=R(["_changes"],{since:i("since"),collections:a,filter:i("filter"),derived:l.get("derived")?void 0:"exclude",...p});$===location.hash?o():O($)};return n`<form aria-label="Feed" class="query" key=${t.toString()} onSubmit=${s}>
    <label>From <input name="since" defaultValue=${e} title="now, 0, a position or a time" autocomplete="off" /></label>
    <label>Collections <input name="collections" defaultValue=${t.get("collections")??""}
      title="names, separated by commas; none for all" autocomplete="off" spellcheck=${!1} /></label>
    <label>Filter <input name="filter" defaultValue=${t.get("filter")??""} title="an expression over doc, previous and change"
      autocomplete="off" spellcheck=${!1} /></label>
    <label class="box"><input type="checkbox" name="derived"
      defaultChecked=${t.get("derived")!=="exclude"} /> Derived changes</label>
    <button type="submit">Follow</button>
  </form>`}var M={rows:2e3,size:8<<20},w=class{constructor(){this.items=[],this.rows=0,this.size=0,this.gone=0}add(e){for(let o of e)for(this.#e(o);this.rows>M.rows||this.size>M.size&&this.rows>1;)this.#t()}#e(e){let o=P(e.seq),s=e.op==="derive";(!s||this.items[0]?.event!==o)&&this.items.unshift({seq:e.seq,event:o,write:s?void 0:e,cause:e.cause,whole:s&&e.seq.split("-")[1]==="0",time:e.time,derived:0,rows:[],gone:0}),s&&(this.items[0].derived++,this.items[0].rows.push(e)),this.rows++,this.size+=e.size}#t(){let e=this.items[this.items.length-1],o=e.rows.shift();o&&e.gone++,e.rows.length===0&&(!o||!e.write)&&this.items.length>1&&this.items.pop(),this.rows--,this.size-=o?.size??0,this.gone++}};function Y(t){let e=new Map;for(let o of t)for(let s of o.cause?.rules??[o.cause?.rule??""]){let c=e.get(s);c?c.push(o):e.set(s,[o])}return[...e]}var Z=100;function K(t,e,o){let s=V(),[c,l]=m(0),i=JSON.stringify([t,e]),a=A({asked:"",rows:new w,position:""});a.current.asked!==i&&(a.current={asked:i,rows:new w,position:""});let[p,$]=m({version:0,asked:i,state:"off",problem:void 0});C(()=>{if(o||s)return;let d=new AbortController,g=a.current,f=0,k=r=>$(y=>({...y,...r,asked:i,version:y.version+1})),T=()=>{f||=setTimeout(()=>{f=0,k({})},Z)};return k({state:"off",problem:void 0}),D({query:e,since:g.position||t,signal:d.signal,onRows:r=>{g.rows.add(r),T()},onPosition:r=>{g.position=r,T()},onState:(r,y)=>k({state:r,problem:y})}).then(r=>{r&&!d.signal.aborted&&k({state:"ended",problem:r})}),()=>{d.abort(),clearTimeout(f)}},[i,o,s,c]);let u=()=>l(d=>d+1),S=()=>{a.current={asked:i,rows:new w,position:""},u()},{state:h,problem:v}=p.asked===i?p:{state:"off",problem:void 0};return{kept:a.current.rows,position:a.current.position,state:h,problem:v,again:u,anew:S}}export{N as ChangeItem,le as ChangesPage,U as Choice,w as Kept,M as MAX,Y as byRule,K as useFeed};
