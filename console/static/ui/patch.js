import { html } from '../lib/html.js';
import { member, textOf, tokens } from '../json/value.js';
import { Visible } from './text.js';

/** @typedef {import('../json/scan.js').Node} Node */

/** How much of a value is shown in a line. */
const MAX = 120;

/**
 * A value that differs, in a line: where it is, what was and what is.
 * @param {{ path: string, old?: Node, value?: Node, bare?: boolean, after?: any }} props a value that came has no old one, and one that went has no new one; bare shows
 *   texts without quotation marks, where both are texts; after stands at the end
 */
export function Difference({ path, old, value, bare = false, after }) {
  const texts = bare && old?.kind === 'string' && value?.kind === 'string';
  const shown = (/** @type {Node} */ node) => html`<${Visible} text=${texts ? textOf(node) : tokens(node)} max=${MAX} />`;
  return html`<div class="difference"><code><${Visible} text=${path || 'the document'} max=${MAX} /></code>: ${old ? html`<del>${shown(old)}</del>` : html`<span class="quiet">nothing</span>`} → ${
    value ? html`<ins>${shown(value)}</ins>` : html`<span class="quiet">nothing</span>`}${after}</div>`;
}

/**
 * A JSON Patch with old values, a line an operation.
 * @param {{ patch: Node | undefined, max?: number, bare?: boolean, after?: any }} props max is how many lines are shown; bare and after are those of each line
 */
export function Patch({ patch, max = 20, bare, after }) {
  const all = patch?.elements ?? [];
  return html`${all.slice(0, max).map((op) => html`<${Difference} path=${textOf(member(op, 'path')) ?? ''} old=${member(op, 'old')} value=${member(op, 'value')} bare=${bare} after=${after} />`)}
    ${all.length > max && html`<div class="quiet">${all.length - max} more</div>`}`;
}
