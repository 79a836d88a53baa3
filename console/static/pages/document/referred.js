import { html, useEffect, useState } from '../../lib/html.js';
import { asProblem } from '../../lib/load.js';
import { ask, Problem, request } from '../../lib/http.js';
import { scan } from '../../json/scan.js';
import { member, textOf } from '../../json/value.js';
import { DocumentLink } from '../../ui/link.js';
import { MoreList } from '../../ui/morelist.js';
import { ProblemAlert } from '../../ui/problem.js';
import { Visible } from '../../ui/text.js';
import { idOf, relationsOf } from './model.js';

/** How many documents are asked for at a time. */
const PAGE = 20;

/** @typedef {import('./model.js').Relation} Relation */

/** How many documents refer by a relation, or why that is not known. @typedef {{ count?: number, problem?: Problem }} Counted */

/** @param {Relation} relation */
const nameOf = (relation) => relation.collection + '.' + relation.name;

/**
 * Returns what asks for the documents that refer to one by a relation.
 * @param {string[]} parts
 * @param {string} position that the answer shows at least
 * @param {Relation} relation
 * @param {Record<string, any>} query
 */
const askedOf = (parts, position, relation, query) => (
  { path: [...parts, relation.collection], query: { relation: relation.name, fields: 'id', ...query }, headers: { 'Fanfold-Min-Position': position } });

/**
 * How many documents refer to the document, by collection and relation. The documents themselves are asked for on demand.
 * @param {{ parts: string[], position: string, model: any }} props
 */
export function Referred({ parts, position, model }) {
  const [counts, setCounts] = useState(/** @type {Record<string, Counted>} */ ({}));
  const [tries, setTries] = useState(0);
  const relations = relationsOf(model).filter((r) => r.to === parts[0]);
  useEffect(() => {
    const ending = new AbortController();
    // One after the other, so that what the reader asks for meanwhile does not wait for many counts.
    (async () => {
      for (const r of relations) {
        const counted = await ask({ ...askedOf(parts, position, r, { count: true, limit: 1 }), signal: ending.signal }).then(({ count }) => ({ count }), (error) => ({ problem: ending.signal.aborted ? undefined : asProblem(error) }));
        if (ending.signal.aborted) return;
        setCounts((now) => ({ ...now, [nameOf(r)]: counted }));
      }
    })();
    return () => ending.abort();
  }, [model, position, tries]);
  if (relations.length === 0) return null;
  return html`<section aria-label="Referred to by"><h2>Referred to by</h2>
    ${relations.map((r) => html`<${Holders} key=${nameOf(r)} parts=${parts} position=${position} relation=${r} counted=${counts[nameOf(r)] ?? {}} again=${() => setTries(tries + 1)} />`)}</section>`;
}

/**
 * The documents that refer to the document by a relation.
 * @param {{ parts: string[], position: string, relation: Relation, counted: Counted, again: () => void }} props
 */
function Holders({ parts, position, relation, counted, again }) {
  const [shown, setShown] = useState(/** @type {{ ids: string[], next?: string, busy: boolean, problem?: Problem } | null} */ (null));
  const more = async () => {
    const before = shown ?? { ids: [], busy: false };
    setShown({ ...before, busy: true, problem: undefined });
    try {
      const page = scan((await request(askedOf(parts, position, relation, { limit: PAGE, cursor: before.next }))).text);
      const ids = (member(page, 'items')?.elements ?? []).map((item) => idOf(member(item, 'id')) ?? '');
      setShown({ ids: [...before.ids, ...ids], next: textOf(member(page, 'next')), busy: false });
    } catch (error) {
      setShown({ ...before, busy: false, problem: asProblem(error) });
    }
  };
  const label = `${relation.collection} by ${relation.name}`;
  const count = Number(counted.count ?? 0);
  return html`<div class="tie"><header><h3><${Visible} text=${relation.collection} max=${200} /> <span class="quiet">by <${Visible} text=${relation.name} max=${200} />${counted.count !== undefined && ': ' + count.toLocaleString('en')}</span></h3>
      ${count > 0 && html`<button type="button" class="small" aria-expanded=${shown !== null} aria-label=${`Show ${label}`} onClick=${() => (shown === null ? more() : setShown(null))}>Show</button>`}</header>
    ${[401, 403].includes(counted.problem?.status ?? 0) ? html`<p class="quiet">You may not read them.</p>` : html`<${ProblemAlert} problem=${counted.problem} again=${again} />`}
    ${shown && html`<${MoreList} ids label=${label} items=${shown.ids} busy=${shown.busy} more=${shown.next && more} item=${(/** @type {string} */ id) => html`<${DocumentLink} collection=${relation.collection} id=${id} short />`} />
      <${ProblemAlert} problem=${shown.problem} again=${more} asked />`}</div>`;
}
