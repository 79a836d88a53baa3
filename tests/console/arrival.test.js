// What a save has caused, as it arrives (point 18 of the console).
import assert from 'node:assert/strict';
import { accessible, golden } from './lib/checks.js';
import { codeIn } from './lib/editing.js';
import { useKey } from './lib/keys.js';
import { scenario } from './lib/scenario.js';

/** @typedef {import('playwright-core').Page} Page */

/** @param {Page} page */
const arrival = (page) => page.getByRole('region', { name: 'Arrival', exact: true });

/** Changes a document in its editor, and saves it after the preview. @param {Page} page @param {string} was @param {string} is */
async function change(page, was, is) {
  const box = page.getByRole('textbox', { name: 'Document', exact: true });
  await box.waitFor();
  await box.fill((await codeIn(box)).replace(was, is));
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('dialog', { name: 'What this save changes' }).getByRole('button', { name: 'Save now' }).click();
}

scenario('A rename arrives, by rule and collection, and the other tab sees it', { data: 'bookshop' }, async ({ store, tab, page, newTab }) => {
  const other = await newTab();
  const following = other.page.waitForResponse((r) => r.url().includes('feed=continuous') && r.ok());
  await other.open('#/books/tom-sawyer', 'books/tom-sawyer');
  await following;
  await tab.open('#/authors/samuel-clemens?edit', 'authors/samuel-clemens');
  await change(page, '"lastName": "Clemens"', '"lastName": "Twain"');
  const region = arrival(page);
  await region.getByText(/^11 of 11 derived changes, [\d,]+ a second$/).waitFor();
  const revision = (await store.get('/v1/authors/samuel-clemens')).headers.get('Fanfold-Revision');
  assert.match(await region.innerText(), new RegExp(`Visible to all readers at ${revision}-0-\\w+, \\d+ ms after saving\\.`));
  const list = await region.getByRole('listitem').allInnerTexts();
  assert.ok(list.includes('8 in books, by books.authors[].name') && list.includes('3 in shelves, by shelves.books[].by'), list.join('\n'));
  await accessible(page);
  await golden(region, 'arrival');
  await other.page.getByRole('log', { name: 'Changes seen' }).getByText('Samuel Twain').waitFor();
  const feeds = tab.requests.filter((r) => r.url().includes('since=' + revision + '-0'));
  assert.ok(feeds.length >= 1, 'the rows are read by since= that position');
});

scenario('Whoever may not read all holders is told when all that he may read has come', { closed: true, data: { model: `
collections:
  authors: { access: { read: [editor], write: [editor] } }
  books:
    access: { read: [editor], write: [editor] }
    relations: { author: { path: author, to: authors } }
    derive: { name: { copy: author, value: doc.name } }
  contracts:
    access: { read: [boss], write: [boss] }
    relations: { author: { path: author, to: authors } }
    derive: { name: { copy: author, value: doc.name, publish: true } }
`, documents: {
  authors: { a1: { name: 'Thomas Andersen' } },
  books: Object.fromEntries(Array.from({ length: 5 }, (_, i) => ['b' + i, { author: 'a1' }])),
  contracts: Object.fromEntries(Array.from({ length: 7 }, (_, i) => ['c' + i, { author: 'a1' }])),
} } }, async ({ store, tab, page }) => {
  await tab.open('#/authors/a1?edit');
  await useKey(page, await store.newKey('editor'));
  await change(page, 'Andersen', 'Anderson');
  await arrival(page).getByText(/^5 of 5 derived changes, [\d,]+ a second$/).waitFor();
  assert.deepEqual(await arrival(page).getByRole('listitem').allInnerTexts(), ['5 in books, by books.name']);
  assert.equal((await store.get('/v1/contracts/c6')).json.name, 'Thomas Anderson');
});

scenario('A delete that deletes others arrives with what all of them cause', { data: { model: `
collections:
  projects: {}
  comments:
    relations: { project: { path: project, to: projects, onDelete: cascade } }
    derive: { name: { copy: project, value: doc.name } }
  notes:
    relations: { comment: { path: comment, to: comments } }
    derive: { text: { copy: comment, value: doc.text } }
`, documents: {
  projects: { p1: { name: 'One' } },
  comments: Object.fromEntries(Array.from({ length: 4 }, (_, i) => ['c' + i, { project: 'p1', text: 'T' + i }])),
  notes: Object.fromEntries(Array.from({ length: 4 }, (_, i) => ['n' + i, { comment: 'c' + i }])),
} } }, async ({ store, tab, page }) => {
  await tab.open('#/projects/p1', 'projects/p1');
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('dialog', { name: 'What this delete changes' }).getByRole('button', { name: 'Delete now' }).click();
  await arrival(page).getByText(/^8 of 8 derived changes/).waitFor();
  assert.deepEqual(await arrival(page).getByRole('listitem').allInnerTexts(), ['4 in comments, by comments.name', '4 in notes, by notes.text']);
  assert.equal((await store.send('GET', '/v1/comments/c0')).status, 404);
});

scenario('A save whose feed is cut arrives all the same', { mayFail: true, data: { model: `
collections:
  authors: {}
  books:
    relations: { author: { path: author, to: authors } }
    derive: { name: { copy: author, value: doc.name } }
`, documents: { authors: { a1: { name: 'Thomas Andersen' } } } } }, async ({ store, tab, page }) => {
  await store.import('books', Array.from({ length: 3000 }, (_, i) => `{"id":"b${i}","author":"a1"}`).join('\n'));
  let cuts = 0;
  await page.route(/feed=continuous&.*since=3002-/, (route) => (cuts++ < 2 ? route.abort('connectionreset') : route.continue()));
  await tab.open('#/authors/a1?edit');
  await change(page, 'Andersen', 'Anderson');
  await arrival(page).getByText(/^3,000 of 3,000 derived changes/).waitFor();
  assert.equal(await arrival(page).getByText('It goes on by itself.').count(), 0);
});

scenario('A save that changes nothing else has no Arrival', { data: 'bookshop' }, async ({ store, tab, page }) => {
  await tab.open('#/publishers/osgood?edit', 'publishers/osgood');
  const box = page.getByRole('textbox', { name: 'Document', exact: true });
  await box.waitFor();
  await box.fill((await codeIn(box)).replace('Boston', 'New York'));
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('publishers/osgood is saved').waitFor();
  assert.equal(await arrival(page).count(), 0);
  assert.equal((await store.get('/v1/publishers/osgood')).json.city, 'New York');
});
