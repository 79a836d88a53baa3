import { html, useState } from '../../lib/html.js';
import { request } from '../../lib/http.js';
import { asProblem } from '../../lib/load.js';
import { plain } from '../../json/value.js';
import { scan } from '../../json/scan.js';
import { number, size } from '../../ui/amounts.js';
import { Confirm } from '../../ui/confirm.js';
import { ProblemAlert } from '../../ui/problem.js';
import { Section } from '../../ui/section.js';
import { Verification } from './verification.js';

/** @typedef {import('../../lib/http.js').Asked} Asked */

/** What a command sends, but for its choice. @type {Record<string, (other: boolean) => Asked>} */
const COMMANDS = {
  Verify: (log) => ({ method: 'POST', path: ['_verify'], query: log ? { log } : {}, headers: { Prefer: 'respond-async', 'Content-Type': 'application/json' } }),
  Snapshot: () => ({ method: 'POST', path: ['_snapshot'], headers: { 'Content-Type': 'application/json' } }),
  Replay: (check) => ({ method: 'POST', path: ['_replay'], body: check ? '{"check":true}' : '{}' }),
};

/**
 * The commands of an administrator, each confirmed by its name, and what came of them.
 * @param {{ status: any, refresh: () => void }} props
 */
export function Maintenance({ status, refresh }) {
  const [asking, setAsking] = useState('');
  const [other, setOther] = useState(false);
  const [said, setSaid] = useState('');
  const [problem, setProblem] = useState(/** @type {any} */ (undefined));
  const [work, setWork] = useState('');
  const embedded = status.log === 'embedded';
  const open = (/** @type {string} */ name) => { setOther(false); setAsking(name); };
  const go = async (/** @type {string} */ name) => {
    setAsking('');
    setProblem(undefined);
    setSaid(`${name}: under way`);
    try {
      const answer = plain(scan((await request(COMMANDS[name](other))).text));
      if (name === 'Verify') return setWork(answer.id);
      setSaid(name === 'Snapshot' ? `Snapshot: ${size(answer.bytes)}, up to event ${number(answer.seq)}` : 'Replay: has begun');
      refresh();
    } catch (error) {
      setSaid('');
      setProblem(asProblem(error));
    }
  };
  const close = () => setAsking('');
  const ended = () => {
    setSaid('');
    refresh();
  };
  return html`<${Section} title="Maintenance">
    <p class="actions"><button type="button" onClick=${() => open('Verify')}>Verify</button>
      ${!embedded && html`<button type="button" onClick=${() => open('Snapshot')}>Snapshot</button>`}
      <button type="button" onClick=${() => open('Replay')}>Replay</button> <span role="status">${said}</span></p>
    ${embedded && html`<p class="quiet">Snapshots are for new nodes of a log on outside NATS servers; this log is embedded.</p>`}
    <${ProblemAlert} problem=${problem} />
    <${Verification} status=${status} work=${work} onEnd=${ended} />
    <${Checked} check=${status.replay?.check} running=${status.replay?.running} />
    ${asking === 'Verify' && html`<${Confirm} name="Verify" onGo=${() => go('Verify')} onClose=${close}>
      <${Choice} of="What is verified" first="Each derived value, recomputed from the documents as written" second="The log, read through and compared with what was folded from it" chosen=${other} onChoose=${setOther} />
      <p>Reads and writes go on. It takes a core for as long as it needs.</p><//>`}
    ${asking === 'Snapshot' && html`<${Confirm} name="Snapshot" onGo=${() => go('Snapshot')} onClose=${close}>
      <p>The read model is copied into the object store beside the log, where new nodes find it. The newest two are kept. Reads and writes go on.</p><//>`}
    ${asking === 'Replay' && html`<${Confirm} name="Replay" onGo=${() => go('Replay')} onClose=${close}>
      <${Choice} of="What the replay is for" first="The new read model is put in place of this one" second="Each row of this one is compared with it, and the new one is removed" chosen=${other} onChoose=${setOther} />
      <p>The read model of this node is built anew from the log, beside the live one. Reads and writes go on. It needs room for a second read model.</p><//>`}
  <//>`;
}

/**
 * One of two ways to do something.
 * @param {{ of: string, first: string, second: string, chosen: boolean, onChoose: (second: boolean) => void }} props
 */
const Choice = ({ of, first, second, chosen, onChoose }) => html`<fieldset><legend>${of}</legend>
  <label><input type="radio" name="way" checked=${!chosen} onChange=${() => onChoose(false)} /> ${first}</label>
  <label><input type="radio" name="way" checked=${chosen} onChange=${() => onChoose(true)} /> ${second}</label></fieldset>`;

/**
 * What a replay that only compares has found.
 * @param {{ check: any, running: boolean }} props
 */
function Checked({ check, running }) {
  if (!check || running) return null;
  const { rows, different, first, tables } = check;
  return html`<p>The replay compared ${number(rows)} rows: ${different === 0 ? 'none differs.' : html`<strong>${number(different)} differ</strong>${tables && ` (${Object.entries(tables).map(([name, n]) => `${name}: ${number(n)}`).join(', ')})`}.
    ${first && html` The first is ${first.kind}: ${first.table} <code>${first.key}</code>.`} “Replay” mends it.`}</p>`;
}
