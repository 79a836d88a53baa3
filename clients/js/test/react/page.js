// What a page of React sees of documents. The test says SERVER and KEY, and has what run throws.
import { Fanfold, FanfoldError } from "fanfold";
import { createElement as h, StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { useDocument } from "../../../../examples/react/useDocument.ts";
import assert from "../elsewhere/assert.js";

const db = new Fanfold(SERVER, { key: KEY }), books = db.collection("books"), others = new Fanfold(SERVER, { key: KEY }).collection("books");

/** feeds is how many feeds the server gives. */
async function feeds() {
  const metrics = await (await fetch(SERVER + "/metrics", { headers: { Authorization: "Bearer " + KEY } })).text();
  return Number(/^fanfold_feed_subscribers\{transport="continuous"\} (\d+)$/m.exec(metrics)[1]);
}

function Title({ of = books, id }) {
  const { doc, error } = useDocument(of, id);
  return h("p", null, error ? error.code : doc === undefined ? "..." : doc === null ? "none" : doc.title);
}

let renders = 0;

/** Careless asks for the collection each time that it is shown. */
function Careless({ id }) {
  renders++;
  return h("p", null, useDocument(db.collection("books"), id).doc?.title);
}

const root = createRoot(document.body.appendChild(document.createElement("div")));
const show = (...of) => root.render(h(StrictMode, null, of.map((one, key) => h(one.type ?? Title, { key, ...one }))));
const shown = () => [...document.querySelectorAll("p")].map((p) => p.textContent).join();

/** shows waits until the page shows texts. */
async function shows(...texts) {
  for (const since = Date.now(); shown() !== texts.join(); await new Promise((resolve) => setTimeout(resolve, 5)))
    if (Date.now() - since > 30_000) assert.fail(`the page shows ${shown()}, not ${texts}`);
}

async function run() {
  await others.put("b1", { title: "One" });
  show({ id: "b1" }, { id: "b1" }, { id: "b2" });
  await shows("One", "One", "none");
  await others.put("b1", { title: "Two" });
  await shows("Two", "Two", "none");
  await others.put("b2", { title: "Other" });
  await others.delete("b1");
  await shows("none", "none", "Other");
  await others.put("b1", { title: "Three" });
  await shows("Three", "Three", "Other");
  assert.equal(await feeds(), 1);

  show({ id: "b1" }, { id: "b2" });
  await shows("Three", "Other");
  await others.put("b1", { title: "Four" });
  await shows("Four", "Other");
  show();
  await shows();
  while (await feeds()) await new Promise((resolve) => setTimeout(resolve, 5));
  show({ id: "b1" });
  await shows("Four");
  await others.put("b1", { title: "Five" });
  await shows("Five");
  assert.equal(await feeds(), 1);

  show({ id: "b1", of: new Fanfold(SERVER, { key: "fan_wrong" }).collection("books") });
  await shows("unauthenticated");
  show({ type: Careless, id: "b1" });
  await shows("Five");
  assert.ok(renders < 10, `${renders} renders`);
}

await run().then(() => tell("all is well"), (error) => tell(`${error}\n${error instanceof FanfoldError ? "" : error.stack}`));

function tell(text) {
  return fetch("/said", { method: "POST", body: text });
}
