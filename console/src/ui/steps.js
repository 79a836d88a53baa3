// A delete that one transaction does not take: it is made step by step, one after the other, until the document itself is gone.
import { html, useEffect, useRef, useState } from '../lib/html.js';
import { request } from '../lib/http.js';
import { plain, scan } from '../lib/json.js';
import { asProblem } from '../lib/load.js';
import { onItsWay } from '../lib/place.js';
import { Dialog, ProblemAlert } from './dialogs.js';
import { Visible, counted, number } from './parts.js';
import { Progress, useLeft } from './preview.js';

/**
 * What the steps of a delete have done.
 * @typedef {object} Steps
 * @property {number} deleted documents
 * @property {number} changed documents that lost their reference
 * @property {string} position of the last step
 * @property {boolean} done whether the document itself is gone
 */

/**
 * Deletes a document step by step. What is deleted before an error, or before the signal ends it, stays deleted.
 * @param {{ collection: string, id: string }} of
 * @param {AbortSignal} signal ends it after a step
 * @param {(sum: Steps) => void} onStep is told of each step
 * @returns {Promise<Steps>}
 * @throws {import('../lib/http.js').Problem}
 */
export async function deleteStepByStep({ collection, id }, signal, onStep) {
  const sum = { deleted: 0, changed: 0, position: '', done: false };
  while (!sum.done && !signal.aborted) {
    const step = plain(scan((await request({ method: 'DELETE', path: [collection, id], query: { steps: true } })).text));
    sum.deleted += step.deleted;
    sum.changed += step.changed;
    sum.position = step.position;
    sum.done = step.done;
    onStep({ ...sum });
  }
  return sum;
}

/**
 * The dialog that makes a delete step by step. It says what goes, asks, and shows how far it is.
 * @param {object} props
 * @param {string} props.collection
 * @param {string} props.id
 * @param {import('../lib/http.js').Problem} props.problem why one transaction does not take it
 * @param {(sum: Steps) => void} props.onDone
 * @param {() => void} props.onClose
 */
export function StepsDialog({ collection, id, problem, onDone, onClose }) {
  const [sum, setSum] = useState(/** @type {Steps | null} */ (null));
  const [wrong, setWrong] = useState(/** @type {any} */ (undefined));
  const ending = useRef(/** @type {AbortController | null} */ (null));
  useEffect(() => () => ending.current?.abort(), []);
  const [busy, setBusy] = useState(false);
  const before = useRef({ deleted: 0, changed: 0 });
  const add = (/** @type {Steps} */ of) => ({
    ...of,
    deleted: before.current.deleted + of.deleted,
    changed: before.current.changed + of.changed,
  });
  const go = async () => {
    const mine = (ending.current = new AbortController());
    before.current = sum ?? before.current;
    setBusy(true);
    setWrong(undefined);
    try {
      const of = add(await deleteStepByStep({ collection, id }, mine.signal, (step) => setSum(add(step))));
      if (of.done) return onDone(of);
    } catch (error) {
      setWrong(asProblem(error));
    }
    setBusy(false);
  };
  const stop = () => ending.current?.abort();
  return html`<${Dialog} title="Delete step by step" closable=${!busy} onClose=${onClose}>
    <p><b><${Visible} text=${collection + '/' + id} max=${300} /></b> brings more with it than one transaction takes, 1,000 documents. It
      goes in several, what refers to it first. Others see what is gone so far, and what is deleted stays deleted.
      ${problem.of.documents > 0 && html` It writes ${problem.of.atLeast && 'at least '}${counted(problem.of.documents, 'document')}.`}</p>
    <ul aria-label="What goes with it">${(problem.of.problems ?? []).slice(0, 100).map(
      (/** @type {any} */ one) => html`<li><b><${Visible} text=${String(one.path)} max=${100} /></b>: <${Visible}
        text=${String(one.detail)} max=${300} /></li>`,
    )}</ul>
    ${sum && html`<${Done} sum=${sum} problem=${problem} busy=${busy} />`}
    <${ProblemAlert} problem=${wrong} />
    <p class="actions">${
      busy
        ? html`<button type="button" onClick=${stop}>Stop after this step</button>`
        : html`<button type="button" class="loss" onClick=${() => onItsWay(go())}>${sum ? 'Go on' : 'Delete step by step'}</button>
        <button type="button" data-focus onClick=${onClose}>${sum ? 'Close' : 'Keep it'}</button>`
    } <span role="status" class="quiet">${busy && 'Deleting'}</span></p>
  <//>`;
}

/** How far it is. @param {{ sum: Steps, problem: import('../lib/http.js').Problem, busy: boolean }} props */
function Done({ sum, problem: { of }, busy }) {
  const done = sum.deleted + sum.changed;
  const total = of.atLeast ? 0 : Number(of.documents ?? 0); // a share of what may be more would be a false one
  const left = useLeft('steps', done, total);
  return html`<${Progress} label="Delete step by step" done=${done} total=${total} unit="documents" left=${busy ? left : 0}>
      ${of.atLeast && ` of at least ${number(of.documents)}`}<//>
    <p>${counted(sum.deleted, 'document')} deleted, ${number(sum.changed)} lost their
      reference.${!busy && ' The document itself is still there.'}</p>`;
}
