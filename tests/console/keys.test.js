// Keys: a closed store asks for one, and shows no more than its owner may read (point 7 of the console).
import assert from 'node:assert/strict';
import { accessible, golden } from './lib/checks.js';
import { keyDialog, saveAsKeyEnds, useKey } from './lib/keys.js';
import { scenario } from './lib/scenario.js';

/** A shop whose secrets only the role boss reads; a copy of one stands on each book that the role clerk reads. */
const house = {
  model: `
collections:
  books:
    access: { read: [clerk], write: [clerk] }
    relations: { author: { path: authorId, to: authors } }
    derive:
      authorName: { copy: author, value: doc.name, publish: true }
  authors:
    access: { read: [boss], write: [boss] }
    derive: { countOfBooks: { count: books.author, publish: true } }
`,
  documents: {
    authors: { a1: { name: 'Ada', salary: 9000 } },
    books: { b1: { title: 'One', authorId: 'a1' } },
  },
};

scenario('A closed store asks for a key, and forgets it with the page', { data: house, closed: true }, async ({ store, tab, page, newTab }) => {
  const key = await store.newKey('clerk');
  await tab.open('#/');
  const dialog = keyDialog(page);
  await dialog.waitFor();
  const input = dialog.getByLabel('Key', { exact: true });
  assert.ok(await input.evaluate((element) => element === document.activeElement), 'the field has the focus');
  assert.equal(await input.getAttribute('type'), 'password');
  await accessible(page);
  await golden(dialog, 'key-dialog');
  await useKey(page, 'ffk_nobody_knows_this_key');
  await dialog.getByText('does not take this key').waitFor();
  await useKey(page, key);
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'books', exact: true }).waitFor();
  await page.getByRole('banner').getByText('of clerk').waitFor();
  assert.equal(await page.evaluate(() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.cookie])), '[{},{},""]');
  assert.ok(!page.url().includes(key));

  await page.reload();
  await dialog.waitFor();
  await useKey(page, key, true);
  await page.getByRole('link', { name: 'books', exact: true }).waitFor();
  await page.reload();
  await page.getByRole('link', { name: 'books', exact: true }).waitFor();
  const other = await newTab();
  await other.open('#/');
  await keyDialog(other.page).waitFor(); // what one tab keeps, another does not have

  await page.getByRole('button', { name: 'Forget key' }).click();
  await dialog.waitFor();
  await page.reload();
  await dialog.waitFor();
});

scenario('Whoever reads one collection sees nothing of another', { data: house, closed: true }, async ({ store, tab, page }) => {
  const key = await store.newKey('clerk');
  await tab.open('#/');
  await useKey(page, key, true);
  const table = page.getByRole('table', { name: 'Collections' });
  await table.getByRole('link', { name: 'books', exact: true }).waitFor();
  assert.equal(await table.getByRole('link', { name: 'authors' }).count(), 0);

  await tab.open('#/books/b1', 'books/b1');
  await page.getByRole('region', { name: 'Document' }).getByText('Ada').waitFor();
  await page.getByRole('button', { name: 'Origin of /authorName' }).click();
  await page.getByRole('region', { name: 'Origin' }).waitFor();
  assert.ok(!(await page.locator('body').innerText()).includes('9000'));

  for (const place of ['#/authors', '#/authors/a1', '#/authors/a1?edit', '#/authors/a1/_history']) {
    await tab.open(place);
    const alert = page.getByRole('alert').first();
    await alert.waitFor();
    assert.match(await alert.innerText(), /authors/, place);
    assert.ok(!(await page.locator('body').innerText()).includes('9000'), place);
  }
});

scenario('A key that ends in mid-work is asked for again, and what was typed stays', { data: house, closed: true }, async ({ store, tab, page }) => {
  const first = await store.newKey('clerk');
  await tab.open('#/books/b1?edit');
  await useKey(page, first);
  const text = page.getByRole('textbox', { name: 'Document', exact: true });
  await text.fill('{"title":"Two","authorId":"a1"}');
  await saveAsKeyEnds(store, page, '/v1/books/b1', first);
  await useKey(page, await store.newKey('clerk'));
  await page.getByRole('region', { name: 'Document' }).getByText('Two').waitFor();
  assert.equal((await store.bytes('books', 'b1')).toString(), '{"id":"b1","title":"Two","authorId":"a1"}');
});

/** A shop that the role clerk reads. Nobody but an administrator reads its model. */
const shop = {
  model: `
collections:
  books:
    access: { read: [clerk] }
    relations: { author: { path: authorId, to: authors } }
    derive:
      authorName: { copy: author, value: doc.name }
  authors:
    access: { read: [clerk], update: [clerk] }
    derive: { countOfBooks: { count: books.author } }
`,
  documents: {
    authors: { a1: { name: 'Ada' } },
    books: { b1: { title: 'One', authorId: 'a1' } },
  },
};

scenario('Whoever may not read the model sees the relations and links of what they read', { data: shop, closed: true }, async ({ store, tab, page }) => {
  const key = await store.newKey('clerk');
  assert.equal((await store.send('GET', '/v1/_model', undefined, { Authorization: 'Bearer ' + key })).status, 403);
  await tab.open('#/books/b1');
  await useKey(page, key, true);
  const doc = page.getByRole('region', { name: 'Document', exact: true });
  await doc.getByRole('link', { name: /a1/ }).waitFor();
  await doc.getByText('copy', { exact: true }).waitFor();
  await page.getByRole('region', { name: 'Refers to', exact: true }).getByRole('link', { name: 'a1', exact: true }).waitFor();
  await tab.open('#/authors/a1', 'authors/a1');
  await page.getByRole('button', { name: 'Show books by author' }).click();
  await page.getByRole('link', { name: /b1/ }).first().waitFor();
});

scenario('Whoever may see the keys is told who wrote by their names', { data: shop, closed: true }, async ({ store, tab, page }) => {
  const { key } = (await store.want('POST', '/v1/_keys', JSON.stringify({ name: 'ops', roles: ['clerk'] }))).json;
  await store.want('PATCH', '/v1/authors/a1', '{"name":"Ada L."}', { 'Content-Type': 'application/merge-patch+json', Authorization: 'Bearer ' + key });
  await tab.open('#/authors/a1/_history');
  await useKey(page, store.key, true);
  await page.getByText('by ops', { exact: true }).first().waitFor();
  await page.reload();
  await page.getByRole('button', { name: 'Forget key' }).click();
  await useKey(page, key);
  await page.getByRole('list', { name: 'Versions', exact: true }).getByText('Ada L.').first().waitFor();
  assert.equal(await page.getByText(/by (ops|key:)/).count(), 0); // whoever reads the document is not told who wrote it
});

scenario('Keys are made, shown once, rotated and revoked', { data: house, closed: true }, async ({ store, tab, page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await tab.open('#/_keys', 'Keys');
  await useKey(page, await store.newKey('admin'));
  const table = page.getByRole('table', { name: 'Keys' });
  const row = (/** @type {string} */ name) => table.getByRole('row').filter({ has: page.getByRole('rowheader', { name }) });
  await row('of admin').getByText('of this tab').waitFor();
  await accessible(page);
  await page.getByRole('button', { name: 'New key' }).click();
  const make = page.getByRole('dialog', { name: 'New key' });
  await make.getByRole('textbox', { name: 'Name' }).fill('till 3');
  await make.getByRole('checkbox', { name: /^read / }).check();
  await make.getByRole('textbox', { name: 'Roles of the model' }).fill('clerk, boss');
  await accessible(page);
  await golden(make, 'key-new');
  await make.getByRole('button', { name: 'Make the key' }).click();
  const once = page.getByRole('dialog', { name: 'Key of till 3' });
  const text = (await once.getByLabel('Secret').textContent())?.trim() ?? '';
  await page.keyboard.press('Escape');
  assert.ok(await once.isVisible(), 'a text that is shown once does not go by a slip');
  await once.getByRole('button', { name: 'Copy' }).click();
  await once.getByText('Copied.').waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), text);
  await accessible(page);
  await once.getByRole('button', { name: 'I have it' }).click();
  assert.ok(!(await page.locator('body').innerText()).includes(text));
  const of = async (/** @type {string} */ key) => {
    const answer = await fetch(store.url + '/v1/_me', { headers: { Authorization: 'Bearer ' + key } });
    return answer.ok ? /** @type {any} */ (await answer.json()).roles.sort() : answer.status;
  };
  assert.deepEqual(await of(text), ['boss', 'clerk', 'read']);

  await row('till 3').getByRole('button', { name: 'Rotate till 3' }).click();
  await page.getByRole('combobox').selectOption('0s');
  await page.getByRole('dialog', { name: 'Rotate till 3' }).getByRole('button', { name: 'Rotate' }).click();
  const again = page.getByRole('dialog', { name: 'New secret of till 3' });
  const second = (await again.getByLabel('Secret').textContent())?.trim() ?? '';
  await again.getByRole('button', { name: 'I have it' }).click();
  assert.deepEqual([await of(text), await of(second)], [401, ['boss', 'clerk', 'read']]);

  await row('till 3').getByRole('button', { name: 'Revoke till 3' }).click();
  const revoke = page.getByRole('dialog', { name: 'Revoke till 3' });
  assert.ok(await revoke.getByRole('button', { name: 'Revoke' }).isDisabled());
  await revoke.getByRole('textbox', { name: 'Type till 3 to confirm' }).fill('till 3');
  await page.keyboard.press('Enter');
  await row('till 3').getByText('revoked').waitFor();
  assert.equal(await of(second), 401);
  await page.setViewportSize({ width: 360, height: 740 });
  await tab.noSidewaysScrolling();
});

scenario('A key shows when it was last used', { data: house, closed: true }, async ({ store, tab, page }) => {
  const key = await store.newKey('clerk');
  await tab.open('#/_keys', 'Keys');
  await useKey(page, store.key);
  const table = page.getByRole('table', { name: 'Keys' });
  const row = table.getByRole('row').filter({ has: page.getByRole('rowheader', { name: 'of clerk' }) });
  await row.waitFor();
  const column = (await table.getByRole('columnheader').allInnerTexts()).indexOf('Last used');
  const cell = row.locator('th, td').nth(column);
  await cell.getByText('never', { exact: true }).waitFor();
  await accessible(page);
  assert.equal((await fetch(store.url + '/v1/books', { headers: { Authorization: 'Bearer ' + key } })).status, 200);
  const { lastUsed } = (await store.want('GET', '/v1/_keys/' + key.split('_')[1])).json;
  await page.reload();
  await useKey(page, store.key);
  assert.equal(await cell.getByRole('time').getAttribute('title'), lastUsed);
  assert.match(await cell.innerText(), /^just now$|ago$/);
  await page.setViewportSize({ width: 360, height: 740 });
  await tab.noSidewaysScrolling();
});

scenario('The first key closes the store, and its tab goes on with it', {}, async ({ store, tab, page }) => {
  await store.put('notes', 'n1', '{}');
  await tab.open('#/_keys', 'Keys');
  await page.getByText('This store has no key, and nobody needs one.').waitFor();
  await page.getByRole('button', { name: 'New key' }).click();
  const make = page.getByRole('dialog', { name: 'New key' });
  await make.getByText('It closes the store for good').waitFor();
  await make.getByRole('textbox', { name: 'Name' }).fill('boss');
  await make.getByRole('button', { name: 'Make the key' }).click();
  const once = page.getByRole('dialog', { name: 'Key of boss' });
  await once.getByText('This tab uses it from now on').waitFor();
  await page.getByRole('banner').getByText('boss').waitFor();
  const text = (await once.getByLabel('Secret').textContent())?.trim() ?? '';
  assert.match(text, /^fan_/);
  await once.getByRole('button', { name: 'I have it' }).click();
  await page.getByRole('table', { name: 'Keys' }).getByText('of this tab').waitFor();
  assert.equal((await fetch(store.url + '/v1/notes')).status, 401);
});

scenario('Whoever is no administrator sees no keys', { data: house, closed: true }, async ({ store, tab, page }) => {
  await tab.open('#/_keys', 'Keys');
  await useKey(page, await store.newKey('clerk'));
  await page.getByText('Keys are seen and made by whoever has the role admin').waitFor();
  assert.equal(await page.getByRole('button', { name: 'New key' }).count(), 0);
  assert.equal(tab.requests.filter((one) => one.url().includes('_keys')).length, 0);
});
