// Members of groups: leases that are lost, keys that end, batches that fail, and the end of the work.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Fanfold, FanfoldError } from "../dist/index.js";
import { start } from "./server.js";

/** until waits for a condition. */
async function until(fn) {
  while (!fn()) await new Promise((resolve) => setTimeout(resolve, 5));
}

const refused = () => new Response('{"type":"urn:fanfold:problem:unauthenticated","detail":"no"}', { status: 401 });

test("a member asks for another key when its own ends, and goes on", async (t) => {
  const s = await start(t), db = new Fanfold(s.url), ended = new Set(["k0"]), asked = [];
  // The first key has ended before the first request, which asks for leases.
  const fetch2 = async (url, init) => {
    const key = /k\d$/.exec(init.headers.Authorization ?? "")?.[0];
    if (ended.has(key)) return refused();
    return fetch(url, { ...init, headers: { ...init.headers, ...(s.key && { Authorization: "Bearer " + s.key }) } });
  };
  let current = "k0";
  const member = new Fanfold(s.url, { fetch: fetch2, key: (again) => (again && asked.push(current), again ? (current = "k" + asked.length) : current) });
  await db.groups.put("g", { partitions: 2, lease: "2s" });
  const stop = new AbortController(), seen = [];
  const work = member.consume("g", { signal: stop.signal, handle: (changes) => void seen.push(...changes.map((c) => c.id)) });
  for (let n = 0; n < 3; n++) {
    await db.collection("c").put("d" + n, {});
    await until(() => seen.length > n);
    ended.add("k" + asked.length);
    await until(() => asked.length > n + 1);
  }
  stop.abort();
  await work;
  assert.deepEqual(seen, ["d0", "d1", "d2"]);
  // A key that is refused twice ends the work, with the error.
  ended.add("k" + (asked.length + 1)).add(current);
  await assert.rejects(member.consume("g", { handle: () => {} }), (error) => error instanceof FanfoldError && error.code === "unauthenticated");
});

test("a lost lease ends the handler's signal, and another member does the work", async (t) => {
  const s = await start(t), db = new Fanfold(s.url), c = db.collection("c"), stop = new AbortController();
  await db.groups.put("g", { partitions: 1, lease: "2s" });
  let frozen = false, lost, failures = [];
  const cold = new Fanfold(s.url, { retryFor: 0, fetch: (url, init) => (frozen ? Promise.reject(new TypeError("frozen")) : fetch(url, init)) });
  const first = cold.consume("g", {
    member: "a", signal: stop.signal, failed: (error) => failures.push(error),
    handle: async (changes, { signal, token }) => {
      frozen = true;
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      lost = { reason: signal.reason, token, ids: changes.map((x) => x.id) };
      throw new Error("it fails because of that");
    },
  });
  await c.put("x", {});
  await until(() => lost);
  assert.ok(lost.reason instanceof FanfoldError && lost.reason.code === "lease-lost");
  const seen = [], second = db.consume("g", { member: "b", signal: stop.signal, handle: (changes, { token }) => void seen.push([token, changes.map((x) => x.id)]) });
  await until(() => seen.length);
  assert.deepEqual(seen[0][1], lost.ids);
  assert.ok(parseInt(seen[0][0]) > parseInt(lost.token), "the number in the token grows");
  assert.ok(failures.some((e) => e instanceof FanfoldError && e.code === "connection"));
  frozen = false;
  stop.abort();
  await Promise.all([first, second]);
});

test("a batch that fails too often is parked, and the next one is handled", async (t) => {
  const s = await start(t), db = new Fanfold(s.url), c = db.collection("c"), stop = new AbortController();
  await db.groups.put("g", { partitions: 1, maxAttempts: 2, lease: "5s" });
  const tried = [], done = [], failures = [];
  const work = db.consume("g", {
    signal: stop.signal, batchSize: 1, failed: (error) => failures.push(error.message),
    handle: (changes) => {
      tried.push(changes[0].id);
      if (changes[0].id === "bad") throw new Error("it is bad");
      done.push(changes[0].id);
    },
  });
  await c.put("bad", {});
  await c.put("good", {});
  await until(() => done.length);
  stop.abort();
  await work;
  assert.deepEqual([tried, done, failures], [["bad", "bad", "good"], ["good"], ["it is bad", "it is bad"]]);
  const lag = await db.groups.get("g");
  assert.equal(lag.partitions.reduce((sum, p) => sum + (p.parked ?? 0), 0) || lag.parked, 1, JSON.stringify(lag));
});

test("a partition that leaves while it waits for its turn takes nobody's turn with it", async (t) => {
  const s = await start(t), db = new Fanfold(s.url), c = db.collection("c"), stop = new AbortController();
  await db.groups.put("g", { partitions: 8, lease: "1s" });
  for (let n = 0; n < 60; n++) await c.put("d" + n, {});
  const seen = new Set(), member = (name, handle) => db.consume("g", { member: name, concurrency: 1, signal: stop.signal, handle });
  let open, began = 0;
  const gate = new Promise((resolve) => (open = resolve));
  const a = member("a", async (changes) => {
    began++;
    await gate;
    for (const x of changes) seen.add(x.id);
  });
  await until(() => began);
  const b = member("b", (changes) => void changes.forEach((x) => seen.add(x.id)));
  await until(() => seen.size); // b has partitions of a's
  const moved = seen.size;
  await new Promise((resolve) => setTimeout(resolve, 1000));
  open();
  await until(() => seen.size === 60);
  assert.ok(moved < 60 && began > 1);
  stop.abort();
  await Promise.all([a, b]);
});

test("a member that ends waits for its handlers, for grace at most, and leaves no timer", async (t) => {
  const s = await start(t), db = new Fanfold(s.url), c = db.collection("c");
  await db.groups.put("g", { partitions: 1, lease: "20s" });
  for (const [id, grace, byGrace] of [["x", 10_000, false], ["y", 50, true]]) {
    const stop = new AbortController(), why = new Error("enough");
    let began = false, reason;
    const work = db.consume("g", {
      signal: stop.signal, grace,
      handle: async (_, { signal }) => {
        began = true;
        await Promise.race([new Promise((resolve) => setTimeout(resolve, byGrace ? 60_000 : 300).unref?.()), new Promise((resolve) => signal.addEventListener("abort", resolve))]);
        reason = signal.reason;
      },
    });
    await c.put(id, {});
    await until(() => began);
    stop.abort(why);
    await work;
    assert.equal(reason, byGrace ? why : undefined);
    assert.equal((await db.groups.get("g")).members.length, 0, "its leases are given back");
  }
  const timers = () => globalThis.process?.getActiveResourcesInfo?.().filter((x) => x === "Timeout").length ?? 0, before = timers();
  const stop = new AbortController(), work = db.consume("g", { signal: stop.signal, grace: 3_600_000, handle: () => {} });
  setTimeout(() => stop.abort(), 100);
  await work;
  assert.ok(timers() <= before, `${timers()} timers, ${before} before`);
});

test("a batch whose acknowledgement is lost comes again, and is acknowledged then", async (t) => {
  const s = await start(t), db = new Fanfold(s.url), c = db.collection("c"), stop = new AbortController();
  await db.groups.put("g", { partitions: 1, lease: "20s" });
  let lost = 0;
  const member = new Fanfold(s.url, { retryFor: 0, fetch: (url, init) => (url.endsWith("/_ack") && lost++ < 2 ? Promise.reject(new TypeError("lost")) : fetch(url, init)) });
  const handled = [], work = member.consume("g", { signal: stop.signal, handle: (changes) => void handled.push(changes.map((x) => x.id).join()) });
  await c.put("x", {});
  await until(() => lost > 2);
  await c.put("y", {});
  await until(() => handled.at(-1) === "y");
  stop.abort();
  await work;
  assert.deepEqual(handled, ["x", "x", "x", "y"]);
});
