import { html } from '../lib/html.js';
import { member, textOf, tokens } from '../json/value.js';
import { Visible } from './text.js';

/** How much of a value is shown in a line. */
const MAX = 120;

/**
 * A JSON Patch with old values, a line an operation: what was and what is.
 * @param {{ patch: import('../json/scan.js').Node | undefined, max?: number }} props max is how many lines are shown
 */
export function Patch({ patch, max = 20 }) {
  const all = patch?.elements ?? [];
  return html`${all.slice(0, max).map((op) => {
    const path = textOf(member(op, 'path')) ?? '';
    const old = member(op, 'old');
    const value = member(op, 'value');
    return html`<div class="difference"><code><${Visible} text=${path || '/'} max=${MAX} /></code>: ${old ? html`<del><${Visible} text=${tokens(old)} max=${MAX} /></del>` : html`<span class="quiet">nothing</span>`} → ${
      value ? html`<ins><${Visible} text=${tokens(value)} max=${MAX} /></ins>` : html`<span class="quiet">nothing</span>`}</div>`;
  })}${all.length > max && html`<div class="quiet">${all.length - max} more</div>`}`;
}
