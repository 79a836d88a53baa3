import { html } from '../../lib/html.js';
import { useLoad } from '../../lib/load.js';
import { placeHref } from '../../lib/place.js';
import { CopyAsCurl } from '../../ui/curl.js';
import { ProblemAlert } from '../../ui/problem.js';
import { Visible } from '../../ui/text.js';
import { Time } from '../../ui/time.js';
import { Absent } from './absent.js';
import { Carried } from './carried.js';
import { DocumentRegion } from './document.js';
import { askedOf, load, loadLineage, loadModel } from './load.js';
import { Referred } from './referred.js';
import { Refers } from './refers.js';

/**
 * A document: its embedded view, where its values come from, and what it is tied to.
 * @param {{ place: import('../../lib/place.js').Place }} props
 */
export function DocumentPage({ place }) {
  const { parts } = place;
  const at = place.params.get('at');
  const asked = askedOf(place);
  const { value: doc, problem, again } = useLoad((signal) => load({ ...asked, signal }), [at]);
  // The document is shown before anything else is asked for.
  const model = useLoad(async (signal) => (doc ? loadModel(signal) : undefined), [doc !== undefined]);
  const lineage = useLoad(async (signal) => (doc && at === null ? loadLineage(parts, doc.position, signal) : undefined), [doc, at]);
  return html`<${ProblemAlert} problem=${problem} again=${again} />
    ${doc && html`<p class="facts quiet">Revision <${Visible} text=${doc.revision} />, written <${Time} text=${doc.written} />, seen at <${Visible} text=${doc.position} />.
      ${' '}<a href=${placeHref([...parts, '_history'])}>History</a></p>
    <div class="beside"><div>
      <${DocumentRegion} doc=${doc} parts=${parts} at=${at} lineage=${at === null ? lineage.value : undefined} model=${model.value} />
      <${CopyAsCurl} asked=${asked} />
    </div><div>
      <${ProblemAlert} problem=${lineage.problem ?? model.problem} again=${lineage.problem ? lineage.again : model.again} />
      ${at === null && html`<${Absent} lineage=${lineage.value} model=${model.value} />`}
      <${Refers} doc=${doc} collection=${parts[0]} at=${at} model=${model.value} />
      ${at === null && html`<${Referred} parts=${parts} position=${doc.position} model=${model.value} />
        <${Carried} lineage=${lineage.value} />`}
    </div></div>`}`;
}
