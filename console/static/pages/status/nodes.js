import { html } from '../../lib/html.js';
import { duration, number } from '../../ui/amounts.js';
import { Section } from '../../ui/section.js';
import { Table } from '../../ui/table.js';
import { Visible } from '../../ui/text.js';
import { LagText, nodeLag } from './lag.js';

/**
 * The nodes of the log, as the one that was asked knows them.
 * @param {{ status: any }} props
 */
export const Nodes = ({ status }) => html`<${Section} title="Nodes"><${Table} label="Nodes" head=${['Node', 'State', 'Lag', ['Last event'], 'Folds', 'Program']}>
  ${status.nodes.map((/** @type {any} */ node) => html`<tr key=${node.id + ' ' + node.address}>
    <th scope="row"><${Visible} text=${node.address || node.id || 'this node'} max=${200} />${node.address && node.id && html` <code class="quiet"><${Visible} text=${node.id} max=${60} /></code>`}${node.self && status.nodes.length > 1 && html` <span class="quiet">the one asked</span>`}</th>
    <td>${stateOf(node)}</td>
    <td class="lag"><${LagText} of=${nodeLag(node, status)} /></td>
    <td class="number">${number(node.applied)}</td>
    <td>${node.folds[0] === node.folds[1] ? node.folds[0] : `${node.folds[0]} to ${node.folds[1]}`}</td>
    <td><${Visible} text=${node.version} max=${60} /></td></tr>`)}<//><//>`;

/** @param {any} node */
function stateOf(node) {
  if (node.error) return html`<strong>unknown</strong>: <${Visible} text=${node.error} max=${500} />`;
  if (!node.live && node.self) return html`<strong>lapsed</strong>: it cannot keep its lease, and takes no writes`;
  if (!node.live) return html`<strong>away</strong>, last seen ${duration(node.seenSeconds)} ago`;
  return node.ready ? 'ready' : html`<strong>not ready</strong>`;
}
