// What stands in the cells of a table of documents: values by their kinds, links to what they refer to, and chips that open.
import { html } from '../lib/html.js';
import { countOf, decoded, isContainer, tokens } from '../lib/json.js';
import { placeHref } from '../lib/place.js';
import { Visible } from '../ui/parts.js';

/** @typedef {import('../lib/json.js').Node} Node */

/** How many columns there are where nobody chose them, and how much of a value a cell shows. */
const MAX_COLUMNS = 8;
export const MAX_CELL = 200;

/** Names with these characters are no paths, or would end one in a list of paths. */
export const noPath = /[.,[\](){}"']|^-|^\s|\s$|^$/;

/**
 * Returns the paths in a list of them.
 * @param {string} fields
 */
export const pathsOf = (fields) =>
  fields
    .split(',')
    .map((path) => path.trim())
    .filter((path) => path !== '');

/**
 * Returns the members that documents have and that may be columns, in the order in which they come, with how many have each.
 * @param {Node[]} documents
 * @returns {Map<string, number>}
 */
export function membersOf(documents) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const doc of documents) {
    for (const name of new Set(doc.members?.map((m) => m.name))) {
      if (name !== 'id' && name !== '_meta' && !noPath.test(name)) counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  return counts;
}

/**
 * Returns the columns for documents: the members that most of them have, in the order in which they come.
 * @param {Node[]} documents
 */
export function columnsOf(documents) {
  const counts = membersOf(documents);
  const chosen = new Set(
    [...counts]
      .sort((a, b) => b[1] - a[1])
      .slice(0, MAX_COLUMNS)
      .map(([name]) => name),
  );
  return [...counts.keys()].filter((name) => chosen.has(name));
}

/** Returns the steps of a path: names, and [] into an array. @param {string} path */
const stepsOf = (path) =>
  path.split('.').flatMap((part) => {
    const name = part.replace(/(\[\])+$/, '');
    return [name, ...Array((part.length - name.length) / 2).fill('[]')];
  });

/**
 * Returns what a document has at a path, which may lead through arrays.
 * @param {Node} doc
 * @param {string} path such as authors[].name
 * @returns {Generator<Node>}
 */
export const valuesOf = (doc, path) => valuesAt(doc, stepsOf(path));

/**
 * @param {Node | undefined} node
 * @param {string[]} steps
 * @returns {Generator<Node>}
 */
function* valuesAt(node, [step, ...rest]) {
  if (!node) return;
  if (step === undefined) yield node;
  else if (step !== '[]') yield* valuesAt(node.members?.findLast((m) => m.name === step)?.value, rest);
  else for (const element of node.elements ?? []) yield* valuesAt(element, rest);
}

/**
 * Returns a value as it reads: a text without quotation marks, with its escapes decoded; anything else by its own tokens.
 * @param {Node} node
 */
export const readable = (node) => (node.kind === 'string' ? /** @type {string} */ (JSON.parse(node.raw)) : decoded(tokens(node)));

/** Returns a text in one line. @param {string} text */
const inLine = (text) => text.replace(/\r\n|[\r\n]/g, '↵').replaceAll('\t', '⇥');

/**
 * Returns what the cell of a path holds as text.
 * @param {Node} doc
 * @param {string} path
 */
export function textAt(doc, path) {
  let text = '';
  for (const value of valuesOf(doc, path)) {
    text += (text === '' ? '' : ', ') + readable(value);
    if (text.length > MAX_CELL) break; // the rest is not shown
  }
  return text;
}

// What the model says of the members of a collection.

/**
 * Where the ids of other documents stand, by path, and which paths rules derive.
 * @typedef {{ links: Map<string, string>, derived: Set<string> }} Ties
 */

/** @type {Ties} */
export const NO_TIES = { links: new Map(), derived: new Set() };

/**
 * @param {any} model as the API gives it, or null
 * @param {string} collection
 * @returns {Ties}
 */
export function tiesOf(model, collection) {
  const of = model?.collections?.[collection] ?? {};
  /** @type {Map<string, string>} */
  const links = new Map();
  for (const r of /** @type {any[]} */ (Object.values(of.relations ?? {}))) links.set(String(r.path), String(r.to));
  for (const [path, rule] of /** @type {[string, any][]} */ (Object.entries(of.derive ?? {}))) {
    const from = rule?.ids ?? rule?.recent;
    if (typeof from === 'string') links.set(path + (rule.ids ? '[]' : '[].id'), from.slice(0, from.indexOf('.')));
  }
  return { links, derived: new Set(Object.keys(of.derive ?? {})) };
}

/**
 * Tells whether a rule derives what stands at a path.
 * @param {Ties} ties
 * @param {string} path
 */
export const isDerived = (ties, path) =>
  [...ties.derived].some((rule) => path === rule || path.startsWith(rule + '.') || path.startsWith(rule + '['));

/**
 * Returns the path of a pointer, such as authors[].id of /authors/0/id.
 * @param {string[]} steps of the pointer
 */
export const pathOfSteps = (steps) =>
  steps.reduce((path, step) => (/^\d+$/.test(step) ? path + '[]' : path ? path + '.' + step : step), '');

/**
 * What a cell needs of its table.
 * @typedef {object} Surroundings
 * @property {Ties} ties
 * @property {string | null} at
 * @property {(doc: Node, path: string, node: Node) => void} onOpen opens what a chip holds
 */

/**
 * Returns what stands in a cell, and how: numbers at the right, links to what is referred to, chips for what has more in it.
 * @param {Node} doc
 * @param {string} path
 * @param {Surroundings} of
 * @param {number} tab the tabindex of what can be used in it
 */
export function cellOf(doc, path, of, tab) {
  const to = of.ties.links.get(path);
  const shown = [];
  let only = /** @type {Node | undefined} */ (undefined);
  let room = MAX_CELL;
  for (const node of valuesOf(doc, path)) {
    if (shown.length > 0) shown.push(', ');
    only = shown.length === 0 ? node : undefined;
    if (room <= 0) {
      shown.push('…');
      break;
    }
    const text = isContainer(node) ? '' : inLine(readable(node));
    room -= isContainer(node) ? 40 : text.length;
    if (isContainer(node)) shown.push(chipOf(doc, path, node, of, tab));
    else if (to !== undefined && (node.kind === 'string' || node.kind === 'number') && text !== '') {
      const href = placeHref([to, readable(node)], { at: of.at });
      shown.push(
        html`<a href=${href} tabindex=${tab} data-to=${to} data-id=${readable(node)}><${Visible} text=${text} max=${MAX_CELL} /></a>`,
      );
    } else if (node.kind === 'string') shown.push(text === '' ? html`<i>""</i>` : Visible({ text, max: MAX_CELL }));
    else if (node.kind === 'number') shown.push(Visible({ text, max: MAX_CELL }));
    else shown.push(html`<i>${text}</i>`);
  }
  const kind = only?.kind === 'number' && to === undefined ? 'number' : '';
  return { shown, kind: isDerived(of.ties, path) ? kind + ' from-rule' : kind };
}

/** How much of what is in an object or array its chip tells, in characters. */
const MAX_CHIP = 60;

/**
 * A button that opens an object or an array. It tells how much is in it, and how that begins.
 * @param {Node} doc
 * @param {string} path
 * @param {Node} node
 * @param {Surroundings} of
 * @param {number} tab
 */
function chipOf(doc, path, node, of, tab) {
  const count = countOf(node);
  if (count === 0) return html`<i>${node.members ? '{}' : '[]'}</i>`;
  return html`<button type="button" class="chip" tabindex=${tab} onClick=${() => of.onOpen(doc, path, node)}><b>${
    node.members ? `{${count}}` : `[${count}]`
  }</b> <${Visible} text=${begins(node)} max=${MAX_CHIP} /></button>`;
}

/**
 * Returns how the values in an object or an array begin.
 * @param {Node} root
 */
function begins(root) {
  let text = '';
  const queue = [root];
  for (let seen = 0, node = queue.shift(); node && seen < 40 && text.length <= MAX_CHIP; node = queue.shift(), seen++) {
    const inside = node.members?.slice(0, 10).map((m) => m.value) ?? node.elements?.slice(0, 10);
    if (inside) queue.unshift(...inside);
    else text += (text === '' ? '' : ', ') + inLine(readable(node).slice(0, MAX_CHIP + 1));
  }
  return text;
}
