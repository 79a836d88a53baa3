import { html, useLayoutEffect, useMemo, useRef, useState } from '../lib/html.js';
import { PAGE, childrenOf, countOf, decoded, isContainer, openAtFirst } from '../lib/json.js';
import { visible } from '../lib/text.js';
import { shortOrLong } from './parts.js';

/** @typedef {import('../lib/json.js').Node} Node */

/**
 * What a page adds to a view. A pointer is that of the value (RFC 6901).
 * @typedef {object} Adds
 * @property {(pointer: string) => any} [beside] what stands beside a value
 * @property {(pointer: string) => any} [under] what stands under a value
 * @property {(pointer: string) => number} [inside] how many values within a folded one have something beside them
 * @property {(pointer: string) => boolean} [marked] whether a value's form differs from that of others
 * @property {(pointer: string, node: Node) => string | undefined} [href] where a value leads
 * @property {Set<string>} [changed] what has changed lately
 */

/**
 * A JSON value by its own tokens, folded by objects and arrays. Of long lists and texts it shows the beginning.
 * @param {{ root: Node, adds?: Adds }} props
 */
export function JsonView({ root, adds = {} }) {
  const open = useMemo(() => openAtFirst(root), [root]);
  return html`<div class="json" onCopy=${(/** @type {ClipboardEvent} */ event) => copySelected(event, root)}>${
    isContainer(root)
      ? html`<p class="quiet">${summaryOf(root)}</p><${Rows} node=${root} pointer="" depth=${0} open=${open} adds=${adds} />`
      : tokenOf('', root, adds)
  }</div>`;
}

/**
 * The members of an object, or the elements of an array.
 * @param {{ node: Node, pointer: string, depth: number, open: Set<Node>, adds: Adds }} props
 */
function Rows({ node, pointer, depth, open, adds }) {
  const [max, setMax] = useState(PAGE);
  const fresh = useRef(/** @type {HTMLElement | null} */ (null));
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    if (list.current) shownIn.set(list.current, node);
  }, [node]);
  const count = countOf(node);
  const first = max - PAGE;
  useLayoutEffect(() => {
    if (first > 0) fresh.current?.focus();
  }, [first]);
  const next = Math.min(PAGE, count - max);
  return html`<ul role="list" ref=${list} class=${depth > 8 ? 'deep' : undefined}>
    ${childrenOf(node, pointer, max).map(
      (child, i) => html`<li key=${child.key} ref=${first > 0 && i === first ? fresh : undefined}
        tabindex=${first > 0 && i === first ? -1 : undefined}>
      <${Row} ...${child} depth=${depth} open=${open} adds=${adds} /></li>`,
    )}
  </ul>
  ${
    next > 0 &&
    html`<p class="more"><button type="button" class="small" aria-label=${`Show ${next} more of ${named(pointer)}`}
      onClick=${() => setMax(max + PAGE)}>Show ${next} more</button>
    <span class="quiet"> of ${(count - max).toLocaleString('en')}</span></p>`
  }`;
}

/**
 * A member or an element: its name, and its value or how much is in it.
 * @param {{ token: string, pointer: string, node: Node, depth: number, open: Set<Node>, adds: Adds }} props
 */
function Row({ token, pointer, node, depth, open, adds }) {
  const [unfolded, setUnfolded] = useState(open.has(node));
  const folds = countOf(node) > 0;
  const inside = folds && !unfolded ? (adds.inside?.(pointer) ?? 0) : 0;
  const isChanged =
    adds.changed !== undefined &&
    adds.changed.size > 0 &&
    (adds.changed.has(pointer) || (folds && !unfolded && [...adds.changed].some((at) => at.startsWith(pointer + '/'))));
  return html`<div class=${'row' + (isChanged ? ' changed' : '')}>
      ${
        folds &&
        html`<button type="button" class="fold" aria-expanded=${unfolded}
        aria-label=${`${node.members ? 'Members' : 'Elements'} of ${named(pointer)}`} onClick=${() => setUnfolded(!unfolded)}></button>`
      }
      <span class="at">${shortOrLong(decoded(token), 'the name', 200)}:</span>${' '}
      ${tokenOf(pointer, node, adds)}
      ${inside > 0 && html` <span class="quiet">${inside} derived within</span>`}
      ${isChanged && html` <mark>changed</mark>`}
      ${adds.beside?.(pointer)}
    </div>
    ${adds.under?.(pointer)}
    ${folds && unfolded && html`<${Rows} node=${node} pointer=${pointer} depth=${depth + 1} open=${open} adds=${adds} />`}`;
}

/**
 * Returns the token of a value, a link where it leads somewhere.
 * @param {string} pointer
 * @param {Node} node
 * @param {Adds} adds
 */
function tokenOf(pointer, node, adds) {
  const kind = 'token' + (adds.marked?.(pointer) ? ' from-rule' : '');
  if (isContainer(node)) return html`<span class=${isEmpty(node) ? kind : 'count ' + kind}>${summaryOf(node)}</span>`;
  const href = adds.href?.(pointer, node);
  const text = shortOrLong(decoded(node.raw), named(pointer));
  return href === undefined ? html`<span class=${kind}>${text}</span>` : html`<a class=${kind} href=${href}>${text}</a>`;
}

/**
 * Returns a pointer as part of a button's name.
 * @param {string} pointer
 */
export const named = (pointer) => visible(pointer.length > 200 ? pointer.slice(0, 200) + '…' : pointer || '/');

/** @param {Node} node */
const isEmpty = (node) => countOf(node) === 0;

/** @param {Node} node */
function summaryOf(node) {
  const count = countOf(node);
  const what = node.members ? 'member' : 'element';
  if (count === 0) return node.members ? '{}' : '[]';
  return `${node.members ? '{' : '['} ${count.toLocaleString('en')} ${what}${count === 1 ? '' : 's'} ${node.members ? '}' : ']'}`;
}

/** The object or array that each list of rows shows. @type {WeakMap<Element, Node>} */
const shownIn = new WeakMap();

/**
 * Copies what is selected of a view as JSON, by the document's own tokens. Of a single value the browser copies what is selected of it.
 * @param {ClipboardEvent} event
 * @param {Node} root
 */
function copySelected(event, root) {
  const selection = getSelection();
  if (!selection || selection.isCollapsed || !event.clipboardData) return;
  const range = selection.getRangeAt(0);
  const around = range.commonAncestorContainer;
  const element = around instanceof Element ? around : /** @type {Element} */ (around.parentElement);
  if (element.closest('.row, .origin')) return;
  const list = element.closest('.json ul[role="list"]') ?? /** @type {Element} */ (event.currentTarget).querySelector('ul');
  if (!list) return;
  event.clipboardData.setData('text/plain', partOf(shownIn.get(list) ?? root, list, range));
  event.preventDefault();
}

/**
 * Returns the part of an object or array whose rows are selected, as JSON. One that is selected whole, or folded, has its own text.
 * @param {Node} node
 * @param {Element} list its rows
 * @param {Range} range
 * @returns {string}
 */
function partOf(node, list, range) {
  const children = childrenOf(node, '', list.children.length);
  const parts = [...list.children].flatMap((item, i) => {
    if (!hasSelected(item, range)) return [];
    const { token, node: child } = children[i];
    const rows = item.querySelector(':scope > ul[role="list"]');
    const value = rows ? partOf(child, rows, range) : ownText(child);
    return [{ text: node.members ? token + ': ' + value : value, isWhole: value === ownText(child) }];
  });
  if (parts.length === countOf(node) && parts.every(({ isWhole }) => isWhole)) return ownText(node);
  const text = parts.map((part) => part.text.replaceAll('\n', '\n  ')).join(',\n  ');
  return node.members ? `{\n  ${text}\n}` : `[\n  ${text}\n]`;
}

/**
 * Tells whether a text within an element is selected. A browser's selection of one row ends at the beginning of the next.
 * @param {Element} item
 * @param {Range} range
 */
function hasSelected(item, range) {
  if (!range.intersectsNode(item)) return false;
  const whole = document.createRange();
  whole.selectNodeContents(item);
  const both = range.cloneRange();
  if (both.compareBoundaryPoints(Range.START_TO_START, whole) < 0) both.setStart(whole.startContainer, whole.startOffset);
  if (both.compareBoundaryPoints(Range.END_TO_END, whole) > 0) both.setEnd(whole.endContainer, whole.endOffset);
  return both.toString().trim() !== '';
}

/** @param {Node} node */
const ownText = (node) => (isContainer(node) ? node.raw.slice(node.start, node.end) : node.raw);
