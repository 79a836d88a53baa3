import { html } from '../lib/html.js';
import { pieces } from '../lib/visible.js';

/**
 * A text of somebody else, whose hidden characters are shown as their code points.
 * @param {{ text: string, max?: number }} props max cuts it, with an ellipsis
 */
export function Visible({ text, max }) {
  const cut = max !== undefined && text.length > max ? text.slice(0, max).replace(/[\ud800-\udbff]$/, '') + '…' : text;
  const parts = pieces(cut);
  return parts.length === 1 ? cut : parts.map((piece, i) => (i % 2 ? html`<span class="code-point">${piece}</span>` : piece));
}
