import { html, useLayoutEffect, useRef, useState } from '../lib/html.js';

/** How many items are shown at first, and how many more at each step. */
const STEP = 20;

/**
 * A list whose items are shown twenty at a time. The focus goes to the first new one.
 * @param {{ label: string, items: any[], item: (of: any, i: number) => any, ids?: boolean, more?: () => void, busy?: boolean }} props
 *   ids says that the items are short; more is called where items end and others can be had
 */
export function MoreList({ label, items, item, ids = false, more, busy = false }) {
  const [max, setMax] = useState(STEP);
  const fresh = useRef(/** @type {HTMLElement | null} */ (null));
  const first = max - STEP;
  const isThere = items.length > first;
  useLayoutEffect(() => { if (first > 0 && isThere) fresh.current?.focus(); }, [first, isThere]);
  const next = () => {
    if (items.length < max + STEP) more?.();
    setMax(max + STEP);
  };
  const isMore = items.length > max || more !== undefined && items.length >= max;
  return html`<ul aria-label=${label} class=${ids ? 'more-list ids' : 'more-list'}>${items.slice(0, max).map((of, i) => html`<li key=${i} ref=${first > 0 && i === first ? fresh : undefined} tabindex=${first > 0 && i === first ? -1 : undefined}>${item(of, i)}</li>`)}</ul>
    ${isMore && html`<button type="button" class="small" disabled=${busy} aria-label=${`Show 20 more of ${label}`} onClick=${next}>Show 20 more</button>`}`;
}
