// The model (points 19 and 20 of the console): tables, graph, editor, preview, what applies it, and its preparation.
import assert from 'node:assert/strict';
import { accessible, golden } from './lib/checks.js';
import { codeIn, codeIs, retype, selectedIn } from './lib/editing.js';
import { scenario } from './lib/scenario.js';
import { figure } from './lib/store.js';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('./lib/store.js').Store} Store */

const shop = { data: 'bookshop', shared: true };

/** @param {Page} page */
const box = (page) => page.getByRole('textbox', { name: 'Model', exact: true });

/** @param {Page} page */
const graph = (page) => page.getByRole('group', { name: 'Model graph' });

/** @param {Page} page @param {string} name */
const press = (page, name) => page.getByRole('button', { name, exact: true }).click();

/** @param {Page} page */
const apply = (page) => page.getByRole('button', { name: 'Apply', exact: true });

/** @param {Page} page */
const previewed = (page) => page.getByRole('region', { name: 'What this model changes' });

/** Waits until the text box has the model. @param {import('./lib/tab.js').Tab} tab @param {string} [place] */
async function edit(tab, place = '#/_model') {
  await tab.open(place, 'Model');
  await box(tab.page).waitFor();
  return codeIn(box(tab.page));
}

/** The model of a server, as text. @param {Store} store */
const modelOf = async (store) => (await store.get('/v1/_model', { Accept: 'application/yaml' })).text;

/** Types another text in the place of one that the model has. @param {Page} page @param {...[string, string]} changes */
async function replace(page, ...changes) {
  let text = await codeIn(box(page));
  for (const [was, is] of changes) {
    assert.ok(text.includes(was), `${was} is not in ${text}`);
    text = text.replace(was, is);
  }
  await retype(box(page), text);
  return text;
}

/** The requests of a tab that sent a model. @param {import('./lib/tab.js').Tab} tab */
const sent = (tab) => tab.requests.filter((request) => request.method() === 'PUT' && new URL(request.url()).pathname.endsWith('/v1/_model'));

scenario('The tables are there before the graph, whose nodes are links', shop, async ({ tab, page }) => {
  let draw = () => {};
  const held = new Promise((resolve) => { draw = () => resolve(undefined); });
  await page.route(/\/dagre-\w+\.js$/, async (route) => { await held; await route.continue(); });
  await tab.open('#/_model', 'Model');
  await page.getByRole('table', { name: 'Relations' }).getByRole('row', { name: 'books publisher pub-id publishers keep publishers/chapman-hall: 8 2', exact: true }).waitFor();
  const rules = page.getByRole('table', { name: 'Rules' });
  await rules.getByRole('row', { name: "books authors[].name copy authors by authors doc.firstName + ' ' + doc.lastName", exact: true }).waitFor();
  await rules.getByRole('row', { name: 'books countOfGoodReviews count reviews by book where doc.stars >= 4', exact: true }).waitFor();
  assert.equal(await graph(page).getByRole('link').count(), 0);
  draw();
  await graph(page).getByRole('link', { name: 'authors, 61 documents', exact: true }).waitFor();
  assert.equal(await graph(page).getByRole('link').count(), 7);
  await graph(page).getByRole('img', { name: 'books.authors to authors, 4 rules, 8 refer to authors/charles-dickens', exact: true }).waitFor();
  await graph(page).getByRole('img', { name: /^portfolios\.stock to stocks, no rule, \d refers? to stocks\/.+$/ }).waitFor();
  const took = await page.evaluate(() => performance.getEntriesByName('model graph')[0].duration);
  await figure('graph of 7 collections and 5 relations laid out', took.toFixed(0) + ' ms', '100 ms');
  assert.equal(tab.requests.filter((request) => /\/dagre-\w+\.js$/.test(request.url())).length, 1);
  await graph(page).getByRole('link', { name: 'books, 121 documents', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'books', exact: true }).waitFor();
});

const withFunctions = {
  model: `
collections: { seats: { trigger: check }, shows: {} }
functions:
  check: { source: "export default () => {}" }
  reserve:
    call: [clerk, desk]
    authority: model
    reads: [shows, seats]
    source: |
      export default (ctx, args) => {
        const tag = "<b>\u202e"
        return null
      }
`,
};

scenario('Functions are told with who calls them, what they read, and their sources', { data: withFunctions }, async ({ store, tab, page }) => {
  await edit(tab);
  const functions = page.getByRole('table', { name: 'Functions' });
  await functions.getByRole('row', { name: 'check write seats 1', exact: true }).waitFor();
  await functions.getByRole('row', { name: 'reserve clerk, desk may do everything shows, seats 4', exact: true }).waitFor();
  await page.getByText('Source of reserve').click();
  await page.getByRole('code').getByText('const tag = "<b>U+202E"').waitFor();
  await accessible(page);
  await golden(page.getByRole('main'), 'model-functions');

  await replace(page, ['call:\n            - clerk\n', 'call:\n'], ['        trigger: check\n', '        checks: {}\n'], ['return null', 'return 1'], ['functions:\n', 'functions:\n    late: { source: "export default () => 1" }\n']);
  await press(page, 'Preview');
  await previewed(page).waitFor();
  const differences = page.getByRole('list', { name: 'Differences' }).getByRole('listitem');
  for (const said of ['New: function late', 'Gone: trigger of seats', 'Changed: call of function reserve', 'Changed: source of function reserve line 3 is "  return 1", was "  return null"']) {
    await differences.filter({ hasText: said }).waitFor();
  }
  assert.equal(await differences.count(), 4);
  assert.deepEqual(await page.getByRole('list', { name: 'What goes' }).getByRole('listitem').allInnerTexts(), ['trigger of seats']);
  assert.equal((await store.get('/v1/_model')).json.collections.seats.trigger, 'check');
});

scenario('The page of the model is accessible, and as wide as the window', shop, async ({ tab, page }) => {
  await edit(tab);
  await graph(page).getByRole('link', { name: 'authors, 61 documents', exact: true }).waitFor();
  await page.getByRole('row', { name: 'authors books ids books by authors', exact: true }).waitFor();
  await accessible(page);
  await golden(page.getByRole('main'), 'model');
  for (const width of [640, 360]) {
    await page.setViewportSize({ width, height: 700 });
    await tab.noSidewaysScrolling();
  }
});

scenario('Only the page of the model loads the layout of graphs', shop, async ({ tab, page }) => {
  await tab.open('#/', 'Collections');
  await page.getByRole('table', { name: 'Collections' }).waitFor();
  assert.equal(tab.requests.filter((request) => /\/dagre-\w+\.js$/.test(request.url())).length, 0);
});

const failing = {
  model: `
collections:
  countries: {}
  people:
    relations: { country: { path: country, to: countries } }
    derive:
      countryName: { copy: country, value: doc.name }
      share:       { copy: country, value: 10 / (size(doc.name) - 7) }
      tenth:       { value: 10 / int(doc.n) }
`,
  documents: { countries: { at: { name: 'Austria' } } },
};

scenario('What fails and what is hot is marked by its form', { data: failing }, async ({ store, tab, page }) => {
  await store.import('people', Array.from({ length: 1200 }, (_, n) => JSON.stringify({ id: 'p' + n, country: 'at', n }) + '\n').join(''));
  await tab.open('#/_model', 'Model');
  const rules = page.getByRole('table', { name: 'Rules' });
  const row = rules.getByRole('row').filter({ hasText: 'size(doc.name)' });
  await row.getByRole('link', { name: 'countries/at', exact: true }).first().waitFor();
  await rules.getByRole('row').filter({ hasText: 'tenth' }).getByRole('link', { name: 'people/p0', exact: true }).first().waitFor();
  await graph(page).getByRole('link', { name: 'country · 2 rules · hot, 1,200 to one, people.country to countries, 1 failing, 1,200 refer to countries/at', exact: true }).waitFor();
  await graph(page).getByRole('link', { name: 'people, 1,200 documents, 2 failing', exact: true }).waitFor();
  await graph(page).getByRole('link', { name: 'countries, 1 document', exact: true }).waitFor();
  await accessible(page);
});

scenario('An edge is hot by its largest target, to which it leads', { data: failing }, async ({ store, tab, page }) => {
  await store.import('countries', Array.from({ length: 30 }, (_, n) => JSON.stringify({ id: 'c' + n, name: 'Country ' + n }) + '\n').join(''));
  await store.import('people', Array.from({ length: 1400 }, (_, n) => JSON.stringify({ id: 'p' + n, country: n < 1100 ? 'c7' : 'c' + (n % 7), n }) + '\n').join(''));
  await tab.open('#/_model', 'Model');
  const edge = graph(page).getByRole('link', { name: 'country · 2 rules · hot, 1,100 to one, people.country to countries, 1,100 refer to countries/c7', exact: true });
  await edge.waitFor();
  assert.equal(await edge.locator('title').textContent(), '1,100 refer to countries/c7');
  await edge.locator('.label').filter({ hasText: 'hot, 1,100 to one' }).waitFor();
  await graph(page).getByText(/1,000 documents or more take their values from one, to which it leads\.$/).waitFor();
  const cell = page.getByRole('table', { name: 'Relations' }).getByRole('row').filter({ hasText: 'country' }).getByRole('cell').nth(5);
  assert.equal(await cell.textContent(), 'countries/c7: 1,100');
  await accessible(page);
  await edge.focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'countries/c7', level: 1 }).waitFor();
  await page.goBack();
  await cell.getByRole('link', { name: 'countries/c7', exact: true }).click();
  await page.getByRole('heading', { name: 'countries/c7', level: 1 }).waitFor();
});

/** A model of a centre with many around it, and of a chain. @param {number} around @param {number} chain */
const wide = (around, chain) => ({ collections: {
  centre: {},
  ...Object.fromEntries(Array.from({ length: around }, (_, n) => ['ray' + n, { relations: { centre: { path: 'centre', to: 'centre' } }, derive: { name: { copy: 'centre', value: 'doc.name' } } }])),
  ...Object.fromEntries(Array.from({ length: chain }, (_, n) => ['link' + n, n === 0 ? {} : { relations: { before: { path: 'before', to: 'link' + (n - 1) } } }])),
} });

scenario('Of more than 40 collections one is drawn with at most 39 neighbours', {}, async ({ store, tab, page }) => {
  await store.want('PUT', '/v1/_model', JSON.stringify(wide(50, 49)));
  await tab.open('#/_model', 'Model');
  const around = page.getByRole('combobox', { name: 'Around', exact: true });
  await graph(page).getByRole('link', { name: 'centre, 0 documents', exact: true }).waitFor();
  assert.equal(await around.inputValue(), 'centre');
  assert.equal(await graph(page).getByRole('link').count(), 40);
  await graph(page).getByText('11 more have no place').waitFor();
  const took = await page.evaluate(() => performance.getEntriesByName('model graph')[0].duration);
  await figure('graph of 40 collections and 39 relations laid out', took.toFixed(0) + ' ms', '400 ms');
  await around.selectOption('link7');
  await graph(page).getByRole('link', { name: 'link7, 0 documents', exact: true }).waitFor();
  await graph(page).getByRole('link', { name: 'centre, 0 documents', exact: true }).waitFor({ state: 'detached' });
  assert.deepEqual(await graph(page).getByRole('link').evaluateAll((links) => links.map((link) => link.getAttribute('href')).sort()), ['#/link6', '#/link7', '#/link8']);
  assert.equal(new URL(page.url()).hash, '#/_model?collection=link7');
  await page.goBack();
  await graph(page).getByRole('link', { name: 'centre, 0 documents', exact: true }).waitFor();
  assert.equal(await page.getByRole('table', { name: 'Relations' }).getByRole('row').count(), 1 + 50 + 48);
  await page.setViewportSize({ width: 360, height: 700 });
  await tab.noSidewaysScrolling();
});

scenario('Mistakes are told by line and column', { data: 'bookshop', shared: true }, async ({ tab, page }) => {
  const initial = await edit(tab);
  await retype(box(page), 'collections:\n  books: { relations: { a: { path: a, to: authrs } } }\n');
  await press(page, 'Preview');
  const mistakes = page.getByRole('list', { name: 'Mistakes' }).getByRole('listitem');
  await mistakes.filter({ hasText: /^line 2, column \d+:.*unknown collection "authrs"/ }).waitFor();
  assert.equal(await mistakes.count(), 1);
  await mistakes.getByRole('button').click();
  assert.match(await selectedIn(box(page)), /^to: authrs/);
  await accessible(page);
  await retype(box(page), 'collections:\n  a: [\n b');
  await press(page, 'Preview');
  await mistakes.filter({ hasText: /^line 3, column 3:.*not YAML/ }).waitFor();
  assert.ok(await apply(page).isDisabled());
  await retype(box(page), initial);
});

scenario('A model is previewed in words, and only the text that was previewed is applied', { data: 'bookshop' }, async ({ store, tab, page }) => {
  await store.want('PATCH', '/v1/_model', '{"collections":{"publishers":{"derive":{"countOfBooks":{"publish":true}}}}}', { 'Content-Type': 'application/merge-patch+json' });
  const before = await edit(tab);
  assert.equal(before, await modelOf(store));
  const etag = (await store.get('/v1/_model')).headers.get('ETag');
  assert.ok(await apply(page).isDisabled());
  const text = await replace(page,
    ['            countOfGoodReviews:\n', '            goodTitle: { value: doc.titel }\n            countOfGreatReviews:\n'],
    ['            byLanguage:\n', '            byTitle: [title]\n            byYear:\n'],
    ['    publishers:\n', '    publishers:\n        access: { read: [everyone], write: [editors] }\n']);
  assert.ok(await apply(page).isDisabled());
  await press(page, 'Preview');
  await previewed(page).waitFor();
  const differences = page.getByRole('list', { name: 'Differences' }).getByRole('listitem');
  await differences.filter({ hasText: 'New: rule books.countOfGreatReviews' }).waitFor();
  await differences.filter({ hasText: 'Gone: rule books.countOfGoodReviews' }).waitFor();
  await differences.filter({ hasText: 'New: index books.byTitle' }).waitFor();
  const rules = page.getByRole('table', { name: 'By rule' });
  await rules.getByRole('row', { name: 'books.countOfGoodReviews removed 121', exact: true }).waitFor();
  await rules.getByRole('row', { name: 'books.countOfGreatReviews new 121 where: none of 12', exact: true }).waitFor();
  const without = rules.getByRole('row').filter({ hasText: 'goodTitle' });
  assert.match(await without.innerText(), /value: all 121, as .* there is no member "titel"; did you mean "title"/);
  assert.match(await without.getByRole('link').getAttribute('href') ?? '', /^#\/books\//);
  assert.match(await page.getByRole('table', { name: 'Indexes' }).getByRole('row').filter({ hasText: 'books.byTitle' }).innerText(), /new\s+title\s+121\s+[1-9][\d,]*$/);
  const access = page.getByRole('list', { name: 'Access' }).getByRole('listitem');
  await access.filter({ hasText: 'Opens publishers: everyone may read it now' }).waitFor();
  await access.filter({ hasText: 'Closes publishers: role write may not write it any more' }).waitFor();
  await accessible(page);
  await golden(previewed(page), 'model-preview');

  const remove = page.getByRole('checkbox', { name: 'Remove 2 rules and guards', exact: true });
  assert.deepEqual(await page.getByRole('list', { name: 'What goes' }).getByRole('listitem').allInnerTexts(), ['rule books.countOfGoodReviews', 'index books.byLanguage']);
  assert.ok(await apply(page).isDisabled());
  await remove.check();
  assert.ok(await apply(page).isEnabled());
  await retype(box(page), text + '\n'); // another text than was previewed
  assert.ok(await apply(page).isDisabled());
  await page.getByRole('status').filter({ hasText: 'The text is another one than was previewed' }).waitFor();
  await retype(box(page), text);
  assert.ok(await apply(page).isEnabled());
  assert.equal(await modelOf(store), before);
  await apply(page).click();
  await page.getByRole('status').filter({ hasText: 'It applies since' }).waitFor();
  const requests = sent(tab);
  assert.equal(requests.length, 2);
  for (const request of requests) assert.equal((await request.allHeaders())['if-match'], etag);
  assert.ok(!requests.some((request) => request.url().includes('allowRemoval')));
  assert.equal(requests[1].postData(), requests[0].postData());
  const after = await modelOf(store);
  assert.notEqual(after, before);
  assert.deepEqual(Object.keys((await store.get('/v1/_model')).json.collections.books.indexes), ['byAuthor', 'byTitle', 'byYear']);
  await codeIs(box(page), after); // the API's text of it
  await page.getByRole('table', { name: 'Rules' }).getByRole('row').filter({ hasText: 'doc.titel' }).waitFor();
});

scenario('A model that applies before its answer comes is no model of others', { data: 'bookshop' }, async ({ store, tab, page }) => {
  await edit(tab);
  await replace(page, ['            byLanguage:\n', '            byTitle: [title]\n            byLanguage:\n']);
  await press(page, 'Preview');
  await previewed(page).waitFor();
  let answer = () => {};
  const held = new Promise((resolve) => { answer = () => resolve(undefined); });
  await page.route('**/v1/_model', async (route) => {
    if (route.request().method() !== 'PUT') return route.continue();
    const response = await route.fetch();
    await held;
    return route.fulfill({ response });
  });
  const isModel = (/** @type {import('playwright-core').Response} */ r) => r.request().method() === 'GET' && r.url().endsWith('/v1/_model') && r.status() === 200;
  const come = page.waitForResponse(isModel); // the page asks every few seconds whether the model is still the same
  await apply(page).click();
  await (await come).finished();
  await page.getByRole('table', { name: 'Relations' }).waitFor();
  // One more look at the node, and the page has drawn what it knows.
  await page.waitForResponse((r) => r.request().method() === 'GET' && r.url().endsWith('/v1/_model') && r.status() === 304);
  assert.equal(await page.getByText('Changed meanwhile').count(), 0);
  answer();
  await page.getByRole('status').filter({ hasText: 'It applies since' }).waitFor();
  await codeIs(box(page), await modelOf(store)); // the API's text of it
  await replace(page, ['            byTitle:\n', '            byYear: [year]\n            byTitle:\n']);
  await press(page, 'Preview');
  await previewed(page).getByText('1 difference; 0 documents of other values').waitFor();
  assert.equal(await page.getByText('Changed meanwhile').count(), 0);
});

scenario('What stands in the way of a model is told before it is applied', { data: 'bookshop', shared: true }, async ({ store, tab, page }) => {
  const before = await edit(tab);
  await replace(page, ['    publishers:\n', '    publishers:\n        schema: { type: object, required: [isbn] }\n']);
  await press(page, 'Preview');
  const misfits = page.getByRole('list', { name: 'Documents that do not fit' }).getByRole('listitem');
  assert.match(await misfits.first().innerText(), /publishers\/.*missing property 'isbn'/);
  assert.ok(await apply(page).isDisabled());
  await accessible(page);
  await retype(box(page), before);
  await press(page, 'Preview');
  await previewed(page).getByText('Nothing: the model that applies says the same.').waitFor();
  assert.ok(await apply(page).isDisabled());
  assert.equal(await modelOf(store), before);
});

scenario('A model that changed meanwhile is told, and nothing typed is lost', { data: 'bookshop' }, async ({ store, tab, page }) => {
  await edit(tab);
  const mine = await replace(page, ['    stocks: {}\n', '    stocks:\n        unique: [mine]\n']);
  await press(page, 'Preview');
  await previewed(page).waitFor();
  await store.want('PATCH', '/v1/_model', '{"collections":{"theirs":{}}}', { 'Content-Type': 'application/merge-patch+json' });
  const alert = page.getByRole('alert').filter({ hasText: 'Changed meanwhile' });
  await alert.waitFor();
  await accessible(page);
  assert.equal(await codeIn(box(page)), mine);
  assert.ok(await apply(page).isDisabled());
  await press(page, 'Preview'); // against theirs
  await page.getByRole('list', { name: 'Differences' }).getByRole('listitem').filter({ hasText: 'Gone: collection theirs' }).waitFor();
  await alert.waitFor({ state: 'detached' });
  await store.want('PATCH', '/v1/_model', '{"collections":{"others":{}}}', { 'Content-Type': 'application/merge-patch+json' });
  await alert.waitFor();
  await alert.getByRole('button', { name: 'Take theirs', exact: true }).click();
  assert.equal(await codeIn(box(page)), await modelOf(store));
  await alert.waitFor({ state: 'detached' });
});

scenario('An open page of the model follows it', { data: 'bookshop' }, async ({ store, tab, page }) => {
  await edit(tab);
  await graph(page).getByRole('link', { name: 'stocks, 2 documents', exact: true }).waitFor();
  await store.put('stocks', '3', '{"id":"3","name":"new"}');
  await graph(page).getByRole('link', { name: 'stocks, 3 documents', exact: true }).waitFor();
  await store.want('PATCH', '/v1/_model', '{"collections":{"portfolios":{"derive":{"names":{"copy":"stock","value":"doc.id"}}}}}', { 'Content-Type': 'application/merge-patch+json' });
  await page.getByRole('table', { name: 'Rules' }).getByRole('row', { name: 'portfolios names copy stocks by stock doc.id' }).waitFor();
  await graph(page).getByRole('img', { name: 'portfolios.stock to stocks, 1 rule' }).waitFor();
  await codeIs(box(page), await modelOf(store));
});

scenario('A model changed under an open document', { data: 'bookshop' }, async ({ store, tab, page }) => {
  await tab.open('#/reviews', 'reviews');
  const id = (await store.get('/v1/reviews?limit=1')).json.items[0].id;
  await tab.open('#/reviews/' + encodeURIComponent(id), 'reviews/' + id);
  await page.getByRole('button', { name: 'Origin of /bookTitle', exact: true }).waitFor();
  await store.want('PATCH', '/v1/_model', '{"collections":{"reviews":{"derive":{"bookYear":{"copy":"book","value":"doc.year"}}}}}', { 'Content-Type': 'application/merge-patch+json' });
  await page.getByRole('button', { name: 'Origin of /bookYear', exact: true }).waitFor();
});

scenario('A suggestion is merged into the text, and applied', { data: 'bookshop' }, async ({ store, tab, page }) => {
  for (const [collection, name] of [['books', 'byTitle'], ['stocks', 'byName'], ['elsewhere', 'by-x']]) {
    const patch = JSON.stringify({ collections: { [collection]: { indexes: { [name]: ['title', '-year'] } } } });
    await tab.open('#/', 'Collections');
    await edit(tab, '#/_model?suggest=' + encodeURIComponent(patch));
    await page.getByText('The suggestion stands in the text').waitFor();
    const differences = page.getByRole('list', { name: 'Differences' }).getByRole('listitem');
    await differences.filter({ hasText: `New: index ${collection}.${name}` }).waitFor();
    assert.equal(await differences.count(), collection === 'elsewhere' ? 2 : 1);
    await apply(page).click();
    await page.getByRole('status').filter({ hasText: 'It applies since' }).waitFor();
    assert.equal(new URL(page.url()).hash, '#/_model');
    assert.deepEqual((await store.get('/v1/_model')).json.collections[collection].indexes[name], ['title', '-year']);
  }
});

scenario('A suggestion is merged into any text, and what it takes away has to be meant', { data: 'bookshop', shared: true }, async ({ store, tab, page }) => {
  const before = await modelOf(store);
  await edit(tab, '#/_model?suggest=' + encodeURIComponent('{"collections":{"stocks":null,"portfolios":null}}'));
  await page.getByText('The suggestion stands in the text').waitFor();
  assert.doesNotMatch(await codeIn(box(page)), /stocks|portfolios/);
  assert.match(await codeIn(box(page)), /countOfGoodReviews/);
  await page.getByRole('list', { name: 'Differences' }).getByRole('listitem').filter({ hasText: 'Gone: collection stocks' }).waitFor();
  assert.ok(await apply(page).isDisabled());
  assert.equal(await modelOf(store), before);
});

scenario('A suggestion that meets another model than the text is made from is merged into that one', { data: 'bookshop' }, async ({ store, tab, page }) => {
  let first = true;
  await page.route('**/v1/_model?dryRun=true', async (route) => {
    if (first) await store.want('PATCH', '/v1/_model', '{"collections":{"theirs":{}}}', { 'Content-Type': 'application/merge-patch+json' });
    first = false;
    await route.continue();
  });
  await edit(tab, '#/_model?suggest=' + encodeURIComponent('{"collections":{"mine":{}}}'));
  await page.getByText('The suggestion stands in the text').waitFor();
  assert.match(await codeIn(box(page)), /mine: \{\}[^]*theirs: \{\}|theirs: \{\}[^]*mine: \{\}/);
});

scenario('A suggestion that cannot be merged stands beside, with the reason', { data: 'bookshop', shared: true }, async ({ store, tab, page }) => {
  const unknown = '{"collections":{"books":{"relations":{"a":{"path":"a","to":"authrs"}}}}}';
  await edit(tab, '#/_model?suggest=' + encodeURIComponent(unknown));
  await page.getByLabel('Suggestion').waitFor();
  assert.equal(await page.getByLabel('Suggestion').innerText(), unknown);
  await page.getByRole('alert').filter({ hasText: 'unknown collection "authrs"' }).waitFor();
  assert.equal(await codeIn(box(page)), await modelOf(store));
  await edit(tab, '#/_model?suggest=no-json');
  await page.getByRole('alert').filter({ hasText: 'JSON' }).waitFor();
  await edit(tab, '#/_model?suggest=' + encodeURIComponent(JSON.stringify({ collections: { a: { indexes: { b: ['x'.repeat(5000)] } } } })));
  await page.getByText('longer than a place may be').waitFor();
});

scenario('A preparation is shown with its progress, and withdrawn', { data: 'bookshop', held: true }, async ({ store, tab, page }) => {
  await page.route('**/v1/_model', (route) => (route.request().method() === 'PUT' ? route.continue({ url: route.request().url() + '?background=true' }) : route.continue()));
  const before = await edit(tab);
  await replace(page, ['    stocks: {}\n', '    stocks:\n        derive: { twice: { value: doc.name + doc.name } }\n']);
  await press(page, 'Preview');
  await previewed(page).waitFor();
  await apply(page).click();
  const preparation = page.getByRole('region', { name: 'Preparation' });
  await preparation.waitFor();
  await store.get('/v1/_model/_pending');
  await preparation.getByText('Ready to apply').waitFor();
  await accessible(page);
  await preparation.getByRole('button', { name: 'Withdraw', exact: true }).click();
  await page.getByText('The model that was being prepared does not come').waitFor();
  assert.equal((await store.send('GET', '/v1/_model/_pending')).status, 404);
  assert.equal(await modelOf(store), before);

  await press(page, 'Preview');
  await previewed(page).waitFor();
  await apply(page).click();
  await preparation.getByText('Ready to apply').waitFor();
  await store.release();
  await preparation.waitFor({ state: 'detached' });
  await page.getByRole('table', { name: 'Rules' }).getByRole('row', { name: 'stocks twice computed itself' }).waitFor();
  assert.ok('twice' in (await store.get('/v1/_model')).json.collections.stocks.derive);
});

scenario('Who may not change the model has no editor, and who may not read it is told why', { data: 'bookshop', closed: true }, async ({ store, newTab }) => {
  /** Opens the page as whoever has some roles. @param {...string} roles */
  const open = async (...roles) => {
    const tab = await newTab();
    await tab.page.addInitScript((text) => sessionStorage.setItem('fanfold-key', text), await store.newKey(...roles));
    await tab.open('#/_model', 'Model');
    return tab.page;
  };
  for (const roles of [['read'], ['read', 'monitor']]) {
    const page = await open(...roles);
    await graph(page).getByRole('link', { name: 'books, 121 documents', exact: true }).waitFor();
    await page.getByRole('table', { name: 'Rules' }).getByRole('columnheader', { name: 'Error', exact: true }).waitFor({ state: roles.length === 2 ? 'visible' : 'detached' });
    assert.equal(await box(page).count(), 0);
    assert.equal(await page.getByRole('button', { name: /Preview|Apply|Withdraw/ }).count(), 0);
  }
  const page = await open('nobody');
  const alert = page.getByRole('alert');
  await alert.waitFor();
  assert.match(await alert.innerText(), /read/);
  assert.equal(await page.getByRole('table').count(), 0);
});

scenario('Text that is not applied is not left without a question', { data: 'bookshop', shared: true }, async ({ tab, page }) => {
  await edit(tab);
  await replace(page, ['    stocks: {}\n', '    stocks: {}\n    mine: {}\n']);
  const asked = new Promise((resolve) => { page.once('dialog', async (dialog) => { resolve(dialog.message()); await dialog.dismiss(); }); });
  await page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: 'Collections', exact: true }).click();
  assert.match(String(await asked), /not saved/);
  assert.match(await codeIn(box(page)), /mine: \{\}/);
  page.once('dialog', (dialog) => dialog.accept());
  await page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: 'Collections', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Collections', exact: true }).waitFor();
});

scenario('The text of a model is completed by its words, their values and the names in it', { data: 'bookshop', shared: true }, async ({ tab, page }) => {
  const initial = await edit(tab);
  const options = page.getByRole('listbox').getByRole('option');
  await retype(box(page), 'collections:\n  authors: {}\n  books:\n    relations: { author: { path: author, ');
  await page.keyboard.type('on');
  await options.filter({ hasText: 'onDelete' }).click();
  await page.keyboard.type(': ');
  await page.keyboard.press('Control+Space');
  await options.filter({ hasText: 'unlink' }).waitFor();
  assert.deepEqual(await options.allInnerTexts(), ['cascade', 'clear', 'keep', 'restrict', 'unlink']);
  await options.filter({ hasText: 'cascade' }).click();
  await page.keyboard.type(', to: a');
  await options.filter({ hasText: 'authors' }).click();
  assert.match(await codeIn(box(page)), /onDelete: cascade, to: authors$/);
  await retype(box(page), initial);
});
