import { html, useRef, useState } from '../../lib/html.js';
import { placeHref } from '../../lib/place.js';
import { key } from '../../lib/key.js';
import { usePolled } from '../../lib/poll.js';
import { number } from '../../ui/amounts.js';
import { ProblemAlert } from '../../ui/problem.js';
import { Section } from '../../ui/section.js';
import { Table } from '../../ui/table.js';
import { Visible } from '../../ui/text.js';
import { groupLag, LagText } from './lag.js';
import { loadGroups, SHOWN } from './loadgroups.js';
import { Batch } from './batch.js';
import { useDeeds } from './deeds.js';

/** How many groups are shown at first, and how many more at each step. */
const STEP = 20;

/** How long until they are asked for again, in milliseconds. */
const EVERY = 10_000;

/**
 * The consumer groups that the reader may see: how far they are, and what they could not handle.
 * @param {{ admin: boolean }} props
 */
export function Groups({ admin }) {
  const [max, setMax] = useState(STEP);
  const { value, problem, again } = usePolled((signal) => loadGroups(max, signal), [max, key.value], () => EVERY);
  const heading = useRef(/** @type {HTMLElement | null} */ (null));
  const deeds = useDeeds(again, heading);
  return html`<${Section} title="Groups" heading=${heading}>
    <${ProblemAlert} problem=${problem} again=${again} />
    ${value && (value.all === 0 ? html`<p>There is no consumer group that you may see. <code>fanfold group create NAME</code> makes one.</p>` : html`
      <${Table} label="Groups" head=${['Group', ['Partitions'], 'Owners', 'Lag', 'Parked batches']}>
        ${value.groups.map((one) => html`<${Row} key=${one.name} of=${one} admin=${admin} deeds=${deeds} />`)}<//>
      ${value.all > value.groups.length && html`<button type="button" onClick=${() => setMax(max + STEP)}>Show ${Math.min(STEP, value.all - value.groups.length)} more groups</button>`}`)}
    ${deeds.shown}
  <//>`;
}

/** @param {{ of: import('./loadgroups.js').GroupState, admin: boolean, deeds: import('./deeds.js').Deeds }} props */
function Row({ of: { name, group, parked, problem }, admin, deeds }) {
  const head = html`<th scope="row"><a href=${placeHref(['_groups', name])}><${Visible} text=${name} max=${200} /></a></th>`;
  if (!group) return html`<tr>${head}<td colspan="4">${problem && html`<${Visible} text=${problem.title + ': ' + problem.detail} max=${500} />`}</td></tr>`;
  return html`<tr>${head}<td class="number">${number(group.partitions.length)}</td><td class="whole"><${Owners} group=${group} /></td>
    <td class="lag"><${LagText} of=${groupLag(group, group)} /></td>
    <td class="wide">${parked.length === 0 ? 'none' : html`<ul class="batches" aria-label="Parked batches">${parked.slice(0, SHOWN).map((batch) => html`<li key=${batch.id}><${Batch} group=${group} batch=${batch} admin=${admin} deeds=${deeds} /></li>`)}</ul>
      ${parked.length > SHOWN && html`<a href=${placeHref(['_groups', name])}>${number(parked.length - SHOWN)} more</a>`}`}</td></tr>`;
}

/** How many owners are named. */
const NAMED = 10;

/** Who owns how many partitions. @param {{ group: any }} props */
function Owners({ group }) {
  const owners = new Map();
  for (const { owner } of group.partitions) owners.set(owner ?? '', (owners.get(owner ?? '') ?? 0) + 1);
  const named = [...owners].filter(([owner]) => owner !== '');
  const free = owners.get('') ?? 0;
  return html`${named.slice(0, NAMED).map(([owner, n]) => html`<div><${Visible} text=${owner} max=${128} /> <span class="quiet">${n}</span></div>`)}
    ${named.length > NAMED && html`<div class="quiet">and ${named.length - NAMED} more</div>`}
    ${free > 0 && html`<div>nobody <span class="quiet">${free}</span></div>`}`;
}
