import { html } from '../lib/html.js';
import { Visible } from './text.js';

/** @typedef {import('../lib/http.js').Problem} Problem */

/**
 * A problem as an alert: what is wrong, what to do, and a button to try again. One that passes is told in a line.
 * @param {{ problem: Problem | undefined, again?: () => void, asked?: boolean, children?: any }} props again of a problem that passes is called without the
 *   button, too, unless asked says that nobody but the reader calls it
 */
export function ProblemAlert({ problem, again, asked = false, children }) {
  if (!problem) return null;
  if (problem.passing && again && !asked) {
    return html`<div role="alert" class="problem"><strong><${Visible} text=${problem.title} /></strong>${problem.detail && html`: <${Visible} text=${problem.detail} max=${300} />`}
      ${' '}It is tried again by itself, and what is shown stays. <button type="button" onClick=${again}>Try again</button>${children}</div>`;
  }
  const list = /** @type {any[]} */ (Array.isArray(problem.of.problems) ? problem.of.problems : []).slice(0, 100);
  return html`<div role="alert" class="problem">
    <strong><${Visible} text=${problem.title} /></strong>
    ${problem.detail && html`<p><${Visible} text=${problem.detail} max=${4000} /></p>`}
    ${list.length > 0 && html`<ul>${list.map((p) => html`<li>${p.path && html`<code><${Visible} text=${String(p.path)} max=${200} /></code> `}<${Visible} text=${String(p.detail ?? '')} max=${1000} /></li>`)}</ul>`}
    ${children}
    ${again && html`<button type="button" onClick=${again}>Try again</button>`}
  </div>`;
}
