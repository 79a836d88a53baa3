import { html, useRef, useState } from '../lib/html.js';
import { ask, hasRole, key, request } from '../lib/http.js';
import { usePolled } from '../lib/load.js';
import { placeHref } from '../lib/place.js';
import { Pending, ProblemAlert } from '../ui/dialogs.js';
import { CopyAs, Section, Table, Time, Visible, counted, duration, number } from '../ui/parts.js';
import { Progress, Suggestion, useLeft } from '../ui/preview.js';
import { Glance } from './glance.js';
import { Groups, LagText, groupLag, nodeLag, ownLag } from './groups.js';
import { History } from './history.js';
import { Erasing, Maintenance, Replay, Rules } from './maintenance.js';

/** How long until the status is asked for again, while something runs and else, in milliseconds. */
const RUNNING = 5000;
const RESTING = 10_000;

/** How long until it is asked for again once something has begun, in milliseconds; then twice as long each time. */
const BEGUN = 125;

const asked = { path: ['_status'] };

/** How the store runs, and the commands of its administrators. */
export function StatusPage() {
  const admin = hasRole('admin');
  const pause = useRef(RUNNING);
  const {
    value: status,
    problem,
    again,
    cancel,
  } = usePolled(
    (signal) => ask({ ...asked, signal }),
    [key.value],
    (of) => (isRunning(of) || pause.current < RUNNING ? (pause.current = Math.min(2 * pause.current, RUNNING)) : RESTING),
  );
  // What has just begun may be short, and is looked at more often.
  const refresh = () => {
    pause.current = BEGUN;
    again();
  };
  const shown = status && {
    top: html`<${Warnings} status=${status} /><${Glance} status=${status} />
      <${Running} status=${status} admin=${admin} refresh=${refresh} />
      <div class="columns"><${State} status=${status} /><div><${History} status=${status} admin=${admin} refresh=${refresh} />
        ${admin && !status.readOnly && html`<${Maintenance} status=${status} refresh=${refresh} />`}</div></div>
      <${Nodes} status=${status} />`,
    end: html`<${Slow} status=${status} /><${Indexes} status=${status} /><${Rules} status=${status} />`,
  };
  // Whoever may not see how the node stands may have groups.
  return html`<div class="operations"><${ProblemAlert} problem=${problem} again=${again} />
    <${Pending} of=${{ value: status, problem, cancel }}>${shown?.top}<//><${Groups} admin=${admin} />${shown?.end}</div>
    <${CopyAs} asked=${asked} />`;
}

/**
 * The nodes of the log, as the one that was asked knows them.
 * @param {{ status: any }} props
 */
export const Nodes = ({
  status,
}) => html`<${Section} title="Nodes"><${Table} label="Nodes" head=${['Node', 'State', 'Lag', ['Last event'], 'Folds', 'Program']}>
  ${status.nodes.map(
    (/** @type {any} */ node) => html`<tr key=${node.id + ' ' + node.address}>
    <th scope="row"><${Visible} text=${node.address || node.id || 'this node'} max=${200} />${
      node.address &&
      node.id &&
      html` <code
      class="quiet"><${Visible} text=${node.id} max=${60} /></code>`
    }${
      node.self &&
      status.nodes.length > 1 &&
      html` <span
        class="quiet">the one asked</span>`
    }</th>
    <td>${stateOf(node)}</td>
    <td class="lag"><${LagText} of=${nodeLag(node, status)} /></td>
    <td class="number">${number(node.applied)}</td>
    <td>${node.folds[0] === node.folds[1] ? node.folds[0] : `${node.folds[0]} to ${node.folds[1]}`}</td>
    <td><${Visible} text=${node.version} max=${60} /></td></tr>`,
  )}<//><//>`;

/** @param {any} node */
function stateOf(node) {
  if (node.error) return html`<strong>unknown</strong>: <${Visible} text=${node.error} max=${500} />`;
  if (!node.live && node.self) return html`<strong>lapsed</strong>: it cannot keep its lease, and takes no writes`;
  if (!node.live) return html`<strong>away</strong>, last seen ${duration(node.seenSeconds)} ago`;
  return node.ready ? 'ready' : html`<strong>not ready</strong>`;
}

/** What work is called. @type {Record<string, string>} */
const WORK = { model: 'A new model', preview: 'Preview of a model', verify: 'Verification', 'verify-log': 'Verification of the log' };

/** How many erasures are shown. */
const ERASURES = 10;

/** Returns the work of a node that has not ended. @param {any} status @returns {any[]} */
const workOf = (status) => (status.work ?? []).filter((/** @type {any} */ one) => one.ended === undefined);

/** Returns the erasures that are under way. @param {any} status @returns {any[]} */
const erasuresOf = (status) => (status.history?.erasures ?? []).filter((/** @type {any} */ one) => one.phase !== 'done');

/** Returns the model that is being prepared. @param {any} status */
const preparingOf = ({ preparing }) => (preparing && preparing.phase !== 'failed' ? preparing : undefined);

/**
 * Tells whether a node does something that takes long.
 * @param {any} status
 */
export const isRunning = (status) =>
  Boolean(
    status.replay?.running ||
    preparingOf(status) ||
    status.history?.compaction?.running ||
    erasuresOf(status).length ||
    workOf(status).length,
  );

/**
 * What takes long and is under way, with how long it takes yet.
 * @param {{ status: any, admin: boolean, refresh: () => void }} props
 */
export function Running({ status, admin, refresh }) {
  const { replay, preparing } = status;
  const compaction = status.history?.compaction;
  const erasures = erasuresOf(status);
  if (!isRunning(status) && !preparing?.error && !replay?.error) return null;
  return html`<${Section} title="Under way">
    ${replay?.running && html`<${Replay} replay=${replay} />`}
    ${replay && !replay.running && replay.error && html`<p>The last replay failed: <${Visible} text=${replay.error} max=${2000} /></p>`}
    ${preparing && html`<${Preparing} preparing=${preparing} />`}
    ${compaction?.running && html`<${Timed} title="Compaction" of=${compaction} />`}
    ${erasures.slice(0, ERASURES).map((one) => html`<${Erasing} key=${one.number} erasure=${one} />`)}
    ${erasures.length > ERASURES && html`<p>${counted(erasures.length - ERASURES, 'more erasure')} under way.</p>`}
    ${workOf(status).map(
      (one) => html`<${Timed} key=${one.id} title=${WORK[one.kind] ?? one.kind} of=${one} />
      ${admin && html`<${EndWork} id=${one.id} refresh=${refresh} />`}`,
    )}
  <//>`;
}

/** @param {{ preparing: any }} props */
function Preparing({ preparing: of }) {
  const left = useLeft(`${of.model} ${of.phase}`, of.done, of.total);
  const waits = /** @type {string[]} */ (of.waitingFor ?? []);
  const title = html`<h3><a href=${placeHref(['_model'])}>Model of event ${of.model}</a>: ${of.phase}</h3>`;
  if (of.error) return html`${title}<p>It cannot come: <${Visible} text=${of.error} max=${2000} /></p>`;
  return html`${title}${of.phase !== 'ready' && html`<${Progress} label="Preparation" done=${of.done} total=${of.total} left=${left} />`}
    <p>It changes ${counted(of.changes, 'document')} as far as is known.${
      waits.length > 0 &&
      html` It waits for <${Visible}
      text=${waits.join(', ')} max=${1000} />.`
    }</p>`;
}

/**
 * Work that tells its phase, and how much is done of a total.
 * @param {{ title: string, of: any }} props
 */
function Timed({ title, of }) {
  const left = useLeft(of.phase, of.done, of.total);
  return html`<h3>${title}: ${of.phase}</h3><${Progress} label=${title} done=${of.done} total=${of.total} left=${left}>
    ${of.seconds > 0 && `, ${duration(of.seconds)} so far`}<//>`;
}

/** A button that ends work. @param {{ id: string, refresh: () => void }} props */
function EndWork({ id, refresh }) {
  const end = () => request({ method: 'DELETE', path: ['_work', id] }).then(refresh, refresh); // it may have ended by itself
  return html`<p><button type="button" class="small" onClick=${end}>End it</button></p>`;
}

/** What the settings of a group are called. @type {[string, string][]} */
const NAMES = [
  ['mode', 'Mode'],
  ['view', 'View'],
  ['derived', 'Derived changes'],
  ['cascades', 'Cascades'],
  ['filter', 'Filter'],
  ['since', 'Began at'],
  ['lease', 'Lease'],
  ['maxAttempts', 'Attempts'],
  ['role', 'Role'],
];

/**
 * What a group takes, and how far it is.
 * @param {{ group: any }} props
 */
export function Settings({ group }) {
  const of = group.settings;
  return html`<${Section} title="Settings"><dl>
    <dt>Lag</dt><dd><${LagText} of=${groupLag(group, group)} /></dd>
    <dt>Collections</dt><dd>
      ${
        of.collections
          ? of.collections.map(
              (/** @type {string} */ name, /** @type {number} */ i) => html`${i > 0 && ', '}<a
        href=${placeHref([name])}><${Visible} text=${name} max=${100} /></a>`,
            )
          : 'all'
      }</dd>
    ${NAMES.filter(([name]) => of[name] !== undefined).map(
      ([name, called]) => html`<dt key=${name}>${called}</dt><dd><code><${Visible}
      text=${String(of[name])} max=${500} /></code></dd>`,
    )}
    <dt>Made</dt><dd><${Time} text=${group.created} /></dd>
  </dl><//>`;
}

/** What an answered write can rely on. @type {Record<string, string>} */
const DURABILITY = {
  always: 'a write is on disk before it is answered',
  interval: 'a write is on disk within two minutes',
  unverified: 'as the NATS servers have it, which was not verified',
};

/** Who syncs the log. @type {Record<string, string>} */
const SYNC = {
  group: 'one fsync for all writes at a time',
  server: 'an fsync for each message, as the log’s files are not as expected',
  none: 'the server syncs every two minutes',
};

/**
 * Where the node stands.
 * @param {{ status: any }} props
 */
export function State({ status }) {
  const { foldVersion: fold, replicas, activated, withdrawn } = status;
  return html`<${Section} title="This node"><dl>
    <dt>Position</dt><dd><code><${Visible} text=${status.position} /></code></dd>
    <dt>Lag</dt><dd><${LagText} of=${ownLag(status)} />, event ${number(status.applied)} is the last folded one</dd>
    <dt>Model</dt><dd>${status.model ? html`<a href=${placeHref(['_model'])}>of event ${number(status.model)}</a>` : 'none'}
      ${activated && activated.model === status.model && `: changed ${number(activated.documents)} documents`}</dd>
    ${
      withdrawn &&
      html`<dt>Withdrawn model</dt><dd>of event ${number(withdrawn.model)}: <${Visible} text=${withdrawn.reason} max=${1000} />
      </dd>`
    }
    <dt>Fold</dt><dd>version ${fold.version}${fold.newest > fold.version ? `; this program knows ${fold.newest}` : ', the newest'} <span
      class="quiet">(<${Visible} text=${status.fold} max=${200} />)</span></dd>
    <dt>Log</dt><dd>${logOf(status)}${replicas && `, ${replicas.current} of ${replicas.configured} replicas are current`}${
      !status.logErasable && !status.readOnly && '; it lets nothing be erased'
    }</dd>
    <dt>Durability</dt><dd>${DURABILITY[status.durability] ?? status.durability}${status.sync && `; ${SYNC[status.sync] ?? status.sync}`}
      </dd>
    <dt>Program</dt><dd><${Visible} text=${status.version} max=${100} /></dd>
  </dl><//>`;
}

/**
 * What keeps the node from its work.
 * @param {{ status: any }} props
 */
export function Warnings({ status }) {
  const { stopped, logError } = status;
  return html`${logError && html`<${Warning} title="The log cannot be used" text=${logError} />`}
    ${
      stopped &&
      html`<${Warning} title=${`Event ${number(stopped.seq)} cannot be folded`} text=${stopped.reason}>
      <p>Reads show the state before it.</p><//>`
    }`;
}

/** @param {{ title: string, text: string, children?: any }} props */
const Warning = ({ title, text, children }) =>
  html`<div role="alert" class="problem"><strong>${title}</strong><p><${Visible} text=${text} max=${4000} /></p>${children}</div>`;

/** How many shapes of queries are shown at first. */
const FIRST = 10;

/** From when on queries are slow: each by its time in seconds, or all by the documents that they looked at in vain. */
const SLOW = { seconds: 0.05, inVain: 1000 };

const NONE = `None took ${duration(SLOW.seconds)}, or looked at ${number(SLOW.inVain)} documents in vain.`;

/** @param {any} one */
const isSlow = (one) => one.seconds / one.queries >= SLOW.seconds || one.documents - one.given >= SLOW.inVain;

/**
 * The queries that are slow, with an index that would serve them. Those that only the console sent are marked.
 * @param {{ status: any }} props
 */
export function Slow({ status }) {
  const [all, setAll] = useState(false);
  const queries = /** @type {any[]} */ (status.queries ?? []);
  const slow = queries.filter(isSlow);
  const shown = all ? queries : slow.slice(0, FIRST);
  return html`<${Section} title="Slow queries">
    ${slow.length === 0 && html`<p>${queries.length === 0 ? 'No query was asked since the start.' : NONE}</p>`}
    ${
      shown.length > 0 &&
      html`<p class="quiet">Since the start, those first that looked at the most documents for what they gave. A <code>?</code> stands for a
      constant.</p>
    <${Table} label="Slow queries" head=${['Query', ['Times'], ['Looked at'], ['Gave'], ['Each took'], 'Index']}>
      ${shown.map((one) => html`<${QueryRow} key=${keyOf(one)} one=${one} />`)}<//>`
    }
    ${
      queries.length > shown.length &&
      html`<button type="button" onClick=${() => setAll(true)}>Show all ${number(queries.length)} queries</button>`
    }<//>`;
}

/** @param {{ one: any }} props */
function QueryRow({ one }) {
  return html`<tr><td class="wide"><a href=${placeHref([one.collection])}><${Visible} text=${one.collection} max=${100} /></a>
      ${one.console === one.queries && html` <span class="kind">by the console</span>`}
      ${part('filter', one.filter)}${part('sort', one.sort)}${part('group', one.group)}</td>
    <td class="number">${number(one.queries)}</td><td class="number">${number(one.documents)}</td>
    <td class="number">${number(one.given)}</td>
    <td class="number">${duration(one.seconds / one.queries)}</td>
    <td class="lag">${one.index === null ? 'none: all documents' : html`<code><${Visible} text=${one.index} max=${100} /></code>`}
      ${
        one.suggest &&
        html`<details><summary>An index that serves it</summary><${Suggestion} suggest=${one.suggest} />
      </details>`
      }</td></tr>`;
}

/**
 * The declared indexes: how large each is, and how often it has served.
 * @param {{ status: any }} props
 */
export function Indexes({ status }) {
  const indexes = /** @type {any[]} */ (status.indexes ?? []);
  if (indexes.length === 0) return null;
  const idle = indexes.filter(({ queries }) => queries === 0).length;
  return html`<${Section} title="Indexes"><details><summary>${indexes.length === 1 ? '1 index' : `${number(indexes.length)} indexes`}${
    idle > 0 && `, ${number(idle)} not used since the start`
  }</summary>
    <${Table} label="Indexes" head=${['Index', 'Collection', ['Entries'], ['Queries since the start']]}>
      ${indexes.map(
        (one) => html`<tr key=${one.collection + '/' + one.name}><th scope="row"><${Visible} text=${one.name} max=${100} /></th>
        <td><a href=${placeHref([one.collection])}><${Visible} text=${one.collection} max=${100} /></a></td>
        <td class="number">${number(one.entries)}</td><td class="number">${number(one.queries)}</td></tr>`,
      )}<//></details><//>`;
}

/** @param {any} one */
const keyOf = (one) => [one.collection, one.filter, one.sort, one.group].join('\n');

/** @param {string} name @param {string | undefined} text */
const part = (name, text) =>
  text && html`<div><span class="quiet">${name}</span> <code><${Visible} text=${text} max=${300} /></code></div>`;

/** Says which log the node has. @param {any} status */
function logOf(status) {
  if (status.readOnly) return 'none: the server has one position, and nothing later';
  return status.log === 'embedded' ? 'embedded' : html`<${Visible} text=${status.log} max=${500} />`;
}
