import { html } from '../lib/html.js';
import { placeHref } from '../lib/place.js';
import { Visible } from './text.js';

/**
 * A link to a document.
 * @param {{ collection: string, id: string, at?: string | null, short?: boolean }} props at is a position or a time to stand at; short leaves the collection out
 */
export const DocumentLink = ({ collection, id, at, short = false }) =>
  html`<a href=${placeHref([collection, id], { at })}><${Visible} text=${short ? id : collection + '/' + id} max=${300} /></a>`;
