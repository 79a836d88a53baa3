import { html, useEffect } from '../../lib/html.js';
import { ask, Problem } from '../../lib/http.js';
import { usePolled } from '../../lib/poll.js';
import { counted, number } from '../../ui/amounts.js';
import { ProblemAlert } from '../../ui/problem.js';
import { Time } from '../../ui/time.js';
import { LogReport } from './logreport.js';
import { Wrong } from './wrong.js';

/** How long until work that runs is asked for again, in milliseconds: what is short is seen at once. */
const FIRST = 250;
const LONGEST = 5000;

/**
 * The verification that runs or ran last, and what it found.
 * @param {{ status: any, work: string, onEnd: () => void }} props work is the id of one that was begun on this page, empty for none
 */
export function Verification({ status, work, onEnd }) {
  const last = (status.work ?? []).find((/** @type {any} */ one) => one.kind === 'verify' || one.kind === 'verify-log');
  const id = work || last?.id;
  let pause = FIRST;
  const { value: of, problem, again } = usePolled(async (signal) => (id ? ask({ path: ['_work', id], signal }) : null), [id], (one) => {
    if (one === null || one.ended) return Infinity;
    return pause = Math.min(2 * pause, LONGEST);
  });
  const hasEnded = Boolean(of?.ended) && of.id === work;
  useEffect(() => { if (hasEnded) onEnd(); }, [hasEnded]);
  if (problem) return html`<${ProblemAlert} problem=${problem} again=${again}>${problem.status === 404 && html`<p>Each node knows its own work only, and keeps the newest.</p>`}<//>`;
  // The line is there before it says something, or a screen reader would not tell it.
  return html`<div class="verification">
    <div><span role="status" class="said">${of && sentence(of)}</span>${of && html` <span class="quiet">begun <${Time} text=${of.started} /></span>`}</div>
    ${of && html`<${Outcome} of=${of} />`}
  </div>`;
}

/**
 * What came of a verification that has ended.
 * @param {{ of: any }} props
 */
function Outcome({ of }) {
  return html`${of.status >= 400 && html`<${ProblemAlert} problem=${new Problem(of.status, of.result ?? {})} />`}
    ${of.status < 400 && of.kind === 'verify' && html`<${Wrong} wrong=${of.result.wrong} more=${of.result.more ?? 0} />`}
    ${of.status < 400 && of.kind === 'verify-log' && html`<${LogReport} report=${of.result} />`}`;
}

/** @param {any} work */
function sentence(work) {
  const what = work.kind === 'verify' ? 'Verification' : 'Verification of the log';
  if (!work.ended) return `${what}: ${work.phase}${work.total > 0 ? `, ${number(work.done)} of ${number(work.total)}` : ''}`;
  if (work.status >= 400) return `${what}: failed`;
  if (work.kind === 'verify-log') return `${what}: ${work.summary.damaged ? 'it is damaged' : 'it is whole'}`;
  const { documents, wrong } = work.summary;
  return `${what}: ${counted(documents, 'document')} looked at, ${wrong === 0 ? 'every value is right' : counted(wrong, 'wrong value')}`;
}
