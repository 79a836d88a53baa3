// The table of a collection: rows that are drawn near the window alone, typed cells, order, columns, and the document beside it.
import assert from 'node:assert/strict';
import { accessible } from './lib/checks.js';
import { codeIs } from './lib/editing.js';
import { scenario } from './lib/scenario.js';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('./lib/tab.js').Tab} Tab */

/** @param {Page} page */
const table = (page) => page.getByRole('table', { name: 'Documents', exact: true });

/** @param {Page} page */
const box = (page) => page.getByRole('group', { name: 'Table of documents', exact: true });

/** @param {Page} page @param {string} id */
const row = (page, id) => table(page).getByRole('row').filter({ has: page.getByRole('link', { name: id, exact: true }) });

/** @param {Page} page @param {string} name */
const press = (page, name) => page.getByRole('button', { name, exact: true }).click();

/** Presses a button, and returns the file that the browser stores then. @param {Page} page @param {string} name */
const downloaded = async (page, name) => {
  const [download] = await Promise.all([page.waitForEvent('download'), press(page, name)]);
  const parts = [];
  for await (const part of await download.createReadStream()) parts.push(part);
  return { name: download.suggestedFilename(), text: Buffer.concat(parts).toString() };
};

/** The parameters of the place. @param {Page} page */
const params = (page) => Object.fromEntries(new URLSearchParams(new URL(page.url()).hash.split('?')[1]));

/** Waits until a parameter of the place is something, or is not there. @param {Page} page @param {string} name @param {string | null} want */
const placed = (page, name, want) => page.waitForFunction(([name, want]) => new URLSearchParams(location.hash.split('?')[1]).get(String(name)) === want, [name, want]);

/** What has the focus. @param {Page} page */
const focused = (page) => page.evaluate(() => document.activeElement?.textContent ?? '');

/** @param {number} count */
const many = (count) => Array.from({ length: count }, (_, n) => JSON.stringify({ id: 'n' + String(n).padStart(5, '0'), n, title: 'Title ' + n, even: n % 2 === 0, place: { x: n, y: -n } })).join('\n') + '\n';

scenario('A thousand rows scroll, one line each, and only those near the window are there', {}, async ({ store, tab, page }) => {
  await store.import('numbers', many(1500));
  await tab.open('#/numbers', 'numbers');
  await row(page, 'n00000').waitFor();
  await page.getByText('1,500 in all.').waitFor();
  const drawn = () => table(page).locator('tbody tr').count();
  const seen = await box(page).evaluate((e) => (e.clientHeight - 24) / 24);
  assert.ok(seen >= 26, `${seen} rows are seen at 900 px`);
  const heights = await table(page).locator('tbody tr').evaluateAll((rows) => [...new Set(rows.map((r) => Math.round(r.getBoundingClientRect().height)))]);
  assert.deepEqual(heights, [24]);
  const pages = () => tab.requests.map((r) => new URL(r.url())).filter((url) => url.pathname === '/v1/numbers' && !url.searchParams.has('count')).length;
  const before = pages();
  for (let last = 'n00000'; last !== 'n01499';) {
    await box(page).evaluate((e) => { e.scrollTop = e.scrollHeight; });
    await page.waitForFunction((was) => { const links = [...document.querySelectorAll('table.grid tbody th a')]; return links.length > 0 && links.at(-1)?.textContent !== was; }, last);
    last = (await table(page).locator('tbody th a').allTextContents()).at(-1) ?? '';
    assert.ok(await drawn() < 80, `${await drawn()} rows are elements`);
  }
  await page.getByText('1,500 documents.').waitFor();
  assert.ok(pages() - before >= 14, 'page by page');
  const asked = pages();
  await box(page).evaluate((e) => { e.scrollTop = 0; });
  await row(page, 'n00000').waitFor();
  await row(page, 'n00025').waitFor();
  assert.equal(pages(), asked + 2, 'what was forgotten is asked for again');
  await accessible(page);
});

scenario('Back from a document leads to the same rows', {}, async ({ store, tab, page }) => {
  await store.import('numbers', many(700));
  await tab.open('#/numbers', 'numbers');
  await row(page, 'n00000').waitFor();
  await page.waitForFunction(() => { // a list is as long as the rows that have come
    const of = document.querySelector('.grid-box');
    if (of) of.scrollTop = 24 * 300;
    return of?.scrollTop === 24 * 300 && [...document.querySelectorAll('table.grid tbody th a')].some((a) => a.textContent === 'n00305');
  });
  await row(page, 'n00305').getByRole('link', { name: 'n00305', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'numbers/n00305', exact: true }).waitFor();
  await page.goBack();
  await row(page, 'n00305').waitFor();
  await page.waitForFunction(() => Math.abs((document.querySelector('.grid-box')?.scrollTop ?? 0) - 24 * 300) <= 24);
  assert.equal(await row(page, 'n00000').count(), 0);
  await box(page).evaluate((e) => { e.scrollTop = 0; });
  await row(page, 'n00000').waitFor();
});

scenario('Heads sort, and the line says which index has the order', { data: 'bookshop', shared: true }, async ({ tab, page }) => {
  await tab.open('#/books?filter=' + encodeURIComponent('doc.language == "en"'), 'books');
  const head = table(page).getByRole('columnheader', { name: 'year', exact: true });
  await head.getByRole('button').click();
  await placed(page, 'sort', 'year');
  await page.getByText('Ordered by the index byLanguage.').waitFor();
  assert.equal(await head.getAttribute('aria-sort'), 'ascending');
  await head.getByRole('button').click();
  await placed(page, 'sort', '-year');
  await page.waitForFunction(() => { const years = [...document.querySelectorAll('table.grid tbody tr')].map((r) => Number(r.children[2].textContent)); return years.length > 5 && years.every((y, i) => i === 0 || y <= years[i - 1]); });
  assert.equal(await head.getAttribute('aria-sort'), 'descending');
  await head.getByRole('button').click();
  await placed(page, 'sort', null);
  assert.equal(await head.getAttribute('aria-sort'), null);
  await table(page).getByRole('columnheader', { name: 'title', exact: true }).getByRole('button').click();
  await page.getByText('No index has this order').waitFor();
  await accessible(page);
  await head.getByRole('button').click({ modifiers: ['Shift'] });
  await placed(page, 'sort', 'title,year');
});

scenario('Columns are chosen, moved and made wider, and the tab remembers them', { data: 'bookshop', shared: true }, async ({ tab, page }) => {
  const heads = () => table(page).getByRole('columnheader').allTextContents();
  await tab.open('#/books', 'books');
  await table(page).waitFor();
  const all = await heads();
  await press(page, 'Columns');
  const choice = page.getByRole('list', { name: 'Columns', exact: true });
  await accessible(page);
  await choice.getByRole('checkbox', { name: all[2], exact: true }).click();
  await placed(page, 'fields', all.slice(1).filter((name) => name !== all[2]).join(','));
  await page.waitForFunction((n) => document.querySelectorAll('table.grid thead th').length === n, all.length - 1);
  const now = await heads();
  const first = table(page).getByRole('columnheader', { name: now[1], exact: true });
  const wide = async () => (await first.boundingBox())?.width ?? 0;
  const was = await wide();
  await first.getByRole('button').focus();
  await page.keyboard.press('Shift+ArrowRight');
  assert.equal(Math.round(await wide() - was), 16);
  await press(page, 'Columns'); // closes the menu, which covers heads
  await choice.waitFor({ state: 'detached' });
  const at = await first.locator('.edge').boundingBox();
  assert.ok(at);
  await page.mouse.move(at.x + at.width / 2, at.y + 8);
  await page.mouse.down();
  await page.mouse.move(at.x + at.width / 2 + 40, at.y + 8, { steps: 4 });
  await page.mouse.up();
  assert.equal(Math.round(await wide() - was), 56);
  await tab.open('#/authors', 'authors');
  await tab.open('#/books', 'books');
  await table(page).waitFor();
  assert.deepEqual(await heads(), now);
  assert.equal(Math.round(await wide() - was), 56);
  await press(page, 'Columns');
  await press(page, 'Those that most have');
  await page.waitForFunction((n) => document.querySelectorAll('table.grid thead th').length === n, all.length);
  assert.deepEqual(await heads(), all);
});

scenario('The document of a row stands beside the table, by the keyboard', { data: 'bookshop', shared: true }, async ({ tab, page }) => {
  await tab.open('#/books', 'books');
  await row(page, 'adam-bede').waitFor();
  await tab.focusByKey(box(page));
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  const second = (await table(page).locator('tbody th a').allTextContents())[1];
  assert.ok((await focused(page)).startsWith(second), await focused(page));
  await page.keyboard.press('Enter');
  const side = page.getByRole('region', { name: 'Document ' + second, exact: true });
  await side.getByText('title', { exact: false }).first().waitFor();
  assert.equal(params(page).doc, second);
  assert.equal(await focused(page), second);
  await accessible(page);
  await page.keyboard.press('Escape');
  await side.waitFor({ state: 'detached' });
  assert.ok((await focused(page)).startsWith(second), 'the row has the focus again');
  await page.keyboard.press('Enter');
  await side.waitFor();
  await row(page, 'adam-bede').getByRole('cell').nth(1).click();
  await page.getByRole('region', { name: 'Document adam-bede', exact: true }).getByText('Adam Bede').waitFor();
  await page.reload();
  await page.getByRole('region', { name: 'Document adam-bede', exact: true }).getByText('Adam Bede').waitFor();
  await press(page, 'Close the document');
  await placed(page, 'doc', null);
});

const ties = `
collections:
  authors: { derive: { countOfBooks: { count: books.author } } }
  books:
    relations: { author: { path: author, to: authors } }
    derive: { authorName: { copy: author, value: doc.name } }
`;

scenario('Cells are typed: ids lead on and are looked at, arrays open, derived values are marked', { data: { model: ties, documents: {
  authors: { a1: String.raw`{"id":"a1","name":"\u5c71\u7530","born":1819}` },
  books: { b1: String.raw`{"id":"b1","title":"\u5c71","author":"a1","price":2.50,"tags":["\u5c71\u7530","b"],"none":null,"empty":""}`, b2: '{"id":"b2","title":"2.50","author":"a9","price":10}' },
} } }, async ({ tab, page }) => {
  await tab.open('#/books', 'books');
  await row(page, 'b1').getByRole('link', { name: 'a1', exact: true }).waitFor(); // the model has come
  assert.deepEqual(await row(page, 'b1').getByRole('cell').allTextContents(), ['山', 'a1', '2.50', '[2] 山田, b', 'null', '""', '山田']);
  const aligned = await row(page, 'b1').getByRole('cell').evaluateAll((cells) => cells.map((c) => getComputedStyle(c).textAlign));
  assert.deepEqual(aligned.slice(0, 3), ['start', 'start', 'end']);
  const tinted = await row(page, 'b1').getByRole('cell').evaluateAll((cells) => cells.map((c) => c.classList.contains('from-rule')));
  assert.deepEqual(tinted, [false, false, false, false, false, false, true]);

  const link = row(page, 'b1').getByRole('link', { name: 'a1', exact: true });
  assert.equal(await link.getAttribute('href'), '#/authors/a1');
  await link.hover();
  const peek = page.getByRole('tooltip');
  await peek.getByText('山田').waitFor();
  await accessible(page);
  await page.keyboard.press('Tab'); // the focus is in the page, for Escape
  await link.focus();
  await page.keyboard.press('Escape');
  await peek.waitFor({ state: 'detached' });
  await row(page, 'b2').getByRole('link', { name: 'a9', exact: true }).hover();
  await peek.getByText('There is no such document.').waitFor();

  await row(page, 'b1').getByRole('button', { name: '[2] 山田, b' }).click();
  const side = page.getByRole('region', { name: 'Document b1', exact: true });
  await side.getByText('b', { exact: false }).last().waitFor();
  await side.getByRole('button', { name: 'Whole document', exact: true }).click();
  await side.getByRole('link', { name: /a1/ }).waitFor();
});

scenario('A filter stays where a list is of earlier documents, and counts again with "Back to now"', { data: 'bookshop', shared: true }, async ({ store, tab, page }) => {
  const filter = 'doc.language == "fr"';
  const position = (await store.get('/v1/books?limit=1')).headers.get('Fanfold-Position');
  await tab.open('#/books?sort=-year&filter=' + encodeURIComponent(filter), 'books');
  const form = page.getByRole('form', { name: 'Query', exact: true });
  await row(page, 'madame-bovary').waitFor();
  await press(page, 'Options');
  await form.getByRole('textbox', { name: 'At', exact: true }).fill(String(position));
  await press(page, 'Run');
  await row(page, 'adam-bede').waitFor();
  await form.getByText('has no filter and no order').waitFor();
  assert.equal(await form.getByRole('textbox', { name: 'Filter', exact: true }).inputValue(), filter);
  assert.ok(await form.getByRole('textbox', { name: 'Filter', exact: true }).isDisabled());
  await accessible(page);
  await page.getByRole('link', { name: 'Back to now', exact: true }).click();
  await row(page, 'adam-bede').waitFor({ state: 'detached' });
  await row(page, 'madame-bovary').waitFor();
  assert.deepEqual(params(page), { filter, sort: '-year' });
});

/** @param {Page} page @param {string} name */
const field = (page, name) => page.getByRole('form', { name: 'Query', exact: true }).getByRole('textbox', { name, exact: true });

scenario('A filter is made of conditions, and the text of it stays beside them', { data: 'bookshop', shared: true }, async ({ tab, page }) => {
  await tab.open('#/books', 'books');
  await row(page, 'adam-bede').waitFor();
  await press(page, 'Conditions');
  const one = page.getByRole('group', { name: 'Condition 1', exact: true });
  await one.getByRole('combobox', { name: 'Member', exact: true }).fill('language');
  assert.ok((await one.locator('datalist option').evaluateAll((options) => options.map((o) => /** @type {HTMLOptionElement} */ (o).value))).includes('fr'));
  await one.getByRole('combobox', { name: 'Value', exact: true }).fill('fr');
  assert.equal(await field(page, 'Filter').inputValue(), 'doc.language == "fr"');
  await press(page, 'Add a condition');
  const two = page.getByRole('group', { name: 'Condition 2', exact: true });
  await two.getByRole('combobox', { name: 'Member', exact: true }).fill('year');
  await two.getByRole('combobox', { name: 'Operator', exact: true }).selectOption('<');
  await two.getByRole('combobox', { name: 'Value', exact: true }).fill('1860');
  assert.equal(await field(page, 'Filter').inputValue(), 'doc.language == "fr" && doc.year < 1860');
  await accessible(page);
  await press(page, 'Run');
  await row(page, 'madame-bovary').waitFor();
  await field(page, 'Filter').fill('doc.language == "fr" && (doc.year < 1860 || doc.year > 1870)');
  assert.equal(await one.getByRole('combobox', { name: 'Value', exact: true }).inputValue(), 'fr');
  assert.equal(await two.getByRole('textbox', { name: 'CEL', exact: true }).inputValue(), '(doc.year < 1860 || doc.year > 1870)');
  await two.getByText('Rows cannot say it').waitFor();
  await press(page, 'Remove condition 1');
  assert.equal(await field(page, 'Filter').inputValue(), '(doc.year < 1860 || doc.year > 1870)');
});

scenario('What is typed is completed, and what is wrong is marked where it is', { data: 'bookshop', shared: true }, async ({ tab, page }) => {
  await tab.open('#/books', 'books');
  await row(page, 'adam-bede').waitFor();
  await field(page, 'Filter').focus();
  await page.keyboard.type('doc.la');
  const offered = page.getByRole('listbox', { name: 'What may come next', exact: true });
  await offered.getByRole('option', { name: 'language', exact: true }).waitFor();
  await accessible(page);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  assert.equal(await field(page, 'Filter').inputValue(), 'doc.language');
  await page.keyboard.type(' == = "fr"');
  await page.keyboard.press('Enter');
  const form = page.getByRole('form', { name: 'Query', exact: true });
  await form.locator('mark').filter({ hasText: '=' }).waitFor();
  await form.getByText('filter: column').waitFor();
});

scenario('Documents are counted in groups, as a table and as bars, and a group leads to its documents', { data: 'bookshop', shared: true }, async ({ tab, page }) => {
  await tab.open('#/books', 'books');
  await press(page, 'Options');
  await field(page, 'Group by').fill('language');
  await field(page, 'Compute').fill('count,min(year)');
  await press(page, 'Run');
  const groups = page.getByRole('table', { name: 'Groups', exact: true });
  await groups.getByRole('row').filter({ hasText: 'fr' }).waitFor();
  const [copy, table] = await Promise.all([page.getByText('Copy as', { exact: true }), groups].map((part) => part.boundingBox()));
  assert.ok(copy && table && copy.y + copy.height <= table.y, 'the menu stands above the table, as without groups');
  const of = async () => groups.getByRole('row').evaluateAll((rows) => rows.slice(1).map((r) => [...r.children].slice(0, 3).map((c) => c.textContent)));
  const counts = Object.fromEntries((await of()).map(([language, count]) => [language, Number(count)]));
  assert.equal(Object.values(counts).reduce((a, b) => a + b), 121);
  assert.equal(counts.en, 90);
  const bars = await groups.locator('.bar-of').evaluateAll((all) => all.map((b) => b.getBoundingClientRect().width));
  assert.equal(bars.indexOf(Math.max(...bars)), (await of()).findIndex(([language]) => language === 'en'));
  await accessible(page);
  await groups.getByRole('columnheader', { name: 'count', exact: true }).getByRole('button').click();
  await placed(page, 'sort', '-count');
  await page.waitForFunction(() => document.querySelector('table.groups tbody tr')?.children[0].textContent === 'en');
  await groups.getByRole('link', { name: 'fr', exact: true }).click();
  await row(page, 'madame-bovary').waitFor();
  assert.deepEqual(params(page), { filter: 'doc.language == "fr"' });
});

scenario('Queries are kept in the tab and in the browser, and their addresses are links', { data: 'bookshop', shared: true }, async ({ tab, page, newTab }) => {
  const filter = 'doc.language == "fr"';
  await tab.open('#/books?filter=' + encodeURIComponent(filter), 'books');
  await row(page, 'madame-bovary').waitFor();
  await press(page, 'Queries');
  await page.getByRole('list', { name: 'Recent queries' }).getByRole('link', { name: filter }).waitFor();
  await page.getByLabel('Name', { exact: true }).fill('French');
  await press(page, 'Save this query');
  await page.getByRole('list', { name: 'Saved queries' }).getByRole('link', { name: 'French', exact: true }).waitFor();
  await accessible(page);
  const other = await newTab();
  await other.open('#/books', 'books');
  await press(other.page, 'Queries');
  assert.equal(await other.page.getByRole('list', { name: 'Recent queries' }).count(), 0);
  await other.page.getByRole('link', { name: 'French', exact: true }).click();
  await row(other.page, 'madame-bovary').waitFor();
  assert.equal(params(other.page).filter, filter);
  await press(other.page, 'Queries');
  await press(other.page, 'Forget French');
  await other.page.getByRole('link', { name: 'French', exact: true }).waitFor({ state: 'detached' });
});

scenario('What a filter matches is a file, as CSV and as NDJSON', { data: { documents: { things: {
  a: String.raw`{"id":"a","n":9007199254740993,"t":"\u5c71, \"x\"","l":[1,2.50]}`, b: '{"id":"b","n":2,"t":"two\\nlines"}', c: '{"id":"c","n":0}',
} } } }, async ({ tab, page }) => {
  await tab.open('#/things?fields=n,t&filter=' + encodeURIComponent('doc.n > 1'), 'things');
  await row(page, 'a').waitFor();
  const file = (/** @type {string} */ name) => downloaded(page, name);
  await press(page, 'Export');
  assert.deepEqual(await file('CSV of the columns'), { name: 'things.csv', text: 'id,n,t\r\na,9007199254740993,"山, ""x"""\r\nb,2,"two\nlines"\r\n' });
  await page.getByText('2 documents are in the file.').waitFor();
  const lines = (await file('NDJSON of whole documents')).text;
  assert.ok(lines.includes('"n":9007199254740993') && lines.includes('2.50') && !lines.includes('_meta'), lines);
  assert.equal(lines.trim().split('\n').length, 2);
});

scenario('A long filter has an editor, which completes it, marks its mistakes, and runs it', { data: 'bookshop', shared: true }, async ({ tab, page }) => {
  await tab.open('#/books?filter=' + encodeURIComponent('doc.language == "fr"'), 'books');
  await row(page, 'madame-bovary').waitFor();
  const before = await field(page, 'Filter').boundingBox();
  await press(page, 'Editor');
  const editor = field(page, 'Filter');
  await codeIs(editor, 'doc.language == "fr"');
  const after = await page.locator('.query .code').boundingBox();
  assert.deepEqual([after?.x, after?.width], [before?.x, before?.width], 'the editor is as wide as the box was');
  await editor.press('Control+End');
  await page.keyboard.type('\n&& doc.yea');
  await page.getByRole('option', { name: 'year', exact: true }).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.type('r <');
  await page.locator('.cm-lintRange-error, .cm-lintPoint-error').first().waitFor();
  await accessible(page);
  await page.keyboard.type(' 1860');
  await page.waitForFunction(() => !document.querySelector('.query .code')?.shadowRoot?.querySelector('.cm-lintRange-error, .cm-lintPoint-error'));
  await page.keyboard.press('Control+S');
  await placed(page, 'filter', 'doc.language == "fr"\n&& doc.year < 1860');
  await row(page, 'madame-bovary').waitFor();
  await press(page, 'Conditions');
  await press(page, 'Remove condition 2');
  await codeIs(editor, 'doc.language == "fr"');
});

scenario('The editor of a filter keeps what is typed on, its place and the focus, and judges by the parameters of now', { data: 'bookshop', shared: true }, async ({ tab, page }) => {
  await tab.open('#/books?filter=' + encodeURIComponent('doc.language == "fr"\n&& doc.yeax <'), 'books');
  const editor = field(page, 'Filter');
  const wrong = page.locator('.cm-lintRange-error, .cm-lintPoint-error').first();
  assert.equal(await page.locator('#of-filter mark').textContent(), ' ');
  assert.ok(await editor.evaluate((of) => of.getAttribute('aria-invalid') === 'true' && document.activeElement === document.body || document.activeElement?.tagName === 'H1'), 'a link gives the focus to no editor');
  await editor.press('Control+A');
  await page.keyboard.insertText('doc.year < params.until');
  assert.equal(await editor.evaluate((of) => /** @type {any} */ (of).cmTile.view.hasFocus), true, 'the editor of a filter that has one line again stays');
  await wrong.waitFor();
  await press(page, 'Options');
  await field(page, 'Parameters').fill('{"until": 1860}');
  await wrong.waitFor({ state: 'detached' });
  await editor.press('Control+End');
  await page.keyboard.insertText('\n');
  await page.keyboard.press('Control+S');
  await placed(page, 'filter', 'doc.year < params.until');
  await row(page, 'madame-bovary').waitFor();
  await page.keyboard.insertText('&& true');
  await codeIs(editor, 'doc.year < params.until\n&& true');
  await page.keyboard.press('Control+S');
  await placed(page, 'filter', 'doc.year < params.until\n&& true');
  await page.goBack();
  await codeIs(editor, 'doc.year < params.until');
  await accessible(page);
});

scenario('Groups have a plan, and what is wrong with their filter is marked at its column', { data: 'bookshop', shared: true }, async ({ tab, page }) => {
  await tab.open('#/books?group=language&compute=count', 'books');
  await page.getByRole('table', { name: 'Groups', exact: true }).waitFor();
  await press(page, 'Explain');
  await page.getByRole('region', { name: 'Plan', exact: true }).getByText('Walked 121 of byLanguage').waitFor();
  await accessible(page);
  await tab.open('#/books?group=language&compute=count&filter=' + encodeURIComponent('doc.year >'), 'books');
  await page.locator('input[aria-invalid="true"]').waitFor();
  await page.locator('#of-filter.wrong').waitFor();
});

scenario('Groups are a file, as CSV and as NDJSON, whatever page of them is seen', {}, async ({ store, tab, page }) => {
  await store.import('things', String.raw`{"id":"a","k":"=1+1","n":9007199254740993}
{"id":"b","k":"=1+1","n":9007199254740992.5}
{"id":"c","k":"say \"x\", twice","n":1}
{"id":"d","n":2.50}
` + Array.from({ length: 600 }, (_, i) => JSON.stringify({ id: 'z' + i, k: 'z' + String(i).padStart(3, '0'), n: i })).join('\n') + '\n');
  await tab.open('#/things?group=k&compute=count,max(n)&sort=k&limit=2&filter=' + encodeURIComponent('doc.n >= 0'), 'things');
  await page.getByRole('table', { name: 'Groups', exact: true }).waitFor();
  await page.getByRole('link', { name: 'Next page', exact: true }).click();
  await page.waitForFunction(() => location.hash.includes('cursor=') && document.querySelector('table.groups')?.textContent?.includes('z000'));
  await press(page, 'Export');
  await accessible(page);
  const csv = await downloaded(page, 'CSV');
  await page.getByText('603 groups are in the file.').waitFor();
  assert.equal(csv.name, 'things-groups.csv');
  const rows = csv.text.split('\r\n');
  assert.equal(rows.length, 605);
  assert.equal(rows[0], 'k,count,max(n)');
  for (const want of ['=1+1,2,9007199254740993', '"say ""x"", twice",1,1', ',1,2.5', 'z599,1,599']) assert.ok(rows.includes(want), want + ' in ' + rows.slice(0, 6).join('|'));
  const lines = (await downloaded(page, 'NDJSON')).text.trim().split('\n');
  assert.equal(lines.length, 603);
  assert.ok(lines.includes('{"key":{"k":"=1+1"},"values":{"count":2,"max(n)":9007199254740993}}'), lines.slice(0, 4).join('\n'));
});

scenario('Old rows are dim while another filter is asked, and "Cancel" leads back to theirs', { data: 'bookshop', shared: true }, async ({ tab, page }) => {
  await tab.open('#/books', 'books');
  await row(page, 'adam-bede').waitFor();
  /** @type {() => void} */
  let release = () => {};
  const gate = new Promise((resolve) => { release = () => resolve(undefined); });
  const slow = 'doc.language == "fr"';
  await page.route((url) => url.searchParams.get('filter') === slow, async (route) => {
    await gate;
    await route.fallback();
  });
  await field(page, 'Filter').fill(slow);
  await press(page, 'Run');
  const busy = page.locator('[aria-busy="true"]').filter({ has: table(page) });
  await busy.waitFor();
  const dim = await table(page).evaluate((e) => { for (let at = /** @type {Element | null} */ (e); at; at = at.parentElement) if (Number(getComputedStyle(at).opacity) < 0.7) return true; return false; });
  assert.ok(dim, 'rows that are asked for no longer look as if they were the answer');
  await press(page, 'Cancel');
  await busy.waitFor({ state: 'detached' });
  assert.equal(new URL(page.url()).hash, '#/books');
  await row(page, 'adam-bede').waitFor();
  await field(page, 'Filter').fill(slow);
  await press(page, 'Run');
  release();
  await row(page, 'adam-bede').waitFor({ state: 'detached' });
  await row(page, 'madame-bovary').waitFor();
});

scenario('Past ten thousand documents a query looks further', {}, async ({ store, tab, page }) => {
  await store.import('numbers', many(10_400));
  await tab.open('#/numbers?filter=' + encodeURIComponent('doc.title.contains("e 1030")'), 'numbers');
  const alert = page.getByRole('alert').filter({ hasText: 'The query needs an index' });
  await alert.getByRole('link', { name: 'Look further', exact: true }).click();
  await placed(page, 'partial', 'true');
  await row(page, 'n10309').waitFor();
  await page.getByText('11 documents.').waitFor(); // n01030 and those from n10300 on
  await accessible(page);
});

scenario('Documents that are chosen are changed together, after a look at what follows', { data: { model: ties, documents: {
  authors: { a1: { name: 'Mary Ann Evans' }, a2: { name: 'Emily' }, a3: { name: 'Anne' } },
  books: { b1: { author: 'a1' }, b2: { author: 'a1' }, b3: { author: 'a2' } },
} } }, async ({ store, tab, page }) => {
  await tab.open('#/authors', 'authors');
  await row(page, 'a1').getByRole('checkbox').check();
  await row(page, 'a2').getByRole('checkbox').check();
  const chosen = page.getByRole('group', { name: 'Chosen documents', exact: true });
  await chosen.getByText('2 chosen').waitFor();
  await chosen.getByRole('button', { name: 'Change', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Change many documents', exact: true });
  await dialog.getByRole('textbox', { name: /Merge patch/ }).fill('{"name":"Somebody"}');
  await dialog.getByRole('button', { name: 'Look at what it changes', exact: true }).click();
  await dialog.getByText('2 documents match: 2 are changed').waitFor();
  await dialog.getByText('3 derived changes: 3 in books').waitFor();
  await accessible(page);
  const before = await store.bytes('authors', 'a1');
  assert.ok(await dialog.getByRole('button', { name: 'Change them', exact: true }).isDisabled());
  assert.deepEqual(await store.bytes('authors', 'a1'), before);
  await dialog.getByRole('textbox', { name: /to confirm/ }).fill('2');
  await dialog.getByRole('button', { name: 'Change them', exact: true }).click();
  await dialog.getByText('2 documents are changed.').waitFor();
  await dialog.getByRole('button', { name: 'Close', exact: true }).click();
  await row(page, 'a2').getByText('Somebody').waitFor();
  assert.equal((await store.get('/v1/authors/a1')).json.name, 'Somebody');
  assert.equal((await store.get('/v1/authors/a3')).json.name, 'Anne');
});

scenario('All that matches is deleted together, after a look at it', { data: 'bookshop' }, async ({ store, tab, page }) => {
  await tab.open('#/reviews?filter=' + encodeURIComponent('doc.stars < 5'), 'reviews');
  await table(page).waitFor();
  const count = Number((await page.getByText(/^\d+ documents\.$/).innerText()).split(' ')[0]);
  await press(page, 'All of them');
  await press(page, 'Delete all that match');
  const dialog = page.getByRole('dialog', { name: 'Delete many documents', exact: true });
  await dialog.getByText(`${count} documents match: ${count} are deleted`).waitFor();
  await accessible(page);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await press(page, 'All of them');
  await press(page, 'Delete all that match');
  await dialog.getByRole('textbox', { name: /to confirm/ }).fill(String(count));
  await dialog.getByRole('button', { name: 'Delete them', exact: true }).click();
  await dialog.getByText(`${count} documents are deleted.`).waitFor();
  await dialog.getByRole('button', { name: 'Close', exact: true }).click();
  await page.getByText('No document matches.').waitFor();
  assert.equal((await store.get('/v1/reviews?count=true&limit=1&filter=' + encodeURIComponent('doc.stars < 5'))).json.count, 0);
});

scenario('Of a delete of many what one transaction does not take goes step by step, with its progress', { data: { model: `
collections:
  shops: {}
  visits: { relations: { shop: { path: shop, to: shops, onDelete: cascade } } }
`, documents: { shops: { s1: { name: 'One' }, s2: { name: 'Two' }, s3: { name: 'Three' } } } } }, async ({ store, tab, page }) => {
  await store.import('visits', Array.from({ length: 2400 }, (_, n) => JSON.stringify({ id: 'v' + n, shop: 's' + (1 + n % 2) }) + '\n').join(''));
  await tab.open('#/shops', 'shops');
  await press(page, 'All of them');
  await press(page, 'Delete all that match');
  const many = page.getByRole('dialog', { name: 'Delete many documents', exact: true });
  await many.getByText('3 documents match: 1 is deleted, 2 step by step').waitFor();
  await many.getByRole('list', { name: 'Step by step', exact: true }).getByText('s1: it writes 1,201 documents').waitFor();
  await accessible(page);
  let asked = 0;
  let letGo = () => {};
  const held = new Promise((resolve) => { letGo = () => resolve(undefined); });
  await page.route((url) => url.searchParams.has('steps'), async (route) => {
    if (++asked === 2) await held;
    await route.continue();
  });
  await many.getByRole('textbox', { name: /to confirm/ }).fill('3');
  await many.getByRole('button', { name: 'Delete them', exact: true }).click();
  const steps = page.getByRole('dialog', { name: 'Delete step by step', exact: true });
  await steps.getByText('2 documents of shops').waitFor();
  await steps.getByRole('list', { name: 'What goes with it' }).getByText('s2: it writes 1,201 documents').waitFor();
  assert.equal(asked, 0, 'it asks first');
  assert.equal((await store.get('/v1/shops?count=true&limit=1')).json.count, 2);
  await accessible(page);
  await steps.getByRole('button', { name: 'Delete step by step' }).click();
  await steps.getByText(/^\d+%: [\d,]+ of 2,402 documents/).waitFor();
  await steps.getByRole('button', { name: 'Stop after this step' }).click();
  letGo();
  await steps.getByRole('button', { name: 'Go on' }).click();
  await many.getByText('1 document is deleted.').waitFor();
  await many.getByText('Step by step 2,402 documents are deleted, and 0 lost their reference.').waitFor();
  await many.getByRole('button', { name: 'Close', exact: true }).click();
  for (const name of ['shops', 'visits']) assert.equal((await store.get(`/v1/${name}?count=true&limit=1`)).json.count, 0, name);
});

scenario('Steps that are stopped leave the rest, and the dialog says so', { data: { model: `
collections:
  shops: {}
  visits: { relations: { shop: { path: shop, to: shops, onDelete: cascade } } }
`, documents: { shops: { s1: { name: 'One' } } } } }, async ({ store, tab, page }) => {
  await store.import('visits', Array.from({ length: 1200 }, (_, n) => JSON.stringify({ id: 'v' + n, shop: 's1' }) + '\n').join(''));
  await tab.open('#/shops', 'shops');
  await press(page, 'All of them');
  await press(page, 'Delete all that match');
  const many = page.getByRole('dialog', { name: 'Delete many documents', exact: true });
  await many.getByRole('textbox', { name: /to confirm/ }).fill('1');
  await many.getByRole('button', { name: 'Delete them', exact: true }).click();
  await page.getByRole('dialog', { name: 'Delete step by step', exact: true }).getByRole('button', { name: 'Keep it' }).click();
  await many.getByText('1 document that takes steps is still there').waitFor();
  assert.equal((await store.get('/v1/visits?count=true&limit=1')).json.count, 1200);
});

scenario('On paper a list has all rows that are loaded, and says which these are', { data: { documents: { books: {} } } }, async ({ store, tab, page }) => {
  await store.import('books', Array.from({ length: 350 }, (_, n) => JSON.stringify({ id: 'b' + String(n).padStart(4, '0'), title: 'Book ' + n }) + '\n').join(''));
  await page.addInitScript(() => {
    const of = /** @type {any} */ (globalThis);
    addEventListener('afterprint', () => { of.printed = [document.querySelectorAll('table.grid tbody tr[data-row]').length, document.querySelector('.printed')?.textContent]; });
  });
  const printed = async () => {
    const pdf = (await page.pdf({ format: 'A4' })).toString('latin1');
    const [rows, words] = await page.evaluate(() => /** @type {any} */ (globalThis).printed);
    return { rows, words, pages: pdf.match(/\/Type\s*\/Page\b/g)?.length ?? 0 };
  };
  await tab.open('#/books', 'books');
  await row(page, 'b0000').waitFor();
  const first = await printed();
  assert.match(first.words, /^Rows 1–\d+ of more than \d+\. “Export” writes the whole list\.$/);
  await page.waitForFunction(() => {
    const box = /** @type {Element} */ (document.querySelector('.grid-box'));
    box.scrollTop = box.scrollHeight;
    return document.querySelector('tr[aria-rowindex="351"]') !== null;
  });
  await page.getByText('350 documents.').waitFor();
  await row(page, 'b0349').waitFor();
  const drawn = await page.locator('table.grid tbody tr[data-row]').count();
  const whole = await printed();
  assert.deepEqual([whole.rows, whole.words], [350, 'All 350 rows.']);
  assert.ok(whole.pages >= 5, `${whole.pages} pages have 350 rows`);
  assert.equal(await page.locator('table.grid tbody tr[data-row]').count(), drawn, 'the page is as it was');
  assert.ok(drawn < 150);
});

scenario('What is typed and not run stays where the order changes', { data: 'bookshop', shared: true }, async ({ tab, page }) => {
  await tab.open('#/books', 'books');
  await row(page, 'adam-bede').waitFor();
  await field(page, 'Filter').fill('doc.year > 1');
  await table(page).getByRole('columnheader', { name: 'year', exact: true }).getByRole('button').click();
  await placed(page, 'sort', 'year');
  await page.getByText('No index has this order').waitFor();
  assert.equal(await field(page, 'Filter').inputValue(), 'doc.year > 1');
});

scenario('Who may not read the model has links and marks of derived values in a list', { data: { model: ties.replace('authors: {', 'authors: { access: { read: [readers] },').replace('  books:\n', '  books:\n    access: { read: [readers] }\n'), documents: {
  authors: { a1: { name: 'Mary Ann Evans' } }, books: { b1: { title: 'Romola', author: 'a1' } },
} }, closed: true }, async ({ store, tab, page }) => {
  const key = await store.newKey('readers');
  await tab.open('#/books', 'books');
  await page.getByLabel('Key', { exact: true }).fill(key);
  await press(page, 'Use key');
  await row(page, 'b1').getByRole('link', { name: 'a1', exact: true }).waitFor();
  await table(page).locator('td.from-rule').getByText('Mary Ann Evans').waitFor();
  for (const name of ['All of them', 'Columns']) assert.equal(await page.getByRole('button', { name, exact: true }).count(), name === 'Columns' ? 1 : 0, name);
  assert.equal(await page.getByRole('link', { name: 'New document', exact: true }).count(), 0);
  assert.equal(await row(page, 'b1').getByRole('checkbox').count(), 0);
});

scenario('A list, its menus and the document of a row are read on a narrow screen', { data: 'bookshop', shared: true, context: { viewport: { width: 360, height: 740 } } }, async ({ tab, page }) => {
  await tab.open('#/books', 'books');
  await row(page, 'adam-bede').waitFor();
  for (const name of ['Conditions', 'Options', 'Columns']) await press(page, name);
  await page.getByRole('list', { name: 'Columns', exact: true }).waitFor();
  await tab.noSidewaysScrolling();
  await accessible(page);
  await page.keyboard.press('Escape');
  for (const name of ['Conditions', 'Options']) await press(page, name);
  await row(page, 'agnes-grey').getByRole('cell').first().click();
  const side = page.getByRole('region', { name: 'Document agnes-grey', exact: true });
  await side.getByText('Agnes Grey').waitFor();
  await tab.noSidewaysScrolling();
  await accessible(page);
  await press(page, 'Close the document');
  await side.waitFor({ state: 'detached' });
});

scenario('More documents than a request can name are changed by a filter alone', {}, async ({ store, tab, page }) => {
  await store.import('numbers', many(300).replaceAll('"id":"', '"id":"' + 'x'.repeat(80)));
  await tab.open('#/numbers?limit=300', 'numbers');
  await page.getByText('300 documents.').waitFor();
  await page.getByRole('checkbox', { name: 'Choose all that are loaded', exact: true }).check();
  const chosen = page.getByRole('group', { name: 'Chosen documents', exact: true });
  await chosen.getByText('300 chosen').waitFor();
  await chosen.getByText('use a filter').waitFor();
  for (const name of ['Change', 'Delete']) assert.ok(await chosen.getByRole('button', { name, exact: true }).isDisabled());
  await chosen.getByRole('button', { name: 'None', exact: true }).click();
  await chosen.waitFor({ state: 'detached' });
});
