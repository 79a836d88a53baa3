// Times as people write and read them, in their own zone. The API takes positions, and times of RFC 3339.
/** A position: its event, a number within it, the store, and perhaps a version of the fold. */
const position = /^(\d+)(?:-\d+)?(?:-[0-9a-z-]+)?$/i;

/** Tells whether a text is a position, or may be one. @param {string} text */
export const isPosition = (text) => position.test(text) && !/^\d{4}-\d\d-\d\d$/.test(text);

/** The event of a position, 0 where it is none. @param {string} text */
export const eventAt = (text) => Number(position.exec(text)?.[1] ?? 0);

/** How long what is written as -1h is, in milliseconds. @type {Record<string, number>} */
const UNITS = { s: 1000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

const ago = /^-\s*(\d+(?:\.\d+)?)\s*(s|min|m|h|d|w)$/i;
const clockTime = /^(\d{1,2}):(\d\d)(?::(\d\d))?$/;
const dateTime = /^(\d{4}-\d\d-\d\d)(?:[ T](\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?))?(?:\s*(Z|UTC))?$/i;

/**
 * Returns what the API takes for what somebody wrote: a position, a time with its zone, a date, a time of today, how long ago (-1h), or
 * what the console shows. A text of another kind is returned as it is, and the API says what it takes.
 * @param {string} text
 * @param {Date} [now]
 */
export function momentOf(text, now = new Date()) {
  const typed = text.trim();
  if (typed === '' || isPosition(typed)) return typed;
  const [, count, unit] = ago.exec(typed) ?? [];
  if (unit) return new Date(now.getTime() - Number(count) * UNITS[unit.toLowerCase()]).toISOString();
  const [, hours, minutes, seconds = '0'] = clockTime.exec(typed) ?? [];
  if (minutes) {
    const then = new Date(now);
    then.setHours(Number(hours), Number(minutes), Number(seconds), 0);
    if (then > now) then.setDate(then.getDate() - 1); // what is to come has no past
    return Number(hours) < 24 ? iso(then, typed) : typed;
  }
  const [, date, time = '0:00', zone = ''] = dateTime.exec(typed) ?? [];
  return date ? iso(new Date(`${date}T${time.padStart(time.indexOf(':') === 1 ? time.length + 1 : 0, '0')}${zone && 'Z'}`), typed) : typed;
}

/** @param {Date} at @param {string} otherwise */
const iso = (at, otherwise) => (Number.isNaN(at.getTime()) ? otherwise : at.toISOString());

/** @param {number} n */
const two = (n) => String(n).padStart(2, '0');

/** Returns the day in the reader's zone. @param {Date} at */
const dayOf = (at) => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;

/**
 * Returns a time to the second, in the reader's zone. The field "At" takes it.
 * @param {Date} at
 */
export const localForm = (at) =>
  `${dayOf(at)} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}${at.getTimezoneOffset() === 0 ? ' UTC' : ''}`;

/**
 * Returns a time in words where it is recent, and to the second otherwise.
 * @param {Date} at
 * @param {number} now
 */
export function wordsOf(at, now) {
  const seconds = Math.round((now - at.getTime()) / 1000);
  if (seconds < -5 || seconds >= 3600) return localForm(at);
  if (seconds < 10) return 'just now';
  return seconds < 60 ? `${seconds - (seconds % 10)} s ago` : `${Math.floor(seconds / 60)} min ago`;
}
