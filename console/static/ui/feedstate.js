import { html } from '../lib/html.js';
import { ProblemAlert } from './problem.js';
import { Visible } from './text.js';

/**
 * What is wrong with a feed: a line as long as it mends itself, an alert once it has ended.
 * @param {{ state: 'off' | 'open' | 'cut' | 'ended', problem?: import('../lib/http.js').Problem, again: () => void, children?: any }} props children say what helps, where another try does not
 */
export function FeedState({ state, problem, again, children }) {
  const why = problem && problem.title + (problem.detail ? ': ' + problem.detail : '');
  return html`<p role="status" class="quiet">${state === 'cut' && html`The feed was cut${why && html` (<${Visible} text=${why} max=${300} />)`}. It goes on by itself.`}</p>
    ${state === 'ended' && html`<${ProblemAlert} problem=${problem} again=${again}>${children}<//>`}`;
}
