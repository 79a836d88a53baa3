// The change feed as a page (point 13 of the console).
import assert from 'node:assert/strict';
import { accessible, golden } from './lib/checks.js';
import { keyDialog, useKey } from './lib/keys.js';
import { scenario } from './lib/scenario.js';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('./lib/store.js').Store} Store */

/** @param {Page} page */
const list = (page) => page.getByRole('list', { name: 'Changes', exact: true });

/** The item of one event. @param {Page} page @param {string | RegExp} text */
const item = (page, text) => list(page).locator('> li').filter({ hasText: text });

/** @param {Page} page @param {string} name */
const press = (page, name) => page.getByRole('button', { name, exact: true }).click();

/** Waits for what the feed says of itself. @param {Page} page @param {string} word */
const says = (page, word) => page.getByRole('status').filter({ hasText: word }).waitFor();

/** Writes notes n<from> to n<to>, one after the other. @param {Store} store @param {number} from @param {number} to */
async function notes(store, from, to) {
  for (let n = from; n <= to; n++) await store.put('notes', 'n' + n, '{}');
}

/** The notes that the list shows, the oldest first. @param {Page} page */
const noted = async (page) => (await list(page).getByRole('link').allTextContents()).reverse();

/** @param {number} from @param {number} to */
const names = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => 'notes/n' + (from + i));

scenario('An event is an item, and opens its derived changes by rule and document', { data: 'bookshop' }, async ({ store, tab, page }) => {
  await tab.open('#/_changes', 'Changes');
  await says(page, 'Following');
  const position = (await store.merge('authors', 'samuel-clemens', '{"firstName":"Mark","lastName":"Twain"}')).headers.get('Fanfold-Position') ?? '';
  const rename = item(page, 'authors/samuel-clemens');
  await rename.getByText('patch', { exact: true }).waitFor();
  assert.ok((await rename.textContent())?.includes(position), position);
  const shown = rename.getByRole('time').first();
  assert.match(await shown.innerText(), /^(just now|\d+ (s|min) ago)$/);
  assert.match(await shown.getAttribute('title') ?? '', new RegExp(`^\\d{4}-.*Z, at ${position}$`));
  await rename.getByRole('button', { name: '11 derived changes', exact: true }).click();
  await rename.getByRole('heading', { name: 'books.authors[].name: 8', exact: true }).waitFor();
  const book = rename.getByRole('listitem').filter({ hasText: 'books/gilded-age' });
  assert.equal((await book.innerText()).replace(/\s+/g, ' '), 'books/gilded-age /authors/0/name: "Samuel Clemens" → "Mark Twain"');
  await book.getByRole('link', { name: 'books/gilded-age' }).waitFor();
  await accessible(page);
  await golden(list(page), 'changes');
  await page.getByText('11 derived changes').click();
  assert.equal(await page.getByText('books/gilded-age').count(), 0);
});

scenario('The feed begins at 0, at a position, at a time or now', {}, async ({ store, tab, page }) => {
  await notes(store, 1, 2);
  const second = (await store.get('/v1/_changes?since=0')).json.results[1];
  await store.put('plans', 'p1', '{"n":1}');
  await notes(store, 3, 3);
  await tab.open('#/_changes?since=0&collections=notes', 'Changes');
  await item(page, 'notes/n3').waitFor();
  assert.deepEqual(await noted(page), names(1, 3));
  const choose = async (/** @type {Record<string, string>} */ values) => {
    for (const [name, value] of Object.entries(values)) await page.getByRole('textbox', { name, exact: true }).fill(value);
    await press(page, 'Follow');
  };
  await choose({ From: second.seq, Collections: 'notes' });
  await page.waitForURL((url) => url.hash === `#/_changes?since=${second.seq}&collections=notes`);
  await page.waitForFunction(() => document.querySelectorAll('ul[aria-label=Changes] > li').length === 1);
  assert.deepEqual(await noted(page), ['notes/n3']);
  await choose({ From: second.time, Collections: 'plans, notes' });
  await item(page, 'plans/p1').waitFor();
  await page.goBack();
  await page.waitForFunction(() => document.querySelectorAll('ul[aria-label=Changes] > li').length === 1);
  await choose({ From: '0', Collections: '', Filter: 'has(doc.n) && doc.n == 1' });
  await page.waitForFunction(() => document.querySelectorAll('ul[aria-label=Changes] > li').length === 1);
  await item(page, 'plans/p1').waitFor();
  await choose({ From: 'now', Collections: '', Filter: '' });
  await page.getByText('No change has come yet.').waitFor();
  await says(page, 'Following');
  await notes(store, 4, 4);
  await item(page, 'notes/n4').waitFor();
  assert.deepEqual(await noted(page), ['notes/n4']);
  await choose({ From: 'now', Filter: 'doc.' });
  const alert = page.getByRole('alert').filter({ hasText: 'The request cannot be understood' });
  await alert.getByRole('button', { name: 'Try again' }).waitFor();
});

scenario('What is typed stays while rows come', {}, async ({ store, tab, page }) => {
  await tab.open('#/_changes', 'Changes');
  await says(page, 'Following');
  await page.getByRole('textbox', { name: 'From', exact: true }).fill('0');
  await page.getByRole('checkbox', { name: 'Derived changes' }).uncheck();
  await notes(store, 1, 2);
  await item(page, 'notes/n2').waitFor();
  assert.equal(await page.getByRole('textbox', { name: 'From', exact: true }).inputValue(), '0');
  assert.equal(await page.getByRole('checkbox', { name: 'Derived changes' }).isChecked(), false);
});

scenario('Derived changes are left out on demand', { data: 'bookshop', shared: true }, async ({ tab, page }) => {
  await tab.open('#/_changes?since=0&collections=reviews,books', 'Changes');
  await page.getByRole('button', { name: /derived change/ }).first().waitFor();
  await page.getByRole('checkbox', { name: 'Derived changes' }).uncheck();
  await press(page, 'Follow');
  await page.waitForURL((url) => url.hash === '#/_changes?since=0&collections=reviews%2Cbooks&derived=exclude');
  await item(page, 'reviews/r12').waitFor();
  await page.waitForFunction(() => !/derived change/.test(document.querySelector('ul[aria-label=Changes]')?.textContent ?? ''));
});

scenario('A pause loses nothing, and nothing comes twice', {}, async ({ store, tab, page }) => {
  await tab.open('#/_changes', 'Changes');
  await says(page, 'Following');
  await notes(store, 1, 3);
  await item(page, 'notes/n3').waitFor();
  await press(page, 'Pause');
  await says(page, 'Paused');
  await notes(store, 4, 6);
  assert.deepEqual(await noted(page), names(1, 3));
  await press(page, 'Resume');
  await notes(store, 7, 8);
  await item(page, 'notes/n8').waitFor();
  assert.deepEqual(await noted(page), names(1, 8));
});

scenario('A feed goes on by position when the node was killed', { process: true, mayFail: true }, async ({ store, tab, page }) => {
  await tab.open('#/_changes', 'Changes');
  await says(page, 'Following');
  await notes(store, 1, 5);
  await item(page, 'notes/n5').waitFor();
  await store.stop();
  await says(page, 'It goes on by itself.');
  await store.start();
  await notes(store, 6, 9);
  await item(page, 'notes/n9').waitFor();
  assert.deepEqual(await noted(page), names(1, 9));
  await says(page, 'Following');
  assert.equal(await page.getByText('It goes on by itself.').count(), 0);
  for (let n = 10; n < 15; n++) {
    await store.cut();
    await notes(store, n, n);
    await item(page, 'notes/n' + n).waitFor();
  }
  assert.deepEqual(await noted(page), names(1, 14));
});

scenario('A hidden tab has no feed, and goes on when it is seen again', {}, async ({ store, tab, page }) => {
  await tab.open('#/_changes', 'Changes');
  await says(page, 'Following');
  const feed = tab.requests.filter((r) => r.url().includes('/_changes')).at(-1);
  const ended = page.waitForEvent('requestfailed', (r) => r === feed);
  await tab.hide(true);
  await ended;
  const before = tab.requests.length;
  await notes(store, 1, 3);
  assert.equal(tab.requests.length, before);
  await tab.hide(false);
  await item(page, 'notes/n3').waitFor();
  assert.deepEqual(await noted(page), names(1, 3));
});

scenario('A position that is gone says where to begin', {}, async ({ store, tab, page }) => {
  await notes(store, 1, 2);
  await tab.open('#/_changes?since=1-0-aaaaaaaa&derived=exclude', 'Changes');
  const alert = page.getByRole('alert').filter({ hasText: 'The position is of another store' });
  await accessible(page);
  await alert.getByRole('link', { name: /^Begin at / }).click();
  await item(page, 'notes/n2').waitFor();
  assert.equal(await alert.count(), 0);
  assert.match(new URL(page.url()).hash, /derived=exclude/);
});

scenario('A key that is revoked under a feed is asked for, and the feed of another begins anew', { closed: true, data: { model: 'collections: {notes: {access: {read: [reader]}}, plans: {}}' } }, async ({ store, tab, page }) => {
  const { key, id } = (await store.want('POST', '/v1/_keys', '{"name":"ada","roles":["reader"]}')).json;
  await tab.open('#/_changes', 'Changes');
  const dialog = keyDialog(page);
  const give = async (/** @type {string} */ text) => {
    await useKey(page, text);
    await dialog.waitFor({ state: 'hidden' });
  };
  await give(key);
  await says(page, 'Following');
  await store.put('plans', 'secret', '{}');
  await notes(store, 1, 2);
  await item(page, 'notes/n2').waitFor();
  assert.deepEqual(await noted(page), names(1, 2));
  await store.want('DELETE', '/v1/_keys/' + id);
  await dialog.waitFor();
  await notes(store, 3, 4);
  await page.keyboard.press('Escape');
  await page.getByRole('alert').getByRole('button', { name: 'Try again' }).click();
  await give(await store.newKey('reader'));
  await page.getByText('No change has come yet.').waitFor(); // nothing stays that the first one has seen
  await says(page, 'Following');
  await page.getByRole('main').locator('code').first().waitFor(); // how far the feed was when it began anew
  await notes(store, 5, 6);
  await item(page, 'notes/n6').waitFor();
  assert.deepEqual(await noted(page), names(5, 6));
});

scenario('An event with more changes than are kept shows the newest, and counts the others', { data: { model: 'collections: {authors: {}, books: {relations: {author: {path: author, to: authors}}, derive: {name: {copy: author, value: doc.name}}}}', documents: { authors: { a1: { name: 'Thomas Andersen' } } } } }, async ({ store, tab, page }) => {
  await store.import('books', Array.from({ length: 3000 }, (_, i) => `{"id":"b${i}","author":"a1"}`).join('\n'));
  await tab.open('#/_changes', 'Changes');
  await says(page, 'Following');
  await store.merge('authors', 'a1', '{"name":"Thomas Anderson"}');
  const rename = item(page, 'authors/a1');
  await rename.getByRole('button', { name: '3,000 derived changes', exact: true }).click();
  await rename.getByText('1,001 of them are not kept here.').waitFor();
  await rename.getByRole('heading', { name: 'books.name: 1,999' }).waitFor();
  await rename.getByRole('button', { name: 'Show 50 more of books.name' }).click();
  await page.getByText('1,001 older rows are not kept here.').waitFor();
  await rename.getByText('/name: "Thomas Andersen" → "Thomas Anderson"').nth(99).waitFor();
  await notes(store, 1, 3);
  await page.getByText('1,004 older rows are not kept here.').waitFor();
});

scenario('Ids of blanks can be seen and pressed, and long ones print over nothing', { data: { model: `
collections:
  notes: { relations: { about: { path: about, to: things } }, derive: { name: { copy: about, value: doc.name } } }
  things: {}
` } }, async ({ store, tab, page }) => {
  const long = 'w'.repeat(255);
  await store.put('things', ' ', '{"name":"Blank"}');
  await store.put('things', long, '{"name":"Long"}');
  await store.put('notes', '  ', '{"about":" "}');
  await store.put('notes', long, JSON.stringify({ about: long }));
  await store.put('things', ' ', '{"name":"Other"}');
  await tab.open('#/_changes?since=0', 'Changes');
  await page.getByRole('button', { name: '1 derived change' }).first().click();
  const blank = list(page).getByRole('link', { name: /^things\/ *U\+0020$/ });
  await blank.first().waitFor();
  await list(page).getByRole('link', { name: /^notes\/ *U\+0020U\+0020$/ }).first().waitFor();
  for (const width of [1280, 360]) {
    await page.setViewportSize({ width, height: 740 });
    await tab.noSidewaysScrolling();
    const over = await list(page).evaluate((element) => {
      const texts = [...element.querySelectorAll('a, code, time, strong, button')].flatMap((one) => [...one.getClientRects()].map((box) => ({ one, box })));
      return texts.flatMap((a, i) => texts.slice(i + 1).filter((b) => !a.one.contains(b.one) && !b.one.contains(a.one) &&
        Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left) > 2 && Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top) > 4)
        .map((b) => [a.one.textContent, b.one.textContent]));
    });
    assert.deepEqual(over, [], 'at ' + width);
  }
  await page.setViewportSize({ width: 1280, height: 900 });
  await blank.first().click();
  await page.getByRole('region', { name: 'Document' }).getByText('Other').waitFor();
});
