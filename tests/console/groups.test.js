// Consumer groups in the console: how far they are, and what their members could not handle (point 21 of the console).
import assert from 'node:assert/strict';
import { accessible, golden } from './lib/checks.js';
import { makeGroup, park, parkedOf } from './lib/groups.js';
import { useKey } from './lib/keys.js';
import { scenario } from './lib/scenario.js';

const ERROR = 'the index is read-only <img src=x onerror=alert(1)>';

scenario('A parked batch is given again, or dropped once that is confirmed', { data: 'bookshop' }, async ({ store, tab, page }) => {
  await makeGroup(store, 'search', { partitions: 2, maxAttempts: 1, lease: '5m' });
  await makeGroup(store, 'mails', { partitions: 1, filter: 'doc.year > 1900', collections: ['books'] });
  await park(store, 'search', ERROR);
  await tab.open('#/_status', 'Operations');
  const table = page.getByRole('table', { name: 'Groups' });
  const row = (/** @type {string} */ name) => table.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
  await row('mails').waitFor();
  assert.equal(await row('mails').getByText('unknown').count(), 0, 'the lag of a group with a filter is counted');
  assert.deepEqual((await row('search').getByRole('cell').allTextContents()).slice(0, 2), ['2', 'worker 2']);
  const batches = row('search').getByRole('list', { name: 'Parked batches' }).getByRole('listitem');
  await batches.filter({ hasText: ERROR }).nth(1).waitFor();
  await accessible(page);

  const [first, second] = await parkedOf(store, 'search');
  await batches.first().getByRole('button', { name: 'Retry' }).click();
  await page.getByText('The batch is given again').waitFor();
  await batches.first().getByText('is to be given again').waitFor();
  assert.deepEqual((await parkedOf(store, 'search')).map(({ id, retry }) => [id, retry]), [[first.id, true], [second.id, false]]);

  const drop = batches.nth(1).getByRole('button', { name: 'Drop' });
  await drop.click();
  const dialog = page.getByRole('dialog', { name: 'Drop the batch' });
  await dialog.getByText(second.to).waitFor();
  await accessible(page);
  await golden(dialog, 'group-drop');
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  assert.equal((await parkedOf(store, 'search')).length, 2);
  await drop.click();
  await dialog.getByRole('button', { name: 'Drop' }).click();
  await page.getByText('The batch was dropped').waitFor();
  await batches.nth(1).waitFor({ state: 'detached' });
  assert.ok(await page.getByRole('heading', { name: 'Groups', exact: true }).evaluate((element) => element === document.activeElement), 'the focus is at what is left');
  assert.deepEqual((await parkedOf(store, 'search')).map(({ id }) => id), [first.id]);
});

scenario('A group has a page', { data: 'bookshop' }, async ({ store, tab, page }) => {
  await makeGroup(store, 'search', { partitions: 2, maxAttempts: 1, collections: ['books'], lease: '5m' });
  await park(store, 'search', ERROR);
  await tab.open('#/_status', 'Operations');
  await page.getByRole('table', { name: 'Groups' }).getByRole('link', { name: 'search' }).click();
  await page.getByRole('heading', { level: 1, name: 'search' }).waitFor();
  await page.getByRole('list', { name: 'Members' }).getByText('worker').waitFor();
  const partitions = page.getByRole('table', { name: 'Partitions' }).getByRole('row');
  const { partitions: held } = (await store.get('/v1/_groups/search')).json;
  assert.deepEqual(await Promise.all(held.map((/** @type {any} */ _, /** @type {number} */ i) => partitions.nth(i + 1).getByRole('cell').nth(3).textContent())), held.map((/** @type {any} */ one) => one.checkpoint));
  const parked = page.getByRole('list', { name: 'Parked batches' }).getByRole('listitem');
  await parked.nth(1).getByText(ERROR).waitFor();
  await accessible(page);
  await golden(page, 'group');
  await page.setViewportSize({ width: 360, height: 700 });
  await tab.noSidewaysScrolling();
  await parked.first().getByRole('button', { name: 'Drop' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Drop' }).click();
  await parked.nth(1).waitFor({ state: 'detached' });
  assert.equal((await parkedOf(store, 'search')).length, 1);
  await parked.first().getByRole('link', { name: 'changes' }).click();
  await page.getByRole('list', { name: 'Changes' }).getByRole('listitem').first().waitFor();
});

scenario('Whoever has the role of a group sees it, and drops nothing', { data: 'bookshop', closed: true }, async ({ store, tab, page }) => {
  await makeGroup(store, 'search', { partitions: 1, maxAttempts: 1, role: 'read' });
  await park(store, 'search', ERROR);
  await tab.open('#/_groups/search', 'search');
  await useKey(page, await store.newKey('read'));
  await page.getByRole('list', { name: 'Parked batches' }).getByText(ERROR).waitFor();
  for (const name of ['Retry', 'Drop']) assert.equal(await page.getByRole('button', { name }).count(), 0, name);
});

scenario('A group that is not there says so', { mayFail: true }, async ({ tab, page }) => {
  await tab.open('#/_groups/none', 'none');
  await page.getByRole('alert').waitFor();
  assert.equal(await page.getByRole('region', { name: 'Parked batches' }).count(), 0);
});

scenario('A group is made, begins elsewhere and goes, each once its name is typed', { data: 'bookshop' }, async ({ store, tab, page }) => {
  await tab.open('#/_groups', 'Groups');
  await page.getByText('There is no consumer group').waitFor();
  await accessible(page);
  const make = page.getByRole('button', { name: 'New group' });
  await make.click();
  const dialog = page.getByRole('dialog', { name: 'New group' });
  await dialog.getByRole('textbox', { name: 'Name' }).fill('mails');
  await dialog.getByRole('spinbutton', { name: 'Partitions' }).fill('2');
  await dialog.getByRole('textbox', { name: 'Collections' }).fill('books authors');
  await accessible(page);
  await golden(dialog, 'group-new');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'mails' }).waitFor();
  const { settings, partitions, lag } = (await store.get('/v1/_groups/mails')).json;
  assert.deepEqual([[...settings.collections].sort(), partitions.length, lag.changes], [['authors', 'books'], 2, 0]);

  await page.getByRole('link', { name: 'All groups' }).click();
  await make.click();
  await dialog.getByRole('textbox', { name: 'Name' }).fill('mails');
  await page.keyboard.press('Enter');
  await dialog.getByRole('alert').getByText('There is a group mails already').waitFor();
  assert.equal((await store.get('/v1/_groups/mails')).json.partitions.length, 2);
  await page.keyboard.press('Escape');

  await page.getByRole('table', { name: 'Groups' }).getByRole('link', { name: 'mails' }).click();
  await page.getByRole('button', { name: 'Reset' }).click();
  const reset = page.getByRole('dialog', { name: 'Reset mails' });
  await reset.getByRole('radio', { name: /^At the beginning/ }).check();
  assert.ok(await reset.getByRole('button', { name: 'Reset' }).isDisabled());
  await accessible(page);
  await reset.getByRole('textbox', { name: 'Type mails to confirm' }).fill('mails');
  await page.keyboard.press('Enter');
  await page.getByText('It begins there from now on.').waitFor();
  assert.ok((await store.get('/v1/_groups/mails')).json.lag.changes > 0);

  await page.getByRole('button', { name: 'Delete' }).click();
  const gone = page.getByRole('dialog', { name: 'Delete mails' });
  await gone.getByRole('textbox', { name: 'Type mails to confirm' }).fill('mails');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Groups' }).waitFor();
  assert.deepEqual((await store.get('/v1/_groups')).json.groups, []);
});

scenario('A lag that is too large to count is told by its bound', { data: {} }, async ({ store, tab, page }) => {
  await store.import('notes', Array.from({ length: 2100 }, (_, n) => JSON.stringify({ id: 'n' + n }) + '\n').join(''));
  await makeGroup(store, 'late', { partitions: 1, filter: 'doc.id != "n1"' });
  await tab.open('#/_groups', 'Groups');
  const row = page.getByRole('table', { name: 'Groups' }).getByRole('row').filter({ hasText: 'late' });
  await row.getByText('up to 2,100 changes').waitFor();
  assert.equal(await row.getByText('unknown').count(), 0);
});
