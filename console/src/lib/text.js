// Characters that change how the text around them looks, or cannot be seen, are shown as their code points.
import { signal, useEffect, useState } from './html.js';
import { hidden } from './jsontext.js';

/** @param {string} character */
const codePoint = (character) => 'U+' + (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');

/**
 * Returns pieces of a text: those at odd places are the code points of hidden characters.
 * @param {string} text
 * @returns {string[]}
 */
export function pieces(text) {
  const out = [];
  let from = 0;
  for (const found of text.matchAll(hidden)) {
    out.push(text.slice(from, found.index), codePoint(found[0]));
    from = found.index + found[0].length;
  }
  out.push(text.slice(from));
  return out;
}

/**
 * Returns a text with the code points of hidden characters in their places, for where no element may stand.
 * @param {string} text
 */
export const visible = (text) =>
  pieces(text)
    .map((piece, i) => (i % 2 ? '‹' + piece + '›' : piece))
    .join('');

/** Tells whether the tab is hidden, as long as a component is on the page. */
export function useHidden() {
  const [hidden, setHidden] = useState(document.hidden);
  useEffect(() => {
    const look = () => setHidden(document.hidden);
    look();
    document.addEventListener('visibilitychange', look);
    return () => document.removeEventListener('visibilitychange', look);
  }, []);
  return hidden;
}

/** How often what is told in words is told anew, in milliseconds. */
const TICK = 10_000;

/** What time it is, to ten seconds. @type {import('@preact/signals').Signal<number>} */
const clock = signal(Date.now());

let ticks = false;

/** Returns what time it is, and has whoever asks told again as time goes by. */
export function clockNow() {
  if (!ticks) {
    ticks = true;
    clock.value = Date.now();
    setInterval(() => {
      if (!document.hidden) clock.value = Date.now();
    }, TICK);
  }
  return Math.max(clock.value, Date.now() - TICK);
}
