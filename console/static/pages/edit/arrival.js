import { html, useEffect, useRef, useState } from '../../lib/html.js';
import { follow } from '../../lib/feed.js';
import { useHidden } from '../../lib/hidden.js';
import { number } from '../../ui/amounts.js';
import { FeedState } from '../../ui/feedstate.js';
import { Visible } from '../../ui/text.js';
import { Arriving } from './arriving.js';

/** How often the region shows what has come, in milliseconds. */
const DRAW = 50;

/**
 * The derived changes of a save as they come on the feed, by rule and collection.
 * @param {{ position: string, derived: number, took: number, visible?: boolean }} props position of the write, how many derived changes its answer named, the milliseconds until the
 *   answer, and whether all readers saw it then
 */
export function Arrival({ position, derived, took, visible = true }) {
  const { of, state, problem, again } = useArriving(position, derived);
  const ms = visible ? took : took + of.ms;
  const sentence = `${number(of.come)} of ${number(derived)} derived change${derived === 1 ? '' : 's'}`;
  const rate = of.come > 1 && of.ms > 0 ? `, ${number(Math.round(of.come / (of.ms / 1000)))} a second` : '';
  const rest = of.come < derived ? ': all that you may read' : '';
  return html`<section aria-label="Arrival" class="arrival">
    <p>${visible || of.complete ? html`Visible to all readers at <code>${position}</code>, ${number(Math.round(ms))} ms after saving.` : html`Saved at <code>${position}</code>. Readers see it once the node has read so far.`}</p>
    ${!of.complete && html`<p>${sentence}${rate}</p>`}
    <p role="status">${of.complete && sentence + rest + rate}</p>
    <ul>${[...of.counts.values()].map(({ collection, rule, count }) => html`<li key=${collection + ' ' + rule}>${number(count)} in <${Visible} text=${collection} max=${100} />, by <${Visible} text=${rule} max=${200} /></li>`)}</ul>
    ${!of.complete && html`<${FeedState} state=${state} problem=${problem} again=${again}><p>The save itself is done.</p><//>`}
  </section>`;
}

/**
 * Follows the feed from the position of a write until all that it has caused has come.
 * @param {string} position
 * @param {number} derived
 */
function useArriving(position, derived) {
  const hidden = useHidden();
  const [tries, setTries] = useState(0);
  const [view, setView] = useState({ state: /** @type {'off' | 'open' | 'cut' | 'ended'} */ ('off'), problem: /** @type {any} */ (undefined) });
  const current = useRef(new Arriving(position, derived));
  if (current.current.position !== position) current.current = new Arriving(position, derived);
  useEffect(() => {
    const of = current.current;
    if (of.complete || hidden) return undefined;
    const ending = new AbortController();
    /** @type {ReturnType<typeof setTimeout> | 0} */
    let drawing = 0;
    const draw = (/** @type {Partial<typeof view>} */ more) => setView((now) => ({ ...now, ...more }));
    const look = () => {
      if (of.complete) {
        draw({});
        ending.abort();
      } else drawing ||= setTimeout(() => { drawing = 0; draw({}); }, DRAW);
    };
    draw({ state: 'off', problem: undefined });
    follow({
      query: { mode: 'all' }, since: of.at, signal: ending.signal,
      onRows: (rows) => of.add(rows),
      onPosition: (at, all) => { of.moved(at, all); look(); },
      onState: (state, problem) => draw({ state, problem }),
    }).then((problem) => { if (problem && !ending.signal.aborted) draw({ state: 'ended', problem }); });
    return () => { clearTimeout(drawing); ending.abort(); };
  }, [position, derived, hidden, tries]);
  return { of: current.current, ...view, again: () => setTries((n) => n + 1) };
}
