import { html, useRef, useState } from '../../lib/html.js';
import { request } from '../../lib/http.js';
import { asProblem } from '../../lib/load.js';
import { number } from '../../ui/amounts.js';
import { ProblemAlert } from '../../ui/problem.js';
import { Visible } from '../../ui/text.js';

/** What the phases of a preparation are called. @type {Record<string, string>} */
const PHASES = { waiting: 'Waiting', copying: 'Copying pages', computing: 'Computing documents', following: 'Following what was written meanwhile', ready: 'Ready to apply', failed: 'It failed' };

/**
 * How far a model is that is being prepared, and a button that withdraws it.
 * @param {{ pending: boolean, status: any, mayEdit: boolean, onChanged: () => void }} props
 */
export function Preparation({ pending, status, mayEdit, onChanged }) {
  const last = useRef(0);
  const [problem, setProblem] = useState(/** @type {import('../../lib/http.js').Problem | undefined} */ (undefined));
  const of = status?.preparing;
  if (of) last.current = of.model;
  const gone = !pending && last.current > 0 && status?.withdrawn?.model === last.current ? status.withdrawn.reason : '';
  const withdraw = async () => {
    try {
      await request({ method: 'DELETE', path: ['_model', '_pending'] });
      setProblem(undefined);
    } catch (error) {
      setProblem(asProblem(error));
    }
    onChanged();
  };
  return html`<div role="status">${gone && html`<p>The model that was being prepared does not come: <${Visible} text=${gone} max=${500} /></p>`}</div>
    ${pending && html`<section aria-label="Preparation" class="origin"><h2>A model is being prepared</h2>
      ${of ? html`<p>${PHASES[of.phase] ?? of.phase}${of.total > 0 && html`: ${number(of.done)} of ${number(of.total)} <progress aria-label="Preparation" max=${of.total} value=${of.done}></progress>`}</p>
        <p class="quiet">${number(of.changes)} documents change, as far as is known.${of.waitingFor?.length > 0 && html` It waits for <${Visible} text=${of.waitingFor.join(', ')} max=${300} />.`}</p>
        ${of.error && html`<p class="wrong"><${Visible} text=${of.error} max=${1000} /></p>`}` : html`<p class="quiet">It applies once all nodes have prepared it.</p>`}
      ${mayEdit && html`<p class="actions"><button type="button" onClick=${withdraw}>Withdraw</button></p>`}
    </section>`}
    <${ProblemAlert} problem=${problem} />`;
}
