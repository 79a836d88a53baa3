import { html, useState } from '../../lib/html.js';
import { request } from '../../lib/http.js';
import { asProblem } from '../../lib/load.js';
import { Dialog } from '../../ui/dialog.js';
import { ProblemAlert } from '../../ui/problem.js';
import { Visible } from '../../ui/text.js';

/**
 * What can be done with a parked batch, and what shows how it went.
 * @typedef {object} Deeds
 * @property {(group: string, batch: any) => void} retry
 * @property {(group: string, batch: any) => void} drop asks first
 * @property {any} shown
 */

/**
 * Lets parked batches be given again, or be dropped.
 * @param {() => void} refresh
 * @param {{ current: HTMLElement | null }} heading takes the focus once the button that had it is gone
 * @returns {Deeds}
 */
export function useDeeds(refresh, heading) {
  const [asking, setAsking] = useState(/** @type {{ group: string, batch: any } | null} */ (null));
  const [said, setSaid] = useState('');
  const [problem, setProblem] = useState(/** @type {any} */ (undefined));
  const go = async (/** @type {string} */ method, /** @type {string} */ group, /** @type {any} */ batch) => {
    setProblem(undefined);
    try {
      const path = ['_groups', group, '_parked', batch.id, ...(method === 'POST' ? ['_retry'] : [])];
      await request({ method, path, headers: method === 'POST' ? { 'Content-Type': 'application/json' } : {} });
      setSaid(method === 'POST' ? 'The batch is given again before anything else of its partition.' : 'The batch was dropped.');
    } catch (error) {
      setSaid('');
      setProblem(asProblem(error));
    }
    heading.current?.focus();
    refresh();
  };
  const close = () => setAsking(null);
  const shown = html`<p role="status">${said}</p><${ProblemAlert} problem=${problem} />
    ${asking && html`<${Dialog} title="Drop the batch" onClose=${close}>
      <p>Group <b><${Visible} text=${asking.group} max=${200} /></b>, partition ${asking.batch.partition}: the changes behind <code>${asking.batch.from}</code>, up to <code>${asking.batch.to}</code>, will never be given to a member again.</p>
      <p>It failed with: <code><${Visible} text=${asking.batch.error} max=${1000} /></code></p>
      <p class="actions"><button type="button" onClick=${() => { close(); go('DELETE', asking.group, asking.batch); }}>Drop</button> <button type="button" data-focus onClick=${close}>Keep it</button></p>
    <//>`}`;
  return { retry: (group, batch) => go('POST', group, batch), drop: (group, batch) => setAsking({ group, batch }), shown };
}
