// The pictures of docs/console.md and the README. They are taken each time, and written with -pictures: fonts differ between machines.
import assert from 'node:assert/strict';
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { scenario } from './lib/scenario.js';

const dir = new URL('../../docs/console/', import.meta.url);

/** How wide a picture is, in pixels, and how many bytes all of them have at most. */
const WIDE = 800;
const MOST = 1_000_000;

/** @param {import('playwright-core').Page} page @param {string} name */
async function picture(page, name) {
  const png = await page.screenshot();
  assert.equal(png.readUInt32BE(16), WIDE, 'the width of a PNG stands at byte 16');
  if (!process.env.FANFOLD_PICTURES) return;
  await mkdir(dir, { recursive: true });
  await writeFile(new URL(name + '.png', dir), png);
}

/** A window of 1,024 pixels, drawn smaller. @type {import('./lib/scenario.js').Wanted} */
const wanted = { data: 'bookshop', context: { viewport: { width: 1024, height: 720 }, deviceScaleFactor: WIDE / 1024 } };

scenario('The pictures of the documents', wanted, async ({ store, tab, page }) => {
  await tab.open('#/books', 'books');
  await page.getByRole('link', { name: 'adam-bede', exact: true }).waitFor();
  await picture(page, 'list');
  await tab.open('#/books/middlemarch', 'books/middlemarch');
  await page.getByRole('button', { name: 'Origin of /authors/0/name' }).click();
  await page.getByRole('region', { name: 'Origin', exact: true }).getByText('books.authors[].name', { exact: true }).waitFor();
  await picture(page, 'origin');
  await tab.open('#/authors/mary-ann-evans?edit', 'authors/mary-ann-evans');
  const box = page.getByRole('textbox', { name: 'Document', exact: true });
  await box.waitFor();
  await box.fill((await store.bytes('authors', 'mary-ann-evans')).toString().replace('"Mary Ann"', '"George"').replace('"Evans"', '"Eliot"'));
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('dialog').getByText('derived changes').first().waitFor();
  await picture(page, 'preview');
  await page.keyboard.press('Escape');
});

scenario('The documents have the pictures, and these are small', {}, async () => {
  const text = (await readFile(new URL('../../docs/console.md', import.meta.url), 'utf8')) + (await readFile(new URL('../../README.md', import.meta.url), 'utf8'));
  const names = (await readdir(dir)).filter((name) => name.endsWith('.png'));
  let all = 0;
  for (const name of names) {
    const png = await readFile(new URL(name, dir));
    assert.equal(png.readUInt32BE(16), WIDE, name);
    assert.ok(text.includes('console/' + name), `no document shows ${name}`);
    all += png.length;
  }
  assert.ok(names.length > 0 && all <= MOST, `${names.length} pictures have ${all} bytes`);
});
