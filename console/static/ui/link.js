import { html } from '../lib/html.js';
import { placeHref } from '../lib/place.js';
import { Visible } from './text.js';

/**
 * A link to a document.
 * @param {{ collection: string, id: string, at?: string | null, short?: boolean }} props at is a position or a time to stand at; short leaves the collection out
 */
export const DocumentLink = ({ collection, id, at, short = false }) =>
  html`<a href=${placeHref([collection, id], { at })}><${Visible} text=${short ? id : collection + '/' + id} max=${300} /></a>`;

/**
 * A link to a document that is named by a text, as in "books/b1". A text that names none stands for itself.
 * @param {{ name: string }} props
 */
export function NamedDocument({ name }) {
  const at = name.indexOf('/');
  return at > 0 ? DocumentLink({ collection: name.slice(0, at), id: name.slice(at + 1) }) : html`<${Visible} text=${name} max=${300} />`;
}
