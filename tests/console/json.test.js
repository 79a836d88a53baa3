// What the console makes of documents: scan, indent, splice and differences, with a generator of documents and edits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { differences, indent, lineAndColumn, mustBeTaken, same, shown, splice } from '../../console/src/lib/jsontext.js';
import { NotJSON, nodeAt, scan, tokenize, tokens } from '../../console/src/lib/json.js';
import { localForm, momentOf, wordsOf } from '../../console/src/lib/moment.js';
import { merge } from '../../console/src/lib/merge.js';
import { figuresOf, parseMetrics, quantile, sampleOf, withSample } from '../../console/src/operations/metrics.js';
import { filterOf } from '../../console/src/document/model.js';
import { Ids, convert, planOf, tableOf, withID } from '../../console/src/import/csv.js';
import { MAX_CSV, NotCSV, Rows } from '../../console/src/import/rows.js';
import { Documents, randomOf } from './lib/documents.js';

const CASES = 10_000;
const seed = Number(process.env.FANFOLD_SEED) || Date.now() % 2 ** 31;

/** The tokens of a text. @param {string} text */
function tokensOf(text) {
  const at = tokenize(text);
  return Array.from({ length: at.length / 2 }, (_, i) => text.slice(at[2 * i], at[2 * i + 1]));
}

test(`splice keeps what an edit does not touch, in ${CASES} documents (FANFOLD_SEED=${seed})`, () => {
  for (let n = 0; n < CASES; n++) {
    const random = randomOf(seed + n);
    const documents = new Documents(random);
    const original = documents.object();
    const view = indent(original);
    const told = () => `FANFOLD_SEED=${seed + n}, the first case: ${JSON.stringify(original)}`;
    assert.equal(splice(original, view), original, told());
    assert.equal(splice(original, documents.otherBlanks(view)), original, told());

    // A value becomes another: its bytes are replaced, and no others.
    const nodes = documents.nodes(scan(view));
    const chosen = nodes[Math.floor(random() * nodes.length)];
    const inOriginal = documents.nodes(scan(original))[nodes.indexOf(chosen)];
    const value = documents.scalar();
    const typed = view.slice(0, chosen.start) + value + view.slice(chosen.end);
    const got = splice(original, typed);
    const want = original.slice(0, inOriginal.start) + value + original.slice(inOriginal.end);
    assert.equal(got, typed === view ? original : want, told());

    // Any edit has the tokens that were typed, between bytes of the original.
    const edited = documents.edit(view, scan(view));
    const spliced = splice(original, edited);
    assert.deepEqual(tokensOf(indent(spliced)), tokensOf(indent(edited)), told());
    assert.ok(same(scan(indent(spliced)), scan(indent(edited))), told());
    keepsEnds(original, edited, spliced, told);
  }
});

/**
 * Fails unless the result begins and ends with the bytes of the tokens that the original and the edit have in common.
 * @param {string} original
 * @param {string} edited
 * @param {string} spliced
 * @param {() => string} told
 */
function keepsEnds(original, edited, spliced, told) {
  const old = tokensOf(original);
  const now = tokensOf(edited);
  const same = (/** @type {string | undefined} */ was, /** @type {string | undefined} */ typed) => was === typed || shown(String(was)) === typed;
  const at = tokenize(original);
  let head = 0;
  while (head < Math.min(old.length, now.length) && same(old[head], now[head])) head++;
  let tail = 0;
  while (tail < Math.min(old.length, now.length) - head && same(old.at(-1 - tail), now.at(-1 - tail))) tail++;
  if (head > 0) assert.ok(spliced.startsWith(original.slice(0, at[2 * head - 1])), told());
  if (tail > 0) assert.ok(spliced.endsWith(original.slice(at[at.length - 2 * tail])), told());
}

test('splice keeps each thing that JSON.parse would lose', () => {
  const original = '{"id":"b1",\r\n\t"big": 9007199254740993, "price":2.50,"zero": -0,"much":1e400,"path":"a\\/b","10":1,"2":2,"in":{"__proto__":{"x":1}},"rev":7,"hidden":"\u202e", "title" : "T"\r\n}';
  const view = indent(original);
  assert.equal(splice(original, view), original);
  for (const [was, is] of [['"T"', '"U"'], ['9007199254740993', '9007199254740995'], ['-0', '0'], ['1e400', '1e401']]) {
    assert.equal(splice(original, view.replace(was, is)), original.replace(was, is));
  }
  assert.equal(splice(original, view.replace('  "rev": 7,\n', '')), original.replace('"rev":7,', ''));
  assert.equal(splice(original, view.replace('"T"\n', '"T",\n  "new": [1]\n')), original.replace('"T"', '"T",\n  "new": [1]'));
  assert.equal(splice(original, view.replace('{\n', '{\n  "first": 1,\n')), original.replace('{', '{"first": 1,\n  '));
});

test('splice keeps what stands between two edits', () => {
  const original = '{"id":"b1", "first":1,\r\n"name":"\\u5c71\\u7530","path":"a\\/b", "list":[1,  2,3 ],"hidden":"\\u202e","last":1}';
  const view = indent(original);
  assert.match(view, /"山田"[^]*"a\/b"[^]*"\\u202e"/);
  assert.equal(splice(original, view.replace('"first": 1', '"first": 2').replace('"last": 1', '"last": 2')), original.replace('"first":1', '"first":2').replace('"last":1', '"last":2'));
  const more = splice(original, view.replace('"first": 1', '"first": 1, "more": {"x": [1]}').replace('"last": 1', '"last": "\\u0041"'));
  assert.equal(more, original.replace('"name":', '"more": {"x": [1]},\n  "name":').replace('"last":1', '"last":"\\u0041"'));
});

test('texts stand as characters, but for those that nobody would see', () => {
  for (const [token, want] of [[String.raw`"\u5c71\u7530"`, '"山田"'], [String.raw`"a\/b\n\"\\\u0022\u005c\u0007"`, String.raw`"a/b\n\"\\\u0022\u005c\u0007"`], [String.raw`"\ud83d\ude00"`, '"😀"'], [String.raw`"\ud83d"`, String.raw`"\ud83d"`], [String.raw`"\u202Ex"`, String.raw`"\u202ex"`], [String.raw`"\\u0041"`, String.raw`"\\u0041"`]]) {
    assert.equal(shown(token), want);
    if (!token.includes('ud83d"')) assert.equal(JSON.parse(want), JSON.parse(token));
  }
});

/**
 * Merges texts. @param {string | undefined} opened @param {string} theirs @param {string} mine @param {[string, 'theirs' | 'mine'][]} [chosen]
 */
function merged(opened, theirs, mine, chosen = []) {
  const { text, asked } = merge(opened === undefined ? undefined : scan(opened), scan(theirs), scan(mine), new Map(chosen));
  return { text, asked: asked.map(({ path }) => path), keys: asked.map(({ key }) => key) };
}

test('a merge takes what one side changed, and keeps the bytes of theirs', () => {
  for (const [opened, theirs, mine, want] of [
    ['{"a":1,"b":2}', '{"a":1,"b":3}', '{"a":2,"b":2}', '{"a":2,"b":3}'],
    ['{"a":1}', '{ "a" : 1 ,\r\n"b":2.50 }', '{"a":2}', '{ "a" : 2 ,\r\n"b":2.50 }'],
    ['{"a":1,"b":2}', '{"b":2}', '{"a":1,"b":3}', '{"b":3}'],
    ['{"a":1,"b":2}', '{"a":1}', '{"b":2}', '{}'],
    ['{"a":1,"b":2,"c":3}', '{"a":1, "b":2, "c":4\n}', '{"a":1,"c":3}', '{"a":1, "c":4\n}'],
    ['{"a":1,"b":2}', '{"a":3,\n "b":2\n}', '{"a":1}', '{"a":3\n}'],
    ['{"a":1}', '{"a":1,"t":1}', '{"a":1,"m":2}', '{"a":1,"t":1,"m":2}'],
    ['{"a":1}', '{\n  "a": 1,\n  "t": 1\n}', '{"m":[ 2 ],"a":1}', '{\n  "m":[ 2 ],\n  "a": 1,\n  "t": 1\n}'],
    ['{}', '{ }', '{\n  "m": 1\n}', '{\n  "m": 1\n}'],
    ['{"o":{"x":1,"y":1}}', '{"o":{"x":2,"y":1}}', '{"o":{"x":1,"y":2}}', '{"o":{"x":2,"y":2}}'],
    ['{"a":1}', '{"a":2}', '{"a":2}', '{"a":2}'],
    ['{"a":"x"}', '{"a":"\\u5c71"}', '{"a":"山"}', '{"a":"\\u5c71"}'],
    ['{"a":[1,2]}', '{"a":[1,2],"t":1}', '{"a":[2,1]}', '{"a":[2,1],"t":1}'],
    ['{"a":{"x":1}}', '{"a":{"x":1},"t":1}', '{"a":[1]}', '{"a":[1],"t":1}'],
    ['{"__proto__":1,"a/b~":1}', '{"__proto__":2,"a/b~":1}', '{"__proto__":1,"a/b~":2}', '{"__proto__":2,"a/b~":2}'],
    ['{"n":9007199254740993}', '{"n":9007199254740993,"t":1}', '{"n":9007199254740995}', '{"n":9007199254740995,"t":1}'],
    // Of a new document nothing was opened: what is there stays, and what is new comes.
    [undefined, '{"id":"d","a":1,"b":2}', '{"c":3}', '{"id":"d","a":1,"b":2,"c":3}'],
    [undefined, '{"id":"d","o":{"x":1}}', '{"o":{"y":2}}', '{"id":"d","o":{"x":1,"y":2}}'],
  ]) assert.deepEqual(merged(opened, theirs ?? '', mine ?? ''), { text: want, asked: [], keys: [] });
});

test('a merge goes by the ids of elements', () => {
  const opened = '{"l":[{"id":"a","n":1},{"id":"b","n":1},{"id":"c","n":1}]}';
  for (const [theirs, mine, want] of [
    ['{"l":[{"id":"a","n":2},{"id":"b","n":1},{"id":"c","n":1}]}', '{"l":[{"id":"a","n":1},{"id":"b","n":1},{"id":"c","n":3}]}', '{"l":[{"id":"a","n":2},{"id":"b","n":1},{"id":"c","n":3}]}'],
    ['{"l":[{"id":"b","n":1},{"id":"c","n":2}]}', '{"l":[{"id":"a","n":1},{"id":"b","n":3},{"id":"c","n":1}]}', '{"l":[{"id":"b","n":3},{"id":"c","n":2}]}'],
    ['{"l":[{"id":"c","n":1},{"id":"b","n":1},{"id":"a","n":1}]}', '{"l":[{"id":"a","n":1},{"id":"c","n":2}]}', '{"l":[{"id":"c","n":2},{"id":"a","n":1}]}'],
    ['{"l":[{"id":"a","n":2},{"id":"b","n":1},{"id":"c","n":1}]}', '{"l":[{"id":"c","n":1},{"id":"b","n":1},{"id":"a","n":1}]}', '{"l":[{"id":"c","n":1},{"id":"b","n":1},{"id":"a","n":2}]}'],
    ['{"l":[{"id":"a","n":1},{"id":"b","n":1},{"id":"c","n":1},{"id":"t"}]}', '{"l":[{"id":"0"},{"id":"a","n":1},{"id":"b","n":1},{"id":"c","n":1},{"id":"m"}]}', '{"l":[{"id":"0"},{"id":"a","n":1},{"id":"b","n":1},{"id":"c","n":1},{"id":"t"},{"id":"m"}]}'],
    // An id that is written in another way is the same.
    ['{"l":[{"id":"\\u0061","n":1},{"id":"b","n":2},{"id":"c","n":1}]}', '{"l":[{"id":"a","n":2},{"id":"b","n":1},{"id":"c","n":1}]}', '{"l":[{"id":"\\u0061","n":2},{"id":"b","n":2},{"id":"c","n":1}]}'],
  ]) assert.deepEqual(merged(opened, theirs, mine), { text: want, asked: [], keys: [] });
  assert.deepEqual(merged('{"l":[{"id":1,"n":1}]}', '{"l":[{"id":1,"n":2}]}', '{"l":[{"id":1.0,"n":1},{"id":1,"n":3}]}').asked, ['/l/0/n']);
});

test('a merge takes a long list that one side added to', () => {
  const list = (/** @type {number} */ n) => `[${Array.from({ length: n }, (_, id) => `{"id":${id}}`).join(',')}]`;
  assert.deepEqual(merged(list(1), list(1), list(200000)), { text: list(200000), asked: [], keys: [] });
  assert.deepEqual(merged('[]', '[{"id":"x"}]', list(200000)).asked, []);
});

test('a merge asks for what both changed', () => {
  for (const [opened, theirs, mine, asked, ours] of /** @type {[string | undefined, string, string, string[], string][]} */ ([
    ['{"a":1}', '{"a":2}', '{"a":3}', ['/a'], '{"a":3}'],
    ['{"a":1}', '{}', '{"a":3}', ['/a'], '{"a":3}'],
    ['{"a":1,"b":1}', '{"a":3,"b":1}', '{"b":1}', ['/a'], '{"b":1}'],
    ['{}', '{"a":1}', '{"a":2}', ['/a'], '{"a":2}'],
    ['{"a":[1]}', '{"a":[1,2]}', '{"a":[1,3]}', ['/a'], '{"a":[1,3]}'],
    ['{"a":[{"id":1},{"x":1}]}', '{"a":[{"id":1},{"x":2}]}', '{"a":[{"id":2},{"x":1}]}', ['/a'], '{"a":[{"id":2},{"x":1}]}'],
    ['{"a":[{"id":1},{"id":2},{"id":3}]}', '{"a":[{"id":2},{"id":1},{"id":3}]}', '{"a":[{"id":1},{"id":3},{"id":2}]}', ['/a'], '{"a":[{"id":1},{"id":3},{"id":2}]}'],
    ['{"a":[{"id":1,"n":1},{"id":2}]}', '{"a":[{"id":2}]}', '{"a":[{"id":1,"n":2},{"id":2}]}', ['/a/0'], '{"a":[{"id":1,"n":2},{"id":2}]}'],
    ['{"a":1}', '{"a":{"x":1}}', '{"a":{"y":1}}', ['/a'], '{"a":{"y":1}}'],
    ['{"a":{"x":1},"b":1}', '{"b":2}', '{"a":{"x":2},"b":3}', ['/b', '/a'], '{"a":{"x":2},"b":3}'],
    ['{"a":2.5}', '{"a":2.50}', '{"a":2}', ['/a'], '{"a":2}'],
    [undefined, '{"a":1,"b":1}', '{"a":2,"b":1}', ['/a'], '{"a":2,"b":1}'],
  ])) {
    const found = merged(opened, theirs, mine);
    assert.deepEqual(found.asked, asked, mine);
    assert.equal(new Set(found.keys).size, found.keys.length);
    assert.ok(same(scan(merged(opened, theirs, mine, found.keys.map((key) => [key, 'mine'])).text), scan(ours)), mine);
    const theirsEverywhere = merged(opened, theirs, mine, found.keys.map((key) => [key, 'theirs'])).text;
    assert.equal(theirsEverywhere, found.text, 'nothing else stands until it is chosen');
  }
});

test(`a merge of edits is a document, and loses nothing that one side alone has (FANFOLD_SEED=${seed})`, () => {
  for (let n = 0; n < CASES / 2; n++) {
    const documents = new Documents(randomOf(seed + n));
    const opened = unique(documents.object());
    const [theirs, mine] = [0, 1].map(() => unique(documents.edit(opened, scan(opened))));
    const told = `FANFOLD_SEED=${seed + n}: ${opened} | ${theirs} | ${mine}`;
    const of = merged(opened, theirs, mine);
    scan(of.text);
    assert.equal(merged(opened, theirs, opened).text, theirs, told);
    assert.ok(same(scan(merged(opened, opened, mine).text), scan(mine)), told);
    assert.ok(same(scan(merged(opened, mine, mine).text), scan(mine)), told);
    const [was, now, here, both] = [opened, theirs, mine, of.text].map((text) => new Set(scan(text).members?.map((m) => m.name)));
    for (const name of [...now, ...here]) {
      const isNew = !was.has(name);
      if (isNew || (now.has(name) && here.has(name))) assert.ok(both.has(name), `${told} has lost ${name}`);
    }
  }
});

/**
 * A value for the oracle of merges: a token, members by name, or elements. What a set of them becomes is said as slowly and plainly as can be.
 * @typedef {string | Map<string, any> | any[]} Value
 */

/** Makes values at random, and histories of them. */
class Histories {
  /** @param {number} of */
  constructor(of) { this.random = randomOf(of); }

  /** @template T @param {T[]} list @returns {T} */
  pick(list) { return list[Math.floor(this.random() * list.length)]; }

  /** @param {number} depth @returns {Value} */
  value(depth) {
    const kind = depth > 0 ? this.random() : 1;
    if (kind < 0.3) return new Map(Array.from({ length: this.pick([0, 1, 3]) }, () => [this.name(), this.value(depth - 1)]));
    if (kind < 0.6) return [...new Set(Array.from({ length: this.pick([0, 2, 5]) }, () => this.id()))].map((id) => this.element(id, depth));
    if (kind < 0.7) return Array.from({ length: this.pick([0, 1, 3]) }, () => this.value(depth - 1));
    return this.pick(['1', '1.0', '9007199254740993', '9007199254740992', 'null', 'true', '"a"', '"__proto__"', '1e400']);
  }

  name() { return this.pick(['a', 'b', 'id', '__proto__', 'constructor', 'a/b~', '10', '2', '']); }
  id() { return this.pick(['"a"', '"b"', '"__proto__"', '1', '"1"', '1.0', '"山"', '"x/~"', '""']); }

  /** @param {string} id @param {number} depth @returns {Value} */
  element(id, depth) { return new Map(/** @type {[string, any][]} */ ([['id', id], ...(this.random() < 0.7 ? [['n', this.value(depth - 1)]] : [])])); }

  /** Returns a value with one thing changed somewhere in it. @param {Value} of @returns {Value} */
  changed(of) {
    if (typeof of === 'string' || this.random() < 0.1) return this.value(2);
    const within = this.random() < 0.6;
    if (Array.isArray(of)) {
      const i = Math.floor(this.random() * of.length);
      if (of.length > 0 && within) return of.with(i, this.changed(of[i]));
      if (of.length > 0 && this.random() < 0.3) return of.toSpliced(i, 1);
      if (of.length > 1 && this.random() < 0.5) return of.toSpliced(i, 1).toSpliced(Math.floor(this.random() * of.length), 0, of[i]);
      return of.toSpliced(i, 0, this.element(this.id(), 2));
    }
    const next = new Map(of), name = this.pick([...of.keys(), this.name()]);
    if (within && of.has(name)) return next.set(name, this.changed(of.get(name)));
    if (this.random() < 0.4) next.delete(name);
    else next.set(name, this.value(2));
    return next;
  }

  /** @param {Value} value @returns {string} */
  text(value) {
    const blank = () => this.pick(['', '', ' ', '\n  ']);
    const quoted = (/** @type {string} */ of) => (this.random() < 0.2 ? of.replace(/[a山]/g, (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0')) : of);
    if (typeof value === 'string') return value.startsWith('"') ? quoted(value) : value;
    if (Array.isArray(value)) return '[' + value.map((one) => blank() + this.text(one) + blank()).join(',') + ']';
    return '{' + [...value].map(([name, one]) => blank() + quoted(JSON.stringify(name)) + ':' + blank() + this.text(one) + blank()).join(',') + '}';
  }
}

/** @param {import('../../console/src/lib/json.js').Node} node @returns {Value} */
const valueOf = (node) => (node.members ? new Map(node.members.map((m) => [m.name, valueOf(m.value)])) : node.elements ? node.elements.map(valueOf)
  : node.kind === 'string' ? JSON.stringify(JSON.parse(node.raw)) : node.raw);

/** The ids of elements, undefined where they have none of their own. @param {Value | undefined} of @returns {string[] | undefined} */
function idsOf(of) {
  const ids = (of === undefined ? [] : Array.isArray(of) ? of : [null]).map((one) => (one instanceof Map && /^["\d]/.test(String(one.get('id'))) && typeof one.get('id') === 'string' ? one.get('id') : undefined));
  return ids.includes(undefined) || new Set(ids).size < ids.length ? undefined : ids;
}

/** A text that two values have alike where they are the same. @param {Value | undefined} of @param {boolean} [anyOrder] of elements with ids @returns {string} */
function canon(of, anyOrder = false) {
  if (of === undefined || typeof of === 'string') return String(of);
  if (!Array.isArray(of)) return '{' + [...of].map(([name, one]) => JSON.stringify(name) + canon(one, anyOrder)).sort().join() + '}';
  const all = of.map((one) => canon(one, anyOrder));
  return '[' + (anyOrder && idsOf(of) ? all.sort() : all).join() + ']';
}

/**
 * What three values become. Theirs stands where both sides changed one place. @param {Value | undefined} was @param {Value | undefined} theirs
 * @param {Value | undefined} mine @param {string[]} asked gets the places @param {string} at @returns {any}
 */
function together(was, theirs, mine, asked, at) {
  const [a, b, c] = [was, theirs, mine].map((of) => canon(of));
  if (b === c || a === c) return theirs;
  if (a === b) return mine;
  if (theirs instanceof Map && mine instanceof Map && (was === undefined || was instanceof Map)) {
    const all = [...new Set([...theirs.keys(), ...mine.keys(), ...(was ?? new Map()).keys()])];
    const made = all.map((name) => /** @type {[string, any]} */ ([name, together(was?.get(name), theirs.get(name), mine.get(name), asked, `${at}/${name}`)]));
    return new Map(made.filter(([, of]) => of !== undefined));
  }
  const [then, now, here] = [was, theirs, mine].map(idsOf);
  if (Array.isArray(theirs) && Array.isArray(mine) && (was === undefined || Array.isArray(was)) && then && now && here) {
    const both = (/** @type {string[]} */ ids) => ids.filter((id) => now.includes(id) && here.includes(id)).join();
    if (both(now) === both(here) || both(then) === both(here) || both(then) === both(now)) {
      const of = (/** @type {any} */ list, /** @type {string} */ id) => list?.find((/** @type {any} */ one) => one.get('id') === id);
      return [...new Set([...now, ...here])].map((id) => together(of(was, id), of(theirs, id), of(mine, id), asked, `${at}/${id}`)).filter((one) => one !== undefined);
    }
  }
  asked.push(at);
  return theirs;
}

/** Checks that the order of elements is that of the side that moved them. @param {any} was @param {any} theirs @param {any} mine @param {any} got @param {string} told */
function inOrder(was, theirs, mine, got, told) {
  if (got instanceof Map) for (const [name, one] of got) inOrder(was?.get?.(name), theirs?.get?.(name), mine?.get?.(name), one, told);
  const [then, now, here, made] = [was, theirs, mine, got].map(idsOf);
  if (!Array.isArray(got) || !then || !now || !here || !made || was === undefined || theirs === undefined || mine === undefined) return;
  const of = (/** @type {string[]} */ ids) => ids.filter((id) => [then, now, here, made].every((all) => all.includes(id))).join();
  assert.ok(of(made) === of(now) || of(made) === of(here), told);
  if (of(now) === of(then)) assert.equal(of(made), of(here), told);
  if (of(here) === of(then)) assert.equal(of(made), of(now), told);
}

test(`a merge is what a slow and plain one gives, over histories (FANFOLD_SEED=${seed})`, () => {
  let asks = 0, merges = 0;
  for (let n = 0; n < CASES / 4; n++) {
    const of = new Histories(seed + n);
    const was = /** @type {any} */ (new Map([['id', '"d"'], ['l', of.value(3)], ['m', of.value(3)], ['o', of.value(3)]]));
    const [theirs, mine] = [0, 1].map(() => {
      let now = was;
      for (let edits = of.pick([0, 1, 2, 4]); edits > 0; edits--) now = of.changed(now);
      return now instanceof Map ? now : was;
    });
    const texts = [was, theirs, mine].map((one) => of.text(one));
    const told = `FANFOLD_SEED=${seed + n}, the first case: ${texts.join(' | ')}`;
    const got = merged(texts[0], texts[1], texts[2]);
    const asked = /** @type {string[]} */ ([]);
    const want = together(was, theirs, mine, asked, '');
    assert.equal(canon(valueOf(scan(got.text)), true), canon(want, true), told);
    assert.equal(got.asked.length, asked.length, told);
    if (asked.length === 0) inOrder(was, theirs, mine, valueOf(scan(got.text)), told);
    asks += Math.min(asked.length, 1);
    merges += Number(asked.length === 0 && ![was, theirs, mine].some((one) => canon(one) === canon(want)));
  }
  assert.ok(asks > CASES / 40 && merges > CASES / 40, `${asks} ask, ${merges} merge`);
});

/** Returns a text without members whose names an object has twice. @param {string} text */
function unique(text) {
  return write(scan(text));
  /** @param {import('../../console/src/lib/json.js').Node} node @returns {string} */
  function write(node) {
    if (node.elements) return '[' + node.elements.map(write).join(' ,') + ']';
    if (!node.members) return node.raw;
    return '{' + [...new Map(node.members.map((m) => [m.name, m.value]))].map(([name, value]) => JSON.stringify(name) + ': ' + write(value)).join(',') + '}';
  }
}

test('splice keeps equal names', () => {
  assert.equal(splice('{"a":1,"a":2, "b":3}', indent('{"a":1,"a":2, "b":3}').replace('3', '4')), '{"a":1,"a":2, "b":4}');
});

test('differences lead from one document to the other', () => {
  for (let n = 0; n < CASES / 10; n++) {
    const random = randomOf(seed + n);
    const documents = new Documents(random);
    const one = documents.object();
    const nodes = documents.nodes(scan(one));
    const chosen = nodes[Math.floor(random() * nodes.length)];
    const other = one.slice(0, chosen.start) + documents.value(2) + one.slice(chosen.end);
    const [before, after] = [scan(one), scan(other)];
    const told = `FANFOLD_SEED=${seed + n}: ${one} ${other}`;
    const found = differences(before, after);
    assert.equal(found.length === 0, same(before, after), told);
    for (const { path, old, value } of found) {
      if (old) assert.equal(nodeAt(before, path), old, told);
      if (value) assert.equal(nodeAt(after, path), value, told);
      assert.ok(old || value, told);
    }
  }
});

test('differences are told by the tokens of values', () => {
  const told = (/** @type {string} */ a, /** @type {string} */ b) => differences(scan(a), scan(b)).map(({ path, old, value }) => `${path}: ${old ? tokens(old) : ''} → ${value ? tokens(value) : ''}`);
  assert.deepEqual(told('{"a":2.50,"b":[1,2,3],"c/d":1}', '{"b":[1,3],"a":2.5,"e":{}}'), ['/b/1: 2 → ', '/a: 2.50 → 2.5', '/e:  → {}', '/c~1d: 1 → ']);
  assert.deepEqual(told('{"a":1, "b":2}', '{"b":2,"a":1}'), []);
  assert.deepEqual(differences(undefined, scan('{}')).map(({ path, old }) => [path, old]), [['', undefined]]);
});

test('what is no document is told by its place', () => {
  for (const [text, line, column] of /** @type {[string, number, number][]} */ ([
    ['{"a":1,}', 1, 8], ['{"a":\n  01}', 2, 3], ['{"a":"\t"}', 1, 7], ['{"a":"\\x"}', 1, 7], ['', 1, 1], ['[1]', 1, 1], ['{"a":1} x', 1, 9], ['{"a":NaN}', 1, 6],
    ['{"a":{"x":1,\n"x":2}}', 2, 1], ['{"a":"\\ud800"}', 1, 6], ['{"😀":1 2}', 1, 8],
  ])) {
    assert.throws(() => mustBeTaken(scan(text)), (error) => {
      assert.ok(error instanceof NotJSON, text);
      assert.deepEqual(lineAndColumn(text, error.at), { line, column }, text);
      return true;
    }, text);
  }
  mustBeTaken(scan('{"a":[{"x":1},{"x":"😀"}],"__proto__":{"a":1}}'));
});

test('a time is written in many ways', () => {
  const now = new Date('2026-03-04T12:00:00Z'); // the tests run in the zone of the machine
  const local = (/** @type {number} */ h, /** @type {number} */ m, s = 0, day = 4) => new Date(2026, 2, day, h, m, s).toISOString();
  const at = new Date(2026, 2, 4, 12, 0, 0);
  for (const [typed, want] of [
    ['', ''], ['4-0-ab12', '4-0-ab12'], ['17', '17'], ['2026-01-31T10:00:00+01:00', '2026-01-31T10:00:00+01:00'], ['yesterday', 'yesterday'],
    ['10:00', local(10, 0)], ['9:05:30', local(9, 5, 30)], ['23:59', local(23, 59, 0, 3)], ['25:00', '25:00'],
    ['2026-03-04', local(0, 0)], ['2026-03-04 9:05', local(9, 5)], ['2026-03-04T09:05:07', local(9, 5, 7)], ['2026-03-04 09:05:07 UTC', '2026-03-04T09:05:07.000Z'], ['2026-13-04', '2026-13-04'],
    [localForm(new Date(2026, 2, 4, 9, 5, 7)), local(9, 5, 7)],
  ]) assert.equal(momentOf(typed, at), want, typed);
  for (const [typed, want] of [['-1h', '2026-03-04T11:00:00.000Z'], ['-30 min', '2026-03-04T11:30:00.000Z'], ['-90s', '2026-03-04T11:58:30.000Z'], ['-2d', '2026-03-02T12:00:00.000Z'], ['-1.5h', '2026-03-04T10:30:00.000Z']]) assert.equal(momentOf(typed, now), want);
  assert.deepEqual([3, 25, 59, 61, 3599].map((s) => wordsOf(new Date(now.getTime() - s * 1000), now.getTime())), ['just now', '20 s ago', '50 s ago', '1 min ago', '59 min ago']);
  assert.equal(wordsOf(now, now.getTime() + 3_600_000), localForm(now));
});

const METRICS = `# HELP fanfold_writes_total Writes.
# TYPE fanfold_writes_total counter
fanfold_writes_total{operation="put"} 40
fanfold_writes_total{operation="import"} 1.5e+01
fanfold_http_requests_total{code="200",method="GET",route="/v1/:collection/:id"} 7
fanfold_http_requests_total{code="200",method="POST",route="/v1/:collection/_query"} 2
fanfold_http_requests_total{code="204",method="PUT",route="/v1/:collection/:id"} 9
fanfold_http_requests_total{code="200",method="GET",route="/v1/_status"} 99
fanfold_http_request_duration_seconds_bucket{method="GET",route="/v1/:collection/:id",le="0.01"} 9
fanfold_http_request_duration_seconds_bucket{method="GET",route="/v1/:collection/:id",le="0.1"} 10
fanfold_http_request_duration_seconds_bucket{method="GET",route="/v1/:collection/:id",le="+Inf"} 10
fanfold_http_request_duration_seconds_bucket{method="GET",route="/metrics",le="+Inf"} 5000
fanfold_sqlite_bytes{file="database"} 4096
fanfold_sqlite_bytes{file="wal"} 1000
odd{name="a \\"b\\" \\\\ {c},d=\\n"} NaN 1700000000
no line of it
`;

test('the text of Prometheus is read, with its escapes and its words', () => {
  const all = parseMetrics(METRICS);
  assert.deepEqual(all.get('odd'), [{ labels: { name: 'a "b" \\ {c},d=\n' }, value: NaN }]);
  assert.deepEqual([...all.keys()].sort(), ['fanfold_http_request_duration_seconds_bucket', 'fanfold_http_requests_total', 'fanfold_sqlite_bytes', 'fanfold_writes_total', 'odd']);
  const one = sampleOf(METRICS, 5);
  assert.deepEqual([one.writes, one.reads, one.model, one.log, one.free], [55, 9, 5096, undefined, undefined]);
  assert.deepEqual(one.took, [[0.01, 9], [0.1, 10], [Infinity, 10]]);
});

test('figures follow from two readings, also where the node began anew between', () => {
  const blank = { ...sampleOf('', 0), lag: 0 };
  const at = (/** @type {number} */ time, /** @type {object} */ of) => ({ ...blank, time, ...of });
  const samples = [at(0, { writes: 10 }), at(10_000, { writes: 60, folds: 4, folding: 2 }), at(20_000, { writes: 7, folds: 1, folding: 0.5 }), at(500_000, { writes: 9 })];
  const { of, times } = figuresOf(samples);
  assert.deepEqual(times, [0, 10_000, 20_000, 500_000]);
  assert.deepEqual(of.writes, [undefined, 5, 0.35, undefined]); // the last one stands alone: nobody looked for minutes
  assert.deepEqual(of.fold, [undefined, 0.5, 0.5, undefined]);
  assert.deepEqual(of.lag, [0, 0, 0, 0]);
  /** @type {import('../../console/src/operations/metrics.js').Sample[]} */
  let kept = samples;
  for (let n = 0; n < 1000; n++) kept = withSample(kept, at(501_000 + 1000 * n, {}));
  assert.equal(kept.length, 400);
  assert.deepEqual(withSample([at(0, {})], at(3_600_001, {})).length, 1);
});

test('a quantile lies between two bounds, as Prometheus has it', () => {
  /** @type {[number, number][]} */
  const none = [[0.1, 0], [1, 0], [Infinity, 0]];
  assert.equal(quantile(undefined, none, 0.99), undefined);
  assert.equal(quantile(none, none, 0.99), undefined);
  assert.equal(quantile(none, [[0.1, 0], [1, 100], [Infinity, 100]], 0.5), 0.55);
  assert.equal(quantile(none, [[0.1, 0], [1, 1], [Infinity, 100]], 0.99), 1);
  assert.equal(quantile([[0.1, 50], [1, 50], [Infinity, 50]], [[0.1, 10], [1, 10], [Infinity, 10]], 0.5), 0.05);
});

test('the documents that refer to an id have a filter, by the path of the relation', () => {
  for (const [path, id, want] of /** @type {[string[], string, string][]} */ ([
    [['authorId'], 'a1', 'doc.authorId == "a1"'],
    [['pub-id'], 'a"b', 'doc["pub-id"] == "a\\"b"'],
    [['refs', ''], 'a1', '"a1" in doc.refs'],
    [['authors', '', 'id'], 'a1', 'doc.authors.exists(e1, e1.id == "a1")'],
    [['parts', '', 'of', '', 'id'], 'a1', 'doc.parts.exists(e1, e1.of.exists(e2, e2.id == "a1"))'],
    [['n'], '12', '(doc.n == "12" || doc.n == 12)'],
  ])) assert.equal(filterOf(path, id), want);
});

/** The rows of a text of CSV that comes in pieces. @param {string} text @param {number} [size] of a piece @param {string} [delimiter] */
function rowsOf(text, size = text.length || 1, delimiter) {
  const reader = new Rows(delimiter);
  const rows = [];
  for (let at = 0; at < text.length; at += size) rows.push(...reader.add(text.slice(at, at + size)));
  return [...rows, ...reader.end()];
}

test('rows of CSV are as RFC 4180 has them, however the text is cut', () => {
  const text = '\ufeffid,t\r\n1,"a ""b"", c"\r\n\r\n2,"two\r\nlines"\n3,\u5c71\rx\n"",\n4,"e"';
  const want = [[1, ['id', 't']], [2, ['1', 'a "b", c']], [4, ['2', 'two\r\nlines']], [6, ['3', '\u5c71\rx']], [7, ['', '']], [8, ['4', 'e']]];
  for (let size = 1; size <= text.length; size++) assert.deepEqual(rowsOf(text, size).map(({ line, cells, fault }) => (assert.equal(fault, ''), [line, cells])), want, `pieces of ${size}`);
  assert.deepEqual(rowsOf(''), []);
  assert.deepEqual(rowsOf('\n\r\n\n'), []);
  assert.deepEqual(rowsOf('a|b;c', 2, '|').map(({ cells }) => cells), [['a', 'b;c']]);
});

test('rows of CSV end with carriage returns alone where the first one does', () => {
  const text = 'id,t\r1,"two\rlines"\r\r2,x\r3,y\n4,"z"\r';
  for (let size = 1; size <= text.length; size++) assert.deepEqual(rowsOf(text, size).map(({ line, cells }) => [line, cells]),
    [[1, ['id', 't']], [2, ['1', 'two\rlines']], [5, ['2', 'x']], [6, ['3', 'y']], [7, ['4', 'z']]], `pieces of ${size}`);
});

test('a row of CSV that is wrong says its line, and the next is read', () => {
  for (let size = 1; size < 9; size++) {
    assert.deepEqual(rowsOf('a,b\n1,x"y\n2,"x"y"\n3,ok\n4,"open\n5,6', size).map(({ line, fault }) => [line, fault.replace(/[ ;].*? (?=\S+$)/, ' … ')]),
      [[1, ''], [2, 'a … one'], [3, 'text … twice'], [4, ''], [5, 'the … closed']]);
  }
  for (const long of ['"' + '\n'.repeat(60), 'x'.repeat(51), ','.repeat(51), '""'.repeat(26)]) {
    assert.throws(() => { const reader = new Rows(',', 50); for (const c of 'a\n\n' + long) reader.add(c); }, (error) => error instanceof NotCSV && /row of line 3 is too long/.test(error.message));
  }
});

/** What becomes of CSV: the documents' texts, the lines of the file, and the refused lines. @param {string | Blob} text @param {(columns: import('../../console/src/import/csv.js').Column[]) => any} [change] */
async function converted(text, change = (columns) => columns) {
  const file = new Blob([text]);
  const table = await tableOf(file);
  const { body, lines, ...rest } = await convert(file, { ...table, columns: change(table.columns) });
  return { types: table.columns.map(({ type }) => type), documents: (await body.text()).split('\n').slice(0, -1), lines: Array.from({ length: lines.length }, (_, i) => lines.at(i)), ...rest };
}

test('columns of CSV become members: numbers are exact, and empty cells are left out', async () => {
  const text = 'book_id,n,zip,plus,b,j,address.city,__proto__,No.\n7,12345678901234567890.10,007,+1,TRUE,"{""a"":\r\n[1.50]}",Bern,x,1\n8,-0e5,1,2,false,[],,,\n';
  const { types, documents, lines } = await converted(text);
  assert.deepEqual(types, ['text', 'number', 'text', 'text', 'boolean', 'json', 'text', 'text', 'number']);
  assert.deepEqual(documents, ['{"id":"7","n":12345678901234567890.10,"zip":"007","plus":"+1","b":true,"j":{"a": [1.50]},"address":{"city":"Bern"},"proto__":"x","No":1}',
    '{"id":"8","n":-0e5,"zip":"1","plus":"2","b":false,"j":[]}']);
  assert.deepEqual(lines, [2, 4]);
  const hostile = await converted('id,v\n1,"\u0000"",""id"":""2"\n2,\u2028</script>\n', (columns) => columns.map((of, i) => (i === 1 ? { ...of, path: '__proto__."x' } : of)));
  assert.deepEqual(hostile.documents.map((line) => Object.keys(JSON.parse(line))), [['id', '__proto__'], ['id', '__proto__']]);
  assert.equal(/** @type {any} */ ({}).x, undefined);
});

test('rows of CSV that give no document are told by the line of the file', async () => {
  const rows = Array.from({ length: 200 }, (_, i) => `${i},${i}\n`).join('');
  const { documents, lines, refused, refusals } = await converted('id,n\n' + rows + 'a,x\n"b\nc",007\n,\nd\n1,"' );
  assert.equal(documents.length, 200);
  assert.equal(lines[199], 201);
  assert.equal(refused, 5);
  assert.deepEqual(refusals.map(({ line, detail }) => [line, detail]), [[202, 'column n is "x", no number as JSON has it'], [203, 'column n is "007", no number as JSON has it'],
    [205, 'the row has no value'], [206, 'the row has another number of cells than the header line: 1, not 2'], [207, 'the quote that opens in this line is never closed']]);
});

/** Returns bytes as gzip. @param {Blob} of */
const packed = (of) => new Response(of.stream().pipeThrough(new CompressionStream('gzip'))).blob();

test('CSV is unpacked, read as UTF-16 by its mark, and separated by what breaks no cell', async () => {
  const text = 'id;"a, b"\n1;"山, x"\n';
  const want = ['{"id":"1","a, b":"山, x"}'];
  assert.deepEqual((await converted(text)).documents, want);
  assert.deepEqual((await converted(await packed(new Blob([text])))).documents, want);
  for (const little of [true, false]) {
    const bytes = new DataView(new ArrayBuffer(2 * text.length + 2));
    [...'\ufeff' + text].forEach((c, i) => bytes.setUint16(2 * i, c.charCodeAt(0), little));
    assert.deepEqual((await converted(new Blob([bytes]))).documents, want);
    assert.deepEqual((await converted(await packed(new Blob([bytes])))).documents, want);
  }

  const bomb = await packed(new Blob(['a\n', ...Array(MAX_CSV.size >> 22).fill(new Blob(['x'.repeat((1 << 22) - 1) + '\n']))]));
  assert.ok(bomb.size < 1 << 20);
  const table = await tableOf(bomb);
  await assert.rejects(convert(bomb, { ...table, columns: [{ ...table.columns[0], type: 'number' }] }), /more than 256 MiB unpacked/);
  await assert.rejects(tableOf((await packed(new Blob([text]))).slice(0, 30)), /no whole gzip/);
  await assert.rejects(tableOf(new Blob([Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0)])), /zstd/);
  await assert.rejects(tableOf(new Blob(['i\0d\0\n\0'])), /zero bytes/);
});

test('a path of CSV may have blanks within its names, and none around them', async () => {
  const { documents } = await converted('id,a\n1,x\n', ([id, a]) => [id, { ...a, path: ' first name . last  ' }]);
  assert.deepEqual(documents, ['{"id":"1","first name":{"last":"x"}}']);
});

test('rows of CSV with the id of an earlier row are counted', async () => {
  const rows = Array.from({ length: 150 }, (_, i) => `${i},x\n`).join('');
  const { repeated } = await converted('customer_id,n\n' + rows + '7,y\n"8",y\n7,z\n,z\n');
  assert.equal(repeated, '3, the first is line 152: of documents with the same id the last one stays');
  assert.equal((await converted('n\n1\n1\n')).repeated, '');
  const few = new Ids(0, 2);
  for (const [i, id] of ['a', 'b', 'c', 'c', 'b'].entries()) few.add({ cells: [id], line: i + 2, fault: '' });
  assert.match(few.told(), /^1, the first is line 6:/);
});

test('CSV that gives nothing says why', async () => {
  const column = (/** @type {string} */ path, type = /** @type {any} */ ('text')) => ({ name: path, path, type });
  for (const [paths, why] of /** @type {[string[], RegExp][]} */ ([[['a', 'a'], /Two columns become a/], [['a', 'a.b'], /within the other/], [['a.b', 'a'], /within the other/],
    [['a', ''], /has no path/], [['a..b'], /has no path/]])) assert.throws(() => planOf(paths.map((path) => column(path))), (error) => error instanceof NotCSV && why.test(error.message));
  assert.throws(() => planOf([column('a', 'none')]), /left out/);
  await assert.rejects(tableOf(new Blob(['\n\n'])), /no header line/);
  await assert.rejects(tableOf(new Blob(['a,"b'])), /never closed/);
  await assert.rejects(tableOf(new Blob([Uint8Array.of(0x61, 0xe9, 0x0a)])), /not UTF-8/);
  await assert.rejects(tableOf(new Blob([','.repeat(MAX_CSV.columns)])), /more than 500 columns/);
  await assert.rejects(tableOf(/** @type {any} */ ({ size: MAX_CSV.size + 1 })), /more than 256 MiB/);
  assert.deepEqual((await tableOf(new Blob(['a;b,c\n1;2\n']))).columns.map(({ name }) => name), ['a;b', 'c']);
  assert.equal((await tableOf(new Blob(['a;b\n1;2\n']))).delimiter, ';');
  const ids = async (/** @type {string} */ text) => (await tableOf(new Blob([text]))).columns.map(({ path }) => path);
  assert.deepEqual(await ids('paid,writerId,isbn_id\n1,a,x\n2,a,y\n'), ['paid', 'writerId', 'id']);
  const own = withID([column('id'), column('isbn')], 1);
  assert.deepEqual(own.map(({ path, type }) => [path, type]), [['id_', 'none'], ['id', 'text']]);
  assert.deepEqual(withID(own, -1).map(({ path }) => path), ['id_', 'isbn']);
});
