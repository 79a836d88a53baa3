import { html } from '../lib/html.js';

/** The size of a line, in its own units: it is stretched to where it stands. */
const WIDTH = 200;
const HEIGHT = 40;

/** Points that are further apart than this are not joined: nobody looked between, in milliseconds. */
const GAP = 45_000;

/**
 * Returns the runs of points that are joined, as places in the picture.
 * @param {number[]} times
 * @param {(number | undefined)[]} values
 * @param {{ since: number, until: number, top: number }} of
 */
function runsOf(times, values, { since, until, top }) {
  /** @type {string[][]} */
  const runs = [];
  let last = -Infinity;
  values.forEach((value, i) => {
    if (value === undefined) return;
    if (times[i] - last > GAP) runs.push([]);
    last = times[i];
    const x = ((times[i] - since) / Math.max(1, until - since)) * WIDTH;
    runs[runs.length - 1].push(`${x.toFixed(1)},${(HEIGHT - 2 - (value / top) * (HEIGHT - 4)).toFixed(1)}`);
  });
  return runs;
}

/**
 * The course of a figure as a line, from 0 to its greatest value.
 * @param {{ label: string, times: number[], values: (number | undefined)[], since: number }} props label says it in words
 */
export function Spark({ label, times, values, since }) {
  const known = values.filter((value) => value !== undefined);
  const of = { since, until: times.at(-1) ?? since, top: Math.max(...known, 0) || 1 };
  const end = (/** @type {string} */ point) => point.split(',')[0];
  return html`<svg class="spark" role="img" aria-label=${label} viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none">
    ${runsOf(times, values, of).map(
      (run) => html`<polygon points=${`${end(run[0])},${HEIGHT} ${run.join(' ')} ${end(run[run.length - 1])},${HEIGHT}`} />
        <polyline points=${run.join(' ')} />`,
    )}</svg>`;
}
