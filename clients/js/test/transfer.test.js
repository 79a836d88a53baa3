// Imports and exports: streams, which hold little of what goes through them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Fanfold, FanfoldError } from "../dist/index.js";
import { start } from "./server.js";

/** taking returns a client whose imports are taken, or answered by answer, and the pieces that it has sent. */
function taking(answer = () => {}) {
  const pieces = [], sum = { sent: 0 };
  const fetch = async (url, { body }) => {
    const n = body.split("\n").length - 1, query = new URL(url).searchParams;
    sum.sent += n;
    pieces.push({ size: body.length, n, query, body: pieces.length < 3 ? body : "" });
    await new Promise((resolve) => setTimeout(resolve, 1));
    return new Response(answer(pieces.length, n, query) ?? `{"done":true,"line":${n},"written":${n},"refused":0,"position":"${pieces.length}-0-aaaaaaaa"}\n`);
  };
  return { db: new Fanfold("http://127.0.0.1:1", { key: undefined, fetch }), pieces, sum };
}

const doc = (i) => ({ id: "d" + i, title: "x".repeat(100), n: i });

test("an import of 200,000 documents holds two pieces of them at most", async () => {
  const { db, pieces, sum } = taking();
  let taken = 0, ahead = 0, ended = false;
  async function* source() {
    try {
      for (; taken < 200_000; taken++) {
        ahead = Math.max(ahead, taken - sum.sent);
        yield doc(taken);
      }
    } finally {
      ended = true;
    }
  }
  const r = await db.import(source(), { collection: "c" });
  assert.deepEqual([r.written, r.line, r.refused, ended], [200_000, 200_000, 0, true]);
  assert.ok(pieces.length > 20 && pieces.every((p) => p.size < (1 << 20) + 200), `${pieces.length} pieces`);
  assert.ok(ahead <= pieces[0].n + 1, `${ahead} documents are ahead, a piece has ${pieces[0].n}`);
  assert.equal(db.position, pieces.length + "-0-aaaaaaaa");
});

test("documents, lines and bytes are imported alike, wherever bytes are cut", async () => {
  const text = '{"id":"a","n":12345678901234567890}\n{"id":"é山"}\n{"id":"c"}', bytes = new TextEncoder().encode(text);
  const { parse } = await import("../dist/index.js");
  const stream = (...parts) => new ReadableStream({
    start(to) {
      for (const part of parts) to.enqueue(part);
      to.close();
    },
  });
  const sources = [text.split("\n"), text.split("\n").map((line) => parse(line)), [text], stream(...text.split("\n")), new Response(text).body, (async function* () {
    yield* text.split("\n");
  })()];
  for (let cut = 0; cut <= bytes.length; cut++) sources.push(stream(bytes.slice(0, cut), bytes.slice(cut)));
  for (const source of sources) {
    const { db, pieces } = taking();
    await db.import(source, { collection: "c" });
    assert.equal(pieces.map((p) => p.body).join("").trimEnd(), text);
  }
  const none = taking();
  await none.db.import([]);
  assert.equal(none.pieces.length, 1);
  for (const [source, code] of [[[new Uint8Array([0xff, 10])], "bad-answer"], [[new Uint8Array((16 << 20) + 1).fill(65)], "invalid"]]) {
    const { db, pieces } = taking();
    await assert.rejects(db.import(source), (error) => error instanceof FanfoldError && error.code === code);
    assert.equal(pieces.length, 0);
  }
});

test("refused lines are told while an import goes on, under their own numbers", async () => {
  const answer = (piece, n) => `{"line":2,"status":422,"type":"urn:fanfold:problem:unprocessable","detail":"no"}\n{"progress":{"line":${n},"written":${n - 1},"refused":1},"position":"1-0-aaaaaaaa"}\n{"done":true,"line":${n},"written":${n - 1},"refused":1,"position":"1-0-aaaaaaaa"}\n`;
  const { db, pieces } = taking(answer), told = [], progress = [];
  let taken = 0;
  function* source() {
    for (; taken < 40_000; taken++) yield doc(taken);
  }
  const r = await db.import(source(), { refused: (x) => told.push([x.line, x.code, taken]), progress: (sum) => progress.push(sum.line) });
  assert.equal(told.length, pieces.length);
  assert.ok(pieces.length > 3 && told[0][2] < 40_000, "the first is told before everything was read");
  let before = 0;
  for (const [i, p] of pieces.entries()) {
    assert.deepEqual(told[i].slice(0, 2), [before + 2, "unprocessable"]);
    before += p.n;
    assert.equal(progress[i], before);
  }
  assert.deepEqual([r.refused, r.written, r.line, r.refusals.length], [pieces.length, 40_000 - pieces.length, 40_000, pieces.length]);
  const many = taking((_, n) => '{"line":1,"status":422,"type":"urn:fanfold:problem:unprocessable","detail":"no"}\n'.repeat(n) + `{"done":true,"line":${n},"written":0,"refused":${n}}\n`);
  const all = await many.db.import(Array.from({ length: 3000 }, (_, i) => ({ i })));
  assert.deepEqual([all.refused, all.refusals.length], [3000, 1000]);
});

test("an import that ends early says why, and how far it came", async () => {
  const end = '{"done":false,"line":3,"written":3,"refused":0,"status":401,"type":"urn:fanfold:problem:unauthenticated","detail":"the key ended"}\n';
  for (const [last, code, line] of [[end, "unauthenticated", 3], ['{"progress":{"line":2,"written":2,"refused":0},"position":"1-0-aaaaaaaa"}\n', "connection", 2]]) {
    const { db, pieces } = taking((piece) => (piece === 2 ? last : undefined));
    let taken = 0, closed = false;
    async function* source() {
      try {
        for (; taken < 200_000; taken++) yield doc(taken);
      } finally {
        closed = true;
      }
    }
    const error = await db.import(source(), { collection: "c" }).then(() => assert.fail(), (e) => e);
    assert.deepEqual([error.code, error.line, pieces.length, closed], [code, pieces[0].n + line, 2, true]);
    assert.ok(taken < 3 * pieces[0].n);
  }
  const why = new Error("the file is gone"), { db } = taking();
  await assert.rejects(db.import((async function* () {
    yield doc(1);
    throw why;
  })()), (error) => error === why);
  // A source that gives nothing more is left where the import fails, and where it is told to end.
  const failing = taking(() => end);
  const slow = async function* () {
    for (let i = 0; i < 10_000; i++) yield doc(i);
    await new Promise(() => {});
  };
  assert.equal((await failing.db.import(slow()).then(() => assert.fail(), (e) => e)).code, "unauthenticated");
  const stop = new AbortController(), enough = new Error("enough");
  const importing = taking().db.import(slow(), { signal: stop.signal });
  setTimeout(() => stop.abort(enough), 20);
  await assert.rejects(importing, (error) => error === enough);
  let cancelled = false;
  const stream = new ReadableStream({ pull: (to) => to.enqueue(doc(1)), cancel: () => void (cancelled = true) });
  await assert.rejects(failing.db.import(stream), FanfoldError);
  assert.ok(cancelled);
});

test("what a store exports, another one imports, byte for byte, and an import goes on under its id", async (t) => {
  const a = new Fanfold((await start(t)).url), b = new Fanfold((await start(t)).url), c = a.collection("c");
  const N = 12_000, made = await a.import((function* () {
    for (let i = 0; i < N; i++) yield { ...doc(i), price: i / 4 };
  })(), { collection: "c" });
  assert.deepEqual([made.written, made.line, made.refused], [N, N, 0]);
  await c.putText("exact", '{"id":"exact","n":9007199254740993,"half":2.50}');
  const r = await b.import(a.exportText());
  assert.equal(r.refused, 0);
  assert.equal((await b.collection("c").getText("exact")).doc, '{"id":"exact","n":9007199254740993,"half":2.50}');
  assert.equal(await b.collection("c").query().count(), N + 1);
  let documents = 0;
  for await (const line of b.export({ collections: ["c"] })) if (line.doc && ++documents === 5) break; // ends the request
  // With an id each line is stored once, also over pieces.
  const lines = Array.from({ length: N }, (_, i) => ({ id: "e" + i, title: "y".repeat(100) }));
  const half = await a.import(lines.slice(0, N / 2), { collection: "d", id: "i1" });
  assert.deepEqual([half.line, half.written], [N / 2, N / 2]);
  const whole = await a.import(lines.slice(N / 3), { collection: "d", id: "i1", resume: true, first: N / 3 + 1, progress: (sum) => assert.ok(sum.line >= N / 2) });
  assert.deepEqual([whole.line, whole.written, whole.refused], [N, N, 0]);
  const last = whole.position;
  assert.equal((await a.collection("d").get("e0")).revision < Number(last.split("-")[0]), true);
  assert.equal(await a.collection("d").query().count(), N);
});

test("a line may have as many bytes as maxAnswer, wherever it is cut", async () => {
  const enough = new TextEncoder().encode('{"seq":"1-0-aaaaaaaa","id":"é"}\n'.repeat(3)), max = enough.length / 3 - 1;
  for (let cut = 1; cut < enough.length; cut++) {
    const part = (to) => (to.enqueue(enough.slice(0, cut)), to.enqueue(enough.slice(cut)), to.close());
    const read = async (maxAnswer) => {
      const db = new Fanfold("http://127.0.0.1:1", { key: undefined, maxAnswer, fetch: async () => new Response(new ReadableStream({ start: part })) });
      let n = 0;
      for await (const _ of db.export()) n++;
      return n;
    };
    assert.equal(await read(max), 3);
    await assert.rejects(read(max - 2), (error) => error instanceof FanfoldError && error.code === "bad-answer");
  }
});
