import { html, useEffect, useState } from '../../lib/html.js';
import { goTo, placeHref } from '../../lib/place.js';

/** What the form asks for, by the API's names. */
const NAMES = ['filter', 'params', 'sort', 'fields', 'at'];

/**
 * The form that says which documents are shown. The place has it all. A list as it was takes no query, so these fields are absent then.
 * @param {{ place: import('../../lib/place.js').Place, columns: string[] }} props columns that are shown where none are chosen
 */
export function Query({ place, columns }) {
  const { parts, params } = place;
  const [typed, setTyped] = useState(() => typedOf(params));
  useEffect(() => setTyped(typedOf(params)), [params.toString()]);
  const past = Boolean(params.get('at'));
  const run = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const of = typed.at.trim() === '' ? NAMES : ['fields', 'at'];
    const next = Object.fromEntries(of.map((name) => [name, typed[name].trim() || undefined]));
    const explain = event.submitter?.getAttribute('name') === 'explain' && !next.at ? true : undefined;
    goTo(placeHref(parts, { ...next, limit: params.get('limit') || undefined, maxScan: params.get('maxScan') || undefined, explain }));
  };
  const field = (/** @type {string} */ label, /** @type {string} */ name, /** @type {string} */ hint) => html`<label class=${name}>${label}
    <input name=${name} value=${typed[name]} placeholder=${hint} onInput=${(/** @type {any} */ event) => setTyped({ ...typed, [name]: event.target.value })} autocomplete="off" autocapitalize="off" spellcheck=${false} /></label>`;
  return html`<form aria-label="Query" class="query" onSubmit=${run}>
    ${!past && html`${field('Filter', 'filter', 'doc.year > params.since')}
      ${field('Parameters', 'params', '{"since": 1900}')}
      ${field('Sort', 'sort', '-year,title')}`}
    ${field('Columns', 'fields', columns.join(',') || 'title,authors[].name')}
    ${field('At', 'at', 'a position or a time')}
    <span class="actions"><button type="submit" class="main">Run</button>${!past && html`<button type="submit" name="explain">Explain</button>`}</span>
  </form>`;
}

/**
 * @param {URLSearchParams} params
 * @returns {Record<string, string>}
 */
const typedOf = (params) => Object.fromEntries(NAMES.map((name) => [name, params.get(name) ?? '']));
