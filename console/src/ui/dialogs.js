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
    <form class="form" onSubmit=${use}>
      <p>${asked.refused ? 'The server does not take this key.' : 'The server lets nobody in without a key.'}</p>
      <label>Key <input ref=${text} type="password" autocomplete="off" spellcheck=${false} required pattern="\\s*[!-~]+\\s*"
        title="Keys have no blanks, and no characters beyond ASCII." /></label>
      <label class="box"><input ref=${keep} type="checkbox" /> Keep in this tab</label>
      <p class="actions"><button type="submit" class="main">Use key</button></p>
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

// Deletes that one transaction does not take: they are made step by step, one after the other, until the documents themselves are gone.

/**
 * A document that one transaction does not delete, as the problem of its delete tells of it.
 * @typedef {{ id: string, documents?: number, atLeast?: boolean, problems?: any[] }} Large
 */

/**
 * What the steps of deletes have done.
 * @typedef {object} Steps
 * @property {number} deleted documents
 * @property {number} changed documents that lost their reference
 * @property {string} position of the last step
 * @property {number} gone how many of the documents themselves are done with
 * @property {{ id: string, detail: string }[]} refused those among them that stay, where there are several
 */

/** @type {Steps} */
const NO_STEPS = { deleted: 0, changed: 0, position: '', gone: 0, refused: [] };

/**
 * Makes the next step of deletes. Of several documents one that is gone by then is done with, and so is one that cannot be deleted.
 * @param {string} collection
 * @param {string[]} ids
 * @param {Steps} sum
 * @returns {Promise<Steps>}
 * @throws {Problem}
 */
async function nextStep(collection, ids, sum) {
  const id = ids[sum.gone];
  try {
    const step = plain(scan((await request({ method: 'DELETE', path: [collection, id], query: { steps: true } })).text));
    return {
      ...sum,
      deleted: sum.deleted + step.deleted,
      changed: sum.changed + step.changed,
      position: step.position,
      gone: sum.gone + (step.done ? 1 : 0),
    };
  } catch (error) {
    const problem = asProblem(error);
    if (ids.length === 1 || ![403, 404, 409, 422].includes(problem.status)) throw problem;
    const stays = problem.status === 404 ? [] : [{ id, detail: problem.detail || problem.title }];
    return { ...sum, gone: sum.gone + 1, refused: [...sum.refused, ...stays] };
  }
}

/**
 * The dialog that makes deletes step by step. It says what goes, asks, and shows how far it is.
 * @param {object} props
 * @param {string} props.collection
 * @param {Large[]} props.large
 * @param {(sum: Steps) => void} props.onDone
 * @param {(sum: Steps) => void} props.onClose
 */
export function StepsDialog({ collection, large, onDone, onClose }) {
  const [sum, setSum] = useState(NO_STEPS);
  const [wrong, setWrong] = useState(/** @type {any} */ (undefined));
  const ending = useRef(/** @type {AbortController | null} */ (null));
  useEffect(() => () => ending.current?.abort(), []);
  const [busy, setBusy] = useState(false);
  const isBegun = sum !== NO_STEPS;
  const go = async () => {
    const { signal } = (ending.current = new AbortController());
    const ids = large.map(({ id }) => id);
    setBusy(true);
    setWrong(undefined);
    try {
      for (let of = sum; !signal.aborted;) {
        setSum((of = await nextStep(collection, ids, of)));
        if (of.gone === ids.length) return onDone(of);
      }
    } catch (error) {
      setWrong(error);
    }
    setBusy(false);
  };
  const keep = large.length > 1 ? 'Keep them' : 'Keep it';
  const stop = () => ending.current?.abort();
  return html`<${Dialog} title="Delete step by step" closable=${!busy} onClose=${() => onClose(sum)}>
    <${WhatGoes} collection=${collection} large=${large} />
    ${isBegun && html`<${Done} sum=${sum} large=${large} busy=${busy} />`}
    <${ProblemAlert} problem=${wrong} />
    <p class="actions">${
      busy
        ? html`<button type="button" onClick=${stop}>Stop after this step</button>`
        : html`<button type="button" class="loss" onClick=${() => onItsWay(go())}>${isBegun ? 'Go on' : 'Delete step by step'}</button>
        <button type="button" data-focus onClick=${() => onClose(sum)}>${isBegun ? 'Close' : keep}</button>`
    } <span role="status" class="quiet">${busy && 'Deleting'}</span></p>
  <//>`;
}

/** How many documents are named that go step by step. */
const NAMED = 100;

/** How many documents a delete writes. @param {Large} of */
const wordsOf = (of) => (of.atLeast ? 'at least ' : '') + counted(Number(of.documents), 'document');

/** What goes with deletes. @param {{ collection: string, large: Large[] }} props */
function WhatGoes({ collection, large }) {
  const [first] = large;
  const list = (/** @type {any[]} */ items, /** @type {(one: any) => any} */ item) =>
    html`<ul aria-label="What goes with it">${items.slice(0, NAMED).map((one) => html`<li>${item(one)}</li>`)}</ul>`;
  if (large.length === 1)
    return html`<p><b><${Visible} text=${collection + '/' + first.id} max=${300} /></b> brings more with it than one transaction takes,
        1,000 documents. It goes in several, what refers to it first. Others see what is gone so far, and what is deleted stays deleted.
        ${Number(first.documents) > 0 && html` It writes ${wordsOf(first)}.`}</p>
      ${list(
        first.problems ?? [],
        (one) => html`<b><${Visible} text=${String(one.path)} max=${100} /></b>: <${Visible} text=${String(one.detail)} max=${300} />`,
      )}`;
  return html`<p><b>${counted(large.length, 'document')} of <${Visible} text=${collection} max=${100} /></b> bring more with them than one
      transaction takes, 1,000 documents. Each goes in several, what refers to it first. Others see what is gone so far, and what is deleted
      stays deleted.</p>
    ${list(
      large,
      (one) => html`<b><${Visible} text=${one.id} max=${100} /></b>${Number(one.documents) > 0 && `: it writes ${wordsOf(one)}`}`,
    )}
    ${large.length > NAMED && html`<p class="quiet">${number(large.length - NAMED)} more</p>`}`;
}

/** How far it is. @param {{ sum: Steps, large: Large[], busy: boolean }} props */
function Done({ sum, large, busy }) {
  const done = sum.deleted + sum.changed;
  const all = large.reduce((n, of) => n + Number(of.documents ?? 0), 0);
  const isLeast = large.some((of) => of.atLeast || !of.documents);
  const total = isLeast ? 0 : all; // a share of what may be more would be a false one
  const left = useLeft('steps', done, total);
  return html`<${Progress} label="Delete step by step" done=${done} total=${total} unit="documents" left=${busy ? left : 0}>
      ${isLeast && all > 0 && ` of at least ${number(all)}`}<//>
    <p>${counted(sum.deleted, 'document')} deleted, ${number(sum.changed)} lost their reference.${
      large.length > 1 ? ` ${number(sum.gone)} of ${number(large.length)} are done.` : !busy && ' The document itself is still there.'
    }</p>`;
}
