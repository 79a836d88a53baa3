import { html, useState } from '../lib/html.js';
import { liveState, useLive } from '../lib/live.js';
import { placeHref } from '../lib/place.js';
import { Patch } from './patch.js';
import { ProblemAlert } from './problem.js';
import { Visible } from './text.js';

/** @typedef {import('../lib/feed.js').Row} Row */

/** How many changes the log keeps. */
const MAX = 50;

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
    setRows((now) => [...mine.toReversed(), ...now].slice(0, MAX));
    take(mine);
  });
  return rows;
}

/**
 * The log of what has changed since the page was opened, and whether the feed that tells it is cut.
 * @param {{ rows: Row[] }} props the newest first
 */
export function ChangesSeen({ rows }) {
  const { state, problem } = liveState.value;
  return html`${state === 'cut' && html`<p class="quiet">The feed was cut. It goes on by itself.</p>`}
    ${state === 'ended' && html`<${ProblemAlert} problem=${problem}><p>What is shown does not follow changes any more. Load the page anew.</p><//>`}
    <div role="log" aria-label="Changes seen" class="seen">${rows.map((row) => html`<div key=${row.seq}>
      ${row.op === 'derive' ? html`<${Patch} patch=${row.patch} max=${5} />` : html`<${Visible} text=${row.collection + '/' + row.id} max=${200} />: ${row.op}`}
      <span class="quiet"> at <code>${row.seq}</code>${row.cause && html`, by <a href=${placeHref([row.cause.collection, row.cause.id])}><${Visible} text=${row.cause.collection + '/' + row.cause.id} max=${200} /></a>`}${row.actor && html`, by <${Visible} text=${row.actor} max=${80} />`}</span>
    </div>`)}</div>`;
}
