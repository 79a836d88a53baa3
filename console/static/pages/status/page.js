import { html, useState } from '../../lib/html.js';
import { ask } from '../../lib/http.js';
import { key } from '../../lib/key.js';
import { hasRole } from '../../lib/me.js';
import { usePolled } from '../../lib/poll.js';
import { CopyAsCurl } from '../../ui/curl.js';
import { ProblemAlert } from '../../ui/problem.js';
import { Groups } from './groups.js';
import { History } from './history.js';
import { Maintenance } from './maintenance.js';
import { Nodes } from './nodes.js';
import { Rules } from './rules.js';
import { isRunning, Running } from './running.js';
import { Slow } from './slow.js';
import { State } from './state.js';
import { Warnings } from './warnings.js';

/** How long until the status is asked for again, while something runs and else, in milliseconds. */
const RUNNING = 5000;
const RESTING = 10_000;

const asked = { path: ['_status'] };

/** How the store runs, and the commands of its administrators. */
export function StatusPage() {
  const admin = hasRole('admin');
  const [all, setAll] = useState(false);
  const { value: status, problem, again } = usePolled((signal) => ask({ ...asked, signal }), [key.value], (of) => (isRunning(of) ? RUNNING : RESTING));
  return html`<${ProblemAlert} problem=${problem} again=${again} />
    ${status && html`<${Warnings} status=${status} />
      <div class="columns"><${State} status=${status} /><div><${Running} status=${status} /><${History} status=${status} /></div></div>
      ${admin && !status.readOnly && html`<${Maintenance} status=${status} refresh=${again} />`}
      <${Nodes} status=${status} />`}
    <${Groups} admin=${admin} />
    ${status && html`<${Rules} status=${status} />
      <${Slow} status=${status} all=${all} onAll=${() => setAll(true)} />`}
    <${CopyAsCurl} asked=${asked} />`;
}
