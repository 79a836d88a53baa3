import { html, useMemo, useRef, useState } from '../lib/html.js';
import { Problem, curlOf, hasRole, me } from '../lib/http.js';
import { scan } from '../lib/json.js';
import { differences } from '../lib/jsontext.js';
import { placeHref } from '../lib/place.js';
import { MANY } from '../lib/write.js';
import { Difference, Patch } from './changes.js';
import { Dialog, ProblemAlert } from './dialogs.js';
import { CopyAs, Visible, duration, number } from './parts.js';

/**
 * How the dialog of a write is called, and what it has besides.
 * @typedef {object} Asks
 * @property {string} title of the dialog
 * @property {string} go the button that writes
 * @property {string} keep the other button
 * @property {import('../lib/write.js').Writing} writing
 * @property {boolean} [careful] the focus goes to the button that does nothing
 * @property {boolean} [loses] the write takes something away
 * @property {any} [children] what else becomes of the write
 */

/**
 * The dialog that shows what a write changes, and asks before it is sent. It is there while the write waits for that, or is being sent.
 * @param {Asks} props
 */
export const Preview = (props) =>
  props.writing.state.phase === 'asking' || props.writing.state.phase === 'sending' ? html`<${Asking} ...${props} />` : null;

/**
 * The dialog while it is open. What is typed goes with it. Its headline and its buttons stay in sight, however much is between them.
 * @param {Asks} props
 */
function Asking({ title, go, keep, writing, careful = false, loses = false, children }) {
  const { state } = writing;
  const [typed, setTyped] = useState('');
  const { effects, past } = state;
  const many = effects !== undefined && (past || effects.derived > MANY);
  const sure = effects !== undefined && (!many || typed.replace(/[\s,.]/g, '') === String(effects.derived));
  const busy = state.phase === 'sending';
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (sure && !busy) writing.go(many);
  };
  return html`<${Dialog} title=${title} closable=${!busy} onClose=${writing.stop}>
    <form class="preview" onSubmit=${submit}>
      <div class="effects" tabindex="0" role="group" aria-label="What it changes">
        <${WriteProblem} state=${state} />
        ${effects && html`<${EffectsOf} effects=${effects} own=${state.own}>${children}<//>`}</div>
      ${
        many &&
        html`<p>${past ? 'These are more than the fanout.limit of the model' : 'These are many changes'}: type their number if they are
          meant. <label>Number of changes <input data-focus autocomplete="off" inputmode="numeric" size="12" value=${typed}
          onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} /></label></p>`
      }
      <p class="actions">${
        effects &&
        html`<button type="submit" class=${loses ? 'loss' : 'main'} data-focus=${!careful && !many ? '' : undefined}
        disabled=${!sure} aria-disabled=${busy ? 'true' : undefined}>${go}</button>`
      }
        <button type="button" data-focus=${careful && !many ? '' : undefined} aria-disabled=${busy ? 'true' : undefined}
          onClick=${busy ? undefined : writing.stop}>${keep}</button>
        <span role="status" class="quiet">${busy && 'Sending it'}</span></p>
      ${state.asked && html`<${CopyAs} asked=${state.asked} />`}
    </form>
  <//>`;
}

/**
 * The problem of a write, and what is known of it. No write is sent again by itself.
 * @param {{ state: import('../lib/write.js').State, children?: any }} props
 */
export function WriteProblem({ state: { problem, again, unknown }, children }) {
  const restricts = problem?.kind === 'restricted' ? keysIn(problem) : [];
  const shown = problem && restricts.length ? without(problem) : problem;
  return html`<${ProblemAlert} problem=${shown}>
    ${unknown && html`<p>Nobody knows yet whether it was written. “Try again” sends the very same write, which happens once.</p>`}
    ${
      restricts.length > 0 &&
      html`<ul aria-label="Restricted by">${restricts.map(
        ({ collection, id, detail }) => html`<li><${OtherDocument}
      collection=${collection} id=${id} /> <${Visible} text=${detail} max=${500} /></li>`,
      )}</ul>`
    }
    ${children}
    ${again && html`<button type="button" onClick=${again}>Try again</button>`}<//>`;
}

/** Returns a problem whose list is shown in another way. @param {Problem} problem */
export const without = (problem) => new Problem(problem.status, { ...problem.of, problems: undefined }, problem.headers);

/** @param {Problem} problem of documents @returns {{ collection: string, id: string, detail: string }[]} */
const keysIn = (problem) =>
  (Array.isArray(problem.of.problems) ? problem.of.problems : []).slice(0, 100).map((/** @type {any} */ one) => {
    const [collection, ...id] = String(one.path).split('/');
    return { collection, id: id.join('/'), detail: String(one.detail ?? '') };
  });

/** How many documents are named. */
const NAMED = 20;

/**
 * Says how many derived changes there are, and where.
 * @param {import('../lib/write.js').Effects} effects
 */
export const sentence = ({ derived, collections }) =>
  derived === 0
    ? 'No derived change'
    : number(derived) +
      ' derived change' +
      (derived === 1 ? '' : 's') +
      (collections.length ? ': ' + collections.map(([name, count]) => number(count) + ' in ' + name).join(', ') : '');

/**
 * What a write would change: what is lost first, then the document itself beside all others.
 * @param {{ effects: import('../lib/write.js').Effects, own?: import('../lib/write.js').Known['own'], children?: any }} props
 */
export function EffectsOf({ effects, own, children }) {
  const others = effects.writes.slice(1);
  return html`<${Others} title="Deleted with it" writes=${others.filter((w) => w.op === 'delete')} />
    <${Others} title="Loses its reference" writes=${others.filter((w) => w.op !== 'delete')} />
    <div class="columns">${own && html`<${Own} ...${own} />`}<div>
      <p class="sentence"><${Visible} text=${sentence(effects)} /></p>
      ${children}
      ${
        effects.rules.length > 0 &&
        html`<div class="scroll"><table aria-label="Changes by rule">
      <thead><tr><th scope="col">Rule</th><th scope="col" class="number">Documents</th></tr></thead>
      <tbody>${effects.rules.map(
        ([name, count]) => html`<tr key=${name}><td><code><${Visible} text=${name} max=${200} /></code></td><td
        class="number">${number(count)}</td></tr>`,
      )}</tbody>
    </table></div>`
      }
      ${
        effects.examples.length > 0 &&
        html`<h3>Examples</h3><ul aria-label="Examples" class="examples">${effects.examples.map(
          (one) => html`<li>
      <${OtherDocument} collection=${one.collection} id=${one.id} /> <span class="quiet">by <code><${Visible} text=${one.rule} max=${200} />
        </code></span>
      <${Patch} patch=${one.patch} max=${4} /></li>`,
        )}</ul>`
      }</div></div>`;
}

/** How many differences of the document itself are shown. */
const SHOWN = 50;

/**
 * What a write makes of the document itself.
 * @param {{ before: string | undefined, after: string }} props JSON
 */
function Own({ before, after }) {
  const found = useMemo(() => (before === undefined ? [] : differences(scan(before), scan(after))), [before, after]);
  return html`<section aria-label="This document"><h3>This document</h3>
    ${before === undefined && html`<p class="quiet">It is new.</p>`}
    ${before !== undefined && found.length === 0 && html`<p class="quiet">Blanks, escapes or the order of members differ.</p>`}
    <ul class="differences">${found.slice(0, SHOWN).map((one) => html`<li><${Difference} ...${one} /></li>`)}</ul>
    ${found.length > SHOWN && html`<p class="quiet">${number(found.length - SHOWN)} more</p>`}</section>`;
}

/**
 * Documents that are written together with the one that is deleted.
 * @param {{ title: string, writes: { collection: string, id: string }[] }} props
 */
function Others({ title, writes }) {
  if (writes.length === 0) return null;
  return html`<h3>${title}: ${number(writes.length)}</h3><ul aria-label=${title} class="documents ids">
    ${writes.slice(0, NAMED).map((w) => html`<li><${OtherDocument} collection=${w.collection} id=${w.id} /></li>`)}
    ${writes.length > NAMED && html`<li class="quiet">and ${number(writes.length - NAMED)} more</li>`}</ul>`;
}

/**
 * A link to a document that opens in a tab of its own, so that nothing of this page is lost.
 * @param {{ collection: string, id: string }} props
 */
export const OtherDocument = ({ collection, id }) =>
  html`<a href=${placeHref([collection, id])} target="_blank" rel="noopener"><${Visible} text=${collection + '/' + id} max=${200} /></a>`;

/** How long a suggestion may be that stands in an address, in characters. */
export const MAX_PLACE = 4096;

/**
 * An index that would serve a query: as YAML of the model and, for who may write the model, a link to the editor that has it already. Of a
 * long one
 * it is the command that adds it.
 * @param {{ suggest: any }} props a merge patch of the model, undefined where no index helps
 */
export function Suggestion({ suggest }) {
  if (!suggest) return null;
  const text = JSON.stringify(suggest);
  const add = { method: 'PATCH', path: ['_model'], headers: { 'Content-Type': 'application/merge-patch+json' }, body: text };
  return html`<div class="suggestion"><p>This part of the model has an index that serves it:</p>
    <pre aria-label="Index in YAML"><${Visible} text=${yamlOf(suggest)} max=${4000} /></pre>
    ${
      !hasRole('admin')
        ? me.value && html`<p>Whoever has the role <code>admin</code> can add it.</p>`
        : text.length <= MAX_PLACE
          ? html`<p><a href=${placeHref(['_model'], { suggest: text })}>Add it to the model</a></p>`
          : html`<p>This command adds it:</p><pre aria-label="Command"><${Visible} text=${curlOf(add)} max=${8000} /></pre>`
    }</div>`;
}

/** Words that YAML takes for other values than texts, and what needs no quotation marks. */
const words = /^(?:true|false|null|yes|no|on|off|y|n)$/i;
const bare = /^-?[A-Za-z_][\w.-]*$/;

/** @param {string} text */
const quoted = (text) => (bare.test(text) && !words.test(text) ? text : JSON.stringify(text));

/**
 * Returns objects, lists and texts as YAML.
 * @param {any} value
 * @param {string} indent
 * @returns {string}
 */
function yamlOf(value, indent = '') {
  return Object.entries(value)
    .map(
      ([name, inner]) =>
        indent +
        quoted(name) +
        ':' +
        (inner === null || typeof inner !== 'object' || Array.isArray(inner)
          ? ' ' + flow(inner) + '\n'
          : '\n' + yamlOf(inner, indent + '  ')),
    )
    .join('');
}

/** @param {any} value @returns {string} */
function flow(value) {
  if (Array.isArray(value)) return '[' + value.map(flow).join(', ') + ']';
  return typeof value === 'string' ? quoted(value) : JSON.stringify(value);
}

/**
 * How far something is, as a bar and in words.
 * @param {{ label: string, done: number, total: number, unit?: string, left?: number, children?: any }} props
 *   total is 0 where it is not known; left is the seconds that it will take yet, undefined where nobody knows
 */
export function Progress({ label, done, total, unit = '', left, children }) {
  const share = total > 0 ? Math.min(1, done / total) : undefined;
  const many = total > 0 ? `${Math.floor((share ?? 0) * 100)}%: ${number(done)} of ${number(total)}` : done > 0 ? `${number(done)}` : '';
  const words = [
    many && [many, unit].filter(Boolean).join(' '),
    left === undefined ? 'time left not known yet' : `about ${duration(left)} left`,
  ]
    .filter(Boolean)
    .join(', ');
  return html`<div class="progress"><progress aria-label=${label} max="1" value=${share} /><span>${words}${children}</span></div>`;
}

/**
 * Returns how many seconds something takes yet, by what was done since it was seen first. It is undefined as long as that is too little to
 * tell.
 * @param {string} of changes with what is being done
 * @param {number} done
 * @param {number} total
 */
export function useLeft(of, done, total) {
  const first = useRef({ of: '', done: 0, time: 0, last: 0, lastTime: 0 });
  const at = first.current;
  const time = performance.now();
  if (at.of !== of || done < at.last) first.current = { of, done, time, last: done, lastTime: time };
  else if (done > at.last) Object.assign(at, { last: done, lastTime: time });
  const { done: from, time: since, last, lastTime } = first.current;
  if (total <= 0 || last <= from || lastTime <= since) return undefined;
  const left = ((total - last) * (lastTime - since)) / (last - from) / 1000;
  return Math.max(0, left - (time - lastTime) / 1000);
}
