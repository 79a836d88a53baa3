// Operations: how the store runs, and the commands of its administrators (point 21 of the console).
import assert from 'node:assert/strict';
import { accessible, golden } from './lib/checks.js';
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
  await page.getByText('Replay: has begun').waitFor();
  await until(store, ({ replay }) => !replay.running);
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
  await page.getByText('The first is changed: document').waitFor({ timeout: 60_000 });
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
  await box.fill('{"title":"Another"}');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await refused.getByText('send it what is to be written').waitFor();
  assert.equal(await box.inputValue(), '{"title":"Another"}');
  await box.fill('');
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
