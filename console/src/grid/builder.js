import { html, useEffect, useRef, useState } from '../lib/html.js';
import { Visible } from '../ui/parts.js';
import { noPath, readable } from './cells.js';
import { OPERATORS, conditionsOf, filterOf, isBare, literalOf, offered, typedOf } from './cel.js';

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
