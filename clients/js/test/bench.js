// Ratios to what the same machine does without the client, in one run: npm run bench.
import { Fanfold, parse } from "../dist/index.js";
import { start } from "./server.js";

const ends = [], s = await start({ after: (fn) => ends.push(fn) }), db = new Fanfold(s.url), c = db.collection("c");
const doc = { title: "x".repeat(200), n: 1, tags: ["a", "b"], more: { of: "it".repeat(100) } };
for (let i = 0; i < 1000; i++) await c.put("d" + i, doc);

/** rate returns how often a second fn is done by 64 at once, for two seconds. */
async function rate(fn) {
  const end = performance.now() + 2000;
  let n = 0;
  await Promise.all(Array.from({ length: 64 }, async (_, w) => {
    for (let i = w; performance.now() < end; i += 64, n++) await fn(i % 1000);
  }));
  return n / 2;
}

/** compare prints the median of three rounds beside the limit's. */
async function compare(name, ours, limit) {
  const a = [], b = [];
  for (let i = 0; i < 3; i++) {
    a.push(await ours());
    b.push(await limit());
  }
  const [x, y] = [a, b].map((of) => of.sort((p, q) => p - q)[1]);
  console.log(`${name.padEnd(40)} ${Math.round(x)}/s  limit ${Math.round(y)}/s  ratio ${(x / y).toFixed(2)}`);
}

const json = { "Content-Type": "application/json" };
await compare("get at 64", () => rate((i) => c.get("d" + i)), () => rate(async (i) => (await fetch(`${s.url}/v1/c/d${i}`, { cache: "no-store" })).json()));
await compare("put at 64", () => rate((i) => c.put("d" + i, doc)),
  () => rate(async (i) => (await fetch(`${s.url}/v1/c/d${i}`, { method: "PUT", headers: { ...json, "Idempotency-Key": crypto.randomUUID() }, body: JSON.stringify(doc) })).text()));

const text = JSON.stringify(Array.from({ length: 2000 }, (_, i) => ({ ...doc, id: "d" + i, price: 12.5 + i })));
const reads = (fn) => async () => {
  const began = performance.now();
  let n = 0;
  for (; performance.now() - began < 1000; n++) fn(text);
  return n;
};
await compare("exact numbers, ordinary documents", reads((t) => parse(t)), reads((t) => JSON.parse(t)));

/** feed reads lines for the whole feed, once. */
const seq = async (of) => {
  const began = performance.now(), n = await of();
  return (1000 * n) / (performance.now() - began);
};
for (let i = 0; i < 20000; i += 100) await Promise.all(Array.from({ length: 100 }, (_, k) => c.put("f" + (i + k), doc)));
const rows = 21000;
await compare("lines of the feed", () => seq(async () => {
  let n = 0;
  for await (const _ of db.changes({ includeDocs: true })) if (++n === rows) return n;
}), () => seq(async () => {
  const stop = new AbortController(), a = await fetch(`${s.url}/v1/_changes?feed=continuous&since=0&include_docs=true&heartbeat=10000`, { signal: stop.signal });
  let rest = "", n = 0;
  for await (const part of a.body.pipeThrough(new TextDecoderStream())) {
    const of = (rest + part).split("\n");
    rest = of.pop();
    for (const line of of) if (line && JSON.parse(line).seq && ++n === rows) return stop.abort(), n;
  }
}));
for (const fn of ends) await fn();
