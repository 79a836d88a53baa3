// What a page takes: time until something is shown, tasks of the main thread, memory.

/**
 * Has a page note, from its load on, when something is first shown, by the page's clock.
 * @param {import('playwright-core').BrowserContext | import('playwright-core').Page} where
 * @param {Record<string, string>} selectors by name
 */
export function noteWhenShown(where, selectors) {
  return where.addInitScript((selectors) => {
    const shown = /** @type {Record<string, number>} */ ({});
    Object.assign(globalThis, { fanfoldShown: shown });
    const look = () => {
      for (const [name, selector] of Object.entries(selectors)) {
        if (shown[name] === undefined && document.querySelector(selector)) shown[name] = performance.now();
      }
    };
    new MutationObserver(look).observe(document, { childList: true, subtree: true, attributes: true });
  }, selectors);
}

/**
 * Returns when things were first shown, in milliseconds since the page began to load, once all are.
 * @param {import('playwright-core').Page} page
 * @param {string[]} names
 * @returns {Promise<Record<string, number>>}
 */
export async function shownAt(page, ...names) {
  await page.waitForFunction((names) => names.every((name) => /** @type {any} */ (globalThis).fanfoldShown[name] !== undefined), names);
  return page.evaluate(() => /** @type {any} */ (globalThis).fanfoldShown);
}

/** Returns when the page first had content, in milliseconds. @param {import('playwright-core').Page} page @returns {Promise<number>} */
export const firstPaint = (page) => page.evaluate(() => new Promise((resolve) => {
  new PerformanceObserver((list) => {
    for (const entry of list.getEntriesByName('first-contentful-paint')) resolve(entry.startTime);
  }).observe({ type: 'paint', buffered: true });
}));

/**
 * Has a page note its longest task, in milliseconds; 0 where none took 50.
 * @param {import('playwright-core').Page} page
 * @returns {Promise<() => Promise<number>>} which returns it
 */
export async function noteTasks(page) {
  await page.addInitScript(() => {
    Object.assign(globalThis, { fanfoldTask: 0 });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) Object.assign(globalThis, { fanfoldTask: Math.max(/** @type {any} */ (globalThis).fanfoldTask, entry.duration) });
    }).observe({ type: 'longtask', buffered: true });
  });
  return () => page.evaluate(() => /** @type {any} */ (globalThis).fanfoldTask);
}

/** Returns the bytes of the heap that a page uses, without what is garbage. @param {import('playwright-core').Page} page */
export async function heapOf(page) {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return usedSize;
}

/** @param {number} ms */
export const ms = (ms) => Math.round(ms) + ' ms';
