// The first page (point 9 of the console): the collections, and what needs attention.
import assert from 'node:assert/strict';
import { accessible } from './lib/checks.js';
import { useKey } from './lib/keys.js';
import { scenario } from './lib/scenario.js';
import { hold, waiting } from './lib/tab.js';

/** @param {import('playwright-core').Page} page */
const table = (page) => page.getByRole('table', { name: 'Collections', exact: true });

/** @param {import('playwright-core').Page} page @param {string} text */
const need = (page, text) => page.getByRole('list', { name: 'Needs attention', exact: true }).getByRole('listitem').filter({ hasText: text });

scenario('Collections are listed with their numbers of documents, and lead to them', { data: 'bookshop', shared: true }, async ({ tab, page }) => {
  await tab.open('#/', 'Collections');
  await table(page).waitFor();
  assert.deepEqual(await table(page).getByRole('row').evaluateAll((rows) => rows.slice(0, 3).map((row) => [...row.children].map((cell) => cell.textContent))), [['Name', 'Documents', 'Declared'], ['authors', '61', 'yes'], ['books', '121', 'yes']]);
  await accessible(page);
  await tab.focusByKey(table(page).getByRole('link', { name: 'books', exact: true }));
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'books', exact: true }).waitFor();
  assert.equal(new URL(page.url()).hash, '#/books');
  await page.goBack();
  await table(page).waitFor();
});

const many = { data: { documents: Object.fromEntries(Array.from({ length: 103 }, (_, i) => ['c' + String(i).padStart(3, '0'), { d: {} }])) } };

scenario('Many collections come page by page', many, async ({ tab, page }) => {
  await tab.open('#/', 'Collections');
  const names = () => table(page).getByRole('link').allTextContents();
  await table(page).getByRole('link', { name: 'c099' }).waitFor();
  assert.equal((await names()).length, 100);
  await page.getByRole('link', { name: 'Next page', exact: true }).click();
  await table(page).getByRole('link', { name: 'c102' }).waitFor();
  assert.deepEqual(await names(), ['c100', 'c101', 'c102']);
  await page.reload();
  await table(page).getByRole('link', { name: 'c102' }).waitFor();
  assert.deepEqual(await names(), ['c100', 'c101', 'c102']);
  await page.getByRole('link', { name: 'First page', exact: true }).click();
  await table(page).getByRole('link', { name: 'c000' }).waitFor();
});

scenario('An empty store says what to do next, with the command', {}, async ({ store, tab, page }) => {
  await tab.open('#/', 'Collections');
  await page.getByText(`fanfold put books b1 --server ${store.url}`).waitFor();
  await page.getByText('fanfold model apply model.yaml').waitFor();
  await page.getByText('Nothing needs attention.').waitFor();
  assert.equal(await table(page).count(), 0);
  await accessible(page);
});

const ailing = `
collections:
  authors: {}
  books:
    relations: { author: { path: author, to: authors } }
    derive:
      ratio:   { copy: author, value: "doc.books / doc.years" }
`;

scenario('What needs attention is listed, and leads to where it shows', {
  data: { model: ailing, documents: { authors: { a1: { books: 3, years: 0 } }, books: { b1: { author: 'a1' } } } },
}, async ({ store, tab, page }) => {
  await store.import('pages', Array.from({ length: 1001 }, (_, i) => JSON.stringify({ id: 'p' + i, number: i })).join('\n'));
  for (const number of [1, 2, 3]) {
    await store.get('/v1/pages?filter=' + encodeURIComponent('doc.number == ' + number)); // looks at 1,001 documents for each
  }
  await store.want('PUT', '/v1/_groups/mail', '{"partitions":1,"maxAttempts":1}');
  const { leases } = (await store.want('POST', '/v1/_groups/mail/_lease', '{"member":"m1"}')).json;
  const { token } = leases[0];
  const batch = (await store.get(`/v1/_groups/mail/_changes?partition=0&token=${token}&limit=1`)).json;
  await store.want('POST', '/v1/_groups/mail/_nack', JSON.stringify({ partition: 0, token, position: batch.last_seq, error: 'the post office is closed' }));

  await tab.open('#/', 'Collections');
  await need(page, 'Rule books.ratio: failed 1 time: division by zero').getByRole('link', { name: 'authors/a1', exact: true }).waitFor();
  const query = need(page, 'Queries of pages need an index: filter=doc.number == ?: 3 looked at 3003 documents and gave 3. An index that serves them: byNumber: [number]');
  assert.equal(await query.getByRole('link', { name: 'Operations', exact: true }).getAttribute('href'), '#/_status');
  assert.equal(await need(page, '1 parked batch of mail').getByRole('link', { name: 'Group mail', exact: true }).getAttribute('href'), '#/_groups/mail');
  await accessible(page);
  await need(page, 'Rule books.ratio: failed').getByRole('link').click();
  await page.getByRole('heading', { level: 1, name: 'authors/a1', exact: true }).waitFor();
});

// A projector stops only at an event that cannot be folded, and a model waits only for moments: the answer says so here in their stead.
scenario('Whatever the status says needs attention', { data: 'bookshop', shared: true }, async ({ tab, page }) => {
  await page.route('**/v1/_status', async (route) => {
    const status = await (await route.fetch()).json();
    status.needs = [
      { what: 'This node is not ready', detail: 'the projector has stopped', place: '/_status' },
      { what: 'The projector has stopped at event 12', detail: 'the event cannot be read', place: '/_status' },
      { what: 'A model is being prepared', detail: 'the model of event 14: computing, 25%', place: '/_model' },
      { what: 'Rule b.r', detail: 'failed 2 times' },
      { what: 'Rule b.s', detail: 'failed 1 time: x', place: '/a%2Fb/%E2%80%AE' },
    ];
    await route.fulfill({ json: status });
  });
  await tab.open('#/', 'Collections');
  await need(page, 'This node is not ready: the projector has stopped').waitFor();
  await need(page, 'The projector has stopped at event 12: the event cannot be read').waitFor();
  await need(page, 'A model is being prepared: the model of event 14: computing, 25%').waitFor();
  assert.equal(await need(page, 'Rule b.r: failed 2 times').getByRole('link').count(), 0);
  assert.equal(await need(page, 'Rule b.s').getByRole('link').getAttribute('href'), '#/a%2Fb/%E2%80%AE');
  assert.equal(await need(page, 'A model is being prepared').getByRole('link').getAttribute('href'), '#/_model');
  assert.equal(await need(page, 'stopped at event 12').getByRole('link').getAttribute('href'), '#/_status');
});

const closed = `
collections:
  books: { access: { read: [readers] } }
  bills: { access: { read: [accounting] } }
`;

scenario('Who may not know how the store stands sees the collections that are theirs, and no list', { data: { model: closed, documents: { books: { b1: {} }, bills: { b1: {} } } }, closed: true }, async ({ store, tab, page }) => {
  const key = await store.newKey('readers');
  await tab.open('#/', 'Collections');
  await useKey(page, key);
  await table(page).getByRole('link', { name: 'books', exact: true }).waitFor();
  assert.deepEqual(await table(page).getByRole('link').allTextContents(), ['books']);
  assert.equal(await page.getByText('eeds attention').count(), 0);
});

scenario('What is no longer asked is dim, and Cancel leads back to what was answered', many, async ({ tab, page }) => {
  await tab.open('#/', 'Collections');
  const names = () => table(page).getByRole('link').allTextContents();
  await table(page).getByRole('link', { name: 'c099' }).waitFor();
  const go = await hold(page, (url) => url.pathname === '/v1' && url.searchParams.has('cursor'));
  await page.getByRole('link', { name: 'Next page', exact: true }).click();
  await waiting(page).filter({ has: table(page) }).waitFor();
  assert.ok(await page.locator('main .answer').evaluate((element) => Number(getComputedStyle(element).opacity)) < 0.7, 'the rows of the first page look as those of the next');
  const asked = tab.requests.length;
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await waiting(page).waitFor({ state: 'detached' });
  assert.equal(new URL(page.url()).hash, '#/');
  assert.equal((await names())[0], 'c000');
  assert.equal(await page.locator('main .answer').evaluate((element) => getComputedStyle(element).opacity), '1');
  assert.deepEqual(tab.requests.slice(asked).filter((r) => new URL(r.url()).pathname === '/v1' && new URL(r.url()).searchParams.get('limit') === '100'), [], 'what is known was asked again');
  go();
  await page.getByRole('link', { name: 'Next page', exact: true }).click();
  await table(page).getByRole('link', { name: 'c102' }).waitFor();
  assert.equal(await waiting(page).count(), 0);
});

/** Places, what each asks for first, and what tells that the answer is there. @type {[string, string, (page: import('playwright-core').Page) => import('playwright-core').Locator][]} */
const slow = [
  ['#/', '/v1', (page) => table(page)],
  ['#/_model', '/v1/_model', (page) => page.getByRole('table', { name: 'Rules', exact: true })],
  ['#/books/huckleberry-finn', '/v1/books/huckleberry-finn', (page) => page.getByRole('region', { name: 'Document', exact: true })],
  ['#/books/huckleberry-finn/_history', '/v1/books/huckleberry-finn/_history', (page) => page.getByRole('list', { name: 'Versions', exact: true })],
];

scenario('First loads show the form of what comes, and can be cancelled', { data: 'bookshop', shared: true }, async ({ tab, page, newTab }) => {
  for (const [place, path, answer] of slow) {
    await page.goto('about:blank');
    const go = await hold(page, (url) => url.pathname === path);
    await tab.open(place);
    await waiting(page).locator('.skeleton').waitFor();
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    const alert = page.getByRole('alert').filter({ hasText: 'Cancelled' });
    await alert.waitFor();
    assert.equal(await waiting(page).count(), 0, place);
    go();
    await alert.getByRole('button', { name: 'Try again', exact: true }).click();
    await answer(page).waitFor();
    await page.unrouteAll();
  }
  const other = await newTab();
  await hold(other.page, (url) => url.pathname === '/v1/_changes');
  await other.open('#/', 'Collections');
  await table(other.page).waitFor();
  await other.open('#/_changes', 'Changes');
  await waiting(other.page).locator('.skeleton').waitFor();
  assert.equal(await other.page.getByText('No change has come yet.').count(), 0, 'nobody knows that yet');
  await other.page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await table(other.page).waitFor(); // the last place that was answered
});

/** Places of every kind. */
const everywhere = ['#/', '#/_model', '#/_changes', '#/_status', '#/_groups', '#/_groups/mail', '#/_keys', '#/books', '#/books?filter=doc.year%20%3E%201900', '#/books?at=200', '#/books/middlemarch', '#/books/middlemarch?at=200', '#/books/middlemarch?edit', '#/books/middlemarch/_history'];

scenario('No page is a bare heading while its first answer is awaited', { data: 'bookshop', shared: true }, async ({ tab, page }) => {
  await tab.open('#/', 'Collections');
  await page.getByText('nobody needs a key').waitFor();
  await page.route((url) => url.pathname.startsWith('/v1') && url.pathname !== '/v1/_me', () => {}); // no answer comes
  for (const place of everywhere) {
    await page.goto('about:blank');
    await tab.open(place);
    await waiting(page).locator('.skeleton').first().waitFor();
    await page.getByRole('status').filter({ hasText: 'Waiting for the answer' }).first().waitFor();
  }
});

scenario('A document of another time is dim until the answer comes', { data: 'bookshop', shared: true }, async ({ tab, page }) => {
  await tab.open('#/books/huckleberry-finn');
  const region = page.getByRole('region', { name: 'Document', exact: true });
  await page.getByRole('button', { name: 'Origin of /authors/0/name' }).waitFor();
  const go = await hold(page, (url) => url.pathname === '/v1/books/huckleberry-finn' && url.searchParams.has('at'));
  await page.goto(page.url() + '?at=200');
  await page.getByText('As of 200').waitFor();
  await waiting(page).filter({ has: region }).waitFor();
  go();
  await waiting(page).waitFor({ state: 'detached' });
  await region.getByRole('button', { name: 'Origin of /authors/0/name' }).waitFor(); // as it came about at that time
});
