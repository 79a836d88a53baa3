import { html } from '../lib/html.js';
import { ask } from '../lib/http.js';
import { useLoad } from '../lib/load.js';
import { placeHref } from '../lib/place.js';
import { ProblemAlert } from './dialogs.js';
import { Time, Visible } from './parts.js';

/** @typedef {import('../lib/place.js').Place} Place */

/** A position: its event, a number within it, the store, and perhaps a version of the fold. */
const position = /^(\d+)(?:-\d+)?(?:-[0-9a-z-]+)?$/i;

/**
 * Says that a page shows the store as it was, and leads back to now. It shows nothing where the place has no at.
 * @param {{ place: Place, position: string }} props position of the answer that is shown, empty as long as there is none
 */
export function PastBanner({ place, position: shown }) {
  const at = place.params.get('at');
  const asked = at && !position.test(at) ? at : '';
  const { value: found } = useLoad(async (signal) => (shown !== '' && asked === '' ? timeOf(shown, signal) : ''), [shown, asked]);
  if (!at) return null;
  const time = asked || found;
  return html`<p class="past" role="status"><span>As of ${shown ? html`<code>${shown}</code>` : html`<${Visible} text=${at} max=${100} />`}
    ${shown && time && html`, <${Time} text=${time} />`}</span>
    ${' '}<a href=${nowOf(place)}>Back to now</a></p>`;
}

/**
 * Returns the time of a position: that of its event. Whoever may not read what the event wrote does not learn it.
 * @param {string} of
 * @param {AbortSignal} signal
 * @returns {Promise<string>} empty where it is not known
 */
async function timeOf(of, signal) {
  const event = Number(position.exec(of)?.[1] ?? 0);
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
