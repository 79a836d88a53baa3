// What goes wrong between a hand, a place and an answer: nothing is written twice, asked of another path, or shown to somebody else.
import assert from 'node:assert/strict';
import { box, library, told, versions } from './lib/editing.js';
import { keyDialog, useKey } from './lib/keys.js';
import { scenario } from './lib/scenario.js';

scenario('Two clicks on Save write once', { data: library(2, 0) }, async ({ store, tab, page }) => {
  await store.put('notes', 'd', '{"id":"d","a":1}');
  await tab.open('#/notes/d?edit', 'notes/d');
  await box(page).fill('{"id":"d","a":2}');
  await page.getByRole('button', { name: 'Save', exact: true }).dblclick();
  await told(page, 'notes/d is saved');
  assert.equal(await versions(store, 'notes', 'd'), 2);

  await tab.open('#/authors/a1?edit', 'authors/a1');
  await box(page).fill('{"id":"a1","name":"George Eliot","born":1819}');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('button', { name: 'Save now', exact: true }).dblclick();
  await told(page, 'authors/a1 is saved');
  assert.equal(await versions(store, 'authors', 'a1'), 2);
});

scenario('A place with steps of a path asks for nothing', { data: library(1, 0) }, async ({ tab, page }) => {
  for (const place of ['#/books/..', '#/books/.', '#/../_keys', '#/books/%2e%2e', '#/books/b1/../../_model']) {
    await tab.open('#/', 'Collections');
    const since = tab.requests.length;
    await tab.open(place);
    await page.getByText(/There is nothing here|Nothing here|cannot be read/).first().waitFor();
    const asked = tab.requests.slice(since).map((request) => new URL(request.url()).pathname);
    assert.ok(!asked.some((path) => /_keys|_model$/.test(path)), `${place} asks for ${asked.join(' ')}`);
  }
});

scenario('An answer that is none is told in the place of the page, which goes on', { data: library(1, 0), mayFail: true, bare: true }, async ({ tab, page }) => {
  await page.route((url) => url.pathname === '/v1', (route) => route.fulfill({ status: 200, contentType: 'application/json', body: '{"collections":5}' }));
  await tab.open('#/', 'Collections');
  const alert = page.getByRole('alert').filter({ hasText: 'The console failed' });
  await alert.waitFor();
  await page.unroute((url) => url.pathname === '/v1').catch(() => undefined);
  await page.unrouteAll();
  await alert.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('table', { name: 'Collections' }).getByRole('link', { name: 'books' }).waitFor();
  tab.errors.length = 0; // the browser's log has the failure
});

scenario('Another key sees nothing of what the first one saw', { data: { model: `
collections:
  notes: { access: { read: [writer] } }
  plans: { access: { read: [planner] } }
`, documents: { notes: { n1: { text: 'of the writer' } }, plans: { p1: { text: 'of the planner' } } } }, closed: true }, async ({ store, tab, page }) => {
  const use = async (/** @type {string} */ key) => {
    await useKey(page, key);
    await keyDialog(page).waitFor({ state: 'detached' });
  };
  await tab.open('#/notes/n1');
  await use(await store.newKey('writer'));
  await page.getByText('of the writer').first().waitFor();
  await page.getByRole('button', { name: 'Forget key' }).click();
  await use(await store.newKey('planner'));
  await page.getByRole('alert').first().waitFor();
  assert.ok(!(await page.locator('body').innerText()).includes('of the writer'));
});

scenario('A right that ends under an open document ends what it shows', { closed: true, data: { model: `
collections:
  books: { access: { read: [clerk] } }
`, documents: { books: { b1: { title: 'One' } } } } }, async ({ store, tab, page }) => {
  await tab.open('#/books/b1');
  const following = page.waitForResponse((r) => r.url().includes('feed=continuous') && r.ok());
  await useKey(page, await store.newKey('clerk'));
  await page.getByRole('region', { name: 'Document', exact: true }).getByText('One').waitFor();
  await following;
  await store.want('PATCH', '/v1/_model', '{"collections":{"books":{"access":{"read":["boss"]}}}}', { 'Content-Type': 'application/merge-patch+json' });
  await store.merge('books', 'b1', '{"title":"Two"}');
  await page.getByRole('alert').first().waitFor();
  assert.ok(!(await page.locator('body').innerText()).includes('Two'));
});

scenario('A hidden tab whose position has passed the horizon shows what is when it is seen again', { data: { documents: { notes: { n1: { n: 1 } } } } }, async ({ store, tab, page }) => {
  const following = page.waitForResponse((r) => r.url().includes('feed=continuous') && r.ok());
  await tab.open('#/notes/n1', 'notes/n1');
  await following;
  await tab.hide(true);
  await store.merge('notes', 'n1', '{"n":2}');
  await store.merge('notes', 'n1', '{"n":3}');
  const { position } = (await store.get('/v1/_status')).json;
  await store.want('POST', '/v1/_compact', JSON.stringify({ before: position }));
  while ((await store.get('/v1/_compact')).json.phase !== 'done') await store.get('/v1/_status');
  await store.merge('notes', 'n1', '{"n":4}');
  await tab.hide(false);
  await page.getByText(/no longer kept|begins/).first().waitFor();
  await page.getByRole('button', { name: 'Try again' }).first().click();
  await page.getByRole('region', { name: 'Document', exact: true }).getByText('4').waitFor();
});
