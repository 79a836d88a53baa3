import { html, useMemo } from '../../lib/html.js';
import { indent } from '../../json/indent.js';
import { useLoad } from '../../lib/load.js';
import { goTo, placeHref } from '../../lib/place.js';
import { tellSaved } from '../../lib/saved.js';
import { CopyAsCurl } from '../../ui/curl.js';
import { ProblemAlert } from '../../ui/problem.js';
import { Draft } from './draft.js';
import { askedFor, readDocument } from './read.js';
import './saved.js'; // it is shown at once after the save, and is loaded by then

/** The longest document that a text box takes, in UTF-16 code units, and the most lines: a browser lays out all of them at once. */
const LONGEST = 4 * 1024 * 1024;
const MOST_LINES = 20_000;

/**
 * The editor of a document.
 * @param {{ place: import('../../lib/place.js').Place }} props
 */
export function EditPage({ place }) {
  const [collection, id] = place.parts;
  const { value: read, problem, again } = useLoad((signal) => readDocument(collection, id, signal), []);
  const href = placeHref(place.parts);
  const done = (/** @type {import('../../lib/write.js').Written} */ written) => {
    tellSaved({ href, what: collection + '/' + id + ' is saved', written });
    goTo(href);
  };
  const initial = useMemo(() => (read && read.text.length <= LONGEST ? indent(read.text) : undefined), [read]);
  const lines = useMemo(() => linesOf(initial ?? ''), [initial]);
  const long = read !== undefined && (initial === undefined || lines > MOST_LINES);
  return html`<${ProblemAlert} problem=${problem} again=${again}>${problem?.status === 404 && html`<p>See the <a href=${placeHref([collection])}>collection</a>.</p>`}<//>
    ${long && html`<p>The document ${initial === undefined ? 'is' : `has ${lines.toLocaleString('en')} lines, and is`} too long for a text box. Write it by the API, or by the command <code>fanfold put</code>.</p>`}
    ${read && !long && html`<p class="quiet">As it is written, at revision ${read.revision}: what the store derives is not in it.</p>
      <${Draft} collection=${collection} id=${id} read=${read} initial=${initial} onSaved=${done}><a href=${href}>Back to the document</a><//>`}
    <${CopyAsCurl} asked=${askedFor(collection, id)} />`;
}

/**
 * Returns how many lines a text has.
 * @param {string} text
 */
function linesOf(text) {
  let lines = 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++;
  return lines;
}
