// What is sent, how often, and what comes of answers, by a fetch of the tests' own.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Fanfold, FanfoldError } from "../dist/index.js";

const problem = (status, code, more = {}, headers = {}) =>
  new Response(JSON.stringify({ type: "urn:fanfold:problem:" + code, title: code, status, detail: "so it is", ...more }), { status, headers: { "Content-Type": "application/problem+json", ...headers } });
const ok = (value = {}, headers = {}, status = 200) => new Response(JSON.stringify(value), { status, headers });

/** scripted returns a client whose requests answers answer, one after the other, the last one again and again, and what it has sent. */
function scripted(options, ...answers) {
  const sent = [];
  const fetch = async (url, { method, headers, body, signal }) => {
    sent.push({ method, path: url.slice("http://127.0.0.1:1".length), headers, body });
    const answer = answers[Math.min(sent.length, answers.length) - 1];
    return answer instanceof Response ? answer.clone() : answer({ signal, body, sent });
  };
  return { db: new Fanfold("http://127.0.0.1:1", { key: undefined, fetch, ...options }), sent };
}

/** failure returns the error of a promise. */
const failure = (promise) => promise.then(() => assert.fail("it did not fail"), (error) => error);

test("a pause is as long as the server asks for, also where something between answers", async () => {
  for (const busy of [problem(429, "busy", {}, { "Retry-After": "1" }), new Response("slow down", { status: 503, headers: { "Retry-After": "1" } })]) {
    const { db, sent } = scripted({}, busy, ok({ n: 1 })), began = Date.now();
    assert.equal((await db.collection("c").get("x")).doc.n, 1);
    assert.equal(sent.length, 2);
    assert.ok(Date.now() - began >= 990);
    const error = await failure(scripted({ retryFor: 500 }, busy).db.collection("c").get("x"));
    assert.equal(error.retryAfter, 1000);
  }
  const later = new Date(Date.now() + 3_600_000).toUTCString();
  const error = await failure(scripted({}, problem(503, "unavailable", {}, { "Retry-After": later })).db.collection("c").get("x"));
  assert.ok(error.retryAfter > 3_500_000 && error.retryAfter <= 3_600_000, "it does not wait longer than retryFor");
});

test("a write has one key in all its attempts, and none where it is turned off", async () => {
  const lost = () => Promise.reject(new TypeError("fetch failed"));
  for (const options of [undefined, { idempotencyKey: undefined }]) {
    const { db, sent } = scripted({}, lost, problem(503, "outcome-unknown"), ok({}, {}, 201));
    await db.collection("c").put("x", {}, options);
    const keys = sent.map((s) => s.headers["Idempotency-Key"]);
    assert.ok(keys[0]?.length > 15);
    assert.deepEqual(keys, [keys[0], keys[0], keys[0]]);
    await db.collection("c").put("x", {}, options);
    assert.ok(sent[3].headers["Idempotency-Key"] !== keys[0]);
  }
  Object.defineProperty(crypto, "randomUUID", { value: undefined, configurable: true }); // as on plain HTTP
  try {
    const { db, sent } = scripted({}, ok({}, {}, 201));
    await db.collection("c").put("x", {});
    await db.collection("c").put("x", {});
    assert.ok(sent[0].headers["Idempotency-Key"].length > 15 && sent[0].headers["Idempotency-Key"] !== sent[1].headers["Idempotency-Key"]);
  } finally {
    delete crypto.randomUUID;
  }
  const { db, sent } = scripted({ idempotencyKeys: false }, lost);
  for (const write of [() => db.collection("c").put("x", {}), () => db.transaction((tx) => tx.put(db.collection("c"), "x", {})), () => db.collection("c").deleteByQuery("true")]) {
    const before = sent.length;
    assert.equal((await failure(write())).code, "connection");
    assert.equal(sent.length, before + 1);
    assert.equal(sent[before].headers["Idempotency-Key"], undefined);
  }
  const busy = scripted({ idempotencyKeys: false }, problem(429, "busy"), ok({}, {}, 201));
  await busy.db.collection("c").put("x", {}); // the store says that nothing happened
  assert.equal(busy.sent.length, 2);
});

test("models and imports are not tried again, but for another key", async () => {
  for (const answer of [problem(503, "unavailable"), problem(429, "busy"), () => Promise.reject(new TypeError("fetch failed"))]) {
    const { db, sent } = scripted({}, answer);
    for (const call of [() => db.model.put({}), () => db.model.patch({}), () => db.import([{ id: "x" }])]) {
      const before = sent.length;
      await failure(call());
      assert.equal(sent.length, before + 1);
    }
  }
  const asked = [], { db, sent } = scripted({ key: (again) => (asked.push(again), again ? "new" : "old") }, problem(401, "unauthenticated"), ok());
  await db.model.put({ collections: {} });
  assert.deepEqual(sent.map((s) => s.headers.Authorization), ["Bearer old", "Bearer new"]);
  assert.equal(sent[1].body, '{"collections":{}}');
  assert.deepEqual(asked, [false, true]);
});

test("a key is asked for before each request, and once more after a 401", async () => {
  const asked = [], key = async (again) => (asked.push(again), "k" + asked.length);
  const { db, sent } = scripted({ key }, ok(), problem(401, "unauthenticated"), problem(503, "unavailable"), ok(), problem(401, "unauthenticated"));
  const c = db.collection("c");
  await c.get("x");
  await c.get("x");
  assert.deepEqual(asked, [false, false, true, false]);
  assert.equal((await failure(c.get("x"))).code, "unauthenticated");
  assert.deepEqual(asked, [false, false, true, false, false, true]);
  assert.deepEqual(sent.map((s) => s.headers.Authorization), ["k1", "k2", "k3", "k4", "k5", "k6"].map((k) => "Bearer " + k));
  for (const none of [undefined, null, ""]) {
    const { db, sent } = scripted({ key: () => none }, ok());
    await db.collection("c").get("x");
    assert.ok(!("Authorization" in sent[0].headers));
  }
  const bad = await failure(scripted({ key: () => "sec ret" }, ok()).db.collection("c").get("x"));
  assert.ok(bad.code === "invalid" && !String(bad.stack).includes("sec ret"));
  const why = new Error("no token"), slow = new AbortController();
  assert.equal(await failure(scripted({ key: () => Promise.reject(why) }, ok()).db.collection("c").get("x")), why);
  const waits = scripted({ key: () => new Promise(() => {}) }, ok()).db.collection("c").get("x", { signal: slow.signal });
  slow.abort(why);
  assert.equal(await failure(waits), why);
});

test("a redirect is not followed with a key", async () => {
  for (const status of [301, 302, 303, 307, 308]) {
    const { db, sent } = scripted({ key: "secret" }, new Response(null, { status, headers: { Location: "http://elsewhere.example/" } }));
    assert.equal((await failure(db.collection("c").get("x"))).code, "bad-answer");
    assert.equal(sent.length, 1);
  }
});

test("a name that a URL cannot have is refused before anything is sent", async () => {
  const { db, sent } = scripted({}, ok({ items: [] }));
  for (const name of ["", ".", "..", "\ud800"]) {
    const c = db.collection("c");
    for (const call of [() => c.get(name), () => c.put(name, {}), () => c.delete(name), () => c.patch(name, {}), () => c.lineage(name), () => db.collection(name).create({}), () => c.page("a", name, 1), () => db.groups.delete(name), () => c.revert(name, "1-0")]) {
      const error = await failure(call());
      assert.ok(error instanceof FanfoldError && error.code === "invalid", `${name} ${error}`);
    }
  }
  assert.equal(sent.length, 0);
  await db.collection("c").find("a/b?c#d%e");
  assert.equal(sent[0].path, "/v1/c/a%2Fb%3Fc%23d%25e");
});

test("a session shows what an answer has shown, and takes nothing else for a position", async () => {
  const at = (position) => ok({ items: [] }, { "Fanfold-Position": position });
  const { db, sent } = scripted({}, at("7-1-aaaaaaaa"), at("6-9-aaaaaaaa"), at("nonsense"), at("7-2-aaaaaaaa-5"), at("8-0-bbbbbbbb"), at(""));
  const asked = [];
  for (let i = 0; i < 6; i++) {
    await db.collection("c").get("x");
    asked.push(sent.at(-1).headers["Fanfold-Min-Position"]);
  }
  assert.deepEqual(asked, [undefined, "7-1-aaaaaaaa", "7-1-aaaaaaaa", "7-1-aaaaaaaa", "7-2-aaaaaaaa-5", "8-0-bbbbbbbb"]);
  db.see("9-0-bbbbbbbb");
  db.see("8-5-bbbbbbbb");
  db.see("");
  assert.equal(db.position, "9-0-bbbbbbbb");
  assert.throws(() => db.see("nonsense"), (error) => error instanceof FanfoldError && error.code === "invalid");
  await db.collection("c").get("x", { consistency: "eventual" });
  assert.equal(sent.at(-1).headers["Fanfold-Min-Position"], undefined);
  await db.collection("c").get("x", { minPosition: "1-0-bbbbbbbb" });
  assert.equal(sent.at(-1).headers["Fanfold-Min-Position"], "1-0-bbbbbbbb");
  const none = scripted({ session: false }, at("7-1-aaaaaaaa"));
  await none.db.collection("c").get("x");
  await none.db.collection("c").get("x");
  assert.equal(none.sent[1].headers["Fanfold-Min-Position"], undefined);
  const moved = scripted({}, at("9-0-aaaaaaaa"), problem(410, "store-changed", { oldest: "4-0-bbbbbbbb" }));
  await moved.db.collection("c").get("x");
  assert.equal((await failure(moved.db.collection("c").get("x"))).code, "store-changed");
  assert.equal(moved.db.position, "4-0-bbbbbbbb");
  const imported = scripted({}, new Response('{"done":true,"line":1,"written":1,"refused":0,"position":"5-0-aaaaaaaa"}\n'));
  await imported.db.import([{ id: "x" }]);
  assert.equal(imported.db.position, "5-0-aaaaaaaa");
});

test("a problem of any shape is a FanfoldError", async () => {
  for (const more of [{ problems: 5 }, { problems: null }, { detail: null }, { __proto__: null, ["__proto__"]: { a: 1 } }, { oldest: 7 }, { type: "urn:fanfold:problem:" }]) {
    const text = JSON.stringify({ type: "urn:fanfold:problem:stale", detail: "x", ...more }).replace("{", '{"__proto__":{"x":1},');
    const error = await failure(scripted({}, new Response(text, { status: 412 })).db.collection("c").get("x"));
    assert.ok(error instanceof FanfoldError && Array.isArray(error.problems) && error.status === 412, text);
  }
  for (const answer of ["null", "5", "[]", "{}", '{"items":5}', '"x"']) {
    const { db } = scripted({}, new Response(answer)), c = db.collection("c");
    for (const call of [() => c.list().page(), () => c.query().count(), () => c.getMany(["x"]), () => c.history("x").next(), () => db.collections().next(), () => c.query().group(["a"]).next(), () => db.diff({ from: "1-0" }).next(), () => c.page("a", "b", 1)]) {
      const error = await failure(call());
      assert.ok(error instanceof FanfoldError && error.code === "bad-answer", `${answer} ${error.stack}`);
    }
  }
});

test("an abort ends loops at once, also what was read before", async () => {
  const why = new Error("enough"), lines = (n) => Array.from({ length: n }, (_, i) => `{"seq":"${i + 1}-0-aaaaaaaa","id":"d${i}","collection":"c","op":"create","doc":{"id":"d"}}\n`).join("");
  const items = { items: Array.from({ length: 9 }, (_, i) => ({ id: "d" + i })), results: [] };
  for (const loop of [
    (signal) => scripted({}, new Response(lines(9))).db.changes({ signal }), (signal) => scripted({}, new Response(lines(9))).db.export({ signal }),
    (signal) => scripted({}, ok(items)).db.collection("c").list({ signal }), (signal) => scripted({}, ok(items)).db.collection("c").query({ signal }),
    (signal) => scripted({}, ok(items)).db.collection("c").history("x", { signal }),
  ]) {
    const stop = new AbortController(), got = [];
    const error = await failure((async () => {
      for await (const x of loop(stop.signal)) {
        got.push(x);
        if (got.length === 3) stop.abort(why);
      }
    })());
    assert.equal(error, why);
    assert.equal(got.length, 3, String(loop));
  }
  // A stream that says nothing more.
  for (const loop of [(db, signal) => db.changes({ signal }), (db, signal) => db.export({ signal }), async function* (db, signal) { yield await db.collection("c").updateByQuery("true", {}, { signal }); }]) {
    let ended = false;
    const { db } = scripted({}, () => new Response(new ReadableStream({ cancel: () => void (ended = true) }))), stop = new AbortController();
    const reading = failure((async () => {
      for await (const _ of loop(db, stop.signal)) assert.fail();
    })());
    setTimeout(() => stop.abort(why), 20);
    assert.equal(await reading, why);
    assert.ok(ended, "the request ends");
  }
});

test("an answer that is too late counts as lost", async () => {
  const hangs = ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  const { db, sent } = scripted({ attempt: 100, retryFor: 10_000 }, hangs, hangs, ok({ n: 1 }));
  assert.equal((await db.collection("c").get("x")).doc.n, 1);
  assert.equal(sent.length, 3);
  const error = await failure(scripted({ attempt: 100, retryFor: 0 }, hangs).db.collection("c").get("x"));
  assert.ok(error.code === "connection" && error.message.includes("100 ms"), String(error));
  // The body, too.
  const half = ({ signal }) => new Response(new ReadableStream({ start: (to) => (to.enqueue(new TextEncoder().encode('{"n"')), signal.addEventListener("abort", () => to.error(signal.reason))) }));
  assert.equal((await failure(scripted({ attempt: 100, retryFor: 0 }, half).db.collection("c").get("x"))).code, "connection");
  // Many share a deadline, and each has its time.
  const many = scripted({ attempt: 300, retryFor: 0 }, async ({ sent }) => {
    if (sent.length % 10 === 0) return new Promise(() => {});
    await new Promise((resolve) => setTimeout(resolve, 20));
    return ok({ n: 1 });
  });
  let fine = 0;
  for (let i = 0; i < 60; i++) {
    const one = many.db.collection("c").get("x");
    if (i % 10 === 9) one.catch(() => {});
    else fine += (await one).doc.n;
  }
  assert.equal(fine, 54);
});

test("a delete in steps goes on until it is done", async () => {
  const step = (done, deleted, changed) => ok({ done, deleted, changed, position: deleted + "-0-aaaaaaaa" });
  const { db, sent } = scripted({}, step(false, 10, 1), () => Promise.reject(new TypeError("fetch failed")), ok({ result: { done: false, deleted: 5, changed: 0, position: "5-0-aaaaaaaa" } }, {}, 202), step(true, 1, 2));
  const { report } = await db.collection("c").delete("x", { steps: true });
  assert.deepEqual(report, { done: true, steps: 3, deleted: 16, changed: 3, position: "1-0-aaaaaaaa" });
  assert.ok(sent.every((s) => s.path === "/v1/c/x?steps=true" && !s.headers["Idempotency-Key"]));
  // The last step was done, and its answer was lost.
  const lost = scripted({}, () => Promise.reject(new TypeError("fetch failed")), problem(404, "not-found"));
  assert.equal((await lost.db.collection("c").delete("x", { steps: true })).report.done, true);
  assert.equal((await failure(scripted({}, problem(404, "not-found")).db.collection("c").delete("x", { steps: true }))).code, "not-found");
});

test("a write by query goes on under its key, and tells why it ended", async () => {
  const progress = '{"progress":{"matched":5,"written":5,"unchanged":0,"refused":0},"position":"1-0-aaaaaaaa"}\n', told = [];
  const { db, sent } = scripted({}, new Response(progress), new Response(progress + '{"id":"b","status":422,"detail":"no"}\n{"done":true,"matched":7,"written":6,"unchanged":0,"refused":1,"position":"2-0-aaaaaaaa"}\n'));
  const r = await db.collection("c").updateByQuery("true", { a: 1 }, { progress: (sum) => told.push(sum.written) });
  assert.deepEqual([r.written, r.refusals.length, told], [6, 1, [5, 5]]);
  assert.equal(sent[0].headers["Idempotency-Key"], sent[1].headers["Idempotency-Key"]);
  assert.equal(db.position, "2-0-aaaaaaaa");
  const ended = scripted({}, new Response(progress + '{"done":false,"matched":5,"written":5,"status":401,"type":"urn:fanfold:problem:unauthenticated","detail":"the key ended"}\n'));
  const error = await failure(ended.db.collection("c").deleteByQuery("true"));
  assert.deepEqual([error.code, error.status, error.written, ended.sent.length], ["unauthenticated", 401, 5, 1]);
});

test("a write that is stored and not shown says so", async () => {
  const { db } = scripted({}, ok({ detail: "later" }, { "Fanfold-Position": "3-0-aaaaaaaa" }, 202));
  const w = await db.collection("c").put("x", {}, { return: "representation" });
  assert.deepEqual([w.shown, w.doc, w.position], [false, undefined, "3-0-aaaaaaaa"]);
});

test("a group that is deleted while the store is busy is deleted", async () => {
  const { db, sent } = scripted({}, problem(429, "busy"), ok());
  await db.groups.delete("g");
  assert.equal(sent.length, 2);
});

test("a feed goes on for as long as the store is away, from where it was", async () => {
  const rows = (from, n) => Array.from({ length: n }, (_, i) => `{"seq":"${from + i}-0-aaaaaaaa","id":"d","collection":"c","op":"create"}\n`).join("");
  const cut = (text, headers) => new Response(text, { headers });
  const { db, sent } = scripted({ retryFor: 0 }, cut("", { "Fanfold-Position": "3-0-aaaaaaaa" }), problem(503, "unavailable"), new Response("a gateway", { status: 503 }), problem(429, "busy"), problem(408, "too-slow"),
    cut(rows(4, 2) + '{"seq":"6-0-aa'), cut('{"last_seq":"8-0-aaaaaaaa"}\n'), cut('{"end":"rights-changed","last_seq":"9-0-aaaaaaaa"}\n' + rows(77, 1)), problem(410, "store-changed", { oldest: "2-0-bbbbbbbb" }));
  const got = [], feed = db.changes({ since: "now" });
  const error = await failure((async () => {
    for await (const change of feed) got.push(change.seq);
  })());
  assert.deepEqual([error.code, error.oldest], ["store-changed", "2-0-bbbbbbbb"]);
  assert.deepEqual(got, ["4-0-aaaaaaaa", "5-0-aaaaaaaa"]);
  assert.equal(feed.position, "9-0-aaaaaaaa");
  const since = sent.map((s) => new URLSearchParams(s.path.split("?")[1]).get("since"));
  assert.deepEqual(since, ["now", "3-0-aaaaaaaa", "3-0-aaaaaaaa", "3-0-aaaaaaaa", "3-0-aaaaaaaa", "3-0-aaaaaaaa", "5-0-aaaaaaaa", "8-0-aaaaaaaa", "9-0-aaaaaaaa"]);
  // A new key after a change of rights; where it is refused, that is thrown.
  const keys = [], turns = scripted({ key: (again) => (keys.push(again), "k" + keys.length) }, cut('{"end":"rights-changed","last_seq":"9-0-aaaaaaaa"}\n'), cut(rows(10, 1)), problem(401, "unauthenticated"));
  const seen = [], refused = await failure((async () => {
    for await (const change of turns.db.changes()) seen.push(change.seq);
  })());
  assert.deepEqual([refused.code, seen, keys], ["unauthenticated", ["10-0-aaaaaaaa"], [false, false, false, true]]);
});

test("a feed that never begins, or is silent, begins again", async () => {
  const hangs = ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  const silent = () => new Response(new ReadableStream({}));
  await Promise.all([hangs, silent].map(async (first) => {
    const { db, sent } = scripted({ retryFor: 0 }, first, new Response('{"seq":"4-0-aaaaaaaa","id":"d","collection":"c","op":"create"}\n'));
    for await (const change of db.changes({ heartbeat: 100 })) {
      assert.equal(change.seq, "4-0-aaaaaaaa");
      break;
    }
    assert.equal(sent.length, 2);
  }));
});
