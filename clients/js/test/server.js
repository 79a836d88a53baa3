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

/** chaos is a proxy that cuts connections at a random byte of the answer, and sends some requests twice. */
export async function chaos(t, to, random, share = 0.3) {
  const proxy = http.createServer((req, res) => {
    const parts = [];
    req.on("data", (part) => parts.push(part));
    req.on("end", () => {
      const body = Buffer.concat(parts), kind = random();
      const send = (then) => {
        const up = http.request({ port: to, method: req.method, path: req.url, headers: req.headers, agent: false }, (answer) => {
          const all = [];
          answer.on("data", (part) => all.push(part));
          answer.on("end", () => then(answer, Buffer.concat(all)));
        });
        up.on("error", () => req.socket.destroy());
        up.end(body);
      };
      if (kind < share / 3) return req.socket.destroy(); // before the server has it
      const answer = (a, text) => {
        if (kind < share) { // after it
          const cut = Math.floor(random() * (text.length + 1));
          res.writeHead(a.statusCode, a.headers);
          if (text.length > 0) res.write(text.subarray(0, cut));
          return setTimeout(() => req.socket.destroy(), random() * 5);
        }
        res.writeHead(a.statusCode, a.headers);
        res.end(text);
      };
      if (kind > 1 - share / 3) return send(() => send(answer)); // twice
      send(answer);
    });
  });
  proxy.listen(0, "127.0.0.1");
  await new Promise((resolve) => proxy.once("listening", resolve));
  t.after(() => new Promise((resolve) => (proxy.closeAllConnections(), proxy.close(resolve))));
  return `http://127.0.0.1:${proxy.address().port}`;
}

/** text returns the text of a file of the project. */
export const text = async (path) => readFileSync(new URL("../../../" + path, import.meta.url), "utf8");
