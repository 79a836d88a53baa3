import { html } from '../../lib/html.js';
import { duration, number, size } from '../../ui/amounts.js';
import { Section } from '../../ui/section.js';
import { Visible } from '../../ui/text.js';
import { Time } from '../../ui/time.js';
import { Erasing } from './erasing.js';

/**
 * How far back the store can be read, and what was let go of it.
 * @param {{ status: any }} props
 */
export function History({ status }) {
  const { history: of } = status;
  if (!of) return null;
  const { base, compaction, backup } = of;
  const erased = (of.erasures ?? []).filter((/** @type {any} */ one) => one.phase === 'done');
  return html`<${Section} title="History"><dl>
    <dt>Oldest position</dt><dd><code><${Visible} text=${of.oldest} /></code>${of.oldestTime && html`, <${Time} text=${of.oldestTime} />`}${!base && ': the store has all its events'}</dd>
    ${base && html`<dt>Begins with</dt><dd>a base of ${size(base.bytes)}, which stands for the events up to ${number(base.seq)}</dd>`}
    ${compaction && !compaction.running && html`<dt>Last compaction</dt><dd>to before <code><${Visible} text=${compaction.before} /></code>, ${duration(compaction.seconds)}${compaction.by && html`, by <${Visible} text=${compaction.by} max=${100} />`}${waiting(compaction)}${compaction.error && html`: <${Visible} text=${compaction.error} max=${1000} />`}</dd>`}
    ${backup && html`<dt>Last backup</dt><dd><${Time} text=${backup.time} />, up to <code><${Visible} text=${backup.last} /></code>: it has what was erased since</dd>`}
    ${status.snapshot?.last && html`<dt>Last snapshot</dt><dd><${Time} text=${status.snapshot.last.taken} />, up to event ${number(status.snapshot.last.seq)}, ${size(status.snapshot.last.bytes)}</dd>`}
    ${status.snapshot?.startedFrom && html`<dt>Started from</dt><dd>the snapshot of <${Time} text=${status.snapshot.startedFrom.taken} />, up to event ${number(status.snapshot.startedFrom.seq)}</dd>`}
    </dl>${erased.map((/** @type {any} */ one) => html`<${Erasing} key=${one.number} erasure=${one} />`)}
  <//>`;
}

/** @param {any} compaction */
const waiting = ({ waitingFor = [] }) => waitingFor.length > 0 && html`; the log waits for <${Visible} text=${waitingFor.join(', ')} max=${1000} />`;
