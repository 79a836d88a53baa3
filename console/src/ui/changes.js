import { effect, html, signal, useEffect, useMemo, useState } from '../lib/html.js';
import { ask, hasRole, key } from '../lib/http.js';
import { member, readable, textOf } from '../lib/json.js';
import { followAgain, liveState, useLive, useLoad } from '../lib/load.js';
import { eventAt, isPosition, localForm, momentOf } from '../lib/moment.js';
import { goTo, placeHref } from '../lib/place.js';
import { ProblemAlert } from './dialogs.js';
import { DocumentLink, Time, Visible } from './parts.js';

/** @typedef {import('../lib/json.js').Node} Node */
/** @typedef {import('../lib/feed.js').Row} Row */

/** How much of a value is shown in a line. */
const MAX_VALUE = 120;

/**
 * A value that differs, in a line: where it is, what was and what is.
 * @param {{ path: string, old?: Node, value?: Node, bare?: boolean, before?: any, after?: any }} props a value that came has no old one,
 * and one that went has no new one; bare shows texts without quotation marks, where both are texts; before and after stand around it
 */
export function Difference({ path, old, value, bare = false, before, after }) {
  const texts = bare && old?.kind === 'string' && value?.kind === 'string';
  const shown = (/** @type {Node} */ node) =>
    html`<${Visible} text=${texts ? textOf(node) : readable(node, 8 * MAX_VALUE)} max=${MAX_VALUE} />`;
  return html`<div class="difference">${before}<code><${Visible} text=${path || 'the document'} max=${MAX_VALUE} /></code>: ${
    old
      ? html`<del>
    ${shown(old)}</del>`
      : html`<span class="quiet">nothing</span>`
  } → ${value ? html`<ins>${shown(value)}</ins>` : html`<span class="quiet">nothing</span>`}${after}</div>`;
}

/**
 * A JSON Patch with old values, a line an operation.
 * @param {{ patch: Node | undefined, max?: number, bare?: boolean, before?: any, after?: any }} props max is how many lines are shown;
 * the others are those of each line
 */
export function Patch({ patch, max = 20, bare, before, after }) {
  const all = patch?.elements ?? [];
  return html`${all.slice(0, max).map(
    (op) => html`<${Difference} path=${textOf(member(op, 'path')) ?? ''} old=${member(op, 'old')}
    value=${member(op, 'value')} bare=${bare} before=${before} after=${after} />`,
  )}
    ${all.length > max && html`<div class="quiet">${all.length - max} more</div>`}`;
}

/** How many changes the log keeps, and of how many characters. The newest is always there. */
const MAX_SEEN = { rows: 50, size: 4 << 20 };

/** How long nothing must come until a screen reader is told how many changes came, in milliseconds. */
const QUIET = 1000;

/**
 * Keeps the newest changes of what a page shows. It returns them, and a log for the page.
 * @param {string[]} collections
 * @param {string} since the position of what is shown, empty as long as there is none
 * @param {(row: Row) => boolean} concerns whether a change is one of what the page shows
 * @param {(rows: Row[]) => void} take is given those that do
 */
export function useSeen(collections, since, concerns, take) {
  const [rows, setRows] = useState(/** @type {Row[]} */ ([]));
  useLive(collections, since, (come) => {
    const mine = come.filter(concerns);
    if (mine.length === 0) return;
    setRows((now) => newest([...mine.toReversed(), ...now]));
    take(mine);
  });
  return rows;
}

/** @param {Row[]} rows the newest first */
function newest(rows) {
  let size = 0;
  return rows.slice(0, MAX_SEEN.rows).filter((row, i) => (size += row.size) <= MAX_SEEN.size || i === 0);
}

/**
 * The log of what has changed since the page was opened, and whether the feed that tells it is cut.
 * @param {{ rows: Row[], named?: boolean }} props rows have the newest first; named says that they are of several documents
 */
export function ChangesSeen({ rows, named = false }) {
  const { state, problem } = liveState.value;
  const gone = problem?.status === 410;
  return html`<${FeedState} state=${state} problem=${problem} again=${gone ? () => location.reload() : followAgain}>
      <p>What is shown does not follow changes any more.</p><//>
    <${Count} rows=${rows} />
    <div role="log" aria-label="Changes seen" aria-live="off" class="seen">${rows.map(
      (row) => html`<${Seen} key=${row.seq} row=${row} named=${named} />`,
    )}</div>`;
}

/**
 * Tells once, when some changes have come, how many they were. The log itself would be read row by row.
 * @param {{ rows: Row[] }} props
 */
function Count({ rows }) {
  const newest = rows[0]?.seq ?? '';
  const [told, setTold] = useState({ seq: '', words: '' });
  useEffect(() => {
    if (newest === told.seq) return undefined;
    const timer = setTimeout(() => {
      const before = rows.findIndex((row) => row.seq === told.seq);
      const count = before < 0 ? rows.length : before;
      setTold({ seq: newest, words: `${count} change${count === 1 ? '' : 's'} seen at ${localForm(new Date(rows[0].time))}` });
    }, QUIET);
    return () => clearTimeout(timer);
  }, [newest]);
  return html`<p role="status" class="unseen">${told.words}</p>`;
}

/**
 * A change: what it did, by whom, and where.
 * @param {{ row: Row, named: boolean }} props named has the document stand first
 */
function Seen({ row, named }) {
  const { cause } = row;
  // The same element is not looked at again.
  return useMemo(() => {
    const by = html`${cause?.collection && html`, by <${DocumentLink} collection=${cause.collection} id=${cause.id} />`}
      ${cause && !cause.collection && html`, by the rule <${Visible} text=${String(cause.rule ?? '')} max=${200} />`}${
        row.actor && html`, by <${Actor} of=${row.actor} />`
      }<span class="quiet">, <${Time} text=${row.time} position=${row.seq} /></span>`;
    const of = named && html`<${DocumentLink} collection=${row.collection} id=${row.id} /> `;
    const what = html`<${Visible} text=${row.collection + '/' + row.id} max=${200} />: ${row.op}`;
    const line = row.patch ? html`<${Patch} patch=${row.patch} max=${5} bare before=${of} after=${by} />` : html`${what}${by}`;
    return html`<div>${line}</div>`;
  }, [row, named]);
}

/**
 * What is wrong with a feed: a line as long as it mends itself, an alert once it has ended.
 * @param {{ state: 'off' | 'open' | 'cut' | 'ended', problem?: import('../lib/http.js').Problem, again: () => void, children?: any }} props
 * children say what helps, where another try does not
 */
export function FeedState({ state, problem, again, children }) {
  const why = problem && problem.title + (problem.detail ? ': ' + problem.detail : '');
  return html`<p role="status" class="quiet">${
    state === 'cut' &&
    html`The feed was cut${
      why &&
      html` (<${Visible} text=${why}
    max=${300} />)`
    }. It goes on by itself.`
  }</p>
    ${state === 'ended' && html`<${ProblemAlert} problem=${problem} again=${again}>${children}<//>`}`;
}

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

/**
 * The names of keys by what events call their holders, as far as they are known.
 * @type {import('@preact/signals').Signal<Map<string, string>>}
 */
const names = signal(new Map());

/** Whose keys were asked for, undefined as long as nobody's were. */
let askedBy = /** @type {string | undefined} */ (undefined);

effect(() => {
  if (key.value === askedBy) return;
  askedBy = undefined;
  names.value = new Map();
});

/** Asks for the names once for each reader who may know them. The ids are shown where that fails. */
function learn() {
  if (askedBy === key.value || !hasRole('admin')) return;
  const by = (askedBy = key.value);
  ask({ path: ['_keys'] }).then(
    (of) => {
      if (by === key.value) names.value = new Map(of.keys.map((/** @type {any} */ one) => ['key:' + one.id, one.name]));
    },
    () => {},
  );
}

/**
 * Who wrote something: a key by its name, for whoever may know it. The title has what the event says.
 * @param {{ of: string }} props
 */
export function Actor({ of }) {
  if (of.startsWith('key:')) learn();
  const name = names.value.get(of);
  return name === undefined
    ? html`<${Visible} text=${of} max=${80} />`
    : html`<span title=${of}><${Visible} text=${name} max=${80} /></span>`;
}
