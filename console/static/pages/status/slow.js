import { html } from '../../lib/html.js';
import { placeHref } from '../../lib/place.js';
import { duration, number } from '../../ui/amounts.js';
import { Section } from '../../ui/section.js';
import { Suggestion } from '../../ui/suggestion.js';
import { Table } from '../../ui/table.js';
import { Visible } from '../../ui/text.js';

/** How many shapes of queries are shown at first. */
const FIRST = 10;

/**
 * The queries that looked at the most documents for what they gave, with an index that would serve them.
 * @param {{ status: any, all: boolean, onAll: () => void }} props
 */
export function Slow({ status, all, onAll }) {
  const queries = /** @type {any[]} */ (status.queries ?? []);
  const shown = all ? queries : queries.slice(0, FIRST);
  return html`<${Section} title="Slow queries">${queries.length === 0 ? html`<p>No query was asked since the start.</p>` : html`
    <p class="quiet">Since the start, those first that looked at the most documents for what they gave. A <code>?</code> stands for a constant.</p>
    <${Table} label="Slow queries" head=${['Query', ['Times'], ['Looked at'], ['Gave'], ['Each took'], 'Index']}>
      ${shown.map((one) => html`<tr key=${keyOf(one)}><td class="wide"><a href=${placeHref([one.collection])}><${Visible} text=${one.collection} max=${100} /></a>
          ${part('filter', one.filter)}${part('sort', one.sort)}${part('group', one.group)}</td>
        <td class="number">${number(one.queries)}</td><td class="number">${number(one.documents)}</td><td class="number">${number(one.given)}</td><td class="number">${duration(one.seconds / one.queries)}</td>
        <td class="lag">${one.index === null ? 'none: all documents' : html`<code><${Visible} text=${one.index} max=${100} /></code>`}
          ${one.suggest && html`<details><summary>An index that serves it</summary><${Suggestion} suggest=${one.suggest} /></details>`}</td></tr>`)}<//>
    ${queries.length > shown.length && html`<button type="button" onClick=${onAll}>Show all ${queries.length} queries</button>`}`}<//>`;
}

/** @param {any} one */
const keyOf = (one) => [one.collection, one.filter, one.sort, one.group].join('\n');

/** @param {string} name @param {string | undefined} text */
const part = (name, text) => text && html`<div><span class="quiet">${name}</span> <code><${Visible} text=${text} max=${300} /></code></div>`;
