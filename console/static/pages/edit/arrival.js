import { html, useEffect, useRef, useState } from '../../lib/html.js';
import { follow } from '../../lib/feed.js';
import { ProblemAlert } from '../../ui/problem.js';
import { Visible } from '../../ui/text.js';

/**
 * The derived changes of a save as they come on the feed, by rule and collection.
 * @param {{ position: string, derived: number, took: number }} props position of the write, how many derived changes its answer named, and the milliseconds until the answer
 */
export function Arrival({ position, derived, took }) {
  const counts = useRef(/** @type {Map<string, number>} */ (new Map()));
  const [state, setState] = useState({ come: 0, ms: 0, problem: /** @type {any} */ (undefined) });
  useEffect(() => {
    const ending = new AbortController();
    const began = performance.now();
    const event = position.split('-')[0];
    let come = 0;
    counts.current = new Map();
    /** @type {ReturnType<typeof setTimeout> | 0} */
    let drawing = 0;
    const draw = () => { drawing = 0; setState({ come, ms: performance.now() - began, problem: undefined }); };
    follow({
      query: {}, since: position, signal: ending.signal,
      onRows: (rows) => {
        for (const row of rows) {
          if (row.op !== 'derive' || row.cause?.seq.split('-')[0] !== event) continue;
          come++;
          const name = row.collection + ' by ' + row.cause.rule;
          counts.current.set(name, (counts.current.get(name) ?? 0) + 1);
        }
        drawing ||= setTimeout(draw, 50);
        if (come >= derived || rows.some((row) => row.seq.split('-')[0] !== event)) {
          clearTimeout(drawing);
          draw();
          ending.abort();
        }
      },
    }).then((problem) => { if (problem) setState((now) => ({ ...now, problem })); });
    return () => { clearTimeout(drawing); ending.abort(); };
  }, [position]);
  const number = (/** @type {number} */ n) => n.toLocaleString('en');
  const rate = state.ms > 0 ? Math.round(state.come / (state.ms / 1000)) : 0;
  return html`<section aria-label="Arrival" class="arrival">
    <p>Visible to all readers at <code>${position}</code>, ${number(Math.round(took))} ms after saving.</p>
    <p role="status">${number(state.come)} of ${number(derived)}${state.come > 1 && ` derived changes, ${number(rate)} a second`}</p>
    <ul>${[...counts.current].map(([name, count]) => html`<li key=${name}>${number(count)}: <${Visible} text=${name} max=${200} /></li>`)}</ul>
    <${ProblemAlert} problem=${state.problem} />
  </section>`;
}
