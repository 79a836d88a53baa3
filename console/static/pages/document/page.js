import { html, useEffect, useRef, useState } from '../../lib/html.js';
import { member, textOf } from '../../json/value.js';
import { useLoad } from '../../lib/load.js';
import { placeHref } from '../../lib/place.js';
import { CopyAsCurl } from '../../ui/curl.js';
import { ProblemAlert } from '../../ui/problem.js';
import { EditActions } from '../../ui/editactions.js';
import { PastBanner, PastProblem } from '../../ui/past.js';
import { ChangesSeen, useSeen } from '../../ui/seen.js';
import { Visible } from '../../ui/text.js';
import { Time } from '../../ui/time.js';
import { Absent } from './absent.js';
import { Carried } from './carried.js';
import { DocumentRegion } from './document.js';
import { askedOf, load, loadLineage, loadModel } from './load.js';
import { Referred } from './referred.js';
import { Refers } from './refers.js';

/** How many places are marked as changed. */
const MAX_MARKED = 200;

/**
 * A document: its embedded view, where its values come from, and what it is tied to.
 * @param {{ place: import('../../lib/place.js').Place }} props
 */
export function DocumentPage({ place }) {
  const { parts } = place;
  const at = place.params.get('at');
  const asked = askedOf(place);
  const { value, problem, busy, again } = useLoad(async (signal) => ({ ...await load({ ...asked, signal }), at }), [at]);
  const doc = value?.at === at ? value : undefined; // not one of another time
  const now = at === null;
  // The document is shown before anything else is asked for.
  const model = useLoad(async (signal) => (doc ? loadModel(signal) : undefined), [doc]);
  const lineage = useLoad(async (signal) => (doc && now ? loadLineage(parts, doc.position, signal) : undefined), [doc, at]);
  const { rows, changed } = useFollowed(parts, now ? doc?.position ?? '' : '', busy, again);
  return html`<${PastBanner} place=${place} position=${doc?.position ?? ''} />
    <${PastProblem} place=${place} problem=${problem} again=${again}>${problem?.status === 404 && html`<p>See the <a href=${placeHref([parts[0]], { at })}>collection</a>.</p>`}<//>
    ${!doc && html`<${CopyAsCurl} asked=${asked} />`}
    ${doc && html`<div class="facts"><p class="quiet">Revision <${Visible} text=${doc.revision} />, written <${Time} text=${doc.written} />${now && html`, seen at <code>${doc.position}</code>`}.
      ${' '}<a href=${placeHref([...parts, '_history'])}>History</a></p>
      ${now && html`<${EditActions} collection=${parts[0]} id=${parts[1]} etag=${doc.etag} />`}</div>
    <div class="beside"><div>
      <${DocumentRegion} doc=${doc} parts=${parts} at=${at} lineage=${now ? lineage.value : undefined} model=${model.value} changed=${changed} />
      ${now && html`<${ChangesSeen} rows=${rows} />`}
      <${CopyAsCurl} asked=${asked} />
    </div><div>
      <${ProblemAlert} problem=${lineage.problem ?? model.problem} again=${lineage.problem ? lineage.again : model.again} />
      ${now && html`<${Absent} lineage=${lineage.value} model=${model.value} />`}
      <${Refers} doc=${doc} collection=${parts[0]} at=${at} model=${model.value} />
      ${now && html`<${Referred} parts=${parts} position=${doc.position} model=${model.value} />
        <${Carried} lineage=${lineage.value} />`}
    </div></div>`}`;
}

/**
 * Follows the changes of a document: it is asked for anew, one request at a time. It returns them, and where they were.
 * @param {string[]} parts
 * @param {string} position of the document, empty where it is not to be followed
 * @param {boolean} busy whether it is being asked for
 * @param {() => void} again asks for it
 */
function useFollowed([collection, id], position, busy, again) {
  const first = useRef('');
  if (first.current === '' || position === '') first.current = position;
  const [stale, setStale] = useState(false);
  const [changed, setChanged] = useState(new Set());
  const rows = useSeen([collection], first.current, (row) => row.id === id, (come) => {
    setChanged(new Set(come.flatMap((row) => (row.patch?.elements ?? []).map((op) => textOf(member(op, 'path')) ?? '')).slice(0, MAX_MARKED)));
    setStale(true);
  });
  useEffect(() => {
    if (!stale || busy) return;
    setStale(false);
    again();
  }, [stale, busy]);
  return { rows, changed };
}
