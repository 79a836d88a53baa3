// Ratios to what the same machine does without the client, in one run: npm run bench. CHANGES=100000 takes less time.
import { Fanfold, parse } from "../dist/index.js";
import { start } from "./server.js";

const ends = [], s = await start({ after: (fn) => ends.push(fn) }), db = new Fanfold(s.url), c = db.collection("c");
const doc = { title: "x".repeat(200), n: 1, tags: ["a", "b"], more: { of: "it".repeat(100) } };
for (let i = 0; i < 1000; i++) await c.put("d" + i, doc);

const median = (of) => of.sort((p, q) => p - q)[of.length >> 1];

/** rate does fn by 64 at once for half a second. It returns how often a second, and how much processor time each took. */
async function rate(fn) {
  const cpu = process.cpuUsage(), began = performance.now(), end = began + 500;
  let n = 0;
  await Promise.all(Array.from({ length: 64 }, async (_, w) => {
    for (let i = w; performance.now() < end; i += 64, n++) await fn(i % 1000);
  }));
  return { rate: (1000 * n) / (performance.now() - began), cost: process.cpuUsage(cpu).user / n };
}

/** compare prints the medians of rounds, which take turns, and of the ratios of two rounds beside each other. */
async function compare(name, ours, limit, rounds = 15) {
  const a = [], b = [];
  await ours();
  await limit();
  for (let i = 0; i < rounds; i++) {
    const turns = [async () => a.push(await ours()), async () => b.push(await limit())];
    for (const turn of i % 2 ? turns : turns.reverse()) await turn();
  }
  const of = (member, x = a) => median(x.map((r) => r[member])), ratio = median(a.map((r, i) => r.rate / b[i].rate));
  console.log(`${name.padEnd(40)} ${Math.round(of("rate"))}/s  limit ${Math.round(of("rate", b))}/s  ratio ${ratio.toFixed(2)}  by processor time ${(median(b.map((r) => r.cost)) / median(a.map((r) => r.cost))).toFixed(2)}`);
}

const json = { "Content-Type": "application/json" };
await compare("get at 64", () => rate((i) => c.get("d" + i)), () => rate(async (i) => (await fetch(`${s.url}/v1/c/d${i}`, { cache: "no-store" })).json()));
await compare("put at 64", () => rate((i) => c.put("d" + i, doc)),
  () => rate(async (i) => (await fetch(`${s.url}/v1/c/d${i}`, { method: "PUT", headers: { ...json, "Idempotency-Key": crypto.randomUUID() }, body: JSON.stringify(doc) })).text()));

/** timed does fn so often, and returns what rate does. */
async function timed(n, fn) {
  const cpu = process.cpuUsage(), began = performance.now();
  for (let i = 0; i < n; i++) fn();
  return { rate: (1000 * n) / (performance.now() - began), cost: process.cpuUsage(cpu).user / n };
}

const book = { title: "The Adventures of Tom Sawyer", year: 1876, price: 12.5, stock: 120, tags: ["novel", "river"], author: { id: "a1", name: "Mark Twain" }, updatedAt: "2026-11-29T08:30:12.123456Z", lines: [{ sku: "x-1", n: 3 }, { sku: "x-2", n: 5 }] };
const many = (of) => JSON.stringify(Array.from({ length: 200 }, (_, i) => ({ ...of, id: "d" + i, price: 12.5 + i })));
for (const [name, text] of [["long texts", many(doc)], ["a book", many(book)], ["numbers alone", JSON.stringify(Array.from({ length: 300 }, (_, i) => [i, i * 1.25, 1000 + i, 3.14159, 1700000000000 + i]))]])
  await compare(`exact numbers, ${name}`, () => timed(100, () => parse(text)), () => timed(100, () => JSON.parse(text)), 41);

const changes = Number(process.env.CHANGES ?? 1_000_000), kept = [];
/** heap notes how much memory is held, in MiB. */
const heap = () => (gc(), kept.push((process.memoryUsage().heapUsed + process.memoryUsage().external) / 2 ** 20));
heap();
await db.import((function* () {
  for (let i = 0; i < changes; i++) {
    if (i % (changes / 10) === 0) heap();
    yield { id: "f" + i, n: i, title: "x".repeat(60) };
  }
})(), { collection: "f" });
console.log(`an import of ${changes} documents holds, in MiB: ${kept.map((x) => x.toFixed(0)).join(" ")}`);
kept.length = 0;
let n = 0;
heap();
for await (const _ of db.changes({ includeDocs: true, collections: ["f"] })) {
  if (++n % (changes / 10) === 0) heap();
  if (n === changes) break;
}
console.log(`a feed of ${changes} changes holds, in MiB: ${kept.map((x) => x.toFixed(0)).join(" ")}`);

/** feed reads rows by of, and returns what rate does. */
async function feed(rows, of) {
  const cpu = process.cpuUsage(), began = performance.now();
  await of(rows);
  return { rate: (1000 * rows) / (performance.now() - began), cost: process.cpuUsage(cpu).user / rows };
}
await compare("lines of the feed", () => feed(20_000, async (rows) => {
  let n = 0;
  for await (const _ of db.changes({ includeDocs: true, collections: ["f"] })) if (++n === rows) return;
}), () => feed(20_000, async (rows) => {
  const stop = new AbortController(), a = await fetch(`${s.url}/v1/_changes?feed=continuous&since=0&include_docs=true&collections=f&heartbeat=10000`, { signal: stop.signal });
  let rest = "", n = 0;
  for await (const part of a.body.pipeThrough(new TextDecoderStream())) {
    const of = (rest + part).split("\n");
    rest = of.pop();
    for (const line of of) if (line && JSON.parse(line).seq && ++n === rows) return stop.abort();
  }
}), 7);
for (const fn of ends) await fn();
