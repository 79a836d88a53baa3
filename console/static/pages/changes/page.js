import { html, useEffect, useRef, useState } from '../../lib/html.js';
import { follow } from '../../lib/feed.js';
import { goTo, placeHref } from '../../lib/place.js';
import { CopyAsCurl } from '../../ui/curl.js';
import { ProblemAlert } from '../../ui/problem.js';
import { ChangeItem } from './item.js';
import { Kept } from './kept.js';

/** How many events are shown at first. */
const FIRST = 100;

/**
 * The change feed, from now or from a position on.
 * @param {{ place: import('../../lib/place.js').Place }} props
 */
export function ChangesPage({ place }) {
  const { params } = place;
  const since = params.get('since') || 'now';
  const query = queryOf(params);
  const [paused, setPaused] = useState(false);
  const { kept, version, state, problem, position } = useFeed(since, query, paused);
  const [shown, setShown] = useState(FIRST);
  const asked = { path: ['_changes'], query: { ...query, feed: 'continuous', since } };
  return html`
    <${Choice} params=${params} since=${since} />
    <p class="actions">
      ${paused ? html`<button type="button" onClick=${() => setPaused(false)}>Resume</button>` : html`<button type="button" onClick=${() => setPaused(true)}>Pause</button>`}
      <span class="quiet">${paused ? 'Paused' : words[state]}${position && html` at <code>${position}</code>`}</span>
    </p>
    <${ProblemAlert} problem=${problem}>${problem?.of.oldest && html`<p><a href=${placeHref(['_changes'], { ...query, since: problem.of.oldest })}>Begin at ${problem.of.oldest}</a></p>`}<//>
    ${kept.gone > 0 && html`<p class="quiet">${kept.gone.toLocaleString('en')} older rows are not kept here.</p>`}
    <ul aria-label="Changes" class="changes">${kept.items.slice(0, shown).map((item) => html`<${ChangeItem} key=${item.event} item=${item} version=${version} />`)}</ul>
    ${kept.items.length === 0 && !problem && html`<p class="quiet">No change has come yet.</p>`}
    ${kept.items.length > shown && html`<button type="button" onClick=${() => setShown(shown + FIRST)}>Show ${FIRST} more</button>`}
    <${CopyAsCurl} asked=${asked} />`;
}

/** What the states of the feed are called. */
const words = { off: 'Beginning', open: 'Following', cut: 'The feed was cut and begins again', ended: 'Ended' };

/**
 * Returns the query of the feed that a place asks for, without since.
 * @param {URLSearchParams} params
 * @returns {Record<string, string>}
 */
function queryOf(params) {
  const given = Object.fromEntries(['collections', 'filter', 'params', 'derived', 'cascades', 'partition'].map((name) => [name, params.get(name) ?? '']).filter(([, value]) => value !== ''));
  return { ...given, mode: 'all' };
}

/**
 * Follows the feed while it is not paused, and goes on by position. A hidden tab has no connection.
 * @param {string} since
 * @param {Record<string, string>} query
 * @param {boolean} paused
 */
function useFeed(since, query, paused) {
  const [hidden, setHidden] = useState(document.hidden);
  const asked = JSON.stringify([since, query]);
  const kept = useRef(new Kept());
  const position = useRef('');
  const of = useRef('');
  if (of.current !== asked) {
    of.current = asked;
    kept.current = new Kept();
    position.current = '';
  }
  const [view, setView] = useState({ version: 0, state: /** @type {'off' | 'open' | 'cut' | 'ended'} */ ('off'), problem: /** @type {any} */ (undefined) });
  useEffect(() => {
    const look = () => setHidden(document.hidden);
    document.addEventListener('visibilitychange', look);
    return () => document.removeEventListener('visibilitychange', look);
  }, []);
  useEffect(() => {
    if (paused || hidden) return undefined;
    const ending = new AbortController();
    let drawing = 0;
    const draw = (/** @type {Partial<typeof view>} */ more) => {
      if (!ending.signal.aborted) setView((now) => ({ ...now, ...more, version: now.version + 1 }));
    };
    const drawSoon = () => { drawing ||= setTimeout(() => { drawing = 0; draw({}); }, 100); };
    follow({
      query, since: position.current || since, signal: ending.signal,
      onRows: (rows) => { kept.current.add(rows); drawSoon(); },
      onPosition: (at) => { position.current = at; drawSoon(); },
      onState: (state) => draw({ state, problem: undefined }),
    }).then((problem) => { if (problem) draw({ state: 'ended', problem }); });
    return () => { ending.abort(); clearTimeout(drawing); };
  }, [asked, paused, hidden]);
  return { kept: kept.current, position: position.current, ...view };
}

/**
 * The form that chooses what is followed. The place has it all.
 * @param {{ params: URLSearchParams, since: string }} props
 */
function Choice({ params, since }) {
  const go = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const given = new FormData(/** @type {HTMLFormElement} */ (event.currentTarget));
    const text = (/** @type {string} */ name) => String(given.get(name) ?? '').trim() || undefined;
    goTo(placeHref(['_changes'], { since: text('since'), collections: text('collections'), filter: text('filter'), derived: given.get('derived') ? undefined : 'exclude' }));
  };
  return html`<form aria-label="Feed" class="query" key=${params.toString()} onSubmit=${go}>
    <label>From <input name="since" value=${since} title="now, 0, a position or a time" /></label>
    <label>Collections <input name="collections" value=${params.get('collections') ?? ''} title="names, separated by commas; none for all" /></label>
    <label>Filter <input name="filter" value=${params.get('filter') ?? ''} spellcheck=${false} /></label>
    <label class="box"><input type="checkbox" name="derived" checked=${params.get('derived') !== 'exclude'} /> Derived changes</label>
    <button type="submit">Follow</button>
  </form>`;
}
