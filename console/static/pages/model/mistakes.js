import { html } from '../../lib/html.js';
import { offsetOf } from '../../json/lines.js';
import { without } from '../../ui/preview.js';
import { ProblemAlert } from '../../ui/problem.js';
import { select } from '../../ui/select.js';
import { Visible } from '../../ui/text.js';

/** How many mistakes are shown. */
const SHOWN = 100;

/**
 * Why a model is refused: each mistake with a button that goes to its line and column.
 * @param {{ problem?: import('../../lib/http.js').Problem, text: string, box: { current: HTMLTextAreaElement | null } }} props text that was sent
 */
export function ModelProblem({ problem, text, box }) {
  if (!problem || problem.status === 412) return null; // it says itself that the model changed meanwhile
  const list = /** @type {any[]} */ (Array.isArray(problem.of.problems) ? problem.of.problems : []);
  const own = list.length === 0 && problem.of.line ? [{ ...problem.of, path: '' }] : list;
  return html`<${ProblemAlert} problem=${without(problem)}>
    ${own.length > 0 && html`<ul class="mistakes" aria-label="Mistakes">${own.slice(0, SHOWN).map((one) => html`<li><${Place} of=${one} text=${text} box=${box} />
      ${one.path && html`<code><${Visible} text=${String(one.path)} max=${200} /></code> `}<${Visible} text=${String(one.detail ?? '')} max=${1000} /></li>`)}
      ${own.length > SHOWN && html`<li class="quiet">and ${own.length - SHOWN} more</li>`}</ul>`}<//>`;
}

/**
 * @param {{ of: any, text: string, box: { current: HTMLTextAreaElement | null } }} props
 */
function Place({ of: { line, column }, text, box }) {
  if (!line) return null;
  const go = () => {
    if (!box.current) return;
    const from = offsetOf(text, line, column ?? 1);
    const end = text.indexOf('\n', from);
    select(box.current, from, end < 0 ? text.length : end);
  };
  return html`<button type="button" class="plain" onClick=${go}>line ${line}, column ${column ?? 1}</button>: `;
}
