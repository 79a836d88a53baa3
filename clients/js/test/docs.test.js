import assert from "node:assert/strict";
import { test } from "node:test";
import * as fanfold from "../dist/index.js";
import { start, text } from "./server.js";

const run = Object.getPrototypeOf(async () => {}).constructor;

/** samples returns the samples of a page, as one program. */
async function samples(page) {
  return [...(await text(page)).matchAll(/^```js\n(.*?)^```$/gms)].map((m) => m[1]).join("\n").replace(/^import \{(.*)\} from "fanfold"$/gm, "const {$1} = fanfold");
}

test("the samples of the page run, one after the other", async (t) => {
  const s = await start(t), said = [];
  const program = (await samples("docs/use/js-client.md")).replaceAll("http://127.0.0.1:8080", s.url);
  await run("fanfold", "console", program)(fanfold, { log: (...text) => said.push(text.map((x) => (typeof x === "object" ? JSON.stringify(x) : x)).join(" ")) });
  assert.equal(said[0], "Life on the Mississippi");
  assert.deepEqual(said.slice(1, 3).sort(), ['{"genre":"travel"} {"count":1,"max(year)":1873}', '{} {"count":1,"max(year)":1883}']);
  const later = said.findIndex((text) => /^go on later from \d+-\d+-/.test(text));
  assert.deepEqual(said.slice(3, later).sort(), ["create b2", "patch b1"]);
  assert.ok(said.slice(later + 1).includes("travel"), said.join("\n"));
});

test("the first example of the package runs", async (t) => {
  const s = await start(t), said = [];
  await run("fanfold", "console", (await samples("clients/js/README.md")).replaceAll("http://127.0.0.1:8080", s.url))(fanfold, { log: (text) => said.push(text) });
  assert.deepEqual(said, ["Roughing It"]);
});

test("the sample of the project's README runs", async (t) => {
  const s = await start(t), books = new fanfold.Fanfold(s.url).collection("books");
  await books.put("b1", { title: "Roughing It" });
  await run("fanfold", (await samples("README.md")).replaceAll("http://127.0.0.1:8080", s.url))(fanfold);
  assert.equal((await books.get("b1")).doc.year, 1872);
});
