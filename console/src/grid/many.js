import { html, useEffect, useRef, useState } from '../lib/html.js';
import { Problem, me, problemOf, request, send } from '../lib/http.js';
import { NotJSON, member, plain, scan } from '../lib/json.js';
import { lineAndColumn } from '../lib/jsontext.js';
import { asProblem } from '../lib/load.js';
import { onItsWay } from '../lib/place.js';
import { newKey } from '../lib/write.js';
import { Dialog, ProblemAlert, StepsDialog } from '../ui/dialogs.js';
import { Visible, counted, number } from '../ui/parts.js';
import { EffectsOf, OtherDocument } from '../ui/preview.js';
import { Choice } from './columns.js';

/** @typedef {import('../lib/http.js').Asked} Asked */
/** @typedef {import('../lib/place.js').Place} Place */

/** How many examples of derived changes are asked for, and how long the ids may be that a request names, in characters of its address. */
const EXAMPLES = 5;
const MAX_IDS = 16_000;

/** How many documents are deleted step by step after the others, and how many refusals are shown. */
const MAX_STEPS = 1000;
const MAX_REFUSED = 100;

/**
 * Which documents are meant: those that are chosen, or all that a filter matches.
 * @typedef {{ collection: string, filter: string, params: string, ids?: string[] }} Meant
 */

/**
 * Returns what writes many documents.
 * @param {Meant} meant
 * @param {string | undefined} patch undefined for a delete
 * @returns {Asked}
 */
const askedOf = ({ collection, filter, params, ids }, patch) => ({
  method: patch === undefined ? 'DELETE' : 'PATCH',
  path: [collection],
  query: ids
    ? { filter: 'doc.id in params.ids', params: JSON.stringify({ ids }) }
    : { filter: filter || 'true', ...(params ? { params } : {}) },
  ...(patch === undefined ? {} : { body: patch, headers: { 'Content-Type': 'application/merge-patch+json' } }),
});

/**
 * What a write of many documents would do.
 * @param {Asked} asked
 * @param {AbortSignal} signal
 */
async function trial(asked, signal) {
  const root = scan((await request({ ...asked, query: { ...asked.query, dryRun: true, examples: EXAMPLES }, signal })).text);
  const of = plain(root);
  const counts = (/** @type {any} */ by) => /** @type {[string, number][]} */ (Object.entries(by ?? {})).sort(([, a], [, b]) => b - a);
  const examples = (member(root, 'examples')?.elements ?? []).map((one) => {
    const { collection, id, rule } = plain(one);
    return { collection, id, rule, patch: member(one, 'patch') };
  });
  return { ...of, effects: { derived: of.derived, rules: counts(of.rules), collections: counts(of.collections), writes: [], examples } };
}

/**
 * The documents that a write leaves: those that are refused, and those whose delete takes steps, of which more may not be named.
 * @typedef {{ refused: any[], large: import('../ui/dialogs.js').Large[], more: number }} Rest
 */

/** @returns {Rest} */
const noRest = () => ({ refused: [], large: [], more: 0 });

/** Notes a document that a write leaves. @param {Rest} rest @param {any} of the line that tells it */
function leave(rest, of) {
  if (!of.steps && rest.refused.length < MAX_REFUSED) rest.refused.push(of);
  if (of.steps && rest.large.length < MAX_STEPS) rest.large.push(of);
  else if (of.steps) rest.more++;
}

/**
 * Sends a write of many documents, and tells how far it is.
 * @param {Asked} asked
 * @param {string} key under which it happens once
 * @param {Rest} rest takes what is left, also of a run that is cut: the next one goes on after it
 * @param {(progress: any) => void} onProgress
 * @param {AbortSignal} signal
 * @returns {Promise<any>} what it has done
 */
async function run(asked, key, rest, onProgress, signal) {
  const response = await send({ ...asked, headers: { ...asked.headers, 'Idempotency-Key': key }, signal });
  if (response.status >= 400) throw problemOf(response, await response.text());
  let end = /** @type {any} */ (null);
  let left = '';
  const take = (/** @type {string} */ line) => {
    if (line.trim() === '') return;
    const of = plain(scan(line));
    if (of.progress) onProgress(of.progress);
    else if (of.done !== undefined) end = of;
    else leave(rest, of);
  };
  const reader = /** @type {any} */ (response.body).pipeThrough(new TextDecoderStream()).getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const lines = (left + part.value).split('\n');
    left = lines.pop() ?? '';
    for (const line of lines) take(line);
  }
  take(left);
  if (!end) throw new Problem(0, { title: 'The answer broke off', detail: 'What was written stays. “Go on” writes the rest.' });
  return end;
}

/**
 * How it stands: what is typed, what it would do, how far it is, and what it has done.
 * @typedef {object} Standing
 * @property {'typing' | 'looking' | 'asking' | 'writing' | 'done'} phase
 * @property {any} [trial]
 * @property {any} [progress]
 * @property {Rest & { end: any }} [result]
 * @property {import('../lib/http.js').Problem} [problem]
 */

/**
 * Looks at what a write of many documents would do, and then does it.
 * @param {Asked} asked
 * @param {boolean} deletes a delete is looked at without being asked for, since nothing is typed for it
 */
function useMany(asked, deletes) {
  const [state, setState] = useState(/** @type {Standing} */ ({ phase: deletes ? 'looking' : 'typing' }));
  const ending = useRef(new AbortController());
  const key = useRef(newKey());
  const rest = useRef(noRest());
  const look = async () => {
    key.current = newKey();
    rest.current = noRest();
    setState({ phase: 'looking' });
    try {
      setState({ phase: 'asking', trial: await trial(asked, ending.current.signal) });
    } catch (error) {
      if (!ending.current.signal.aborted) setState({ phase: deletes ? 'asking' : 'typing', problem: asProblem(error) });
    }
  };
  useEffect(() => {
    if (deletes) look();
    return () => ending.current.abort();
  }, []);
  const write = async () => {
    const before = state.trial;
    const tell = (/** @type {any} */ progress) => setState({ phase: 'writing', trial: before, progress });
    tell(undefined);
    try {
      const end = await run(asked, key.current, rest.current, tell, ending.current.signal);
      setState({ phase: 'done', trial: before, result: { end, ...rest.current } });
    } catch (error) {
      if (!ending.current.signal.aborted) setState({ phase: 'asking', trial: before, problem: asProblem(error) });
    }
  };
  return { state, look, write, back: () => setState({ phase: 'typing' }) };
}

/**
 * The dialog that changes or deletes many documents. It shows what that would do before anything is written.
 * @param {{ meant: Meant, deletes: boolean, onClose: (written: boolean) => void }} props
 */
function Many({ meant, deletes, onClose }) {
  const [patch, setPatch] = useState('{}');
  const [typed, setTyped] = useState('');
  const [steps, setSteps] = useState(/** @type {import('../ui/dialogs.js').Steps | null} */ (null));
  const { state, look, write, back } = useMany(askedOf(meant, deletes ? undefined : patch), deletes);
  const mistake = deletes ? '' : mistakeIn(patch);
  const { phase, trial: of, result, problem } = state;
  const sure = of && of.matched > 0 && typed.replace(/[\s,.]/g, '') === String(of.matched);
  const busy = phase === 'writing';
  const ready = phase === 'typing' ? mistake === '' && patch.trim() !== '{}' : sure;
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (phase === 'typing' && mistake === '') {
      setTyped('');
      look();
    } else if (phase === 'asking' && sure) onItsWay(write());
  };
  if (result && result.large.length > 0 && !steps)
    return html`<${StepsDialog} collection=${meant.collection} large=${result.large} onDone=${setSteps} onClose=${setSteps} />`;
  return html`<${Dialog} title=${deletes ? 'Delete many documents' : 'Change many documents'} closable=${!busy}
    onClose=${() => onClose(phase === 'done')}><form class="preview many" onSubmit=${submit}>
    <${Which} meant=${meant} />
    ${!deletes && phase !== 'done' && html`<${Patch} text=${patch} mistake=${mistake} isTyped=${phase === 'typing'} onText=${setPatch} />`}
    ${of && phase !== 'done' && html`<${Trial} of=${of} deletes=${deletes} />`}
    ${
      of?.matched > 0 &&
      (phase === 'asking' || busy) &&
      html`<p><label>Type <b>${number(of.matched)}</b> to confirm <input data-focus autocomplete="off" inputmode="numeric" size="10"
        value=${typed}
        readonly=${busy} onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} /></label></p>`
    }
    <${ProblemAlert} problem=${problem} />
    ${result && html`<${Result} of=${result} steps=${steps} deletes=${deletes} />`}
    <${Actions} state=${state} deletes=${deletes} ready=${ready} onBack=${back} onClose=${() => onClose(phase === 'done')} />
  </form><//>`;
}

/**
 * What is typed for a change.
 * @param {{ text: string, mistake: string, isTyped: boolean, onText: (text: string) => void }} props
 */
const Patch = ({ text, mistake, isTyped, onText }) =>
  html`<label>Merge patch: members that are there take its values, null takes one away
      <textarea data-focus rows="5" value=${text} readonly=${!isTyped} spellcheck=${false} aria-invalid=${mistake ? 'true' : undefined}
        onInput=${(/** @type {any} */ event) => onText(event.target.value)} /></label>
    <p role="status" class="quiet">${isTyped && mistake}</p>`;

/**
 * The buttons of the dialog, and how far it is.
 * @param {{ state: Standing, deletes: boolean, ready: boolean, onBack: () => void, onClose: () => void }} props ready says that the next
 *   step can be taken
 */
function Actions({ state: { phase, trial: of, progress, problem }, deletes, ready, onBack, onClose }) {
  const busy = phase === 'writing';
  return html`<p class="actions">${
    phase === 'typing'
      ? html`<button type="submit" class="main" disabled=${!ready}>Look at what it changes</button>`
      : (phase === 'asking' || busy) &&
        of?.matched > 0 &&
        html`<button type="submit" class=${deletes ? 'loss' : 'main'} disabled=${!ready}
      aria-disabled=${busy ? 'true' : undefined}>${problem ? 'Go on' : deletes ? 'Delete them' : 'Change them'}</button>`
  }
    ${phase === 'asking' && !deletes && html`<button type="button" onClick=${onBack}>Back to the patch</button>`}
    <button type="button" data-focus=${deletes ? '' : undefined} aria-disabled=${busy ? 'true' : undefined}
      onClick=${() => !busy && onClose()}>${phase === 'done' ? 'Close' : 'Cancel'}</button>
    <span role="status" class="quiet">${phase === 'looking' && 'Looking at what it changes'}${
      busy && (progress ? `${number(progress.written)} of ${number(progress.matched)} written` : 'Sending it')
    }</span></p>`;
}

/** @param {{ meant: Meant }} props */
const Which = ({ meant: { collection, filter, ids } }) =>
  html`<p>${
    ids
      ? `${counted(ids.length, 'chosen document')} of ${collection}`
      : html`All documents of ${collection}${filter && html` for which <code><${Visible} text=${filter} max=${500} /></code>`}`
  }</p>`;

/** Says what is wrong with a patch, empty for nothing. @param {string} patch */
function mistakeIn(patch) {
  try {
    return scan(patch).members ? '' : 'A patch is an object: it begins with {.';
  } catch (error) {
    if (!(error instanceof NotJSON)) throw error;
    const { line, column } = lineAndColumn(patch, error.at);
    return `Line ${line}, column ${column}: ${error.message}`;
  }
}

/**
 * What a write of many documents would do: to how many, and all that follows.
 * @param {{ of: any, deletes: boolean }} props
 */
function Trial({ of, deletes }) {
  const rest = of.matched - of.judged;
  const done = deletes ? 'deleted' : 'changed';
  const refused = of.refused - (of.steps ?? 0);
  const share = `${number(of.written)} ${of.written === 1 ? 'is' : 'are'} ${done}`;
  return html`<p class="sentence">${
    of.matched === 0
      ? 'No document matches.'
      : `${counted(of.matched, 'document')} match${of.matched === 1 ? 'es' : ''}: ${share}` +
        (of.unchanged ? `, ${number(of.unchanged)} so already` : '') +
        (of.steps ? `, ${number(of.steps)} step by step` : '') +
        (refused ? `, ${number(refused)} refused` : '')
  }</p>
  ${rest > 0 && html`<p>All that is told here is of the first ${number(of.judged)} by id. The others are ${done}, too.</p>`}
  ${(of.hints ?? []).map((/** @type {string} */ hint) => html`<p><${Visible} text=${hint} max=${300} /></p>`)}
  ${of.matched > 0 && html`<${EffectsOf} effects=${of.effects} />`}
  ${
    of.writes?.length > 0 &&
    html`<h3>Among what is written</h3><ul aria-label="Among what is written" class="documents">${of.writes.map(
      (/** @type {any} */ w) => html`<li>${w.op} <${OtherDocument} collection=${w.collection} id=${w.id} /></li>`,
    )}</ul>`
  }
  <${Large} list=${(of.refusals ?? []).filter((/** @type {any} */ one) => one.steps)} count=${of.steps ?? 0} />
  <${Refusals} list=${(of.refusals ?? []).filter((/** @type {any} */ one) => !one.steps)} />`;
}

/** @param {{ list: any[], count: number }} props count of all, some of whom are listed */
const Large = ({ list, count }) =>
  count > 0 &&
  html`<h3>Step by step</h3><p>${count === 1 ? 'It brings' : 'They bring'} more with ${count === 1 ? 'it' : 'them'} than one transaction
    takes. ${count === 1 ? 'It goes' : 'They go'} after the others, once you have said so.</p>
    <ul aria-label="Step by step" class="documents">${list.map(
      (one) =>
        html`<li><code><${Visible} text=${String(one.id)} max=${200} /></code>${
          one.documents > 0 && `: it writes ${one.atLeast ? 'at least ' : ''}${counted(one.documents, 'document')}`
        }</li>`,
    )}${count > list.length && html`<li class="quiet">${number(count - list.length)} more</li>`}</ul>`;

/** @param {{ list: any[] }} props */
const Refusals = ({ list }) =>
  list.length > 0 &&
  html`<h3>Refused</h3><ul aria-label="Refused" class="documents">${list.map(
    (one) =>
      html`<li><code><${Visible} text=${String(one.id)} max=${200} /></code> <${Visible} text=${String(one.detail ?? '')}
        max=${500} /></li>`,
  )}</ul>`;

/** @param {{ of: Rest & { end: any }, steps: import('../ui/dialogs.js').Steps | null, deletes: boolean }} props */
const Result = ({ of: { end, refused, large, more }, steps, deletes }) => html`<p class="sentence" role="status">${
  end.done ? '' : 'It ended early: '
}${counted(end.written, 'document')} ${end.written === 1 ? 'is' : 'are'} ${deletes ? 'deleted' : 'changed'}${
  end.unchanged ? `, ${number(end.unchanged)} were so already` : ''
}${end.refused > large.length + more ? `, ${number(end.refused - large.length - more)} were refused` : ''}.</p>
  ${steps && html`<${Stepped} steps=${steps} left=${large.slice(steps.gone)} more=${more} />`}
  ${end.detail && html`<p><${Visible} text=${String(end.detail)} max=${500} /></p>`}
  <${Refusals} list=${[...refused, ...(steps?.refused ?? [])]} />`;

/**
 * What the steps have done, and what is left.
 * @param {{ steps: import('../ui/dialogs.js').Steps, left: import('../ui/dialogs.js').Large[], more: number }} props
 */
function Stepped({ steps, left, more }) {
  const n = left.length + more;
  return html`<p>Step by step ${counted(steps.deleted, 'document')} ${
    steps.deleted === 1 ? 'is' : 'are'
  } deleted, and ${number(steps.changed)} lost their reference.${
    n > 0 && ` ${counted(n, 'document')} that ${n === 1 ? 'takes steps is' : 'take steps are'} still there.`
  }</p>`;
}

/**
 * Tells whether the reader may write documents of a collection. As long as that is not known, the server tells.
 * @param {string} collection
 */
export function mayWrite(collection) {
  if (me.value === null) return true;
  const of = me.value.collections?.[collection] ?? me.value.otherCollections;
  return of.write || (of.may ?? []).some((/** @type {string} */ action) => action !== 'read');
}

/**
 * What can be done with the documents that are chosen, or with all that match.
 * @param {{ place: Place, chosen: Set<string>, onChoose: (chosen: Set<string>) => void, again: () => void }} props
 */
export function WriteMany({ place, chosen, onChoose, again }) {
  const { parts, params } = place;
  const [open, setOpen] = useState(false);
  const [deletes, setDeletes] = useState(/** @type {boolean | null} */ (null));
  const count = chosen.size;
  const meant = {
    collection: parts[0],
    filter: params.get('filter') ?? '',
    params: params.get('params') ?? '',
    ids: count > 0 ? [...chosen] : undefined,
  };
  const isFew = count === 0 || encodeURIComponent(JSON.stringify(meant.ids)).length <= MAX_IDS;
  const begin = (/** @type {boolean} */ of) => {
    setOpen(false);
    setDeletes(of);
  };
  const close = (/** @type {boolean} */ written) => {
    setDeletes(null);
    if (!written) return;
    onChoose(new Set());
    again();
  };
  return html`${
    count > 0
      ? html`<span role="group" aria-label="Chosen documents"><b>${count.toLocaleString('en')} chosen</b>
      <button type="button" class="tool" disabled=${!isFew} onClick=${() => begin(false)}>Change</button><button type="button"
        class="tool" disabled=${!isFew} onClick=${() => begin(true)}>Delete</button>${
          !isFew && html`<span class="quiet">These are too many to be named: use a filter. </span>`
        }<button type="button" class="tool"
          onClick=${() => onChoose(new Set())}>None</button></span>`
      : html`<span class="opens" onKeyDown=${(/** @type {KeyboardEvent} */ e) => e.key === 'Escape' && setOpen(false)}><button type="button"
      class="tool" aria-expanded=${open} onClick=${() => setOpen(!open)}>All of them</button>${
        open &&
        html`<${Choice} onClose=${() => setOpen(false)}><p class="actions"><button type="button"
          onClick=${() => begin(false)}>Change all that
        match</button><button type="button" class="loss" onClick=${() => begin(true)}>Delete all that match</button></p><//>`
      }</span>`
  }${deletes !== null && html`<${Many} meant=${meant} deletes=${deletes} onClose=${close} />`}`;
}
