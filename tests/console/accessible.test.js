// Every page and dialog is accessible: axe in light and dark, by the keyboard alone, narrow and large (point 24 of the console).
import assert from 'node:assert/strict';
import { accessible, golden } from './lib/checks.js';
import { codeIn, focused } from './lib/editing.js';
import { scenario } from './lib/scenario.js';

/** @typedef {import('playwright-core').Page} Page */

const shop = { data: 'bookshop', shared: true };
const book = '#/books/huckleberry-finn';

/**
 * The pages by the names of their golden files: the place, and what tells that it is there.
 * @type {Record<string, [string, (page: Page) => Promise<void>]>}
 */
const pages = {
  collections: ['#/', (page) => page.getByRole('table', { name: 'Collections' }).getByRole('link', { name: 'books' }).waitFor()],
  'collections-empty': ['#/', (page) => page.getByText('fanfold import').first().waitFor()],
  collection: ['#/books?filter=' + encodeURIComponent('doc.year < 1870') + '&sort=title&fields=title,year', (page) => page.getByRole('table', { name: 'Documents' }).getByRole('link').first().waitFor()],
  'collection-past': ['#/books?at=200', (page) => page.getByRole('table', { name: 'Documents' }).waitFor()],
  'collection-problem': ['#/books?filter=' + encodeURIComponent('doc.year <'), (page) => page.getByRole('alert').waitFor()],
  document: [book, async (page) => { // its parts come one after the other
    await page.getByRole('button', { name: 'Origin of /authors/0/name' }).waitFor();
    await page.getByText('reviews by book: ').waitFor();
    await page.getByRole('region', { name: 'Carried by' }).waitFor();
  }],
  'document-none': ['#/books/none', (page) => page.getByRole('alert').waitFor()],
  'document-edit': [book + '?edit', (page) => page.getByRole('textbox', { name: 'Document', exact: true }).waitFor()],
  'document-new': ['#/books?new', (page) => page.getByRole('textbox', { name: 'Id', exact: true }).waitFor()],
  'document-history': [book + '/_history', (page) => page.getByRole('button', { name: 'Compare with now' }).first().waitFor()],
  changes: ['#/_changes?since=0&collections=reviews', (page) => page.getByRole('list', { name: 'Changes' }).getByRole('listitem').nth(5).waitFor()],
  model: ['#/_model', (page) => page.getByRole('table', { name: 'Rules' }).getByRole('row').nth(3).waitFor()],
  operations: ['#/_status', (page) => page.getByRole('button', { name: 'Verify' }).waitFor()],
  groups: ['#/_groups', (page) => page.getByText('There is no consumer group').waitFor()],
  keys: ['#/_keys', (page) => page.getByText('This store has no key').waitFor()],
  'group-none': ['#/_groups/none', (page) => page.getByRole('alert').waitFor()],
  nowhere: ['#/books/a/b/c', (page) => page.getByRole('heading', { level: 1 }).waitFor()],
};

for (const [name, [place, there]] of Object.entries(pages)) {
  scenario(`The page ${name} is accessible, and as wide as the window`, name === 'collections-empty' ? {} : shop, async ({ tab, page, context }) => {
    await tab.open(place);
    await there(page);
    await accessible(page, true);
    if (name !== 'operations') await golden(page, 'pages/' + name); // that one tells of what other scenarios did
    for (const size of [{ width: 360, height: 700 }, { width: 640, height: 450 }]) { // the second is 1280 at 200%
      await page.setViewportSize(size);
      await tab.noSidewaysScrolling();
    }
    assert.equal(context.pages().length, 1);
  });
}

scenario('The frame is the same on every page', shop, async ({ tab, page }) => {
  await tab.open('#/');
  await page.getByText('nobody needs a key').waitFor();
  await page.getByRole('status', { name: 'Node' }).getByText('ready').waitFor();
  await page.getByRole('banner').getByRole('link', { name: 'stocks' }).waitFor();
  await golden(page.getByRole('banner'), 'frame-banner');
  await golden(page.getByRole('contentinfo'), 'frame-contentinfo');
});

scenario('An origin is accessible', shop, async ({ tab, page }) => {
  await tab.open(book);
  await page.getByRole('button', { name: 'Origin of /authors/0/name' }).click();
  const origin = page.getByRole('region', { name: 'Origin' });
  await origin.getByRole('link', { name: 'authors/samuel-clemens' }).first().waitFor();
  await accessible(page, true);
  await golden(origin, 'origin');
});

scenario('The dialog before a save is accessible, and gives the focus back', shop, async ({ tab, page, store }) => {
  const before = await store.bytes('authors', 'samuel-clemens');
  await tab.open('#/authors/samuel-clemens?edit');
  const text = page.getByRole('textbox', { name: 'Document', exact: true });
  await text.fill((await codeIn(text)).replace('"Samuel"', '"Mark"'));
  const save = page.getByRole('button', { name: 'Save', exact: true });
  await save.click();
  const dialog = page.getByRole('dialog', { name: 'What this save changes' });
  await dialog.getByRole('button', { name: 'Save now' }).waitFor();
  await accessible(page, true);
  assert.ok(await dialog.evaluate((element) => element.contains(document.activeElement)), 'the focus is in the dialog');
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  assert.ok(await save.evaluate((element) => element === document.activeElement), 'the focus is where it was');

  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await dialog.getByRole('button', { name: 'Keep editing' }).click();
  await dialog.waitFor({ state: 'detached' });
  assert.deepEqual(await store.bytes('authors', 'samuel-clemens'), before);

});

scenario('The dialog before a delete is accessible, and gives the focus back', shop, async ({ tab, page, store }) => {
  const before = await store.bytes('authors', 'samuel-clemens');
  await tab.open('#/authors/samuel-clemens');
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  const deleting = page.getByRole('dialog', { name: 'What this delete changes' });
  await deleting.getByRole('button', { name: 'Delete now' }).waitFor();
  await accessible(page, true);
  await page.keyboard.press('Escape');
  await deleting.waitFor({ state: 'detached' });
  assert.ok(await page.getByRole('button', { name: 'Delete', exact: true }).evaluate((element) => element === document.activeElement), 'the focus is where it was');
  assert.deepEqual(await store.bytes('authors', 'samuel-clemens'), before);
});

scenario('A conflict is accessible', { data: 'bookshop' }, async ({ tab, page, store }) => {
  await tab.open('#/authors/samuel-clemens?edit');
  const text = page.getByRole('textbox', { name: 'Document', exact: true });
  await text.fill((await codeIn(text)).replace('"Samuel"', '"Mark"'));
  await store.merge('authors', 'samuel-clemens', '{"born":1836}');
  await page.getByRole('button', { name: 'Save both' }).waitFor(); // the feed tells at once
  await accessible(page, true);
});

scenario('A rename by the keyboard alone', { data: 'bookshop' }, async ({ tab, page, store }) => {
  await tab.open('#/', 'Collections');
  await page.keyboard.press('Tab');
  const skip = page.getByRole('link', { name: 'Skip to content' });
  assert.ok(await skip.evaluate((element) => element === document.activeElement), 'the first is the link to the content');
  await page.keyboard.press('Enter');
  assert.ok(await page.getByRole('heading', { level: 1 }).evaluate((element) => element === document.activeElement));

  await tab.focusByKey(page.getByRole('table', { name: 'Collections' }).getByRole('link', { name: 'books' }));
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'books', exact: true }).waitFor();
  const filter = page.getByRole('textbox', { name: 'Filter' });
  await tab.focusByKey(filter);
  await page.keyboard.type('doc.title.startsWith("Adventures of Huck")');
  await page.keyboard.press('Enter');
  const link = page.getByRole('table', { name: 'Documents' }).getByRole('link', { name: 'huckleberry-finn', exact: true });
  await tab.focusByKey(link);
  await page.keyboard.press('Enter');

  const origin = page.getByRole('button', { name: 'Origin of /authors/0/name' });
  await tab.focusByKey(origin);
  await page.keyboard.press('Enter');
  const region = page.getByRole('region', { name: 'Origin' });
  await region.waitFor();
  await tab.focusByKey(region.getByRole('link', { name: 'authors/samuel-clemens' }).first());
  await page.keyboard.press('Enter');

  await page.getByRole('heading', { level: 1, name: 'authors/samuel-clemens' }).waitFor();
  await tab.focusByKey(page.getByRole('link', { name: 'Edit', exact: true }).or(page.getByRole('button', { name: 'Edit', exact: true })));
  await page.keyboard.press('Enter');
  const text = page.getByRole('textbox', { name: 'Document', exact: true });
  await text.waitFor();
  await focused(page, text);
  const mine = (await codeIn(text)).replace('"Samuel"', '"Mark"');
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText(mine);
  await tab.focusByKey(page.getByRole('button', { name: 'Save', exact: true })); // Tab leaves the text box
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'What this save changes' });
  await tab.focusByKey(dialog.getByRole('button', { name: 'Save now' }));
  await page.keyboard.press('Enter');
  await page.getByRole('region', { name: 'Arrival' }).waitFor();
  assert.equal((await store.get('/v1/authors/samuel-clemens')).json.firstName, 'Mark');
  assert.equal((await store.get('/v1/books/huckleberry-finn')).json.authors[0].name, 'Mark Clemens');
});
