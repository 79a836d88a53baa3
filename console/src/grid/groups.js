import { html } from '../lib/html.js';
import { request } from '../lib/http.js';
import { member, read, textOf } from '../lib/json.js';
import { useLoad } from '../lib/load.js';
import { goTo, placeHref } from '../lib/place.js';
import { CopyAs, Visible, counted } from '../ui/parts.js';
import { PastProblem } from '../ui/past.js';
import { Pending } from '../ui/pending.js';
import { Suggestion } from '../ui/preview.js';
import { MAX_CELL, readable } from './cells.js';
import { cut, filterOf, stepsOf } from './cel.js';
import { groupsAsked } from './query.js';

/** @typedef {import('../lib/json.js').Node} Node */
/** @typedef {import('../lib/place.js').Place} Place */

/**
 * Asks for a page of groups.
 * @param {Place} place
 * @param {AbortSignal} signal
 */
async function loadGroups(place, signal) {
  const asked = groupsAsked(place);
  const root = await read((await request({ ...asked, signal })).text, signal);
  const groups = (member(root, 'groups')?.elements ?? []).map((one) => ({ key: member(one, 'key'), values: member(one, 'values') }));
  return { groups, next: textOf(member(root, 'next')) ?? '' };
}

/** Returns the terms of a list. @param {string | null} text */
const termsOf = (text) =>
  cut(text ?? '', ',')
    .map((one) => one.trim())
    .filter((one) => one !== '');

/**
 * The documents of a collection in groups, with what is computed of each: a table, and a bar for the first number.
 * @param {{ place: Place }} props
 */
export function Groups({ place }) {
  const { parts, params } = place;
  const keys = termsOf(params.get('group'));
  const computed = termsOf(params.get('compute'));
  const values = computed.length > 0 ? computed : ['count'];
  const asked = groupsAsked(place);
  const loaded = useLoad((signal) => loadGroups(place, signal), [JSON.stringify(asked)]);
  const { value, problem, again } = loaded;
  const sort = params.get('sort') ?? '';
  const without = new URLSearchParams(params);
  for (const name of ['group', 'compute', 'sort', 'cursor']) without.delete(name);
  const head = (/** @type {string} */ term, /** @type {boolean} */ isValue) => {
    const at = sort === term ? 'ascending' : sort === '-' + term ? 'descending' : undefined;
    const next = new URLSearchParams(params);
    next.delete('cursor');
    next.set('sort', at === 'descending' || (at === undefined && !isValue) ? term : '-' + term);
    return html`<th scope="col" class=${isValue ? 'number' : undefined} aria-sort=${at}><button type="button"
      class=${'sort' + (at ? (at === 'descending' ? ' down' : ' up') : '')} onClick=${() => goTo(placeHref(parts, next))}><${Visible}
        text=${term}
      max=${100} /></button></th>`;
  };
  return html`<${PastProblem} place=${place} problem=${problem} again=${again}>${
    problem?.kind === 'needs-index' && html`<${Suggestion} suggest=${problem.of.suggest} />`
  }<//>
  <${Pending} of=${loaded}>${
    value &&
    html`<div class="above"><span role="status"
      class="quiet">${counted(value.groups.length, 'group')}${value.next ? ' on this page' : ''}.</span>
      ${value.next && html`<a href=${placeHref(parts, withCursor(params, value.next))}>Next page</a>`}
      <span class="tools"><a href=${placeHref(parts, without)}>Documents</a></span></div>
    <div class="scroll" tabindex="0" role="group" aria-label="Table of groups"><table aria-label="Groups" class="groups">
      <thead><tr>${keys.map((term) => head(term, false))}${values.map((term) => head(term, true))}<td></td></tr></thead>
      <tbody>${rowsOf(value.groups, keys, values, place)}</tbody></table></div>`
  }<//>
  <${CopyAs} asked=${asked} />`;
}

/** @param {URLSearchParams} params @param {string} cursor */
function withCursor(params, cursor) {
  const next = new URLSearchParams(params);
  next.set('cursor', cursor);
  return next;
}

/**
 * Returns groups as rows. A key leads to the documents of its group, where the filter can say which these are.
 * @param {{ key: Node | undefined, values: Node | undefined }[]} groups
 * @param {string[]} keys
 * @param {string[]} values
 * @param {Place} place
 */
function rowsOf(groups, keys, values, place) {
  const first = groups.map((group) => amountOf(group.values && member(group.values, values[0])));
  const most = Math.max(0, ...first);
  return groups.map((group, i) => {
    const href = hrefOf(group.key, keys, place);
    return html`<tr key=${i}>${keys.map((term, k) => {
      const of = group.key && member(group.key, term);
      const text = of ? html`<${Visible} text=${readable(of)} max=${MAX_CELL} />` : html`<i>absent</i>`;
      const shown = href !== undefined && k === 0 ? html`<a href=${href}>${text}</a>` : text;
      return k === 0 ? html`<th scope="row">${shown}</th>` : html`<td>${shown}</td>`;
    })}${values.map((term) => {
      const of = group.values && member(group.values, term);
      return html`<td class="number">${of ? html`<${Visible} text=${readable(of)} max=${MAX_CELL} />` : ''}</td>`;
    })}<td class="bars" aria-hidden="true"><div class="bar-of"
      style=${{ width: most > 0 ? `${(100 * first[i]) / most}%` : '0' }}></div></td></tr>`;
  });
}

/** Returns how long a bar is. Digits beyond those of a double would not be seen. @param {Node | undefined} node */
const amountOf = (node) => (node?.kind === 'number' && Number(node.raw) > 0 && Number.isFinite(Number(node.raw)) ? Number(node.raw) : 0);

/**
 * Returns where the documents of a group are, undefined where that takes more than a comparison.
 * @param {Node | undefined} key
 * @param {string[]} terms
 * @param {Place} place
 */
function hrefOf(key, terms, { parts, params }) {
  const conditions = [];
  for (const term of terms) {
    if (!/^[\w-]+(?:\.[\w-]+)*(?:\[\])?$/.test(term)) return undefined;
    const of = key && member(key, term);
    const path = term.replace('[]', '');
    if (of === undefined) conditions.push({ text: `!has(doc${stepsOf(path)})` });
    else if (of.members || of.elements || of.raw.length > 500) return undefined;
    else conditions.push({ member: term, op: '==', value: of.kind === 'string' ? JSON.stringify(readable(of)) : of.raw });
  }
  const filter = params.get('filter') ?? '';
  const next = new URLSearchParams(params);
  for (const name of ['group', 'compute', 'sort', 'cursor']) next.delete(name);
  next.set('filter', filterOf([...(filter === '' ? [] : [{ text: filter }]), ...conditions]));
  return placeHref(parts, next);
}
