import { html, useEffect } from '../../lib/html.js';
import { placeHref } from '../../lib/place.js';
import { saved } from '../../lib/saved.js';
import { Visible } from '../../ui/text.js';
import { Arrival } from './arrival.js';

/**
 * What was saved last, on the page to which the save has led, until another place is shown.
 * @param {{ place: import('../../lib/place.js').Place }} props
 */
export function SavedHere({ place }) {
  const here = placeHref(place.parts, place.params);
  const of = saved.value;
  useEffect(() => () => { if (saved.value?.href === here) saved.value = null; }, [here]);
  if (of?.href !== here) return null;
  return html`<p role="status" class="quiet"><${Visible} text=${of.what} max=${300} />, at <code>${of.written.position}</code>.</p>
    ${(of.written.derived ?? 0) > 0 && html`<${Arrival} position=${of.written.position} derived=${of.written.derived} took=${of.written.took} visible=${of.written.visible} />`}`;
}
