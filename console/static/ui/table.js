import { html } from '../lib/html.js';

/**
 * A table that scrolls sideways within itself where it is wider than the page.
 * @param {{ label: string, head: (string | [string])[], children?: any }} props head names the columns; one of numbers is in brackets
 */
export const Table = ({ label, head, children }) => html`<div class="scroll" tabindex="0" role="group" aria-label=${`${label}, which may scroll`}><table aria-label=${label}>
  <thead><tr>${head.map((name) => (Array.isArray(name) ? html`<th scope="col" class="number">${name[0]}</th>` : html`<th scope="col">${name}</th>`))}</tr></thead>
  <tbody>${children}</tbody></table></div>`;
