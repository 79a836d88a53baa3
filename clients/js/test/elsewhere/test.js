// What the suite takes of node:test, where there is none.
import { nodeAlone } from "./list.js";
import { ask } from "./server.js";

const declared = [];

/** test declares a test. */
export function test(name, ...of) {
  declared.push({ name, fn: of.at(-1) });
}

/** run runs each test that can run here, one after the other, and tells how it went. */
export async function run() {
  for (const { name, fn } of declared) {
    if (name in nodeAlone) continue;
    const after = [];
    let error;
    try {
      await fn({ name, after: (end) => after.unshift(end), diagnostic: () => {} });
    } catch (failure) {
      error = `${failure}\n${failure?.stack}`;
    }
    for (const end of after) await end();
    await ask("told", { name, error });
  }
  await ask("told", {});
}
