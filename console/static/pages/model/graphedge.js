import { html } from '../../lib/html.js';
import { visible } from '../../lib/visible.js';
import { curve, head, labelOf, LONGEST, rulesIn } from './layout.js';

/** @param {string} text */
export const short = (text) => visible(text.length > LONGEST ? text.slice(0, LONGEST) + '…' : text);

/**
 * A relation: a line from what is referred to, to what refers to it. Heads of arrows are where values arrive.
 * @param {{ edge: import('./drawn.js').DrawnEdge, place: { x: number, y: number, points: { x: number, y: number }[] } }} props
 */
export function GraphEdge({ edge, place: { x, y, points } }) {
  const { relation, down, up, failing, load } = edge;
  const d = curve(points);
  const last = points.length - 1;
  const label = labelOf({ ...edge, relation: { ...relation, name: short(relation.name) } });
  const told = [`${relation.key} to ${relation.to}`, rulesIn(relation), failing > 0 && `${failing} failing`, load > 0 && `hot, ${load} documents each`].filter(Boolean).join(', ');
  return html`<g role="img" aria-label=${visible(told)} class=${'edge' + (relation.rules.length === 0 ? ' bare' : '') + (failing > 0 ? ' failing' : '') + (load > 0 ? ' hot' : '')}>
    <path class="line" d=${d} />${load > 0 && html`<path class="core" d=${d} />`}
    ${down && html`<path class="head" d=${head(points[last], points[last - 1])} />`}
    ${up && html`<path class="head" d=${head(points[0], points[1])} />`}
    <text class="label" x=${x + (failing > 0 ? 8 : 0)} y=${y + 4} text-anchor="middle">${label}</text>
    ${failing > 0 && html`<${Warning} x=${x - label.length * 3.3 - 2} y=${y} />`}
  </g>`;
}

/**
 * The mark of what fails: a triangle, so that its form tells it.
 * @param {{ x: number, y: number }} props its middle
 */
export const Warning = ({ x, y }) => html`<path class="warning" d=${`M${x},${y - 8} l8,14 h-16 z`} /><text class="warning-sign" x=${x} y=${y + 5} text-anchor="middle">!</text>`;
