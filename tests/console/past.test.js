// Standing in the past, and the history of a document (point 12 of the console).
import assert from 'node:assert/strict';
import { accessible } from './lib/checks.js';
import { scenario } from './lib/scenario.js';
import { pathOf } from './lib/store.js';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('./lib/store.js').Store} Store */

/** @param {Page} page */
const table = (page) => page.getByRole('table', { name: 'Documents', exact: true });

/** @param {Page} page @param {string} id */
const row = (page, id) => table(page).getByRole('row').filter({ has: page.getByRole('link', { name: id, exact: true }) });

/** @param {Page} page @param {string} op */
const version = (page, op) => page.getByRole('list', { name: 'Versions', exact: true }).getByRole('listitem').filter({ hasText: new RegExp('^' + op) });

/** @param {import('playwright-core').Locator} of @param {string} name */
const press = (of, name) => of.getByRole('button', { name, exact: true }).click();

/** The position of an event. @param {Store} store @param {number} event */
const positionOf = async (store, event) => `${event}-0-${(await store.get('/v1/_status')).json.store}`;

const model = `
collections:
  authors: {}
  books:
    relations: { author: { path: author, to: authors } }
    derive: { authorName: { copy: author, value: doc.name } }
`;

// Event 1 is the model.
const data = { model, documents: {
  authors: { a1: '{"id":"a1","name":"Mary Ann Evans"}' }, // event 2
  books: { b1: '{"id":"b1","author":"a1","title":"Adam Bede","price":2.50}', b2: '{"id":"b2","title":"Romola"}' }, // events 3 and 4
} };

/** Changes what the data have: the author's name, a price, and a book is deleted. @param {Store} store */
async function change(store) {
  await store.merge('authors', 'a1', '{"name":"George Eliot"}'); // event 5
  await store.merge('books', 'b1', '{"price":3.00}'); // event 6
  await store.want('DELETE', pathOf('books', 'b2')); // event 7
}

scenario('A collection is shown as it was at a position, and nothing there writes or queries', { data }, async ({ store, tab, page }) => {
  await change(store);
  await tab.open('#/books', 'books');
  await row(page, 'b1').getByText('George Eliot').waitFor();
  assert.equal(await row(page, 'b2').count(), 0);
  const form = page.getByRole('form', { name: 'Query', exact: true });
  await form.getByRole('button', { name: 'Options', exact: true }).click();
  await form.getByRole('textbox', { name: 'At', exact: true }).fill(await positionOf(store, 4));
  await press(page.locator('main'), 'Run');
  await page.getByRole('status').filter({ hasText: /As of 4-0-\w+, \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/ }).waitFor();
  await row(page, 'b2').waitFor();
  await row(page, 'b1').getByText('Mary Ann Evans').waitFor();
  await row(page, 'b1').getByText('2.50', { exact: true }).waitFor();
  assert.deepEqual(await form.getByRole('textbox').evaluateAll((fields) => fields.filter((f) => !(/** @type {HTMLInputElement} */ (f).disabled)).map((f) => f.getAttribute('name'))), ['fields', 'at', null]);
  for (const name of ['Explain', 'Count']) assert.equal(await page.getByRole('button', { name, exact: true }).count(), 0, name);
  assert.equal(await page.getByRole('link', { name: 'New document', exact: true }).count(), 0);
  await accessible(page);

  await row(page, 'b2').getByRole('link').click();
  await page.getByRole('heading', { level: 1, name: 'books/b2', exact: true }).waitFor();
  await page.getByText('As of 4-0-').waitFor();
  await page.getByRole('region', { name: 'Document', exact: true }).getByText('"Romola"').waitFor();
  for (const name of ['Edit', 'Delete']) assert.equal(await page.getByRole('button', { name, exact: true }).or(page.getByRole('link', { name, exact: true })).count(), 0, name);
  await accessible(page);
  await page.goBack();
  await row(page, 'b2').waitFor();
  await page.getByRole('link', { name: 'Back to now', exact: true }).click();
  await row(page, 'b1').getByText('George Eliot').waitFor();
  assert.equal(new URL(page.url()).hash, '#/books');
  assert.equal(await page.getByText('As of').count(), 0);
});

scenario('A place in the past takes a time, and leaves out what has no past', { data }, async ({ store, tab, page }) => {
  const then = (await store.get(pathOf('books', 'b2') + '/_history')).json.items[0].time;
  await change(store);
  await tab.open(`#/books?at=${encodeURIComponent(then)}&filter=${encodeURIComponent('doc.price > 1')}&fields=price`, 'books');
  await page.getByText(`As of 4-0-`).waitFor();
  await page.getByText(`, ${then.slice(0, 10)} ${then.slice(11, 19)} UTC`).waitFor();
  await row(page, 'b2').waitFor();
  assert.ok(tab.requests.every((r) => !new URL(r.url()).searchParams.has('filter')));
  await tab.open('#/books?at=yesterday', 'books');
  await page.getByRole('alert').filter({ hasText: 'at=yesterday is neither a position' }).waitFor();
});

scenario('A document is shown as it was at a position', { data }, async ({ store, tab, page }) => {
  await change(store);
  await tab.open('#/books/b1?at=' + await positionOf(store, 4), 'books/b1');
  await page.getByText('As of 4-0-').waitFor();
  await page.getByRole('region', { name: 'Document', exact: true }).getByText('"Mary Ann Evans"').waitFor();
  await page.getByRole('button', { name: 'Origin of /authorName', exact: true }).click();
  await page.getByRole('region', { name: 'Origin', exact: true }).getByRole('link', { name: 'authors/a1', exact: true }).waitFor();
  await page.getByRole('link', { name: 'Back to now', exact: true }).click();
  await page.getByRole('region', { name: 'Document', exact: true }).getByText('"George Eliot"').waitFor();
});

scenario('Where the history begins later, the page says where', { data }, async ({ store, tab, page }) => {
  await change(store);
  const horizon = await positionOf(store, 5);
  await store.want('POST', '/v1/_compact', JSON.stringify({ before: horizon }));
  while ((await store.get('/v1/_compact')).json.phase !== 'done') await store.get('/v1/_status');
  for (const place of ['#/books', '#/books/b1']) {
    await tab.open(`${place}?at=${await positionOf(store, 3)}`);
    const alert = page.getByRole('alert').filter({ hasText: 'The history begins at' });
    await alert.getByRole('link', { name: /^4-0-/ }).click(); // the last state that nothing of event 5 has changed
    await page.getByText('As of 4-0-').waitFor();
    await page.getByText('Mary Ann Evans').first().waitFor();
  }
});

scenario('The history of a document has its versions, what each changed, and by whom', { data }, async ({ store, tab, page }) => {
  await change(store);
  await tab.open('#/books/b1', 'books/b1');
  await page.getByRole('link', { name: 'History', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'History of books/b1', exact: true }).waitFor();
  await version(page, 'patch').getByText('/price: 2.50 → 3.00').waitFor();
  assert.deepEqual(await page.getByRole('list', { name: 'Versions', exact: true }).getByRole('listitem').evaluateAll((items) => items.map((i) => i.querySelector('strong')?.textContent)), ['patch', 'derive', 'create']);
  await version(page, 'derive').getByText('/authorName: "Mary Ann Evans" → "George Eliot"').waitFor();
  await version(page, 'derive').getByText('(books.authorName)').waitFor();
  assert.doesNotMatch(await page.getByRole('main').innerText(), /\b\d+-\d+-[a-z2-7]{8}/, 'positions stand in tooltips alone');
  assert.match((await version(page, 'patch').getByRole('time').first().getAttribute('title')) ?? '', /, at \d+-0-[a-z2-7]{8}/);
  assert.equal(await version(page, 'derive').getByRole('link', { name: 'authors/a1', exact: true }).getAttribute('href'), '#/authors/a1');
  await accessible(page);

  await press(version(page, 'create'), 'Compare with now');
  const compared = version(page, 'create').getByRole('region', { name: 'Compared with now', exact: true });
  await compared.getByText('/price: 2.50 → 3.00').waitFor();
  await compared.getByText('/authorName: "Mary Ann Evans" → "George Eliot"').waitFor();
  await accessible(page);

  await page.getByRole('link', { name: 'Without derived changes', exact: true }).click();
  await version(page, 'derive').waitFor({ state: 'detached' });
  await page.goBack();
  await version(page, 'derive').getByRole('link', { name: 'Show', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'books/b1', exact: true }).waitFor();
  await page.getByText('As of 5-1-').waitFor();
  await page.getByRole('region', { name: 'Document', exact: true }).getByText('2.50', { exact: true }).waitFor();
});

scenario('A document is reverted after a look at what that changes', { data }, async ({ store, tab, page }) => {
  const before = await store.bytes('authors', 'a1');
  await change(store);
  await tab.open('#/authors/a1/_history', 'History of authors/a1');
  await press(version(page, 'create'), 'Revert');
  const dialog = page.getByRole('dialog', { name: 'What this revert changes', exact: true });
  await dialog.getByText('1 derived change: 1 in books').waitFor();
  await dialog.getByRole('region', { name: 'This document', exact: true }).getByText('/name: "George Eliot" → "Mary Ann Evans"').waitFor();
  await accessible(page);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  assert.ok(await version(page, 'create').getByRole('button', { name: 'Revert', exact: true }).evaluate((e) => e === document.activeElement), 'the button has lost the focus');
  assert.equal((await store.get(pathOf('authors', 'a1'))).json.name, 'George Eliot');

  await press(version(page, 'create'), 'Revert');
  await press(dialog, 'Revert now');
  await page.getByRole('heading', { level: 1, name: 'authors/a1', exact: true }).waitFor();
  await page.getByRole('status').filter({ hasText: /authors\/a1 is reverted to its version of \d{4}-\d\d-\d\d \d\d:\d\d/ }).waitFor();
  assert.deepEqual(await store.bytes('authors', 'a1'), before);
  assert.equal((await store.get(pathOf('books', 'b1'))).json.authorName, 'Mary Ann Evans');
});

scenario('A revert of a document that changed meanwhile writes nothing', { data }, async ({ store, tab, page }) => {
  await change(store);
  await tab.open('#/books/b1/_history', 'History of books/b1');
  await version(page, 'create').waitFor();
  await store.merge('books', 'b1', '{"price":4.00}');
  const now = await store.bytes('books', 'b1');
  await press(version(page, 'create'), 'Revert');
  const alert = page.getByRole('alert').filter({ hasText: 'Changed meanwhile' });
  await alert.getByText('Nothing was written.').waitFor();
  assert.deepEqual(await store.bytes('books', 'b1'), now);
  await press(alert, 'Try again');
  await page.getByRole('list', { name: 'Versions' }).getByText('/price: 3.00 → 4.00').waitFor();
});

scenario('A document that was deleted comes back by a revert', { data }, async ({ store, tab, page }) => {
  const before = await store.bytes('books', 'b2');
  await change(store);
  await tab.open('#/books/b2/_history', 'History of books/b2');
  assert.equal(await version(page, 'delete').getByRole('button').count(), 0);
  await press(version(page, 'create'), 'Compare with now');
  await page.getByRole('region', { name: 'Compared with now', exact: true }).getByText('→ nothing').waitFor();
  await press(version(page, 'create'), 'Revert');
  await press(page.getByRole('dialog', { name: 'What this revert changes', exact: true }), 'Revert now');
  await page.getByRole('heading', { level: 1, name: 'books/b2', exact: true }).waitFor();
  assert.deepEqual(await store.bytes('books', 'b2'), before);
});

scenario('Any two versions are compared, step by step, and a time leads to the document of then', { data, context: { timezoneId: 'Asia/Tokyo' } }, async ({ store, tab, page }) => {
  await change(store);
  await store.merge('books', 'b1', '{"price":4.00}'); // event 8
  await tab.open('#/books/b1/_history', 'History of books/b1');
  const slider = page.getByRole('region', { name: 'Compare versions', exact: true });
  const difference = slider.getByRole('region', { name: 'Difference', exact: true });
  await difference.getByText('/price: 3.00 → 4.00').waitFor();
  await press(slider, 'Step back');
  await difference.getByText('/price: 2.50 → 3.00').waitFor();
  await tab.focusByKey(slider.getByRole('slider', { name: 'From' }), 'Shift+Tab');
  await page.keyboard.press('Home');
  await difference.getByText('/authorName: "Mary Ann Evans" → "George Eliot"').waitFor();
  await difference.getByText('/price: 2.50 → 3.00').waitFor();
  await accessible(page);
  await page.setViewportSize({ width: 360, height: 740 });
  await tab.noSidewaysScrolling();
  await page.setViewportSize({ width: 1280, height: 900 });

  // Times are those of the reader's zone; the title has the exact one of UTC, and the position.
  const { time, seq } = (await store.get(pathOf('books', 'b1') + '/_history')).json.items[0];
  const shown = version(page, 'patch').first().getByRole('time');
  assert.match(await shown.innerText(), /just now| ago$/);
  assert.equal(await shown.getAttribute('title'), `${time}, at ${seq}`);
  const local = new Date(new Date(time).getTime() + 9 * 3_600_000).toISOString(); // Tokyo's
  const form = page.getByRole('form', { name: 'Another time', exact: true });
  await form.getByRole('textbox', { name: 'At', exact: true }).fill(`${local.slice(0, 10)} ${local.slice(11, 19)}`);
  await press(form, 'Show');
  await page.getByText('As of ').waitFor();
  assert.equal(new URLSearchParams(new URL(page.url()).hash.split('?')[1]).get('at'), time.slice(0, 19) + '.000Z');
  await tab.open('#/books', 'books');
  await press(page.locator('main'), 'Options');
  const query = page.getByRole('form', { name: 'Query', exact: true });
  await page.getByLabel('Pick a time', { exact: true }).fill(`${local.slice(0, 10)}T${local.slice(11, 19)}`);
  assert.equal(await query.getByRole('textbox', { name: 'At', exact: true }).inputValue(), `${local.slice(0, 10)} ${local.slice(11, 19)}`);
  await query.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByText(`As of`).waitFor();
  assert.equal(new URLSearchParams(new URL(page.url()).hash.split('?')[1]).get('at'), time.slice(0, 19) + '.000Z');
  await tab.open('#/books/b1?at=' + seq, 'books/b1');
  await page.getByRole('button', { name: 'Origin of /authorName', exact: true }).click();
  await page.getByRole('region', { name: 'Origin', exact: true }).getByRole('link', { name: 'authors/a1', exact: true }).first().waitFor();
  await page.getByText(`, ${local.slice(0, 10)} ${local.slice(11, 19)}`).waitFor();
});

scenario('The page of a document that was deleted leads to its history', { data }, async ({ store, tab, page }) => {
  await change(store);
  await tab.open('#/books/b2', 'books/b2');
  await page.getByRole('alert').getByRole('link', { name: 'history', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'History of books/b2', exact: true }).waitFor();
  await version(page, 'delete').waitFor();
});

scenario('A past version tells where its values came from, at that time', { data }, async ({ store, tab, page }) => {
  await change(store);
  const at = await positionOf(store, 4);
  await tab.open('#/books/b1?at=' + at, 'books/b1');
  await page.getByRole('button', { name: 'Origin of /authorName', exact: true }).click();
  const origin = page.getByRole('region', { name: 'Origin', exact: true });
  const source = origin.getByRole('list', { name: 'Sources', exact: true }).getByRole('link', { name: 'authors/a1', exact: true });
  assert.equal(await source.getAttribute('href'), '#/authors/a1?at=' + at);
  const event = origin.getByRole('definition').filter({ hasText: /, create/ }).getByRole('time');
  assert.match((await event.getAttribute('title')) ?? '', /, at 3-0-/, 'the book was created with it, before the author had another name');
  await accessible(page);
});

scenario('A past version whose origins take too long to tell says so in a line', { data }, async ({ store, tab, page }) => {
  await page.route('**/_lineage?*', (route) => route.fulfill({ status: 422, contentType: 'application/problem+json',
    body: JSON.stringify({ type: 'urn:fanfold:problem:takes-long', title: 'It takes longer than a client waits', status: 422, detail: 'more than 100000 rows' }) }));
  await tab.open('#/authors/a1?at=' + await positionOf(store, 4), 'authors/a1');
  await page.getByText('takes too long to tell as of then').waitFor();
  await page.getByRole('region', { name: 'Document', exact: true }).getByText('"Mary Ann Evans"').waitFor();
  assert.equal(await page.getByRole('alert').count(), 0, 'there is nothing to try again');
  assert.equal(await page.getByRole('region', { name: 'Carried by', exact: true }).count(), 0);
  await accessible(page);
  await page.unrouteAll({ behavior: 'wait' });
});

/** A model whose copies go from author to book to shelf. @param {string} member of the author @param {string} rule of the book */
const chained = (member, rule = 'by') => `
collections:
  authors: {}
  books:
    relations: { author: { path: author, to: authors } }
    derive: { ${rule}: { copy: author, value: doc.${member} } }
  shelves:
    relations: { books: { path: "books[].id", to: books } }
    derive:
      "books[].by": { copy: books, value: doc.${rule} }
      first: { copy: books, value: doc.${rule}, frozen: true }
`;

scenario('A past version follows a value from copy to copy as it was copied then, and tells who carried it', {
  data: { model: chained('name'), documents: {
    authors: { a1: '{"id":"a1","name":"Mary Ann Evans","known":"?"}' }, // event 2
    books: { b1: '{"id":"b1","author":"a1"}' }, // event 3
    shelves: { s1: '{"id":"s1","books":[{"id":"b1"}]}', s2: '{"id":"s2","books":[{"id":"b1"}]}' }, // events 4 and 5
  } },
}, async ({ store, tab, page }) => {
  const at = await positionOf(store, 5);
  await store.want('DELETE', pathOf('shelves', 's2')); // event 6
  await store.merge('authors', 'a1', '{"name":"George Eliot"}'); // event 7
  const chain = page.getByRole('region', { name: 'Origin', exact: true }).getByRole('list', { name: 'Chain', exact: true }).getByRole('listitem');
  const told = async () => (await chain.allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim());
  const follow = async (/** @type {string} */ path) => {
    await page.getByRole('button', { name: `Origin of ${path}`, exact: true }).click();
    await chain.nth(2).waitFor();
    return told();
  };
  await tab.open('#/shelves/s1?at=' + at, 'shelves/s1');
  assert.deepEqual(await follow('/books/0/by'), ['shelves/s1 /books/0/by', 'copied by shelves.books[].by from books/b1 /by', 'copied by books.by from authors/a1 /name']);
  assert.deepEqual(await chain.getByRole('link').evaluateAll((links) => links.map((link) => link.getAttribute('href'))), ['shelves/s1', 'books/b1', 'authors/a1'].map((of) => `#/${of}?at=${at}`));
  await accessible(page);

  await chain.getByRole('link', { name: 'books/b1', exact: true }).click();
  const carried = page.getByRole('region', { name: 'Carried by', exact: true });
  await carried.getByRole('button', { name: 'Show carriers by shelves.books[].by', exact: true }).click();
  const carriers = carried.getByRole('list', { name: 'Carriers by shelves.books[].by', exact: true }).getByRole('link');
  assert.deepEqual(await carriers.evaluateAll((links) => links.map((link) => link.getAttribute('href'))), [`#/shelves/s1?at=${at}`, `#/shelves/s2?at=${at}`]);
  await accessible(page);
  await page.setViewportSize({ width: 360, height: 740 });
  await tab.noSidewaysScrolling();

  // A frozen value came from what the author was when it was frozen, and the present tells it so, too.
  await tab.open('#/shelves/s1', 'shelves/s1');
  assert.deepEqual(await follow('/first'), ['shelves/s1 /first', 'copied by shelves.first from books/b1 /by', 'copied by books.by from authors/a1 /name']);
  const frozen = `?at=${await positionOf(store, 4)}`;
  assert.deepEqual(await chain.getByRole('link').evaluateAll((links) => links.map((link) => link.getAttribute('href'))), ['#/shelves/s1', '#/books/b1' + frozen, '#/authors/a1' + frozen]);

  // Another model tells nothing else of then, and what is told of the model is said to be of now.
  await store.model(chained('known', 'writer')); // event 8
  await tab.open('#/shelves/s1?at=' + at, 'shelves/s1');
  assert.deepEqual(await follow('/books/0/by'), ['shelves/s1 /books/0/by', 'copied by shelves.books[].by from books/b1 /by', 'copied by books.by from authors/a1 /name']);
  const origin = page.getByRole('region', { name: 'Origin', exact: true });
  assert.match(await origin.innerText(), /now copy: books, value: doc\.writer/);
  await page.getByRole('region', { name: 'Refers to', exact: true }).getByText('By the relations that the model has now.').waitFor();
});
