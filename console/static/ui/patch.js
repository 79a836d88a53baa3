import { html } from '../lib/html.js';
import { member, textOf, tokens } from '../json/value.js';
import { Visible } from './text.js';

/** How much of a value is shown in a line. */
const MAX = 120;

/**
 * A JSON Patch with old values, a line an operation: what was and what is.
 * @param {{ patch: import('../json/scan.js').Node | undefined, max?: number, bare?: boolean, after?: any }} props max is how many lines are shown; bare shows texts without
 *   quotation marks, where both are texts; after stands at the end of each line
 */
export function Patch({ patch, max = 20, bare = false, after }) {
  const all = patch?.elements ?? [];
  return html`${all.slice(0, max).map((op) => {
    const path = textOf(member(op, 'path')) ?? '';
    const old = member(op, 'old');
    const value = member(op, 'value');
    const texts = bare && old?.kind === 'string' && value?.kind === 'string';
    const shown = (/** @type {import('../json/scan.js').Node} */ node) => html`<${Visible} text=${texts ? textOf(node) : tokens(node)} max=${MAX} />`;
    return html`<div class="difference"><code><${Visible} text=${path || '/'} max=${MAX} /></code>: ${old ? html`<del>${shown(old)}</del>` : html`<span class="quiet">nothing</span>`} → ${
      value ? html`<ins>${shown(value)}</ins>` : html`<span class="quiet">nothing</span>`}${after}</div>`;
  })}${all.length > max && html`<div class="quiet">${all.length - max} more</div>`}`;
}
