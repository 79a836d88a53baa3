import assert from "node:assert/strict";
import { test } from "node:test";
import { Fanfold, FanfoldError } from "../dist/index.js";
import { lines } from "../dist/streams.js";
import { chaos, seeded, start } from "./server.js";

test("a feed has every change, through restarts and broken connections", async (t) => {
  const s = await start(t), db = new Fanfold(s.url, { retryFor: 120_000 }), c = db.collection("c");
  const got = [], feed = new Fanfold(s.url, { retryFor: 120_000 }).changes({ mode: "all", includeDocs: true, heartbeat: 1000 });
  const reading = (async () => {
    for await (const change of feed) {
      got.push(change.doc?.n);
      if (change.id === "last") return;
    }
  })();
  for (let n = 0; n < 90; n++) {
    await c.put("d" + (n % 7), { n });
    if (n % 30 === 15) {
      await s.kill();
      await s.up();
    }
  }
  await c.put("last", { n: 90 });
  await reading;
  assert.deepEqual(got, Array.from({ length: 91 }, (_, n) => n));
});

test("a list through a proxy that cuts it leaves nothing out", async (t) => {
  const s = await start(t), c = new Fanfold(s.url).collection("c");
  for (let n = 0; n < 50; n++) await c.put("d" + n, { n });
  const url = await chaos(t, s.port, seeded(7), 0.6), got = new Set();
  const db = new Fanfold(url, { retryFor: 60_000 });
  while (got.size < 50) {
    const page = await db.collection("c").list({ limit: 7 }).page();
    assert.equal(page.items.length, 7);
    for await (const d of db.collection("c").list({ limit: 9 })) got.add(d.id);
  }
});

test("a position moves where the filter lets nothing through, and a wrong one is a 410", async (t) => {
  const s = await start(t), db = new Fanfold(s.url), c = db.collection("c");
  const last = await c.put("x", { n: 1 });
  const stop = new AbortController(), feed = db.changes({ filter: "doc.n > 5", heartbeat: 1000, signal: stop.signal });
  const reading = (async () => {
    for await (const _ of feed) assert.fail();
  })();
  while (feed.position.split("-")[0] !== last.position.split("-")[0]) await new Promise((resolve) => setTimeout(resolve, 10));
  stop.abort(new Error("enough"));
  await assert.rejects(reading, /enough/);
  await assert.rejects((async () => {
    for await (const _ of db.changes({ since: "1-0-aaaaaaaa" })) assert.fail();
  })(), (error) => error instanceof FanfoldError && error.code === "store-changed" && error.status === 410 && !!error.oldest);
  for await (const change of db.changes({ collections: ["c"] })) {
    assert.equal(change.id, "x");
    break; // ends the request
  }
});

test("lines are the same wherever a stream is cut", async () => {
  const text = '{"a":"é山"}\n\n{"b":1}\n', bytes = new TextEncoder().encode(text);
  for (let cut = 0; cut <= bytes.length; cut++) {
    const got = [];
    for await (const line of lines(new ReadableStream({
      start(to) {
        for (const part of [bytes.slice(0, cut), bytes.slice(cut)]) if (part.length) to.enqueue(part);
        to.close();
      },
    }), 100)) got.push(line);
    assert.deepEqual(got, ['{"a":"é山"}', "", '{"b":1}']);
  }
});

test("a feed goes on with another key once its own is revoked, and throws where none works", async (t) => {
  const s = await start(t, { key: true }), db = new Fanfold(s.url, { key: s.key }), c = db.collection("c");
  const ask = async (method, path, body) => (await fetch(s.url + path, { method, headers: { Authorization: "Bearer " + s.key, "Content-Type": "application/json" }, body: body && JSON.stringify(body) })).json().catch(() => {});
  const made = [await ask("POST", "/v1/_keys", { name: "one", roles: ["admin"] }), await ask("POST", "/v1/_keys", { name: "two", roles: ["admin"] })];
  let at = 0;
  const asked = [], feed = new Fanfold(s.url, { key: (again) => (asked.push(again), again && at < 1 && at++, made[at].key) }).changes({ mode: "all", heartbeat: 100 });
  const seen = [], reading = (async () => {
    for await (const change of feed) seen.push(change.id);
  })();
  const failed = assert.rejects(reading, (error) => error instanceof FanfoldError && error.code === "unauthenticated");
  for (let n = 0; n < 2; n++) {
    await c.put("d" + n, {});
    while (seen.length <= n) await new Promise((resolve) => setTimeout(resolve, 5));
    await ask("DELETE", "/v1/_keys/" + made[n].id);
    while (at < 1) await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await failed;
  assert.deepEqual(seen, ["d0", "d1"]);
  assert.ok(asked.filter((again) => again).length === 2, String(asked));
});
