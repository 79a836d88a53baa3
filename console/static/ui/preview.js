import { html, useState } from '../lib/html.js';
import { MANY } from '../lib/writing.js';
import { Dialog } from './dialog.js';
import { EffectsOf } from './effects.js';
import { ProblemAlert } from './problem.js';

/**
 * The dialog that shows what a write changes, and asks before it is sent. It is there while the write waits for that, or is being sent.
 * @param {{ title: string, go: string, keep: string, writing: import('../lib/writing.js').Writing, careful?: boolean }} props
 *   title of the dialog; go and keep name the buttons; careful gives the focus to the one that does nothing
 */
export function Preview({ title, go, keep, writing, careful = false }) {
  const { state } = writing;
  const [typed, setTyped] = useState('');
  const { effects, past } = state;
  if (!effects) return null;
  const many = past || effects.derived > MANY;
  const sure = !many || typed.replace(/[\s,.]/g, '') === String(effects.derived);
  const busy = state.phase === 'sending';
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (sure && !busy) writing.go(many);
  };
  return html`<${Dialog} title=${title} closable=${!busy} onClose=${writing.stop}>
    <form class="preview" onSubmit=${submit}>
      <${EffectsOf} effects=${effects} />
      ${many && html`<p>${past ? 'These are more than the fanout.limit of the model' : 'These are many changes'}: type their number if they are meant.</p>
        <p><label>Number of changes <input data-focus autocomplete="off" inputmode="numeric" size="12" value=${typed} onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} /></label></p>`}
      <${WriteProblem} state=${state} />
      <p class="actions"><button type="submit" class="main" data-focus=${!careful && !many ? '' : undefined} disabled=${!sure} aria-disabled=${busy ? 'true' : undefined}>${go}</button>
        <button type="button" data-focus=${careful && !many ? '' : undefined} aria-disabled=${busy ? 'true' : undefined} onClick=${busy ? undefined : writing.stop}>${keep}</button>
        <span role="status" class="quiet">${busy && 'Sending it'}</span></p>
    </form>
  <//>`;
}

/**
 * The problem of a write, and what is known of it.
 * @param {{ state: import('../lib/writing.js').State, children?: any }} props
 */
export const WriteProblem = ({ state, children }) => html`<${ProblemAlert} problem=${state.problem} again=${state.again}>
  ${state.unknown && html`<p>Nobody knows yet whether it was written. “Try again” sends the very same write, which happens once.</p>`}${children}<//>`;
