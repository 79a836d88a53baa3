import { html } from '../lib/html.js';
import { placeHref } from '../lib/place.js';

/** The page of a place that the console does not have. */
export const NotFoundPage = () => html`<p>The console has no such place. See the <a href=${placeHref([])}>collections</a>.</p>`;
