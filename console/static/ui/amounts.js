// Amounts in words.

/**
 * Returns a number with its thousands apart. One that JavaScript would round is a text, and stays as it is.
 * @param {number | string} n
 */
export const number = (n) => (typeof n === 'number' ? n.toLocaleString('en') : n);

/**
 * Returns a number with what is counted.
 * @param {number | string} n
 * @param {string} what one of it
 */
export const counted = (n, what) => `${number(n)} ${what}${n === 1 ? '' : 's'}`;

/**
 * Returns how long something takes.
 * @param {number} seconds
 */
export function duration(seconds) {
  if (seconds > 0 && seconds < 1) return `${Math.max(1, Math.round(seconds * 1000))} ms`;
  if (seconds < 10) return `${Math.round(seconds * 10) / 10} s`;
  const s = Math.round(seconds);
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h ${Math.floor(s / 60) % 60} min`;
  return `${number(Math.floor(s / 86_400))} d ${Math.floor(s / 3600) % 24} h`;
}

/**
 * Returns a size.
 * @param {number} n bytes
 */
export function size(n) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let unit = 0;
  for (; n >= 1000 && unit < units.length - 1; unit++) n /= 1000;
  return `${unit === 0 || n >= 100 ? Math.round(n) : Math.round(n * 10) / 10} ${units[unit]}`;
}
