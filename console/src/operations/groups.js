import { html, useId, useRef, useState } from '../lib/html.js';
import { ask, hasRole, key } from '../lib/http.js';
import { usePolled } from '../lib/load.js';
import { placeHref } from '../lib/place.js';
import { Pending, ProblemAlert } from '../ui/dialogs.js';
import { CopyAs, MoreList, Section, Table, Time, Visible, counted, duration, number } from '../ui/parts.js';
import { GroupActions, MakeGroup } from './groupforms.js';
import { ShownOnce } from './keys.js';
import { useDeeds } from './maintenance.js';
import { Settings } from './page.js';

/** How many groups are shown at first, and how many more at each step. */
const STEP = 20;

/** How long until they are asked for again, in milliseconds. */
const EVERY = 10_000;

/** The consumer groups, on a page of their own. */
export function GroupsPage() {
  return html`<div class="groups-page"><p class="actions"><${MakeGroup} /></p><${Groups} admin=${hasRole('admin')} /></div>
    <${ShownOnce} /><${CopyAs} asked=${{ path: ['_groups'] }} />`;
}

/**
 * The consumer groups that the reader may see: how far they are, and what they could not handle.
 * @param {{ admin: boolean }} props
 */
export function Groups({ admin }) {
  const [max, setMax] = useState(STEP);
  const { value, problem, again, cancel } = usePolled(
    (signal) => loadGroups(max, signal),
    [max, key.value],
    () => EVERY,
  );
  const heading = useRef(/** @type {HTMLElement | null} */ (null));
  const deeds = useDeeds(again, heading);
  return html`<${Section} title="Groups" heading=${heading}>
    <${ProblemAlert} problem=${problem} again=${again} />
    <${Pending} of=${{ value, problem, cancel }}>${
      value &&
      (value.all === 0
        ? html`<p>There is no consumer group that you may see. <a href=${placeHref(['_groups'])}>Make one</a>.</p>`
        : html`
      <${Table} label="Groups" head=${['Group', ['Partitions'], 'Owners', 'Lag', 'Parked batches']}>
        ${value.groups.map((one) => html`<${Row} key=${one.name} of=${one} admin=${admin} deeds=${deeds} />`)}<//>
      ${
        value.all > value.groups.length &&
        html`<button type="button"
        onClick=${() => setMax(max + STEP)}>Show ${Math.min(STEP, value.all - value.groups.length)} more groups</button>`
      }`)
    }<//>
    ${deeds.shown}
  <//>`;
}

/** @param {{ of: GroupState, admin: boolean, deeds: import('./maintenance.js').Deeds }} props */
function Row({ of: { name, group, parked, problem }, admin, deeds }) {
  const head = html`<th scope="row"><a href=${placeHref(['_groups', name])}><${Visible} text=${name} max=${200} /></a></th>`;
  if (!group)
    return html`<tr>${head}<td colspan="4">${problem && html`<${Visible} text=${problem.title + ': ' + problem.detail} max=${500} />`}</td>
      </tr>`;
  return html`<tr>${head}<td class="number">${number(group.partitions.length)}</td><td class="whole"><${Owners} group=${group} /></td>
    <td class="lag"><${LagText} of=${groupLag(group, group)} /></td>
    <td class="wide">${
      parked.length === 0
        ? 'none'
        : html`<ul class="batches" aria-label="Parked batches">${parked.slice(0, SHOWN).map(
            (batch) => html`<li key=${batch.id}><${Batch}
          group=${group} batch=${batch} admin=${admin} deeds=${deeds} /></li>`,
          )}</ul>
      ${parked.length > SHOWN && html`<a href=${placeHref(['_groups', name])}>${number(parked.length - SHOWN)} more</a>`}`
    }</td></tr>`;
}

/** How many owners are named. */
const NAMED = 10;

/** Who owns how many partitions. @param {{ group: any }} props */
function Owners({ group }) {
  const owners = new Map();
  for (const { owner } of group.partitions) owners.set(owner ?? '', (owners.get(owner ?? '') ?? 0) + 1);
  const named = [...owners].filter(([owner]) => owner !== '');
  const free = owners.get('') ?? 0;
  return html`${named.slice(0, NAMED).map(
    ([owner, n]) => html`<div><${Visible} text=${owner} max=${128} /> <span class="quiet">${n}</span>
    </div>`,
  )}
    ${named.length > NAMED && html`<div class="quiet">and ${named.length - NAMED} more</div>`}
    ${free > 0 && html`<div>nobody <span class="quiet">${free}</span></div>`}`;
}

/**
 * A consumer group: its settings, its members, how far each partition is, and what could not be handled.
 * @param {{ place: import('../lib/place.js').Place }} props
 */
export function GroupPage({ place }) {
  const name = place.parts[1];
  const admin = hasRole('admin');
  const { value, problem, again, cancel } = usePolled(
    (signal) => loadGroup(name, signal),
    [name, key.value],
    () => EVERY,
  );
  const heading = useRef(/** @type {HTMLElement | null} */ (null));
  const deeds = useDeeds(again, heading);
  return html`<p><a href=${placeHref(['_groups'])}>All groups</a></p>
    <${ProblemAlert} problem=${problem} again=${again} /><${ShownOnce} /><${Pending} of=${{ value, problem, cancel }} />
    ${
      value &&
      html`${admin && html`<${GroupActions} group=${value.group} refresh=${again} />`}
      <div class="columns"><${Settings} group=${value.group} /><${Members} group=${value.group} /></div>
      <${Partitions} group=${value.group} />
      <${Section} title="Parked batches" heading=${heading}>${
        value.parked.length === 0
          ? html`<p>No batch is parked.</p>`
          : html`<${MoreList} label="Parked batches" items=${value.parked} item=${(/** @type {any} */ batch) => html`<${Batch}
            key=${batch.id} group=${value.group} batch=${batch} admin=${admin} deeds=${deeds} />`} />`
      }
      ${deeds.shown}<//>`
    }
    <${CopyAs} asked=${{ path: ['_groups', name] }} />`;
}

// What is asked about consumer groups.

/** How many groups are asked for at a time. */
const AT_ONCE = 4;

/** How many of a group's parked batches the table of groups shows. */
export const SHOWN = 3;

/**
 * @typedef {object} GroupState
 * @property {string} name
 * @property {any} [group] undefined where it went meanwhile, or cannot be read
 * @property {any[]} parked its parked batches
 * @property {import('../lib/http.js').Problem} [problem] why it cannot be read
 */

/**
 * Returns the first groups by name, and how many there are.
 * @param {number} max
 * @param {AbortSignal} signal
 * @returns {Promise<{ groups: GroupState[], all: number }>}
 */
export async function loadGroups(max, signal) {
  const names = /** @type {string[]} */ ((await ask({ path: ['_groups'], signal })).groups.map((/** @type {any} */ one) => one.name));
  const shown = names.slice(0, max);
  /** @type {GroupState[]} */
  const groups = [];
  const next = async (/** @type {number} */ i) => {
    for (; i < shown.length; i += AT_ONCE)
      groups[i] = await loadGroup(shown[i], signal).catch((problem) => ({ name: shown[i], parked: [], problem }));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => next(i)));
  signal.throwIfAborted();
  return { groups, all: names.length };
}

/**
 * Returns a group with its parked batches.
 * @param {string} name
 * @param {AbortSignal} signal
 * @returns {Promise<GroupState>}
 */
export async function loadGroup(name, signal) {
  const group = await ask({ path: ['_groups', name], signal });
  const some = group.partitions.some((/** @type {any} */ one) => one.parked > 0);
  return { name, group, parked: some ? (await ask({ path: ['_groups', name, '_parked'], signal })).parked : [] };
}

/** How many partitions are shown at first. */
const FIRST = 100;

/**
 * How far each partition of a group is.
 * @param {{ group: any }} props
 */
export function Partitions({ group }) {
  const [all, setAll] = useState(false);
  const shown = all ? group.partitions : group.partitions.slice(0, FIRST);
  return html`<${Section} title="Partitions"><${Table} label="Partitions"
    head=${[['Partition'], 'Owner', 'Lag', 'Checkpoint', ['Attempts'], ['Parked'], 'Last error']}>
    ${shown.map(
      (/** @type {any} */ one) => html`<tr key=${one.partition}><td class="number">${one.partition}</td>
      <td class="whole">${one.owner === undefined ? 'nobody' : html`<${Visible} text=${one.owner} max=${128} />`}${
        one.expires &&
        html` <div
        class="quiet">until <${Time} text=${one.expires} /></div>`
      }</td>
      <td class="lag"><${LagText} of=${groupLag(group, one)} /></td>
      <td><code class="one-line"><${Visible} text=${one.checkpoint} /></code></td>
      <td class="number">${number(one.attempts)}</td><td class="number">${number(one.parked)}</td>
      <td>${one.error && html`<${Visible} text=${one.error} max=${500} />`}${
        one.notBefore &&
        html` <div class="quiet">comes again <${Time}
        text=${one.notBefore} /></div>`
      }</td></tr>`,
    )}<//>
    ${
      group.partitions.length > shown.length &&
      html`<button type="button"
      onClick=${() => setAll(true)}>Show all ${number(group.partitions.length)} partitions</button>`
    }<//>`;
}

/**
 * Who works for a group.
 * @param {{ group: any }} props
 */
export const Members = ({ group }) =>
  html`<${Section} title="Members">${
    group.members.length === 0
      ? html`<p>Nobody takes its changes.</p>`
      : html`<ul aria-label="Members">
  ${group.members.map(
    (/** @type {any} */ one) => html`<li key=${one.member}><${Visible} text=${one.member} max=${128} /> <span
    class="quiet">until <${Time} text=${one.expires} />${one.max && `, at most ${one.max} partitions`}</span></li>`,
  )}</ul>`
  }<//>`;

/**
 * A parked batch: why it failed, what is in it, and what an administrator can do with it.
 * @param {{ group: any, batch: any, admin: boolean, deeds: import('./maintenance.js').Deeds }} props
 */
export function Batch({ group, batch, admin, deeds }) {
  const id = useId();
  const { collections, filter } = group.settings;
  const changes = placeHref(['_changes'], { since: batch.from, collections: collections?.join(','), filter });
  return html`<div id=${id}><code><${Visible} text=${batch.error || 'no error was told'} max=${500} /></code>
      <div class="quiet">partition ${batch.partition}, ${
        batch.time
          ? html`${counted(batch.attempts, 'attempt')}
        ${batch.member && html` by <${Visible} text=${batch.member} max=${128} />`}, <${Time}
          text=${batch.time} />`
          : 'parked before a restore'
      },
      ${' '}<a href=${changes}>changes</a> behind <code><${Visible} text=${batch.from} /></code> up to <code><${Visible} text=${batch.to} />
        </code></div></div>
    ${
      (admin || batch.retry) &&
      html`<div class="actions">${batch.retry && html`<span>is to be given again</span>`}
      ${
        admin &&
        !batch.retry &&
        html`<button type="button" class="small" aria-describedby=${id}
        onClick=${() => deeds.retry(group.name, batch)}>Retry</button>`
      }
      ${
        admin &&
        html`<button type="button" class="small" aria-describedby=${id}
        onClick=${() => deeds.drop(group.name, batch)}>Drop</button>`
      }</div>`
    }`;
}

/**
 * A lag in words. One that nobody knows says so, and is not 0.
 * @param {{ of: Lag }} props
 */
export const LagText = ({ of }) =>
  of.unknown === undefined
    ? of.text
    : html`<strong>unknown</strong> <span class="quiet">${of.unknown}${of.text && `; when last heard ${of.text}`}</span>`;

/**
 * @typedef {object} Lag
 * @property {string} text what is known of it
 * @property {string} [unknown] why it is not known
 */

/**
 * Returns the lag of a node, as the one that was asked knows it.
 * @param {any} node of the status
 * @param {any} status
 * @returns {Lag}
 */
export function nodeLag(node, status) {
  if (node.error) return { text: '', unknown: 'as its entry cannot be read' };
  if (node.self) return ownLag(status);
  return unheard(node) ?? (node.live ? { text: heard(node) } : { text: heard(node), unknown: 'as it is away' });
}

/**
 * Returns the lag of the node that was asked.
 * @param {any} status
 * @returns {Lag}
 */
export function ownLag(status) {
  const lapsed = status.nodes.some((/** @type {any} */ node) => node.self && !node.live);
  return (
    unheard(status) ??
    (status.logError || lapsed ? { text: heard(status), unknown: 'as the log cannot be reached' } : { text: heard(status) })
  );
}

/**
 * Returns the lag of a node that knows of no event, but has no proof of it since a time: the log does not answer. It is undefined for
 * another.
 * @param {{ lag: number, lagSeconds: number }} of
 * @returns {Lag | undefined}
 */
const unheard = ({ lag, lagSeconds }) =>
  lag === 0 && lagSeconds > 0 ? { text: '', unknown: `as the log has told nothing for ${duration(lagSeconds)}` } : undefined;

/** @param {{ lag: number, lagSeconds: number }} of */
const heard = ({ lag, lagSeconds }) => counted(lag, 'event') + (lag > 0 && lagSeconds > 0 ? `, at most ${duration(lagSeconds)} old` : '');

/**
 * Returns the lag of a group, or of one of its partitions.
 * @param {any} group
 * @param {any} of the group or the partition
 * @returns {Lag}
 */
export function groupLag(group, of) {
  const { changes, seconds } = of.lag;
  const isGone = of.gone || of.partitions?.some((/** @type {any} */ p) => p.gone);
  if (changes !== undefined && !isGone)
    return { text: counted(changes, 'change') + (changes > 0 ? `, the oldest ${duration(seconds)} old` : '') };
  if (isGone) return { text: '', unknown: 'as changes behind the checkpoint are not kept any more' };
  if (of.lag.most !== undefined) return { text: `up to ${counted(of.lag.most, 'change')}` };
  return { text: '', unknown: 'as there are too many to count' };
}
