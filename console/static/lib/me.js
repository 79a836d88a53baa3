// Whom the server takes the reader for. Components that want to know it share one request.
import { useEffect, useState } from './html.js';
import { ask } from './http.js';
import { key } from './key.js';

/** @type {{ key: string, me: Promise<any> } | null} */
let asked = null;

/** Returns whom the server takes the reader for, null as long as that is not known. */
export function useMe() {
  const [me, setMe] = useState(/** @type {any} */ (null));
  const used = key.value;
  useEffect(() => {
    let ended = false;
    meOf(used).then((of) => { if (!ended) setMe(of); });
    return () => { ended = true; };
  }, [used]);
  return me;
}

/** @param {string} used the key @returns {Promise<any>} */
function meOf(used) {
  if (asked?.key !== used) {
    const one = { key: used, me: ask({ path: ['_me'] }).catch(() => { if (asked === one) asked = null; return null; }) };
    asked = one;
  }
  return asked.me;
}

/**
 * Tells whether the reader may do everything. In an open house everybody may.
 * @param {any} me
 */
export const isAdmin = (me) => me?.roles?.includes('admin') === true;
