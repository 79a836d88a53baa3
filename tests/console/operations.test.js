// Operations: how the store runs, and the commands of its administrators (point 21 of the console).
import assert from 'node:assert/strict';
import { accessible, golden } from './lib/checks.js';
import { codeIn, retype } from './lib/editing.js';
import { useKey } from './lib/keys.js';
import { scenario } from './lib/scenario.js';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('./lib/store.js').Store} Store */

/** Confirms a command by its name. @param {Page} page @param {string} name */
async function confirm(page, name) {
  await page.getByRole('region', { name: 'Maintenance' }).getByRole('button', { name, exact: true }).click();
  const dialog = page.getByRole('dialog', { name, exact: true });
  await dialog.getByRole('textbox', { name: `Type ${name} to confirm` }).fill(name.toLowerCase());
  await dialog.getByRole('button', { name, exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
}

/** The status, from the server itself. @param {Store} store */
const statusOf = async (store) => (await store.get('/v1/_status')).json;

/** Waits until the server itself says something of how it stands. @param {Store} store @param {(status: any) => boolean} says */
async function until(store, says) {
  const end = Date.now() + 60_000;
  for (;;) {
    const status = await statusOf(store);
    if (says(status)) return;
    assert.ok(Date.now() < end, `${says}: ${JSON.stringify(status)}`);
  }
}

scenario('Operations says how the node stands', { data: 'bookshop' }, async ({ store, tab, page }) => {
  await tab.open('#/');
  await page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: 'Operations' }).click();
  await page.getByRole('heading', { level: 1, name: 'Operations' }).waitFor();
  const { position, foldVersion, nodes } = await statusOf(store);
  const own = page.getByRole('region', { name: 'This node' });
  await own.getByText(position).waitFor();
  await own.getByText(`version ${foldVersion.version}, the newest`).waitFor();
  const row = page.getByRole('table', { name: 'Nodes' }).getByRole('row').nth(1);
  assert.deepEqual(await row.getByRole('cell').allTextContents(), ['ready', '0 events', String(nodes[0].applied), `8 to ${foldVersion.newest}`, nodes[0].version]);
  await page.getByRole('region', { name: 'History' }).getByText('the store has all its events').waitFor();
  await page.getByText('There is no consumer group').waitFor();
  await page.getByRole('list', { name: 'Figures of the last hour' }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Snapshot' }).count(), 0, 'the log is embedded');
  await accessible(page);
  await golden(page, 'operations');
  for (const size of [{ width: 360, height: 700 }, { width: 640, height: 450 }]) {
    await page.setViewportSize(size);
    await tab.noSidewaysScrolling();
  }
});

scenario('A verification lists each wrong value, and a replay mends them', { data: 'bookshop' }, async ({ store, tab, page }) => {
  await tab.open('#/_status', 'Operations');
  await confirm(page, 'Verify');
  await page.getByText('231 documents looked at, every value is right').waitFor();
  await store.damage(`UPDATE document SET body = replace(body, '"name":"Mary Ann Evans"', '"name":"Nobody"') WHERE id = 'adam-bede'`);
  await confirm(page, 'Verify');
  await page.getByText('231 documents looked at, 1 wrong value').waitFor();
  const wrong = page.getByRole('table', { name: 'Wrong values' }).getByRole('row').nth(1);
  assert.deepEqual(await wrong.getByRole('cell').allTextContents(), ['books.authors[].name', '/authors/0/name', '"Mary Ann Evans"', '"Nobody"']);
  await accessible(page);
  await golden(page.getByRole('region', { name: 'Maintenance' }), 'operations-wrong');
  await page.reload(); // the node has kept what it found
  await page.getByRole('table', { name: 'Wrong values' }).getByRole('link', { name: 'books/adam-bede' }).click();
  await page.getByRole('heading', { level: 1, name: 'books/adam-bede' }).waitFor();
  await page.goBack();
  await confirm(page, 'Replay');
  await page.getByText(/^Replay: done in .* and the new read model is in place$/).waitFor({ timeout: 60_000 });
  assert.equal((await statusOf(store)).replay.running, false);
  await confirm(page, 'Verify');
  await page.getByText('231 documents looked at, every value is right').waitFor();
  assert.equal(await page.getByRole('table', { name: 'Wrong values' }).count(), 0);
});

scenario('The log is verified, and a replay compares without mending', { data: 'bookshop' }, async ({ store, tab, page }) => {
  await tab.open('#/_status', 'Operations');
  await page.getByRole('button', { name: 'Verify' }).click();
  await page.getByRole('radio', { name: 'The log, read through' }).check();
  await page.getByRole('textbox', { name: 'Type Verify to confirm' }).fill('Verify');
  await page.keyboard.press('Enter');
  await page.getByText('Verification of the log: it is whole').waitFor();
  await store.damage(`UPDATE document SET body = replace(body, '"name":"Mary Ann Evans"', '"name":"Nobody"') WHERE id = 'adam-bede'`);
  await page.getByRole('button', { name: 'Replay' }).click();
  await page.getByRole('radio', { name: 'Each row of this one is compared' }).check();
  await page.getByRole('textbox', { name: 'Type Replay to confirm' }).fill('Replay');
  await page.keyboard.press('Enter');
  await page.getByText(/^Replay: compared in /).waitFor({ timeout: 60_000 });
  await page.getByText('The first is changed: document').waitFor();
  assert.equal((await statusOf(store)).replay.check.different, 1);
  await confirm(page, 'Replay');
  await until(store, ({ replay }) => !replay.running && !replay.check);
});

scenario('A command is confirmed by its name, and by nothing else', { data: 'bookshop', shared: true }, async ({ tab, page }) => {
  await tab.open('#/_status', 'Operations');
  for (const name of ['Verify', 'Replay']) {
    const button = page.getByRole('region', { name: 'Maintenance' }).getByRole('button', { name, exact: true });
    await tab.focusByKey(button);
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name, exact: true });
    const box = dialog.getByRole('textbox', { name: `Type ${name} to confirm` });
    assert.ok(await box.evaluate((element) => element === document.activeElement), 'the field has the focus');
    assert.ok(await dialog.getByRole('button', { name, exact: true }).isDisabled());
    await page.keyboard.type('yes');
    await page.keyboard.press('Enter');
    assert.ok(await dialog.isVisible());
    await accessible(page);
    await golden(dialog, 'operations-' + name.toLowerCase());
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    assert.ok(await button.evaluate((element) => element === document.activeElement), 'the focus is back');
  }
  assert.deepEqual(tab.requests.filter((one) => one.method() !== 'GET').map((one) => one.url()), []);
});

scenario('A snapshot is taken, and the lag is unknown without the log', { nats: true, mayFail: true, data: { documents: { books: { b1: { title: 'One' } } } } }, async ({ store, tab, page }) => {
  await tab.open('#/_status', 'Operations');
  await confirm(page, 'Snapshot');
  await page.getByText(/^Snapshot: .*, up to event \d/).waitFor();
  const { snapshot, applied } = await statusOf(store);
  assert.equal(snapshot.last.seq, applied);
  await page.getByRole('region', { name: 'History' }).getByText('Last snapshot').waitFor();

  await store.loseLog();
  await until(store, ({ lagSeconds, nodes }) => lagSeconds > 0 && !nodes[0].live);
  await page.reload();
  const own = page.getByRole('region', { name: 'This node' });
  await own.getByText(/^as the log has told nothing for \d/).waitFor();
  assert.doesNotMatch(String(await own.textContent()), /\b0 events/);
  const row = page.getByRole('table', { name: 'Nodes' }).getByRole('row').nth(1);
  await row.getByText('unknown').waitFor();
  await row.getByText('lapsed').waitFor();
  await accessible(page);
  await store.findLog();
  await until(store, ({ lagSeconds, nodes }) => lagSeconds === 0 && nodes[0].live);
  await page.reload();
  await own.getByText('0 events').waitFor();
});

scenario('A server that takes no writes shows what it has, and says why it refuses', { data: 'bookshop', process: true }, async ({ store, tab, page }) => {
  await store.serveReadOnly();
  const refused = page.getByRole('alert').filter({ hasText: 'This server has one position, and nothing later' });
  await tab.open('#/books/adam-bede', 'books/adam-bede');
  await page.getByRole('button', { name: 'Origin of /authors/0/name' }).click();
  await page.getByRole('region', { name: 'Origin', exact: true }).getByRole('link', { name: 'authors/mary-ann-evans' }).first().waitFor();
  await tab.open('#/books/adam-bede?edit', 'books/adam-bede');
  const box = page.getByRole('textbox', { name: 'Document', exact: true });
  await retype(box, '{"title":"Another"}');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await refused.getByText('send it what is to be written').waitFor();
  assert.equal(await codeIn(box), '{"title":"Another"}');
  page.on('dialog', (dialog) => dialog.accept()); // what was typed goes
  await tab.open('#/_status', 'Operations');
  await page.getByRole('region', { name: 'This node' }).waitFor();
  await refused.waitFor(); // of the groups, which lie beside the log
  await page.getByRole('table', { name: 'Nodes' }).waitFor();
  assert.ok(tab.requests.filter((one) => one.url().includes('feed=')).length <= 6, 'a feed that has no more is not asked for again and again');
});

scenario('Rules that fail and queries without an index are listed', { data: {
  model: `
collections:
  lines: { derive: { share: { value: 10 / doc.price.amount } } }
`,
  documents: { lines: { a: { price: { amount: 0 } }, b: { price: { amount: 2 } } } },
} }, async ({ store, tab, page }) => {
  for (let n = 0; n < 3; n++) await store.get('/v1/lines?filter=' + encodeURIComponent('doc.price.amount > 1') + '&maxScan=100');
  await tab.open('#/_status', 'Operations');
  const error = page.getByRole('table', { name: 'Rule errors' }).getByRole('row').nth(1);
  await error.getByText('lines.share').waitFor();
  await error.getByRole('link', { name: 'lines/a' }).waitFor();
  await page.getByText('None took 50 ms, or looked at 1,000 documents in vain.').waitFor();
  await page.getByRole('button', { name: 'Show all 1 queries' }).click();
  const query = page.getByRole('table', { name: 'Slow queries' }).getByRole('row').nth(1);
  await query.getByText('doc.price.amount > ?').waitFor();
  await query.getByText('An index that serves it', { exact: true }).click();
  await query.getByText('price.amount').last().waitFor();
  const { queries } = await statusOf(store);
  const link = await query.getByRole('link', { name: 'Add it to the model' }).getAttribute('href');
  assert.deepEqual(JSON.parse(new URLSearchParams(String(link).split('?')[1]).get('suggest') ?? ''), queries[0].suggest);
  await accessible(page);
  await golden(page.getByRole('region', { name: 'Rules' }), 'operations-rules');
  await error.getByRole('link', { name: 'lines/a' }).click();
  await page.getByRole('heading', { level: 1, name: 'lines/a' }).waitFor();
});

scenario('What is under way tells how far it is, and a hidden tab asks for nothing', { data: 'bookshop', shared: true }, async ({ tab, page }) => {
  const running = { model: 400, phase: 'computing', done: 0, total: 1000, changes: 7, started: '2026-01-01T00:00:00Z' };
  // States that last too short to be met: the answers are the server's, but for these members.
  await page.route('**/v1/_status', async (route) => {
    const answer = await route.fetch();
    running.done += 100;
    await route.fulfill({ response: answer, json: { ...await answer.json(), preparing: running,
      replay: { running: true, phase: 'replaying', seq: 100, target: 400, rate: 50, secondsLeft: 6, started: '2026-01-01T00:00:00Z', seconds: 2 } } });
  });
  await page.clock.install();
  await tab.open('#/_status', 'Operations');
  const under = page.getByRole('region', { name: 'Under way' });
  await under.getByText('25%: 100 of 400 events, about 6 s left, 50 a second').waitFor();
  await under.getByRole('progressbar', { name: 'Preparation' }).waitFor();
  await under.getByText('time left not known yet').waitFor();
  await under.getByRole('link', { name: 'Model of event 400' }).waitFor();
  await accessible(page);
  for (let n = 0; n < 4; n++) await page.clock.runFor(2500);
  await under.getByText(/of 1,000, about [\d.]+ m?i?n? ?s? ?.*left/).waitFor();
  await tab.hide(true);
  await page.clock.runFor(100);
  const asked = tab.requests.length;
  await page.clock.runFor(120_000);
  assert.equal(tab.requests.length, asked);
  const again = page.waitForRequest('**/v1/_groups');
  await tab.hide(false);
  await page.clock.runFor(1000);
  await again;
  await page.unrouteAll({ behavior: 'ignoreErrors' });
});

scenario('What a reader may not do is absent, and a refusal names the right', { data: 'bookshop', closed: true }, async ({ store, tab, page, newTab }) => {
  await store.want('PUT', '/v1/_groups/search', '{"since":"0","role":"worker"}');
  /** @param {import('./lib/tab.js').Tab} tab @param {string} role */
  const enter = async (tab, role) => {
    await tab.open('#/_status', 'Operations');
    await useKey(tab.page, await store.newKey(role));
  };
  await enter(tab, 'monitor');
  await page.getByRole('table', { name: 'Nodes' }).waitFor();
  await page.getByText('There is no consumer group that you may see').waitFor();
  assert.equal(await page.getByRole('region', { name: 'Maintenance' }).count(), 0);
  for (const name of ['Verify', 'Snapshot', 'Replay']) assert.equal(await page.getByRole('button', { name }).count(), 0, name);

  const worker = await newTab();
  await enter(worker, 'worker');
  await worker.page.getByRole('alert').getByText('monitor').waitFor();
  await worker.page.getByRole('table', { name: 'Groups' }).getByRole('link', { name: 'search' }).waitFor();
  await accessible(worker.page);
});

scenario('A query that somebody types is marked as the console’s, and needs no index', { data: {} }, async ({ store, tab, page }) => {
  await store.import('notes', Array.from({ length: 1200 }, (_, n) => JSON.stringify({ id: 'n' + n, n }) + '\n').join(''));
  await tab.open('#/notes?filter=doc.n%20%3D%3D%207', 'notes');
  await page.getByRole('link', { name: 'n7', exact: true }).first().waitFor();
  await tab.open('#/_status', 'Operations');
  const row = page.getByRole('table', { name: 'Slow queries' }).getByRole('row').filter({ hasText: 'doc.n == ?' });
  await row.getByText('by the console').waitFor();
  await page.getByText('Nothing needs attention.').waitFor();
  for (let n = 0; n < 3; n++) await store.get('/v1/notes?filter=' + encodeURIComponent('doc.n == 7'));
  await page.reload();
  await page.getByRole('list', { name: 'Needs attention' }).getByText('Queries of notes need an index').waitFor();
  assert.equal(await row.getByText('by the console').count(), 0);
  await accessible(page);
});

scenario('One glance has the figures of the last hour as lines, and a hidden tab reads none', { data: 'bookshop' }, async ({ store, tab, page }) => {
  await page.clock.install();
  await tab.open('#/_status', 'Operations');
  const glance = page.getByRole('region', { name: 'At a glance' });
  await glance.getByText('Ready', { exact: true }).waitFor();
  const figures = glance.getByRole('list', { name: 'Figures of the last hour' }).getByRole('listitem');
  const figure = (/** @type {string} */ name) => figures.filter({ hasText: name });
  await figure('Read model').getByText(/^[\d.]+ [kM]B$/).waitFor();
  await figure('Free disk').getByText(/^[\d.]+ [MGT]B$/).waitFor();
  assert.equal(await glance.getByRole('img').count(), 0, 'one reading is no line');
  for (let n = 0; n < 50; n++) await store.put('notes', 'n' + n, '{}');
  const read = async () => {
    const answered = page.waitForResponse('**/metrics');
    await page.clock.runFor(10_000);
    await answered;
  };
  await read();
  await figure('Writes a second').getByText(/^[\d.]*[1-9][\d.]*$/).waitFor(); // how many is told by json.test.js
  await figure('Fold').getByText(/^[\d.]+ ms$/).waitFor();
  await read();
  await glance.getByRole('img', { name: /^Writes a second: [\d.]+, at most [\d.]*[1-9][\d.]*$/ }).waitFor();
  await accessible(page);
  // The tab goes on elsewhere, and still has what it has read.
  await page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: 'Model', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Model' }).waitFor();
  await read();
  await page.goBack();
  await glance.getByRole('img', { name: /^Writes a second: [\d.]+, at most [\d.]*[1-9][\d.]*$/ }).waitFor();
  await tab.hide(true);
  const asked = tab.requests.length;
  await page.clock.runFor(60_000);
  assert.equal(tab.requests.slice(asked).filter((one) => one.url().endsWith('/metrics')).length, 0);
  await tab.hide(false);
  for (const size of [{ width: 360, height: 740 }, { width: 640, height: 450 }]) {
    await page.setViewportSize(size);
    await tab.noSidewaysScrolling();
  }
});

scenario('Where there are no figures, it says so and shows the rest', { data: 'bookshop', shared: true }, async ({ tab, page }) => {
  await page.route('**/metrics', (route) => route.fulfill({ status: 404, json: { title: 'There is nothing here', status: 404, type: 'urn:fanfold:problem:not-found' } }));
  await tab.open('#/_status', 'Operations');
  await page.getByText('This server has no /metrics here.').waitFor();
  await page.getByRole('region', { name: 'At a glance' }).getByText('Ready', { exact: true }).waitFor();
  await page.getByRole('table', { name: 'Nodes' }).waitFor();
  await accessible(page);
});

scenario('The store begins later once its plan was seen and its name typed', { data: 'bookshop' }, async ({ store, tab, page }) => {
  await tab.open('#/_status', 'Operations');
  const history = page.getByRole('region', { name: 'History' });
  await history.getByRole('button', { name: 'Compact' }).click();
  const dialog = page.getByRole('dialog', { name: 'Let the store begin later' });
  await dialog.getByRole('textbox', { name: 'Begin at' }).fill('100');
  await page.keyboard.press('Enter');
  const plan = dialog.getByRole('group', { name: 'What would go' });
  await plan.getByText(/^\d+ events of the log$/).waitFor();
  assert.ok(await dialog.getByRole('button', { name: 'Compact' }).isDisabled());
  await accessible(page);
  await golden(dialog, 'operations-compact');
  await dialog.getByRole('textbox', { name: 'Begin at' }).fill('101');
  await plan.waitFor({ state: 'detached' }); // it is the plan of something else
  await dialog.getByRole('button', { name: 'What would go' }).click();
  await dialog.getByRole('textbox', { name: 'Type Compact to confirm' }).fill('compact');
  assert.equal((await statusOf(store)).history.base, undefined);
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  await history.getByText(/^a base of .*, which stands for the events up to 101$/).waitFor({ timeout: 60_000 });
});

scenario('Documents are erased once it was seen what goes', { data: 'bookshop' }, async ({ store, tab, page }) => {
  await tab.open('#/_status', 'Operations');
  const history = page.getByRole('region', { name: 'History' });
  await history.getByRole('button', { name: 'Erase' }).click();
  const dialog = page.getByRole('dialog', { name: 'Erase documents' });
  await dialog.getByRole('textbox', { name: 'Documents, one a line' }).fill('authors/samuel-clemens\n');
  await dialog.getByRole('textbox', { name: 'Or those with this text' }).fill('Mary Ann');
  await page.keyboard.press('Enter');
  await dialog.getByText('1 document found.').waitFor();
  await dialog.getByRole('textbox', { name: 'Only these members' }).fill('/lastName');
  await dialog.getByRole('button', { name: 'What would go' }).click();
  const plan = dialog.getByRole('group', { name: 'What would go' });
  await plan.getByText('books.authors[].name').waitFor();
  await accessible(page);
  await golden(dialog, 'operations-erase');
  await dialog.getByRole('textbox', { name: 'Type Erase to confirm' }).fill('Erase');
  await dialog.getByRole('button', { name: 'Erase', exact: true }).click();
  await history.getByText('1 erasure', { exact: true }).waitFor({ timeout: 60_000 });
  for (const id of ['mary-ann-evans', 'samuel-clemens']) assert.ok(!('lastName' in JSON.parse((await store.bytes('authors', id)).toString())), id);
});

scenario('An administrator erases a document from its page after the look that Operations has', { data: 'bookshop', closed: true }, async ({ store, tab, page }) => {
  await tab.open('#/authors/mary-ann-evans', 'authors/mary-ann-evans');
  await useKey(page, await store.newKey('admin'));
  const erase = page.getByRole('link', { name: 'Erase…', exact: true });
  await erase.click();
  const dialog = page.getByRole('dialog', { name: 'Erase a document' });
  const plan = dialog.getByRole('group', { name: 'What would go' });
  await plan.getByText('books.authors[].name').waitFor();
  await dialog.getByText('authors/mary-ann-evans', { exact: true }).waitFor();
  await accessible(page);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  assert.ok(await erase.evaluate((e) => e === document.activeElement), 'the link has the focus again');
  await page.keyboard.press('Enter');
  await plan.getByText('1 document', { exact: true }).waitFor();
  await dialog.getByRole('textbox', { name: 'Only these members' }).fill('/lastName');
  assert.equal(await plan.count(), 0, 'another plan is asked for first');
  await dialog.getByRole('textbox', { name: 'Only these members' }).fill('');
  assert.ok(await dialog.getByRole('button', { name: 'Erase', exact: true }).isDisabled());
  await dialog.getByRole('textbox', { name: 'Type Erase to confirm' }).fill('Erase');
  await dialog.getByRole('button', { name: 'Erase', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Operations' }).waitFor();
  await page.getByRole('region', { name: 'History' }).getByText('1 erasure', { exact: true }).waitFor({ timeout: 60_000 });
  assert.equal((await store.send('GET', '/v1/authors/mary-ann-evans')).status, 404);
});

scenario('Whoever is no administrator finds nothing to erase with', { data: 'bookshop', closed: true }, async ({ store, tab, page }) => {
  await tab.open('#/authors/mary-ann-evans', 'authors/mary-ann-evans');
  await useKey(page, await store.newKey('write'));
  await page.getByRole('button', { name: 'Delete', exact: true }).waitFor();
  assert.equal(await page.getByRole('link', { name: 'Erase…' }).count(), 0);
});

scenario('The browser downloads a backup by itself, and the page has nothing of it', { data: 'bookshop', closed: true }, async ({ store, tab, page }) => {
  const asked = /** @type {string[]} */ ([]);
  page.on('request', (r) => asked.push(`${r.method()} ${new URL(r.url()).pathname}`));
  await tab.open('#/_status', 'Operations');
  await useKey(page, await store.newKey('admin'));
  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download a backup' }).click();
  const download = await downloading;
  assert.match(download.suggestedFilename(), /^fanfold-[\dTZ-]+\.tar$/);
  assert.match(download.url(), /\/v1\/_backup\?ticket=fft_[0-9a-f]+$/);
  const chunks = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  assert.ok(bytes.includes('manifest'), 'the manifest, which is the last file, is in it');
  await page.getByText('Backup: see the downloads of your browser').waitFor();
  assert.deepEqual(asked.filter((r) => /_backup|_tickets/.test(r)), ['POST /v1/_tickets'], 'the page itself reads no backup');
  assert.ok(page.url().endsWith('#/_status'));
});

scenario('A backup that cannot be made says why, and downloads nothing', { data: 'bookshop', closed: true }, async ({ store, tab, page }) => {
  await tab.open('#/_status', 'Operations');
  await useKey(page, await store.newKey('admin'));
  const problem = { type: 'urn:fanfold:problem:rights-stale', title: 'The rights are not known', status: 503, detail: 'try another node' };
  await page.route('**/v1/_tickets', (route) => route.fulfill({ status: 503, contentType: 'application/problem+json', body: JSON.stringify(problem) }));
  page.on('download', () => assert.fail('something is downloaded'));
  await page.getByRole('button', { name: 'Download a backup' }).click();
  await page.getByRole('alert').getByText('try another node').waitFor();
  assert.equal(await page.getByText(/^Backup: see/).count(), 0);
});

scenario('A store that asks nobody for a key downloads a backup without a ticket', { data: 'bookshop' }, async ({ tab, page }) => {
  await tab.open('#/_status', 'Operations');
  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download a backup' }).click();
  assert.match((await downloading).url(), /\/v1\/_backup$/);
});

scenario('A delete that one transaction does not take is made step by step, with its progress', { data: { model: `
collections:
  shops: {}
  visits: { relations: { shop: { path: shop, to: shops, onDelete: cascade } } }
`, documents: { shops: { s1: { name: 'One' } } } } }, async ({ store, tab, page }) => {
  await store.import('visits', Array.from({ length: 2500 }, (_, n) => JSON.stringify({ id: 'v' + n, shop: 's1' }) + '\n').join(''));
  await tab.open('#/shops/s1', 'shops/s1');
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Delete step by step' });
  await dialog.getByRole('list', { name: 'What goes with it' }).getByText('2500 documents would be deleted').waitFor();
  await dialog.getByText('It writes 2,501 documents').waitFor();
  await accessible(page);
  await golden(dialog, 'delete-steps');
  assert.equal((await store.get('/v1/visits?count=true&limit=1')).json.count, 2500);
  // The second step waits, so that the first one is seen, and the delete ends between them.
  let steps = 0;
  let letGo = () => {};
  const held = new Promise((resolve) => { letGo = () => resolve(undefined); });
  await page.route((url) => url.searchParams.has('steps'), async (route) => {
    if (++steps === 2) await held;
    await route.continue();
  });
  await dialog.getByRole('button', { name: 'Delete step by step' }).click();
  await dialog.getByText(/^\d+%: [\d,]+ of 2,501 documents/).waitFor();
  await dialog.getByRole('button', { name: 'Stop after this step' }).click();
  letGo();
  await dialog.getByText('The document itself is still there.').waitFor();
  assert.equal(steps, 2);
  await dialog.getByRole('button', { name: 'Go on' }).click();
  await page.getByRole('heading', { level: 1, name: 'shops' }).waitFor();
  await page.getByText('shops/s1 is deleted, and 2,500 more written, step by step').waitFor();
  assert.equal((await store.get('/v1/visits?count=true&limit=1')).json.count, 0);
  assert.equal((await store.send('GET', '/v1/shops/s1')).status, 404);
});
