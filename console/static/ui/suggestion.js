import { html } from '../lib/html.js';
import { curlOf } from '../lib/http.js';
import { hasRole, me } from '../lib/me.js';
import { placeHref } from '../lib/place.js';
import { Visible } from './text.js';

/** How long a suggestion may be that stands in an address, in characters. */
export const MAX_PLACE = 4096;

/**
 * An index that would serve a query: as YAML of the model and, for who may write the model, a link to the editor that has it already. Of a long one
 * it is the command that adds it.
 * @param {{ suggest: any }} props a merge patch of the model, undefined where no index helps
 */
export function Suggestion({ suggest }) {
  if (!suggest) return null;
  const text = JSON.stringify(suggest);
  const add = { method: 'PATCH', path: ['_model'], headers: { 'Content-Type': 'application/merge-patch+json' }, body: text };
  return html`<div class="suggestion"><p>This part of the model has an index that serves it:</p>
    <pre aria-label="Index in YAML"><${Visible} text=${yamlOf(suggest)} max=${4000} /></pre>
    ${!hasRole('admin') ? me.value && html`<p>Whoever has the role <code>admin</code> can add it.</p>`
      : text.length <= MAX_PLACE ? html`<p><a href=${placeHref(['_model'], { suggest: text })}>Add it to the model</a></p>`
        : html`<p>This command adds it:</p><pre aria-label="Command"><${Visible} text=${curlOf(add)} max=${8000} /></pre>`}</div>`;
}

/** Words that YAML takes for other values than texts, and what needs no quotation marks. */
const words = /^(?:true|false|null|yes|no|on|off|y|n)$/i;
const bare = /^-?[A-Za-z_][\w.-]*$/;

/** @param {string} text */
const quoted = (text) => (bare.test(text) && !words.test(text) ? text : JSON.stringify(text));

/**
 * Returns objects, lists and texts as YAML.
 * @param {any} value
 * @param {string} indent
 * @returns {string}
 */
function yamlOf(value, indent = '') {
  return Object.entries(value).map(([name, inner]) => indent + quoted(name) + ':'
    + (inner === null || typeof inner !== 'object' || Array.isArray(inner) ? ' ' + flow(inner) + '\n' : '\n' + yamlOf(inner, indent + '  '))).join('');
}

/** @param {any} value @returns {string} */
function flow(value) {
  if (Array.isArray(value)) return '[' + value.map(flow).join(', ') + ']';
  return typeof value === 'string' ? quoted(value) : JSON.stringify(value);
}
