import { html, useState } from '../lib/html.js';
import { Problem } from '../lib/http.js';
import { MANY } from '../lib/writing.js';
import { Dialog } from './dialog.js';
import { EffectsOf, OtherDocument } from './effects.js';
import { ProblemAlert } from './problem.js';
import { Visible } from './text.js';

/**
 * The dialog that shows what a write changes, and asks before it is sent. It is there while the write waits for that, or is being sent.
 * @param {{ title: string, go: string, keep: string, writing: import('../lib/writing.js').Writing, careful?: boolean }} props
 *   title of the dialog; go and keep name the buttons; careful gives the focus to the one that does nothing
 */
export const Preview = (props) => (props.writing.state.phase === 'asking' || props.writing.state.phase === 'sending' ? html`<${Asking} ...${props} />` : null);

/**
 * The dialog while it is open. What is typed goes with it.
 * @param {{ title: string, go: string, keep: string, writing: import('../lib/writing.js').Writing, careful?: boolean }} props
 */
function Asking({ title, go, keep, writing, careful = false }) {
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
      ${effects && html`<${EffectsOf} effects=${effects} />`}
      ${many && html`<p>${past ? 'These are more than the fanout.limit of the model' : 'These are many changes'}: type their number if they are meant.</p>
        <p><label>Number of changes <input data-focus autocomplete="off" inputmode="numeric" size="12" value=${typed} onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} /></label></p>`}
      <${WriteProblem} state=${state} />
      <p class="actions">${effects && html`<button type="submit" class="main" data-focus=${!careful && !many ? '' : undefined} disabled=${!sure} aria-disabled=${busy ? 'true' : undefined}>${go}</button>`}
        <button type="button" data-focus=${careful && !many ? '' : undefined} aria-disabled=${busy ? 'true' : undefined} onClick=${busy ? undefined : writing.stop}>${keep}</button>
        <span role="status" class="quiet">${busy && 'Sending it'}</span></p>
    </form>
  <//>`;
}

/**
 * The problem of a write, and what is known of it. No write is sent again by itself.
 * @param {{ state: import('../lib/writing.js').State, children?: any }} props
 */
export function WriteProblem({ state: { problem, again, unknown }, children }) {
  const restricts = problem?.kind === 'restricted' ? keysIn(problem) : [];
  const shown = problem && restricts.length ? without(problem) : problem;
  return html`<${ProblemAlert} problem=${shown}>
    ${unknown && html`<p>Nobody knows yet whether it was written. “Try again” sends the very same write, which happens once.</p>`}
    ${restricts.length > 0 && html`<ul aria-label="Restricted by">${restricts.map(({ collection, id, detail }) => html`<li><${OtherDocument} collection=${collection} id=${id} /> <${Visible} text=${detail} max=${500} /></li>`)}</ul>`}
    ${children}
    ${again && html`<button type="button" onClick=${again}>Try again</button>`}<//>`;
}

/** Returns a problem whose list is shown in another way. @param {Problem} problem */
export const without = (problem) => new Problem(problem.status, { ...problem.of, problems: undefined }, problem.headers);

/** @param {Problem} problem of documents @returns {{ collection: string, id: string, detail: string }[]} */
const keysIn = (problem) => (Array.isArray(problem.of.problems) ? problem.of.problems : []).slice(0, 100).map((/** @type {any} */ one) => {
  const [collection, ...id] = String(one.path).split('/');
  return { collection, id: id.join('/'), detail: String(one.detail ?? '') };
});
