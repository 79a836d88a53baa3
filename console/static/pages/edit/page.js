import { html } from '../../lib/html.js';
import { useLoad } from '../../lib/load.js';
import { goTo, placeHref } from '../../lib/place.js';
import { saved } from '../../lib/saved.js';
import { CopyAsCurl } from '../../ui/curl.js';
import { ProblemAlert } from '../../ui/problem.js';
import { Draft } from './draft.js';
import { askedFor, readDocument } from './read.js';
import './saved.js'; // it is shown at once after the save, and is loaded by then

/** The longest document that a text box takes, in UTF-16 code units. */
const LONGEST = 4 * 1024 * 1024;

/**
 * The editor of a document.
 * @param {{ place: import('../../lib/place.js').Place }} props
 */
export function EditPage({ place }) {
  const [collection, id] = place.parts;
  const { value: read, problem, again } = useLoad((signal) => readDocument(collection, id, signal), []);
  const href = placeHref(place.parts);
  const done = (/** @type {import('../../lib/write.js').Written} */ written) => {
    saved.value = { href, what: collection + '/' + id + ' is saved', written };
    goTo(href);
  };
  const long = read !== undefined && read.text.length > LONGEST;
  return html`<${ProblemAlert} problem=${problem} again=${again}>${problem?.status === 404 && html`<p>See the <a href=${placeHref([collection])}>collection</a>.</p>`}<//>
    ${long && html`<p>The document is too long for a text box. Write it by the API, or by the command <code>fanfold put</code>.</p>`}
    ${read && !long && html`<p class="quiet">As it is written, at revision ${read.revision}: what the store derives is not in it.</p>
      <${Draft} collection=${collection} id=${id} read=${read} onSaved=${done}><a href=${href}>Back to the document</a><//>`}
    <${CopyAsCurl} asked=${askedFor(collection, id)} />`;
}
