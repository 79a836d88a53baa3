import { html } from '../../lib/html.js';
import { placeHref } from '../../lib/place.js';
import { number } from '../../ui/amounts.js';
import { Section } from '../../ui/section.js';
import { Visible } from '../../ui/text.js';
import { LagText, ownLag } from './lag.js';

/** What an answered write can rely on. @type {Record<string, string>} */
const DURABILITY = { always: 'a write is on disk before it is answered', interval: 'a write is on disk within two minutes', unverified: 'as the NATS servers have it, which was not verified' };

/** Who syncs the log. @type {Record<string, string>} */
const SYNC = { group: 'one fsync for all writes at a time', server: 'an fsync for each message, as the log’s files are not as expected', none: 'the server syncs every two minutes' };

/**
 * Where the node stands.
 * @param {{ status: any }} props
 */
export function State({ status }) {
  const { foldVersion: fold, replicas, activated, withdrawn } = status;
  return html`<${Section} title="This node"><dl>
    <dt>Position</dt><dd><code><${Visible} text=${status.position} /></code></dd>
    <dt>Lag</dt><dd><${LagText} of=${ownLag(status)} />, event ${number(status.applied)} is the last folded one</dd>
    <dt>Model</dt><dd>${status.model ? html`<a href=${placeHref(['_model'])}>of event ${number(status.model)}</a>` : 'none'}${activated && activated.model === status.model && `: changed ${number(activated.documents)} documents`}</dd>
    ${withdrawn && html`<dt>Withdrawn model</dt><dd>of event ${number(withdrawn.model)}: <${Visible} text=${withdrawn.reason} max=${1000} /></dd>`}
    <dt>Fold</dt><dd>version ${fold.version}${fold.newest > fold.version ? `; this program knows ${fold.newest}` : ', the newest'} <span class="quiet">(<${Visible} text=${status.fold} max=${200} />)</span></dd>
    <dt>Log</dt><dd>${status.readOnly ? 'none: the server has one position, and nothing later' : status.log === 'embedded' ? 'embedded' : html`<${Visible} text=${status.log} max=${500} />`}${replicas && `, ${replicas.current} of ${replicas.configured} replicas are current`}${!status.logErasable && !status.readOnly && '; it lets nothing be erased'}</dd>
    <dt>Durability</dt><dd>${DURABILITY[status.durability] ?? status.durability}${status.sync && `; ${SYNC[status.sync] ?? status.sync}`}</dd>
    <dt>Program</dt><dd><${Visible} text=${status.version} max=${100} /></dd>
  </dl><//>`;
}
