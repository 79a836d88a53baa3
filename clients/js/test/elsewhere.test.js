import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { browse, commandOf } from "./browser.js";
import { control, mustFail } from "./elsewhere/control.js";
import { nodeAlone } from "./elsewhere/list.js";

/** passes runs the suite by open. Each test passes, but for the one that must fail; each that does not run is one of list.js. */
async function passes(t, open) {
  const c = await control(t);
  open(c);
  const told = await c.all;
  assert.deepEqual(told.filter((x) => x.error && x.name !== mustFail), []);
  assert.match(told.find((x) => x.name === mustFail)?.error ?? "", /got .*\[1\].*, want .*\[2\]/);
  const ran = told.map((x) => x.name).filter((name) => name !== mustFail);
  assert.deepEqual([...ran, ...Object.keys(nodeAlone)].sort(), c.names.sort());
  t.diagnostic(`${ran.length} tests ran; ${Object.keys(nodeAlone).length} run under Node alone (test/elsewhere/list.js)`);
}

const most = { timeout: 300_000 };

test("the suite runs in Chromium, from another origin, with a key", most, (t) => passes(t, ({ url }) => browse(t, url)));

for (const [name, command, ...args] of [["Deno", "deno", "run", "--allow-net", "--no-lock"], ["Bun", "bun", "run"]])
  test(`the suite runs under ${name}`, { ...most, skip: !commandOf(command) && `${name} is not installed, so the suite does not run under it` }, (t) =>
    passes(t, ({ script }) => {
      const dir = mkdtempSync(join(tmpdir(), "fanfold-elsewhere-")), file = join(dir, "suite.mjs");
      writeFileSync(file, script);
      const child = spawn(command, [...args, file], { stdio: ["ignore", "inherit", "inherit"], cwd: dir });
      t.after(() => {
        child.kill();
        rmSync(dir, { recursive: true, force: true });
      });
    }));
