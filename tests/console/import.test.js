// Moving in: an export is dropped on the empty store, looked at, stored, and compared with what the rules of a model give.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { accessible, golden } from './lib/checks.js';
import { codeIn, retype } from './lib/editing.js';
import { useKey } from './lib/keys.js';
import { scenario } from './lib/scenario.js';

/** @typedef {import('playwright-core').Page} Page */

/** What another store exports: 30 writers with two works each. Of the writers a count, and of the works two copied names, are wrong. */
const writers = JSON.stringify(Array.from({ length: 30 }, (_, i) => ({ _id: 'w' + i, name: 'Writer ' + i, works: i === 7 ? 3 : 2 })));
const works = [
  ...Array.from({ length: 60 }, (_, i) => ({ id: 'k' + i, writer: 'w' + (i >> 1), writerName: i === 4 ? 'Mary Godwin' : 'Writer ' + (i >> 1), _ts: 1, _rid: 'a' })),
  { id: 'lost', writer: 'w99', writerName: 'Nobody', price: '@', _ts: 1, _rid: 'c' }, { id: 'shy', _hidden: 1, _ts: 1, _rid: 'd' },
].map((of) => JSON.stringify(of).replace('"@"', '12345678901234567890.10')).join('\n');

const model = `collections:
  writers:
    derive:
      works: { count: works.writer }
  works:
    relations: { writer: { path: writer, to: writers } }
    derive:
      writerName: { copy: writer, value: doc.name }
`;

/**
 * Drops files on a field, as somebody does who drags them there.
 * @param {Page} page
 * @param {import('playwright-core').Locator} field
 * @param {Record<string, string>} files by name
 */
async function drop(page, field, files) {
  const data = await page.evaluateHandle((all) => {
    const data = new DataTransfer();
    for (const [name, text] of Object.entries(all)) data.items.add(new File([text], name));
    return data;
  }, files);
  await field.dispatchEvent('dragover', { dataTransfer: data });
  await field.dispatchEvent('drop', { dataTransfer: data });
}

/** @param {Page} page @param {string} name */
const region = (page, name) => page.getByRole('region', { name, exact: true });

/** The rows of a table. @param {import('playwright-core').Locator} table */
const rows = (table) => table.getByRole('row').evaluateAll((all) => all.slice(1).map((row) => [...row.children].map((cell) => cell.textContent)));

scenario('An export that is dropped is looked at first, then stored, and its wrong copies are shown', {}, async ({ store, tab, page }) => {
  await tab.open('#/', 'Collections');
  const field = region(page, 'Drop your export here');
  assert.equal(await page.getByRole('heading', { level: 2 }).first().textContent(), 'Drop your export here');
  await drop(page, field, { 'works.ndjson': works, 'writers.json': writers });
  await page.getByRole('heading', { level: 1, name: 'Import', exact: true }).waitFor();

  const first = region(page, 'works.ndjson');
  await first.getByText('an export of Cosmos DB').first().waitFor();
  await first.getByText('_rid 61, _ts 61').waitFor();
  await first.getByRole('list', { name: 'Refused lines' }).getByText('Line 62: member /_hidden: names that begin with _ are the store\'s own').waitFor();
  assert.equal(await first.getByLabel('Collection').inputValue(), 'works');
  await region(page, 'writers.json').getByText('an export of MongoDB').first().waitFor();
  await page.getByText('Nothing is stored yet.').waitFor();
  assert.deepEqual((await store.get('/v1')).json.collections, []);
  await accessible(page);
  await golden(page, 'import-looked');

  await first.getByText('How it is read').click();
  await first.getByLabel('Members with another name').fill('_hidden=hidden');
  await first.getByRole('button', { name: 'Look again' }).click();
  await first.getByText('_rid 62, _ts 62').waitFor();
  await page.getByRole('button', { name: 'Import 2 files' }).click();
  await page.getByText('92 documents stored, 0 lines refused.').waitFor();
  assert.equal((await store.bytes('works', 'lost')).toString(), '{"id":"lost","writer":"w99","writerName":"Nobody","price":12345678901234567890.10}');

  const proposed = region(page, 'Proposed model');
  await proposed.getByText('98.33% of 60 are equal to name of writers').waitFor();
  await page.getByText('No model applies that derives members.').waitFor();
  assert.equal((await store.send('GET', '/v1/_model')).headers.get('Fanfold-Revision'), '0');
  await accessible(page);
  await golden(region(page, 'Which copies were wrong'), 'import-no-rules');

  await proposed.getByRole('button', { name: 'Open it in the editor' }).click();
  const text = page.getByRole('textbox', { name: 'Model', exact: true });
  await page.getByText('The proposal stands in the text.').waitFor();
  assert.match(await codeIn(text), /^#[^]*collections:/);
  assert.equal((await store.send('GET', '/v1/_model')).headers.get('Fanfold-Revision'), '0');
  assert.match(await codeIn(text), /writerName: \{ copy: writer, value: doc\.name, takeOver: true \}/);
  await retype(text, model.replace('doc.name }', 'doc.name, takeOver: true }').replace('works.writer }', 'works.writer, takeOver: true }'));
  await page.getByRole('button', { name: 'Preview', exact: true }).click();
  await page.getByRole('button', { name: 'Apply', exact: true }).click();
  await page.getByText('It applies since').waitFor();

  await page.getByRole('link', { name: 'Compare the imported files with the model that applies' }).click();
  const drift = region(page, 'Which copies were wrong');
  await drift.getByText('3 values were not right. 92 documents compared.').waitFor();
  assert.deepEqual(await rows(drift.getByRole('table', { name: 'Values by rule' })), [['works.writerName', '59', '1', '0', '1', ''], ['writers.works', '29', '1', '0', '0', '']]);
  assert.deepEqual(await rows(drift.getByRole('table', { name: 'Examples of works.writerName' })), [
    ['wrong', 'works/k4', '/writerName', '"Mary Godwin"', '"Writer 2"'], ['orphaned', 'works/lost', '/writerName', '"Nobody"', 'nothing']]);
  await drift.getByText(`fanfold drift --out differences.ndjson --server ${store.url}`).waitFor();
  await accessible(page);
  await golden(drift, 'import-drift');
  await drift.getByRole('link', { name: 'works/k4' }).click();
  await page.getByRole('button', { name: 'Origin of /writerName' }).waitFor();
});

scenario('An export is moved in by the keyboard, under a model that derives what it brings', { data: { model } }, async ({ store, tab, page }) => {
  await tab.open('#/', 'Collections');
  const choose = page.getByLabel('Files', { exact: true });
  await page.getByText('Nothing needs attention.').waitFor();
  await tab.focusByKey(choose);
  const coming = page.waitForEvent('filechooser');
  await page.evaluate('0'); // the browser knows by then that the question for files is answered here
  await page.keyboard.press('Enter');
  const chooser = await coming;
  await chooser.setFiles([{ name: 'works.ndjson', mimeType: 'application/json', buffer: Buffer.from(works) }, { name: 'writers.json', mimeType: 'application/json', buffer: Buffer.from(writers) }]);
  await page.getByText('Nothing is stored yet.').waitFor();
  await tab.focusByKey(page.getByRole('button', { name: 'Import 2 files' }));
  await page.keyboard.press('Enter');
  const drift = region(page, 'Which copies were wrong');
  await drift.getByText('3 values were not right. 91 documents compared.').waitFor();
  assert.ok(await page.getByText('91 documents stored, 1 line refused.').evaluate((element) => element === document.activeElement), 'the focus is where it says what became of it');
  await drift.getByText('fanfold import DIRECTORY --drift --dry-run --out differences.ndjson').waitFor();
  assert.equal((await store.get('/v1/works/k4')).json.writerName, 'Writer 2');
});

scenario('Of a directory the files are taken whose names say that they are exports', {}, async ({ store, tab, page }) => {
  const directory = await mkdtemp(join(tmpdir(), 'fanfold-import-'));
  await mkdir(join(directory, 'deeper'));
  const files = { 'works.ndjson': works, 'writers.json.gz': gzipSync(writers), 'README.md': '# read me', 'writers.metadata.json': '{}', '.hidden.json': '[]', 'deeper/others.json': '[]' };
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
  await tab.open('#/', 'Collections');
  await page.getByLabel('A directory', { exact: true }).setInputFiles(directory);
  await page.getByText('Left out: README.md, writers.metadata.json').waitFor();
  assert.deepEqual(await page.getByRole('heading', { level: 2 }).allTextContents(), ['works.ndjson', 'writers.json.gz', 'Drop more files here']);
  for (const size of [{ width: 360, height: 700 }, { width: 640, height: 450 }]) {
    await page.setViewportSize(size);
    await tab.noSidewaysScrolling();
  }
  await page.getByRole('button', { name: 'Import 2 files' }).click();
  await page.getByText('91 documents stored, 1 line refused.').waitFor();
  assert.deepEqual((await store.get('/v1')).json.collections.map((/** @type {any} */ of) => of.name), ['works', 'writers']);
  await rm(directory, { recursive: true });
});

scenario('What is not clear of an export is asked', {}, async ({ store, tab, page }) => {
  await tab.open('#/', 'Collections');
  await drop(page, region(page, 'Drop your export here'), { '2024 books.json': JSON.stringify([{ title: 'Emma', isbn: '1' }, { title: 'Emma', isbn: '2' }]), 'answer.json': JSON.stringify({ total: 1, data: [{ id: 'p1' }] }), 'notes.csv': 'a,b\n1,2\n' });
  const books = region(page, '2024 books.json'), answer = region(page, 'answer.json'), notes = region(page, 'notes.csv');
  await books.getByText('2 documents without an id: loaded twice, they are there twice.').waitFor();
  assert.equal(await books.getByLabel('Collection').inputValue(), 'books');
  await books.getByLabel('Id of the documents').selectOption('isbn');
  await answer.getByRole('alert').getByText('its member "data" has a list of objects: to load these, give list=data').waitFor();
  await notes.getByText('1 document without an id').waitFor();
  assert.deepEqual(await notes.getByRole('table', { name: 'Mapping' }).getByRole('textbox').evaluateAll((all) => all.map((one) => /** @type {any} */ (one).value)), ['a', 'b']);
  assert.ok(await page.getByRole('button', { name: 'Import 3 files' }).isDisabled());
  await accessible(page);
  await golden(page, 'import-asks');
  await answer.getByLabel('Member with the list of documents').fill('data');
  await answer.getByRole('button', { name: 'Look again' }).click();
  await answer.getByLabel('Collection').fill('places');
  await notes.getByRole('button', { name: 'Leave it out: notes.csv' }).click();
  await page.getByRole('button', { name: 'Import 2 files' }).click();
  await page.getByText('3 documents stored, 0 lines refused.').waitFor();
  assert.deepEqual((await store.get('/v1/books/2')).json, { title: 'Emma', id: '2' });
  assert.deepEqual((await store.get('/v1/places/p1')).json, { id: 'p1' });
  await page.reload();
  await page.getByText('Nothing was dropped yet.').waitFor();
});

scenario('CSV is mapped in sight, looked at, and stored; lines that give no document have their numbers', {}, async ({ store, tab, page }) => {
  await tab.open('#/', 'Collections');
  const text = 'book_id;Title;copies;price;zip;note\r\n7;"Emma; ""a novel""";3;12345678901234567890.10;007;\r\n8;"Two\r\nlines";n/a;1.50;010;x\r\n9;"<img src=x onerror=alert(1)>\u202e";1;2;011;\r\n..;Ash;2;3;012;\r\n';
  await page.getByLabel('Files', { exact: true }).setInputFiles({ name: 'books.CSV', mimeType: 'text/csv', buffer: Buffer.from(text) });
  const books = region(page, 'books.CSV');
  const mapping = books.getByRole('table', { name: 'Mapping' });
  const types = () => mapping.getByRole('combobox').evaluateAll((all) => all.map((one) => /** @type {any} */ (one).value));
  await page.getByText('Nothing is stored yet.').waitFor();
  assert.equal(await books.getByLabel('Separator').inputValue(), ';');
  assert.deepEqual(await types(), ['text', 'text', 'text', 'number', 'text', 'text']);
  assert.ok(await mapping.getByRole('radio', { name: 'book_id is the id' }).isChecked());
  const first = books.getByLabel('The first documents', { exact: true });
  assert.deepEqual((await first.innerText()).split('\n').slice(0, 2), [
    String.raw`{"id":"7","Title":"Emma; \"a novel\"","copies":"3","price":12345678901234567890.10,"zip":"007"}`,
    String.raw`{"id":"8","Title":"Two\r\nlines","copies":"n/a","price":1.50,"zip":"010","note":"x"}`]);
  const refused = books.getByRole('list', { name: 'Refused lines' });
  await accessible(page);
  for (const size of [{ width: 360, height: 700 }, { width: 640, height: 450 }, { width: 1280, height: 900 }]) {
    await page.setViewportSize(size);
    await tab.noSidewaysScrolling();
  }

  await mapping.getByLabel('Path of Title').fill('price');
  await books.getByRole('alert').getByText('Two columns become price').waitFor();
  await mapping.getByLabel('Path of Title').fill('names.title');
  await mapping.getByLabel('Type of copies').selectOption('number');
  await mapping.getByLabel('Type of note').selectOption('leave out');
  await books.getByText('Look again before you import.').waitFor();
  assert.ok(await page.getByRole('button', { name: 'Import 1 file' }).isDisabled());
  assert.match(await first.innerText(), /^\{"id":"7","names":\{"title":"Emma; \\"a novel\\""\},"copies":3,/);
  await books.getByRole('button', { name: 'Look again' }).click();
  await refused.getByText('Line 3: column copies is "n/a", no number as JSON has it').waitFor();
  assert.equal(await books.getByLabel('Collection').inputValue(), 'books');
  await golden(books, 'import-csv');
  assert.deepEqual((await store.get('/v1')).json.collections, []);

  await page.getByRole('button', { name: 'Import 1 file' }).click();
  await page.getByText('2 documents stored, 2 lines refused.').waitFor();
  await refused.getByText('Line 3: column copies').waitFor();
  await refused.getByText('Line 6: ').waitFor();
  assert.equal((await store.bytes('books', '7')).toString(), String.raw`{"id":"7","names":{"title":"Emma; \"a novel\""},"copies":3,"price":12345678901234567890.10,"zip":"007"}`);
  assert.equal((await store.get('/v1/books/9')).json.names.title, '<img src=x onerror=alert(1)>\u202e');
  assert.equal(await page.locator('main img').count(), 0);
  await page.getByText('documents compared.').or(page.getByText('No model applies that derives members.')).waitFor();
});

scenario('What is no CSV is told, and a file is mapped by the keyboard alone', {}, async ({ store, tab, page }) => {
  await tab.open('#/_import', 'Import');
  await drop(page, region(page, 'Drop your export here'), { 'open.csv': 'a,"b', 'empty.csv': 'id,t\n', 'writers.csv': 'code,name\na,Emma\nb,\n', 'dots.csv': 'n\n' + '1\n'.repeat(100) + 'soon\n'.repeat(120) });
  await region(page, 'open.csv').getByRole('alert').getByText('never closed').waitFor();
  await region(page, 'empty.csv').getByRole('alert').getByText('The file has a header line alone.').waitFor();
  const rest = region(page, 'dots.csv').getByRole('list', { name: 'Refused lines' }).getByRole('listitem').last();
  assert.match(await rest.innerText(), /^and \d+ more: fanfold import --errors FILE has all\. It takes the mapping as a file, by --mapping$/);
  for (const name of ['open.csv', 'empty.csv', 'dots.csv']) await page.getByRole('button', { name: `Leave it out: ${name}` }).click();
  const writers = region(page, 'writers.csv');
  await writers.getByText('2 documents without an id').waitFor();
  await tab.focusByKey(writers.getByRole('radio', { name: 'No column is the id' }));
  await page.keyboard.press('ArrowDown');
  assert.equal(await writers.getByLabel('Path of code').inputValue(), 'id');
  await tab.focusByKey(writers.getByLabel('Path of name'));
  await page.keyboard.press('End');
  await page.keyboard.type('.first');
  await tab.focusByKey(writers.getByRole('button', { name: 'Look again' }));
  await page.keyboard.press('Enter');
  await page.getByText('Nothing is stored yet.').waitFor();
  await tab.focusByKey(page.getByRole('button', { name: 'Import 1 file' }));
  await page.keyboard.press('Enter');
  await page.getByText('2 documents stored, 0 lines refused.').waitFor();
  assert.deepEqual([(await store.bytes('writers', 'a')).toString(), (await store.bytes('writers', 'b')).toString()], ['{"id":"a","name":{"first":"Emma"}}', '{"id":"b"}']);
});

scenario('CSV is unpacked, its paths have blanks, and rows of one id are told before one replaces the other', {}, async ({ store, tab, page }) => {
  await tab.open('#/_import', 'Import');
  const text = 'id\ttitle\n7\tEmma\n8\tPersuasion\n' + Array.from({ length: 120 }, (_, i) => `x${i}\tx\n`).join('') + '7\tMansfield Park\n';
  await page.getByLabel('Files', { exact: true }).setInputFiles({ name: 'books.tsv.gz', mimeType: 'application/gzip', buffer: gzipSync(text) });
  const books = region(page, 'books.tsv.gz');
  await books.getByText('1, the first is line 124: of documents with the same id the last one stays').waitFor();
  await books.getByLabel('Path of title').fill('');
  await books.getByLabel('Path of title').pressSequentially('short title');
  assert.equal(await books.getByLabel('Path of title').inputValue(), 'short title');
  await books.getByRole('button', { name: 'Look again' }).click();
  await page.getByText('Nothing is stored yet.').waitFor();
  assert.equal(await books.getByLabel('Collection').inputValue(), 'books');
  await accessible(page);
  await page.getByRole('button', { name: 'Import 1 file' }).click();
  await page.getByText('123 documents stored, 0 lines refused.').waitFor();
  assert.deepEqual((await store.get('/v1/books/7')).json, { id: '7', 'short title': 'Mansfield Park' });
});

scenario('A file that changes after it was chosen is told, and nothing else is', { mayFail: true }, async ({ store, tab, page }) => {
  const directory = await mkdtemp(join(tmpdir(), 'fanfold-import-'));
  const [csv, lines] = [join(directory, 'a.csv'), join(directory, 'b.ndjson')];
  await writeFile(csv, 'id,t\n1,x\n');
  await writeFile(lines, '{"id":"1"}\n');
  await tab.open('#/_import', 'Import');
  await page.getByLabel('Files', { exact: true }).setInputFiles([csv, lines]);
  await page.getByText('Nothing is stored yet.').waitFor();
  await writeFile(csv, 'id,t\n1,another\n');
  await writeFile(lines, '{"id":"2","more":"than there was"}\n');
  await region(page, 'a.csv').getByLabel('Type of t').selectOption('JSON');
  await region(page, 'a.csv').getByRole('button', { name: 'Look again' }).click();
  await region(page, 'a.csv').getByRole('alert').getByText('It was changed, moved or taken away since it was chosen').waitFor();
  await page.getByRole('button', { name: 'Leave it out: a.csv' }).click();
  await page.getByRole('button', { name: 'Import 1 file' }).click();
  await region(page, 'b.ndjson').getByRole('alert').getByText('It was changed, moved or taken away since it was chosen').waitFor();
  assert.deepEqual((await store.get('/v1')).json.collections, []);
  await rm(directory, { recursive: true });
});

scenario('An import that ends early says what may be stored, and is begun again', { mayFail: true }, async ({ store, tab, page }) => {
  await tab.open('#/_import', 'Import');
  await drop(page, region(page, 'Drop your export here'), { 'books.csv': 'id,t\n1,x\n2,y\n', 'notes.csv': 't\nx\ny\n' });
  const [books, notes] = ['books.csv', 'notes.csv'].map((name) => region(page, name));
  await page.getByText('Nothing is stored yet.').waitFor();
  const real = /** @param {import('playwright-core').Route} route */ (route) => (route.request().url().includes('dryRun') ? route.fallback() : undefined);
  await page.route('**/_import?*', (route) => real(route) ?? route.fulfill({ json: { done: false, from: 'json', documents: 1, written: 1, refused: 0, position: '1', detail: 'the server is stopping' } }));
  await page.getByRole('button', { name: 'Import 2 files' }).click();
  await books.getByRole('alert').getByText('the server is stopping').waitFor();
  await page.getByText('Not all is stored.').waitFor();
  await page.unrouteAll();
  await page.route('**/_import?*', (route) => real(route) ?? (route.request().url().includes('notes') ? route.abort() : route.fallback()));
  await page.getByRole('button', { name: 'Import 2 files' }).click();
  await notes.getByRole('alert').getByText('Those without an id are there twice if you import them again').waitFor();
  await accessible(page);
  await page.unrouteAll();
  await page.getByRole('button', { name: 'Import 1 file' }).click();
  await page.getByText('4 documents stored, 0 lines refused.').waitFor();
  assert.deepEqual((await store.get('/v1/books/2')).json, { id: '2', t: 'y' });
});

scenario('Who may not write is told so, and what a file says is no markup', { data: { model: 'collections: { books: { access: { read: [readers], write: [editors] } } }' }, closed: true }, async ({ store, tab, page }) => {
  tab.watch();
  await tab.open('#/', 'Collections');
  await useKey(page, await store.newKey('readers'));
  const name = '<img src=x onerror=alert(1)>\u202e.json';
  await drop(page, region(page, 'Drop your export here'), { [name]: '[{"id":"1","_<b>":1}]' });
  await page.getByRole('alert').getByText('write').first().waitFor();
  assert.equal(await page.locator('main img').count(), 0);
  await accessible(page);
});
