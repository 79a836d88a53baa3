// What the console costs, where that is no time that others who run could lengthen: the server's CPU, and the program's size.
import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { scenario } from './lib/scenario.js';
import { figure } from './lib/store.js';

scenario('The server with ten idle tabs', { data: 'bookshop', process: true, bare: true }, async ({ store, tab, context }) => {
  const window = 5000;
  const spent = async () => {
    const before = await store.cpu();
    await delay(window);
    return (await store.cpu() - before) / window;
  };
  const without = await spent();
  const browser = /** @type {import('playwright-core').Browser} */ (context.browser());
  const contexts = [];
  for (let n = 0; n < 10; n++) {
    const fresh = await browser.newContext(); // a browser opens six connections to a server, and each tab has a feed
    contexts.push(fresh);
    const page = await fresh.newPage();
    await page.goto(store.url + '/_console/#/books/huckleberry-finn');
    await page.getByRole('button', { name: 'Origin of /authors/0/name' }).waitFor();
  }
  const withTabs = await spent();
  for (const fresh of contexts) await fresh.close();
  await figure('server CPU with ten idle tabs, without them ' + percent(without), percent(withTabs - without), '1% of a core');
  await tab.open('#/');
});

scenario('The binary grows by the files of the console', {}, async () => {
  const dir = new URL('../../console/dist/', import.meta.url);
  let all = 0;
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) all += (await readFile(`${entry.parentPath ?? entry.path}/${entry.name}`)).length;
  }
  await figure('the binary grows', Math.round(all / 1000) + ' kB', '1,000 kB');
  assert.ok(all < 1_000_000); // half of it is the editor of code
});

/** @param {number} share */
const percent = (share) => (share * 100).toFixed(1) + '%';
