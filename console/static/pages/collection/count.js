import { html, useEffect, useRef, useState } from '../../lib/html.js';
import { ask } from '../../lib/http.js';
import { asProblem } from '../../lib/load.js';
import { ProblemAlert } from '../../ui/problem.js';
import { countAsked } from './asked.js';
import { Suggestion } from '../../ui/suggestion.js';

/**
 * A button that counts what matches. Nothing is counted before.
 * @param {{ place: import('../../lib/place.js').Place }} props
 */
export function Count({ place }) {
  const [state, setState] = useState(/** @type {{ busy?: boolean, count?: number, problem?: import('../../lib/http.js').Problem }} */ ({}));
  const ending = useRef(new AbortController());
  useEffect(() => () => ending.current.abort(), []);
  const count = async () => {
    setState({ busy: true });
    try {
      setState({ count: (await ask({ ...countAsked(place), signal: ending.current.signal })).count });
    } catch (error) {
      if (!ending.current.signal.aborted) setState({ problem: asProblem(error) });
    }
  };
  const { busy, count: found, problem } = state;
  return html`<button type="button" class="small" aria-disabled=${busy ? 'true' : undefined} onClick=${busy ? undefined : count}>Count</button>
    ${' '}<span role="status">${busy && 'Counting'}${found !== undefined && `${found.toLocaleString('en')} ${place.params.get('filter') ? 'match' : 'in all'}.`}</span>
    <${ProblemAlert} problem=${problem}>${problem?.kind === 'needs-index' && html`<${Suggestion} suggest=${problem.of.suggest} />`}<//>`;
}
