import { html, useLayoutEffect, useRef, useState } from '../lib/html.js';
import { Visible } from './text.js';

/** How many characters are shown at first, and how many more at each step. */
const FIRST = 500;
const STEP = 10_000;

/**
 * A text that is cut where it is long. A button shows the rest in steps.
 * @param {{ text: string, of: string, first?: number }} props of names what the text is of
 */
export function LongText({ text, of, first = FIRST }) {
  const [steps, setSteps] = useState(0);
  const shown = useRef(/** @type {HTMLElement | null} */ (null));
  const pieces = [];
  let end = 0;
  for (let i = 0; i <= steps && end < text.length; i++) {
    const from = end;
    end = whole(text, first + i * STEP);
    pieces.push(text.slice(from, end));
  }
  const left = text.length - end;
  // The button goes with the last step, and the focus must not go with it.
  useLayoutEffect(() => { if (steps > 0 && left === 0) shown.current?.focus(); }, [steps, left]);
  return html`<span class="pieces" ref=${shown} tabindex="-1">${pieces.map((piece, i) => html`<span key=${i}><${Visible} text=${piece} /></span>`)}${left > 0 && '…'}</span>
    ${left > 0 && html` <button type="button" class="small" aria-label=${`Show more of ${of}`} onClick=${() => setSteps(steps + 1)}>Show more</button> <span class="quiet">${left.toLocaleString('en')} characters left</span>`}`;
}

/**
 * Returns a text as it is shown. One that is short needs no component, of which a page may have hundreds.
 * @param {string} text
 * @param {string} of names what the text is of
 * @param {number} [first]
 */
export const shortOrLong = (text, of, first = FIRST) => (text.length <= first ? Visible({ text }) : html`<${LongText} text=${text} of=${of} first=${first} />`);

/**
 * Returns the last place up to another at which no pair of surrogates is cut.
 * @param {string} text
 * @param {number} at
 */
function whole(text, at) {
  if (at >= text.length) return text.length;
  return /[\ud800-\udbff]/.test(text[at - 1]) ? at - 1 : at;
}
