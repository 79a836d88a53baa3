// Filters as rows, and back: what rows say is the same filter, and the rest stays text.
import assert from 'node:assert/strict';
import { conditionsOf, filterOf, literalOf, offered, typedOf } from '../../console/src/grid/cel.js';
import { scenario } from './lib/scenario.js';

scenario('A filter is rows and text again', { data: 'bookshop', shared: true }, async () => {
  const same = [
    'doc.year > 1900',
    'doc.year > 1900 && doc.language == "en"',
    'doc["pub-id"] == "blackwood"',
    'doc.a.b != null',
    'doc.title.startsWith("A && B") && doc.n <= -2.50',
    'has(doc.year) && !has(doc.place.x)',
    'doc.language in ["en", "fr"]',
    '"net" in doc.tags',
    'doc.authors.exists(e, e.name == "Mary")',
    'doc.year > params.since',
    'size(doc.tags) > 2 && doc.n == 1',
    'doc.a == 1 || doc.b == 2',
  ];
  for (const filter of same) assert.equal(filterOf(conditionsOf(filter)), filter);
  assert.deepEqual(conditionsOf('doc.authors.exists(a, a.name == "Mary") && "x" in doc.tags'), [
    { member: 'authors[].name', op: '==', value: '"Mary"' },
    { member: 'tags[]', op: '==', value: '"x"' },
  ]);
  assert.deepEqual(conditionsOf('doc.a == 1 || doc.b == 2'), [{ text: 'doc.a == 1 || doc.b == 2' }]);
  assert.deepEqual(conditionsOf('doc.a == 1 && (doc.b || doc.c)'), [{ member: 'a', op: '==', value: '1' }, { text: '(doc.b || doc.c)' }]);
  assert.equal(filterOf([{ text: 'doc.a || doc.b' }, { member: 'c', op: '==', value: 'true' }]), '(doc.a || doc.b) && doc.c == true');
  assert.equal(filterOf([{ member: '', op: '==', value: '1' }, { member: 'a', op: '<', value: '' }]), '');
});

scenario('What is typed as a value is what the member has', { data: 'bookshop', shared: true }, async () => {
  for (const [typed, isTexts, literal] of /** @type {[string, boolean, string][]} */ ([
    ['1900', false, '1900'], ['1900', true, '"1900"'], ['en', false, '"en"'], ['"1"', false, '"1"'], ['true', false, 'true'], ['true', true, '"true"'],
    ['9007199254740993', false, '9007199254740993'], ['params.since', true, 'params.since'], ['a"b', true, String.raw`"a\"b"`], ['', true, ''],
  ])) {
    assert.equal(literalOf(typed, isTexts), literal, typed);
    assert.equal(literalOf(typedOf(literal, isTexts), isTexts), literal, 'shown and typed again: ' + literal);
  }
  assert.equal(literalOf('en, fr', true, true), '"en", "fr"');
  assert.equal(literalOf('1, 2', false, true), '1, 2');
});

scenario('What may come next is offered', { data: 'bookshop', shared: true }, async () => {
  const known = { paths: ['title', 'year', 'place.city', 'authors[].name'], params: ['since'] };
  const at = (/** @type {string} */ text) => offered(text, text.length, known).words;
  assert.deepEqual(at('doc.'), ['title', 'year', 'place', 'authors']);
  assert.deepEqual(at('doc.year > 1 && doc.ti'), ['title']);
  assert.ok(at('doc.title.').includes('startsWith('));
  assert.deepEqual(at('doc.place.c'), ['city', 'contains(']);
  assert.deepEqual(at('doc.year > params.'), ['since']);
  assert.deepEqual(at('doc.title == "do'), [], 'nothing within a text');
  assert.ok(at('do').includes('doc.'));
});
