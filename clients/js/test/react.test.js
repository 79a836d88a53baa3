import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { buildSync } from "esbuild";
import { Fanfold } from "../dist/index.js";
import { browse } from "./browser.js";
import { served } from "./served.js";
import { start } from "./server.js";

const here = (path) => new URL(path, import.meta.url).pathname, example = here("../../../examples/react"), modules = join(example, "node_modules");
const most = { timeout: 300_000 };

/** bundled returns a program with the React of the example. */
function bundled(file, define = {}) {
  assert.ok(existsSync(modules), "npm ci --prefix examples/react first, as make js does");
  return buildSync({ entryPoints: [file], bundle: true, format: "esm", jsx: "automatic", write: false, nodePaths: [modules], define }).outputFiles[0].text;
}

/** empty makes a directory for the test. */
function empty(t) {
  const dir = mkdtempSync(join(tmpdir(), "fanfold-react-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

test("useDocument shows each change, shares a feed, and ends with its component", most, async (t) => {
  const dir = empty(t), page = await served(t, dir), s = await start(t, { key: true, args: ["--cors-origin", page.url] });
  writeFileSync(join(dir, "page.js"), bundled(here("react/page.js"), { SERVER: JSON.stringify(s.url), KEY: JSON.stringify(s.key) }));
  writeFileSync(join(dir, "page.html"), '<!doctype html><body><script type="module" src="page.js"></script>');
  browse(t, page.url + "/page.html");
  assert.equal(await page.hear(), "all is well");
});

test("the page of the example shows a book, and each change of it", most, async (t) => {
  const dir = empty(t), page = await served(t, dir), s = await start(t, { args: ["--cors-origin", page.url] }), books = new Fanfold(s.url).collection("books");
  assert.ok(readFileSync(join(example, "useDocument.ts"), "utf8").split("\n").length <= 31);
  writeFileSync(join(dir, "app.js"), bundled(join(example, "app.tsx")).replaceAll("http://127.0.0.1:8080", s.url));
  const tell = `new MutationObserver(() => fetch("/said", { method: "POST", body: document.body.textContent.trim() })).observe(document, { subtree: true, childList: true, characterData: true })`;
  writeFileSync(join(dir, "index.html"), readFileSync(join(example, "index.html"), "utf8").replace("<title>", `<script>${tell}</script>$&`));
  const shows = async (text) => {
    while (!(await page.hear()).startsWith(text));
  };
  browse(t, page.url + "/index.html");
  await shows("There is no book b1");
  await books.put("b1", { title: "Roughing It", year: 1872 });
  await shows("Roughing It, 1872");
  await books.patch("b1", { year: 1873 });
  await shows("Roughing It, 1873");
});
