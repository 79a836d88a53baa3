import { html } from '../../lib/html.js';
import { placeHref } from '../../lib/place.js';
import { visible } from '../../lib/visible.js';
import { counted } from '../../ui/amounts.js';
import { short, Warning } from './graphedge.js';

/**
 * A collection: a link to it, the bigger the more documents it has.
 * @param {{ node: import('./drawn.js').DrawnNode, place: { x: number, y: number, width: number, height: number }, chosen: boolean }} props
 */
export function GraphNode({ node: { name, documents, failing }, place: { x, y, width, height }, chosen }) {
  const count = counted(documents, 'document');
  const told = `${name}, ${count}` + (failing > 0 ? `, ${failing} failing` : '');
  return html`<a href=${placeHref([name])} aria-label=${visible(told)} class=${'node' + (failing > 0 ? ' failing' : '') + (chosen ? ' chosen' : '')}>
    <rect x=${x - width / 2} y=${y - height / 2} width=${width} height=${height} rx="7" />
    <text class="name" x=${x} y=${y - 3} text-anchor="middle">${short(name)}</text>${' '}
    <text class="count" x=${x} y=${y + 14} text-anchor="middle">${count}</text>
    ${failing > 0 && html`<${Warning} x=${x + width / 2 - 12} y=${y - height / 2 + 12} />`}
  </a>`;
}
