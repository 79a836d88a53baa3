// Documents that changed meanwhile, or are there already (point 17 of the console).
import assert from 'node:assert/strict';
import { accessible, golden } from './lib/checks.js';
import { box, conflict, focused, library, press, preview, replace, textIn, told } from './lib/editing.js';
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
  assert.ok((await textIn(page)).includes('1820'));
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
  // Both changes are kept: each side changed another member. Nothing is written before the preview, which shows this document, too.
  await press(page, 'Save both');
  const own = preview(page).getByRole('region', { name: 'This document', exact: true }).getByRole('listitem');
  await own.filter({ hasText: '/born: 1819 → 1820' }).waitFor();
  assert.equal(await own.count(), 1, 'their change is no difference any more');
  assert.equal((await store.bytes('authors', 'a1')).toString(), '{"id":"a1","name":"George Eliot","born":1819}');
  await preview(page).getByRole('button', { name: 'Save now', exact: true }).click();
  await told(page, 'authors/a1 is saved');
  assert.equal((await store.bytes('authors', 'a1')).toString(), '{"id":"a1","name":"George Eliot","born":1820}');
});

scenario('What both changed is asked, value beside value, and what one changed is taken', { data: { documents: { notes: { d: '{"id":"d","title":"a","lines":[{"id":1,"n":1},{"id":2,"n":2}],"sum":2.50}' } } } }, async ({ store, tab, page }) => {
  await tab.open('#/notes/d?edit', 'notes/d');
  await box(page).fill('{"id":"d","title":"mine","lines":[{"id":1,"n":10},{"id":2,"n":20}],"sum":2.50}');
  await store.put('notes', 'd', '{"id":"d","title":"theirs","lines":[{"id":2,"n":22},{"id":1,"n":1}, {"id":3,"n":3}],"sum":2.50, "by":"\\u5c71"}');
  await conflict(page).waitFor();
  const asked = conflict(page).getByRole('region', { name: 'Changed by both', exact: true });
  assert.deepEqual(await asked.getByRole('group').evaluateAll((groups) => groups.map((g) => g.querySelector('legend code')?.textContent)), ['/title', '/lines/0/n']);
  const both = conflict(page).getByRole('button', { name: 'Save both', exact: true });
  assert.ok(await both.isDisabled(), 'two values are not chosen');
  await accessible(page);
  await asked.getByRole('group', { name: '/title' }).getByRole('radio', { name: 'Theirs: "theirs"' }).check();
  await asked.getByRole('group', { name: '/lines/0/n' }).getByRole('radio', { name: 'Yours: 20' }).check();
  await both.click();
  await preview(page).getByText('No derived change').waitFor();
  await press(page, 'Save now');
  await told(page, 'notes/d is saved');
  assert.equal((await store.bytes('notes', 'd')).toString(), '{"id":"d","title":"theirs","lines":[{"id":2,"n":20},{"id":1,"n":10}, {"id":3,"n":3}],"sum":2.50, "by":"\\u5c71"}');
});

scenario('A new document whose id is taken adds to the one that is there', { data: { documents: { notes: { d: '{"id":"d","a":1,"b":[1],"c":{"x":1}}' } } } }, async ({ store, tab, page }) => {
  await tab.open('#/notes?new', 'New document');
  await page.getByRole('textbox', { name: 'Id', exact: true }).fill('d');
  await box(page).fill('{"a": 1, "c": {"y": 2}, "new": true}');
  await press(page, 'Save');
  await press(page, 'Save both');
  await preview(page).getByRole('region', { name: 'This document' }).getByText('/new: nothing → true').waitFor();
  await press(page, 'Save now');
  await told(page, 'notes/d is saved');
  assert.deepEqual(JSON.parse((await store.bytes('notes', 'd')).toString()), { id: 'd', a: 1, b: [1], c: { x: 1, y: 2 }, new: true });
});

scenario('Theirs is taken in the place of what was typed', { data: { documents: { notes: { d: '{"id":"d","a":1}' } } } }, async ({ store, tab, page }) => {
  await tab.open('#/notes/d?edit', 'notes/d');
  await replace(page, '1', '2');
  await store.put('notes', 'd', '{"id":"d","a":1,"b":[true]}');
  await press(page, 'Take theirs');
  await conflict(page).waitFor({ state: 'detached' });
  await told(page, 'Theirs is in the text box.');

  // It can be undone: what was typed is there again, and so is the question.
  await press(page, 'Undo');
  await conflict(page).getByRole('region', { name: 'Your change' }).getByText('/a: 1 → 2').waitFor();
  assert.deepEqual(JSON.parse(await textIn(page)), { id: 'd', a: 2 });
  await press(page, 'Take theirs');
  await conflict(page).waitFor({ state: 'detached' });
  assert.deepEqual(JSON.parse(await textIn(page)), { id: 'd', a: 1, b: [true] });
  await focused(page);
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
  await press(page, 'Save it anew');
  await press(page, 'Save now');
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
