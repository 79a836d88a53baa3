// Servers that mean harm, or are none.
import assert from "node:assert/strict";
import http from "node:http";
import net from "node:net";
import { gzipSync } from "node:zlib";
import { test } from "node:test";
import { Fanfold, FanfoldError } from "../dist/index.js";

/** listen has a server listen on a port of its own until the test ends, and returns its URL. */
async function listen(t, s) {
  const sockets = new Set();
  s.on("connection", (socket) => sockets.add(socket.on("error", () => {})));
  s.listen(0, "127.0.0.1");
  await new Promise((resolve) => s.once("listening", resolve));
  t.after(() => new Promise((resolve) => {
    for (const socket of sockets) socket.destroy();
    s.close(resolve);
  }));
  return `http://127.0.0.1:${s.address().port}`;
}

const hostile = (t, fn) => listen(t, http.createServer(fn));

/** endless writes text until the connection ends, and counts the bytes in sent. */
function endless(res, text, sent = { bytes: 0 }) {
  const more = () => {
    do sent.bytes += text.length;
    while (res.write(text));
    res.once("drain", more);
  };
  more();
}

/** all reads a loop to its end. */
const all = async (loop) => {
  for await (const _ of loop);
};

/** calls are one of each way to read an answer. */
const calls = {
  get: (db) => db.collection("c").get("x"), getText: (db) => db.collection("c").getText("x"), list: (db) => all(db.collection("c").list()), put: (db) => db.collection("c").put("x", {}, { return: "representation" }),
  changes: (db) => all(db.changes()), export: (db) => all(db.export()), import: (db) => db.import([{ id: "x" }]), byQuery: (db) => db.collection("c").deleteByQuery("true"), watch: (db) => all(db.collection("c").watch("x")),
};

/** fails looks that each call throws a FanfoldError of a code. */
async function fails(url, code, only = Object.keys(calls), options = {}) {
  for (const name of only)
    await assert.rejects(calls[name](new Fanfold(url, { maxAnswer: 1 << 20, retryFor: 0, ...options })), (error) => (assert.ok(error instanceof FanfoldError && error.code === code, `${name}: ${error.stack}`), true));
}

const text = ["get", "list", "watch"], streams = ["changes", "export", "import", "byQuery"];

test("an endless answer ends at maxAnswer, and so does an endless line", async (t) => {
  for (const part of ["x".repeat(65536), " ".repeat(65536), "é".repeat(30000)]) {
    const sent = { bytes: 0 }, url = await hostile(t, (_, res) => endless(res, part, sent));
    await fails(url, "bad-answer", [...text, "getText", "put", ...streams]);
    assert.ok(sent.bytes < 9 * (64 << 20), `${sent.bytes} bytes were taken`);
  }
});

test("an answer of 1 GiB ends at 256 MiB", async (t) => {
  const part = Buffer.alloc(1 << 20, 0x20), sent = { bytes: 0 };
  const url = await hostile(t, (_, res) => {
    res.writeHead(200, { "Content-Length": 1 << 30 });
    endless(res, part, sent);
  });
  await fails(url, "bad-answer", ["get"], { maxAnswer: undefined });
  assert.ok(sent.bytes > 256 << 20 && sent.bytes < 512 << 20, `${sent.bytes} bytes were taken`);
});

test("endless lines are read no faster than the loop asks for them", async (t) => {
  const sent = { bytes: 0 }, line = '{"seq":"1-0-aaaaaaaa","id":"d","collection":"c","op":"create"}\n';
  const url = await hostile(t, (_, res) => endless(res, line.repeat(1000), sent)), db = new Fanfold(url);
  for (const loop of [db.changes(), db.export()]) {
    sent.bytes = 0;
    let n = 0;
    for await (const _ of loop) {
      if (++n === 2000) await new Promise((resolve) => setTimeout(resolve, 300));
      if (n === 2001) break;
    }
    assert.ok(sent.bytes < 32 << 20, `${sent.bytes} bytes were sent for 2,001 lines`);
  }
});

test("an answer that is no JSON, or broken, is an error", async (t) => {
  for (const [code, which, answer] of [
    ["bad-answer", [...text, ...streams], (res) => res.end("<html>\n")],
    ["bad-answer", [...text, ...streams], (res) => res.end('{"a":\n')],
    ["bad-answer", [...text, ...streams], (res) => res.end(Buffer.from([0x22, 0xff, 0x22, 10]))],
    ["bad-answer", [...text, ...streams], (res) => (res.writeHead(404), res.end("nothing"))],
    ["bad-answer", [...text, ...streams], (res) => (res.writeHead(500), res.end(JSON.stringify({ type: "https://example.com/problem" })))],
    ["connection", [...text, "import", "export", "byQuery"], (res) => (res.writeHead(502), res.end("a gateway"))],
    ["connection", [...text, "import", "export", "byQuery"], (res) => res.destroy()],
    ["connection", ["import", "export", "byQuery"], (res) => res.end('{"line":1')],
    ["connection", [...text, "import", "export", "byQuery"], (res) => (res.writeHead(200, { "Content-Length": 100 }), res.write('{"a":1}'), setTimeout(() => res.destroy(), 10))],
    ["bad-answer", ["get"], (res) => (res.writeHead(200, { "Content-Encoding": "gzip" }), res.end(bomb(8 << 20)))],
  ]) await fails(await hostile(t, (_, res) => answer(res)), code, which);
});

/** bomb returns a few bytes that are many once they are unpacked. */
function bomb(size) {
  return gzipSync(Buffer.alloc(size, 0x20));
}

test("endless headers are an error, and so is what is no HTTP", async (t) => {
  for (const answer of ["HTTP/1.1 200 OK\r\n", "SSH-2.0-x\r\n"]) {
    const url = await listen(t, net.createServer((socket) => {
      socket.write(answer);
      const more = () => {
        while (socket.writable && socket.write(`X-${"a".repeat(50)}: ${"b".repeat(1000)}\r\n`));
        if (socket.writable) socket.once("drain", more);
      };
      more();
    }));
    await fails(url, "connection", [...text, "import", "export", "byQuery"]);
  }
});

test("neither key nor document goes where a redirect leads", async (t) => {
  const got = [], elsewhere = await hostile(t, (req, res) => {
    got.push(req.headers);
    res.end('{"items":[]}');
  });
  for (const status of [301, 302, 303, 307, 308]) {
    const url = await hostile(t, (req, res) => (res.writeHead(status, { Location: elsewhere + req.url }), res.end()));
    await fails(url, "bad-answer", [...Object.keys(calls)], { key: "secret" });
    assert.deepEqual(got, []);
    // Without a key a redirect is followed, and there is none to be sent.
    await new Fanfold(url, { retryFor: 0 }).collection("c").get("x");
    assert.ok(got.length > 0 && got.every((h) => !h.authorization));
    got.length = 0;
  }
});
