// Runs the files of scenarios that it is given, in one process with one browser: as many scenarios at a time as FANFOLD_AT_A_TIME says.
// The names of those that fail stand in the file FANFOLD_FAILED, a line each.
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { after, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { closeBrowser, declared } from './scenario.js';

for (const file of process.argv.slice(2)) await import(pathToFileURL(resolve(file)).href);

/** @type {Set<string>} */
const open = new Set();

describe('in the browser', { concurrency: Number(process.env.FANFOLD_AT_A_TIME) }, () => {
  for (const { name, run } of declared) {
    test(name, async () => {
      open.add(name);
      await run();
      open.delete(name);
    });
  }
  after(async () => {
    writeFileSync(String(process.env.FANFOLD_FAILED), [...open].map((name) => name + '\n').join(''));
    await closeBrowser();
  });
});
