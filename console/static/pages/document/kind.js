import { html } from '../../lib/html.js';
import { Visible } from '../../ui/text.js';

/**
 * The mark of a derived value: what its rule does, and whether it stays as it is.
 * @param {{ kind: string, state?: string }} props
 */
export const Kind = ({ kind, state }) => html`<span class="kind"><${Visible} text=${kind} max=${40} />${state && state !== 'no value' && html`, <${Visible} text=${state} max=${80} />`}</span>`;
