import { useEffect, useRef, useState } from '../../lib/html.js';
import { follow } from '../../lib/feed.js';
import { useHidden } from '../../lib/hidden.js';
import { Kept } from './kept.js';

/** How often the page shows what has come, in milliseconds. */
const DRAW = 100;

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
    /** @type {ReturnType<typeof setTimeout> | 0} */
    let drawing = 0;
    const draw = (/** @type {Partial<typeof view>} */ more) => setView((now) => ({ ...now, ...more, asked, version: now.version + 1 }));
    const drawSoon = () => { drawing ||= setTimeout(() => { drawing = 0; draw({}); }, DRAW); };
    draw({ state: 'off', problem: undefined });
    follow({
      query, since: mine.position || since, signal: ending.signal,
      onRows: (rows) => { mine.rows.add(rows); drawSoon(); },
      onPosition: (at) => { mine.position = at; drawSoon(); },
      onState: (state, problem) => draw({ state, problem }),
    }).then((problem) => { if (problem && !ending.signal.aborted) draw({ state: 'ended', problem }); });
    return () => { ending.abort(); clearTimeout(drawing); };
  }, [asked, paused, hidden, tries]);
  const again = () => setTries((n) => n + 1);
  const anew = () => {
    kept.current = { asked, rows: new Kept(), position: '' };
    again();
  };
  const { state, problem } = view.asked === asked ? view : { state: /** @type {State} */ ('off'), problem: undefined }; // not that of another feed
  return { kept: kept.current.rows, position: kept.current.position, state, problem, again, anew };
}
