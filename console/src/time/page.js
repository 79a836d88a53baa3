import { html, useId, useRef, useState } from '../lib/html.js';
import { Problem, request } from '../lib/http.js';
import { member, plain, read, textOf } from '../lib/json.js';
import { differences } from '../lib/jsontext.js';
import { useLoad } from '../lib/load.js';
import { localForm } from '../lib/moment.js';
import { goTo, placeHref, tellSaved } from '../lib/place.js';
import { useWriting } from '../lib/write.js';
import { Actor, Difference, GoToTime, PastProblem, Patch } from '../ui/changes.js';
import { Pending, ProblemAlert } from '../ui/dialogs.js';
import { CopyAs, DocumentLink, Time, Visible, counted } from '../ui/parts.js';
import { Preview, WriteProblem } from '../ui/preview.js';

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
  const loaded = useLoad((signal) => versionsOf([collection, id], { ...asked, signal }), [JSON.stringify(asked)]);
  const { value, problem, again } = loaded;
  const revert = useRevert([collection, id], value?.condition ?? {}, (at, written) => {
    const href = placeHref([collection, id]);
    const then = new Date(value?.versions.find(({ seq }) => seq === at)?.time ?? '');
    tellSaved({ href, what: `${collection}/${id} is reverted to its version of ${localForm(then)}`, written });
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
async function versionsOf(path, asked) {
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
 * @param {{ version: VersionRow, newest: boolean, revert: Reverting }} props
 */
export function Version({ version, newest, revert }) {
  const [compared, setCompared] = useState(false);
  const about = useId();
  const { seq, collection, id, op, time, actor, cause, patch } = version;
  const isThere = op !== 'delete' && op !== 'erase';
  return html`<li><header id=${about}><strong>${op}</strong> <span class="quiet"><${Time} text=${time} position=${seq} /></span>
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

/** How many differences are shown at first. */
const STEP = 50;

/**
 * What differs between a document as it was and as it is now.
 * @param {{ collection: string, id: string, at: string }} props
 */
export function Compare({ collection, id, at }) {
  const [max, setMax] = useState(STEP);
  const { value, problem, again, cancel } = useLoad(
    async (signal) => differences(...(await Promise.all([valueAt([collection, id], at, signal), valueAt([collection, id], null, signal)]))),
    [at],
  );
  return html`<section aria-label="Compared with now" class="compared">
    <${PastProblem} place=${{ parts: [collection, id], params: new URLSearchParams({ at }) }} problem=${problem} again=${again} />
    <${Pending} of=${{ value, problem, cancel }} shape="text" />
    ${value?.length === 0 && html`<p role="status">Nothing differs from now.</p>`}
    ${value?.slice(0, max).map((d) => html`<${Difference} ...${d} />`)}
    ${
      value &&
      value.length > max &&
      html`<button type="button" class="small"
      onClick=${() => setMax(max + STEP)}>Show ${STEP} more</button>`
    }
  </section>`;
}

/**
 * Returns the value of a document. Of one that is not there now it is nothing.
 * @param {string[]} path
 * @param {string | null} at
 * @param {AbortSignal} signal
 */
async function valueAt(path, at, signal) {
  try {
    return await read((await request({ path, query: { at }, signal })).text, signal);
  } catch (error) {
    if (at === null && error instanceof Problem && error.status === 404) return undefined;
    throw error;
  }
}

/**
 * Any two versions of a page compared, step by step.
 * @param {{ path: string[], versions: VersionRow[] }} props path of the document; the newest version is the first
 */
export function Slider({ path, versions }) {
  const all = versions.toReversed();
  const last = all.length - 1;
  const [at, setAt] = useState([last - 1, last]);
  const [from, to] = at.map((i) => Math.max(0, Math.min(i, last)));
  const step = (/** @type {number} */ by) => setAt([from + by, to + by]);
  const choose = (/** @type {number} */ which) => (/** @type {any} */ event) => {
    const chosen = Number(event.target.value);
    setAt(which === 0 ? [chosen, Math.max(chosen, to)] : [Math.min(from, chosen), chosen]);
  };
  const range = (/** @type {string} */ name, /** @type {number} */ which, /** @type {number} */ value) => html`<label class="version-at">
      <span class="quiet">${name}</span> <input type="range" min="0" max=${last} value=${value} onInput=${choose(which)}
        aria-valuetext=${`version ${value + 1} of ${last + 1}, ${all[value].op} of ${localForm(new Date(all[value].time))}`} />
      <span><strong>${all[value].op}</strong> <${Time} text=${all[value].time} position=${all[value].seq} /></span></label>`;
  return html`<section aria-label="Compare versions" class="slider">
    ${range('From', 0, from)}${range('To', 1, to)}
    <p class="actions"><button type="button" class="small" disabled=${from === 0} onClick=${() => step(-1)}>Step back</button>
      <button type="button" class="small" disabled=${to === last} onClick=${() => step(1)}>Step forward</button></p>
    <${Between} path=${path} from=${all[from]} to=${all[to]} /></section>`;
}

/**
 * What differs between two versions.
 * @param {{ path: string[], from: VersionRow, to: VersionRow }} props
 */
function Between({ path, from, to }) {
  const [max, setMax] = useState(STEP);
  const { value, problem, again, busy } = useLoad(
    async (signal) => differences(...(await Promise.all([leftBy(path, from, signal), leftBy(path, to, signal)]))),
    [from.seq, to.seq],
  );
  return html`<section aria-label="Difference" aria-busy=${busy ? 'true' : undefined} class=${busy ? 'compared stale' : 'compared'}>
    <${PastProblem} place=${{ parts: path, params: new URLSearchParams({ at: from.seq }) }} problem=${problem} again=${again} />
    ${value && html`<p class="quiet">${value.length ? counted(value.length, 'difference') : 'Nothing differs.'}</p>`}
    ${value?.slice(0, max).map((d) => html`<${Difference} ...${d} />`)}
    ${
      value &&
      value.length > max &&
      html`<button type="button" class="small" onClick=${() => setMax(max + STEP)}>Show ${STEP} more</button>`
    }
  </section>`;
}

/**
 * Returns the document as a version left it. A delete left nothing.
 * @param {string[]} path
 * @param {VersionRow} version
 * @param {AbortSignal} signal
 */
const leftBy = (path, { op, seq }, signal) => (op === 'delete' || op === 'erase' ? undefined : valueAt(path, seq, signal));

/**
 * @typedef {object} Reverting
 * @property {(at: string) => void} begin shows what a revert changes
 * @property {boolean} stale the document has become another meanwhile
 * @property {import('../lib/write.js').Writing} writing
 */

/**
 * Reverts a document to a version of it, after a look at what that changes.
 * @param {string[]} path of the document
 * @param {Record<string, string>} condition that it is as its versions say
 * @param {(at: string, written: import('../lib/write.js').Written) => void} onDone
 * @returns {Reverting}
 */
export function useRevert(path, condition, onDone) {
  const [stale, setStale] = useState(false);
  const chosen = useRef('');
  const writing = useWriting({ always: true, onDone: (written) => onDone(chosen.current, written), onStale: () => setStale(true) });
  const begin = async (/** @type {string} */ at) => {
    chosen.current = at;
    setStale(false);
    const own = await ownOf(path, at);
    if (chosen.current === at)
      writing.begin({ method: 'POST', path: [...path, '_revert'], headers: condition, body: JSON.stringify({ at }) }, { own });
  };
  return { begin, stale, writing };
}

/**
 * Returns a document as it is written now, and as it was, undefined where that is not known.
 * @param {string[]} path
 * @param {string} at
 */
async function ownOf(path, at) {
  const written = (/** @type {string | undefined} */ at) => request({ path, query: { view: 'referenced', at } }).then(({ text }) => text);
  try {
    const [before, after] = await Promise.all([
      written(undefined).catch((error) => {
        if (error.status === 404) return undefined; // it was deleted
        throw error;
      }),
      written(at),
    ]);
    return { before, after };
  } catch {
    return undefined; // what the revert itself says is shown
  }
}

/**
 * Returns the condition that a document is as it is now: this one, or none.
 * @param {string[]} path
 * @param {AbortSignal} [signal]
 * @returns {Promise<Record<string, string>>}
 */
export async function conditionOf(path, signal) {
  try {
    return { 'If-Match': (await request({ path, signal })).headers.get('ETag') ?? '' };
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return { 'If-None-Match': '*' };
    throw error;
  }
}

/**
 * The dialog of a revert, and its problems.
 * @param {{ revert: Reverting, again: () => void }} props again loads the versions
 */
export const Revert = ({
  revert: { writing, stale },
  again,
}) => html`<span role="status" class="quiet">${writing.state.phase === 'looking' && 'Looking at what it changes'}</span>
  <${Preview} title="What this revert changes" go="Revert now" keep="Keep it" writing=${writing} careful />
  ${!writing.state.effects && html`<${WriteProblem} state=${writing.state} />`}
  <${ProblemAlert} problem=${
    stale
      ? new Problem(412, {
          title: 'Changed meanwhile',
          detail: 'The document has become another since its versions were listed. Nothing was written.',
        })
      : undefined
  } again=${again} />`;
