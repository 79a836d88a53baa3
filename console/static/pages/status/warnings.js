import { html } from '../../lib/html.js';
import { number } from '../../ui/amounts.js';
import { Visible } from '../../ui/text.js';

/**
 * What keeps the node from its work.
 * @param {{ status: any }} props
 */
export function Warnings({ status }) {
  const { stopped, logError } = status;
  return html`${logError && html`<${Warning} title="The log cannot be used" text=${logError} />`}
    ${stopped && html`<${Warning} title=${`Event ${number(stopped.seq)} cannot be folded`} text=${stopped.reason}><p>Reads show the state before it.</p><//>`}`;
}

/** @param {{ title: string, text: string, children?: any }} props */
const Warning = ({ title, text, children }) => html`<div role="alert" class="problem"><strong>${title}</strong><p><${Visible} text=${text} max=${4000} /></p>${children}</div>`;
