import { follow, soon } from '../lib/feed.js';
import { html, useEffect, useMemo, useRef, useState } from '../lib/html.js';
import { eventOf } from '../lib/http.js';
import { goTo, placeHref } from '../lib/place.js';
import { useHidden } from '../lib/text.js';
import { Actor, FeedState, Patch } from '../ui/changes.js';
import { Pending } from '../ui/dialogs.js';
import { CopyAs, DocumentLink, Time, Visible, number } from '../ui/parts.js';

/** How many events are shown at first. */
const FIRST = 100;

/** What the states of the feed are called. */
const words = { off: 'Beginning', open: 'Following', cut: 'Waiting', ended: 'Ended' };

/**
 * The change feed, from now or from a position on.
 * @param {{ place: import('../lib/place.js').Place }} props
 */
export function ChangesPage({ place }) {
  const { params } = place;
  const since = params.get('since') || 'now';
  const query = queryOf(params);
  const [paused, setPaused] = useState(false);
  const { kept, state, problem, position, again, anew } = useFeed(since, { ...query, mode: 'all' }, paused);
  const [shown, setShown] = useState(FIRST);
  useEffect(() => setShown(FIRST), [params]);
  const oldest = problem?.of.oldest;
  const waits = state === 'off' && !paused && kept.items.length === 0;
  return html`
    <${Choice} params=${params} since=${since} again=${anew} />
    <p class="actions">
      ${
        paused
          ? html`<button type="button" onClick=${() => setPaused(false)}>Resume</button>`
          : html`<button type="button"
        onClick=${() => setPaused(true)}>Pause</button>`
      }
      <span class="quiet"><span role="status">${paused ? 'Paused' : words[state]}</span>${position && html` at <code>${position}</code>`}
        </span>
    </p>
    ${
      !paused &&
      html`<${FeedState} state=${state} problem=${problem} again=${again}>${
        oldest &&
        html`<p><a
      href=${placeHref(['_changes'], { ...query, since: oldest })}>Begin at ${oldest}</a></p>`
      }<//>`
    }
    <${Pending} of=${{ value: waits ? undefined : kept, cancel: () => setPaused(true) }}>
    <ul aria-label="Changes" class="changes">${kept.items.slice(0, shown).map(
      (item) => html`<${ChangeItem} key=${item.seq} item=${item}
      derived=${item.derived} gone=${item.gone} />`,
    )}</ul>
    ${kept.items.length === 0 && state !== 'ended' && html`<p class="quiet">No change has come yet.</p>`}
    ${kept.items.length > shown && html`<p><button type="button" onClick=${() => setShown(shown + FIRST)}>Show ${FIRST} more</button></p>`}
    ${kept.gone > 0 && html`<p class="quiet">${kept.gone.toLocaleString('en')} older rows are not kept here.</p>`}
    <//>
    <${CopyAs} asked=${{ path: ['_changes'], query: { ...query, mode: 'all', feed: 'continuous', since } }} />`;
}

/**
 * Returns the query of the feed that a place asks for, without since.
 * @param {URLSearchParams} params
 * @returns {Record<string, string>}
 */
const queryOf = (params) =>
  Object.fromEntries(
    ['collections', 'filter', 'params', 'derived', 'cascades', 'partition']
      .map((name) => [name, params.get(name) ?? ''])
      .filter(([, value]) => value !== ''),
  );

/** How many documents of a rule are shown at first. */
const FIRST_ROWS = 50;

/**
 * What one event did: the write, and its derived changes on demand.
 * @param {{ item: Item, derived: number, gone: number }} props derived and gone are those of the item, by which preact sees that it has
 * changed
 */
export function ChangeItem({ item, derived, gone }) {
  const [open, setOpen] = useState(false);
  // An element that is the same is not looked at again: hundreds stand here while others come.
  return useMemo(
    () => html`<li>
    <${What} item=${item} /> <span class="quiet"><${Time} text=${item.time}
      position=${positionOf(item)} /></span><${By} item=${item} /> <code class="quiet one-line">${positionOf(item)}</code>
    ${
      derived > 0 &&
      html` <button type="button" class="small" aria-expanded=${open} onClick=${() => setOpen(!open)}>
      ${number(derived)} derived change${derived === 1 ? '' : 's'}</button>`
    }
    ${
      open &&
      html`<div class="derived">
      ${gone > 0 && html`<p class="quiet">${number(gone)} of them are not kept here.</p>`}
      ${byRule(item.rows).map(([rule, rows]) => html`<${Rule} key=${rule} rule=${rule} rows=${rows} />`)}</div>`
    }
  </li>`,
    [item, derived, gone, open],
  );
}

/** The position of an event, as far as it is known. @param {Item} item */
const positionOf = ({ write, cause, seq }) => write?.seq ?? cause?.seq ?? seq;

/** What was written, and how. @param {{ item: Item }} props */
function What({ item: { write, cause, whole } }) {
  if (write) return html`<${DocumentLink} collection=${write.collection} id=${write.id} /> <strong>${write.op}</strong>`;
  if (cause?.collection) return html`<${DocumentLink} collection=${cause.collection} id=${cause.id} />`;
  if (whole) return 'The model';
  return cause?.rule === 'erase' ? 'An erasure' : 'A document that you may not read';
}

/** Who wrote it, and what it follows from. @param {{ item: Item }} props */
const By = ({ item: { write } }) =>
  html`${write?.actor && html` by <${Actor} of=${write.actor} />`}${
    write?.cause?.collection &&
    html` <span class="quiet">because of <${DocumentLink} collection=${write.cause.collection} id=${write.cause.id} /></span>`
  }`;

/**
 * The derived changes of one rule, by document.
 * @param {{ rule: string, rows: import('../lib/feed.js').Row[] }} props
 */
function Rule({ rule, rows }) {
  const [shown, setShown] = useState(FIRST_ROWS);
  return html`<h2><${Visible} text=${rule} max=${200} />: ${number(rows.length)}</h2>
    <ul>${rows.slice(0, shown).map((row) => html`<${Derived} key=${row.seq} row=${row} />`)}</ul>
    ${
      rows.length > shown &&
      html`<button type="button" onClick=${() => setShown(shown + FIRST_ROWS)}>Show ${FIRST_ROWS} more of ${rule}
      </button>`
    }`;
}

/** @param {{ row: import('../lib/feed.js').Row }} props */
const Derived = ({ row }) =>
  useMemo(
    () => html`<li><${DocumentLink} collection=${row.collection} id=${row.id} /> <${Patch} patch=${row.patch} max=${5} /></li>`,
    [row],
  );

/**
 * The form that chooses what is followed. The place has it all.
 * @param {{ params: URLSearchParams, since: string, again: () => void }} props again begins anew where the place stays the same
 */
export function Choice({ params, since, again }) {
  const go = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const given = new FormData(/** @type {HTMLFormElement} */ (event.currentTarget));
    const text = (/** @type {string} */ name) => String(given.get(name) ?? '').trim() || undefined;
    const names = text('collections')
      ?.split(/[\s,]+/)
      .filter(Boolean)
      .join(',');
    const rest = Object.fromEntries(['params', 'cascades', 'partition'].map((name) => [name, params.get(name)]));
    const href = placeHref(['_changes'], {
      since: text('since'),
      collections: names,
      filter: text('filter'),
      derived: given.get('derived') ? undefined : 'exclude',
      ...rest,
    });
    if (href === location.hash) again();
    else goTo(href);
  };
  // What is typed stays while rows come and the page is drawn anew.
  return html`<form aria-label="Feed" class="query" key=${params.toString()} onSubmit=${go}>
    <label>From <input name="since" defaultValue=${since} title="now, 0, a position or a time" autocomplete="off" /></label>
    <label>Collections <input name="collections" defaultValue=${params.get('collections') ?? ''}
      title="names, separated by commas; none for all" autocomplete="off" spellcheck=${false} /></label>
    <label>Filter <input name="filter" defaultValue=${params.get('filter') ?? ''} title="an expression over doc, previous and change"
      autocomplete="off" spellcheck=${false} /></label>
    <label class="box"><input type="checkbox" name="derived"
      defaultChecked=${params.get('derived') !== 'exclude'} /> Derived changes</label>
    <button type="submit">Follow</button>
  </form>`;
}

// The rows of the feed that the page keeps: the newest, grouped by the event that caused them, and a count of what went.

/** @typedef {import('../lib/feed.js').Row} Row */

/** How many rows are kept, and how many characters of them. */
export const MAX = { rows: 2000, size: 8 << 20 };

/**
 * What one event did: a write, a model or an erasure, and the derived changes that follow from it.
 * @typedef {object} Item
 * @property {string} seq of its first row that was seen
 * @property {string} event its number
 * @property {Row | undefined} write the row of the document that was written, where the feed has it
 * @property {any} cause what the derived changes follow from
 * @property {boolean} whole no write comes before the derived changes: a model caused them
 * @property {string} time
 * @property {number} derived how many derived changes came
 * @property {Row[]} rows those of them that are kept, the oldest first
 * @property {number} gone how many of them are not
 */

/** Keeps rows, the newest of them. */
export class Kept {
  constructor() {
    /** @type {Item[]} the newest first */
    this.items = [];
    this.rows = 0;
    this.size = 0;
    this.gone = 0;
  }

  /** Adds rows in the order of the feed. @param {Row[]} rows */
  add(rows) {
    for (const row of rows) {
      this.#add(row);
      while (this.rows > MAX.rows || (this.size > MAX.size && this.rows > 1)) this.#drop();
    }
  }

  /** @param {Row} row */
  #add(row) {
    const event = eventOf(row.seq);
    const derived = row.op === 'derive';
    if (!derived || this.items[0]?.event !== event) {
      this.items.unshift({
        seq: row.seq,
        event,
        write: derived ? undefined : row,
        cause: row.cause,
        whole: derived && row.seq.split('-')[1] === '0',
        time: row.time,
        derived: 0,
        rows: [],
        gone: 0,
      });
    }
    if (derived) {
      this.items[0].derived++;
      this.items[0].rows.push(row);
    }
    this.rows++;
    this.size += row.size;
  }

  /** Lets the oldest row go. An event goes with the last of its rows, and its own row is that. */
  #drop() {
    const oldest = this.items[this.items.length - 1];
    const row = oldest.rows.shift();
    if (row) oldest.gone++;
    if (oldest.rows.length === 0 && (!row || !oldest.write) && this.items.length > 1) this.items.pop();
    this.rows--;
    this.size -= row?.size ?? 0;
    this.gone++;
  }
}

/**
 * Returns rows by the rule that each follows from. One that follows from several is there for each.
 * @param {Row[]} rows
 * @returns {[string, Row[]][]}
 */
export function byRule(rows) {
  /** @type {Map<string, Row[]>} */
  const of = new Map();
  for (const row of rows) {
    for (const rule of row.cause?.rules ?? [row.cause?.rule ?? '']) {
      const list = of.get(rule);
      if (list) list.push(row);
      else of.set(rule, [row]);
    }
  }
  return [...of];
}

/** @typedef {'off' | 'open' | 'cut' | 'ended'} State */

/**
 * Follows the feed while it is not paused, and goes on by position. A hidden tab has no connection.
 * @param {string} since
 * @param {Record<string, string>} query
 * @param {boolean} paused
 */
export function useFeed(since, query, paused) {
  const hidden = useHidden();
  const [tries, setTries] = useState(0);
  const asked = JSON.stringify([since, query]);
  const kept = useRef({ asked: '', rows: new Kept(), position: '' });
  if (kept.current.asked !== asked) kept.current = { asked, rows: new Kept(), position: '' };
  const [view, setView] = useState({ version: 0, asked, state: /** @type {State} */ ('off'), problem: /** @type {any} */ (undefined) });
  useEffect(() => {
    if (paused || hidden) return undefined;
    const ending = new AbortController();
    const mine = kept.current;
    const draw = (/** @type {Partial<typeof view>} */ more) => setView((now) => ({ ...now, ...more, asked, version: now.version + 1 }));
    const drawing = soon(() => draw({}));
    draw({ state: 'off', problem: undefined });
    follow({
      query,
      since: mine.position || since,
      signal: ending.signal,
      onRows: (rows) => {
        mine.rows.add(rows);
        drawing.ask();
      },
      onPosition: (at) => {
        mine.position = at;
        drawing.ask();
      },
      onState: (state, problem) => draw({ state, problem }),
    }).then((problem) => {
      if (problem && !ending.signal.aborted) draw({ state: 'ended', problem });
    });
    return () => {
      ending.abort();
      drawing.end();
    };
  }, [asked, paused, hidden, tries]);
  const again = () => setTries((n) => n + 1);
  const anew = () => {
    kept.current = { asked, rows: new Kept(), position: '' };
    again();
  };
  // What was told of another feed is not told of this one.
  const { state, problem } = view.asked === asked ? view : { state: /** @type {State} */ ('off'), problem: undefined };
  return { kept: kept.current.rows, position: kept.current.position, state, problem, again, anew };
}
