import assert from "node:assert/strict";
import http from "node:http";
import { test } from "node:test";
import { Fanfold, FanfoldError } from "../dist/index.js";
import { chaos, freePort, seeded, start } from "./server.js";

test("each write happens once, whatever breaks beneath it", async (t) => {
  const s = await start(t), url = await chaos(t, s.port, seeded(52));
  const db = new Fanfold(url, { retryFor: 60_000, attempt: 5000 }), c = db.collection("counters");
  await new Fanfold(s.url).collection("counters").put("n", { n: 0 });
  const writes = Number(process.env.FANFOLD_WRITES ?? 400);
  await Promise.all(Array.from({ length: 16 }, async (_, w) => {
    for (let i = w; i < writes; i += 16) await c.patch("n", [{ op: "increment", path: "/n", value: 1 }]);
  }));
  assert.equal((await new Fanfold(s.url).collection("counters").get("n")).doc.n, writes);
});

test("transactions go on where the server is killed", async (t) => {
  const s = await start(t), db = new Fanfold(s.url, { retryFor: 120_000 }), c = db.collection("c");
  await c.put("n", { n: 0 });
  let done = 0, over = false;
  const writing = Promise.all(Array.from({ length: 4 }, async (_, w) => {
    for (let i = 0; i < 40; i++) {
      await db.transaction((x) => {
        x.patch(c, "n", [{ op: "increment", path: "/n", value: 1 }]);
        x.put(c, `d${w}-${i}`, { i });
      });
      done++;
    }
  })).finally(() => (over = true));
  for (let kills = 0; kills < 3 && !over; kills++) {
    for (const from = done; done < from + 10 && !over; ) await new Promise((resolve) => setTimeout(resolve, 5));
    await s.kill();
    await s.up();
  }
  await writing;
  assert.equal((await c.get("n")).doc.n, 160);
  assert.equal(await c.query({ filter: "has(doc.i)" }).count(), 160);
});

test("an abort is the signal's own reason, at once", async (t) => {
  const s = await start(t), why = new Error("enough");
  const db = new Fanfold(s.url), stop = AbortSignal.abort(why);
  await assert.rejects(db.collection("c").get("x", { signal: stop }), (error) => error === why);
  const nobody = new Fanfold(`http://127.0.0.1:${await freePort()}`, { retryFor: 3_600_000 }), later = new AbortController();
  const waiting = nobody.collection("c").put("x", {}, { signal: later.signal });
  setTimeout(() => later.abort(why), 50);
  await assert.rejects(waiting, (error) => error === why);
  const feed = new AbortController();
  const reading = (async () => {
    for await (const _ of db.changes({ since: "now", signal: feed.signal })) assert.fail();
  })();
  setTimeout(() => feed.abort(why), 50);
  await assert.rejects(reading, (error) => error === why);
});

/** hostile runs a server that answers by fn. */
async function hostile(t, fn) {
  const s = http.createServer(fn).listen(0, "127.0.0.1");
  await new Promise((resolve) => s.once("listening", resolve));
  t.after(() => new Promise((resolve) => (s.closeAllConnections(), s.close(resolve))));
  return `http://127.0.0.1:${s.address().port}`;
}

test("a hostile server is an error", async (t) => {
  const endless = (res) => {
    const more = () => {
      while (res.write("x".repeat(65536)));
      res.once("drain", more);
    };
    more();
  };
  for (const [want, answer] of [
    ["bad-answer", (res) => endless(res)],
    ["bad-answer", (res) => res.end("<html>")],
    ["bad-answer", (res) => res.end('{"a":')],
    ["bad-answer", (res) => res.end(Buffer.from([0x22, 0xff, 0x22]))],
    ["bad-answer", (res) => (res.writeHead(404), res.end("nothing"))],
    ["connection", (res) => (res.writeHead(502), res.end("a gateway"))],
    ["connection", (res) => res.destroy()],
  ]) {
    const url = await hostile(t, (_, res) => answer(res)), db = new Fanfold(url, { maxAnswer: 1 << 20, retryFor: 0 });
    await assert.rejects(db.collection("c").get("x"), (error) => error instanceof FanfoldError && error.code === want, want + " " + answer);
  }
  const url = await hostile(t, (_, res) => (res.writeHead(200), endless(res))), db = new Fanfold(url, { maxAnswer: 1 << 20, retryFor: 0 });
  await assert.rejects((async () => {
    for await (const _ of db.changes()) assert.fail();
  })(), (error) => error instanceof FanfoldError && error.code === "bad-answer");
});
