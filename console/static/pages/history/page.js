import { html } from '../../lib/html.js';
import { request } from '../../lib/http.js';
import { useLoad } from '../../lib/load.js';
import { goTo, placeHref } from '../../lib/place.js';
import { tellSaved } from '../../lib/saved.js';
import { read } from '../../json/read.js';
import { member, textOf } from '../../json/value.js';
import { CopyAsCurl } from '../../ui/curl.js';
import { DocumentLink } from '../../ui/link.js';
import { PastProblem } from '../../ui/past.js';
import { Revert, conditionOf, useRevert } from './revert.js';
import { Version, versionOf } from './version.js';

/** How many versions a page has. */
const PAGE = 20;

/**
 * The versions of a document, the newest first.
 * @param {{ place: import('../../lib/place.js').Place }} props
 */
export function HistoryPage({ place }) {
  const { parts: [collection, id, name], params } = place;
  const given = Object.fromEntries(['from', 'to', 'derived', 'view', 'limit', 'cursor'].map((n) => [n, params.get(n) ?? '']).filter(([, v]) => v !== ''));
  const asked = { path: [collection, id, name], query: { limit: PAGE, include_docs: false, ...given } };
  const { value, problem, again } = useLoad((signal) => load([collection, id], { ...asked, signal }), [JSON.stringify(asked)]);
  const revert = useRevert([collection, id], value?.condition ?? {}, (at, written) => {
    const href = placeHref([collection, id]);
    tellSaved({ href, what: `${collection}/${id} is reverted to ${at}`, written });
    goTo(href);
  });
  const shown = problem ? undefined : value;
  const href = (/** @type {Record<string, string | undefined>} */ more) => placeHref(place.parts, { ...given, cursor: undefined, ...more });
  const first = !params.get('cursor') && !params.get('to');
  return html`<p class="above"><${DocumentLink} collection=${collection} id=${id} />
      ${given.derived === 'exclude' ? html`<a href=${href({ derived: undefined })}>With derived changes</a>` : html`<a href=${href({ derived: 'exclude' })}>Without derived changes</a>`}</p>
    <${PastProblem} place=${place} problem=${problem} again=${again} />
    <${Revert} revert=${revert} again=${again} />
    ${shown && html`<ol aria-label="Versions" class="versions">${shown.versions.map((version, i) => html`<${Version} key=${version.seq} version=${version} newest=${first && i === 0} revert=${revert} />`)}</ol>
      ${shown.versions.length === 0 && html`<p class="quiet">There are no versions here.</p>`}
      ${!shown.next && !shown.oldest.startsWith('0-') && html`<p class="quiet">The history begins at <code>${shown.oldest}</code>.</p>`}
      ${(params.get('cursor') || shown.next) && html`<p class="actions">${params.get('cursor') && html`<a href=${href({})}>First page</a>`}${shown.next && html`<a href=${href({ cursor: shown.next })}>Next page</a>`}</p>`}`}
    <${CopyAsCurl} asked=${asked} />`;
}

/**
 * Asks for versions, and for the condition that the document is as they say.
 * @param {string[]} path of the document
 * @param {import('../../lib/http.js').Asked} asked
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
