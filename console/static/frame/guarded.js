import { html, useEffect, useErrorBoundary, useMemo } from '../lib/html.js';
import { asProblem } from '../lib/load.js';
import { ProblemAlert } from '../ui/problem.js';

/**
 * What a page shows, and where that fails a problem in its place: an answer may be another one than the API gives.
 * @param {{ place: import('../lib/place.js').Place, children: any }} props
 */
export function Guarded({ place, children }) {
  const [error, again] = useErrorBoundary();
  const problem = useMemo(() => error && asProblem(error), [error]);
  useEffect(() => { if (error) again(); }, [place]);
  return problem ? html`<${ProblemAlert} problem=${problem} again=${again} />` : children;
}
