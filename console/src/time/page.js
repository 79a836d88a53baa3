import { html, useId, useState } from '../lib/html.js';
import { request } from '../lib/http.js';
import { member, plain, read, textOf } from '../lib/json.js';
import { useLoad } from '../lib/load.js';
import { goTo, placeHref, tellSaved } from '../lib/place.js';
import { Actor } from '../ui/actor.js';
import { Patch } from '../ui/changes.js';
import { CopyAs, DocumentLink, Time, Visible } from '../ui/parts.js';
import { GoToTime, PastProblem } from '../ui/past.js';
import { Pending } from '../ui/pending.js';
import { Compare, Revert, Slider, conditionOf, useRevert } from './compare.js';

/** @typedef {import('../lib/json.js').Node} Node */

/** How many versions a page has. */
const PAGE = 20;

/**
 * The versions of a document, the newest first.
 * @param {{ place: import('../lib/place.js').Place }} props
 */
export function HistoryPage({ place }) {
  const {
    parts: [collection, id, name],
    params,
  } = place;
  const given = Object.fromEntries(
    ['from', 'to', 'derived', 'view', 'limit', 'cursor'].map((n) => [n, params.get(n) ?? '']).filter(([, v]) => v !== ''),
  );
  const asked = { path: [collection, id, name], query: { limit: PAGE, include_docs: false, ...given } };
  const loaded = useLoad((signal) => load([collection, id], { ...asked, signal }), [JSON.stringify(asked)]);
  const { value, problem, again } = loaded;
  const revert = useRevert([collection, id], value?.condition ?? {}, (at, written) => {
    const href = placeHref([collection, id]);
    tellSaved({ href, what: `${collection}/${id} is reverted to ${at}`, written });
    goTo(href);
  });
  const shown = problem ? undefined : value;
  const versions = shown?.versions ?? [];
  const href = (/** @type {Record<string, string | undefined>} */ more) => placeHref(place.parts, { ...given, cursor: undefined, ...more });
  const first = !params.get('cursor') && !params.get('to');
  return html`<p class="above"><${DocumentLink} collection=${collection} id=${id} />
      ${
        given.derived === 'exclude'
          ? html`<a href=${href({ derived: undefined })}>With derived changes</a>`
          : html`<a
        href=${href({ derived: 'exclude' })}>Without derived changes</a>`
      }</p>
    <${GoToTime} place=${{ parts: [collection, id], params: new URLSearchParams() }} />
    <${PastProblem} place=${place} problem=${problem} again=${again} />
    ${versions.length > 1 && html`<${Slider} key=${versions[0].seq} path=${[collection, id]} versions=${versions} />`}
    <${Revert} revert=${revert} again=${again} />
    <${Pending} of=${loaded}>${
      shown &&
      html`<ol aria-label="Versions" class="versions">${shown.versions.map(
        (version, i) => html`<${Version} key=${version.seq}
        version=${version} newest=${first && i === 0} revert=${revert} />`,
      )}</ol>
      ${shown.versions.length === 0 && html`<p class="quiet">There are no versions here.</p>`}
      ${!shown.next && !shown.oldest.startsWith('0-') && html`<p class="quiet">The history begins at <code>${shown.oldest}</code>.</p>`}
      ${
        (params.get('cursor') || shown.next) &&
        html`<p class="actions">${params.get('cursor') && html`<a href=${href({})}>First page</a>`}
        ${shown.next && html`<a href=${href({ cursor: shown.next })}>Next page</a>`}</p>`
      }`
    }<//>
    <${CopyAs} asked=${asked} />`;
}

/**
 * Asks for versions, and for the condition that the document is as they say.
 * @param {string[]} path of the document
 * @param {import('../lib/http.js').Asked} asked
 */
async function load(path, asked) {
  const [condition, answer] = await Promise.all([conditionOf(path, asked.signal), request(asked)]);
  const root = await read(answer.text, asked.signal);
  return {
    condition,
    versions: (member(root, 'items')?.elements ?? []).map(versionOf),
    next: textOf(member(root, 'next')) ?? '',
    oldest: textOf(member(root, 'oldest')) ?? '',
  };
}

/**
 * A version of a document, as its history has it.
 * @typedef {object} VersionRow
 * @property {string} seq
 * @property {string} collection
 * @property {string} id
 * @property {string} op
 * @property {string} time
 * @property {string} rev
 * @property {string} actor
 * @property {any} cause of a derived change, or of one that another delete brought
 * @property {Node | undefined} patch
 */

/** @param {Node} node @returns {VersionRow} */
export function versionOf(node) {
  const text = (/** @type {string} */ name) => textOf(member(node, name)) ?? '';
  const cause = member(node, 'cause');
  return {
    seq: text('seq'),
    collection: text('collection'),
    id: text('id'),
    op: text('op'),
    time: text('time'),
    rev: member(node, 'rev')?.raw ?? '',
    actor: text('actor'),
    cause: cause && plain(cause),
    patch: member(node, 'patch'),
  };
}

/**
 * One version: what it changed, and by whom; a link to it, what differs from now, and a way back.
 * @param {{ version: VersionRow, newest: boolean, revert: import('./compare.js').Reverting }} props
 */
export function Version({ version, newest, revert }) {
  const [compared, setCompared] = useState(false);
  const about = useId();
  const { seq, collection, id, op, time, actor, cause, patch } = version;
  const isThere = op !== 'delete' && op !== 'erase';
  return html`<li><header id=${about}><strong>${op}</strong> <code>${seq}</code>
      <span class="quiet"><${Time} text=${time} position=${seq} /></span>
      ${
        cause &&
        html` <span>by <${DocumentLink} collection=${cause.collection} id=${cause.id} />${
          cause.rule &&
          html` <span
        class="quiet">(<${Visible} text=${(cause.rules ?? [cause.rule]).join(', ')} max=${300} />)</span>`
        }</span>`
      }
      ${actor && html` <span>by <${Actor} of=${actor} /></span>`}</header>
    ${patch ? html`<${Patch} patch=${patch} />` : isThere && html`<p class="quiet">What it changed is too long to be shown.</p>`}
    ${
      isThere &&
      html`<p class="actions"><a href=${placeHref([collection, id], { at: seq })} aria-describedby=${about}>Show</a>
      ${
        !newest &&
        html`<button type="button" class="small" aria-describedby=${about} aria-expanded=${compared}
          onClick=${() => setCompared(!compared)}>Compare with now</button>
        <button type="button" class="small" aria-describedby=${about} onClick=${() => revert.begin(seq)}>Revert</button>`
      }</p>
      ${compared && html`<${Compare} collection=${collection} id=${id} at=${seq} />`}`
    }
  </li>`;
}
