import { html, useEffect, useState } from '../lib/html.js';
import { Problem, ask } from '../lib/http.js';
import { usePolled } from '../lib/load.js';
import { ProblemAlert } from '../ui/dialogs.js';
import { NamedDocument, Table, Time, Visible, counted, number } from '../ui/parts.js';
import { LogReport, foundIn } from './maintenance.js';

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
  const {
    value: of,
    problem,
    again,
  } = usePolled(
    async (signal) => (id ? ask({ path: ['_work', id], signal }) : null),
    [id],
    (one) => {
      if (one === null || one.ended) return Infinity;
      return (pause = Math.min(2 * pause, LONGEST));
    },
  );
  const hasEnded = Boolean(of?.ended) && of.id === work;
  useEffect(() => {
    if (hasEnded) onEnd();
  }, [hasEnded]);
  if (problem)
    return html`<${ProblemAlert} problem=${problem} again=${again}>
      ${problem.status === 404 && html`<p>Each node knows its own work only, and keeps the newest.</p>`}<//>`;
  // The line is there before it says something, or a screen reader would not tell it.
  return html`<div class="verification">
    <div><span role="status" class="said">${of && sentence(of)}</span>${
      of &&
      html` <span class="quiet">begun <${Time} text=${of.started} />
      </span>`
    }</div>
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

/** How many wrong values are shown at first, and how many more at each step. */
const STEP = 50;

/** How many differences of a document are shown. */
const PLACES = 20;

/**
 * The wrong values that a verification found, each with what was expected and what is there.
 * @param {{ wrong: { document: string, rule?: string, detail: string }[], more: number }} props more is how many the server does not list
 */
export function Wrong({ wrong, more }) {
  const [max, setMax] = useState(STEP);
  if (wrong.length === 0) return null;
  return html`<${Table} label="Wrong values" head=${['Document', 'Rule', 'Where', 'Expected', 'Found']}>
      ${wrong.slice(0, max).map((one, i) => html`<${Row} key=${i} one=${one} />`)}<//>
    ${
      wrong.length > max &&
      html`<button type="button"
      onClick=${() => setMax(max + STEP)}>Show ${Math.min(STEP, wrong.length - max)} more wrong values</button>`
    }
    ${more > 0 && html`<p>${number(more)} more wrong values are not listed.</p>`}`;
}

/** @param {{ one: { document: string, rule?: string, detail: string } }} props */
function Row({ one }) {
  const found = foundIn(one.detail);
  const places = found?.slice(0, PLACES) ?? [undefined];
  const head = html`<th scope="rowgroup" rowspan=${places.length}><${NamedDocument} name=${one.document} /></th><td
    rowspan=${places.length}>${one.rule && html`<code><${Visible} text=${one.rule} max=${200} /></code>`}</td>`;
  return html`${places.map(
    (at, i) =>
      html`<tr key=${i}>${i === 0 && head}${
        at === undefined
          ? html`<td colspan="3"><${Visible} text=${one.detail} max=${2100} /></td>`
          : html`
    <td><code><${Visible} text=${at.path || '/'} max=${300} /></code>${
      found &&
      i === PLACES - 1 &&
      found.length > PLACES &&
      html` <span
      class="quiet">and ${found.length - PLACES} more</span>`
    }</td>
    <td>${valueOf(at.expected)}</td><td>${valueOf(at.found)}</td>`
      }</tr>`,
  )}`;
}

/** @param {string | undefined} token */
const valueOf = (token) =>
  token === undefined ? html`<span class="quiet">nothing</span>` : html`<code><${Visible} text=${token} max=${200} /></code>`;
