import { html, useEffect, useLayoutEffect, useState } from '../lib/html.js';
import { Problem } from '../lib/http.js';
import { askReady } from '../lib/ready.js';
import { ProblemAlert } from '../ui/problem.js';

/** How often a server that could not be reached is asked whether it is back, in milliseconds. */
const EVERY = 3000;

/**
 * A page whose modules are loaded now. Where they do not come, it says so, for the server may have another version by now.
 * @param {{ load: () => Promise<any>, place: import('../lib/place.js').Place }} props
 */
export function LatePage({ load, place }) {
  const [loaded, setLoaded] = useState(/** @type {{ page?: any, failed?: boolean }} */ ({}));
  useLayoutEffect(() => { // before the page is painted without it
    let ended = false;
    const take = (/** @type {{ page?: any, failed?: boolean }} */ of) => { if (!ended) setLoaded(of); };
    take({});
    load().then((page) => take({ page }), () => take({ failed: true }));
    return () => { ended = true; };
  }, [load]);
  const { page: Page, failed } = loaded;
  useEffect(() => (failed ? whenBack(() => location.reload()) : undefined), [failed]);
  if (failed) return html`<${ProblemAlert} problem=${new Problem(0, { title: 'The page cannot be loaded', detail: 'The server does not answer, or has another version by now.' })} again=${() => location.reload()} />`;
  return Page ? html`<${Page} place=${place} />` : null;
}

/**
 * Calls a function once a server answers that did not before. One that answers all the time has another version: loading anew by
 * itself could then go on for ever. It returns a function that ends that.
 * @param {() => void} then
 */
function whenBack(then) {
  const ending = new AbortController();
  let wasGone = false;
  const timer = setInterval(async () => {
    if (document.hidden) return;
    const ok = await askReady(ending.signal).then((of) => of.ok, () => false);
    if (ending.signal.aborted) return;
    if (ok && wasGone) then();
    wasGone ||= !ok;
    if (ok) clearInterval(timer);
  }, EVERY);
  return () => { ending.abort(); clearInterval(timer); };
}
