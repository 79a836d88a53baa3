import { html } from '../lib/html.js';

/**
 * A time of the API, in UTC and to the second. The whole of it is in the title.
 * @param {{ text: string }} props an RFC 3339 time, or that of a header
 */
export function Time({ text }) {
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return text;
  const iso = at.toISOString();
  return html`<time datetime=${iso} title=${text}>${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC</time>`;
}
