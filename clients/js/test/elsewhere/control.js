// Runs the suite elsewhere than under Node: it bundles the tests, and runs the servers that they ask for.
import { readFileSync, readdirSync } from "node:fs";
import http from "node:http";
import { build } from "esbuild";
import { seeded } from "../seeded.js";
import { chaos, freePort, start, text } from "../server.js";
import { nodeAlone } from "./list.js";

const here = (file) => new URL(file, import.meta.url).pathname;

/** mustFail is a test that fails, so that one sees that failures are told. */
export const mustFail = "a test that fails is told";

/** suite returns the names of all tests, and the files that have some for elsewhere. A name is a plain text, at the beginning of a line. */
export function suite() {
  const names = [], files = [];
  for (const file of readdirSync(here("..")).filter((f) => f.endsWith(".test.js") && f !== "elsewhere.test.js")) {
    const source = readFileSync(here("../" + file), "utf8"), its = [...source.matchAll(/^test\("([^"]+)"/gm)].map((m) => m[1]);
    if (its.length !== source.match(/(?<![.\w])test\(/g).length) throw new Error(`${file} has a test whose name cannot be read`);
    names.push(...its);
    if (its.some((name) => !(name in nodeAlone))) files.push(file);
  }
  return { names, files };
}

/** bundle makes one file of the suite, which asks control for servers. */
export async function bundle(control, files) {
  const instead = { "node:test": "test.js", "node:assert/strict": "assert.js", "./server.js": "server.js", "../dist/index.js": "fanfold.js" };
  const plugin = {
    name: "elsewhere",
    setup(of) {
      of.onResolve({ filter: /.*/ }, ({ path, importer }) => {
        if (instead[path] && /\.test\.js$|suite$/.test(importer)) return { path: here(instead[path]) };
        if (path.startsWith("node:")) return { path, namespace: "none" };
      });
      of.onLoad({ filter: /.*/, namespace: "none" }, () => ({ contents: "module.exports = {}" }));
    },
  };
  const made = await build({
    stdin: {
      contents: [
        ...files.map((f) => `import "./${f}"`),
        `import { run, test } from "./elsewhere/test.js"`, `import assert from "./elsewhere/assert.js"`,
        `test(${JSON.stringify(mustFail)}, () => assert.deepEqual({ a: [1] }, { a: [2] }))`, "await run()",
      ].join("\n"),
      resolveDir: here(".."), sourcefile: "suite",
    },
    bundle: true, format: "esm", target: "es2022", write: false, ignoreAnnotations: true, plugins: [plugin], define: { CONTROL: JSON.stringify(control), "process.env": "{}" },
  });
  return made.outputFiles[0].text;
}

/** control runs servers for a suite that runs elsewhere, until the test ends. all is what was told, once it is over. */
export async function control(t) {
  const running = new Map(), told = [];
  let over, script;
  const all = new Promise((resolve) => (over = () => resolve(told)));
  const add = async (run) => {
    const id = String(running.size), it = { ends: [], of: undefined };
    running.set(id, it);
    it.of = await run({ after: (end) => it.ends.push(end) });
    return { id, it };
  };
  const end = async (it) => {
    for (const fn of it.ends.splice(0)) await fn();
  };
  const does = {
    freePort, text,
    start: async ({ args }) => {
      const { id, it } = await add((t) => start(t, { key: true, args: [...args, "--cors-origin", url] }));
      return { id, url: it.of.url, port: it.of.port, key: it.of.key };
    },
    chaos: async ({ to, seed, share }) => {
      const { id, it } = await add((t) => chaos(t, to, seeded(seed), share));
      return { id, url: it.of };
    },
    up: ({ id }) => running.get(id).of.up(),
    kill: ({ id, signal }) => running.get(id).of.kill(signal),
    end: ({ id }) => end(running.get(id)),
    told: (said) => (said.name ? told.push(said) : over()),
  };
  const server = http.createServer(async (req, res) => {
    if (req.url === "/") return res.setHeader("Content-Type", "text/html").end('<!doctype html><meta charset="utf-8"><script type="module" src="suite.js"></script>');
    if (req.url === "/suite.js") return res.setHeader("Content-Type", "text/javascript").end(script);
    try {
      let body = "";
      for await (const part of req.setEncoding("utf8")) body += part;
      res.end(JSON.stringify((await does[req.url.slice(1)](JSON.parse(body))) ?? null));
    } catch (error) {
      res.writeHead(500).end(String(error));
    }
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const url = `http://127.0.0.1:${server.address().port}`;
  t.after(async () => {
    server.closeAllConnections();
    server.close();
    for (const it of running.values()) await end(it);
  });
  const { names, files } = suite();
  script = await bundle(url, files);
  return { url, script, names, all };
}
