import { html } from '../../lib/html.js';
import { lineAndColumn } from '../../json/lines.js';
import { nodeAt } from '../../json/pointer.js';
import { NotJSON, scan } from '../../json/scan.js';
import { select } from '../../ui/select.js';
import { Visible } from '../../ui/text.js';

/**
 * What is wrong at a place of the text.
 * @typedef {{ what: string, from: number, to: number }} Mistake
 */

/**
 * Returns what is wrong with a text that is not JSON, or no document.
 * @param {NotJSON} error
 * @returns {Mistake}
 */
export const mistakeOf = (error) => ({ what: error.message, from: error.at, to: error.at + 1 });

/**
 * Returns the places in a text that a refusal is about. A member that is not there is looked for in what is around it.
 * @param {string} text JSON
 * @param {import('../../lib/http.js').Problem} problem
 * @returns {Mistake[]}
 */
export function mistakesOf(text, problem) {
  const list = /** @type {any[]} */ (Array.isArray(problem.of.problems) ? problem.of.problems : []);
  const root = scan(text);
  return list.filter((one) => typeof one.path === 'string' && /^(?:\/|$)/.test(one.path)).slice(0, 100).map((one) => {
    let path = String(one.path);
    while (path !== '' && !nodeAt(root, path)) path = path.slice(0, path.lastIndexOf('/'));
    const node = nodeAt(root, path) ?? root;
    return { what: String(one.path) + ' ' + String(one.detail ?? ''), from: node.start, to: node.members || node.elements ? node.start + 1 : node.end };
  });
}

/**
 * Mistakes by line and column, each with a button that goes there.
 * @param {{ text: string, mistakes: Mistake[], box: { current: HTMLTextAreaElement | null } }} props text in which they are
 */
export const Mistakes = ({ text, mistakes, box }) => html`<ul class="mistakes">${mistakes.map(({ what, from, to }) => {
  const { line, column } = lineAndColumn(text, from);
  return html`<li><button type="button" class="plain" onClick=${() => box.current && select(box.current, from, to)}>line ${line}, column ${column}</button>: <${Visible} text=${what} max=${1000} /></li>`;
})}</ul>`;
