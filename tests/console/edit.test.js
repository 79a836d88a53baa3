// The editor of a document (point 15 of the console).
import assert from 'node:assert/strict';
import { accessible } from './lib/checks.js';
import { box, focused, library, press, preview, replace, selectedIn, textIn, told } from './lib/editing.js';
import { saveAsKeyEnds, useKey } from './lib/keys.js';
import { scenario } from './lib/scenario.js';

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
    await focused(page);
    await replace(page, was, is);
    await press(page, 'Save');
    await told(page, 'notes/d is saved');
    const [compactWas, compactIs] = [was, is].map((text) => text.replace(': ', ':')); // as the original has it
    const at = original.lastIndexOf(compactWas);
    assert.ok(at > 0, name);
    assert.equal((await store.bytes('notes', 'd')).toString(), original.slice(0, at) + compactIs + original.slice(at + compactWas.length), name);
  }
});

scenario('Texts are shown as characters, and what is not edited keeps its bytes', { data: library(0, 0) }, async ({ store, tab, page }) => {
  const original = '{"id":"a1","first":1, "name":"\\u5c71\\u7530","\\u7530":"a\\/b","hidden":"a\\u202eb","list":[1,  2],"last":1}';
  await store.put('authors', 'a1', original);
  await store.put('books', 'b1', '{"author":"a1"}');
  await tab.open('#/authors/a1', 'authors/a1');
  const shown = page.getByRole('region', { name: 'Document', exact: true });
  await shown.getByText('"山田"', { exact: true }).waitFor();
  await shown.getByText('"田":', { exact: true }).waitFor();
  await shown.getByText('U+202E', { exact: true }).waitFor();
  await tab.open('#/authors/a1?edit', 'authors/a1');
  await box(page).waitFor();
  assert.equal(await textIn(page), '{\n  "id": "a1",\n  "first": 1,\n  "name": "山田",\n  "田": "a/b",\n  "hidden": "a\\u202eb",\n  "list": [\n    1,\n    2\n  ],\n  "last": 1\n}');
  await replace(page, '"first": 1', '"first": 2');
  await replace(page, '"last": 1', '"last": 2');
  await press(page, 'Save');
  await told(page, 'authors/a1 is saved');
  const saved = original.replace('"first":1', '"first":2').replace('"last":1', '"last":2');
  assert.equal((await store.bytes('authors', 'a1')).toString(), saved);
  await tab.open('#/authors/a1?edit', 'authors/a1');
  await replace(page, '山田', '田中');
  await press(page, 'Save');
  await preview(page).getByRole('region', { name: 'This document' }).getByText('/name: "山田" → "田中"').waitFor();
  await preview(page).getByRole('list', { name: 'Examples' }).getByText('/authorName: "山田" → "田中"').waitFor();
  await press(page, 'Save now');
  await told(page, 'authors/a1 is saved');
  assert.equal((await store.bytes('authors', 'a1')).toString(), saved.replace('\\u5c71\\u7530', '田中'));
});

scenario('The editor is one of code: mistakes, completion, search, folding, undo and the save by keys', { data: { ...library(2, 1), documents: { ...library(2, 1).documents, books: { b0: { author: 'a1', title: 'Adam Bede', lines: [{ n: 1 }] }, b1: { author: 'a1' } } } } }, async ({ tab, page }) => {
  await tab.open('#/authors/a1?edit', 'authors/a1');
  await focused(page);
  const before = await textIn(page);

  // Mistakes are marked as one types, and go with it.
  await box(page).press('Control+End');
  await page.keyboard.type(',');
  await page.locator('.cm-lintRange-error, .cm-lintPoint-error').first().waitFor();
  await page.keyboard.press('Control+Z');
  await page.locator('.cm-lintRange-error, .cm-lintPoint-error').first().waitFor({ state: 'detached' });
  assert.equal(await textIn(page), before);

  await page.keyboard.press('Control+F');
  const find = page.getByRole('textbox', { name: 'Find', exact: true });
  await find.pressSequentially('1819');
  await accessible(page);
  await page.keyboard.press('Enter');
  await page.keyboard.press('Escape');
  await focused(page);
  assert.equal(await selectedIn(box(page)), '1819');
  await page.keyboard.type('1820');
  await page.keyboard.press('Control+S');
  await preview(page).or(page.getByRole('status').filter({ hasText: 'authors/a1 is saved' })).first().waitFor();
  await told(page, 'authors/a1 is saved');

  // Names are those that others of the collection have, and ids are those of the relation's target.
  await tab.open('#/books?new', 'New document');
  await box(page).press('Control+Home');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.type('"');
  await page.keyboard.press('Control+Space');
  const options = page.getByRole('listbox').getByRole('option');
  await options.filter({ hasText: 'author' }).waitFor();
  assert.deepEqual((await options.allInnerTexts()).map((text) => text.replace(/\s+/g, ' ')), ['authorid of authors', 'idtext', 'linesarray', 'titletext']);
  await accessible(page);
  await options.filter({ hasText: 'author' }).click();
  await page.keyboard.press('Control+Space');
  await options.filter({ hasText: '"a1"' }).click();
  assert.deepEqual(JSON.parse(await textIn(page)), { author: 'a1' });
  await page.keyboard.press('Control+Home');
  await page.keyboard.press('Control+Shift+BracketLeft');
  await page.locator('.cm-foldPlaceholder').waitFor();
  await accessible(page);
  await tab.focusByKey(page.getByRole('button', { name: 'Save', exact: true })); // Tab leaves the editor
  await page.setViewportSize({ width: 360, height: 740 });
  await tab.noSidewaysScrolling();
  await page.keyboard.press('Shift+Tab');
  await box(page).press('Control+A');
  await page.keyboard.insertText('{\n  \n}');
});

scenario('A document is edited field by field, and a clone begins with what another has', { data: { documents: { notes: { d: '{"id":"d","n":2.50,"t":"a\\/b", "list":["x"],"big":9007199254740993}' } } } }, async ({ store, tab, page }) => {
  await tab.open('#/notes/d?edit', 'notes/d');
  await focused(page);
  await press(page, 'Fields');
  const fields = page.getByRole('region', { name: 'Fields', exact: true });
  await fields.getByRole('textbox', { name: '/n', exact: true }).fill('2.750');
  await fields.getByRole('textbox', { name: '/t', exact: true }).fill('say "hi"');
  await fields.getByRole('button', { name: 'Add an element to /list' }).click();
  await fields.getByRole('textbox', { name: '/list/1', exact: true }).fill('y');
  await fields.getByRole('textbox', { name: 'New member of the document' }).fill('done');
  await fields.getByRole('button', { name: 'Add', exact: true }).click();
  await fields.getByRole('combobox', { name: 'Kind of /done', exact: true }).selectOption('true');
  await accessible(page);
  await press(page, 'Save');
  await told(page, 'notes/d is saved');
  assert.match((await store.bytes('notes', 'd')).toString(), /^\{"id":"d","n":2\.750,"t":"say \\"hi\\"", "list":\["x",\s*"y"\s*\],"big":9007199254740993,\s*"done": true\}$/);

  await page.getByRole('link', { name: 'Clone', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'New document' }).waitFor();
  await page.getByRole('textbox', { name: 'Id', exact: true }).fill('e');
  await box(page).waitFor();
  assert.ok((await textIn(page)).includes('9007199254740993'));
  await press(page, 'Save');
  await told(page, 'notes/e is saved');
  const [d, e] = await Promise.all(['d', 'e'].map(async (id) => (await store.get('/v1/notes/' + id + '?view=referenced')).json));
  assert.deepEqual({ ...d, id: 'e', _meta: 0 }, { ...e, _meta: 0 });
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
  await box(page).waitFor();
  const initial = await textIn(page);
  for (const [text, where] of [['{\n  "a": 1,\n}', 'line 3, column 1'], ['{\n"a": 1, "a": 2}', 'line 2, column 9'], ['[1]', 'line 1, column 1'], ['{"a":"\\ud800"}', 'line 1, column 6']]) {
    await box(page).fill(text);
    await press(page, 'Save');
    await page.getByRole('alert').getByRole('button', { name: where, exact: true }).waitFor();
    await focused(page);
  }
  await accessible(page);
  assert.ok(!tab.requests.some((request) => request.method() === 'PUT'));
  await box(page).fill(initial);
});

scenario('What the server refuses is told at its member', { data: library(1, 0) }, async ({ store, tab, page }) => {
  await store.put('forms', 'f1', '{"id":"f1","name":"x","lines":[{"n":1},{"n":2}]}');
  await tab.open('#/forms/f1?edit', 'forms/f1');
  await replace(page, '"n": 2', '"n": "two"');
  await press(page, 'Save');
  const alert = page.getByRole('alert').filter({ hasText: 'does not fit the schema' });
  await alert.getByRole('listitem').filter({ hasText: 'line 9, column 12: /lines/1/n' }).waitFor();
  await press(page, 'line 9, column 12');
  assert.equal(await selectedIn(box(page)), '"two"');
  assert.equal((await store.bytes('forms', 'f1')).toString(), '{"id":"f1","name":"x","lines":[{"n":1},{"n":2}]}');
  await replace(page, '"two"', '3');
  await press(page, 'Save');
  await told(page, 'forms/f1 is saved');
  assert.equal((await store.bytes('forms', 'f1')).toString(), '{"id":"f1","name":"x","lines":[{"n":1},{"n":3}]}');
});

scenario('A derived member that is typed is refused, not dropped', { data: library(1, 0) }, async ({ store, tab, page }) => {
  const before = await store.bytes('books', 'b0');
  await tab.open('#/books/b0?edit', 'books/b0');
  await box(page).waitFor();
  const initial = await textIn(page);
  assert.ok(!(await textIn(page)).includes('authorName'), 'the view is the referenced one');
  await replace(page, '"author"', '"authorName": "me",\n  "author"');
  await press(page, 'Save');
  await page.getByRole('alert').getByRole('listitem').filter({ hasText: 'line 3, column 17: /authorName is derived' }).waitFor();
  assert.deepEqual(await store.bytes('books', 'b0'), before);
  await box(page).fill(initial);
});

scenario('Leaving a text that is not saved asks', { data: { documents: { notes: { d: '{"id":"d","a":1}' } } } }, async ({ tab, page }) => {
  await tab.open('#/notes/d?edit', 'notes/d');
  await replace(page, '1', '2');
  page.once('dialog', (dialog) => dialog.dismiss());
  await page.getByRole('link', { name: 'Collections', exact: true }).click();
  await page.waitForFunction(() => location.hash === '#/notes/d?edit');
  assert.ok((await textIn(page)).includes('2'));
  page.once('dialog', (dialog) => dialog.accept());
  await page.getByRole('link', { name: 'Collections', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Collections' }).waitFor();
});

/**
 * Edits notes/d with a key, which comes back.
 * @param {import('./lib/store.js').Store} store
 * @param {import('./lib/tab.js').Tab} tab
 */
async function typeWithKey(store, tab) {
  const key = await store.newKey('admin');
  await tab.open('#/notes/d?edit', 'notes/d');
  await useKey(tab.page, key);
  await replace(tab.page, '1', '2');
  return key;
}

scenario('A key that ends in mid-work is asked for, and nothing typed is lost', { data: { documents: { notes: { d: '{"id":"d","a":1}' } } }, closed: true }, async ({ store, tab, page }) => {
  const key = await typeWithKey(store, tab);
  /** @type {() => void} */
  let answer = () => {};
  const saved = new Promise((resolve) => { answer = () => resolve(undefined); });
  await page.route((url) => url.pathname === '/v1/_me', async (route) => { await saved; await route.continue(); });
  await saveAsKeyEnds(store, page, '/v1/notes/d', key);
  await useKey(page, store.key);
  await told(page, 'notes/d is saved');
  answer(); // the page learns of another reader only after the save, which was that reader's
  await page.getByRole('banner').getByText('admin key file').waitFor();
  await told(page, 'notes/d is saved');
  assert.equal((await store.bytes('notes', 'd')).toString(), '{"id":"d","a":2}');
});

scenario('A page that learns of another reader during a save waits for the save', { data: { documents: { notes: { d: '{"id":"d","a":1}' } } }, closed: true }, async ({ store, tab, page }) => {
  const key = await typeWithKey(store, tab);
  /** @type {string[]} */
  const asked = [];
  page.on('dialog', (dialog) => { asked.push(dialog.message()); dialog.dismiss(); });
  await page.route((url) => url.pathname === '/v1/notes/d' && !url.search.includes('dryRun'), async (route) => {
    if (route.request().method() !== 'PUT') return route.continue();
    const response = await route.fetch();
    await page.getByRole('banner').getByText('admin key file').waitFor();
    await route.fulfill({ response });
  });
  await saveAsKeyEnds(store, page, '/v1/notes/d', key);
  await useKey(page, store.key);
  await told(page, 'notes/d is saved');
  assert.equal(new URL(page.url()).hash, '#/notes/d');
  assert.deepEqual(asked, []);
  assert.equal((await store.bytes('notes', 'd')).toString(), '{"id":"d","a":2}');
});
