import{$ as B,B as P,Ba as I,Pa as M,S as D,a as R,aa as E,d as A,da as b,ja as q,na as W,ta as _,wa as j}from"./chunk-3RB4IFIX.js";import{O as V,b as m,c as C,e as O,f as F,l as n}from"./chunk-JD54O3BL.js";var x=100,N={off:"Beginning",open:"Following",cut:"Waiting",ended:"Ended"};function ue({place:t}){let{params:e}=t,o=e.get("since")||"now",s=J(e),[c,a]=m(!1),{kept:i,state:l,problem:f,position:$,again:u,anew:S}=te(o,{...s,mode:"all"},c),[h,v]=m(x);C(()=>v(x),[e]);let d=f?.of.oldest,g=l==="off"&&!c&&i.items.length===0;return n`
    <${Z} params=${e} since=${o} again=${S} />
    <p class="actions">
      ${c?n`<button type="button" onClick=${()=>a(!1)}>Resume</button>`:n`<button type="button"
        onClick=${()=>a(!0)}>Pause</button>`}
      <span class="quiet"><span role="status">${c?"Paused":N[l]}</span>${$&&n` at <code>${$}</code>`}
        </span>
    </p>
    ${!c&&n`<${j} state=${l} problem=${f} again=${u}>${d&&n`<p><a
      href=${R(["_changes"],{...s,since:d})}>Begin at ${d}</a></p>`}<//>`}
    <${M} of=${{value:g?void 0:i,cancel:()=>a(!0)}}>
    <ul aria-label="Changes" class="changes">${i.items.slice(0,h).map(p=>n`<${X} key=${p.seq} item=${p}
      derived=${p.derived} gone=${p.gone} />`)}</ul>
    ${i.items.length===0&&l!=="ended"&&n`<p class="quiet">No change has come yet.</p>`}
    ${i.items.length>h&&n`<p><button type="button" onClick=${()=>v(h+x)}>Show ${x} more</button></p>`}
    ${i.gone>0&&n`<p class="quiet">${i.gone.toLocaleString("en")} older rows are not kept here.</p>`}
    <//>
    <${W} asked=${{path:["_changes"],query:{...s,mode:"all",feed:"continuous",since:o}}} />`}var J=t=>Object.fromEntries(["collections","filter","params","derived","cascades","partition"].map(e=>[e,t.get(e)??""]).filter(([,e])=>e!=="")),T=50;function X({item:t,derived:e,gone:o}){let[s,c]=m(!1);return F(()=>n`<li>
    <${G} item=${t} /> <span class="quiet"><${E} text=${t.time}
      position=${H(t)} /></span><${Q} item=${t} /> <code class="quiet one-line">${H(t)}</code>
    ${e>0&&n` <button type="button" class="small" aria-expanded=${s} onClick=${()=>c(!s)}>
      ${q(e)} derived change${e===1?"":"s"}</button>`}
    ${s&&n`<div class="derived">
      ${o>0&&n`<p class="quiet">${q(o)} of them are not kept here.</p>`}
      ${K(t.rows).map(([a,i])=>n`<${U} key=${a} rule=${a} rows=${i} />`)}</div>`}
  </li>`,[t,e,o,s])}var H=({write:t,cause:e,seq:o})=>t?.seq??e?.seq??o;function G({item:{write:t,cause:e,whole:o}}){return t?n`<${b} collection=${t.collection} id=${t.id} /> <strong>${t.op}</strong>`:e?.collection?n`<${b} collection=${e.collection} id=${e.id} />`:o?"The model":e?.rule==="erase"?"An erasure":"A document that you may not read"}var Q=({item:{write:t}})=>n`${t?.actor&&n` by <${I} of=${t.actor} />`}${t?.cause?.collection&&n` <span class="quiet">because of <${b} collection=${t.cause.collection} id=${t.cause.id} /></span>`}`;function U({rule:t,rows:e}){let[o,s]=m(T);return n`<h2><${B} text=${t} max=${200} />: ${q(e.length)}</h2>
    <ul>${e.slice(0,o).map(c=>n`<${Y} key=${c.seq} row=${c} />`)}</ul>
    ${e.length>o&&n`<button type="button" onClick=${()=>s(o+T)}>Show ${T} more of ${t}
      </button>`}`}var Y=({row:t})=>F(()=>n`<li><${b} collection=${t.collection} id=${t.id} /> <${_} patch=${t.patch} max=${5} /></li>`,[t]);function Z({params:t,since:e,again:o}){let s=c=>{c.preventDefault();let a=new FormData(c.currentTarget),i=u=>String(a.get(u)??"").trim()||void 0,l=i("collections")?.split(/[\s,]+/).filter(Boolean).join(","),f=Object.fromEntries(["params","cascades","partition"].map(u=>[u,t.get(u)])),$=R(["_changes"],{since:i("since"),collections:l,filter:i("filter"),derived:a.get("derived")?void 0:"exclude",...f});$===location.hash?o():A($)};return n`<form aria-label="Feed" class="query" key=${t.toString()} onSubmit=${s}>
    <label>From <input name="since" defaultValue=${e} title="now, 0, a position or a time" autocomplete="off" /></label>
    <label>Collections <input name="collections" defaultValue=${t.get("collections")??""}
      title="names, separated by commas; none for all" autocomplete="off" spellcheck=${!1} /></label>
    <label>Filter <input name="filter" defaultValue=${t.get("filter")??""} title="an expression over doc, previous and change"
      autocomplete="off" spellcheck=${!1} /></label>
    <label class="box"><input type="checkbox" name="derived"
      defaultChecked=${t.get("derived")!=="exclude"} /> Derived changes</label>
    <button type="submit">Follow</button>
  </form>`}var L={rows:2e3,size:8<<20},w=class{constructor(){this.items=[],this.rows=0,this.size=0,this.gone=0}add(e){for(let o of e)for(this.#e(o);this.rows>L.rows||this.size>L.size&&this.rows>1;)this.#t()}#e(e){let o=P(e.seq),s=e.op==="derive";(!s||this.items[0]?.event!==o)&&this.items.unshift({seq:e.seq,event:o,write:s?void 0:e,cause:e.cause,whole:s&&e.seq.split("-")[1]==="0",time:e.time,derived:0,rows:[],gone:0}),s&&(this.items[0].derived++,this.items[0].rows.push(e)),this.rows++,this.size+=e.size}#t(){let e=this.items[this.items.length-1],o=e.rows.shift();o&&e.gone++,e.rows.length===0&&(!o||!e.write)&&this.items.length>1&&this.items.pop(),this.rows--,this.size-=o?.size??0,this.gone++}};function K(t){let e=new Map;for(let o of t)for(let s of o.cause?.rules??[o.cause?.rule??""]){let c=e.get(s);c?c.push(o):e.set(s,[o])}return[...e]}var ee=100;function te(t,e,o){let s=V(),[c,a]=m(0),i=JSON.stringify([t,e]),l=O({asked:"",rows:new w,position:""});l.current.asked!==i&&(l.current={asked:i,rows:new w,position:""});let[f,$]=m({version:0,asked:i,state:"off",problem:void 0});C(()=>{if(o||s)return;let d=new AbortController,g=l.current,p=0,k=r=>$(y=>({...y,...r,asked:i,version:y.version+1})),z=()=>{p||=setTimeout(()=>{p=0,k({})},ee)};return k({state:"off",problem:void 0}),D({query:e,since:g.position||t,signal:d.signal,onRows:r=>{g.rows.add(r),z()},onPosition:r=>{g.position=r,z()},onState:(r,y)=>k({state:r,problem:y})}).then(r=>{r&&!d.signal.aborted&&k({state:"ended",problem:r})}),()=>{d.abort(),clearTimeout(p)}},[i,o,s,c]);let u=()=>a(d=>d+1),S=()=>{l.current={asked:i,rows:new w,position:""},u()},{state:h,problem:v}=f.asked===i?f:{state:"off",problem:void 0};return{kept:l.current.rows,position:l.current.position,state:h,problem:v,again:u,anew:S}}export{X as ChangeItem,ue as ChangesPage,Z as Choice,w as Kept,L as MAX,K as byRule,te as useFeed};
