// The frame around the pages: the sidebar, the way to a page, going anywhere by Ctrl+K, and a new collection.
import assert from 'node:assert/strict';
import { accessible } from './lib/checks.js';
import { codeIn } from './lib/editing.js';
import { useKey } from './lib/keys.js';
import { scenario } from './lib/scenario.js';
import { hold } from './lib/tab.js';

/** @typedef {import('playwright-core').Page} Page */

const shop = { data: 'bookshop', shared: true };

/** @param {Page} page */
const sidebar = (page) => page.getByRole('navigation', { name: 'Collections of the store', exact: true });

/** @param {Page} page */
const box = (page) => page.getByRole('combobox', { name: 'Go to', exact: true });

/** @param {Page} page @param {string} name */
const goal = (page, name) => page.getByRole('option').filter({ hasText: name });

/** @param {Page} page @param {string} name */
const heading = (page, name) => page.getByRole('heading', { level: 1, name, exact: true });

/** The names of the groups, and what is in each, as somebody reads them. @param {Page} page */
const groups = (page) => page.getByRole('listbox', { name: 'Places' }).getByRole('group').evaluateAll((all) => all.map((one) => [one.getAttribute('aria-label'), ...[...one.querySelectorAll('[role="option"]')].map((o) => o.firstElementChild?.textContent)]));

scenario('Ctrl+K goes to an id in any collection, by the keyboard alone', shop, async ({ tab, page }) => {
  await tab.open('#/_model', 'Model');
  await sidebar(page).getByRole('link', { name: 'books' }).waitFor();
  await page.keyboard.press('Control+K');
  assert.ok(await box(page).evaluate((element) => element === document.activeElement), 'the box has the focus');
  await page.keyboard.type('huckleb');
  await goal(page, 'books/huckleberry-finn').waitFor();
  await page.getByRole('status').filter({ hasText: '1 place' }).waitFor();
  const active = await box(page).getAttribute('aria-activedescendant');
  assert.equal(await goal(page, 'books/huckleberry-finn').getAttribute('id'), active);
  await accessible(page);
  await page.keyboard.press('Enter');
  await heading(page, 'books/huckleberry-finn').waitFor();
  assert.ok(await heading(page, 'books/huckleberry-finn').evaluate((element) => element === document.activeElement), 'the focus is on the page');
  assert.equal(await page.getByRole('dialog').count(), 0);

  await page.keyboard.press('Meta+K'); // as on a Mac, and Enter before the answer
  const go = await hold(page, (url) => url.pathname === '/v1/authors' && url.searchParams.has('id'));
  await page.keyboard.type('authors/samuel-clemens');
  await page.keyboard.press('Enter');
  go();
  await heading(page, 'authors/samuel-clemens').waitFor();
});

scenario('Ctrl+K goes to collections, pages, rules, relations and recent places', shop, async ({ tab, page }) => {
  await tab.open('#/books?filter=' + encodeURIComponent('doc.year < 1870'), 'books');
  await tab.open('#/books/huckleberry-finn');
  await sidebar(page).getByRole('link', { name: 'books' }).waitFor();
  await page.getByRole('button', { name: 'Go to…' }).click();
  await goal(page, 'Operations').waitFor();
  const [recent, pages] = await groups(page);
  assert.deepEqual(recent, ['Recent', 'books']);
  assert.deepEqual(pages.slice(0, 4), ['Pages', 'Collections', 'Model', 'Changes']);
  await goal(page, 'doc.year < 1870').waitFor();
  await page.keyboard.press('Enter');
  await heading(page, 'books').waitFor();
  assert.match(page.url(), /filter=doc.year/);

  await page.keyboard.press('Control+K');
  await page.keyboard.type('authors name');
  await goal(page, 'books.authors[].name').waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await heading(page, 'Model').waitFor();
  const row = page.getByRole('table', { name: 'Rules' }).locator('tr.chosen');
  await row.getByText('authors[].name', { exact: true }).waitFor();
  assert.ok(await row.evaluate((element) => element === document.activeElement), 'the rule has the focus');

  await page.keyboard.press('Control+K');
  await page.keyboard.type('books.publisher');
  await goal(page, 'books.publisher').first().waitFor();
  await page.getByRole('group', { name: 'Relations' }).getByRole('option').first().click();
  await page.getByRole('table', { name: 'Relations' }).locator('tr.chosen').getByText('publisher', { exact: true }).first().waitFor();

  await page.keyboard.press('Control+K');
  await page.keyboard.type('nothing has this name');
  await page.getByRole('status').filter({ hasText: 'Nothing that you may read has this name or id.' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
});

const closed = `
collections:
  books: { access: { read: [readers] } }
  bills: { access: { read: [accounting] } }
`;

scenario('Whoever may read little goes anywhere in that', { data: { model: closed, documents: { books: { b1: { title: 'One' } }, bills: { x1: {} } } }, closed: true }, async ({ store, tab, page }) => {
  const key = await store.newKey('readers');
  await tab.open('#/', 'Collections');
  await useKey(page, key);
  await sidebar(page).getByRole('link', { name: 'books' }).waitFor();
  assert.deepEqual(await page.getByRole('navigation', { name: 'Console' }).getByRole('link').allTextContents().then((all) => all.filter((name) => name !== 'Groups')), ['Collections', 'Changes']);
  assert.equal(await page.getByRole('link', { name: 'New collection' }).count(), 0);
  await page.keyboard.press('Control+K');
  await page.keyboard.type('x1');
  await page.getByRole('status').filter({ hasText: 'Nothing that you may read' }).waitFor();
  await box(page).fill('b1');
  await goal(page, 'books/b1').waitFor();
  await page.keyboard.press('Enter');
  await heading(page, 'books/b1').waitFor();
  assert.deepEqual(tab.requests.filter((r) => /\/v1\/(bills|_status|_keys)/.test(r.url())).map((r) => r.url()), [], 'nobody asks for what this reader may not read');
});

scenario('The sidebar lists collections with their counts, narrows them, and says where one is', shop, async ({ tab, page }) => {
  await tab.open('#/books/huckleberry-finn');
  const books = sidebar(page).getByRole('link', { name: 'books 121 documents', exact: true });
  await books.waitFor();
  assert.equal(await books.getAttribute('aria-current'), 'page');
  await sidebar(page).getByRole('searchbox', { name: 'Filter collections' }).fill('AUTH');
  await books.waitFor({ state: 'detached' });
  assert.deepEqual(await sidebar(page).getByRole('listitem').getByRole('link').evaluateAll((links) => links.map((l) => l.getAttribute('href'))), ['#/authors']);
  await page.keyboard.press('Enter');
  await heading(page, 'authors').waitFor();
});

scenario('The way to a page leads to what is around it, at the same time of the store', shop, async ({ tab, page }) => {
  const trail = page.getByRole('navigation', { name: 'Breadcrumb' });
  await tab.open('#/books/huckleberry-finn/_history');
  assert.deepEqual(await trail.getByRole('listitem').allTextContents(), ['All collections', 'books', 'huckleberry-finn', 'History']);
  await trail.getByRole('link', { name: 'huckleberry-finn' }).click();
  await heading(page, 'books/huckleberry-finn').waitFor();
  await tab.open('#/books?filter=' + encodeURIComponent('doc.year < 1870'), 'books');
  await tab.open('#/books/huckleberry-finn');
  assert.equal(await trail.getByRole('link', { name: 'books', exact: true }).getAttribute('href'), '#/books?filter=' + encodeURIComponent('doc.year < 1870'), 'the filter is there again');
  await tab.open('#/books/huckleberry-finn?at=200');
  assert.equal(await trail.getByRole('link', { name: 'books', exact: true }).getAttribute('href'), '#/books?at=200');
  await trail.getByRole('link', { name: 'All collections' }).click();
  await heading(page, 'Collections').waitFor();
  assert.equal(await trail.count(), 0);
});

scenario('On a phone the sidebar is one button away', { ...shop, context: { viewport: { width: 360, height: 740 } } }, async ({ tab, page }) => {
  await tab.open('#/books/huckleberry-finn');
  const menu = page.getByRole('button', { name: 'Menu', exact: true });
  assert.equal(await page.getByRole('navigation', { name: 'Console' }).count(), 0);
  await tab.focusByKey(menu);
  await page.keyboard.press('Enter');
  assert.equal(await menu.getAttribute('aria-expanded'), 'true');
  await sidebar(page).getByRole('link', { name: 'authors' }).waitFor();
  await tab.noSidewaysScrolling();
  await accessible(page);
  await page.keyboard.press('Escape');
  assert.equal(await page.getByRole('navigation', { name: 'Console' }).count(), 0);
  await page.keyboard.press('Enter');
  await tab.focusByKey(sidebar(page).getByRole('link', { name: 'authors' }));
  await page.keyboard.press('Enter');
  await heading(page, 'authors').waitFor();
  assert.equal(await menu.getAttribute('aria-expanded'), 'false');
  await page.keyboard.press('Control+K');
  await box(page).fill('shel');
  await goal(page, 'shelves').first().waitFor();
  await tab.noSidewaysScrolling();
  await accessible(page);
});

scenario('A new collection begins with a document, and its references become a proposal', { data: { model: 'collections: { authors: {} }', documents: { authors: { a1: { name: 'Mary Ann Evans' } }, tags: { red: {} } } } }, async ({ store, tab, page }) => {
  await tab.open('#/', 'Collections');
  await sidebar(page).getByRole('link', { name: 'New collection' }).click();
  await heading(page, 'New collection').waitFor();
  await accessible(page);
  const form = page.getByRole('form', { name: 'New collection' });
  await form.getByRole('textbox', { name: 'Name', exact: true }).fill('authors');
  await form.getByRole('textbox', { name: 'First document', exact: true }).fill('{"title":');
  await form.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('alert').filter({ hasText: 'There is a collection of this name' }).waitFor();
  await form.getByRole('textbox', { name: 'Name', exact: true }).fill('books');
  await form.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('alert').filter({ hasText: 'The document is not JSON' }).waitFor();
  await form.getByRole('textbox', { name: 'Id of the first document', exact: true }).fill('b1');
  await form.getByRole('textbox', { name: 'First document', exact: true }).fill('{"title":"Adam Bede","price":2.50,"author":{"id":"a1"},"tags":["red","blue"],"note":"a2"}');
  await form.getByRole('button', { name: 'Create', exact: true }).click();
  const list = page.getByRole('list', { name: 'Members that look like references' });
  await list.getByRole('listitem').nth(1).waitFor();
  assert.deepEqual((await list.getByRole('listitem').allTextContents()).map((text) => text.replace(/\s+/g, ' ').trim()), ['author.id names authors/a1', 'tags[] names tags/red']);
  assert.match((await store.bytes('books', 'b1')).toString(), /"price":2\.50/);
  await accessible(page);
  await list.getByRole('checkbox', { name: 'tags[]' }).uncheck();
  await page.getByRole('link', { name: 'Propose the relation', exact: true }).click();
  await heading(page, 'Model').waitFor();
  await page.getByText('The suggestion stands in the text.').waitFor();
  const text = await codeIn(page.getByRole('textbox', { name: 'Model', exact: true }));
  assert.match(text, /author\.id/);
  assert.doesNotMatch(text, /tags/);
  assert.equal((await store.get('/v1/_model')).json.collections.books, undefined, 'nothing applies it but somebody');
});

scenario('What needs attention is a badge everywhere, and first on its page', shop, async ({ tab, page }) => {
  await page.route('**/v1/_status', async (route) => {
    const status = await (await route.fetch()).json();
    status.needs = [{ what: 'Rule b.r', detail: 'failed 2 times' }, { what: 'Rule b.s', detail: 'failed 1 time' }];
    await route.fulfill({ json: status });
  });
  await tab.open('#/books/huckleberry-finn');
  await page.getByRole('link', { name: '2 need attention', exact: true }).click();
  await heading(page, 'Collections').waitFor();
  const list = page.getByRole('list', { name: 'Needs attention', exact: true });
  const table = page.getByRole('table', { name: 'Collections', exact: true });
  await table.waitFor();
  const [above, below] = [await list.boundingBox(), await table.boundingBox()];
  assert.ok(above && below && above.y + above.height <= below.y, 'the list stands under the table');
  await accessible(page);
});

scenario('What is selected of a document is JSON', { data: { documents: { books: { b1: '{"title":"Adam Bede","price":2.50,"authors":[{"id":"a1","name":"Evans"},{"id":"a2"}],"empty":{},"note":"a\\/b"}' } } }, context: { permissions: ['clipboard-read', 'clipboard-write'] } }, async ({ store, tab, page }) => {
  await tab.open('#/books/b1', 'books/b1');
  const region = page.getByRole('region', { name: 'Document', exact: true });
  await region.getByText('"Adam Bede"').waitFor();
  /** @param {string} from @param {string} to */
  const copied = async (from, to) => {
    await region.evaluate((element, [from, to]) => {
      const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
      const range = document.createRange();
      for (let node = texts.nextNode(); node; node = texts.nextNode()) {
        if (node.textContent?.includes(from)) range.setStart(node, 0);
        if (node.textContent?.includes(to)) { range.setEnd(node, node.textContent.length); break; }
      }
      getSelection()?.removeAllRanges();
      getSelection()?.addRange(range);
    }, [from, to]);
    await page.keyboard.press('Control+C');
    return page.evaluate(() => navigator.clipboard.readText());
  };
  assert.equal(await copied('"b1"', '"a/b"'), (await store.get('/v1/books/b1')).text.trim());
  assert.equal(await copied('"title"', '2.50'), '{\n  "title": "Adam Bede",\n  "price": 2.50\n}');
  assert.equal(await copied('"a1"', '"Evans"'), '{"id":"a1","name":"Evans"}');
  assert.equal(await copied('2.50', '2.50'), '2.50');
});

scenario('An id of blanks has a width, and one of 255 bytes stays within its column', { data: { model: 'collections: { authors: {}, books: { relations: { author: { path: author, to: authors } } } }', documents: { authors: { ' ': { name: 'Blank' }, ['x'.repeat(255)]: { name: 'Long' } }, books: { b1: { author: ' ' }, ['y'.repeat(255)]: { author: 'x'.repeat(255) }, ['z'.repeat(255)]: { author: 'x'.repeat(255) } } } } }, async ({ tab, page }) => {
  await tab.open('#/authors', 'authors');
  const blank = page.getByRole('link', { name: 'U+0020', exact: true });
  await blank.waitFor();
  assert.ok(((await blank.boundingBox())?.width ?? 0) > 10);
  await blank.click();
  await page.getByText('"Blank"').waitFor();
  const referred = page.getByRole('region', { name: 'Referred to by' });
  await tab.open('#/authors/' + 'x'.repeat(255));
  await referred.getByText('Show', { exact: true }).click();
  await referred.getByRole('link').nth(1).waitFor();
  const wide = await page.locator('main a, main h1, main dd, main li').evaluateAll((all) => all.filter((e) => e.getBoundingClientRect().right > (e.closest('section, main')?.getBoundingClientRect().right ?? 0) + 1).map((e) => e.outerHTML.slice(0, 100)));
  assert.deepEqual(wide, []);
  await tab.noSidewaysScrolling();
});

scenario('The first page asks at once for all that needs no other answer', { data: 'bookshop' }, async ({ tab, page }) => {
  let letGo = () => {};
  const held = new Promise((resolve) => { letGo = () => resolve(undefined); });
  await page.route('**/v1/_me', async (route) => {
    await held;
    await route.continue();
  });
  await tab.open('#/', 'Collections');
  await page.getByRole('table', { name: 'Collections' }).getByRole('link', { name: 'books', exact: true }).waitFor();
  await page.getByRole('navigation', { name: 'Collections' }).getByRole('link', { name: /^books/ }).waitFor();
  await page.getByRole('status', { name: 'Node' }).getByText('ready').waitFor();
  letGo();
  await page.getByRole('status', { name: 'Node' }).getByText('no lag').waitFor();
  for (const path of ['/readyz', '/v1/_status']) assert.equal(tab.requests.filter((r) => new URL(r.url()).pathname === path).length, 1, `${path} is asked once`);
});

scenario('On paper no column is cut, and there is no frame', { data: { documents: { books: { b1: Object.fromEntries(Array.from({ length: 14 }, (_, i) => ['member' + i, 'a text of some words, number ' + i])) } } } }, async ({ tab, page }) => {
  await page.setViewportSize({ width: 794, height: 1123 }); // A4
  await tab.open('#/books?fields=' + Array.from({ length: 14 }, (_, i) => 'member' + i).join(','), 'books');
  await page.getByRole('table', { name: 'Documents' }).getByRole('link', { name: 'b1' }).waitFor();
  await page.emulateMedia({ media: 'print' });
  const cut = await page.locator('main th, main td').evaluateAll((cells) => cells.filter((c) => c.getBoundingClientRect().right > document.documentElement.clientWidth + 1 || c.scrollWidth > c.clientWidth + 1).map((c) => c.textContent));
  assert.deepEqual(cut, []);
  assert.ok(await page.getByRole('columnheader', { name: 'member13' }).isVisible(), 'a column has no name');
  assert.equal(await page.locator('body > header:visible, footer:visible, main button:not(table button):visible').count(), 0);
  await page.emulateMedia({ media: null });
});
