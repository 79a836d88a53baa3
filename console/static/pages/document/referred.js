import { html, useState } from '../../lib/html.js';
import { ask, Problem } from '../../lib/http.js';
import { asProblem, useLoad } from '../../lib/load.js';
import { DocumentLink } from '../../ui/link.js';
import { MoreList } from '../../ui/morelist.js';
import { ProblemAlert } from '../../ui/problem.js';
import { Visible } from '../../ui/text.js';
import { relationsOf } from './model.js';

/** How many documents are asked for at a time. */
const PAGE = 20;

/**
 * How many documents refer to the document, by collection and relation. The documents themselves are asked for on demand.
 * @param {{ parts: string[], position: string, model: any }} props
 */
export function Referred({ parts, position, model }) {
  const relations = relationsOf(model).filter((r) => r.to === parts[0]);
  if (relations.length === 0) return null;
  return html`<section aria-label="Referred to by"><h2>Referred to by</h2>
    ${relations.map((r) => html`<${Holders} key=${r.collection + '.' + r.name} parts=${parts} position=${position} relation=${r} />`)}</section>`;
}

/**
 * @param {{ parts: string[], position: string, relation: import('./model.js').Relation }} props
 */
function Holders({ parts, position, relation }) {
  const query = { relation: relation.name, fields: 'id' };
  const headers = { 'Fanfold-Min-Position': position };
  const path = [...parts, relation.collection];
  const counted = useLoad(async (signal) => (await ask({ path, query: { ...query, count: true, limit: 1 }, headers, signal })).count, [position]);
  const [shown, setShown] = useState(/** @type {{ ids: string[], next?: string, busy: boolean, problem?: Problem } | null} */ (null));
  const more = async () => {
    const before = shown ?? { ids: [], busy: false };
    setShown({ ...before, busy: true, problem: undefined });
    try {
      const page = await ask({ path, query: { ...query, limit: PAGE, cursor: before.next }, headers });
      setShown({ ids: [...before.ids, ...page.items.map((/** @type {any} */ item) => String(item.id))], next: page.next, busy: false });
    } catch (error) {
      setShown({ ...before, busy: false, problem: asProblem(error) });
    }
  };
  const label = `${relation.collection} by ${relation.name}`;
  const forbidden = counted.problem?.status === 403;
  return html`<div class="tie"><header><h3><${Visible} text=${relation.collection} max=${200} /> <span class="quiet">by <${Visible} text=${relation.name} max=${200} />${counted.value !== undefined && ': ' + Number(counted.value).toLocaleString('en')}</span></h3>
      ${counted.value > 0 && html`<button type="button" class="small" aria-expanded=${shown !== null} aria-label=${`Show ${label}`} onClick=${() => (shown === null ? more() : setShown(null))}>Show</button>`}</header>
    ${forbidden ? html`<p class="quiet">You may not read them.</p>` : html`<${ProblemAlert} problem=${counted.problem} again=${counted.again} />`}
    ${shown && html`<${MoreList} ids label=${label} items=${shown.ids} busy=${shown.busy} more=${shown.next && more} item=${(/** @type {string} */ id) => html`<${DocumentLink} collection=${relation.collection} id=${id} short />`} />
      <${ProblemAlert} problem=${shown.problem} again=${more} asked />`}</div>`;
}
