// Documents that changed meanwhile, or are there already (point 17 of the console).
import assert from 'node:assert/strict';
import { accessible, golden } from './lib/checks.js';
import { box, conflict, library, press, preview, replace, told } from './lib/editing.js';
import { scenario } from './lib/scenario.js';

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

scenario('A new document never overwrites another', { data: library(1, 0), mayFail: true }, async ({ store, tab, page }) => {
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
  let lost = 0;
  await page.route(/\/v1\/books$/, async (route) => {
    if (lost++ > 0) return route.continue();
    await route.fetch();
    await route.abort();
  });
  await preview(page).getByRole('button', { name: 'Save now', exact: true }).click();
  await press(page, 'Try again');
  await told(page, 'is saved');
  const made = decodeURIComponent(new URL(page.url()).hash.split('/')[2]);
  assert.deepEqual(JSON.parse((await store.bytes('books', made)).toString()), { id: made, author: 'a1' });
  assert.equal((await store.get('/v1')).json.collections.find((/** @type {any} */ c) => c.name === 'books').documents, 3);
});
