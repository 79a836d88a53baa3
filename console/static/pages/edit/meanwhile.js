import { useEffect, useState } from '../../lib/html.js';
import { useLive } from '../../lib/live.js';
import { asProblem } from '../../lib/load.js';
import { readIfThere } from './read.js';

/** @typedef {import('./read.js').Read} Read */

/**
 * What was met: the document as it is now, or why that is not known.
 * @typedef {object} Met
 * @property {boolean} known
 * @property {Read} [theirs] undefined where it was deleted
 * @property {import('../../lib/http.js').Problem} [problem]
 * @property {string} typed what stands in the text box
 */

/**
 * Follows the document that is edited, and reads it anew where somebody else wrote it. Derived changes are no conflict.
 * @param {{ collection: string, id: string, base: Read | undefined, text: () => string, writing: import('../../lib/writing.js').Writing, done: { current: boolean } }} props
 *   base is what is edited; done says that it is saved
 */
export function useMeanwhile({ collection, id, base, text, writing, done }) {
  const [met, setMet] = useState(/** @type {Met | null} */ (null));
  useEffect(() => setMet(null), [collection, id]); // of a new document another id may be typed
  const meet = async () => {
    try {
      const theirs = await readIfThere(collection, id);
      setMet({ known: true, theirs, typed: text() });
    } catch (error) {
      const problem = asProblem(error);
      setMet((now) => ({ known: false, typed: text(), ...now, problem }));
    }
  };
  useLive([collection], base ? (met?.theirs ?? base).position : '', (rows) => {
    if (done.current || writing.state.phase === 'sending' || writing.state.unknown) return; // it may be the save itself
    const seen = Math.max(base?.revision ?? 0, met?.theirs?.revision ?? 0);
    if (!rows.some((row) => row.id === id && row.op !== 'derive' && row.rev > seen)) return;
    writing.stop();
    meet();
  });
  return { met, meet, retype: () => setMet((now) => now && { ...now, typed: text() }), forget: () => setMet(null) };
}
