// What a save or a delete changes, before it is sent (point 16 of the console).
import assert from 'node:assert/strict';
import { accessible, golden } from './lib/checks.js';
import { box, focused, library, model, press, preview, replace, told, versions } from './lib/editing.js';
import { scenario } from './lib/scenario.js';

const blog = {
  model: `
collections:
  posts: {}
  comments: { relations: { post: { path: post, to: posts, onDelete: cascade } } }
  tags: { relations: { post: { path: "posts[]", to: posts, onDelete: unlink } } }
  pins: { relations: { post: { path: post, to: posts, onDelete: restrict } } }
`,
  documents: { posts: { p1: {}, p2: {} }, comments: { c1: { post: 'p1' }, c2: { post: 'p1' } }, tags: { t1: { posts: ['p1', 'p2'] } }, pins: { x1: { post: 'p2' } } },
};

scenario('A save shows what it changes, by keyboard alone', { data: library(7, 2) }, async ({ store, tab, page }) => {
  const before = await store.bytes('authors', 'a1');
  await tab.open('#/authors/a1', 'authors/a1');
  await tab.focusByKey(page.getByRole('link', { name: 'Edit', exact: true }));
  await page.keyboard.press('Enter');
  await box(page).waitFor();
  await focused(page);
  await accessible(page);
  await golden(page.getByRole('main'), 'edit');
  await page.keyboard.press('Control+Home');
  for (let n = 0; n < 2; n++) await page.keyboard.press('ArrowDown');
  await page.keyboard.press('End');
  for (let n = 0; n < 'Evans",'.length; n++) await page.keyboard.press('Backspace');
  await page.keyboard.type('Cross",');
  await tab.focusByKey(page.getByRole('button', { name: 'Save', exact: true }));
  await page.keyboard.press('Enter');
  await preview(page).waitFor();
  await preview(page).getByText('9 derived changes: 7 in books, 2 in posts', { exact: true }).waitFor();
  const rows = await preview(page).getByRole('table', { name: 'Changes by rule' }).getByRole('row').allInnerTexts();
  assert.deepEqual(rows.map((row) => row.split(/\s+/)), [['Rule', 'Documents'], ['books.authorName', '7'], ['posts.by', '2']]);
  await accessible(page);
  await golden(preview(page), 'save');
  await page.keyboard.press('Escape');
  await preview(page).waitFor({ state: 'detached' });
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Save');
  assert.deepEqual(await store.bytes('authors', 'a1'), before);
  await page.keyboard.press('Enter');
  await tab.focusByKey(preview(page).getByRole('button', { name: 'Save now', exact: true }));
  await page.keyboard.press('Enter');
  await told(page, 'authors/a1 is saved');
  await page.getByRole('region', { name: 'Arrival' }).getByText('9 of 9').waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), 'H1');
  assert.equal((await store.bytes('authors', 'a1')).toString(), before.toString().replace('Evans', 'Cross'));
  assert.equal((await store.get('/v1/books/b6')).json.authorName, 'Mary Ann Cross');
});

scenario('A save past the limit of the model wants the number typed', { data: { ...library(6, 3), model: model + 'fanout: { limit: 8 }\n' } }, async ({ store, tab, page }) => {
  await tab.open('#/authors/a1?edit', 'authors/a1');
  await replace(page, 'Mary Ann Evans', 'George Eliot');
  await press(page, 'Save');
  const now = preview(page).getByRole('button', { name: 'Save now', exact: true });
  const number = preview(page).getByRole('textbox', { name: 'Number of changes' });
  await number.fill('8');
  assert.ok(await now.isDisabled());
  await accessible(page);
  await number.press('Enter');
  await number.fill('9');
  assert.ok(!tab.requests.some((request) => request.url().includes('allowFanout')));
  await number.press('Enter');
  await told(page, 'authors/a1 is saved');
  assert.equal(tab.requests.filter((request) => request.url().includes('allowFanout=true')).length, 1);
  assert.equal((await store.get('/v1/books/b5')).json.authorName, 'George Eliot');
});

scenario('A save of more than 10,000 changes wants the number typed', { data: { model } }, async ({ store, tab, page }) => {
  await store.put('authors', 'a1', '{"id":"a1","name":"A"}');
  await store.import('books', Array.from({ length: 10_001 }, (_, i) => `{"id":"b${i}","author":"a1"}`).join('\n'));
  await tab.open('#/authors/a1?edit', 'authors/a1');
  await replace(page, '"A"', '"B"');
  await press(page, 'Save');
  await preview(page).getByText('10,001 derived changes: 10,001 in books', { exact: true }).waitFor();
  await preview(page).getByRole('textbox', { name: 'Number of changes' }).fill('10,001');
  await preview(page).getByRole('button', { name: 'Save now', exact: true }).click();
  await told(page, 'authors/a1 is saved');
  assert.equal((await store.get('/v1/books/b10000')).json.authorName, 'B');
});

scenario('A lost answer is told, and trying again writes once', { data: library(2, 0), mayFail: true }, async ({ store, tab, page }) => {
  await tab.open('#/authors/a1?edit', 'authors/a1');
  await replace(page, 'Mary Ann Evans', 'George Eliot');
  await press(page, 'Save');
  let lost = 0;
  await page.route(/\/v1\/authors\/a1$/, async (route) => {
    if (route.request().method() !== 'PUT' || lost++ > 0) return route.continue();
    await route.fetch();
    await route.abort();
  });
  await preview(page).getByRole('button', { name: 'Save now', exact: true }).click();
  await preview(page).getByRole('alert').filter({ hasText: 'Nobody knows yet whether it was written' }).waitFor();
  assert.equal(await versions(store, 'authors', 'a1'), 2, 'it was written');
  await press(page, 'Try again');
  await told(page, 'authors/a1 is saved');
  await page.getByRole('region', { name: 'Arrival' }).getByText('2 of 2').waitFor();
  assert.equal(await versions(store, 'authors', 'a1'), 2, 'it was written once');
  const keys = tab.requests.filter((request) => request.method() === 'PUT' && !request.url().includes('dryRun')).map((request) => request.headers()['idempotency-key']);
  assert.ok(keys.length === 2 && keys[0] === keys[1] && keys[0], String(keys));
});

scenario('A delete shows what goes with it, and who restricts it', { data: blog }, async ({ store, tab, page }) => {
  const dialog = page.getByRole('dialog', { name: 'What this delete changes' });
  await tab.open('#/posts/p1', 'posts/p1');
  await press(page, 'Delete');
  await dialog.getByRole('list', { name: 'Deleted with it' }).getByRole('link', { name: 'comments/c2' }).waitFor();
  await dialog.getByRole('list', { name: 'Loses its reference' }).getByRole('link', { name: 'tags/t1' }).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Keep it');
  await accessible(page);
  await golden(dialog, 'delete');
  // Whoever sees the dialog go finds the focus where it was: not a moment later.
  await page.evaluate(() => {
    const watch = new MutationObserver(() => {
      if (document.querySelector('dialog')) return;
      document.title = 'focused: ' + document.activeElement?.textContent;
      watch.disconnect();
    });
    watch.observe(document.body, { childList: true, subtree: true });
  });
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  assert.equal(await page.title(), 'focused: Delete');
  await store.get('/v1/posts/p1');
  await press(page, 'Delete');
  await dialog.getByRole('button', { name: 'Delete now', exact: true }).click();
  await told(page, 'posts/p1 is deleted');
  for (const gone of ['/v1/posts/p1', '/v1/comments/c1', '/v1/comments/c2']) assert.equal((await store.send('GET', gone)).status, 404, gone);
  assert.equal((await store.bytes('tags', 't1')).toString(), '{"id":"t1","posts":["p2"]}');

  await tab.open('#/posts/p2', 'posts/p2');
  await press(page, 'Delete');
  await dialog.getByRole('list', { name: 'Restricted by' }).getByRole('link', { name: 'pins/x1' }).waitFor();
  assert.equal(await dialog.getByRole('button', { name: 'Delete now' }).count(), 0);
  await accessible(page);
  await store.get('/v1/posts/p2');
});

scenario('A delete says what becomes of those who refer to it, the worst first, with its buttons in sight', {
  data: {
    model: 'collections:\n  shelves: {}\n  rooms: { relations: { shelf: { path: shelf, to: shelves, onDelete: cascade } } }\n  books: { relations: { shelf: { path: shelf, to: shelves }, kept: { path: was, to: shelves, onDelete: keep } } }\n',
    documents: {
      shelves: { s1: {} },
      rooms: Object.fromEntries(Array.from({ length: 250 }, (_, i) => ['r' + i, { shelf: 's1' }])),
      books: Object.fromEntries(Array.from({ length: 6 }, (_, i) => ['b' + i, i < 5 ? { shelf: 's1' } : { was: 's1' }])),
    },
  },
  context: { viewport: { width: 900, height: 420 } },
}, async ({ store, tab, page }) => {
  await tab.open('#/shelves/s1', 'shelves/s1');
  await press(page, 'Delete');
  const dialog = page.getByRole('dialog', { name: 'What this delete changes' });
  const refer = dialog.getByRole('list', { name: 'Refer to it' }).getByRole('listitem');
  await refer.filter({ hasText: '5 documents of books refer to it by shelf: their reference stays, and what they copied goes.' }).waitFor();
  await refer.filter({ hasText: '1 document of books refers to it by kept: their reference and what they copied stay.' }).waitFor();
  const effects = dialog.getByRole('group', { name: 'What it changes' });
  assert.equal(await effects.evaluate((element) => element.scrollTop), 0, 'it begins at its beginning');
  assert.match(await effects.innerText(), /^Deleted with it: 250/);
  for (const seen of [dialog.getByRole('heading', { level: 2 }), dialog.getByRole('heading', { name: 'Deleted with it: 250' }), dialog.getByRole('button', { name: 'Delete now' })]) {
    const { y, height } = await seen.boundingBox() ?? { y: -1, height: 0 };
    assert.ok(y >= 0 && y + height <= 420, 'it is in sight');
  }
  await accessible(page);
  await press(page, 'Keep it');
  assert.equal((await store.send('GET', '/v1/shelves/s1')).status, 200);
});
