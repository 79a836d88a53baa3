import { html, useEffect, useState } from '../../lib/html.js';
import { placeHref } from '../../lib/place.js';
import { CopyAsCurl } from '../../ui/curl.js';
import { FeedState } from '../../ui/feedstate.js';
import { Choice } from './choice.js';
import { useFeed } from './follow.js';
import { ChangeItem } from './item.js';

/** How many events are shown at first. */
const FIRST = 100;

/** What the states of the feed are called. */
const words = { off: 'Beginning', open: 'Following', cut: 'Waiting', ended: 'Ended' };

/**
 * The change feed, from now or from a position on.
 * @param {{ place: import('../../lib/place.js').Place }} props
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
  return html`
    <${Choice} params=${params} since=${since} again=${anew} />
    <p class="actions">
      ${paused ? html`<button type="button" onClick=${() => setPaused(false)}>Resume</button>` : html`<button type="button" onClick=${() => setPaused(true)}>Pause</button>`}
      <span class="quiet"><span role="status">${paused ? 'Paused' : words[state]}</span>${position && html` at <code>${position}</code>`}</span>
    </p>
    ${!paused && html`<${FeedState} state=${state} problem=${problem} again=${again}>${oldest && html`<p><a href=${placeHref(['_changes'], { ...query, since: oldest })}>Begin at ${oldest}</a></p>`}<//>`}
    <ul aria-label="Changes" class="changes">${kept.items.slice(0, shown).map((item) => html`<${ChangeItem} key=${item.seq} item=${item} derived=${item.derived} gone=${item.gone} />`)}</ul>
    ${kept.items.length === 0 && state !== 'ended' && html`<p class="quiet">No change has come yet.</p>`}
    ${kept.items.length > shown && html`<p><button type="button" onClick=${() => setShown(shown + FIRST)}>Show ${FIRST} more</button></p>`}
    ${kept.gone > 0 && html`<p class="quiet">${kept.gone.toLocaleString('en')} older rows are not kept here.</p>`}
    <${CopyAsCurl} asked=${{ path: ['_changes'], query: { ...query, mode: 'all', feed: 'continuous', since } }} />`;
}

/**
 * Returns the query of the feed that a place asks for, without since.
 * @param {URLSearchParams} params
 * @returns {Record<string, string>}
 */
const queryOf = (params) => Object.fromEntries(['collections', 'filter', 'params', 'derived', 'cascades', 'partition'].map((name) => [name, params.get(name) ?? '']).filter(([, value]) => value !== ''));
