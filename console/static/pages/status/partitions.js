import { html, useState } from '../../lib/html.js';
import { number } from '../../ui/amounts.js';
import { Section } from '../../ui/section.js';
import { Table } from '../../ui/table.js';
import { Visible } from '../../ui/text.js';
import { Time } from '../../ui/time.js';
import { groupLag, LagText } from './lag.js';

/** How many partitions are shown at first. */
const FIRST = 100;

/**
 * How far each partition of a group is.
 * @param {{ group: any }} props
 */
export function Partitions({ group }) {
  const [all, setAll] = useState(false);
  const shown = all ? group.partitions : group.partitions.slice(0, FIRST);
  return html`<${Section} title="Partitions"><${Table} label="Partitions" head=${[['Partition'], 'Owner', 'Lag', 'Checkpoint', ['Attempts'], ['Parked'], 'Last error']}>
    ${shown.map((/** @type {any} */ one) => html`<tr key=${one.partition}><td class="number">${one.partition}</td>
      <td>${one.owner === undefined ? 'nobody' : html`<${Visible} text=${one.owner} max=${128} />`}${one.expires && html` <div class="quiet">until <${Time} text=${one.expires} /></div>`}</td>
      <td class="lag"><${LagText} of=${groupLag(group, one)} /></td><td><code><${Visible} text=${one.checkpoint} /></code></td>
      <td class="number">${number(one.attempts)}</td><td class="number">${number(one.parked)}</td>
      <td>${one.error && html`<${Visible} text=${one.error} max=${500} />`}${one.notBefore && html` <div class="quiet">comes again <${Time} text=${one.notBefore} /></div>`}</td></tr>`)}<//>
    ${group.partitions.length > shown.length && html`<button type="button" onClick=${() => setAll(true)}>Show all ${number(group.partitions.length)} partitions</button>`}<//>`;
}

/**
 * Who works for a group.
 * @param {{ group: any }} props
 */
export const Members = ({ group }) => html`<${Section} title="Members">${group.members.length === 0 ? html`<p>Nobody takes its changes.</p>` : html`<ul aria-label="Members">
  ${group.members.map((/** @type {any} */ one) => html`<li key=${one.member}><${Visible} text=${one.member} max=${128} /> <span class="quiet">until <${Time} text=${one.expires} />${one.max && `, at most ${one.max} partitions`}</span></li>`)}</ul>`}<//>`;
