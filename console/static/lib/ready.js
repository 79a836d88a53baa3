import { keyHeaders } from './key.js';

/**
 * Asks the node whether it is ready, and why not.
 * @param {AbortSignal} [signal]
 * @returns {Promise<{ ok: boolean, status: number, of: any }>} of is what it says
 */
export async function askReady(signal) {
  const response = await fetch(new URL('../readyz', document.baseURI), { headers: keyHeaders(), cache: 'no-store', signal });
  return { ok: response.ok, status: response.status, of: await response.json() };
}
