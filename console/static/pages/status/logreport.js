import { html } from '../../lib/html.js';
import { count, size } from '../../ui/amounts.js';
import { Visible } from '../../ui/text.js';

/** @param {{ first: number, last: number }} run */
const run = ({ first, last }) => (first === last ? `event ${count(first)}` : `events ${count(first)} to ${count(last)}`);

/**
 * How the log compares with what was folded from it.
 * @param {{ report: any }} props
 */
export function LogReport({ report: of }) {
  const missing = of.missing ?? [];
  return html`<p>${count(of.read)} events could be read, up to ${count(of.last)}. ${of.compared > 0 ? `They are those that were folded, up to ${count(of.compared)}.` : 'Nothing was known to compare them with.'}</p>
    ${missing.length > 0 && html`<ul aria-label="Missing events">${missing.map((/** @type {any} */ one) => html`<li>${run(one)} cannot be read</li>`)}${of.more > 0 && html`<li>and ${count(of.more)} more runs</li>`}</ul>`}
    ${of.differs && html`<p><strong>Of ${run(of.differs)} at least one is not the one that was folded.</strong></p>`}
    ${of.base && html`<p>The base of ${size(of.base.bytes)}, up to event ${count(of.base.seq)}, is ${of.base.error ? html`<strong>of no use</strong>: <${Visible} text=${of.base.error} max=${1000} />` : 'whole'}.</p>`}`;
}
