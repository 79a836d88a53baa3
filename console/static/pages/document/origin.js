import { html, useLayoutEffect, useRef } from '../../lib/html.js';
import { placeHref } from '../../lib/place.js';
import { number } from '../../ui/amounts.js';
import { DocumentLink } from '../../ui/link.js';
import { MoreList } from '../../ui/morelist.js';
import { Visible } from '../../ui/text.js';
import { Time } from '../../ui/time.js';
import { kindOf, ruleOf } from './model.js';

/**
 * The region that says where a derived value comes from. It takes the focus.
 * @param {{ value: any, parts: string[], model: any, onClose: () => void }} props value is one of a lineage
 */
export function Origin({ value, parts, model, onClose }) {
  const heading = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => heading.current?.focus(), []);
  const rule = ruleOf(model, value.rule);
  const leave = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === 'Escape') onClose();
  };
  return html`<section aria-label="Origin" class="origin" onKeyDown=${leave}>
    <h2 tabindex="-1" ref=${heading}>Origin of <code><${Visible} text=${value.path} max=${500} /></code></h2>
    <dl>
      <dt>Kind</dt><dd>${kindOf(value, model)}</dd>
      ${value.state && html`<dt>State</dt><dd><${Visible} text=${stateOf(value.state)} /></dd>`}
      <dt>Rule</dt><dd><code><${Visible} text=${value.rule} max=${500} /></code>${rule && html`<br /><code class="quiet"><${Visible} text=${textOfRule(rule)} max=${2000} /></code>`}</dd>
      <dt>Sources</dt><dd><${Sources} value=${value} /></dd>
      ${value.reason && html`<dt>Reason</dt><dd><${Visible} text=${value.reason} max=${2000} /></dd>`}
      <dt>Event</dt><dd><${Event} event=${value.event} parts=${parts} /></dd>
    </dl>
    <button type="button" onClick=${onClose}>Close</button>
  </section>`;
}

/** @param {string} state */
const stateOf = (state) => ({
  frozen: 'frozen: the value of the moment when the document began to refer to the source',
  kept: 'kept: the source is deleted, and the value stays',
}[state] ?? state);

/** @param {Record<string, any>} rule as the model declares it */
const textOfRule = (rule) => Object.entries(rule).map(([name, of]) => `${name}: ${typeof of === 'string' ? of : JSON.stringify(of)}`).join(', ');

/** @param {{ value: any }} props */
function Sources({ value }) {
  if (value.hidden) return 'You may not read the collection that it comes from.';
  const list = value.sources ?? [];
  if (list.length === 0) return Number(value.documents) > 0 ? `${number(Number(value.documents))} documents` : 'no document';
  return html`<${MoreList} ids label="Sources" items=${list} item=${(/** @type {any} */ s) => html`<${DocumentLink} collection=${s.collection} id=${s.id} />${s.rev === undefined && html` <span class="quiet">is gone</span>`}`} />
    ${Number(value.documents) > list.length && html`<p class="quiet">The first ${list.length} of ${number(Number(value.documents))} documents.</p>`}`;
}


/** @param {{ event: any, parts: string[] }} props */
function Event({ event, parts }) {
  if (!event) return 'further back in the history than is looked';
  if (!event.seq) return html`<${Visible} text=${event.reason ?? 'not known'} max=${1000} />`;
  return html`<a href=${placeHref(parts, { at: event.seq })}><${Visible} text=${event.seq} /></a>${event.time && html`, <${Time} text=${event.time} />`}${event.op && html`, <${Visible} text=${event.op} />`}${event.collection
    ? html` by <${DocumentLink} collection=${event.collection} id=${event.id} />` : event.op === 'derive' && ''}${event.reason && html`. <${Visible} text=${event.reason} max=${1000} />`}`;
}
