import { html, useEffect, useId, useLayoutEffect, useRef, useState } from '../lib/html.js';
import { question, request, takeKey } from '../lib/http.js';
import { plain, scan } from '../lib/json.js';
import { asProblem } from '../lib/load.js';
import { backToAnswered, onItsWay, wait } from '../lib/place.js';
import { Visible, counted, number } from './parts.js';
import { Progress, useLeft } from './preview.js';

/** @typedef {import('../lib/http.js').Problem} Problem */

/**
 * A modal dialog. It takes the focus, which goes to what is marked by data-focus, keeps it, and gives it back to where it was. Escape
 * closes it.
 * @param {{ title: string, onClose: () => void, children: any, closable?: boolean }} props closable is false where Escape does nothing
 */
export function Dialog({ title, onClose, children, closable = true }) {
  const ref = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const id = useId();
  // At once, and not after the paint: whoever sees that the dialog has gone finds the focus where it was.
  useLayoutEffect(() => {
    const before = /** @type {HTMLElement | null} */ (document.activeElement);
    const dialog = /** @type {HTMLDialogElement} */ (ref.current);
    dialog.showModal();
    /** @type {HTMLElement | null} */ (dialog.querySelector('[data-focus]'))?.focus();
    return () => {
      dialog.close(); // nothing outside of it takes the focus before
      if (before?.isConnected) before.focus();
    };
  }, []);
  const cancel = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (closable) onClose();
  };
  // A browser closes a dialog without a question when Escape comes twice.
  const closed = () => {
    if (!ref.current) return; // it has gone
    if (closable) onClose();
    else ref.current.showModal();
  };
  return html`<dialog ref=${ref} aria-labelledby=${id} onCancel=${cancel} onClose=${closed}><h2 id=${id}>${title}</h2>${children}</dialog>`;
}

/**
 * A dialog that does something once its name is typed. Escape does nothing of it.
 * @param {{ name: string, title?: string, onGo: () => void, onClose: () => void, children?: any }} props name is that of the button, too
 */
export function Confirm({ name, title = name, onGo, onClose, children }) {
  const [typed, setTyped] = useState('');
  const sure = typed.trim().toLowerCase() === name.toLowerCase();
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (sure) onGo();
  };
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <form onSubmit=${submit}>
      ${children}
      <p><label>Type <b>${name}</b> to confirm <input data-focus autocomplete="off" autocapitalize="off" spellcheck=${false} size="12"
        value=${typed} onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} /></label></p>
      <p class="actions"><button type="submit" class="main" disabled=${!sure}>${name}</button> <button type="button"
        onClick=${onClose}>Cancel</button></p>
    </form>
  <//>`;
}

/** The dialog that asks for a key, while a request waits for one. */
export function KeyDialog() {
  const text = useRef(/** @type {HTMLInputElement | null} */ (null));
  const keep = useRef(/** @type {HTMLInputElement | null} */ (null));
  const asked = question.value;
  if (!asked) return null;
  const use = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!text.current?.value) return;
    takeKey(text.current.value.trim(), keep.current?.checked ?? false);
    asked.answer(true);
  };
  return html`<${Dialog} title="Key needed" onClose=${() => asked.answer(false)}>
    <form onSubmit=${use}>
      <p>${asked.refused ? 'The server does not take this key.' : 'The server lets nobody in without a key.'}</p>
      <p><label>Key <input ref=${text} type="password" autocomplete="off" spellcheck=${false} required pattern="\\s*[!-~]+\\s*"
        title="Keys have no blanks, and no characters beyond ASCII." /></label></p>
      <p><label><input ref=${keep} type="checkbox" /> Keep in this tab</label></p>
      <p class="actions"><button type="submit">Use key</button></p>
    </form>
  <//>`;
}

/**
 * A problem as an alert: what is wrong, what to do, and a button to try again. One that passes is told in a line.
 * @param {{ problem: Problem | undefined, again?: () => void, asked?: boolean, children?: any }} props again of a problem that passes is
 * called without the
 *   button, too, unless asked says that nobody but the reader calls it
 */
export function ProblemAlert({ problem, again, asked = false, children }) {
  if (!problem) return null;
  if (problem.passing && again && !asked) {
    return html`<div role="alert" class="problem"><strong><${Visible} text=${problem.title} /></strong>
      ${problem.detail && html`: <${Visible} text=${problem.detail} max=${300} />`}
      ${' '}It is tried again by itself, and what is shown stays. <button type="button" onClick=${again}>Try again</button>${children}
        </div>`;
  }
  const list = /** @type {any[]} */ (Array.isArray(problem.of.problems) ? problem.of.problems : []).slice(0, 100);
  return html`<div role="alert" class="problem">
    <strong><${Visible} text=${problem.title} /></strong>
    ${problem.detail && html`<p><${Visible} text=${problem.detail} max=${4000} /></p>`}
    ${
      list.length > 0 &&
      html`<ul>${list.map(
        (p) =>
          html`<li>${
            p.path &&
            html`<code><${Visible} text=${String(p.path)} max=${200} />
      </code> `
          }<${Visible} text=${String(p.detail ?? '')} max=${1000} /></li>`,
      )}</ul>`
    }
    ${children}
    ${again && html`<button type="button" onClick=${again}>Try again</button>`}
  </div>`;
}

/** How long an answer may take until "Cancel" stands there, in milliseconds. */
const LATE = 300;

/**
 * What a page waits for, as `useLoad` and `usePolled` return it.
 * @typedef {{ value?: any, problem?: import('../lib/http.js').Problem, busy?: boolean, stale?: boolean, cancel?: () => void }} Waited
 */

/**
 * A part of a page that shows an answer. While another question is asked, it is dim and busy. Before the first answer the form of what
 * comes stands in its place. "Cancel" leads back to the last place that was answered.
 * @param {{ of: Waited, shape?: 'table' | 'text', children?: any }} props shape is the form of what comes
 */
export function Pending({ of, shape = 'table', children }) {
  const { value, problem, stale = false, cancel } = of;
  const isFirst = value === undefined && !problem;
  const waits = isFirst || (stale && (of.busy ?? true) && !problem);
  const isLate = useLate(waits);
  useLayoutEffect(() => (waits ? wait() : undefined), [waits]);
  const giveUp = () => {
    cancel?.();
    backToAnswered();
  };
  return html`<div class=${stale ? 'pending stale' : 'pending'} aria-busy=${waits ? 'true' : undefined}>
    ${
      waits &&
      html`<div class="waiting"><div class="bar"></div>${
        isLate &&
        html`<p role="status"><span>Waiting for the answer</span>${
          cancel &&
          html` <button type="button" class="small"
        onClick=${giveUp}>Cancel</button>`
        }</p>`
      }</div>`
    }
    ${isFirst ? html`<${Skeleton} shape=${shape} />` : html`<div class="answer">${children}</div>`}
  </div>`;
}

/**
 * Tells whether something has lasted for a while.
 * @param {boolean} lasts
 */
function useLate(lasts) {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    if (!lasts) return undefined;
    const timer = setTimeout(() => setLate(true), LATE);
    return () => {
      clearTimeout(timer);
      setLate(false);
    };
  }, [lasts]);
  return lasts && isLate;
}

/** How many lines stand in the place of each form. */
const LINES = { table: 8, text: 6 };

/**
 * The form of what comes, which says nothing.
 * @param {{ shape: 'table' | 'text' }} props
 */
const Skeleton = ({ shape }) =>
  html`<div class=${'skeleton ' + shape} aria-hidden="true">${Array.from(
    { length: LINES[shape] },
    (_, i) => html`<i key=${i}></i>`,
  )}</div>`;

// A delete that one transaction does not take: it is made step by step, one after the other, until the document itself is gone.

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
