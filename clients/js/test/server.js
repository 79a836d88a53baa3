// A Fanfold server of the test's own, and a proxy that breaks connections.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import http from "node:http";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export { seeded } from "./seeded.js";

const program = process.env.FANFOLD_BIN ?? new URL("../../../bin/fanfold", import.meta.url).pathname;

/** freePort returns a port on which nobody listens. */
export async function freePort() {
  const s = net.createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => s.once("listening", resolve));
  const { port } = s.address();
  await new Promise((resolve) => s.close(resolve));
  return port;
}

/** start runs a server on a directory of its own until the test ends. */
export async function start(t, { key = false, args = [] } = {}) {
  const data = mkdtempSync(join(tmpdir(), "fanfold-js-")), port = await freePort();
  const s = { url: `http://127.0.0.1:${port}`, port, key: undefined, child: undefined };
  if (key) s.key = execFileSync(program, ["keys", "create", "--data", data, "--name", "test", "--role", "admin"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  s.up = () => new Promise((resolve, reject) => {
    s.child = spawn(program, ["serve", "--data", data, "--listen", `127.0.0.1:${port}`, ...args], { stdio: ["ignore", "ignore", "pipe"] });
    let log = "";
    s.child.stderr.on("data", (part) => (log += part).includes("fanfold is ready") && resolve());
    s.child.once("exit", (code) => reject(new Error(`the server ended with ${code}: ${log}`)));
  });
  s.kill = async (signal = "SIGKILL") => {
    const gone = new Promise((resolve) => s.child.once("exit", resolve));
    s.child.kill(signal);
    await gone;
  };
  await s.up();
  t.after(async () => {
    await s.kill().catch(() => {});
    rmSync(data, { recursive: true, force: true });
  });
  return s;
}

/** chaos is a proxy that breaks a share of the requests: it cuts connections before the server has them, while it works and at a random byte of the answer, and doubles requests, at once or later. It delays others. */
export async function chaos(t, to, random, share = 0.3) {
  const pause = (most) => new Promise((resolve) => setTimeout(resolve, random() * most)), late = new Set();
  const proxy = http.createServer(async (req, res) => {
    const parts = [], kind = Math.floor(random() * (6 / share));
    /** send asks the server, and returns its answer. */
    const send = (cut = false) => new Promise((resolve) => {
      const up = http.request({ port: to, method: req.method, path: req.url, headers: req.headers, agent: false }, (answer) => {
        const all = [];
        answer.on("data", (part) => all.push(part));
        answer.on("error", () => resolve());
        answer.on("end", () => resolve({ status: answer.statusCode, headers: answer.headers, text: Buffer.concat(all) }));
      });
      up.on("error", () => resolve());
      up.end(Buffer.concat(parts));
      if (cut) pause(20).then(() => up.destroy());
    });
    const again = (ms) => {
      const sending = pause(ms).then(() => send()).finally(() => late.delete(sending));
      late.add(sending);
    };
    req.on("error", () => {});
    res.on("error", () => {});
    for await (const part of req) parts.push(part);
    if (kind === 0) return req.socket.destroy();
    if (kind === 1) again(0);
    if (kind === 2) again(200);
    if (random() < share) await pause(30);
    const a = await send(kind === 3);
    if (random() < share) await pause(30);
    if (!a) return req.socket.destroy();
    if (kind === 4) {
      req.socket.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nFanfold-Pos");
      return setImmediate(() => req.socket.destroy());
    }
    res.writeHead(a.status, a.headers);
    if (kind !== 5) return res.end(a.text);
    res.write(a.text.subarray(0, Math.floor(random() * (a.text.length + 1))));
    await pause(5);
    req.socket.destroy();
  });
  proxy.listen(0, "127.0.0.1");
  await new Promise((resolve) => proxy.once("listening", resolve));
  t.after(async () => {
    await Promise.all(late);
    await new Promise((resolve) => (proxy.closeAllConnections(), proxy.close(resolve)));
  });
  return `http://127.0.0.1:${proxy.address().port}`;
}

/** text returns the text of a file of the project. */
export const text = async (path) => readFileSync(new URL("../../../" + path, import.meta.url), "utf8");
