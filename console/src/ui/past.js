import { html, useState } from '../lib/html.js';
import { ask } from '../lib/http.js';
import { useLoad } from '../lib/load.js';
import { eventAt, isPosition, localForm, momentOf } from '../lib/moment.js';
import { goTo, placeHref } from '../lib/place.js';
import { ProblemAlert } from './dialogs.js';
import { Time, Visible } from './parts.js';

/** @typedef {import('../lib/place.js').Place} Place */

/**
 * Says that a page shows the store as it was, and leads back to now. It shows nothing where the place has no at.
 * @param {{ place: Place, position: string }} props position of the answer that is shown, empty as long as there is none
 */
export function PastBanner({ place, position: shown }) {
  const at = place.params.get('at');
  const asked = at && !isPosition(at) ? at : '';
  const { value: found } = useLoad(async (signal) => (shown !== '' && asked === '' ? timeOf(shown, signal) : ''), [shown, asked]);
  if (!at) return null;
  const time = asked || found;
  return html`<p class="past" role="status"><span>As of ${shown ? html`<code>${shown}</code>` : html`<${Visible} text=${at} max=${100} />`}
    ${shown && time && html`, <${Time} text=${time} position=${shown} exact />`}</span>
    ${' '}<a href=${nowOf(place)}>Back to now</a></p>`;
}

/**
 * A field for a time or a position, with a picker. It takes a date, 10:00, -1h, and what the console shows of times.
 * @param {{ value: string, onInput: (text: string) => void }} props value is what is typed; momentOf makes of it what the API takes
 */
export function AtField({ value, onInput }) {
  const type = (/** @type {any} */ event) => onInput(event.target.value);
  return html`<label class="at">At <input name="at" value=${value} onInput=${type} autocomplete="off" spellcheck=${false}
      placeholder="10:00, -1h, 2026-01-31, or a position" /></label>
    <${TimePicker} onPick=${onInput} />`;
}

/**
 * A picker of a time in the reader's zone.
 * @param {{ onPick: (text: string) => void }} props
 */
export function TimePicker({ onPick }) {
  const pick = (/** @type {any} */ event) => {
    const at = new Date(event.target.value);
    if (!Number.isNaN(at.getTime())) onPick(localForm(at));
  };
  return html`<input type="datetime-local" step="1" class="picker" aria-label="Pick a time" onInput=${pick} />`;
}

/**
 * A form that leads to the same place at another time.
 * @param {{ place: Place }} props
 */
export function GoToTime({ place }) {
  const [typed, setTyped] = useState('');
  const go = (/** @type {Event} */ event) => {
    event.preventDefault();
    const rest = new URLSearchParams(place.params);
    rest.set('at', momentOf(typed));
    rest.delete('cursor');
    if (typed.trim() !== '') goTo(placeHref(place.parts, rest));
  };
  return html`<form class="go-to" aria-label="Another time" onSubmit=${go}><${AtField} value=${typed} onInput=${setTyped} />
    <button>Show</button></form>`;
}

/**
 * Returns the time of a position: that of its event. Whoever may not read what the event wrote does not learn it.
 * @param {string} of
 * @param {AbortSignal} signal
 * @returns {Promise<string>} empty where it is not known
 */
async function timeOf(of, signal) {
  const event = eventAt(of);
  if (!(event > 0 && Number.isSafeInteger(event))) return '';
  try {
    const { results } = await ask({
      path: ['_changes'],
      query: { since: event - 1, limit: 1, derived: 'exclude', mode: 'all', include_docs: false },
      signal,
    });
    return results[0]?.seq.startsWith(event + '-') ? results[0].time : '';
  } catch {
    return ''; // the page itself tells what is wrong
  }
}

/**
 * Returns the address of the same place now. Pages of a list of then are none of now.
 * @param {Place} place
 */
function nowOf({ parts, params }) {
  const rest = new URLSearchParams(params);
  rest.delete('at');
  rest.delete('cursor');
  return placeHref(parts, rest);
}

/**
 * The problem of a page that may stand in the past. Of a state that is no longer kept it says where the history begins.
 * @param {{ place: Place, problem: import('../lib/http.js').Problem | undefined, again?: () => void, children?: any }} props
 */
export function PastProblem({ place, problem, again, children }) {
  const { parts, params } = place;
  const oldest = problem?.status === 410 ? String(problem.of.oldest ?? '') : '';
  const rest = new URLSearchParams(params);
  rest.delete('cursor');
  rest.set('at', oldest);
  return html`<${ProblemAlert} problem=${problem} again=${oldest ? undefined : again}>
    ${oldest && html`<p>The history begins at <a href=${placeHref(parts, rest)}>${oldest}</a>.</p>`}${children}<//>`;
}
