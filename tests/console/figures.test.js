// What the console takes, each beside its goal. These scenarios have the machine for themselves; they fail where something does
// not come, and where sizes are past their bounds. Times are printed: what else runs on a machine must not fail a test.
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { firstPaint, heapOf, ms, noteTasks, noteWhenShown, shownAt } from './lib/measure.js';
import { scenario } from './lib/scenario.js';
import { figure } from './lib/store.js';

const large = process.env.FANFOLD_MILLION !== undefined;

/** How often a time is measured: the middle one is told. */
const rounds = 5;

/** The middle one. @param {number[]} values */
const middle = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

/** Lines of NDJSON. @param {number} count @param {(n: number) => unknown} doc */
const lines = (count, doc) => Array.from({ length: count }, (_, n) => JSON.stringify(doc(n)) + '\n').join('');

/**
 * Imports many documents, some at a time.
 * @param {import('./lib/store.js').Store} store
 * @param {string} collection
 * @param {number} count
 * @param {(n: number) => unknown} doc
 */
async function importMany(store, collection, count, doc) {
  const step = 20_000;
  for (let from = 0; from < count; from += step) await store.import(collection, lines(Math.min(step, count - from), (n) => doc(from + n)));
}

scenario('The first page', { bare: true }, async ({ store, context }) => {
  const count = large ? 1_000_000 : 20_000;
  await importMany(store, 'books', count, (n) => ({ id: 'b' + n, title: 'Title ' + n }));
  const paints = [], lists = [], sides = [];
  for (let n = 0; n < rounds; n++) {
    const fresh = await /** @type {import('playwright-core').Browser} */ (context.browser()).newContext(); // an empty cache
    await noteWhenShown(fresh, { listed: 'table[aria-label="Collections"] tbody a', side: 'header nav a[href="#/books"]' });
    const page = await fresh.newPage();
    await page.goto(store.url + '/_console/');
    const { listed, side } = await shownAt(page, 'listed', 'side');
    lists.push(listed);
    sides.push(side);
    paints.push(await firstPaint(page));
    await fresh.close();
  }
  const of = ` with ${count.toLocaleString('en')} documents`;
  await figure('first contentful paint' + of, ms(middle(paints)), '300 ms');
  await figure('collections listed' + of, ms(middle(lists)), '600 ms');
  await figure('collections in the sidebar' + of, ms(middle(sides)), '600 ms');
});

const twenty = {
  model: `
collections:
  authors: {}
  books:
    relations: { authors: { path: "authors[].id", to: authors } }
    derive: { "authors[].name": { copy: authors, value: doc.name } }
`,
  documents: {
    authors: Object.fromEntries(Array.from({ length: 20 }, (_, n) => ['a' + n, { name: 'Author number ' + n }])),
    books: { b1: { title: 'A book of twenty', authors: Array.from({ length: 20 }, (_, n) => ({ id: 'a' + n, role: 'wrote chapter ' + n, note: 'x'.repeat(20) })) } },
  },
};

scenario('A document with twenty derived values', { data: twenty, bare: true }, async ({ context, tab, store }) => {
  const bytes = (await store.get('/v1/books/b1')).bytes.length;
  assert.ok(bytes > 1500 && bytes < 2500, `${bytes} bytes`);
  await noteWhenShown(context, { readable: 'section[aria-label="Document"] .json', marked: 'button[aria-label="Origin of /authors/19/name"]' });
  await tab.open('#/books/b1', 'books/b1'); // the modules are in the cache from here on
  await shownAt(tab.page, 'readable', 'marked');
  const readable = [], marked = [];
  for (let n = 0; n < rounds; n++) {
    await tab.page.goto('about:blank');
    await tab.open('#/', 'Collections');
    const began = await tab.page.evaluate(() => { const now = performance.now(); location.hash = '#/books/b1'; return now; });
    const shown = await shownAt(tab.page, 'readable', 'marked');
    readable.push(shown.readable - began);
    marked.push(shown.marked - began);
  }
  await figure(`a document of ${(bytes / 1000).toFixed(1)} kB with 20 derived values: readable`, ms(middle(readable)), '100 ms');
  await figure('its origins marked', ms(middle(marked)), '150 ms');
});

scenario('A rename with 10,000 copies arrives', { bare: true, data: { model: `
collections:
  authors: {}
  books:
    relations: { author: { path: authorId, to: authors } }
    derive: { authorName: { copy: author, value: doc.name } }
`, documents: { authors: { a1: { name: 'Thomas Andersen' } } } } }, async ({ store, tab, page }) => {
  await importMany(store, 'books', 10_000, (n) => ({ id: 'b' + n, authorId: 'a1' }));
  await tab.open('#/authors/a1?edit');
  await page.getByRole('textbox', { name: 'Document', exact: true }).fill('{"name":"Thomas Anderson"}');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'What this save changes' });
  await dialog.getByText('10,000 derived changes').first().waitFor();
  const answered = page.waitForResponse((r) => ['PUT', 'PATCH'].includes(r.request().method()) && !r.url().includes('dryRun'));
  await dialog.getByRole('button', { name: 'Save now' }).click();
  await (await answered).finished();
  const began = performance.now();
  await page.getByRole('region', { name: 'Arrival' }).getByText('10,000 of 10,000').waitFor();
  await figure('rename with 10,000 copies: from the answer to a complete “Arrival”', ms(performance.now() - began), '1 s');
  assert.equal((await store.get('/v1/books/b9999')).json.authorName, 'Thomas Anderson');
});

scenario('A target with many holders opens as one with three', { bare: true, data: { model: `
collections:
  authors: { derive: { countOfBooks: { count: books.author } } }
  books:
    relations: { author: { path: authorId, to: authors } }
    derive: { authorName: { copy: author, value: doc.name } }
`, documents: { authors: { few: { name: 'Few' }, many: { name: 'Many' } } } } }, async ({ store, tab, page }) => {
  const count = large ? 300_000 : 20_000;
  await importMany(store, 'books', count, (n) => ({ id: 'b' + n, authorId: n < 3 ? 'few' : 'many' }));
  /** @type {Record<string, { took: number, asked: number, bytes: number }>} */
  const of = {};
  await tab.open('#/authors/few'); // the modules are in the cache from here on
  for (const id of ['few', 'many']) {
    await tab.open('#/', 'Collections');
    const since = await page.evaluate(() => performance.now());
    const began = performance.now();
    await tab.open('#/authors/' + id, 'authors/' + id);
    const carried = page.getByRole('region', { name: 'Carried by' });
    await carried.getByText((id === 'few' ? 3 : count - 3).toLocaleString('en')).first().waitFor();
    await page.getByRole('region', { name: 'Referred to by' }).getByText((id === 'few' ? 3 : count - 3).toLocaleString('en')).first().waitFor();
    const took = performance.now() - began;
    const answers = await page.evaluate((since) => performance.getEntriesByType('resource').map((entry) => /** @type {PerformanceResourceTiming} */ (entry))
      .filter(({ name, startTime }) => startTime >= since && name.includes('/v1') && !name.includes('feed=') && !name.includes('_model')).map((entry) => entry.decodedBodySize), since);
    of[id] = { took, asked: answers.length, bytes: answers.reduce((a, b) => a + b, 0) };
  }
  assert.ok(of.many.asked < 15 && of.many.bytes < 50_000, JSON.stringify(of)); // no holder is asked for, nor listed
  await figure(`a target with ${(count - 3).toLocaleString('en')} holders: opened`, ms(of.many.took), `${ms(of.few.took)}, as with 3`);
});

scenario('A document of nearly 2 MiB is readable', { bare: true }, async ({ store, context, tab, page }) => {
  const member = (/** @type {number} */ n) => `"member${n}":{"text":"${'word '.repeat(20)}","number":${n}.50,"list":[1,2,3]}`;
  let text = '{' + Array.from({ length: 13_000 }, (_, n) => member(n)).join(',') + '}';
  assert.ok(text.length > 1_900_000 && text.length < 2 << 20, String(text.length));
  await store.put('books', 'big', text);
  await noteWhenShown(context, { readable: 'section[aria-label="Document"] .json' });
  await tab.open('#/books/none');
  const longest = await noteTasks(page);
  await page.goto('about:blank');
  await tab.open('#/', 'Collections');
  const began = await page.evaluate(() => { const now = performance.now(); location.hash = '#/books/big'; return now; });
  const shown = await shownAt(page, 'readable');
  await page.getByRole('region', { name: 'Document' }).getByText('member0').first().waitFor();
  await figure('a document of 1.9 MB: readable', ms(shown.readable - began), '1 s');
  await figure('its longest task (0: below 50 ms)', ms(await longest()), '100 ms');
});

scenario('A feed of 1,000 rows a second', { bare: true }, async ({ store, tab, page }) => {
  const seconds = large ? 60 : 5;
  const longest = await noteTasks(page);
  await tab.open('#/_changes?since=now', 'Changes');
  await page.getByRole('list', { name: 'Changes' }).waitFor({ state: 'attached' });
  const began = performance.now();
  for (let n = 0; n < seconds; n++) {
    await store.import('books', lines(1000, (m) => ({ id: `b${n}-${m}`, title: 'Title ' + m })));
    await delay(Math.max(0, began + (n + 1) * 1000 - performance.now())); // the rate is what is measured
  }
  await page.getByRole('list', { name: 'Changes' }).getByText(`b${seconds - 1}-999`).first().waitFor();
  const heap = await heapOf(page);
  await figure(`1,000 rows a second for ${seconds} s: the longest task (0: below 50 ms)`, ms(await longest()), '100 ms');
  await figure('its heap', (heap / 1e6).toFixed(1) + ' MB', '150 MB');
  assert.ok(heap < 150e6, `${heap}`);
  assert.ok(await page.getByRole('list', { name: 'Changes' }).getByRole('listitem').count() <= 2000);
});

scenario('A list of documents scrolls', { bare: true }, async ({ store, tab, page }) => {
  const count = large ? 1_000_000 : 20_000;
  await importMany(store, 'books', count, (n) => ({ id: 'b' + n, title: 'Title ' + n, year: 1900 + (n % 100), tags: ['a', 'b'], of: { page: n } }));
  await tab.open('#/books', 'books');
  await page.getByRole('table', { name: 'Documents', exact: true }).getByRole('link').first().waitFor();
  const { rate, longest, rows, most } = await page.evaluate(async () => {
    const box = /** @type {HTMLElement} */ (document.querySelector('.grid-box'));
    /** @type {number[]} */
    const times = [];
    let most = 0;
    for (let n = 0; n < 400; n++) {
      times.push(await new Promise(requestAnimationFrame));
      box.scrollTop += 120; // five rows a frame, some three hundred a second
      most = Math.max(most, box.querySelectorAll('tbody tr').length);
    }
    const gaps = times.slice(1).map((t, i) => t - times[i]).sort((a, b) => a - b);
    return { rate: (1000 * gaps.length) / (times[times.length - 1] - times[0]), longest: gaps[Math.floor(0.99 * gaps.length)], rows: box.scrollTop / 24, most };
  });
  assert.ok(most < 80, `${most} rows are elements`);
  assert.ok(rows > 1000, `it came to row ${rows}`);
  const of = ` of ${count.toLocaleString('en')} documents`;
  await figure('frames a second while a list scrolls' + of, rate.toFixed(0), '50');
  await figure('99 of 100 frames of a list' + of, ms(longest), '34 ms');
});
