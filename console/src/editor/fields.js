import { html, useMemo, useState } from '../lib/html.js';
import { below, readable, scan, textOf } from '../lib/json.js';
import { shown } from '../lib/jsontext.js';
import { Visible, counted } from '../ui/parts.js';

/** @typedef {import('../lib/json.js').Node} Node */
/** @typedef {{ from: number, to: number, insert: string }} Edit */

/** How many fields are shown at first, and at each further step. */
const STEP = 100;

/**
 * A member or an element of the text.
 * @typedef {object} Field
 * @property {string} path
 * @property {string} name
 * @property {number} depth
 * @property {Node} node
 * @property {Edit} gone what takes it out of the text
 */

/**
 * The fields of a document beside its text: each is edited by itself, and nothing else of the text changes.
 * @param {{ text: string, edit: (edit: Edit) => void }} props
 */
export function Fields({ text, edit }) {
  const [most, setMost] = useState(STEP);
  const root = useMemo(() => scanned(text), [text]);
  const fields = useMemo(() => (root ? fieldsOf(root) : []), [root]);
  if (!root?.members) return html`<section aria-label="Fields" class="fields"><p class="quiet">The text is no document yet.</p></section>`;
  return html`<section aria-label="Fields" class="fields">
    <ul role="list">${fields
      .slice(0, most)
      .map((field) => html`<${Row} key=${field.path} field=${field} text=${text} edit=${edit} />`)}</ul>
    ${
      fields.length > most &&
      html`<button type="button" class="small" onClick=${() => setMost(most + STEP)}>Show ${STEP} more</button>
      <span class="quiet"> of ${fields.length - most}</span>`
    }
    <${Add} of=${root} path="" text=${text} edit=${edit} /></section>`;
}

/** @param {string} text */
function scanned(text) {
  try {
    return scan(text);
  } catch {
    return undefined;
  }
}

/**
 * Returns the fields of a document, those of an object after it.
 * @param {Node} root
 * @returns {Field[]}
 */
export function fieldsOf(root) {
  /** @type {Field[]} */
  const out = [];
  const walk = (/** @type {Node} */ node, /** @type {string} */ path, /** @type {number} */ depth) => {
    const items = node.members
      ? node.members.map((m) => ({ name: m.name, start: m.start, value: m.value }))
      : (node.elements ?? []).map((value, i) => ({ name: String(i), start: value.start, value }));
    for (const [i, { name, start, value }] of items.entries()) {
      const next = items[i + 1]?.start;
      const from = next === undefined && i > 0 ? items[i - 1].value.end : start;
      const at = below(path, name);
      out.push({ path: at, name, depth, node: value, gone: { from, to: next ?? value.end, insert: '' } });
      walk(value, at, depth + 1);
    }
  };
  walk(root, '', 0);
  return out;
}

/** What a value can be, and what it begins with. @type {[string, string][]} */
const KINDS = [
  ['text', '""'],
  ['number', '0'],
  ['true', 'true'],
  ['false', 'false'],
  ['null', 'null'],
  ['object', '{}'],
  ['array', '[]'],
];

/** A number as JSON has it. */
const literal = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;

/**
 * @param {{ field: Field, text: string, edit: (edit: Edit) => void }} props
 */
function Row({ field, text, edit }) {
  const { path, name, depth, node, gone } = field;
  const kind = node.kind === 'string' ? 'text' : node.kind;
  const put = (/** @type {string} */ insert) => edit({ from: node.start, to: node.end, insert });
  const become = (/** @type {any} */ event) => {
    const to = event.target.value;
    const asText = kind === 'number' && to === 'text' ? JSON.stringify(node.raw) : undefined;
    const asNumber = kind === 'text' && to === 'number' && literal.test(textOf(node) ?? '') ? textOf(node) : undefined;
    put(asText ?? asNumber ?? KINDS.find(([word]) => word === to)?.[1] ?? 'null');
  };
  return html`<li class=${'field depth-' + Math.min(depth, 6)}>
    <span class="at" title=${path}><${Visible} text=${name} max=${60} /></span>
    <${Value} path=${path} node=${node} put=${put} />
    <select aria-label=${'Kind of ' + path} value=${kind} onChange=${become}>
      ${KINDS.map(([word]) => html`<option>${word}</option>`)}</select>
    <button type="button" class="small" aria-label=${'Remove ' + path} title="Remove" onClick=${() => edit(gone)}>×</button>
    ${(node.members || node.elements) && html`<${Add} of=${node} path=${path} text=${text} edit=${edit} />`}
  </li>`;
}

/**
 * What edits a value that has no others in it.
 * @param {{ path: string, node: Node, put: (token: string) => void }} props
 */
function Value({ path, node, put }) {
  const [wrong, setWrong] = useState(false);
  if (node.kind === 'number') {
    const change = (/** @type {any} */ event) => {
      const typed = event.target.value.trim();
      setWrong(!literal.test(typed));
      if (literal.test(typed)) put(typed);
    };
    return html`<input aria-label=${path} value=${node.raw} inputmode="decimal" autocomplete="off"
      aria-invalid=${wrong ? 'true' : undefined}
      onChange=${change} />`;
  }
  if (node.kind !== 'string') return html`<span class="quiet">${summaryOf(node)}</span>`;
  const value = textOf(node) ?? '';
  const change = (/** @type {any} */ event) => put(shown(JSON.stringify(event.target.value)));
  // A line of input would lose the ends of lines, and hide what cannot be seen.
  return value.includes('\n') || value.length > 60
    ? html`<textarea aria-label=${path} value=${value} rows="3" onChange=${change}></textarea>`
    : html`<input aria-label=${path} value=${value} autocomplete="off" onChange=${change} />`;
}

/** @param {Node} node */
const summaryOf = (node) =>
  node.members ? counted(node.members.length, 'member') : node.elements ? counted(node.elements.length, 'element') : readable(node);

/**
 * Adds a member to an object, or an element to an array. An element is what the last one is, but empty.
 * @param {{ of: Node, path: string, text: string, edit: (edit: Edit) => void }} props
 */
function Add({ of, path, text, edit }) {
  const [name, setName] = useState('');
  const items = of.members?.map((m) => ({ start: m.start, end: m.value.end })) ?? of.elements ?? [];
  const last = items[items.length - 1];
  const add = (/** @type {string} */ token) => {
    const lead = last ? (/\n[ \t]*$/.exec(text.slice(0, last.start))?.[0] ?? ' ') : '';
    edit(last ? { from: last.end, to: last.end, insert: ',' + lead + token } : { from: of.start + 1, to: of.start + 1, insert: token });
    setName('');
  };
  const kind = of.elements?.at(-1)?.kind;
  const empty = KINDS.find(([word]) => word === (kind === 'string' ? 'text' : kind))?.[1] ?? '""';
  if (!of.members)
    return html`<button type="button" class="small" aria-label=${'Add an element to ' + path} onClick=${() => add(empty)}>Add</button>`;
  const taken = name === '' || of.members.some((m) => m.name === name);
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!taken) add(shown(JSON.stringify(name)) + ': ""');
  };
  return html`<form class="add" onSubmit=${submit}><input aria-label=${'New member of ' + (path || 'the document')} placeholder="new member"
    autocomplete="off" value=${name} onInput=${(/** @type {any} */ event) => setName(event.target.value)} />
    <button class="small" disabled=${taken}>Add</button></form>`;
}
