import { html, useEffect, useState } from '../lib/html.js';
import { Problem } from '../lib/http.js';
import { ProblemAlert } from '../ui/problem.js';

/**
 * A page whose modules are loaded now. Where they do not come, it says so, for the server may have another version by now.
 * @param {{ load: () => Promise<any>, place: import('../lib/place.js').Place }} props
 */
export function LatePage({ load, place }) {
  const [loaded, setLoaded] = useState(/** @type {{ page?: any, failed?: boolean }} */ ({}));
  useEffect(() => {
    let ended = false;
    const take = (/** @type {{ page?: any, failed?: boolean }} */ of) => { if (!ended) setLoaded(of); };
    take({});
    load().then((page) => take({ page }), () => take({ failed: true }));
    return () => { ended = true; };
  }, [load]);
  const { page: Page, failed } = loaded;
  if (failed) return html`<${ProblemAlert} problem=${new Problem(0, { title: 'The page cannot be loaded', detail: 'The server does not answer, or has another version by now.' })} again=${() => location.reload()} />`;
  return Page ? html`<${Page} place=${place} />` : null;
}
