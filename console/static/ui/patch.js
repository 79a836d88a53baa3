import { html } from '../lib/html.js';
import { member, textOf, tokens } from '../json/value.js';
import { Visible } from './text.js';

/** @typedef {import('../json/scan.js').Node} Node */

/** How much of a value is shown in a line. */
const MAX = 120;

/**
 * A value that differs, in a line: where it is, what was and what is.
 * @param {{ path: string, old?: Node, value?: Node }} props a value that came has no old one, and one that went has no new one
 */
export const Difference = ({ path, old, value }) => html`<div class="difference"><code><${Visible} text=${path || 'the document'} max=${MAX} /></code>: ${
  old ? html`<del><${Visible} text=${tokens(old)} max=${MAX} /></del>` : html`<span class="quiet">nothing</span>`} → ${
  value ? html`<ins><${Visible} text=${tokens(value)} max=${MAX} /></ins>` : html`<span class="quiet">nothing</span>`}</div>`;

/**
 * A JSON Patch with old values, a line an operation.
 * @param {{ patch: Node | undefined, max?: number }} props max is how many lines are shown
 */
export function Patch({ patch, max = 20 }) {
  const all = patch?.elements ?? [];
  return html`${all.slice(0, max).map((op) => html`<${Difference} path=${textOf(member(op, 'path')) ?? ''} old=${member(op, 'old')} value=${member(op, 'value')} />`)}
    ${all.length > max && html`<div class="quiet">${all.length - max} more</div>`}`;
}
