import { html, useEffect, useRef, useState } from '../lib/html.js';
import { request } from '../lib/http.js';
import { member, read, textOf } from '../lib/json.js';
import { useLoad } from '../lib/load.js';
import { goTo, placeHref } from '../lib/place.js';
import { PastProblem } from '../ui/changes.js';
import { Pending } from '../ui/dialogs.js';
import { CopyAs, Visible, counted } from '../ui/parts.js';
import { Suggestion } from '../ui/preview.js';
import { OPERATORS, conditionsOf, cut, filterOf, isBare, literalOf, offered, stepsOf, typedOf } from './cel.js';
import { MAX_CELL, noPath, readable } from './cells.js';
import { groupsAsked } from './query.js';
import { Export, ofOneLine } from './saved.js';

/** @typedef {import('../lib/json.js').Node} Node */
/** @typedef {import('./cel.js').Condition} Condition */

/** How many members are known, how many values of one are offered, how long one may be, and how deep members are looked for. */
const SAMPLE = { members: 300, values: 40, letters: 60, depth: 3, documents: 100 };

/**
 * What is known of the members of a collection: their paths, each with values of it.
 * @typedef {Map<string, { texts: number, others: number, values: Set<string> }>} Sample
 */

/** What was seen of each collection in this tab. @type {Map<string, Sample>} */
const samples = new Map();

/**
 * Returns which members the documents of a collection have, and values of them, as far as this tab has seen.
 * @param {string} collection
 * @param {Node[]} documents
 * @param {Iterable<string>} [paths] that are known besides
 * @returns {Sample}
 */
export function sampleOf(collection, documents, paths = []) {
  const out = new Map(samples.get(collection));
  for (const doc of documents.slice(0, SAMPLE.documents)) {
    for (const { path, node } of scalarsIn(doc, '', 0)) {
      if (!out.has(path) && out.size >= SAMPLE.members) break;
      const known = out.get(path) ?? { texts: 0, others: 0, values: new Set() };
      out.set(path, known);
      if (node.kind === 'string') known.texts++;
      else known.others++;
      const text = node.raw.length > 2 * SAMPLE.letters ? '' : readable(node);
      if (known.values.size < SAMPLE.values && text !== '' && text.length <= SAMPLE.letters) known.values.add(text);
    }
  }
  for (const path of paths) if (!out.has(path)) out.set(path, { texts: 0, others: 0, values: new Set() });
  samples.set(collection, out);
  return out;
}

/**
 * Returns the texts, numbers and words of a value, with their paths.
 * @param {Node} node
 * @param {string} path
 * @param {number} depth
 * @returns {Generator<{ path: string, node: Node }>}
 */
function* scalarsIn(node, path, depth) {
  if (node.members && depth < SAMPLE.depth) {
    for (const m of node.members) {
      if (m.name !== '_meta' && !noPath.test(m.name)) yield* scalarsIn(m.value, path === '' ? m.name : path + '.' + m.name, depth + 1);
    }
  } else if (node.elements && depth < SAMPLE.depth) {
    for (const one of node.elements.slice(0, 10)) yield* scalarsIn(one, path + '[]', depth + 1);
  } else if (path !== '' && !node.members && !node.elements) yield { path, node };
}

/** @param {Sample} sample @param {string | undefined} path */
const hasTexts = (sample, path) => {
  const known = sample.get(path ?? '');
  return known !== undefined && known.texts > known.others;
};

/**
 * A filter as rows. It is the same filter as the text beside it.
 * @param {{ filter: string, sample: Sample, onFilter: (filter: string) => void }} props
 */
export function Builder({ filter, sample, onFilter }) {
  const [rows, setRows] = useState(() => startOf(filter));
  const told = useRef(filter);
  useEffect(() => {
    if (filter === told.current) return;
    told.current = filter;
    setRows(startOf(filter));
  }, [filter]);
  const set = (/** @type {Condition[]} */ next) => {
    setRows(next);
    told.current = filterOf(next);
    onFilter(told.current);
  };
  const change = (/** @type {number} */ i, /** @type {Condition} */ of) => set(rows.map((row, k) => (k === i ? { ...row, ...of } : row)));
  const remove = (/** @type {number} */ i) => set(rows.filter((_, k) => k !== i));
  return html`<fieldset class="builder"><legend>Conditions</legend>
    <datalist id="members">${[...sample.keys()].map((path) => html`<option key=${path} value=${path} />`)}</datalist>
    <ul>${rows.map(
      (row, i) =>
        html`<li key=${i}><div role="group" aria-label=${`Condition ${i + 1}`}>${
          row.text === undefined
            ? html`<${Row} row=${row} i=${i} sample=${sample} onChange=${(/** @type {Condition} */ of) => change(i, of)} />`
            : html`<input class="cel" aria-label="CEL" value=${row.text} spellcheck=${false} autocomplete="off"
        onInput=${(/** @type {any} */ event) => change(i, { text: event.target.value })} /> <span class="quiet">Rows cannot say it: it stays
          text.</span>`
        }<button type="button" class="tool" aria-label=${`Remove condition ${i + 1}`} onClick=${() => remove(i)}>✕</button></div></li>`,
    )}</ul>
    <button type="button" class="tool" onClick=${() => setRows([...rows, { member: '', op: '==', value: '' }])}>Add a condition</button>
  </fieldset>`;
}

/** Returns the rows of a filter; one that is empty where it has none. @param {string} filter @returns {Condition[]} */
function startOf(filter) {
  const rows = conditionsOf(filter);
  return rows.length > 0 ? rows : [{ member: '', op: '==', value: '' }];
}

/**
 * @param {{ row: Condition, i: number, sample: Sample, onChange: (of: Condition) => void }} props
 */
function Row({ row, i, sample, onChange }) {
  const texts = hasTexts(sample, row.member);
  const several = row.op === 'in';
  const shown = typedOf(row.value ?? '', texts, several);
  const [typed, setTyped] = useState(shown);
  const sent = useRef(row.value ?? '');
  useEffect(() => {
    if (sent.current === (row.value ?? '')) return;
    sent.current = row.value ?? '';
    setTyped(shown);
  }, [row.value]);
  const send = (/** @type {string} */ text, /** @type {Condition} */ of = row) => {
    sent.current = literalOf(text, hasTexts(sample, of.member), of.op === 'in');
    onChange({ ...of, value: sent.current });
  };
  return html`<input class="member" aria-label="Member" list="members" value=${row.member} placeholder="member" spellcheck=${false}
      autocomplete="off" autocapitalize="off" onInput=${(/** @type {any} */ e) => send(typed, { ...row, member: e.target.value })} />
    <select aria-label="Operator" value=${row.op}
      onChange=${(/** @type {any} */ e) => send(typed, { ...row, op: e.target.value })}>${OPERATORS.map(
        ([op, name]) => html`<option key=${op} value=${op}>${name}</option>`,
      )}</select>
    ${
      !isBare(row.op) &&
      html`<input class="value" aria-label="Value" list=${`values-${i}`} value=${typed} placeholder=${several ? 'one, another' : 'value'}
        spellcheck=${false} autocomplete="off" autocapitalize="off" onInput=${(/** @type {any} */ e) => {
          setTyped(e.target.value);
          send(e.target.value);
        }} /><datalist id=${`values-${i}`}>${[...(sample.get(row.member ?? '')?.values ?? [])].map(
          (value) => html`<option key=${value} value=${value} />`,
        )}</datalist>`
    }`;
}

/**
 * A text box for a filter. It offers members, functions and parameters while somebody types.
 * @param {{ value: string, known: { paths: string[], params: string[] }, onValue: (text: string) => void,
 *   rest: Record<string, any> }} props rest are further attributes of the box
 */
export function FilterBox({ value, known, onValue, rest }) {
  const box = useRef(/** @type {HTMLInputElement | null} */ (null));
  const [offer, setOffer] = useState({ from: 0, words: /** @type {string[]} */ ([]), at: -1 });
  const none = () => setOffer({ from: 0, words: [], at: -1 });
  const input = (/** @type {any} */ event) => {
    const { value: text, selectionStart } = event.target;
    onValue(text);
    setOffer({ ...offered(text, selectionStart ?? text.length, known), at: -1 });
  };
  const take = (/** @type {string} */ word) => {
    const of = /** @type {HTMLInputElement} */ (box.current);
    const end = of.selectionStart ?? of.value.length;
    of.setRangeText(word, offer.from, end, 'end');
    onValue(of.value);
    setOffer({ ...offered(of.value, offer.from + word.length, known), at: -1 });
    of.focus();
  };
  const key = (/** @type {KeyboardEvent} */ event) => {
    const { words, at } = offer;
    if (words.length === 0) return;
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp')
      setOffer({ ...offer, at: (at + (event.key === 'ArrowDown' ? 1 : at < 0 ? 0 : -1) + words.length) % words.length });
    else if (event.key === 'Enter' && at >= 0) take(words[at]);
    else if (event.key === 'Escape') none();
    else {
      if (event.key === 'Enter') none();
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  const { words, at } = offer;
  return html`<span class="opens"><input ref=${box} value=${value} onInput=${input} onKeyDown=${key} onBlur=${none} autocomplete="off"
      autocapitalize="off" spellcheck=${false} aria-autocomplete="list" aria-controls=${words.length ? 'offered' : undefined}
      aria-activedescendant=${at >= 0 ? `offered-${at}` : undefined} ...${rest} />${
        words.length > 0 &&
        html`<ul role="listbox" id="offered" aria-label="What may come next" class="under offered">${words.map(
          (word, i) => html`<li role="option" id=${`offered-${i}`} key=${word} aria-selected=${i === at ? 'true' : 'false'}
          onPointerDown=${(/** @type {Event} */ event) => {
            event.preventDefault();
            take(word);
          }}><${Visible} text=${word} max=${60} /></li>`,
        )}</ul>`
      }</span>`;
}

/** @typedef {import('../lib/place.js').Place} Place */

/**
 * Asks for a page of groups.
 * @param {Place} place
 * @param {AbortSignal} signal
 */
async function loadGroups(place, signal) {
  const asked = groupsAsked(place);
  const root = await read((await request({ ...asked, signal })).text, signal);
  return { groups: member(root, 'groups')?.elements ?? [], next: textOf(member(root, 'next')) ?? '' };
}

/**
 * Returns what a group has for a term: a part of its key, or what was computed.
 * @param {Node} group
 * @param {'key' | 'values'} where
 * @param {string} term
 */
function valueOf(group, where, term) {
  const of = member(group, where);
  return of && member(of, term);
}

/**
 * Returns all groups that a place asks for, as what a file is made of. A line of NDJSON is a group as the API has it.
 * @param {Place} place
 * @param {string[]} keys
 * @param {string[]} values
 * @returns {import('./saved.js').Source}
 */
const groupsOf = (place, keys, values) => ({
  name: place.parts[0] + '-groups',
  noun: 'group',
  about: 'All pages',
  labels: { csv: 'CSV', ndjson: 'NDJSON' },
  more: ' There are more.',
  columns: [...keys, ...values],
  page: async ({ cursor, limit, signal }) => {
    const params = new URLSearchParams(place.params);
    params.delete('cursor');
    params.set('limit', String(limit));
    const { groups, next } = await loadGroups({ ...place, params: cursor === '' ? params : withCursor(params, cursor) }, signal);
    return { rows: groups, next };
  },
  valuesOf: (group, term, i) => [valueOf(group, i < keys.length ? 'key' : 'values', term)].filter((of) => of !== undefined),
  lineOf: ofOneLine,
});

/** Returns the terms of a list. @param {string | null} text */
const termsOf = (text) =>
  cut(text ?? '', ',')
    .map((one) => one.trim())
    .filter((one) => one !== '');

/**
 * Asks for the groups of a place.
 * @param {Place} place
 */
export const useGroups = (place) => useLoad((signal) => loadGroups(place, signal), [JSON.stringify(groupsAsked(place))]);

/**
 * The documents of a collection in groups, with what is computed of each: a table, and a bar for the first number.
 * @param {{ place: Place, loaded: ReturnType<typeof useGroups> }} props
 */
export function Groups({ place, loaded }) {
  const { parts, params } = place;
  const keys = termsOf(params.get('group'));
  const computed = termsOf(params.get('compute'));
  const values = computed.length > 0 ? computed : ['count'];
  const asked = groupsAsked(place);
  const { value, problem, again } = loaded;
  const sort = params.get('sort') ?? '';
  const without = new URLSearchParams(params);
  for (const name of ['group', 'compute', 'sort', 'cursor', 'explain']) without.delete(name);
  const head = (/** @type {string} */ term, /** @type {boolean} */ isValue) => {
    const at = sort === term ? 'ascending' : sort === '-' + term ? 'descending' : undefined;
    const next = new URLSearchParams(params);
    next.delete('cursor');
    next.delete('explain');
    next.set('sort', at === 'descending' || (at === undefined && !isValue) ? term : '-' + term);
    return html`<th scope="col" class=${isValue ? 'number' : undefined} aria-sort=${at}><button type="button"
      class=${'sort' + (at ? (at === 'descending' ? ' down' : ' up') : '')} onClick=${() => goTo(placeHref(parts, next))}><${Visible}
        text=${term}
      max=${100} /></button></th>`;
  };
  const line = html`<div class="above">${
    value &&
    html`<span role="status"
      class="quiet">${counted(value.groups.length, 'group')}${value.next ? ' on this page' : ''}.</span>
      ${value.next && html`<a href=${placeHref(parts, withCursor(params, value.next))}>Next page</a>`}`
  }<span class="tools"><a class="tool" href=${placeHref(parts, without)}>Documents</a>
      ${value && html`<${Export} source=${groupsOf(place, keys, values)} />`}<${CopyAs} asked=${asked} /></span></div>`;
  return html`<${PastProblem} place=${place} problem=${problem} again=${again}>${
    problem?.kind === 'needs-index' && html`<${Suggestion} suggest=${problem.of.suggest} />`
  }<//>
  ${problem && !value && line}
  <${Pending} of=${loaded}>${
    value &&
    html`${line}
    <div class="scroll" tabindex="0" role="group" aria-label="Table of groups"><table aria-label="Groups" class="groups">
      <thead><tr>${keys.map((term) => head(term, false))}${values.map((term) => head(term, true))}<td></td></tr></thead>
      <tbody>${rowsOf(value.groups, keys, values, place)}</tbody></table></div>`
  }<//>`;
}

/** @param {URLSearchParams} params @param {string} cursor */
function withCursor(params, cursor) {
  const next = new URLSearchParams(params);
  next.set('cursor', cursor);
  return next;
}

/**
 * Returns groups as rows. A key leads to the documents of its group, where the filter can say which these are.
 * @param {Node[]} groups
 * @param {string[]} keys
 * @param {string[]} values
 * @param {Place} place
 */
function rowsOf(groups, keys, values, place) {
  const first = groups.map((group) => amountOf(valueOf(group, 'values', values[0])));
  const most = Math.max(0, ...first);
  return groups.map((group, i) => {
    const href = hrefOf(group, keys, place);
    return html`<tr key=${i}>${keys.map((term, k) => {
      const of = valueOf(group, 'key', term);
      const text = of ? html`<${Visible} text=${readable(of)} max=${MAX_CELL} />` : html`<i>absent</i>`;
      const shown = href !== undefined && k === 0 ? html`<a href=${href}>${text}</a>` : text;
      return k === 0 ? html`<th scope="row">${shown}</th>` : html`<td>${shown}</td>`;
    })}${values.map((term) => {
      const of = valueOf(group, 'values', term);
      return html`<td class="number">${of ? html`<${Visible} text=${readable(of)} max=${MAX_CELL} />` : ''}</td>`;
    })}<td class="bars" aria-hidden="true"><div class="bar-of"
      style=${{ width: most > 0 ? `${(100 * first[i]) / most}%` : '0' }}></div></td></tr>`;
  });
}

/** Returns how long a bar is. Digits beyond those of a double would not be seen. @param {Node | undefined} node */
const amountOf = (node) => (node?.kind === 'number' && Number(node.raw) > 0 && Number.isFinite(Number(node.raw)) ? Number(node.raw) : 0);

/**
 * Returns where the documents of a group are, undefined where that takes more than a comparison.
 * @param {Node} group
 * @param {string[]} terms
 * @param {Place} place
 */
function hrefOf(group, terms, { parts, params }) {
  const conditions = [];
  for (const term of terms) {
    if (!/^[\w-]+(?:\.[\w-]+)*(?:\[\])?$/.test(term)) return undefined;
    const of = valueOf(group, 'key', term);
    const path = term.replace('[]', '');
    if (of === undefined) conditions.push({ text: `!has(doc${stepsOf(path)})` });
    else if (of.members || of.elements || of.raw.length > 500) return undefined;
    else conditions.push({ member: term, op: '==', value: of.kind === 'string' ? JSON.stringify(readable(of)) : of.raw });
  }
  const filter = params.get('filter') ?? '';
  const next = new URLSearchParams(params);
  for (const name of ['group', 'compute', 'sort', 'cursor']) next.delete(name);
  next.set('filter', filterOf([...(filter === '' ? [] : [{ text: filter }]), ...conditions]));
  return placeHref(parts, next);
}
