import { html, useRef } from '../../lib/html.js';
import { key } from '../../lib/key.js';
import { hasRole } from '../../lib/me.js';
import { placeHref } from '../../lib/place.js';
import { usePolled } from '../../lib/poll.js';
import { CopyAsCurl } from '../../ui/curl.js';
import { MoreList } from '../../ui/morelist.js';
import { ProblemAlert } from '../../ui/problem.js';
import { Section } from '../../ui/section.js';
import { Batch } from './batch.js';
import { useDeeds } from './deeds.js';
import { loadGroup } from './loadgroups.js';
import { Members, Partitions } from './partitions.js';
import { Settings } from './settings.js';

/** How long until the group is asked for again, in milliseconds. */
const EVERY = 10_000;

/**
 * A consumer group: its settings, its members, how far each partition is, and what could not be handled.
 * @param {{ place: import('../../lib/place.js').Place }} props
 */
export function GroupPage({ place }) {
  const name = place.parts[1];
  const admin = hasRole('admin');
  const { value, problem, again } = usePolled((signal) => loadGroup(name, signal), [name, key.value], () => EVERY);
  const heading = useRef(/** @type {HTMLElement | null} */ (null));
  const deeds = useDeeds(again, heading);
  return html`<p><a href=${placeHref(['_status'])}>All groups</a></p>
    <${ProblemAlert} problem=${problem} again=${again} />
    ${value && html`<div class="columns"><${Settings} group=${value.group} /><${Members} group=${value.group} /></div>
      <${Partitions} group=${value.group} />
      <${Section} title="Parked batches" heading=${heading}>${value.parked.length === 0 ? html`<p>No batch is parked.</p>`
        : html`<${MoreList} label="Parked batches" items=${value.parked} item=${(/** @type {any} */ batch) => html`<${Batch} key=${batch.id} group=${value.group} batch=${batch} admin=${admin} deeds=${deeds} />`} />`}
      ${deeds.shown}<//>`}
    <${CopyAsCurl} asked=${{ path: ['_groups', name] }} />`;
}
