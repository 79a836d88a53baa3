import { html, useEffect, useRef, useState } from '../lib/html.js';
import { offsetOf } from '../lib/jsontext.js';
import { asProblem, runWork } from '../lib/load.js';
import { ProblemAlert } from '../ui/dialogs.js';
import { Visible, number } from '../ui/parts.js';
import { without } from '../ui/preview.js';
import { Differences, Removals } from './declared.js';
import { Apart, PreviewedIndexes } from './page.js';

/** @typedef {import('../lib/load.js').Work} Work */

/**
 * What a model would do.
 * @param {{ preview: any, isSame: boolean, sure: boolean, onSure: (sure: boolean) => void }} props isSame says that the text is still the
 * one
 *   that was previewed; sure that what goes is meant to go
 */
export function ModelPreview({ preview, isSame, sure, onSure }) {
  const { differences, rules, unique = [], indexes = [], changes, problems = [], misfits = [], kept = [], warnings = [] } = preview;
  return html`<section aria-label="What this model changes" class="model-preview">
    <h3>What this model changes</h3>
    <p class="sentence">${
      differences.length === 0
        ? 'Nothing: the model that applies says the same.'
        : `${counted(differences.length, 'difference')}; ${counted(changes, 'document')} of other values`
    }</p>
    ${
      problems.length > 0 &&
      html`<div role="alert" class="problem"><strong>It cannot be applied</strong><ul
      aria-label="What stands in its way">${problems.map((/** @type {any} */ one) => html`<${Item} of=${one} />`)}</ul></div>`
    }
    <${Removals} differences=${differences} sure=${sure} onSure=${onSure} />
    <${Misfits} misfits=${misfits} />
    ${
      warnings.length > 0 &&
      html`<h4>Warnings</h4><ul aria-label="Warnings" class="documents">
      ${warnings.slice(0, 100).map((/** @type {any} */ one) => html`<${Item} of=${one} />`)}</ul>`
    }
    <${Differences} differences=${differences} />
    <${PreviewedRules} rules=${rules ?? []} unique=${unique} />
    <${PreviewedIndexes} indexes=${indexes} />
    <${Kept} kept=${kept} />
  </section>`;
}

/** @param {number} n @param {string} what */
export const counted = (n, what) => `${number(n)} ${what}${n === 1 ? '' : 's'}`;

/** @param {{ of: { path: string, detail: string } }} props */
const Item = ({ of: { path, detail } }) =>
  html`<li>${path && html`<code><${Visible} text=${path} max=${200} /></code>: `}<${Visible} text=${detail} max=${1000} /></li>`;

/** What becomes of values that nobody can compute again. @type {Record<string, string>} */
const OUTCOMES = { lost: 'are lost for good', reserved: 'stay stored, and do not show', restored: 'show again' };

/** @param {{ kept: { rule: string, values: number, kind: string, outcome: string }[] }} props */
function Kept({ kept }) {
  if (kept.length === 0) return null;
  return html`<h4>Values that nobody can compute again</h4><ul aria-label="Values that nobody can compute again" class="documents">${kept
    .slice(0, 100)
    .map(
      (one) => html`<li>
    ${counted(one.values, one.kind + ' value')} of <code><${Visible} text=${one.rule} max=${200} />
      </code> ${OUTCOMES[one.outcome] ?? one.outcome}</li>`,
    )}</ul>`;
}

/** How many rows are shown. */
const SHOWN = 200;

/** @typedef {{ part: string, evaluated: number, noValue: number, document?: string, reason?: string }} Evaluation */

/**
 * What each rule does that differs, or whose values do: how many documents it changes, and where it finds no value.
 * @param {{ rules: { rule: string, change: string, documents: number, hides?: string[], evaluations?: Evaluation[] }[],
 *   unique: { collection: string, unique: string, change: string, evaluations?: Evaluation[] }[] }} props
 */
export function PreviewedRules({ rules, unique }) {
  const rows = [
    ...rules.filter((r) => r.change !== 'same' || r.documents > 0).map((r) => ({ ...r, name: r.rule })),
    ...unique
      .filter((u) => u.change !== 'same')
      .map((u) => ({ ...u, name: `${u.collection} unique ${u.unique}`, documents: undefined, hides: undefined })),
  ];
  if (rows.length === 0) return null;
  return html`<h4>By rule</h4><div class="scroll"><table aria-label="By rule" class="dense">
    <thead><tr><th scope="col">Rule</th><th scope="col">Change</th><th scope="col" class="number">Documents</th><th
      scope="col">Without a value</th></tr></thead>
    <tbody>${rows.slice(0, SHOWN).map(
      (row) => html`<tr key=${row.name}>
      <td><code><${Visible} text=${row.name} max=${200} /></code>${
        row.hides &&
        row.hides.length > 0 &&
        html`<div
        class="quiet">hides a member of <${Apart} document=${row.hides[0]} /></div>`
      }</td>
      <td>${row.change}</td>
      <td class="number">${row.documents !== undefined && number(row.documents)}</td>
      <td>${(row.evaluations ?? []).map((one) => html`<${Found} key=${one.part} of=${one} />`)}</td></tr>`,
    )}</tbody>
  </table></div>${rows.length > SHOWN && html`<p class="quiet">and ${number(rows.length - SHOWN)} more</p>`}`;
}

/**
 * Where a part of a rule finds no value, with one such document.
 * @param {{ of: Evaluation }} props
 */
const Found = ({ of: { part, evaluated, noValue, document, reason } }) =>
  html`<div><${Visible} text=${part} max=${60} />: ${
    noValue === 0
      ? html`<span class="quiet">none of ${number(evaluated)}</span>`
      : html`<strong class=${noValue === evaluated ? 'wrong' : undefined}>
        ${noValue === evaluated ? `all ${number(evaluated)}` : `${number(noValue)} of ${number(evaluated)}`}</strong>
          ${document && html`, as <${Apart} document=${document} />`}
    ${reason && html` <span class="quiet"><${Visible} text=${reason} max=${300} /></span>`}`
  }</div>`;

/** How many documents of a collection are named. */
const NAMED = 5;

/**
 * Documents that do not fit a new schema, because of which the model is not applied here.
 * @param {{ misfits: { collection: string, documents: number, first: { document: string, problems: { path: string, detail: string }[] }[]
 * }[] }} props
 */
export function Misfits({ misfits }) {
  if (misfits.length === 0) return null;
  return html`<div role="alert" class="problem"><strong>Documents do not fit the schema</strong>
    <ul aria-label="Documents that do not fit" class="documents">${misfits.flatMap((of) =>
      of.first.slice(0, NAMED).map(
        (one) => html`<li key=${one.document}><${Apart} document=${one.document} />:
      <${Visible} text=${one.problems.map((p) => (p.path + ' ' + p.detail).trim()).join('; ')} max=${300} /></li>`,
      ),
    )}</ul>
    <p>${misfits.map((of) => `${number(of.documents)} in ${of.collection}`).join(', ')}. Mend them, or apply the model by <code>fanfold
      model apply --allow-misfits</code>.</p></div>`;
}

/** @typedef {{ current: import('../ui/inputs.js').Box | null }} Code */

/** How many mistakes are shown. */
const MAX_MISTAKES = 100;

/**
 * Why a model is refused: each mistake with a button that goes to its line and column.
 * @param {{ problem?: import('../lib/http.js').Problem, text: string, box: Code }} props text that was
 * sent
 */
export function ModelProblem({ problem, text, box }) {
  if (!problem || problem.status === 412) return null; // it says itself that the model changed meanwhile
  const list = /** @type {any[]} */ (Array.isArray(problem.of.problems) ? problem.of.problems : []);
  const own = list.length === 0 && problem.of.line ? [{ ...problem.of, path: '' }] : list;
  return html`<${ProblemAlert} problem=${without(problem)}>
    ${
      own.length > 0 &&
      html`<ul class="mistakes" aria-label="Mistakes">${own.slice(0, MAX_MISTAKES).map(
        (one) => html`<li><${Place} of=${one} text=${text} box=${box} />
      ${one.path && html`<code><${Visible} text=${String(one.path)} max=${200} /></code> `}<${Visible} text=${String(one.detail ?? '')}
        max=${1000} /></li>`,
      )}
      ${own.length > MAX_MISTAKES && html`<li class="quiet">and ${own.length - MAX_MISTAKES} more</li>`}</ul>`
    }<//>`;
}

/**
 * @param {{ of: any, text: string, box: Code }} props
 */
function Place({ of: { line, column }, text, box }) {
  if (!line) return null;
  const go = () => {
    if (!box.current) return;
    const from = offsetOf(text, line, column ?? 1);
    const end = text.indexOf('\n', from);
    box.current.select(from, end < 0 ? text.length : end);
  };
  return html`<button type="button" class="plain" onClick=${go}>line ${line}, column ${column ?? 1}</button>: `;
}

/**
 * What was previewed: the text of a model against the model of an entity tag, and what it would do.
 * @typedef {{ text: string, etag: string, preview: any }} Previewed
 */

/**
 * How a change of the model stands.
 * @typedef {object} State
 * @property {'idle' | 'merging' | 'previewing' | 'applying'} phase
 * @property {Work} [work] how far it is, where it takes long
 * @property {Previewed} [previewed]
 * @property {import('../lib/http.js').Problem} [problem] of what was done last
 * @property {string} [text] that the problem is about
 * @property {any} [applied] the summary of what was applied
 */

/**
 * Previews texts and parts of a model, and applies the text that was previewed.
 * @param {{ onApplied: (text: string) => void, onStale: () => void }} props onApplied is called where the text applies, or is being
 *   prepared; onStale where another model applies than was named
 */
export function useChange({ onApplied, onStale }) {
  const [state, setState] = useState(/** @type {State} */ ({ phase: 'idle' }));
  const ending = useRef(new AbortController());
  useEffect(() => () => ending.current.abort(), []);

  /**
   * @param {'merging' | 'previewing' | 'applying'} phase
   * @param {Previewed} of its text is a patch where it is to be merged
   * @param {(done: import('../lib/load.js').Done) => void} take
   */
  const run = async (phase, { text, etag, preview }, take) => {
    ending.current.abort();
    const mine = new AbortController();
    ending.current = mine;
    const kept = phase === 'applying' ? { text, etag, preview } : undefined;
    setState({ phase, previewed: kept });
    try {
      const [method, type] = phase === 'merging' ? ['PATCH', 'application/merge-patch+json'] : ['PUT', 'application/yaml'];
      const asked = {
        method,
        path: ['_model'],
        query: kept ? {} : { dryRun: true },
        headers: { 'Content-Type': type, 'If-Match': etag },
        body: text,
      };
      const onWork = (/** @type {Work} */ work) => setState((now) => (mine.signal.aborted ? now : { ...now, work }));
      const done = await runWork(asked, { signal: mine.signal, onWork, ends: !kept });
      if (!mine.signal.aborted) take(done);
    } catch (error) {
      if (mine.signal.aborted) return;
      const problem = asProblem(error);
      setState({ phase: 'idle', problem, text, previewed: problem.status === 412 ? undefined : kept });
      if (problem.status === 412) onStale();
    }
  };

  return {
    state,
    preview: (/** @type {string} */ text, /** @type {string} */ etag) =>
      run('previewing', { text, etag, preview: null }, ({ body }) => setState({ phase: 'idle', previewed: { text, etag, preview: body } })),
    /** Has the API put a patch into the model, and previews the text that comes of it. */
    merge: (/** @type {string} */ patch, /** @type {string} */ etag, /** @type {(text: string) => void} */ take) =>
      run('merging', { text: patch, etag, preview: null }, ({ body }) => {
        setState({ phase: 'idle', previewed: { text: body.merged, etag, preview: body } });
        take(body.merged);
      }),
    apply: () =>
      state.previewed &&
      run('applying', state.previewed, ({ body }) => {
        setState({ phase: 'idle', applied: body ?? {} });
        if (state.previewed) onApplied(state.previewed.text);
      }),
    stop: () => {
      ending.current.abort();
      setState({ phase: 'idle' });
    },
    forget: () => setState((now) => (now.phase === 'idle' && (now.previewed || now.problem) ? { phase: 'idle' } : now)),
  };
}
