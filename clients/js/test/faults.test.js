import assert from "node:assert/strict";
import { test } from "node:test";
import { Fanfold, FanfoldError } from "../dist/index.js";
import { chaos, freePort, seeded, start } from "./server.js";

// FANFOLD_WRITES=10000 is the long form.
test("each write happens once, whatever breaks beneath it", async (t) => {
  const s = await start(t), url = await chaos(t, s.port, seeded(52)), direct = new Fanfold(s.url), random = seeded(53);
  const db = new Fanfold(url, { retryFor: 120_000, attempt: 20_000 }), c = db.collection("counters"), made = db.collection("made");
  const writes = Number(process.env.FANFOLD_WRITES ?? 400), counters = 20, want = { counters: 0, made: 0, put: 0 };
  for (let n = 0; n < counters; n++) await direct.collection("counters").put("n" + n, { n: 0 });
  const increment = [{ op: "increment", path: "/n", value: 1 }];
  // 64 at a time, so that they, their copies and their retries meet each other at the server.
  await Promise.all(Array.from({ length: 64 }, async (_, w) => {
    for (let i = w; i < writes; i += 64) {
      const kind = random(), id = "n" + Math.floor(random() * counters);
      if (kind < 0.5) {
        const r = await c.patch(id, increment, { return: "representation" });
        assert.ok(r.revision > 0 && (!r.doc || r.doc.n > 0)); // no document where another write came between
        want.counters++;
      } else if (kind < 0.7) {
        assert.ok((await made.create({ i })).id);
        want.made++;
      } else if (kind < 0.8) {
        assert.equal((await made.put("p" + i, { put: i })).created, true);
        want.put++;
      } else {
        await db.transaction((tx) => {
          tx.patch(c, id, increment);
          tx.create(made, { i });
        });
        want.counters++;
        want.made++;
      }
    }
  }));
  let sum = 0;
  for await (const { doc } of direct.collection("counters").list()) sum += doc.n;
  const count = (filter) => direct.collection("made").query({ filter }).count();
  assert.deepEqual({ counters: sum, made: await count("has(doc.i)"), put: await count("has(doc.put)") }, want);
  // One row for each write, so that none was stored twice with the same outcome either.
  let rows = 0;
  for await (const change of direct.changes({ mode: "all", collections: ["counters", "made"], heartbeat: 100 })) if (++rows === counters + want.counters + want.made + want.put) break;
  const last = await direct.collection("counters").put("last", {});
  for await (const change of direct.changes({ mode: "all", since: "0" })) {
    if (change.id === "last") {
      assert.equal(change.seq, last.position);
      break;
    }
    rows--;
  }
  assert.equal(rows, 0);
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
