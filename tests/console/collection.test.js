// A collection (point 10 of the console): the query, the table, the plan, and rows that follow the feed.
import assert from 'node:assert/strict';
import { accessible } from './lib/checks.js';
import { codeIn } from './lib/editing.js';
import { scenario } from './lib/scenario.js';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('./lib/tab.js').Tab} Tab */

/** @param {Page} page */
const table = (page) => page.getByRole('table', { name: 'Documents', exact: true });

/** @param {Page} page @param {string} id */
const row = (page, id) => table(page).getByRole('row').filter({ has: page.getByRole('link', { name: id, exact: true }) });

/** @param {Page} page @param {string} name */
const field = (page, name) => page.getByRole('form', { name: 'Query', exact: true }).getByRole('textbox', { name, exact: true });

/** @param {Page} page @param {string} name */
const press = (page, name) => page.getByRole('button', { name, exact: true }).click();

/** The ids in the table. @param {Page} page */
const ids = (page) => table(page).getByRole('rowheader').getByRole('link').allTextContents();

/** The cells of a document. @param {Page} page @param {string} id */
const cells = (page, id) => row(page, id).getByRole('cell').allTextContents();

/** Opens what stands under "Options". @param {Page} page */
const options = async (page) => { if (await field(page, 'Sort').count() === 0) await press(page, 'Options'); };

/** What a tab has asked a collection for. @param {Tab} tab @param {string} collection */
const asked = (tab, collection) => tab.requests.map((r) => new URL(r.url())).filter((url) => url.pathname === '/v1/' + collection).map((url) => Object.fromEntries(url.searchParams));

/** Waits until the place has a query. @param {Page} page @param {Record<string, string>} query */
const placed = (page, query) => page.waitForFunction((want) => JSON.stringify(Object.fromEntries(new URLSearchParams(location.hash.split('?')[1]))) === want, JSON.stringify(query));

scenario('A collection shows its first documents, and which members they have', { data: 'bookshop', shared: true }, async ({ tab, page }) => {
  await tab.open('#/books', 'books');
  await row(page, 'adam-bede').waitFor();
  assert.deepEqual(await table(page).getByRole('columnheader').allTextContents(), ['id', 'title', 'year', 'language', 'pub-id', 'authors', 'countOfGoodReviews', 'countOfReviews', 'publisherName']);
  assert.deepEqual((await cells(page, 'adam-bede')).slice(0, 4), ['Adam Bede', '1859', 'en', 'blackwood']);
  await page.getByText('120 documents so far.').waitFor();
  const fields = 'title,year,language,pub-id,authors,countOfGoodReviews,countOfReviews,publisherName';
  const lists = () => asked(tab, 'books').filter((q) => !q.count && !q.explain).map(({ cursor, ...rest }) => ({ ...rest, goesOn: cursor !== undefined }));
  assert.deepEqual(lists(), [{ limit: '20', goesOn: false }, { limit: '100', fields, goesOn: true }]);
  await accessible(page);

  await page.getByRole('link', { name: 'Next page', exact: true }).click();
  await row(page, 'adam-bede').waitFor({ state: 'detached' });
  assert.deepEqual(lists().at(2), { limit: '100', fields, goesOn: true });
  const second = (await ids(page)).slice(0, 25);
  await page.reload();
  await row(page, second[0]).waitFor();
  assert.deepEqual((await ids(page)).slice(0, 25), second);
  await page.getByText('100 documents so far.').waitFor();
  await page.getByRole('link', { name: 'Next page', exact: true }).click();
  await row(page, second[0]).waitFor({ state: 'detached' });
  await page.getByText('1 document from here on.').waitFor();
  assert.equal((await ids(page)).length, 1);
  assert.equal(await page.getByRole('link', { name: 'Next page', exact: true }).count(), 0);
  await page.getByRole('link', { name: 'Previous page', exact: true }).click();
  await row(page, second[0]).waitFor();
  await page.goBack();
  await row(page, second[0]).waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'First page', exact: true }).click();
  await row(page, 'adam-bede').getByRole('link', { name: 'adam-bede', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'books/adam-bede', exact: true }).waitFor();
  assert.equal(new URL(page.url()).hash, '#/books/adam-bede');
});

scenario('A query is typed, run, and stands in the place', { data: 'bookshop', shared: true }, async ({ tab, page, newTab }) => {
  await tab.open('#/books', 'books');
  await tab.focusByKey(field(page, 'Filter'));
  await page.keyboard.type('doc.year > params.since && doc.language == "en"');
  await options(page);
  await field(page, 'Parameters').fill('{"since": 1900}');
  await field(page, 'Sort').fill('-year,title');
  await field(page, 'Columns').fill('year,authors[].name');
  await tab.focusByKey(page.getByRole('button', { name: 'Run', exact: true }), 'Shift+Tab');
  await page.keyboard.press('Enter');
  const query = { filter: 'doc.year > params.since && doc.language == "en"', params: '{"since": 1900}', sort: '-year,title', fields: 'year,authors[].name' };
  await placed(page, query);
  await table(page).getByRole('columnheader', { name: 'authors[].name' }).waitFor();
  const found = await ids(page);
  const years = await table(page).getByRole('row').evaluateAll((rows) => rows.slice(1).map((r) => Number(r.children[1].textContent)));
  assert.ok(years.length > 2 && years.every((y, i) => y > 1900 && (i === 0 || y <= years[i - 1])), String(years));
  assert.match((await cells(page, found[0]))[1], /^[^"]+$/);
  assert.deepEqual(asked(tab, 'books').findLast((q) => !q.explain), { limit: '100', ...query });
  assert.ok(await page.getByRole('button', { name: 'Run', exact: true }).evaluate((e) => e === document.activeElement), 'the button has lost the focus');

  const other = await newTab();
  await other.open(new URL(page.url()).hash, 'books');
  await row(other.page, found[0]).waitFor();
  assert.deepEqual(await ids(other.page), found);
  assert.equal(await field(other.page, 'Filter').inputValue(), query.filter);

  await page.goBack();
  await row(page, 'adam-bede').waitFor();
  assert.equal(await field(page, 'Filter').inputValue(), '');
  await page.goForward();
  await row(page, found[0]).waitFor();
  assert.equal(await field(page, 'Parameters').inputValue(), query.params);
});

scenario('What a query has wrong is an alert, and the form keeps it', { data: 'bookshop', shared: true }, async ({ tab, page }) => {
  await tab.open('#/books', 'books');
  await row(page, 'adam-bede').waitFor();
  await field(page, 'Filter').fill('doc.year >');
  await press(page, 'Run');
  await page.getByRole('alert').filter({ hasText: 'filter: column' }).waitFor();
  assert.equal(await field(page, 'Filter').getAttribute('aria-invalid'), 'true');
  assert.equal(await table(page).count(), 0);
  assert.equal(await field(page, 'Filter').inputValue(), 'doc.year >');
  await accessible(page);
  await field(page, 'Filter').fill('doc.year > 3000');
  await press(page, 'Run');
  await page.getByText('No document matches.').waitFor();
  await field(page, 'Filter').fill('doc.title > 3');
  await press(page, 'Run');
  await page.getByText('No document matches. In 121 documents the filter has no value.').waitFor();
});

const values = {
  a: String.raw`{"id":"a","n":9007199254740993,"m":2.50,"z":-0,"e":1e400,"t":"A\/\u0042\n","o":{ "b" : [1,  2] },"l":"${'x'.repeat(300)}"}`,
  'b /#?%🦊': String.raw`{"id":"b /#?%🦊","n":"<img src=x onerror=alert(1)>","m":"\u202egnp.exe","t":"${'‮'}gnp","constructor":1,"a,b":2,"c.d":3}`,
};

scenario('Cells have numbers by their own tokens, and texts as they read, whatever these are', { data: { documents: { things: values } } }, async ({ tab, page }) => {
  await tab.open('#/things', 'things');
  await row(page, 'a').waitFor();
  assert.deepEqual(await table(page).getByRole('columnheader').allTextContents(), ['id', 'n', 'm', 'z', 'e', 't', 'o', 'l', 'constructor'].slice(0, 9));
  assert.deepEqual((await cells(page, 'a')).slice(0, 7), ['9007199254740993', '2.50', '-0', '1e400', 'A/B↵', '{1} 1, 2', 'x'.repeat(200) + '…']);
  const hostile = row(page, 'b /#?%🦊');
  assert.deepEqual((await hostile.getByRole('cell').allTextContents()).slice(0, 5), ['<img src=x onerror=alert(1)>', 'U+202Egnp.exe', '', '', 'U+202Egnp']);
  await accessible(page);
  await hostile.getByRole('link').click();
  await page.getByRole('heading', { level: 1, name: 'things/b /#?%🦊', exact: true }).waitFor();
  assert.equal(new URL(page.url()).hash, '#/things/b%20%2F%23%3F%25%F0%9F%A6%8A');
});

scenario('Explain opens the plan in words', { data: 'bookshop', shared: true }, async ({ tab, page }) => {
  await tab.open('#/books', 'books');
  await field(page, 'Filter').fill('doc.language == "fr" && doc.title.contains("a")');
  await press(page, 'Explain');
  const plan = page.getByRole('region', { name: 'Plan', exact: true });
  await plan.getByText(/^Walked \d+ of byLanguage, read \d+ documents, and \d+ match(es)?, in [\d.]+ ms\.$/).waitFor();
  const words = (await plan.locator('dl').innerText()).split('\n');
  assert.deepEqual(words.slice(0, 6), ['Decided by the index', 'doc.language == "fr"', 'Asked each document', 'doc.title.contains("a")', 'Order', 'as they were found; no sort was asked for']);
  assert.ok(words.includes('id: the filter says nothing about id'), words.join('\n'));
  await row(page, 'madame-bovary').waitFor();
  await accessible(page);
  await plan.getByRole('link', { name: 'Close the plan', exact: true }).click();
  await plan.waitFor({ state: 'detached' });
  await placed(page, { filter: 'doc.language == "fr" && doc.title.contains("a")' });
});

scenario('A query that needs an index is told which, and how to add it', { data: 'bookshop' }, async ({ store, tab, page }) => {
  await tab.open('#/books?sort=title&maxScan=3&limit=3&fields=title', 'books');
  const alert = page.getByRole('alert').filter({ hasText: 'The query needs an index' });
  await alert.getByText('collections:\n  books:\n    indexes:\n      byTitle: [title]').waitFor();
  await alert.getByRole('link', { name: 'Add it to the model', exact: true }).waitFor();
  await accessible(page);
  await press(page, 'Explain');
  const plan = page.getByRole('region', { name: 'Plan', exact: true });
  await plan.getByText('without “Explain” this is refused').waitFor();
  await plan.getByText('byTitle: [title]').waitFor();
  assert.equal(await page.getByRole('link', { name: 'Add it to the model', exact: true }).count(), 1);
  await plan.getByRole('link', { name: 'Add it to the model', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Model', exact: true }).waitFor();
  await page.getByText('The suggestion stands in the text.').waitFor();
  const text = await codeIn(page.getByRole('textbox', { name: 'Model', exact: true }));
  assert.match(text, /byTitle:/);

  const suggest = JSON.parse(new URLSearchParams(new URL(page.url()).hash.split('?')[1]).get('suggest') ?? '');
  await store.want('PATCH', '/v1/_model', JSON.stringify(suggest));
  await tab.open('#/books?sort=title&maxScan=3&limit=3&fields=title', 'books');
  await row(page, 'christmas-carol').waitFor(); // the first by title
});

const access = 'collections:\n  books: { access: { read: [readers] } }\n';

scenario('Who may not write the model is told who may', { data: { model: access, documents: { books: { b1: { year: 1 }, b2: { year: 2 } } } }, closed: true }, async ({ store, tab, page }) => {
  const key = await store.newKey('readers');
  await tab.open('#/books?sort=year&maxScan=1', 'books');
  await page.getByLabel('Key', { exact: true }).fill(key);
  await press(page, 'Use key');
  const alert = page.getByRole('alert').filter({ hasText: 'The query needs an index' });
  await alert.getByText('byYear: [year]').filter({ hasText: 'collections:' }).waitFor();
  await alert.getByText('Whoever has the role admin can add it.').waitFor();
  assert.equal(await alert.getByRole('link', { name: 'Add it to the model', exact: true }).count(), 0);
});

scenario('An index counts by itself, and what must be looked through when Count is pressed', { data: 'bookshop', shared: true }, async ({ tab, page }) => {
  const counts = () => asked(tab, 'books').filter((q) => q.count);
  await tab.open('#/books', 'books');
  await page.getByRole('status').filter({ hasText: '121 in all.' }).waitFor();
  assert.deepEqual(counts(), [{ fields: 'id', limit: '1', count: 'true' }]);
  await field(page, 'Filter').fill('doc.year > 1900');
  await press(page, 'Run');
  await page.getByText('15 documents.').waitFor(); // all are here: they are counted without a request
  assert.equal(await page.getByText('121 in all.').count(), 0);
  assert.equal(await page.getByRole('button', { name: 'Count', exact: true }).count(), 0);

  await tab.open('#/books?limit=5&filter=' + encodeURIComponent('doc.language == "en"'), 'books');
  await page.getByRole('status').filter({ hasText: '90 match.' }).waitFor();
  const unlike = 'doc.title != "Emma"';
  await tab.open('#/books?limit=5&filter=' + encodeURIComponent(unlike), 'books');
  await press(page, 'Count');
  await page.getByRole('status').filter({ hasText: '120 match.' }).waitFor();
  assert.deepEqual(counts().at(-1), { filter: unlike, fields: 'id', limit: '1', count: 'true' });
  assert.equal(counts().filter((q) => q.filter === unlike).length, 1);
});

scenario('Rows follow the feed, and the log says what changed and by whom', { data: 'bookshop' }, async ({ store, tab, page }) => {
  await tab.open('#/books?fields=title,authors%5B%5D.name&filter=' + encodeURIComponent('"Samuel Clemens" in doc.authors.map(a, a.name)'), 'books');
  await row(page, 'tom-sawyer').waitFor();
  const first = asked(tab, 'books').length;
  await store.merge('authors', 'samuel-clemens', '{"firstName":"Mark","lastName":"Twain"}');
  await row(page, 'tom-sawyer').getByText('Mark Twain').waitFor();
  await row(page, 'tom-sawyer').getByRole('rowheader').getByText('changed', { exact: true }).waitFor();
  const log = page.getByRole('log', { name: 'Changes seen', exact: true });
  await log.getByText('/authors/0/name: Samuel Clemens → Mark Twain').first().waitFor();
  await log.getByRole('link', { name: 'authors/samuel-clemens', exact: true }).first().waitFor();
  await log.getByRole('link', { name: 'books/tom-sawyer', exact: true }).waitFor();
  const urls = tab.requests.map((r) => new URL(r.url())).filter((url) => url.pathname === '/v1/books').slice(first);
  assert.ok(urls.every((url) => url.searchParams.getAll('id').length > 0 && url.searchParams.get('fields') === 'title,authors[].name'), urls.join('\n'));

  await store.want('DELETE', '/v1/books/tom-sawyer');
  await row(page, 'tom-sawyer').getByText('gone', { exact: true }).waitFor();
  await store.put('books', 'new-one', '{"title":"A new one"}');
  await page.getByText('1 change of other documents since.').waitFor();
  await accessible(page);
  await press(page, 'Load anew');
  await page.getByText('No document matches.').waitFor();
});

scenario('A new document begins at its link', { data: 'bookshop', shared: true }, async ({ tab, page }) => {
  await tab.open('#/books', 'books');
  await page.getByRole('link', { name: 'New document', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'New document', exact: true }).waitFor();
  assert.equal(new URL(page.url()).hash, '#/books?new');
});

scenario('A collection is read on a narrow screen', { data: 'bookshop', shared: true, context: { viewport: { width: 360, height: 740 } } }, async ({ tab, page }) => {
  await tab.open('#/books?explain=true&filter=doc.year%3E1900', 'books');
  await row(page, 'ethan-frome').waitFor();
  await page.getByRole('region', { name: 'Plan', exact: true }).getByText('Walked').waitFor();
  await tab.noSidewaysScrolling();
  await accessible(page);
});

scenario('A collection that is not there is told, and may begin', { data: 'bookshop', shared: true }, async ({ tab, page }) => {
  await tab.open('#/nothing', 'nothing');
  await page.getByRole('alert').filter({ hasText: 'There is no such collection' }).waitFor();
  await page.getByRole('link', { name: 'New document', exact: true }).waitFor();
});
