import { html, useId } from '../../lib/html.js';
import { placeHref } from '../../lib/place.js';
import { counted } from '../../ui/amounts.js';
import { Visible } from '../../ui/text.js';
import { Time } from '../../ui/time.js';

/**
 * A parked batch: why it failed, what is in it, and what an administrator can do with it.
 * @param {{ group: any, batch: any, admin: boolean, deeds: import('./deeds.js').Deeds }} props
 */
export function Batch({ group, batch, admin, deeds }) {
  const id = useId();
  const { collections, filter } = group.settings;
  const changes = placeHref(['_changes'], { since: batch.from, collections: collections?.join(','), filter });
  return html`<div id=${id}><code><${Visible} text=${batch.error || 'no error was told'} max=${500} /></code>
      <div class="quiet">partition ${batch.partition}, ${batch.time ? html`${counted(batch.attempts, 'attempt')}${batch.member && html` by <${Visible} text=${batch.member} max=${128} />`}, <${Time} text=${batch.time} />` : 'parked before a restore'},
      ${' '}<a href=${changes}>changes</a> behind <code><${Visible} text=${batch.from} /></code> up to <code><${Visible} text=${batch.to} /></code></div></div>
    ${(admin || batch.retry) && html`<div class="actions">${batch.retry && html`<span>is to be given again</span>`}
      ${admin && !batch.retry && html`<button type="button" class="small" aria-describedby=${id} onClick=${() => deeds.retry(group.name, batch)}>Retry</button>`}
      ${admin && html`<button type="button" class="small" aria-describedby=${id} onClick=${() => deeds.drop(group.name, batch)}>Drop</button>`}</div>`}`;
}
