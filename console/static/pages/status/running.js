import { html } from '../../lib/html.js';
import { placeHref } from '../../lib/place.js';
import { counted, duration } from '../../ui/amounts.js';
import { Progress, useLeft } from '../../ui/progress.js';
import { Section } from '../../ui/section.js';
import { Visible } from '../../ui/text.js';
import { Erasing } from './erasing.js';

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
export const isRunning = (status) => Boolean(status.replay?.running || preparingOf(status) || status.history?.compaction?.running || erasuresOf(status).length || workOf(status).length);

/**
 * What takes long and is under way, with how long it takes yet.
 * @param {{ status: any }} props
 */
export function Running({ status }) {
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
    ${workOf(status).map((one) => html`<${Timed} key=${one.id} title=${WORK[one.kind] ?? one.kind} of=${one} />`)}
  <//>`;
}

/** @param {{ replay: any }} props */
function Replay({ replay }) {
  const known = replay.rate > 0 || replay.secondsLeft > 0;
  return html`<h3>Replay: ${replay.phase}</h3><${Progress} label="Replay" done=${replay.check ? replay.check.compared : replay.seq} total=${replay.check && replay.phase !== 'replaying' ? replay.check.rows : replay.target} unit=${replay.phase === 'comparing' ? 'rows' : 'events'} left=${known ? replay.secondsLeft : undefined}>
    ${replay.rate > 0 && `, ${Math.round(replay.rate).toLocaleString('en')} a second`}<//>`;
}

/** @param {{ preparing: any }} props */
function Preparing({ preparing: of }) {
  const left = useLeft(`${of.model} ${of.phase}`, of.done, of.total);
  const waits = /** @type {string[]} */ (of.waitingFor ?? []);
  const title = html`<h3><a href=${placeHref(['_model'])}>Model of event ${of.model}</a>: ${of.phase}</h3>`;
  if (of.error) return html`${title}<p>It cannot come: <${Visible} text=${of.error} max=${2000} /></p>`;
  return html`${title}${of.phase !== 'ready' && html`<${Progress} label="Preparation" done=${of.done} total=${of.total} left=${left} />`}
    <p>It changes ${counted(of.changes, 'document')} as far as is known.${waits.length > 0 && html` It waits for <${Visible} text=${waits.join(', ')} max=${1000} />.`}</p>`;
}

/**
 * Work that tells its phase, and how much is done of a total.
 * @param {{ title: string, of: any }} props
 */
function Timed({ title, of }) {
  const left = useLeft(of.phase, of.done, of.total);
  return html`<h3>${title}: ${of.phase}</h3><${Progress} label=${title} done=${of.done} total=${of.total} left=${left}>${of.seconds > 0 && `, ${duration(of.seconds)} so far`}<//>`;
}
