// The walk through the bookshop, as docs/console.md tells it.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { codeIn, retype } from './lib/editing.js';
import { scenario } from './lib/scenario.js';

/** @typedef {import('playwright-core').Page} Page */

/** @param {Page} page @param {string} name */
const press = (page, name) => page.getByRole('button', { name, exact: true }).click();

const text = await readFile(new URL('../../docs/console.md', import.meta.url), 'utf8');

/** A part of the page by its heading, and the blocks in it that show what one sees. @param {string} heading */
function part(heading) {
  const of = text.split('\n## ').find((of) => of.startsWith(heading + '\n'));
  assert.ok(of, heading);
  return { of, blocks: [...of.matchAll(/```text\n(.*?)\n```/gs)].map((m) => m[1]) };
}

/** Fails where a part does not name what the scenario uses. @param {string} heading @param {string[]} names */
const tells = (heading, ...names) => names.forEach((name) => assert.ok(part(heading).of.replace(/\s+/g, ' ').includes(name), `"${heading}" does not tell of ${name}`));

/** Renames the author, up to the preview. @param {Page} page */
async function rename(page) {
  await page.getByRole('link', { name: 'Edit', exact: true }).click();
  const box = page.getByRole('textbox', { name: 'Document', exact: true });
  await box.waitFor();
  await box.fill((await codeIn(box)).replace('"Mary Ann"', '"George"').replace('"Evans"', '"Eliot"'));
  await press(page, 'Save');
}

scenario('Find a book', { data: 'bookshop', shared: true }, async ({ tab, page }) => {
  const filter = "doc.title == 'Middlemarch'";
  tells('Find a book', 'Collections', filter, 'Filter', 'Run', 'Explain');
  await tab.open('#/', 'Collections');
  await page.getByRole('table', { name: 'Collections' }).getByRole('link', { name: 'books', exact: true }).click();
  await page.getByRole('textbox', { name: 'Filter', exact: true }).fill(filter);
  await press(page, 'Run');
  await page.waitForURL((url) => new URLSearchParams(url.hash.split('?')[1]).get('filter') === filter);
  await page.getByRole('link', { name: 'adam-bede', exact: true }).waitFor({ state: 'detached' });
  await page.reload();
  await page.getByRole('link', { name: 'middlemarch', exact: true }).waitFor();
  await press(page, 'Explain');
  await page.getByRole('region', { name: 'Plan', exact: true }).waitFor();
  await page.getByRole('link', { name: 'middlemarch', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'books/middlemarch', exact: true }).waitFor();
});

scenario('Where does the author’s name come from?', { data: 'bookshop', shared: true }, async ({ tab, page }) => {
  tells("Where does the author's name come from?", 'Origin of /authors/0/name', 'books.authors[].name', 'authors/mary-ann-evans');
  await tab.open('#/books/middlemarch', 'books/middlemarch');
  await press(page, 'Origin of /authors/0/name');
  const origin = page.getByRole('region', { name: 'Origin', exact: true });
  await origin.getByText('books.authors[].name', { exact: true }).waitFor();
  await origin.getByText('copy', { exact: true }).waitFor();
  await origin.getByRole('link', { name: 'authors/mary-ann-evans', exact: true }).first().click();
  await page.getByRole('heading', { level: 1, name: 'authors/mary-ann-evans', exact: true }).waitFor();
});

scenario('Preview the rename', { data: 'bookshop' }, async ({ store, tab, page }) => {
  const [sentence] = part('Preview the rename').blocks;
  tells('Preview the rename', 'Edit', 'Save', 'Keep editing');
  const before = await store.bytes('authors', 'mary-ann-evans');
  await tab.open('#/authors/mary-ann-evans', 'authors/mary-ann-evans');
  await rename(page);
  const dialog = page.getByRole('dialog', { name: 'What this save changes', exact: true });
  await dialog.getByText(sentence, { exact: false }).first().waitFor();
  await dialog.getByText('George Eliot').first().waitFor();
  await press(page, 'Keep editing');
  await dialog.waitFor({ state: 'detached' });
  assert.deepEqual(await store.bytes('authors', 'mary-ann-evans'), before);
});

scenario('Watch it arrive', { data: 'bookshop' }, async ({ store, tab, page, newTab }) => {
  const [arrived, line] = part('Watch it arrive').blocks;
  const book = await newTab();
  const following = book.page.waitForResponse((r) => r.url().includes('feed=continuous') && r.ok());
  await book.open('#/books/middlemarch', 'books/middlemarch');
  await following;
  await tab.open('#/authors/mary-ann-evans', 'authors/mary-ann-evans');
  await rename(page);
  await press(page, 'Save now');
  await page.getByRole('region', { name: 'Arrival', exact: true }).getByText(arrived).waitFor();
  const log = book.page.getByRole('log', { name: 'Changes seen', exact: true });
  await log.getByText('George Eliot').waitFor();
  assert.ok((await log.innerText()).replace(/\s+/g, ' ').startsWith(line), await log.innerText());
  assert.equal((await store.get('/v1/books/middlemarch')).json.authors[0].name, 'George Eliot');
  await page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: 'Changes', exact: true }).click();
  await page.getByRole('textbox', { name: 'From', exact: true }).fill('0');
  await press(page, 'Follow');
  const renamed = page.getByRole('list', { name: 'Changes', exact: true }).locator('> li').filter({ hasText: /authors\/mary-ann-evans (replace|patch)/ });
  await renamed.getByRole('button', { name: '7 derived changes', exact: true }).click();
  await page.getByRole('heading', { name: 'books.authors[].name: 5', exact: true }).waitFor();
});

scenario('Read and change the model', { data: 'bookshop', shared: true }, async ({ store, tab, page }) => {
  const [sentence] = part('Read and change the model').blocks;
  tells('Read and change the model', 'Most refer to', 'Edit', 'byTitle: [title]', 'Preview', 'Apply');
  const before = (await store.get('/v1/_model')).text;
  await tab.open('#/_model', 'Model');
  await page.getByRole('table', { name: 'Relations' }).getByRole('link', { name: 'publishers/chapman-hall', exact: true }).waitFor();
  await page.getByRole('group', { name: 'Model graph' }).getByRole('link', { name: 'books, 121 documents', exact: true }).waitFor();
  const box = page.getByRole('textbox', { name: 'Model', exact: true });
  await box.waitFor();
  const text = await codeIn(box);
  await retype(box, text.replace(/( +)indexes:\n/, (line, blanks) => `${line}${blanks}    byTitle: [title]\n`));
  await press(page, 'Preview');
  await page.getByRole('region', { name: 'What this model changes' }).getByText(sentence, { exact: true }).waitFor();
  assert.ok(await page.getByRole('button', { name: 'Apply', exact: true }).isEnabled());
  assert.equal((await store.get('/v1/_model')).text, before);
});

scenario('Go back in time', { data: 'bookshop' }, async ({ store, tab, page }) => {
  tells('Go back in time', 'History', 'Show', 'As of', 'Back to now', 'Revert', 'Revert now');
  await store.merge('authors', 'mary-ann-evans', '{"firstName":"George","lastName":"Eliot"}');
  await tab.open('#/books/middlemarch', 'books/middlemarch');
  await page.getByRole('link', { name: 'History', exact: true }).click();
  const versions = page.getByRole('list', { name: 'Versions' }).locator('> li');
  await versions.first().getByRole('link', { name: 'authors/mary-ann-evans', exact: true }).waitFor();
  await versions.nth(1).getByRole('link', { name: 'Show', exact: true }).click();
  await page.getByText(/^As of /).first().waitFor();
  await page.getByRole('region', { name: 'Document', exact: true }).getByText('"Mary Ann Evans"').waitFor();
  await page.getByRole('link', { name: 'Back to now', exact: true }).click();
  await page.getByRole('region', { name: 'Document', exact: true }).getByText('"George Eliot"').waitFor();
  await tab.open('#/authors/mary-ann-evans/_history');
  await versions.last().getByRole('button', { name: 'Revert', exact: true }).click();
  await press(page, 'Revert now');
  const until = async (/** @type {string} */ name) => { while ((await store.get('/v1/books/middlemarch')).json.authors[0].name !== name); };
  await page.getByRole('region', { name: 'Arrival', exact: true }).or(page.getByRole('dialog')).first().waitFor({ state: 'attached' });
  await until('Mary Ann Evans');
});
