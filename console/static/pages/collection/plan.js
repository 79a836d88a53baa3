import { html } from '../../lib/html.js';
import { ask } from '../../lib/http.js';
import { useLoad } from '../../lib/load.js';
import { placeHref } from '../../lib/place.js';
import { ProblemAlert } from '../../ui/problem.js';
import { Visible } from '../../ui/text.js';
import { planAsked } from './asked.js';
import { Suggestion } from '../../ui/suggestion.js';

/** What the orders of a plan are called. */
const ORDERS = /** @type {Record<string, string>} */ ({ index: 'as the index has it', sorted: 'sorted after reading', plan: 'that of the walk; no sort was asked for' });

/**
 * How the query of a place is answered, in words. What is wrong with the query the page tells.
 * @param {{ place: import('../../lib/place.js').Place }} props
 */
export function Plan({ place }) {
  const asked = planAsked(place);
  const { value, problem, again } = useLoad(async (signal) => (await ask({ ...asked, signal })).explain, [JSON.stringify(asked)]);
  const without = new URLSearchParams(place.params);
  without.delete('explain');
  return html`<section aria-label="Plan" class="plan"><h2>Plan</h2>
    ${problem?.status !== 400 && html`<${ProblemAlert} problem=${problem} again=${again} />`}
    ${value && html`<${Words} plan=${value} />`}
    <p><a href=${placeHref(place.parts, without)}>Close the plan</a></p></section>`;
}

/** @param {{ plan: any }} props as the API has it */
function Words({ plan }) {
  const walked = plan.index === null ? 'Walked no index' : `Walked ${plan.entries.toLocaleString('en')} of ${plan.index}`;
  const fact = (/** @type {string} */ name, /** @type {any} */ text) => html`<dt>${name}</dt><dd>${text}</dd>`;
  const code = (/** @type {string} */ text) => html`<code><${Visible} text=${text} max=${4000} /></code>`;
  return html`<p role="status">${walked}, read ${documents(plan.documents)}, of which ${plan.matched.toLocaleString('en')} match, in ${(plan.seconds * 1000).toFixed(1)} ms.
      ${!plan.complete && ' A bound was passed: without “Explain” this is refused.'}</p>
    <dl>
      ${plan.conditions.length > 0 && fact('Decided by the index', code(plan.conditions.join(' && ')))}
      ${plan.residual && fact('Asked each document', code(plan.residual))}
      ${plan.noValue > 0 && fact('Without a value', documents(plan.noValue))}
      ${fact('Order', ORDERS[plan.order] ?? plan.order)}
      ${plan.rejected?.length > 0 && fact('Not taken', html`<ul class="rejected">${plan.rejected.map((/** @type {any} */ r) => html`<li>${code(r.index)}: <${Visible} text=${r.why} max=${1000} /></li>`)}</ul>`)}
    </dl>
    <${Suggestion} suggest=${plan.suggest} />`;
}

/** @param {number} n */
const documents = (n) => `${n.toLocaleString('en')} document${n === 1 ? '' : 's'}`;
