// Ten things that people do, and how many clicks each takes. docs/console.md has the table; "before" is the console of 29 November 2026.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { retype } from './lib/editing.js';
import { scenario } from './lib/scenario.js';

const text = await readFile(new URL('../../docs/console.md', import.meta.url), 'utf8');

/** A tab whose clicks are counted. Typing is none; a key that chooses or opens something is one. */
class Counted {
  /** @param {import('playwright-core').Page} page */
  constructor(page) {
    this.page = page;
    this.clicks = 0;
  }

  /** @param {import('playwright-core').Locator} locator */
  async click(locator) {
    this.clicks++;
    await locator.click();
  }

  /** @param {string} key */
  async press(key) {
    this.clicks++;
    await this.page.keyboard.press(key);
  }

  /** @param {'button' | 'link' | 'columnheader'} role @param {string} name */
  of(role, name) { return this.page.getByRole(role, { name, exact: true }).first(); }
}

/**
 * Declares a thing that people do, which begins at the list of collections.
 * @param {string} what as the table has it
 * @param {import('./lib/scenario.js').Wanted} wanted
 * @param {(counted: Counted, scene: import('./lib/scenario.js').Scene) => Promise<void>} run
 */
const thing = (what, wanted, run) => scenario('Ten things: ' + what, wanted, async (scene) => {
  await scene.tab.open('#/', 'Collections');
  const counted = new Counted(scene.page);
  await run(counted, scene);
  const row = text.split('\n').find((line) => line.startsWith(`| ${what} |`));
  assert.equal(row?.split('|').at(-2)?.trim(), String(counted.clicks), `docs/console.md says of "${what}": ${row}`);
});

const shop = { data: 'bookshop', shared: true };

/** @param {import('playwright-core').Page} page @param {string} name */
const heading = (page, name) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor();

thing('find a document by its id', shop, async (c, { page }) => {
  await c.press('Control+k');
  await page.keyboard.type('middlemarch');
  await page.getByRole('option').filter({ hasText: 'middlemarch' }).first().waitFor();
  await c.press('Enter');
  await heading(page, 'books/middlemarch');
});

thing('sort a list by a member', shop, async (c, { page }) => {
  await c.click(page.getByRole('navigation').getByRole('link', { name: /^books/ }).first());
  await page.getByRole('link', { name: 'adam-bede', exact: true }).waitFor();
  await c.click(page.getByRole('columnheader', { name: /^year/ }).getByRole('button').first());
  await page.waitForURL((url) => url.hash.includes('sort=year'));
});

thing('find out where a value comes from', shop, async (c, { page, tab }) => {
  await tab.open('#/books/middlemarch', 'books/middlemarch');
  await c.click(c.of('button', 'Origin of /authors/0/name'));
  await page.getByRole('region', { name: 'Origin', exact: true }).getByText('books.authors[].name', { exact: true }).waitFor();
});

thing('list what refers to a document', shop, async (c, { page, tab }) => {
  await tab.open('#/authors/samuel-clemens', 'authors/samuel-clemens');
  await c.click(c.of('link', 'List books by authors'));
  await heading(page, 'books');
  await page.getByRole('link', { name: 'tom-sawyer', exact: true }).waitFor();
});

thing('rename an author after a look at what that changes', { data: 'bookshop' }, async (c, { store, page, tab }) => {
  await tab.open('#/authors/mary-ann-evans', 'authors/mary-ann-evans');
  await c.click(c.of('link', 'Edit'));
  const box = page.getByRole('textbox', { name: 'Document', exact: true });
  await box.waitFor();
  await retype(box, (await store.bytes('authors', 'mary-ann-evans')).toString().replace('"Mary Ann"', '"George"'));
  await c.press('Control+s');
  await page.getByRole('dialog').getByText('derived changes').first().waitFor();
  await c.click(c.of('button', 'Save now'));
  await page.getByRole('region', { name: 'Arrival' }).waitFor();
});

thing('compare a document with how it was', { data: 'bookshop' }, async (c, { store, page, tab }) => {
  await store.merge('books', 'middlemarch', '{"year":1872}');
  await tab.open('#/books/middlemarch', 'books/middlemarch');
  await c.click(c.of('link', 'History'));
  await c.click(c.of('button', 'Compare with now'));
  await page.getByRole('region', { name: 'Compared with now', exact: true }).getByText('/year').waitFor();
});

thing('keep what two people changed at once', { data: 'bookshop' }, async (c, { store, page, tab }) => {
  await tab.open('#/books/middlemarch?edit', 'books/middlemarch');
  const box = page.getByRole('textbox', { name: 'Document', exact: true });
  await box.waitFor();
  await retype(box, (await store.bytes('books', 'middlemarch')).toString().replace('"Middlemarch"', '"Middlemarch. A Study"'));
  await store.merge('books', 'middlemarch', '{"year":1872}');
  const alert = page.getByRole('alert', { name: 'Changed meanwhile' });
  await c.click(alert.getByRole('button', { name: 'Save both', exact: true }));
  await c.click(page.getByRole('dialog').getByRole('button', { name: 'Save now', exact: true }));
  await page.getByRole('region', { name: 'Arrival' }).waitFor();
  const doc = JSON.parse((await store.bytes('books', 'middlemarch')).toString());
  assert.deepEqual([doc.title, doc.year], ['Middlemarch. A Study', 1872]);
});

thing('count documents by a member', shop, async (c, { page, tab }) => {
  await tab.open('#/books', 'books');
  await c.click(c.of('button', 'Options'));
  await page.getByLabel('Group by', { exact: true }).fill('language');
  await c.press('Enter');
  await page.getByRole('table').getByText('fr', { exact: true }).first().waitFor();
});

thing('make a key', { data: 'bookshop', closed: true }, async (c, { store, page, tab }) => {
  await page.getByLabel('Key', { exact: true }).fill(store.key);
  await page.getByRole('checkbox', { name: 'Keep in this tab' }).check();
  await page.getByRole('button', { name: 'Use key', exact: true }).click();
  await c.click(page.getByRole('navigation').getByRole('link', { name: 'Keys', exact: true }));
  await heading(page, 'Keys');
  await c.click(c.of('button', 'New key'));
  await page.getByLabel('Name', { exact: true }).fill('ops');
  await page.getByLabel('Roles of the model, by commas', { exact: true }).fill('readers');
  await c.press('Enter');
  await page.getByRole('dialog').getByText(/fan_/).first().waitFor();
});

thing('see how the store runs', shop, async (c, { page }) => {
  await c.click(page.getByRole('navigation').getByRole('link', { name: 'Operations', exact: true }));
  await heading(page, 'Operations');
  await page.getByText('ready').first().waitFor();
});
