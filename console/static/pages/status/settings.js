import { html } from '../../lib/html.js';
import { placeHref } from '../../lib/place.js';
import { Section } from '../../ui/section.js';
import { Visible } from '../../ui/text.js';
import { Time } from '../../ui/time.js';
import { groupLag, LagText } from './lag.js';

/** What the settings of a group are called. @type {[string, string][]} */
const NAMES = [['mode', 'Mode'], ['view', 'View'], ['derived', 'Derived changes'], ['cascades', 'Cascades'], ['filter', 'Filter'], ['since', 'Began at'], ['lease', 'Lease'], ['maxAttempts', 'Attempts'], ['role', 'Role']];

/**
 * What a group takes, and how far it is.
 * @param {{ group: any }} props
 */
export function Settings({ group }) {
  const of = group.settings;
  return html`<${Section} title="Settings"><dl>
    <dt>Lag</dt><dd><${LagText} of=${groupLag(group, group)} /></dd>
    <dt>Collections</dt><dd>${of.collections ? of.collections.map((/** @type {string} */ name, /** @type {number} */ i) => html`${i > 0 && ', '}<a href=${placeHref([name])}><${Visible} text=${name} max=${100} /></a>`) : 'all'}</dd>
    ${NAMES.filter(([name]) => of[name] !== undefined).map(([name, called]) => html`<dt key=${name}>${called}</dt><dd><code><${Visible} text=${String(of[name])} max=${500} /></code></dd>`)}
    <dt>Made</dt><dd><${Time} text=${group.created} /></dd>
  </dl><//>`;
}
