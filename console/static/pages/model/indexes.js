import { html } from '../../lib/html.js';
import { number } from '../../ui/amounts.js';
import { Visible } from '../../ui/text.js';

/**
 * Indexes that come, change or go, with what they take.
 * @param {{ indexes: { collection: string, index: string, change: string, components: string[], entries: number, bytes?: number }[] }} props
 */
export function PreviewedIndexes({ indexes }) {
  if (indexes.length === 0) return null;
  return html`<h4>Indexes</h4><div class="scroll"><table aria-label="Indexes" class="dense">
    <thead><tr><th scope="col">Index</th><th scope="col">Change</th><th scope="col">Order</th><th scope="col" class="number">Entries</th><th scope="col" class="number">Bytes</th></tr></thead>
    <tbody>${indexes.map((one) => html`<tr key=${one.collection + '.' + one.index + one.change}>
      <td><code><${Visible} text=${one.collection + '.' + one.index} max=${200} /></code></td><td>${one.change}</td>
      <td><code><${Visible} text=${one.components.join(', ')} max=${300} /></code></td>
      <td class="number">${number(one.entries)}</td><td class="number">${one.bytes !== undefined && number(one.bytes)}</td></tr>`)}</tbody>
  </table></div>`;
}
