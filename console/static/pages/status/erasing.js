import { html } from '../../lib/html.js';
import { counted } from '../../ui/amounts.js';
import { Visible } from '../../ui/text.js';
import { Time } from '../../ui/time.js';

/** What a phase does. @type {Record<string, string>} */
const PHASES = {
  replaying: 'read models that never had the contents are being built',
  switching: 'the nodes put them in place',
  deleting: 'messages and older copies go',
  residue: 'a NATS server may have something yet',
  done: 'nothing of it is left',
};

/**
 * An erasure: how far it is, whom it waits for, and what is left to do by hand.
 * @param {{ erasure: any }} props
 */
export function Erasing({ erasure: of }) {
  const nodes = /** @type {string[]} */ (of.nodes ?? []);
  const residue = /** @type {any[]} */ (of.residue ?? []);
  return html`<h3>Erasure ${of.number}: ${of.phase}</h3>
    <p>${counted(of.documents, 'document')}, ${counted(of.events, 'event')}, asked for <${Time} text=${of.time} />${of.by && html` by <${Visible} text=${of.by} max=${100} />`}: ${PHASES[of.phase] ?? of.phase}.
      ${nodes.length > 0 && html` It waits for <${Visible} text=${nodes.join(', ')} max=${1000} />.`}
      ${of.error && html` It is tried again: <${Visible} text=${of.error} max=${1000} />`}</p>
    ${residue.length > 0 && html`<ul aria-label="What a NATS server may still have">${residue.map((one) => html`<li><${Visible} text=${one.where} max=${300} />: <${Visible} text=${one.do} max=${500} /></li>`)}</ul>`}`;
}
