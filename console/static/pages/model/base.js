import { useEffect, useRef, useState } from '../../lib/html.js';
import { asProblem } from '../../lib/load.js';
import { loadText } from './load.js';

/** @typedef {{ text: string, etag: string }} Base */

/**
 * The text that is edited, and what it was made from. Another model takes its place, unless somebody has typed in it.
 * @param {string} etag of the model that applies
 * @param {{ current: HTMLTextAreaElement | null }} box
 */
export function useBase(etag, box) {
  const [base, setBase] = useState(/** @type {Base | null} */ (null));
  const [theirs, setTheirs] = useState(/** @type {Base | null} */ (null));
  const [problem, setProblem] = useState(/** @type {import('../../lib/http.js').Problem | undefined} */ (undefined));
  const [tries, setTries] = useState(0);
  const now = useRef(base);
  now.current = base;
  useEffect(() => {
    if (etag === '' || now.current?.etag === etag) return undefined;
    const ending = new AbortController();
    loadText(ending.signal).then((come) => {
      const typed = box.current?.value;
      setProblem(undefined);
      if (now.current === null || typed === undefined || typed === now.current.text || typed === come.text) take(come);
      else setTheirs(come);
    }).catch((error) => { if (!ending.signal.aborted) setProblem(asProblem(error)); });
    return () => ending.abort();
  }, [etag, tries]);

  /** Puts a text into the text box, as the one that applies. @param {Base} come */
  const take = (come) => {
    if (box.current && box.current.value !== come.text) box.current.value = come.text;
    now.current = come;
    setBase(come);
    setTheirs(null);
  };
  return {
    base, theirs, problem,
    again: () => setTries((n) => n + 1),
    takeTheirs: () => { if (theirs) take(theirs); },
    /** Says that a text applies, or is to. The next model takes its place. */
    applied: (/** @type {string} */ text) => { if (base) setBase({ ...base, text }); setTheirs(null); },
    /** Compares with the model that applies from here on, and returns its entity tag. */
    against: () => {
      if (!theirs) return base?.etag ?? '';
      setBase(theirs);
      setTheirs(null);
      return theirs.etag;
    },
  };
}
