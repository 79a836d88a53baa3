import { html, useLayoutEffect, useRef, useState } from '../../lib/html.js';
import { goTo, placeHref } from '../../lib/place.js';
import { tellSaved } from '../../lib/saved.js';
import { Visible } from '../../ui/text.js';
import { Draft } from './draft.js';

/**
 * The page of a document that is yet to be.
 * @param {{ place: import('../../lib/place.js').Place }} props
 */
export function NewPage({ place }) {
  const [collection] = place.parts;
  const [id, setId] = useState('');
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  useLayoutEffect(() => field.current?.focus(), []);
  const done = (/** @type {import('../../lib/write.js').Written} */ written) => {
    const made = id === '' ? decodeURIComponent(written.location.split('/').pop() ?? '') : id;
    const href = placeHref([collection, made]);
    tellSaved({ href, what: collection + '/' + made + ' is saved', written });
    goTo(href);
  };
  return html`<p>In <a href=${placeHref([collection])}><${Visible} text=${collection} /></a>.</p>
    <p><label>Id <input ref=${field} value=${id} onInput=${(/** @type {any} */ event) => setId(event.target.value)} autocomplete="off" autocapitalize="off" spellcheck=${false} size="40" aria-describedby="about-id" /></label>
      <span id="about-id" class="quiet">Empty for one that the store makes.</span></p>
    <${Draft} collection=${collection} id=${id} onSaved=${done}><a href=${placeHref([collection])}>Back to the collection</a><//>`;
}
