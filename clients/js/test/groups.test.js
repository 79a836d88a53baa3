import assert from "node:assert/strict";
import { test } from "node:test";
import { Fanfold, FanfoldError } from "../dist/index.js";
import { start } from "./server.js";

/** until waits for a condition. */
async function until(fn) {
  while (!fn()) await new Promise((resolve) => setTimeout(resolve, 5));
}

test("the members of a group handle every change, in order of each document, through kills and errors", async (t) => {
  const s = await start(t), db = new Fanfold(s.url, { retryFor: 120_000 }), c = db.collection("c");
  await db.groups.put("index", { partitions: 4, lease: "2s" });
  const seen = new Map(), stops = [], members = [];
  let failures = 0, handled = 0;
  for (let m = 0; m < 3; m++) {
    const stop = new AbortController();
    stops.push(stop);
    members.push(new Fanfold(s.url, { retryFor: 120_000 }).consume("index", {
      member: "m" + m, signal: stop.signal, includeDocs: true, batchSize: 5,
      handle: async (changes, { partition, token, position, signal }) => {
        assert.ok(partition >= 0 && token && position && !signal.aborted);
        if (failures < 3 && handled > 10) {
          failures++;
          throw new Error("not now");
        }
        handled++;
        for (const x of changes) seen.set(x.id, [...(seen.get(x.id) ?? []), x.doc.n]);
      },
    }));
  }
  for (let n = 0; n < 80; n++) {
    await c.put("d" + (n % 8), { n });
    if (n === 40) {
      await s.kill();
      await s.up();
    }
    if (n === 60) stops[0].abort(new Error("enough"));
  }
  await until(() => seen.size === 8 && [...seen.values()].every((of) => of.at(-1) >= 72));
  for (const stop of stops) stop.abort(new Error("enough"));
  await Promise.all(members);
  for (const of of seen.values()) assert.deepEqual(of, [...of].sort((a, b) => a - b));
  assert.equal((await db.groups.get("index")).members.length, 0);
  assert.ok((await db.groups.list()).groups.length === 1);
  await db.groups.delete("index");
  await assert.rejects(db.consume("index", { handle: () => {} }), (error) => error instanceof FanfoldError && error.code === "not-found");
});

test("all watches share one feed, and show each state", async (t) => {
  const s = await start(t), requests = [];
  const db = new Fanfold(s.url, { retryFor: 120_000, fetch: (...of) => (requests.push(String(of[0])), fetch(...of)) }), c = db.collection("c");
  await c.put("a", { n: 0 });
  const states = { a: [], b: [] }, stop = new AbortController(), why = new Error("enough");
  const watching = Object.keys(states).map(async (id) => {
    for await (const doc of c.watch(id, { signal: stop.signal })) states[id].push(doc?.n ?? doc);
  });
  await until(() => states.a.length === 1 && states.b.length === 1);
  assert.deepEqual(states, { a: [0], b: [null] });
  for (const [id, n] of [["a", 1], ["b", 2], ["a", 3]]) {
    await c.put(id, { n });
    await until(() => states[id].at(-1) === n);
  }
  await s.kill();
  await s.up();
  await c.delete("a");
  await until(() => states.a.at(-1) === null);
  await c.put("a", { n: 4 });
  await until(() => states.a.at(-1) === 4);
  assert.deepEqual(states, { a: [0, 1, 3, null, 4], b: [null, 2] });
  const feeds = requests.filter((url) => url.includes("/_changes")).length;
  assert.ok(feeds >= 1 && feeds < 40, `${feeds} feeds`);
  stop.abort(why);
  for (const w of watching) await assert.rejects(w, (error) => error === why);
  for await (const doc of c.watch("b")) {
    assert.equal(doc.n, 2);
    break;
  }
});

test("a watch begins before the first document of its collection", async (t) => {
  const s = await start(t), c = new Fanfold(s.url).collection("c"), states = [];
  for await (const doc of c.watch("a")) {
    states.push(doc?.n ?? doc);
    if (doc) break;
    await new Fanfold(s.url).collection("c").put("a", { n: 1 });
  }
  assert.deepEqual(states, [null, 1]);
});
