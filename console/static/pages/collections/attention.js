import { html } from '../../lib/html.js';
import { placeHref } from '../../lib/place.js';
import { usePolled } from '../../lib/poll.js';
import { Visible } from '../../ui/text.js';
import { loadNeeds } from './needs.js';

/** How long until it is asked again what needs attention, in milliseconds. */
const EVERY = 15_000;

/** What needs attention. It is nothing where the reader may not know whether all is well. */
export function Attention() {
  const { value } = usePolled(loadNeeds, [], () => EVERY);
  if (!value) return null;
  if (value.needs.length === 0) return value.known ? html`<p class="quiet">Nothing needs attention.</p>` : null;
  return html`<h2>Needs attention</h2>
    <ul aria-label="Needs attention" class="needs">${value.needs.map(({ what, detail, link, parts }) => html`<li>
      <strong><${Visible} text=${what} max=${300} /></strong>${detail && html`: <${Visible} text=${detail} max=${1000} />`}
      ${parts && html` <a href=${placeHref(parts)}><${Visible} text=${link ?? ''} max=${300} /></a>`}</li>`)}</ul>`;
}
