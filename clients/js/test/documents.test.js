import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { Fanfold, FanfoldError } from "../dist/index.js";
import { start } from "./server.js";

const model = {
  collections: {
    authors: { derive: { countOfBooks: { count: "books.author" } } },
    books: {
      relations: { author: { path: "authorId", to: "authors" } },
      derive: { authorName: { copy: "author", value: "doc.name" } },
      pages: { by: "author", size: 2 },
    },
  },
};

/** all returns the ids of what an iterator gives. */
async function all(of) {
  const ids = [];
  for await (const x of of) ids.push(x.id);
  return ids;
}

/** code returns what an error says. */
const code = (promise) => promise.then(() => assert.fail("it did not fail"), (error) => (assert.ok(error instanceof FanfoldError, String(error)), error));

test("documents are written, read, asked for and deleted", async (t) => {
  const s = await start(t), db = new Fanfold(s.url), books = db.collection("books"), authors = db.collection("authors");
  assert.deepEqual(await db.model.get(), { collections: {} });
  await db.model.put(model);
  assert.ok((await db.model.get()).collections.books);
  const a = await authors.put("a1", { name: "Jules Verne" });
  assert.ok(a.created && a.id === "a1" && a.revision > 0 && a.etag && a.position);
  for (let i = 1; i <= 5; i++) await books.put("b" + i, { title: "Book " + i, year: 1870 + i, stock: 3, authorId: "a1" });
  const b = await books.get("b1");
  assert.deepEqual(b.doc, { id: "b1", title: "Book 1", year: 1871, stock: 3, authorId: "a1", authorName: "Jules Verne" });
  assert.ok(b.revision > 0 && b.etag && b.position && b.updatedAt instanceof Date && !isNaN(b.updatedAt.getTime()));
  assert.equal((await books.get("b1", { view: "referenced" })).doc.authorName, undefined);
  assert.deepEqual((await books.get("b1", { fields: ["title"] })).doc, { id: "b1", title: "Book 1" });
  assert.equal((await books.get("b1", { expand: "author" })).doc._expanded.author.a1.name, "Jules Verne");
  assert.equal(await books.find("nothing"), null);
  assert.equal((await code(books.get("nothing"))).code, "not-found");

  const w = await books.put("b1", { ...b.doc, year: 1873 }, { ifMatch: b.etag });
  assert.ok(!w.created && w.revision > b.revision);
  const stale = await code(books.put("b1", { ...b.doc }, { ifMatch: b.etag }));
  assert.equal(stale.code, "stale");
  assert.equal(stale.status, 412);
  assert.ok(stale.etag && stale.revision === w.revision && stale.requestId);
  const less = await books.patch("b1", [{ op: "increment", path: "/stock", value: -1, min: 0 }], { return: "representation" });
  assert.equal(less.doc.stock, 2);
  await books.patch("b1", { subtitle: "new" });
  assert.equal((await code(books.patch("b1", { x: 1 }, { if: "doc.stock > params.n", params: { n: 5 } }))).code, "condition-failed");
  assert.equal((await code(books.put("b1", {}, { ifNoneMatch: "*" }))).status, 412);
  const made = await books.create({ title: "No id" });
  assert.ok(made.created && made.id.length > 10);
  assert.equal((await books.get(made.id)).doc.title, "No id");
  const dry = await authors.put("a1", { name: "J. V." }, { dryRun: true });
  assert.equal((await authors.get("a1")).doc.name, "Jules Verne");
  assert.ok(dry.report);

  assert.deepEqual((await books.getMany(["b2", "nothing", "b1"])).map((x) => x && x.id), ["b2", null, "b1"]);
  assert.deepEqual((await all(books.list({ limit: 2 }))).slice(-5), ["b1", "b2", "b3", "b4", "b5"]);
  assert.deepEqual(await all(books.query({ filter: "doc.year > params.y", params: { y: 1872 }, sort: ["-year"], limit: 2 })), ["b5", "b4", "b3", "b1"]);
  assert.equal(await books.query({ filter: "doc.year > 1872" }).count(), 4);
  const groups = [];
  for await (const g of books.query({ filter: "has(doc.authorId)" }).group(["authorId"], ["count", "max(year)"])) groups.push(g);
  assert.deepEqual(groups, [{ key: { authorId: "a1" }, values: { count: 5, "max(year)": 1875 } }]);
  const page = await books.query({ sort: ["year"], limit: 2, filter: "doc.year > 0" }).page();
  assert.ok(page.next && page.items.length === 2 && page.items[0].createdAt instanceof Date && page.items[0].revision > 0);
  assert.deepEqual(await all(books.children("authors", "a1", { limit: 3 })), ["b1", "b2", "b3", "b4", "b5"]);
  const last = await books.page("authors", "a1", "last");
  assert.deepEqual([last.page, last.pages, last.items.map((x) => x.id)], [3, 3, ["b5"]]);
  const ops = [];
  for await (const v of books.history("b1", { order: "asc", limit: 2 })) ops.push(v.op);
  assert.deepEqual(ops, ["create", "replace", "patch", "patch"]);
  assert.ok(JSON.stringify(await books.lineage("b1")).includes("a1"));
  const { position } = await books.get("b1");
  assert.equal(String((await books.lineage("b1", { at: position })).position), position);
  await assert.rejects(books.lineage("b1", { at: "0" }), (error) => error.code === "not-found");
  const { relations } = await db.model.targets();
  assert.deepEqual(relations.map((r) => [r.to, r.id, Number(r.documents)]), [["authors", "a1", 5]]);
  const names = [];
  for await (const c of db.collections()) names.push(`${c.name} ${c.documents}`);
  assert.deepEqual(names, ["authors 1", "books 6"]);
  assert.ok((await db.status()).ready !== undefined || (await db.status()).position);
  assert.equal(!!(await db.me()).open, !s.key);

  const tx = await db.transaction((x) => {
    x.put(books, "b6", { title: "In one", authorId: "a1" });
    x.patch(books, "b2", { year: 1 });
    x.delete(books, "b3");
    x.check(authors, "a1", { ifMatch: "*" });
    x.create(books, { title: "made" }, { as: "it" });
  });
  assert.deepEqual(tx.operations.map((o) => o.op), ["put", "patch", "delete", "check", "create"]);
  const failed = await code(db.transaction((x) => {
    x.put(books, "b7", {});
    x.check(authors, "nobody", { ifMatch: "*" });
  }));
  assert.equal(failed.operation, 1);
  assert.equal(await books.find("b7"), null);
  assert.equal((await authors.get("a1")).doc.countOfBooks, 5);
  await books.delete("b1");
  assert.equal(await books.find("b1"), null);
  assert.equal((await code(books.delete("b1"))).code, "not-found");
  assert.equal((await books.get("b1", { at: w.position })).doc.year, 1873);
  const before = db.position;
  const counted = await books.updateByQuery("has(doc.authorId)", { kind: "novel" }, { dryRun: true });
  const changed = await books.updateByQuery("has(doc.authorId)", { kind: "novel" });
  assert.deepEqual([counted.matched, changed.matched, changed.written, changed.refusals], [4, 4, 4, []]);
  assert.equal((await books.deleteByQuery("doc.id == params.id", { params: { id: "b6" } })).written, 1);
  const differ = [];
  for await (const d of db.diff({ from: before, collections: ["books"], limit: 2 })) differ.push(d.id);
  assert.deepEqual(differ.sort(), ["b2", "b4", "b5", "b6"]);
  await books.revert("b2", before);
  assert.equal((await books.get("b2")).doc.kind, undefined);
  const out = [];
  for await (const line of db.export({ collections: ["books"] })) out.push(line);
  assert.ok(out.length >= 5);
  const imported = await db.import([{ id: "i1", title: "Imported" }, { id: "i2" }], { collection: "books" });
  assert.deepEqual([imported.written, imported.refused, imported.refusals], [2, 0, []]);
  const some = await db.import([{ id: "i3" }, { id: 7 }, { _x: 1, id: "i4" }], { collection: "books" });
  assert.deepEqual([some.refusals.length, some.refused], [some.refused, some.refused]);
  assert.ok(some.refused > 0, JSON.stringify(some));
  assert.equal((await books.get("i1")).doc.title, "Imported");
});

test("numbers come back digit for digit", async (t) => {
  const s = await start(t), db = new Fanfold(s.url), c = db.collection("n");
  const text = '{"id":"x","big":9007199254740993,"long":0.10000000000000000001,"huge":1e400,"half":2.50,"n":-0,"e":1E5}';
  await c.putText("x", text);
  assert.equal((await c.getText("x")).doc, text);
  const { doc } = await c.get("x");
  assert.equal(doc.big, 9007199254740993n);
  assert.equal(doc.long.raw, "0.10000000000000000001");
  assert.equal(doc.huge.raw, "1e400");
  assert.equal(doc.half, 2.5);
  assert.equal(doc.e, 100000);
  doc.more = 12345678901234567890n;
  await c.put("x", doc);
  const back = (await c.getText("x")).doc;
  for (const digits of ["9007199254740993", "0.10000000000000000001", "1e400", "12345678901234567890"]) assert.ok(back.includes(digits), back);
  const rounds = new Fanfold(s.url, { numbers: "double" }).collection("n");
  assert.equal((await rounds.get("x")).doc.big, 9007199254740992);
});

test("a key goes as a header, and nowhere else", async (t) => {
  const s = await start(t, { key: true });
  const db = new Fanfold(s.url, { key: s.key });
  assert.ok((await db.me()).id);
  for (const text of [JSON.stringify(db), String(db)]) assert.ok(!text.includes(s.key), text);
  const denied = await code(new Fanfold(s.url, { key: s.key.slice(0, -1) + "_" }).me());
  assert.equal(denied.code, "unauthenticated");
  const asked = [];
  const turns = new Fanfold(s.url, { key: (again) => (asked.push(again), again ? s.key : "fan_old") });
  assert.ok((await turns.me()).id);
  assert.deepEqual(asked, [false, true]);
  assert.throws(() => new Fanfold("http://db.example", { key: s.key }), /without TLS/);
  assert.throws(() => new Fanfold("http://user:secret@db.example"), (error) => !String(error).includes("secret"));
  new Fanfold("http://db.example", { key: s.key, insecure: true });
  const { url } = await db.ticket("/v1/_changes?since=now", { ttl: "1m" });
  assert.equal((await fetch(url)).status, 200);
  assert.equal((await fetch(url + "x")).status, 401);
});

test("a key is shown by no print", async (t) => {
  const s = await start(t, { key: true }), db = new Fanfold(s.url, { key: s.key });
  for (const text of [inspect(db, { depth: 9, showHidden: true }), inspect(db.collection("x"), { depth: 9 })]) assert.ok(!text.includes(s.key), text);
  const denied = await code(new Fanfold(s.url, { key: s.key.slice(0, -1) + "_" }).me());
  assert.ok(!inspect(denied, { depth: 9 }).includes(s.key.slice(20)));
});

test("functions are called, once under their key, and tell why they refuse", async (t) => {
  const s = await start(t), db = new Fanfold(s.url), seats = db.collection("seats");
  await db.model.put({ collections: { seats: {} }, functions: {
    reserve: { args: { type: "object", required: ["seat"] }, source: `export default (ctx, { seat, user, n }) => {
      ctx.log("asked", seat)
      if (ctx.get("seats", seat).by) ctx.fail("taken", "This seat is gone", { seat })
      ctx.patch("seats", seat, { by: user, at: new Date(ctx.now).toISOString() })
      return { seat, n }
    }` },
    look: { source: `export default (ctx, seat) => ctx.get("seats", seat)` },
    wrong: { source: `export default (ctx) => {\n  return ctx.none.at }` },
    endless: { source: `export default () => { for (;;); }` },
  } });
  await seats.put("s1", {});
  const tried = await db.call("reserve", { seat: "s1", user: "a" }, { dryRun: true, now: new Date(0), seed: 7 });
  assert.deepEqual([tried.result, tried.log, tried.reads, tried.derived.writes], [{ seat: "s1" }, ["asked s1"], 1, [{ op: "patch", collection: "seats", id: "s1" }]]);
  assert.ok(tried.steps > 0 && tried.memory > 0 && !(await seats.get("s1")).doc.by);
  const n = 12345678901234567890n, first = await db.call("reserve", { seat: "s1", user: "a", n }, { idempotencyKey: "k" });
  assert.deepEqual([first.result, first.attempts, first.operations.map((o) => [o.op, o.id, o.status])], [{ seat: "s1", n }, 1, [["patch", "s1", 204]]]);
  const again = await db.call("reserve", { seat: "s1", user: "a", n }, { idempotencyKey: "k" });
  assert.deepEqual([again.result, again.attempts, again.tx], [first.result, 0, first.tx]);
  assert.equal((await db.call("look", "s1")).result.by, "a"); // it sees what the client has written
  const taken = await code(db.call("reserve", { seat: "s1", user: "b" }));
  assert.deepEqual([taken.code, taken.failCode, taken.details, taken.function, taken.status], ["function-failed", "taken", { seat: "s1" }, "reserve", 422]);
  const wrong = await code(db.call("wrong"));
  assert.deepEqual([wrong.code, wrong.line, wrong.failCode], ["function-error", 2, undefined]);
  assert.deepEqual([(await code(db.call("endless"))).limit, (await code(db.call("reserve", {}))).code, (await code(db.call("none"))).code], ["steps", "unprocessable", "not-found"]);
  await seats.put("s2", {});
  const later = await db.call("reserve", { seat: "s2", user: "c" }, { respondAsync: true });
  assert.deepEqual(later.result, { seat: "s2" });
  assert.equal((await seats.get("s2")).doc.by, "c");
});
