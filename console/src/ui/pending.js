import { html, useEffect, useLayoutEffect, useState } from '../lib/html.js';
import { backToAnswered, wait } from '../lib/place.js';

/** How long an answer may take until "Cancel" stands there, in milliseconds. */
const LATE = 300;

/**
 * What a page waits for, as `useLoad` and `usePolled` return it.
 * @typedef {{ value?: any, problem?: import('../lib/http.js').Problem, busy?: boolean, stale?: boolean, cancel?: () => void }} Waited
 */

/**
 * A part of a page that shows an answer. While another question is asked, it is dim and busy. Before the first answer the form of what
 * comes stands in its place. "Cancel" leads back to the last place that was answered.
 * @param {{ of: Waited, shape?: 'table' | 'text', children?: any }} props shape is the form of what comes
 */
export function Pending({ of, shape = 'table', children }) {
  const { value, problem, stale = false, cancel } = of;
  const isFirst = value === undefined && !problem;
  const waits = isFirst || (stale && (of.busy ?? true) && !problem);
  const isLate = useLate(waits);
  useLayoutEffect(() => (waits ? wait() : undefined), [waits]);
  const giveUp = () => {
    cancel?.();
    backToAnswered();
  };
  return html`<div class=${stale ? 'pending stale' : 'pending'} aria-busy=${waits ? 'true' : undefined}>
    ${
      waits &&
      html`<div class="waiting"><div class="bar"></div>${
        isLate &&
        html`<p role="status"><span>Waiting for the answer</span>${
          cancel &&
          html` <button type="button" class="small"
        onClick=${giveUp}>Cancel</button>`
        }</p>`
      }</div>`
    }
    ${isFirst ? html`<${Skeleton} shape=${shape} />` : html`<div class="answer">${children}</div>`}
  </div>`;
}

/**
 * Tells whether something has lasted for a while.
 * @param {boolean} lasts
 */
function useLate(lasts) {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    if (!lasts) return undefined;
    const timer = setTimeout(() => setLate(true), LATE);
    return () => {
      clearTimeout(timer);
      setLate(false);
    };
  }, [lasts]);
  return lasts && isLate;
}

/** How many lines stand in the place of each form. */
const LINES = { table: 8, text: 6 };

/**
 * The form of what comes, which says nothing.
 * @param {{ shape: 'table' | 'text' }} props
 */
const Skeleton = ({ shape }) =>
  html`<div class=${'skeleton ' + shape} aria-hidden="true">${Array.from(
    { length: LINES[shape] },
    (_, i) => html`<i key=${i}></i>`,
  )}</div>`;
