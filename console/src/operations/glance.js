import { html, signal, useEffect } from '../lib/html.js';
import { askReady, key, keyHeaders, problemOf } from '../lib/http.js';
import { useLoad } from '../lib/load.js';
import { placeHref } from '../lib/place.js';
import { Visible, counted, duration, number, size } from '../ui/parts.js';
import { LagText, ownLag } from './groups.js';
import { figuresOf, sampleOf, withSample } from './metrics.js';

/** How long until the figures are asked for again, in milliseconds. A hidden tab does not ask. */
const EVERY = 10_000;

/**
 * The readings of this tab, the oldest first, with the key that they were asked for with, and why there is no newer one.
 * @type {import('@preact/signals').Signal<{ samples: import('./metrics.js').Sample[], by: string, why: string }>}
 */
const readings = signal({ samples: [], by: '', why: '' });

/** Whether readings are taken: from the first look at this page on, as long as the tab is there. */
let begun = false;
let asking = false;

/** Takes a reading, unless the tab is hidden or the last one is too new. */
async function read() {
  const of = readings.value.by === key.value ? readings.value : { samples: [], by: key.value, why: '' };
  const last = of.samples.at(-1)?.time ?? -Infinity;
  if (document.hidden || asking || Date.now() - last < EVERY / 2) return;
  asking = true;
  try {
    const signal = AbortSignal.timeout(EVERY);
    const response = await fetch(new URL('../metrics', document.baseURI), { headers: keyHeaders(), cache: 'no-store', signal });
    const text = await response.text();
    if (of.by !== key.value) return;
    const samples = response.ok ? withSample(of.samples, sampleOf(text, Date.now())) : of.samples;
    readings.value = { ...of, samples, why: response.ok ? '' : whyNot(problemOf(response, text)) };
  } catch {
    readings.value = { ...of, why: 'The server cannot be reached.' };
  } finally {
    asking = false;
  }
}

/** @param {import('../lib/http.js').Problem} problem */
function whyNot({ status, title, detail }) {
  if (status === 404) return 'This server has no /metrics here.';
  return `/metrics does not answer: ${[title, detail].filter(Boolean).join(': ')}.`;
}

/** Returns the readings, which are taken from the first call on. */
function useReadings() {
  const used = key.value;
  useEffect(() => {
    read();
    if (begun) return;
    begun = true;
    setInterval(read, EVERY);
    document.addEventListener('visibilitychange', read);
  }, [used]);
  return readings.value.by === used ? readings.value : { samples: [], by: used, why: '' };
}

/** @param {number} n a second */
const rate = (n) => (n === 0 ? '0' : n < 10 ? n.toFixed(1) : number(Math.round(n)));

/**
 * What is drawn: its name among the figures, what it is called, and how a value is said.
 * @type {[keyof import('./metrics.js').Figures['of'], string, (n: number) => string, string?][]}
 */
const DRAWN = [
  ['writes', 'Writes a second', rate],
  ['derived', 'Derived changes a second', rate],
  ['reads', 'Reads a second', rate],
  ['p99', 'Slowest of 100', duration, 'what 99 of 100 requests about documents stay below'],
  ['lag', 'Lag', (n) => counted(n, 'event')],
  ['fold', 'Fold', duration, 'how long a transaction takes that folds events'],
  ['log', 'Log', size],
  ['model', 'Read model', size],
  ['free', 'Free disk', size],
  ['memory', 'Memory', size],
];

/**
 * How the node stands, at one glance.
 * @param {{ status: any }} props
 */
export function Glance({ status }) {
  const { samples, why } = useReadings();
  const { times, of } = figuresOf(samples);
  const since = times[0] ?? 0;
  return html`<section aria-label="At a glance" class="glance">
    <${Standing} status=${status} bare=${samples.length === 0} />
    <${Needs} needs=${status.needs ?? []} />
    ${why && html`<p class="quiet" role="status"><${Visible} text=${why} max=${400} /></p>`}
    ${
      samples.length > 0 &&
      html`<ul aria-label="Figures of the last hour" class="figures">${DRAWN.map(
        ([name, called, say, about]) => html`<${Figure} key=${name} called=${called} say=${say} about=${about}
          times=${times} values=${of[name]} since=${since} />`,
      )}</ul>
      <p class="quiet small-print">${
        times.length < 2
          ? 'Lines begin with the second reading, ten seconds later.'
          : `The last ${duration((times[times.length - 1] - since) / 1000)}. This tab reads every ten seconds, and keeps an hour.`
      }</p>`
    }
  </section>`;
}

/**
 * A figure as it is now, and its course.
 * @param {object} props
 * @param {string} props.called
 * @param {(n: number) => string} props.say
 * @param {string} [props.about]
 * @param {number[]} props.times
 * @param {(number | undefined)[]} props.values
 * @param {number} props.since
 */
function Figure({ called, say, about, times, values, since }) {
  const now = values.at(-1);
  const known = /** @type {number[]} */ (values.filter((value) => value !== undefined));
  if (known.length === 0 && times.length > 1 && about === undefined) return null;
  const words = now === undefined ? '–' : say(now);
  const most = known.length ? `, at most ${say(Math.max(...known))}` : '';
  return html`<li title=${about}><span class="called">${called}</span> <b>${words}</b>
    ${known.length > 1 && html`<${Spark} label=${`${called}: ${words}${most}`} times=${times} values=${values} since=${since} />`}</li>`;
}

/**
 * Whether the node is ready, and why not.
 * @param {{ status: any, bare: boolean }} props bare is without figures, of which the lag is one
 */
function Standing({ status, bare }) {
  const self = status.nodes.find((/** @type {any} */ node) => node.self);
  const live = status.nodes.filter((/** @type {any} */ node) => node.live).length;
  const ready = Boolean(self?.ready);
  const { value } = useLoad(async (signal) => (ready ? undefined : askReady(signal)), [ready, status.position]);
  const why = (value?.of.problems ?? []).map((/** @type {any} */ one) => one.detail ?? String(one)).join('; ') || value?.of.detail;
  const lag = ownLag(status);
  return html`<p class="standing"><strong class=${ready ? 'ready' : 'wrong'}>${ready ? 'Ready' : 'Not ready'}</strong>${
    !ready && why && html`<span><${Visible} text=${why} max=${1000} /></span>`
  }
    ${(bare || lag.unknown !== undefined) && html`<span>lag <${LagText} of=${lag} /></span>`}
    <span>${status.nodes.length === 1 ? '1 node' : `${live} of ${counted(status.nodes.length, 'node')} live`}</span>
    <span>${status.model ? html`<a href=${placeHref(['_model'])}>Model of event ${number(status.model)}</a>` : 'no model'}</span></p>`;
}

/** How many needs are listed. */
const NEEDS = 10;

/**
 * What needs attention, as the server has it.
 * @param {{ needs: { what: string, detail: string, place?: string }[] }} props
 */
function Needs({ needs }) {
  if (needs.length === 0) return html`<p class="quiet">Nothing needs attention.</p>`;
  return html`<ul aria-label="Needs attention" class="needs">${needs
    .slice(0, NEEDS)
    .map(
      ({ what, detail, place }) =>
        html`<li><strong><${Visible} text=${what} max=${300} /></strong>${
          detail && html`: <${Visible} text=${detail} max=${1000} />`
        }${place && place !== '/_status' && html` <a href=${'#' + place}>Open</a>`}</li>`,
    )}${needs.length > NEEDS && html`<li class="quiet">and ${needs.length - NEEDS} more</li>`}</ul>`;
}

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
