// Pages that follow the feed (point 14), and how problems and the node are told (point 8 of the console).
import assert from 'node:assert/strict';
import { accessible, golden } from './lib/checks.js';
import { useKey } from './lib/keys.js';
import { scenario } from './lib/scenario.js';

/** @typedef {import('playwright-core').Page} Page */

/** @param {Page} page */
const log = (page) => page.getByRole('log', { name: 'Changes seen', exact: true });

/** What the log says, a line an element. @param {Page} page */
const said = async (page) => (await log(page).locator('> div').allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').replace(/, (just now|\d+ \w+ ago)$/, ''));

/** Waits until the log has so many lines. @param {Page} page @param {number} n */
const lines = (page, n) => page.waitForFunction((n) => document.querySelectorAll('[role=log] > div').length === n, n);

/** The feeds that a tab has asked for. @param {import('./lib/tab.js').Tab} tab */
const feeds = (tab) => tab.requests.filter((r) => r.url().includes('feed=continuous'));

/** Whether a feed is still open. @param {import('playwright-core').Request} request */
const isOpen = (request) => request.failure() === null && request.timing().responseEnd === -1;

/** Follows until the document's feed is open. @param {Page} page */
const following = (page) => page.waitForResponse((r) => r.url().includes('feed=continuous') && r.ok());

scenario('Two tabs on one document: what a rename changes is marked, and the log says what and by whom', { data: 'bookshop' }, async ({ store, tab, page, newTab }) => {
  const other = await newTab();
  await Promise.all([following(page), tab.open('#/books/gilded-age', 'books/gilded-age')]);
  await Promise.all([following(other.page), other.open('#/books/gilded-age', 'books/gilded-age')]);
  await store.merge('authors', 'samuel-clemens', '{"firstName":"Mark","lastName":"Twain"}');
  for (const one of [page, other.page]) {
    await lines(one, 1);
    assert.deepEqual(await said(one), ['/authors/0/name: Samuel Clemens → Mark Twain, by authors/samuel-clemens']);
    await log(one).getByRole('link', { name: 'authors/samuel-clemens', exact: true }).waitFor();
    await one.getByRole('region', { name: 'Document', exact: true }).getByText('"Mark Twain"').waitFor();
    await one.locator('.changed').filter({ hasText: '"Mark Twain"' }).waitFor();
  }
  await accessible(page);
  await golden(log(page), 'changes-seen');
  await store.merge('books', 'gilded-age', '{"year":1874}');
  await lines(page, 2);
  assert.match((await said(page))[0], /^books\/gilded-age: patch/);
  await page.getByText('1874').waitFor();
});

scenario('Many changes are told once, and not row by row', { data: 'bookshop' }, async ({ store, tab, page }) => {
  await Promise.all([following(page), tab.open('#/books/gilded-age', 'books/gilded-age')]);
  assert.equal(await log(page).getAttribute('aria-live'), 'off');
  await page.evaluate(() => {
    const of = /** @type {any} */ (globalThis);
    of.told = [];
    const spoken = '[role=status]:not([aria-live=off]), [role=alert], [aria-live=polite]';
    new MutationObserver((changes) => {
      for (const c of changes) {
        const region = (c.target instanceof Element ? c.target : c.target.parentElement)?.closest(spoken);
        if (region?.textContent) of.told.push(region.textContent);
      }
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
  for (let n = 0; n < 20; n++) await store.merge('authors', 'samuel-clemens', `{"lastName":"Clemens ${n}"}`);
  await lines(page, 20);
  await page.getByRole('status').filter({ hasText: 'seen at' }).waitFor({ state: 'attached' });
  const told = await page.evaluate(() => [...new Set(/** @type {string[]} */ (/** @type {any} */ (globalThis).told))]);
  assert.ok(told.length <= 4, told.join('\n'));
  for (let n = 20; n < 60; n++) await store.merge('authors', 'samuel-clemens', `{"lastName":"Clemens ${n}"}`);
  await log(page).getByText('Samuel Clemens 59', { exact: true }).waitFor();
  await lines(page, 50);
});

scenario('A tab has one feed, none while it is hidden, and loses nothing', { data: 'bookshop' }, async ({ store, tab, page }) => {
  await Promise.all([following(page), tab.open('#/books/gilded-age', 'books/gilded-age')]);
  assert.equal(feeds(tab).filter(isOpen).length, 1);
  await store.merge('authors', 'samuel-clemens', '{"lastName":"Twain"}');
  await lines(page, 1);
  assert.equal(feeds(tab).length, 1, 'the page was read anew, and the feed stays');
  const [first] = feeds(tab);
  const ended = page.waitForEvent('requestfailed', (r) => r === first);
  await tab.hide(true);
  await ended;
  const before = feeds(tab).length;
  await store.merge('authors', 'samuel-clemens', '{"lastName":"Langhorne"}');
  await store.merge('authors', 'samuel-clemens', '{"lastName":"Clemens"}');
  assert.equal(feeds(tab).length, before);
  await tab.hide(false);
  await lines(page, 3);
  assert.deepEqual((await said(page)).map((line) => line.split(', by')[0]), [
    '/authors/0/name: Samuel Langhorne → Samuel Clemens', '/authors/0/name: Samuel Twain → Samuel Langhorne', '/authors/0/name: Samuel Clemens → Samuel Twain']);
  await page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: 'Collections' }).click();
  await page.getByRole('heading', { level: 1, name: 'Collections' }).waitFor();
  await page.waitForFunction(() => document.querySelector('[role=log]') === null);
  while (feeds(tab).some(isOpen)) await page.evaluate('0');
});

scenario('A node that is killed under an open document is told in a line, and the page goes on', { data: 'bookshop', process: true, mayFail: true }, async ({ store, tab, page }) => {
  await Promise.all([following(page), tab.open('#/books/gilded-age', 'books/gilded-age')]);
  await store.merge('authors', 'samuel-clemens', '{"lastName":"Twain"}');
  await lines(page, 1);
  await store.stop();
  const line = page.getByRole('status').filter({ hasText: /The feed was cut.* It goes on by itself\./ });
  await line.waitFor();
  await store.start();
  await store.merge('authors', 'samuel-clemens', '{"lastName":"Clemens"}');
  await lines(page, 2);
  await line.waitFor({ state: 'hidden' });
  assert.deepEqual((await said(page)).map((text) => text.split(', by')[0]), ['/authors/0/name: Samuel Twain → Samuel Clemens', '/authors/0/name: Samuel Clemens → Samuel Twain']);
});

scenario('The node says that it is ready, its position and its lag, to whoever may know', { closed: true, data: { model: 'collections: {notes: {access: {read: [reader]}}}' } }, async ({ store, tab, page, newTab }) => {
  await store.put('notes', 'n1', '{}');
  const keyed = async (/** @type {import('./lib/tab.js').Tab} */ one, /** @type {string} */ key) => {
    await one.open('#/', 'Collections');
    await useKey(one.page, key);
  };
  const node = page.getByRole('status', { name: 'Node', exact: true });
  await keyed(tab, store.key);
  await node.getByText(/^ready/).waitFor();
  await page.waitForFunction(() => document.querySelector('[aria-label=Node]')?.textContent === 'ready, no lag');
  assert.match(await node.getAttribute('title') ?? '', /^at \d+-\d+-\w+(-\d+)?$/);
  const other = await newTab();
  await keyed(other, await store.newKey('reader'));
  await other.page.getByRole('link', { name: 'notes', exact: true }).waitFor();
  assert.equal(await other.page.getByRole('status', { name: 'Node', exact: true }).innerText(), 'ready');
});

scenario('A server that cannot be reached is told in a line, and the page comes by itself', { data: 'bookshop', process: true, mayFail: true }, async ({ store, tab, page }) => {
  await tab.open('#/', 'Collections');
  await page.getByRole('link', { name: 'stocks', exact: true }).click();
  await page.getByRole('table', { name: 'Documents', exact: true }).waitFor();
  await page.goBack();
  await page.getByRole('link', { name: 'books', exact: true }).waitFor();
  await store.stop();
  await page.getByRole('link', { name: 'books', exact: true }).click();
  await page.getByRole('alert').filter({ hasText: 'tried again by itself' }).first().waitFor();
  await page.getByRole('status', { name: 'Node', exact: true }).getByText('the server cannot be reached').waitFor();
  await store.start();
  await page.getByRole('link', { name: 'adam-bede', exact: true }).waitFor();
  await page.waitForFunction(() => document.querySelector('[role=alert]') === null);
  await page.getByRole('status', { name: 'Node', exact: true }).getByText(/^ready/).waitFor();

  await store.stop();
  await page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: 'Changes', exact: true }).click();
  await page.getByRole('alert').filter({ hasText: 'The page cannot be loaded' }).waitFor();
  await page.getByRole('status', { name: 'Node', exact: true }).getByText('the server cannot be reached').waitFor();
  await store.start();
  await page.getByRole('list', { name: 'Changes', exact: true }).waitFor({ state: 'attached' });
});
