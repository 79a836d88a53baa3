import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { buildSync } from "esbuild";
import { FanfoldError } from "../dist/index.js";
import { browse } from "./browser.js";
import { served } from "./served.js";
import { start } from "./server.js";

const root = new URL("..", import.meta.url).pathname;
const openapi = JSON.parse(readFileSync(join(root, "../../api/openapi.json"), "utf8"));

/** pack makes the package's file in a directory. */
const pack = (into) => join(into, JSON.parse(execFileSync("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", into], { cwd: root, encoding: "utf8" }))[0].filename);

test("the package is small, the same each time, and runs where it is installed", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "fanfold-pack-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const file = pack(dir), first = readFileSync(file);
  assert.ok(first.equals(readFileSync(pack(dir))));
  const bundle = buildSync({ entryPoints: [join(root, "dist/index.js")], bundle: true, minify: true, format: "esm", write: false }).outputFiles[0].text;
  assert.ok(gzipSync(bundle, { level: 9 }).length <= 10 * 1024);
  for (const word of ["process.", "Buffer", 'from"node:', "require("]) assert.ok(!bundle.includes(word), word);
  writeFileSync(join(dir, "package.json"), '{"type":"module"}');
  execFileSync("npm", ["install", "--no-audit", "--no-fund", "--offline", file], { cwd: dir, stdio: "ignore" });
  const page = await served(t, dir), s = await start(t, { args: ["--cors-origin", page.url] });
  const example = /```js\n([^]*?)```/.exec(readFileSync(join(root, "README.md"), "utf8"))[1].replace("http://127.0.0.1:8080", s.url);
  writeFileSync(join(dir, "first.js"), example);
  assert.equal(execFileSync("node", ["first.js"], { cwd: dir, encoding: "utf8" }), "Roughing It\n");
  buildSync({ entryPoints: [join(dir, "first.js")], bundle: true, format: "esm", outfile: join(dir, "bundled.mjs") });
  rmSync(join(dir, "first.js"));
  assert.equal(execFileSync("node", ["bundled.mjs"], { cwd: dir, encoding: "utf8" }), "Roughing It\n");
  const tell = `console.log = (text) => fetch("/said", { method: "POST", body: text }); window.onunhandledrejection = window.onerror = (e) => console.log(String(e.reason ?? e))`;
  const sample = /```html\n([^]*?)```/.exec(readFileSync(join(root, "../../docs/use/js-client.md"), "utf8"))[1].replace("http://127.0.0.1:8080", s.url);
  writeFileSync(join(dir, "page.html"), sample.replace("<!doctype html>", `$&<script>${tell}</script>`));
  browse(t, page.url + "/page.html");
  assert.equal(await page.hear(), "Roughing It");
});

test("the wire types are those of openapi.json", () => {
  const made = execFileSync("npx", ["openapi-typescript", "../../api/openapi.json"], { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], maxBuffer: 1 << 26 });
  assert.equal(readFileSync(join(root, "src/wire.d.ts"), "utf8"), made, "npm run wire makes src/wire.d.ts again");
});

test("codes are those of the server", () => {
  const declared = /export type Code =([^;]*);/.exec(readFileSync(join(root, "src/errors.ts"), "utf8"))[1];
  const ours = [...declared.matchAll(/"([a-z-]+)"/g)].map((m) => m[1]).filter((c) => c !== "connection" && c !== "bad-answer").sort();
  const type = openapi.components.schemas.Problem.properties.type;
  const theirs = (type.enum ?? type.anyOf?.flatMap((x) => x.enum ?? []) ?? []).map((x) => x.replace("urn:fanfold:problem:", "")).sort();
  assert.ok(theirs.length > 30);
  assert.deepEqual(ours, theirs);
  assert.equal(new FanfoldError("stale", "x").name, "FanfoldError");
});

/** without are the routes that the client does not have, and why. */
const without = {
  "a page or a probe": /^GET (\/|\/healthz|\/readyz|\/metrics|\/openapi\.json|\/_console.*)$/,
  "an operator has the command line": /^\w+ \/v1\/(_backup|_compact|_erase|_erasures.*|_find|_fold|_functions|_keys.*|_replay|_replicas|_sequences|_snapshot|_verify|_work.*|_access\/_explain|_actors.*|_tokens.*|_import|_model\/.*|_suggest-model|_drift|\{collection\}\/\{id\}\/_erase)$/,
  "an operator has the command line, too": /^\w+ \/v1\/_groups\/.*(_reset|_parked|_rotate).*$/,
};

test("each route has a method, or a reason", () => {
  const source = ["client", "collection", "changes", "consume"].map((f) => readFileSync(join(root, `src/${f}.ts`), "utf8")).join("\n");
  const has = {
    "POST /v1/{collection}": "create", "PUT /v1/{collection}/{id}": "put", "PATCH /v1/{collection}/{id}": "patch", "DELETE /v1/{collection}/{id}": "delete", "GET /v1/{collection}/{id}": "get", "GET /v1/{collection}": "list",
    "POST /v1/{collection}/_query": "query", "GET /v1/{collection}/{id}/{child}": "children", "GET /v1/{collection}/{id}/_lineage": "lineage", "GET /v1/{collection}/{id}/_history": "history", "GET /v1": "collections",
    "POST /v1/_transactions": "transaction", "POST /v1/_functions/{name}": "call", "POST /v1/_import": "import", "GET /v1/_export": "export", "GET /v1/_changes": "changes", "GET /v1/_model": "get", "GET /v1/_model/_targets": "targets", "PUT /v1/_model": "put", "PATCH /v1/_model": "patch",
    "GET /v1/_status": "status", "GET /v1/_me": "me", "POST /v1/_tickets": "ticket", "GET /v1/_diff": "diff", "POST /v1/{collection}/{id}/_revert": "revert", "PATCH /v1/{collection}": "updateByQuery", "DELETE /v1/{collection}": "deleteByQuery", "GET /v1/_groups": "list", "GET /v1/_groups/{name}": "get", "PUT /v1/_groups/{name}": "put", "DELETE /v1/_groups/{name}": "delete",
    "GET /v1/_groups/{name}/_changes": "consume", "POST /v1/_groups/{name}/_lease": "consume", "POST /v1/_groups/{name}/_ack": "consume", "POST /v1/_groups/{name}/_nack": "consume", "POST /v1/_groups/{name}/_release": "consume",
  };
  for (const [path, item] of Object.entries(openapi.paths))
    for (const method of Object.keys(item).filter((m) => /^(get|put|post|patch|delete)$/.test(m))) {
      const route = method.toUpperCase() + " " + path;
      const known = has[route] ? new RegExp(`\\b${has[route]}\\s*[:(<]`).test(source) : Object.values(without).some((of) => of.test(route));
      assert.ok(known, `${route} has no method`);
    }
});
