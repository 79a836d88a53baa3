import { html } from '../../lib/html.js';
import { number, size } from '../../ui/amounts.js';
import { Visible } from '../../ui/text.js';

/** @param {{ first: number, last: number }} run */
const run = ({ first, last }) => (first === last ? `event ${number(first)}` : `events ${number(first)} to ${number(last)}`);

/**
 * How the log compares with what was folded from it.
 * @param {{ report: any }} props
 */
export function LogReport({ report: of }) {
  const missing = of.missing ?? [];
  return html`<p>${number(of.read)} events could be read, up to ${number(of.last)}. ${of.compared > 0 ? `They are those that were folded, up to ${number(of.compared)}.` : 'Nothing was known to compare them with.'}</p>
    ${missing.length > 0 && html`<ul aria-label="Missing events">${missing.map((/** @type {any} */ one) => html`<li>${run(one)} cannot be read</li>`)}${of.more > 0 && html`<li>and ${number(of.more)} more runs</li>`}</ul>`}
    ${of.differs && html`<p><strong>Of ${run(of.differs)} at least one is not the one that was folded.</strong></p>`}
    ${of.base && html`<p>The base of ${size(of.base.bytes)}, up to event ${number(of.base.seq)}, is ${of.base.error ? html`<strong>of no use</strong>: <${Visible} text=${of.base.error} max=${1000} />` : 'whole'}.</p>`}`;
}
