// Editing (points 15 to 17 of the console): the editor, the preview of a save, conflicts, new documents, and deletes.
import assert from 'node:assert/strict';
import { accessible, golden } from './lib/checks.js';
import { scenario } from './lib/scenario.js';
import { pathOf } from './lib/store.js';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('./lib/store.js').Store} Store */

/** @param {Page} page */
const box = (page) => page.getByRole('textbox', { name: 'Document', exact: true });

/** @param {Page} page @param {string} name */
const press = (page, name) => page.getByRole('button', { name, exact: true }).click();

/** @param {Page} page */
const preview = (page) => page.getByRole('dialog', { name: 'What this save changes' });

/** @param {Page} page */
const conflict = (page) => page.getByRole('alert', { name: 'Changed meanwhile' });

/** Types another text in the place of one that the text box has. @param {Page} page @param {string} was @param {string} is */
async function replace(page, was, is) {
  const text = await box(page).inputValue();
  assert.ok(text.includes(was), `${was} is not in ${text}`);
  await box(page).fill(text.replace(was, is));
}

/** Waits until a save is told. @param {Page} page @param {string} what */
const told = (page, what) => page.getByRole('status').filter({ hasText: what }).waitFor();

/** How many versions a document has. @param {Store} store @param {string} collection @param {string} id */
const versions = async (store, collection, id) => (await store.get(pathOf(collection, id) + '/_history?derived=exclude')).json.items.length;

const model = `
collections:
  authors: { derive: { countOfBooks: { count: books.author } } }
  books:
    relations: { author: { path: author, to: authors } }
    derive: { authorName: { copy: author, value: doc.name } }
  posts:
    relations: { book: { path: book, to: books } }
    derive: { by: { copy: book, value: doc.authorName } }
  forms:
    schema: { type: object, properties: { name: { type: string }, lines: { type: array, items: { type: object, properties: { n: { type: integer } } } } } }
`;

/** @param {number} books @param {number} posts */
const library = (books, posts) => ({
  model,
  documents: {
    authors: { a1: '{"id":"a1","name":"Mary Ann Evans","born":1819}' },
    books: Object.fromEntries(Array.from({ length: books }, (_, i) => ['b' + i, { author: 'a1' }])),
    posts: Object.fromEntries(Array.from({ length: posts }, (_, i) => ['p' + i, { book: 'b' + i }])),
  },
});

const written = [
  ['a number that JavaScript rounds', '{"id":"d","n":9007199254740993,"t":"x"}', '"x"', '"y"'],
  ['number texts', '{"id":"d","a":2.50,"b":-0,"c":1e400,"t":1}', '"t": 1', '"t": 1.0'],
  ['escapes', '{"id":"d","p":"a\\/b\\u0041","t":true}', 'true', 'false'],
  ['the order of members', '{"id":"d","10":1,"2":2,"t":null}', 'null', '3'],
  ['a nested __proto__', '{"id":"d","in":{"__proto__":{"x":1}},"t":"x"}', '"x": 1', '"x": 2'],
  ['a member rev', '{"id":"d","rev":7,"t":1}', '"rev": 7', '"rev": 8'],
  ['CRLF and blanks', '{ "id" :\t"d",\r\n"a":[ ],\r\n "t" : [1,  2 ] }', '2', '"two"'],
  ['hidden characters', '{"id":"d","h":"a\u202eb\u200b","t":1}', '"t": 1', '"t": 2'],
];

scenario('All that is not changed keeps its bytes', {}, async ({ store, tab, page }) => {
  for (const [name, original, was, is] of written) {
    await store.put('notes', 'd', original);
    await tab.open('#/notes/d?edit', 'notes/d');
    await box(page).waitFor();
    assert.ok(await box(page).evaluate((element) => element === document.activeElement), 'the text box has the focus');
    await replace(page, was, is);
    await press(page, 'Save');
    await told(page, 'notes/d is saved');
    const [compactWas, compactIs] = [was, is].map((text) => text.replace(': ', ':')); // as the original has it
    const at = original.lastIndexOf(compactWas);
    assert.ok(at > 0, name);
    assert.equal((await store.bytes('notes', 'd')).toString(), original.slice(0, at) + compactIs + original.slice(at + compactWas.length), name);
  }
});

scenario('A text whose blanks alone are others is nothing to save', { data: { documents: { notes: { d: '{"id":"d",\r\n"a":[1,2]}' } } } }, async ({ store, tab, page }) => {
  await tab.open('#/notes/d?edit', 'notes/d');
  await box(page).fill('{ "id": "d", "a": [1, 2]\n\n}');
  await press(page, 'Save');
  await told(page, 'there is nothing to save');
  assert.equal((await store.bytes('notes', 'd')).toString(), '{"id":"d",\r\n"a":[1,2]}');
  assert.ok(!tab.requests.some((request) => request.method() === 'PUT'));
});

scenario('What is no document is told by line and column, and is not sent', { data: { documents: { notes: { d: { a: 1 } } } } }, async ({ tab, page }) => {
  await tab.open('#/notes/d?edit', 'notes/d');
  for (const [text, where] of [['{\n  "a": 1,\n}', 'line 3, column 1'], ['{\n"a": 1, "a": 2}', 'line 2, column 9'], ['[1]', 'line 1, column 1'], ['{"a":"\\ud800"}', 'line 1, column 6']]) {
    await box(page).fill(text);
    await press(page, 'Save');
    await page.getByRole('alert').getByRole('button', { name: where, exact: true }).waitFor();
    assert.equal(await page.evaluate(() => document.activeElement?.tagName), 'TEXTAREA');
  }
  await accessible(page);
  assert.ok(!tab.requests.some((request) => request.method() === 'PUT'));
  await box(page).fill(await box(page).evaluate((element) => /** @type {HTMLTextAreaElement} */ (element).defaultValue));
});

scenario('What the server refuses is told at its member', { data: library(1, 0) }, async ({ store, tab, page }) => {
  await store.put('forms', 'f1', '{"id":"f1","name":"x","lines":[{"n":1},{"n":2}]}');
  await tab.open('#/forms/f1?edit', 'forms/f1');
  await replace(page, '"n": 2', '"n": "two"');
  await press(page, 'Save');
  const alert = page.getByRole('alert').filter({ hasText: 'does not fit the schema' });
  await alert.getByRole('listitem').filter({ hasText: 'line 9, column 12: /lines/1/n' }).waitFor();
  await press(page, 'line 9, column 12');
  assert.equal(await page.evaluate(() => String(getSelection())), '"two"');
  assert.equal((await store.bytes('forms', 'f1')).toString(), '{"id":"f1","name":"x","lines":[{"n":1},{"n":2}]}');
  await replace(page, '"two"', '3');
  await press(page, 'Save');
  await told(page, 'forms/f1 is saved');
  assert.equal((await store.bytes('forms', 'f1')).toString(), '{"id":"f1","name":"x","lines":[{"n":1},{"n":3}]}');
});

scenario('A derived member that is typed is refused, not dropped', { data: library(1, 0) }, async ({ store, tab, page }) => {
  const before = await store.bytes('books', 'b0');
  await tab.open('#/books/b0?edit', 'books/b0');
  assert.ok(!(await box(page).inputValue()).includes('authorName'), 'the view is the referenced one');
  await replace(page, '"author"', '"authorName": "me",\n  "author"');
  await press(page, 'Save');
  await page.getByRole('alert').getByRole('listitem').filter({ hasText: 'line 3, column 17: /authorName is derived' }).waitFor();
  assert.deepEqual(await store.bytes('books', 'b0'), before);
  await box(page).fill(await box(page).evaluate((element) => /** @type {HTMLTextAreaElement} */ (element).defaultValue));
});

scenario('A save shows what it changes, by keyboard alone', { data: library(7, 2) }, async ({ store, tab, page }) => {
  const before = await store.bytes('authors', 'a1');
  await tab.open('#/authors/a1', 'authors/a1');
  await tab.focusByKey(page.getByRole('link', { name: 'Edit', exact: true }));
  await page.keyboard.press('Enter');
  await box(page).waitFor();
  await page.waitForFunction(() => document.activeElement?.tagName === 'TEXTAREA');
  await accessible(page);
  await golden(page.getByRole('main'), 'edit');
  await page.keyboard.press('Control+Home');
  for (let n = 0; n < 2; n++) await page.keyboard.press('ArrowDown');
  await page.keyboard.press('End');
  for (let n = 0; n < 'Evans",'.length; n++) await page.keyboard.press('Backspace');
  await page.keyboard.type('Cross",');
  await tab.focusByKey(page.getByRole('button', { name: 'Save', exact: true }));
  await page.keyboard.press('Enter');
  await preview(page).waitFor();
  await preview(page).getByText('9 derived changes: 7 in books, 2 in posts', { exact: true }).waitFor();
  const rows = await preview(page).getByRole('table', { name: 'Changes by rule' }).getByRole('row').allInnerTexts();
  assert.deepEqual(rows.map((row) => row.split(/\s+/)), [['Rule', 'Documents'], ['books.authorName', '7'], ['posts.by', '2']]);
  await accessible(page);
  await golden(preview(page), 'save');
  await page.keyboard.press('Escape');
  await preview(page).waitFor({ state: 'detached' });
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Save');
  assert.deepEqual(await store.bytes('authors', 'a1'), before);
  await page.keyboard.press('Enter');
  await tab.focusByKey(preview(page).getByRole('button', { name: 'Save now', exact: true }));
  await page.keyboard.press('Enter');
  await told(page, 'authors/a1 is saved');
  await page.getByRole('region', { name: 'Arrival' }).getByText('9 of 9').waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), 'H1');
  assert.equal((await store.bytes('authors', 'a1')).toString(), before.toString().replace('Evans', 'Cross'));
  assert.equal((await store.get('/v1/books/b6')).json.authorName, 'Mary Ann Cross');
});

scenario('A save past the limit of the model wants the number typed', { data: { ...library(6, 3), model: model + 'fanout: { limit: 8 }\n' } }, async ({ store, tab, page }) => {
  await tab.open('#/authors/a1?edit', 'authors/a1');
  await replace(page, 'Mary Ann Evans', 'George Eliot');
  await press(page, 'Save');
  const now = preview(page).getByRole('button', { name: 'Save now', exact: true });
  const number = preview(page).getByRole('textbox', { name: 'Number of changes' });
  await number.fill('8');
  assert.ok(await now.isDisabled());
  await accessible(page);
  await number.press('Enter');
  await number.fill('9');
  assert.ok(!tab.requests.some((request) => request.url().includes('allowFanout')));
  await number.press('Enter');
  await told(page, 'authors/a1 is saved');
  assert.equal(tab.requests.filter((request) => request.url().includes('allowFanout=true')).length, 1);
  assert.equal((await store.get('/v1/books/b5')).json.authorName, 'George Eliot');
});

scenario('A save of more than 10,000 changes wants the number typed', { data: { model } }, async ({ store, tab, page }) => {
  await store.put('authors', 'a1', '{"id":"a1","name":"A"}');
  await store.import('books', Array.from({ length: 10_001 }, (_, i) => `{"id":"b${i}","author":"a1"}`).join('\n'));
  await tab.open('#/authors/a1?edit', 'authors/a1');
  await replace(page, '"A"', '"B"');
  await press(page, 'Save');
  await preview(page).getByText('10,001 derived changes: 10,001 in books', { exact: true }).waitFor();
  await preview(page).getByRole('textbox', { name: 'Number of changes' }).fill('10,001');
  await preview(page).getByRole('button', { name: 'Save now', exact: true }).click();
  await told(page, 'authors/a1 is saved');
  await page.getByRole('region', { name: 'Arrival' }).getByText('10,001 of 10,001').waitFor();
  assert.equal((await store.get('/v1/books/b10000')).json.authorName, 'B');
});

scenario('Two tabs on one document: nothing is lost, whoever saves last', { data: library(1, 0) }, async ({ store, tab, page, newTab }) => {
  const other = await newTab();
  for (const one of [tab, other]) {
    await one.open('#/authors/a1?edit', 'authors/a1');
    await box(one.page).waitFor();
  }
  await replace(page, '1819', '1820');
  await replace(other.page, 'Mary Ann Evans', 'George Eliot');
  await press(other.page, 'Save');
  await preview(other.page).getByRole('button', { name: 'Save now', exact: true }).click();
  await told(other.page, 'authors/a1 is saved');

  // The alert comes by the feed, and what was typed stays.
  await conflict(page).waitFor();
  assert.ok((await box(page).inputValue()).includes('1820'));
  await conflict(page).getByRole('region', { name: 'Their change' }).getByRole('listitem').filter({ hasText: '/name: "Mary Ann Evans" → "George Eliot"' }).waitFor();
  await conflict(page).getByRole('region', { name: 'Your change' }).getByRole('listitem').filter({ hasText: '/born: 1819 → 1820' }).waitFor();
  await accessible(page);
  await golden(conflict(page), 'changed-meanwhile');
  await page.setViewportSize({ width: 360, height: 800 });
  await tab.noSidewaysScrolling();

  // A save is refused still, and writes nothing.
  await press(page, 'Save');
  await conflict(page).waitFor();
  assert.equal((await store.bytes('authors', 'a1')).toString(), '{"id":"a1","name":"George Eliot","born":1819}');
  await press(page, 'Save mine');
  await preview(page).getByRole('button', { name: 'Save now', exact: true }).click();
  await told(page, 'authors/a1 is saved');
  assert.equal((await store.bytes('authors', 'a1')).toString(), '{"id":"a1","name":"Mary Ann Evans","born":1820}');
});

scenario('Theirs is taken in the place of what was typed', { data: { documents: { notes: { d: '{"id":"d","a":1}' } } } }, async ({ store, tab, page }) => {
  await tab.open('#/notes/d?edit', 'notes/d');
  await replace(page, '1', '2');
  await store.put('notes', 'd', '{"id":"d","a":1,"b":[true]}');
  await press(page, 'Take theirs');
  await conflict(page).waitFor({ state: 'detached' });
  assert.deepEqual(JSON.parse(await box(page).inputValue()), { id: 'd', a: 1, b: [true] });
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), 'TEXTAREA');
  await replace(page, 'true', 'false');
  await press(page, 'Save');
  await told(page, 'notes/d is saved');
  assert.equal((await store.bytes('notes', 'd')).toString(), '{"id":"d","a":1,"b":[false]}');
});

scenario('A document that was deleted meanwhile is written anew, or given up', { data: { documents: { notes: { d: '{"id":"d","a":1}' } } } }, async ({ store, tab, page }) => {
  await tab.open('#/notes/d?edit', 'notes/d');
  await replace(page, '1', '2');
  await store.want('DELETE', '/v1/notes/d');
  await conflict(page).getByText('The document was deleted').waitFor();
  await press(page, 'Save mine');
  await told(page, 'notes/d is saved');
  assert.equal((await store.bytes('notes', 'd')).toString(), '{"id":"d","a":2}');
});

scenario('Without the feed, the server refuses to overwrite', { data: { documents: { notes: { d: '{"id":"d","a":1}' } } }, mayFail: true }, async ({ store, tab, page }) => {
  await page.route(/_changes/, (route) => route.abort());
  await tab.open('#/notes/d?edit', 'notes/d');
  await replace(page, '1', '2');
  await store.put('notes', 'd', '{"id":"d","a":3}');
  await press(page, 'Save');
  await conflict(page).getByRole('listitem').filter({ hasText: '/a: 1 → 3' }).waitFor();
  assert.equal((await store.bytes('notes', 'd')).toString(), '{"id":"d","a":3}');
  await press(page, 'Take theirs');
});

scenario('A lost answer is told, and trying again writes once', { data: library(2, 0), mayFail: true }, async ({ store, tab, page }) => {
  await tab.open('#/authors/a1?edit', 'authors/a1');
  await replace(page, 'Mary Ann Evans', 'George Eliot');
  await press(page, 'Save');
  let lost = 0;
  await page.route(/\/v1\/authors\/a1$/, async (route) => {
    if (route.request().method() !== 'PUT' || lost++ > 0) return route.continue();
    await route.fetch();
    await route.abort();
  });
  await preview(page).getByRole('button', { name: 'Save now', exact: true }).click();
  await preview(page).getByRole('alert').filter({ hasText: 'Nobody knows yet whether it was written' }).waitFor();
  assert.equal(await versions(store, 'authors', 'a1'), 2, 'it was written');
  await press(page, 'Try again');
  await told(page, 'authors/a1 is saved');
  await page.getByRole('region', { name: 'Arrival' }).getByText('2 of 2').waitFor();
  assert.equal(await versions(store, 'authors', 'a1'), 2, 'it was written once');
  const keys = tab.requests.filter((request) => request.method() === 'PUT' && !request.url().includes('dryRun')).map((request) => request.headers()['idempotency-key']);
  assert.ok(keys.length === 2 && keys[0] === keys[1] && keys[0], String(keys));
});

scenario('A new document never overwrites another', { data: library(1, 0) }, async ({ store, tab, page }) => {
  await tab.open('#/books?new', 'New document');
  const id = page.getByRole('textbox', { name: 'Id', exact: true });
  await id.fill('b0');
  await box(page).fill('{"title": "Romola"}');
  await accessible(page);
  await golden(page.getByRole('main'), 'new');
  await press(page, 'Save');
  await conflict(page).getByText('There is a document of this id already').waitFor();
  assert.equal((await store.bytes('books', 'b0')).toString(), '{"id":"b0","author":"a1"}');
  await id.fill('a/b?#%😀');
  await conflict(page).waitFor({ state: 'detached' });
  await press(page, 'Save');
  await told(page, 'books/a/b?#%😀 is saved');
  await page.getByRole('heading', { level: 1, name: 'books/a/b?#%😀', exact: true }).waitFor();
  assert.equal((await store.bytes('books', 'a/b?#%😀')).toString(), '{"id":"a/b?#%😀","title": "Romola"}');

  // Without an id the store makes one, also where its answer is lost.
  await tab.open('#/books?new', 'New document');
  await box(page).fill('{"author": "a1"}');
  await press(page, 'Save');
  await preview(page).getByText('1 derived change: 1 in authors', { exact: true }).waitFor();
  await preview(page).getByRole('button', { name: 'Save now', exact: true }).click();
  await told(page, 'is saved');
  const made = decodeURIComponent(new URL(page.url()).hash.split('/')[2]);
  assert.deepEqual(JSON.parse((await store.bytes('books', made)).toString()), { id: made, author: 'a1' });
});

const blog = {
  model: `
collections:
  posts: {}
  comments: { relations: { post: { path: post, to: posts, onDelete: cascade } } }
  tags: { relations: { post: { path: "posts[]", to: posts, onDelete: unlink } } }
  pins: { relations: { post: { path: post, to: posts, onDelete: restrict } } }
`,
  documents: { posts: { p1: {}, p2: {} }, comments: { c1: { post: 'p1' }, c2: { post: 'p1' } }, tags: { t1: { posts: ['p1', 'p2'] } }, pins: { x1: { post: 'p2' } } },
};

scenario('A delete shows what goes with it, and who restricts it', { data: blog }, async ({ store, tab, page }) => {
  const dialog = page.getByRole('dialog', { name: 'What this delete changes' });
  await tab.open('#/posts/p1', 'posts/p1');
  await press(page, 'Delete');
  await dialog.getByRole('list', { name: 'Deleted with it' }).getByRole('link', { name: 'comments/c2' }).waitFor();
  await dialog.getByRole('list', { name: 'Loses its reference' }).getByRole('link', { name: 'tags/t1' }).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Keep it');
  await accessible(page);
  await golden(dialog, 'delete');
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Delete');
  await store.get('/v1/posts/p1');
  await press(page, 'Delete');
  await dialog.getByRole('button', { name: 'Delete now', exact: true }).click();
  await told(page, 'posts/p1 is deleted');
  for (const gone of ['/v1/posts/p1', '/v1/comments/c1', '/v1/comments/c2']) assert.equal((await store.send('GET', gone)).status, 404, gone);
  assert.equal((await store.bytes('tags', 't1')).toString(), '{"id":"t1","posts":["p2"]}');

  await tab.open('#/posts/p2', 'posts/p2');
  await press(page, 'Delete');
  await dialog.getByRole('list', { name: 'Restricted by' }).getByRole('link', { name: 'pins/x1' }).waitFor();
  assert.equal(await dialog.getByRole('button', { name: 'Delete now' }).count(), 0);
  await accessible(page);
  await store.get('/v1/posts/p2');
});

scenario('Leaving a text that is not saved asks', { data: { documents: { notes: { d: '{"id":"d","a":1}' } } } }, async ({ tab, page }) => {
  await tab.open('#/notes/d?edit', 'notes/d');
  await replace(page, '1', '2');
  page.once('dialog', (dialog) => dialog.dismiss());
  await page.getByRole('link', { name: 'Collections', exact: true }).click();
  await page.waitForFunction(() => location.hash === '#/notes/d?edit');
  assert.ok((await box(page).inputValue()).includes('2'));
  page.once('dialog', (dialog) => dialog.accept());
  await page.getByRole('link', { name: 'Collections', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Collections' }).waitFor();
});

scenario('A key that ends in mid-work is asked for, and nothing typed is lost', { data: { documents: { notes: { d: '{"id":"d","a":1}' } } }, closed: true }, async ({ store, tab, page }) => {
  const use = async (/** @type {string} */ key) => {
    const dialog = page.getByRole('dialog', { name: 'Key needed' });
    await dialog.getByLabel('Key', { exact: true }).fill(key);
    await dialog.getByRole('button', { name: 'Use key', exact: true }).click();
  };
  const mine = await store.newKey('admin');
  await tab.open('#/notes/d?edit', 'notes/d');
  await use(mine);
  await replace(page, '1', '2');
  await store.want('DELETE', '/v1/_keys/' + mine.split('_')[1]);
  await press(page, 'Save');
  await use(store.key);
  await told(page, 'notes/d is saved');
  assert.equal((await store.bytes('notes', 'd')).toString(), '{"id":"d","a":2}');
});
