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
    const [compactWas, compactIs] = [was, is].map((text) => text.replace(': ', ':'));
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
  await tab.open('#/books/b0?edit', 'books/b0').catch(() => {});
});
