// The editor of a document (point 15 of the console).
import assert from 'node:assert/strict';
import { accessible } from './lib/checks.js';
import { box, library, press, replace, told } from './lib/editing.js';
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
