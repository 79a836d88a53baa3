// A document: its tokens, where its derived values come from, and what it is tied to (points 11, 12, 22 and 23 of the console).
import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { accessible, golden } from './lib/checks.js';
import { HOSTILE } from './lib/data.js';
import { box, textIn } from './lib/editing.js';
import { useKey } from './lib/keys.js';
import { scenario } from './lib/scenario.js';
import { figure, pathOf } from './lib/store.js';

/** @typedef {import('playwright-core').Page} Page */

/** @param {Page} page @param {string} name */
const region = (page, name) => page.getByRole('region', { name, exact: true });

/** @param {Page} page @param {string} name */
const button = (page, name) => page.getByRole('button', { name, exact: true });

/** The rows of a document as lines. @param {Page} page */
const linesOf = async (page) => (await region(page, 'Document').innerText()).split('\n').map((line) => line.trim());

scenario('A document is shown by its own tokens, in its order', { data: 'origins', shared: true }, async ({ tab, page }) => {
  await tab.open('#/books/b1', 'books/b1');
  await button(page, 'Origin of /sheets').waitFor();
  const lines = await linesOf(page);
  const tokens = ['"isbn": 9007199254740993', '"price": 2.50', '"note": "a/b é"', '"10": 1', '"2": -0', '"pages": 300'];
  const at = lines.indexOf(tokens[0]);
  assert.deepEqual(lines.slice(at, at + tokens.length), tokens);
  assert.equal(await page.title(), 'books/b1 – Fanfold');
  await accessible(page);
  await region(page, 'Refers to').waitFor();
  await golden(page, 'document-origins');
});

scenario('Objects and arrays fold', { data: 'origins', shared: true }, async ({ tab, page }) => {
  await tab.open('#/books/b1', 'books/b1');
  const fold = button(page, 'Elements of /authors');
  await button(page, 'Origin of /authors/0/name').waitFor();
  await tab.focusByKey(fold);
  await page.keyboard.press('Enter');
  assert.equal(await fold.getAttribute('aria-expanded'), 'false');
  assert.equal(await button(page, 'Origin of /authors/0/name').count(), 0);
  assert.match(await region(page, 'Document').innerText(), /"authors": \[ 1 element \] 1 derived within/);
  await page.keyboard.press('Enter');
  await button(page, 'Origin of /authors/0/name').waitFor();
});

scenario('A derived value is marked by its kind, and tells where it comes from', { data: 'origins', shared: true }, async ({ tab, page, store }) => {
  await tab.open('#/books/b1', 'books/b1');
  const open = button(page, 'Origin of /authors/0/name');
  await tab.focusByKey(open);
  const lines = await linesOf(page);
  for (const line of ['"name": "Mark Twain" copy Origin', '"publisherThen": "American" copy, frozen Origin', '"sheets": 600 computed Origin']) assert.ok(lines.includes(line), `${line} in ${lines.join('\n')}`);
  await page.keyboard.press('Enter');
  const origin = region(page, 'Origin');
  const heading = origin.getByRole('heading', { name: 'Origin of /authors/0/name' });
  await heading.waitFor();
  assert.ok(await heading.evaluate((element) => element === document.activeElement), 'the region has the focus');
  const told = await origin.innerText();
  const { derived } = (await store.get('/v1/books/b1/_lineage')).json;
  const { event } = derived.find((/** @type {any} */ v) => v.path === '/authors/0/name');
  assert.ok(event.time, 'the event has a time');
  for (const word of ['copy', 'books.authors[].name', 'copy: authors, value: doc.name', 'derive by']) assert.ok(told.includes(word), `${word} in ${told}`);
  assert.equal(await origin.getByRole('time').getAttribute('title'), `${event.time}, at ${event.seq}`);
  await accessible(page);
  await page.keyboard.press('Escape');
  await origin.waitFor({ state: 'detached' });
  assert.ok(await open.evaluate((element) => element === document.activeElement), 'the button has the focus again');
  await page.keyboard.press('Enter');
  await origin.getByRole('list', { name: 'Sources' }).getByRole('link', { name: 'authors/a1', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'authors/a1', exact: true }).waitFor();
  await page.goBack();
  await page.getByRole('heading', { level: 1, name: 'books/b1', exact: true }).waitFor();
});

scenario('A frozen value says so, and one that was kept', { data: 'origins', shared: true }, async ({ tab, page }) => {
  await tab.open('#/books/b2', 'books/b2');
  await button(page, 'Origin of /publisherThen').click();
  await region(page, 'Origin').getByText(/^frozen:/).waitFor();
  await button(page, 'Origin of /publisherName').click();
  await region(page, 'Origin').getByText(/^kept:/).waitFor();
  assert.equal(await region(page, 'Origin').count(), 1);
  await region(page, 'Origin').getByText('is gone').waitFor();
});

scenario('Values that are absent are listed with their reasons', { data: 'origins', shared: true }, async ({ tab, page }) => {
  await tab.open('#/books/b1', 'books/b1');
  const list = page.getByRole('list', { name: 'Without a value', exact: true });
  await list.waitFor();
  assert.match(await list.innerText(), /^\/motto copy\npublishers\/p1: .*motto.*\npublishers\/p1$/);
  await tab.open('#/books/b2', 'books/b2');
  await list.getByText('/sheets').waitFor();
});

scenario('Ids of other documents are links', { data: 'origins', shared: true }, async ({ tab, page }) => {
  await tab.open('#/books/b1', 'books/b1');
  const shown = region(page, 'Document');
  assert.equal(await shown.getByRole('link', { name: '"p1"', exact: true }).getAttribute('href'), '#/publishers/p1');
  const refers = region(page, 'Refers to');
  assert.deepEqual(await refers.getByRole('heading', { level: 3 }).allInnerTexts(), ['authors in authors: 1', 'publisher in publishers: 1']);
  await shown.getByRole('link', { name: '"a1"', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'authors/a1', exact: true }).waitFor();
  await tab.open('#/authors/a2', 'authors/a2');
  await shown.getByRole('link', { name: '"n44"', exact: true }).click(); // of a rule that gathers documents
  await page.getByRole('heading', { level: 1, name: 'books/n44', exact: true }).waitFor();
});

scenario('Who refers to a document is counted first, and listed on demand', { data: 'origins', shared: true }, async ({ tab, page }) => {
  await tab.open('#/authors/a2', 'authors/a2');
  const referred = region(page, 'Referred to by');
  await referred.getByText('books by authors: 45').waitFor();
  const asked = () => tab.requests.map((r) => new URL(r.url())).filter((url) => url.pathname.endsWith('/authors/a2/books')).map((url) => [url.searchParams.get('count'), url.searchParams.get('limit')]);
  assert.deepEqual(asked(), [['true', '1']]);
  await button(page, 'Show books by authors').click();
  const list = page.getByRole('list', { name: 'books by authors', exact: true });
  const links = list.getByRole('link');
  await list.getByRole('link', { name: 'n19', exact: true }).waitFor();
  assert.equal(await links.count(), 20);
  await tab.focusByKey(button(page, 'Show 20 more of books by authors'));
  await page.keyboard.press('Enter');
  await list.getByRole('link', { name: 'n39', exact: true }).waitFor();
  assert.equal(await list.getByRole('listitem').nth(20).evaluate((element) => element === document.activeElement), true, 'the first new one has the focus');
  await button(page, 'Show 20 more of books by authors').click();
  await list.getByRole('link', { name: 'n44', exact: true }).waitFor();
  assert.equal(await links.count(), 45);
  assert.equal(await button(page, 'Show 20 more of books by authors').count(), 0);
  assert.equal(asked().length, 4);
  await accessible(page);
});

scenario('Who carries something of a document is listed by rule', { data: 'origins', shared: true }, async ({ tab, page }) => {
  await tab.open('#/authors/a2', 'authors/a2');
  const carried = region(page, 'Carried by');
  await carried.getByRole('heading', { level: 3 }).waitFor();
  assert.deepEqual(await carried.getByRole('heading', { level: 3 }).allInnerTexts().then((all) => all.map((text) => text.replace(/\s+/g, ' '))), ['books.authors[].name: 45']);
  await button(page, 'Show carriers by books.authors[].name').click();
  await page.getByRole('list', { name: 'Carriers by books.authors[].name', exact: true }).getByRole('link', { name: 'n00', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'books/n00', exact: true }).waitFor();
});

scenario('A document waits for nothing that is about it', { data: 'origins', shared: true }, async ({ tab, page }) => {
  /** @type {() => void} */
  let go = () => {};
  const held = new Promise((resolve) => { go = () => resolve(undefined); });
  await page.route((url) => /_lineage|_model|\/books\/b1\/|count=true/.test(url.href), async (route) => { await held; await route.continue(); });
  await tab.open('#/books/b1', 'books/b1');
  await region(page, 'Document').getByText('"Mark Twain"').waitFor();
  assert.equal(await button(page, 'Origin of /authors/0/name').count(), 0);
  go();
  await button(page, 'Origin of /authors/0/name').waitFor();
  const paths = tab.requests.map((r) => new URL(r.url()).pathname);
  assert.ok(paths.indexOf('/v1/books/b1') < paths.indexOf('/v1/books/b1/_lineage'));
  await page.unrouteAll({ behavior: 'wait' });
});

scenario('In the past a document has the origins of then, and nothing that writes', { data: 'origins', shared: true }, async ({ tab, page, store }) => {
  const { items } = (await store.get('/v1/books/b1/_history?order=asc&limit=1&include_docs=false')).json;
  await tab.open('#/books/b1?at=' + items[0].seq, 'books/b1');
  await region(page, 'Document').getByText('"Samuel Clemens"').waitFor();
  await page.getByText('As of').waitFor();
  await page.getByRole('button', { name: /^Origin/ }).first().waitFor();
  for (const name of ['Edit', 'Delete']) assert.equal(await page.getByRole('button', { name }).count(), 0, String(name));
  assert.equal(await page.getByRole('link', { name: 'Edit' }).count(), 0);
  await region(page, 'Carried by').getByText('authors.countOfBooks').waitFor();
  assert.ok(tab.requests.filter((r) => r.url().includes('_lineage')).every((r) => r.url().includes('at=')));
  assert.equal(await region(page, 'Document').getByRole('link', { name: '"a1"', exact: true }).getAttribute('href'), '#/authors/a1?at=' + items[0].seq);
  await accessible(page);
  await page.getByRole('link', { name: 'Back to now' }).click();
  await button(page, 'Origin of /authors/0/name').waitFor();
  await region(page, 'Document').getByText('"Mark Twain"').waitFor();
});

scenario('An open document follows what changes it', { data: 'origins' }, async ({ tab, page, store }) => {
  await tab.open('#/books/b1', 'books/b1');
  await button(page, 'Origin of /authors/0/name').click();
  await region(page, 'Origin').waitFor();
  await store.merge('authors', 'a1', '{"name":"S. L. Clemens"}');
  await region(page, 'Document').getByText('"S. L. Clemens"', { exact: true }).waitFor();
  await region(page, 'Document').getByText('changed', { exact: true }).waitFor();
  assert.ok((await linesOf(page)).some((line) => /^"name": "S. L. Clemens".*changed/.test(line)));
  const seen = page.getByRole('log', { name: 'Changes seen', exact: true });
  assert.match(await seen.innerText(), /\/authors\/0\/name: Mark Twain → S\. L\. Clemens, by authors\/a1/);
  await seen.getByRole('link', { name: 'authors/a1', exact: true }).waitFor();
  assert.equal(await region(page, 'Origin').count(), 1, 'what was open stays open');
  await accessible(page);
});

scenario('Whoever reads one collection sees its documents, and nothing of others', { data: 'origins', closed: true }, async ({ tab, page, store }) => {
  const model = (await store.get('/v1/_model', { Accept: 'application/json' })).json;
  model.collections.books.access = { read: ['seller'], write: ['seller'] };
  for (const c of Object.values(model.collections)) for (const rule of Object.values(c.derive ?? {})) rule.publish = true;
  await store.want('PUT', '/v1/_model', JSON.stringify(model));
  const key = await store.newKey('seller');
  await tab.open('#/books/b1', 'books/b1');
  await useKey(page, key);
  await button(page, 'Origin of /authors/0/name').click();
  const origin = region(page, 'Origin');
  await origin.getByText('You may not read the collection that it comes from.').waitFor();
  assert.equal(await origin.getByText('copy', { exact: true }).count(), 1, 'the kind is told');
  for (const name of ['Refers to', 'Referred to by']) assert.equal(await region(page, name).count(), 0, name);
  assert.equal(await page.getByRole('alert').count(), 0);
  await tab.open('#/authors/a1', 'authors/a1');
  await page.getByRole('alert').waitFor();
});

scenario('Whoever reads some documents of a collection sees those as sources and carriers, now and then', {
  data: {
    model: `
collections:
  authors: { access: { read: [clerk] }, derive: { books: { ids: books.author, publish: true } } }
  books:
    access: { read: { where: doc.shown } }
    relations: { author: { path: author, to: authors } }
    derive: { name: { copy: author, value: doc.name, publish: true } }
`,
    documents: { authors: { a1: { name: 'Ann' } }, books: { b1: { author: 'a1', shown: true }, b2: { author: 'a1', shown: false } } },
  },
  closed: true,
}, async ({ store, tab, page }) => {
  const at = (await store.get('/v1/_status')).json.position;
  await page.addInitScript((text) => sessionStorage.setItem('fanfold-key', text), await store.newKey('clerk'));
  for (const then of ['', '?at=' + at]) {
    await tab.open('#/authors', 'authors');
    await tab.open('#/authors/a1' + then, 'authors/a1');
    const carried = region(page, 'Carried by');
    await carried.getByText('books.name: those that you may read').waitFor();
    await button(page, 'Show carriers by books.name').click();
    assert.deepEqual(await carried.getByRole('link').allInnerTexts(), ['b1']);
    await button(page, 'Origin of /books').click();
    await region(page, 'Origin').getByText('Those that you may not read are left out.').waitFor();
    assert.deepEqual(await region(page, 'Origin').getByRole('list', { name: 'Sources', exact: true }).getByRole('link').allInnerTexts(), ['books/b1']);
    await accessible(page);
  }
});

scenario('Hostile names, values and ids are text', { data: 'large', shared: true, context: { viewport: { width: 360, height: 800 } } }, async ({ tab, page }) => {
  await tab.open('#/hostile/' + encodeURIComponent(HOSTILE));
  await region(page, 'Document').getByText('"<img src=x onerror=alert(1)>"').waitFor();
  await region(page, 'Carried by').waitFor();
  const shown = await region(page, 'Document').innerText();
  for (const text of ['"aU+202EbU+200Bc"', '"U+202Eeman"', '"</script><script>alert(1)</script>"', '"javascript:alert(1)"', '"/~"']) assert.ok(shown.includes(text), `${text} in ${shown}`);
  assert.equal(/[\u202e\u200b]/.test(await page.locator('body').innerText()), false);
  assert.equal(await page.locator('img, main script').count(), 0);
  const hrefs = await page.getByRole('link').evaluateAll((links) => links.map((link) => String(link.getAttribute('href'))));
  assert.deepEqual(hrefs.filter((href) => !href.startsWith('#')), []);
  await accessible(page);
  await tab.noSidewaysScrolling();
});

scenario('Deep and long documents do not scroll the page sideways', { data: 'large', shared: true, context: { viewport: { width: 360, height: 800 } } }, async ({ tab, page }) => {
  await tab.open('#/big/deep', 'big/deep');
  await region(page, 'Document').getByText('1', { exact: true }).waitFor();
  assert.equal(await page.getByRole('button', { name: /^Members of/ }).count(), 62);
  await tab.noSidewaysScrolling();
  await tab.open('#/big/text', 'big/text');
  const more = button(page, 'Show more of /text');
  await more.click();
  await page.getByText('989,502 characters left').waitFor();
  await tab.noSidewaysScrolling();
  await accessible(page);
});

scenario('An object of 100,000 members opens by its first 100', { data: 'large', shared: true }, async ({ tab, page }) => {
  await tab.open('#/big/members', 'big/members');
  await button(page, 'Show 100 more of /').click();
  await region(page, 'Document').getByText('"m198"', { exact: false }).waitFor();
  assert.equal(await region(page, 'Document').getByRole('listitem').count(), 200);
  assert.match(await region(page, 'Document').getByRole('listitem').nth(100).innerText(), /^"m99":/);
  assert.ok(await region(page, 'Document').getByRole('listitem').nth(100).evaluate((element) => element === document.activeElement), 'the first new one has the focus');
});

scenario('A document of 100,000 lines, and one of 2 MiB, is edited', { data: 'large', shared: true }, async ({ store, tab, page }) => {
  for (const [id, longest] of /** @type {[string, number][]} */ ([['members', 100_000], ['rows', 1 << 19], ['text', 1_000_000]])) {
    await tab.open(`#/big/${id}?edit`, 'big/' + id);
    await box(page).waitFor();
    const text = await textIn(page);
    assert.ok(text.length > longest, id);
    assert.deepEqual(JSON.parse(text), JSON.parse((await store.bytes('big', id)).toString()));
    assert.ok(await page.evaluate(() => document.querySelectorAll('*').length) < 5000, 'what is in sight alone is drawn');
    await box(page).press('Control+Home');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.insertText('"typed": 1,');
    assert.equal(await textIn(page), text.replace('{', '{"typed": 1,'));
    await page.keyboard.press('Control+Z');
    assert.equal(await textIn(page), text);
  }
});

scenario('A document of 2 MiB is readable within a second, without a task over 100 ms', { data: 'large', shared: true }, async ({ tab, page }) => {
  await tab.open('#/', 'Collections');
  const { ms, longest } = await page.evaluate(async (place) => {
    let longest = 0;
    const observer = new PerformanceObserver((list) => { for (const entry of list.getEntries()) longest = Math.max(longest, entry.duration); });
    observer.observe({ type: 'longtask' });
    const begin = performance.now();
    location.hash = place;
    await new Promise((resolve) => {
      const watch = new MutationObserver(() => {
        if (!document.querySelector('[aria-label=Document] li')) return;
        watch.disconnect();
        requestAnimationFrame(() => setTimeout(resolve));
      });
      watch.observe(document.body, { childList: true, subtree: true });
    });
    const ms = performance.now() - begin;
    for (const entry of observer.takeRecords()) longest = Math.max(longest, entry.duration);
    return { ms, longest };
  }, '#/big/rows');
  await button(page, 'Elements of /rows').waitFor();
  await figure('document of 2 MiB: readable', Math.round(ms) + ' ms', '1000 ms');
  await figure('document of 2 MiB: longest task', Math.round(longest) + ' ms', '100 ms');
});

scenario('A document above 4 MiB is text, and a file', { data: 'large', shared: true }, async ({ tab, page, store }) => {
  await tab.open('#/wide/w', 'wide/w');
  await button(page, 'Show more of the document').click();
  await page.getByText('characters left').waitFor();
  const [download] = await Promise.all([page.waitForEvent('download'), button(page, 'Download').click()]);
  assert.equal(download.suggestedFilename(), 'wide-w.json');
  const { bytes } = await store.get(pathOf('wide', 'w'));
  assert.ok(bytes.equals(await buffer(await download.createReadStream())));
  await accessible(page);
});

scenario('A document that is not there says so', { data: 'origins', shared: true }, async ({ tab, page }) => {
  await tab.open('#/books/nothing', 'books/nothing');
  await page.getByRole('alert').getByText('There is nothing here').waitFor();
  await button(page, 'Copy as').click();
  await button(page, 'Copy as curl').waitFor();
  assert.equal(await page.getByRole('link', { name: 'collection', exact: true }).getAttribute('href'), '#/books');
  await accessible(page);
});

scenario('A value that was copied from copy to copy is followed to where it was written', {
  data: {
    model: `
collections:
  authors: {}
  books:
    relations: { author: { path: author, to: authors } }
    derive: { "info.by": { copy: author, value: doc.name } }
  shelves:
    relations: { books: { path: "books[].id", to: books } }
    derive: { "books[].by": { copy: books, value: doc.info.by } }
`,
    documents: { authors: { a1: { name: 'George Eliot' } }, books: { b1: { author: 'a1' } }, shelves: { s1: { books: [{ id: 'b1' }] } } },
  },
}, async ({ tab, page }) => {
  await tab.open('#/shelves/s1', 'shelves/s1');
  await button(page, 'Origin of /books/0/by').click();
  const chain = region(page, 'Origin').getByRole('list', { name: 'Chain', exact: true }).getByRole('listitem');
  await chain.nth(2).waitFor();
  assert.deepEqual((await chain.allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim()), ['shelves/s1 /books/0/by', 'copied by shelves.books[].by from books/b1 /info/by', 'copied by books.info.by from authors/a1 /name']);
  await accessible(page);
});

scenario('A request is copied as JSON, curl, Go and JavaScript, for reads and writes', { data: { documents: { notes: { d: '{"id":"d","n":2.50}' } } }, context: { permissions: ['clipboard-read', 'clipboard-write'] } }, async ({ store, tab, page }) => {
  const copied = async (/** @type {string} */ form, where = page.locator('main')) => {
    await where.getByRole('button', { name: 'Copy as', exact: true }).click();
    await where.getByRole('button', { name: 'Copy as ' + form, exact: true }).click();
    await page.getByText(`Copied as ${form}.`, { exact: true }).waitFor();
    return page.evaluate(() => navigator.clipboard.readText());
  };
  await tab.open('#/notes/d', 'notes/d');
  const address = store.url + '/v1/notes/d';
  assert.match(await copied('JSON'), /^\{"id":"d","n":2\.50/);
  assert.equal(await copied('curl'), `curl -sS '${address}'`);
  assert.match(await copied('Go'), new RegExp(`http.NewRequestWithContext\\(ctx, "GET", "${address}", nil\\)`));
  const script = await copied('JavaScript');
  assert.equal(script.split('\n')[0], `const response = await fetch("${address}");`);
  await page.getByRole('button', { name: 'Copy as', exact: true }).click();
  await accessible(page);
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Copy as curl', exact: true }).waitFor({ state: 'detached' });

  await button(page, 'Delete').click();
  const dialog = page.getByRole('dialog', { name: 'What this delete changes' });
  assert.match(await copied('curl', dialog), /^curl -sS -X DELETE -H 'If-Match: "[^']+"' 'http:\/\/[^']+\/v1\/notes\/d'$/);
  await dialog.getByRole('button', { name: 'Copy as', exact: true }).click();
  await page.keyboard.press('Escape'); // closes the menu, and not the dialog
  await dialog.getByRole('button', { name: 'Copy as curl', exact: true }).waitFor({ state: 'detached' });
  await dialog.getByRole('button', { name: 'Keep it', exact: true }).click();
});

scenario('Who may not write has no buttons for it, and who may not read the model is told what becomes of references', {
  data: {
    model: 'collections:\n  shelves: { access: { read: [clerk, read], create: [write], update: [clerk, write], delete: [clerk, write] } }\n  books: { access: { read: [clerk, read] }, relations: { shelf: { path: shelf, to: shelves, onDelete: keep } } }\n',
    documents: { shelves: { s1: {} }, books: { b1: { shelf: 's1' } } },
  },
  closed: true,
}, async ({ store, newTab }) => {
  const named = (/** @type {Page} */ page, /** @type {string} */ name) => page.locator('main').getByRole('link', { name, exact: true }).or(page.locator('main').getByRole('button', { name, exact: true }));
  for (const [role, shown] of /** @type {[string, string[]][]} */ ([['read', []], ['clerk', ['Edit', 'Delete']], ['write', ['Edit', 'Clone', 'Delete']]])) {
    const tab = await newTab();
    await tab.page.addInitScript((text) => sessionStorage.setItem('fanfold-key', text), await store.newKey(...(role === 'write' ? ['read', 'write'] : [role])));
    await tab.open('#/shelves/s1', 'shelves/s1');
    await region(tab.page, 'Referred to by').getByText('books').first().waitFor();
    for (const name of ['Edit', 'Clone', 'Delete']) assert.equal(await named(tab.page, name).count(), shown.includes(name) ? 1 : 0, `${name} for ${role}`);
    if (role !== 'clerk') continue;
    await button(tab.page, 'Delete').click();
    await tab.page.getByRole('dialog').getByText('1 document of books refers to it by shelf: their reference and what they copied stay.').waitFor();
    await button(tab.page, 'Keep it').click();
  }
});

scenario('The documents that refer to one open as a list', { data: 'bookshop', shared: true }, async ({ tab, page }) => {
  await tab.open('#/authors/samuel-clemens', 'authors/samuel-clemens');
  await page.getByRole('link', { name: 'List books by authors', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'books', exact: true }).waitFor();
  assert.equal(await page.getByRole('textbox', { name: 'Filter', exact: true }).inputValue(), 'doc.authors.exists(e1, e1.id == "samuel-clemens")');
  await page.getByRole('link', { name: 'tom-sawyer', exact: true }).waitFor();
  assert.equal(await page.getByRole('link', { name: 'adam-bede', exact: true }).count(), 0);
});

scenario('Documents that refer to one with an id of a blank, or of two numbers, are counted and listed', {
  data: {
    model: 'collections:\n  things: {}\n  notes: { relations: { about: { path: about, to: things } } }\n',
    documents: { things: { ' ': {}, '1,2': {} }, notes: { first: { about: ' ' }, second: { about: ' ' }, third: { about: '1,2' } } },
  },
}, async ({ tab, page }) => {
  for (const [id, ids] of /** @type {[string, string[]][]} */ ([['%20', ['first', 'second']], ['1%2C2', ['third']]])) {
    await tab.open(`#/things/${id}`);
    const referred = region(page, 'Referred to by');
    await referred.getByText(`: ${ids.length}`).waitFor();
    await button(page, 'Show notes by about').click();
    for (const one of ids) await referred.getByRole('link', { name: one, exact: true }).waitFor();
  }
});
