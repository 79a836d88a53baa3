import { html, useEffect, useRef } from '../../lib/html.js';
import { useLoad } from '../../lib/load.js';
import { placeHref } from '../../lib/place.js';
import { Visible } from '../../ui/text.js';
import { loadNeeds } from './needs.js';

/** How long until it is asked again what needs attention, in milliseconds. A hidden tab does not ask. */
const EVERY = 15_000;

/**
 * What needs attention. It is nothing where all is well, or where the reader may not know.
 * @param {{ onReady: () => void }} props onReady is called when the node has become ready
 */
export function Attention({ onReady }) {
  const { value, again } = useLoad(loadNeeds, []);
  const was = useRef(true);
  useEffect(() => {
    const timer = setInterval(() => { if (!document.hidden) again(); }, EVERY);
    return () => clearInterval(timer);
  }, []);
  useEffect(() => {
    if (!value) return;
    if (value.ready && !was.current) onReady();
    was.current = value.ready;
  }, [value]);
  if (!value) return null;
  if (value.needs.length === 0) return value.known ? html`<p class="quiet">Nothing needs attention.</p>` : null;
  return html`<h2>Needs attention</h2>
    <ul aria-label="Needs attention" class="needs">${value.needs.map(({ what, detail, parts, command }) => html`<li>
      <strong><${Visible} text=${what} max=${300} /></strong>${detail && html`: <${Visible} text=${detail} max=${1000} />`}
      ${parts && html` <a href=${placeHref(parts)}><${Visible} text=${parts.join('/')} max=${300} /></a>`}
      ${command && html` <code><${Visible} text=${command} max=${300} /></code>`}</li>`)}</ul>`;
}
