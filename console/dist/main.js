import{a as Y}from"./chunk-UG6EJC7M.js";import{A as S,Ba as V,C as L,Ca as h,Da as W,E as O,F as D,Ha as G,J as f,L as v,M as F,N as R,O as g,P as y,Q as T,R as b,U as I,V as j,W as B,a as x,b as $,c as m,d as w,e as p,f as P,g as C,ia as H,k as n,ka as d,s as u,t as _,u as A,y as N,ya as M,z as E}from"./chunk-JCWJPE4V.js";var K=1e4;function U(){let[e,t]=$({word:"asking the node"}),r=v.value,o=g.value;return m(()=>{let a=new AbortController,s,i=async()=>{if(clearTimeout(s),document.hidden)return;let c=await Z(a.signal);a.signal.aborted||(t(c),clearTimeout(s),s=setTimeout(i,K))};return i(),document.addEventListener("visibilitychange",i),()=>{a.abort(),clearTimeout(s),document.removeEventListener("visibilitychange",i)}},[r,o]),n`<p role="status" aria-label="Node" aria-live="off"><span aria-live="polite"><${d} text=${e.word} max=${400} /></span>
    ${e.position&&n`, at <code>${e.position}</code>`}${e.lag&&", "+e.lag}</p>`}async function Z(e){let t=AbortSignal.any([e,AbortSignal.timeout(K)]);try{if(T("monitor")){let i=await fetch(D({path:["_status"]}),{headers:R(),cache:"no-store",signal:t}),c=await i.json();if(i.ok&&c.nodes.find(l=>l.self)?.ready)return{word:"ready",position:c.position,lag:ee(c)}}let{ok:r,of:o,status:a}=await b(t),s=Array.isArray(o.problems)?o.problems.map(i=>i.detail??i).join("; "):"";return{word:r?"ready":"not ready: "+(s||o.detail||o.title||a)}}catch{return{word:"the server cannot be reached"}}}function ee({lag:e,lagSeconds:t}){if(typeof e!="number")return"lag unknown";let r=typeof t=="number"&&t>0?`, ${t.toFixed(1)} s`:"";return e===0&&r===""?"no lag":`lag ${e.toLocaleString("en")} event${e===1?"":"s"}${r}`}function q(){let e=g.value,t=v.value,r=p(null);m(()=>{let a=new AbortController,s=async i=>{if(a.signal.aborted)return;let c=r.current;r.current=i??c,g.value=i,!(!c||!i||c.name===i.name)&&(await N(),E()&&(L(),y.value++))};return f({path:["_me"],signal:a.signal}).then(s,()=>s(null)),()=>a.abort()},[t]);let o=()=>{F(),location.reload()};return n`<span class="who">${e?.name&&n`<${d} text=${String(e.name)} max=${80} />`}${e?.open&&"open to everybody"}
    ${t!==""&&n` <button type="button" onClick=${o}>Forget key</button>`}</span>`}function z({place:e}){let t=e.params.get("cursor")||void 0,r={path:[],query:{limit:100,cursor:t}},{value:o,problem:a,again:s}=I(l=>f({...r,signal:l}),[t]),i=o&&o.collections.length===0,c=o&&!t&&!o.next&&o.collections.every(l=>l.documents===0);return n`<${h} problem=${a} again=${s} />
    ${c&&n`<${te} />`}
    ${i&&!t&&n`<${ae} />`}
    ${o&&!i&&n`<div class="scroll"><table aria-label="Collections">
      <thead><tr><th scope="col">Name</th><th scope="col" class="number">Documents</th><th scope="col">Declared</th></tr></thead>
      <tbody>${o.collections.map(l=>n`<tr key=${l.name}>
        <td><a href=${u([l.name])}><${d} text=${l.name} /></a></td><td class="number">${l.documents?.toLocaleString("en")}
          </td><td>${l.declared?"yes":"no"}</td></tr>`)}</tbody>
    </table></div>`}
    ${(t||o?.next)&&n`<p class="actions">${t&&n`<a href=${u([])}>First page</a>`}${o?.next&&n`<a
      href=${u([],{cursor:o.next})}>Next page</a>`}</p>`}
    <${ne} />
    <${M} asked=${r} />`}function te(){return n`<${Y} title="Drop your export here" onFiles=${(t,r)=>{G(t,r),A(u(["_import"]))}}>
      <p>Files as another store exports them, or a directory with a file a collection: JSON, Cosmos DB, MongoDB, CouchDB, Firestore, also as
        gzip or zstd. You see what is in them before anything is stored, and then which of their copies were wrong.</p>
    <//>
    ${W.value.length>0&&n`<p><a href=${u(["_import"])}>The files that you dropped</a></p>`}`}var oe=15e3;function ne(){let{value:e,problem:t}=B(async o=>(await f({path:["_status"],signal:o})).needs??[],[],()=>oe),r=t?.status===0?[{what:t.title,detail:""},...e??[]]:e;return r?r.length===0?n`<p class="quiet">Nothing needs attention.</p>`:n`<h2>Needs attention</h2>
    <ul aria-label="Needs attention" class="needs">${r.map(({what:o,detail:a,place:s})=>n`<li>
      <strong><${d} text=${o} max=${300} /></strong>${a&&n`: <${d} text=${a} max=${1e3} />`}
      ${s&&n` <a href=${"#"+s}><${d} text=${re(s)} max=${300} /></a>`}</li>`)}</ul>`:null}function re(e){return e==="/_status"?"Operations":e==="/_model"?"Model":decodeURIComponent(e.slice(1)).replace(/^_groups\//,"Group ")}function ae(){let e=new URL("..",document.baseURI).href.replace(/\/$/,"");return n`<h2>Or write</h2>
    <p>There is no collection yet, or none that you may read. Write a document, and its collection is there:</p>
    <pre aria-label="Write a document">${`echo '{"title":"Adam Bede"}' | fanfold put books b1 --server ${e}`}</pre>
    <p>A model says which values the store keeps right by itself. Apply one, and load documents:</p>
    <pre aria-label="Apply a model and load documents">
      ${`fanfold model apply model.yaml --server ${e}
fanfold import --collection books books.ndjson --server ${e}`}</pre>
    <p>Or look at a bookshop first, in a store of its own:</p>
    <pre aria-label="See a demo">fanfold demo</pre>`}var ie=async()=>(await import("./page-EJHSLRNS.js")).ChangesPage,se=async()=>(await import("./page-IBY5GXXO.js")).CollectionPage,le=async()=>(await import("./page-MUVWZWR5.js")).DocumentPage,ce=async()=>(await import("./page-ILLRUYKA.js")).EditPage,de=async()=>(await import("./page-ILLRUYKA.js")).NewPage,ue=async()=>(await import("./page-ELHUKY2R.js")).ModelPage,me=async()=>(await import("./page-HZ3NGDW7.js")).HistoryPage,pe=async()=>(await import("./page-U2OZEQP5.js")).ImportPage,fe=async()=>(await import("./page-P2BKTCT6.js")).StatusPage,he=async()=>(await import("./groups-AWWNYBJ4.js")).GroupPage;function J({parts:e,params:t}){return e.length===0?{page:z,title:"Collections"}:e.length===1&&e[0]==="_changes"?{load:ie,title:"Changes"}:e.length===1&&e[0]==="_status"?{load:fe,title:"Operations"}:e.length===2&&e[0]==="_groups"?{load:he,title:e[1]}:e.length===1&&e[0]==="_model"?{load:ue,title:"Model"}:e.length===1&&e[0]==="_import"?{load:pe,title:"Import"}:e[0].startsWith("_")?{page:k,title:"Nothing here"}:e.length===1&&t.has("new")?{load:de,title:"New document"}:e.length===1?{load:se,title:e[0]}:e.length===2&&t.has("edit")?{load:ce,title:e.join("/")}:e.length===2?{load:le,title:e.join("/")}:e.length===3&&e[2]==="_history"?{load:me,title:`History of ${e[0]}/${e[1]}`}:{page:k,title:"Nothing here"}}var $e=[{name:"Collections",parts:[]},{name:"Model",parts:["_model"]},{name:"Changes",parts:["_changes"]},{name:"Operations",parts:["_status"]}],ge=async()=>(await import("./page-ILLRUYKA.js")).SavedHere;function X(){let e=_.value,{page:t,load:r,title:o}=J(e),a=p(null),s=p(!0),i=e.parts.join("/");return w(()=>{document.title=H(o)+" – Fanfold",s.current||a.current?.focus(),s.current=!1},[i,o,t??r]),n`
    <a class="skip" href="#main" onClick=${l=>{l.preventDefault(),a.current?.focus()}}>Skip to content</a>
    <header><span class="name">Fanfold</span>
      <nav aria-label="Console">${$e.map(l=>n`<a href=${u(l.parts)}
        aria-current=${l.parts.join("/")===(i===""?"":i)?"page":void 0}>${l.name}</a>`)}</nav>
      <${q} />
    </header>
    <main id="main"><h1 tabindex="-1" ref=${a}><${d} text=${o} /></h1>${S.value&&n`<${Q} load=${ge}
      place=${e} />`}<${ye} key=${y.value+" "+i} place=${e}>${t?n`<${t} place=${e} />`:n`<${Q}
        load=${r} place=${e} />`}<//></main>
    <footer><${U} /></footer>
    <${V} />`}function ye({place:e,children:t}){let[r,o]=C(),a=P(()=>r&&j(r),[r]);return m(()=>{r&&o()},[e]),a?n`<${h} problem=${a} again=${o} />`:t}var be=3e3;function Q({load:e,place:t}){let[r,o]=$({});w(()=>{let i=!1,c=l=>{i||o(l)};return c({}),e().then(l=>c({page:l}),()=>c({failed:!0})),()=>{i=!0}},[e]);let{page:a,failed:s}=r;return m(()=>s?we(()=>location.reload()):void 0,[s]),s?n`<${h}
      problem=${new O(0,{title:"The page cannot be loaded",detail:"The server does not answer, or has another version by now."})} again=${()=>location.reload()} />`:a?n`<${a} place=${t} />`:null}function we(e){let t=new AbortController,r=!1,o=setInterval(async()=>{if(document.hidden)return;let a=await b(t.signal).then(s=>s.ok,()=>!1);t.signal.aborted||(a&&r&&e(),r||=!a,a&&clearInterval(o))},be);return()=>{t.abort(),clearInterval(o)}}var k=()=>n`<p>The console has no such place. See the <a href=${u([])}>collections</a>.</p>`;document.body.replaceChildren();x(n`<${X} />`,document.body);
