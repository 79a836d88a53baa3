// How much the feed of the console may bring (point 23, and the figures): rows by the thousand, and ten idle tabs.
import assert from 'node:assert/strict';
import { scenario } from './lib/scenario.js';
import { figure } from './lib/store.js';

scenario('Many rows a second stop nothing, and take little memory', { process: true, mayFail: true }, async ({ store, tab, page, context }) => {
  const seconds = Number(process.env.FANFOLD_SECONDS ?? 10);
  await tab.open('#/_changes', 'Changes');
  await page.getByRole('status').filter({ hasText: 'Following' }).waitFor();
  await page.evaluate(() => {
    const of = /** @type {any} */ (globalThis);
    of.tasks = [];
    new PerformanceObserver((got) => of.tasks.push(...got.getEntries().map((e) => Math.round(e.duration)))).observe({ type: 'longtask' });
  });
  const cdp = await context.newCDPSession(page);
  const heap = async () => Number((await cdp.send('Performance.getMetrics')).metrics.find((m) => m.name === 'JSHeapUsedSize')?.value) / (1 << 20);
  await cdp.send('Performance.enable');
  const began = Date.now();
  let most = 0;
  let rows = 0;
  for (let second = 0; second < seconds; second++) {
    const text = Array.from({ length: 1000 }, (_, i) => `{"id":"s${second}-${i}","title":"${'x'.repeat(200)}","n":${i}}`).join('\n');
    await store.import('notes', text);
    rows += 1000;
    most = Math.max(most, await heap());
    const ahead = began + 1000 * (second + 1) - Date.now();
    if (ahead > 0) await new Promise((resolve) => setTimeout(resolve, ahead)); // the rate is what is tried here
  }
  await page.getByRole('link', { name: `notes/s${seconds - 1}-999` }).waitFor();
  await page.getByText(`${(rows - 2000).toLocaleString('en')} older rows are not kept here.`).waitFor();
  const tasks = await page.evaluate(() => /** @type {number[]} */ (/** @type {any} */ (globalThis).tasks));
  await cdp.send('HeapProfiler.collectGarbage');
  const longest = Math.max(0, ...tasks);
  await figure(`${rows / Math.round((Date.now() - began) / 1000)} feed rows a second for ${seconds} s: longest task`, longest + ' ms', '100 ms');
  await figure('the same: heap, most, and at the end', `${most.toFixed(0)} MiB, ${(await heap()).toFixed(0)} MiB`, '150 MB');
  assert.ok(most < 143, `${most} MiB`);
});
