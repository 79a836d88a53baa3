import { html } from '../../lib/html.js';
import { ask } from '../../lib/http.js';
import { usePolled } from '../../lib/poll.js';
import { Visible } from '../../ui/text.js';

/** How long until it is asked again what needs attention, in milliseconds. */
const EVERY = 15_000;

/** What of a store needs somebody's attention, as its status has it. @typedef {{ what: string, detail: string, place?: string }} Need */

/** What needs attention. It is nothing where the reader may not know whether all is well. */
export function Attention() {
  const { value, problem } = usePolled(async (signal) => /** @type {Need[]} */ ((await ask({ path: ['_status'], signal })).needs ?? []), [], () => EVERY);
  const needs = problem?.status === 0 ? [{ what: problem.title, detail: '' }, ...value ?? []] : value;
  if (!needs) return null;
  if (needs.length === 0) return html`<p class="quiet">Nothing needs attention.</p>`;
  return html`<h2>Needs attention</h2>
    <ul aria-label="Needs attention" class="needs">${needs.map(({ what, detail, place }) => html`<li>
      <strong><${Visible} text=${what} max=${300} /></strong>${detail && html`: <${Visible} text=${detail} max=${1000} />`}
      ${place && html` <a href=${'#' + place}><${Visible} text=${nameOf(place)} max=${300} /></a>`}</li>`)}</ul>`;
}

/** Returns what a place is called. @param {string} place as an address has it */
function nameOf(place) {
  if (place === '/_status') return 'Operations';
  if (place === '/_model') return 'Model';
  return decodeURIComponent(place.slice(1)).replace(/^_groups\//, 'Group ');
}
