import { html, useRef } from '../lib/html.js';
import { duration, number } from './amounts.js';

/**
 * How far something is, as a bar and in words.
 * @param {{ label: string, done: number, total: number, unit?: string, left?: number, children?: any }} props
 *   total is 0 where it is not known; left is the seconds that it will take yet, undefined where nobody knows
 */
export function Progress({ label, done, total, unit = '', left, children }) {
  const share = total > 0 ? Math.min(1, done / total) : undefined;
  const many = total > 0 ? `${Math.floor((share ?? 0) * 100)}%: ${number(done)} of ${number(total)}` : done > 0 ? `${number(done)}` : '';
  const words = [many && [many, unit].filter(Boolean).join(' '), left === undefined ? 'time left not known yet' : `about ${duration(left)} left`].filter(Boolean).join(', ');
  return html`<div class="progress"><progress aria-label=${label} max="1" value=${share} /><span>${words}${children}</span></div>`;
}

/**
 * Returns how many seconds something takes yet, by what was done since it was seen first. It is undefined as long as that is too little to tell.
 * @param {string} of changes with what is being done
 * @param {number} done
 * @param {number} total
 */
export function useLeft(of, done, total) {
  const first = useRef({ of: '', done: 0, time: 0, last: 0, lastTime: 0 });
  const at = first.current;
  const time = performance.now();
  if (at.of !== of || done < at.last) first.current = { of, done, time, last: done, lastTime: time };
  else if (done > at.last) Object.assign(at, { last: done, lastTime: time });
  const { done: from, time: since, last, lastTime } = first.current;
  if (total <= 0 || last <= from || lastTime <= since) return undefined;
  const left = (total - last) * (lastTime - since) / (last - from) / 1000;
  return Math.max(0, left - (time - lastTime) / 1000);
}
