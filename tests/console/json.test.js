// What the console makes of documents: scan, indent, splice and differences, with a generator of documents and edits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { differences, same } from '../../console/src/lib/jsontext.js';
import { indent, shown } from '../../console/src/lib/jsontext.js';
import { lineAndColumn } from '../../console/src/lib/jsontext.js';
import { nodeAt } from '../../console/src/lib/jsonrows.js';
import { NotJSON, scan } from '../../console/src/lib/json.js';
import { splice } from '../../console/src/lib/jsontext.js';
import { mustBeTaken } from '../../console/src/lib/jsontext.js';
import { tokenize } from '../../console/src/lib/json.js';
import { tokens } from '../../console/src/lib/json.js';
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
  for (const [was, is] of [['"T"', '"U"'], ['9007199254740993', '9007199254740995'], ['-0', '0'], ['1e400', '1e401'], ['"a\\/b"', '"a/b"']]) {
    assert.equal(splice(original, view.replace(was, is)), original.replace(was, is));
  }
  assert.equal(splice(original, view.replace('  "rev": 7,\n', '')), original.replace('"rev":7,', ''));
  assert.equal(splice(original, view.replace('"T"\n', '"T",\n  "new": [1]\n')), original.replace('"T"', '"T",\n  "new": [1]'));
  assert.equal(splice(original, view.replace('{\n', '{\n  "first": 1,\n')), original.replace('{', '{"first": 1,\n  '));
});

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
