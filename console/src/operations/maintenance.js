import { html, useState } from '../lib/html.js';
import { request } from '../lib/http.js';
import { member, plain, readable, scan, textOf } from '../lib/json.js';
import { asProblem } from '../lib/load.js';
import { Confirm, Dialog, ProblemAlert } from '../ui/dialogs.js';
import { NamedDocument, Section, Table, Time, Visible, counted, duration, number, size } from '../ui/parts.js';
import { Progress } from '../ui/preview.js';
import { Verification } from './verification.js';

/** @typedef {import('../lib/http.js').Asked} Asked */

/** What a command sends, but for its choice. @type {Record<string, (other: boolean) => Asked>} */
const COMMANDS = {
  Verify: (log) => ({
    method: 'POST',
    path: ['_verify'],
    query: log ? { log } : {},
    headers: { Prefer: 'respond-async', 'Content-Type': 'application/json' },
  }),
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
  const [begun, setBegun] = useState(/** @type {{ before?: string } | null} */ (null));
  const embedded = status.log === 'embedded';
  const open = (/** @type {string} */ name) => {
    setOther(false);
    setAsking(name);
  };
  const go = async (/** @type {string} */ name) => {
    setAsking('');
    setProblem(undefined);
    if (name === 'Replay') setBegun(null);
    setSaid(`${name}: under way`);
    try {
      const answer = plain(scan((await request(COMMANDS[name](other))).text));
      if (name === 'Verify') return setWork(answer.id);
      if (name === 'Replay') setBegun({ before: status.replay?.started });
      setSaid(name === 'Snapshot' ? `Snapshot: ${size(answer.bytes)}, up to event ${number(answer.seq)}` : '');
      refresh();
    } catch (error) {
      setSaid('');
      setProblem(asProblem(error));
    }
  };
  const ended = () => {
    setSaid('');
    refresh();
  };
  return html`<${Section} title="Maintenance">
    <p class="actions"><button type="button" onClick=${() => open('Verify')}>Verify</button>
      ${!embedded && html`<button type="button" onClick=${() => open('Snapshot')}>Snapshot</button>`}
      <button type="button" onClick=${() => open('Replay')}>Replay</button> <span role="status">${
        said || (begun && sayReplay(status.replay?.started === begun.before ? undefined : status.replay))
      }</span></p>
    ${begun && status.replay?.running && html`<${Replay} replay=${status.replay} />`}
    ${embedded && html`<p class="quiet">Snapshots are for new nodes of a log on outside NATS servers; this log is embedded.</p>`}
    <${ProblemAlert} problem=${problem} />
    <${Verification} status=${status} work=${work} onEnd=${ended} />
    <${Checked} check=${status.replay?.check} running=${status.replay?.running} />
    <${Asked} name=${asking} other=${other} onOther=${setOther} onGo=${go} onClose=${() => setAsking('')} />
  <//>`;
}

/**
 * Asks before a command begins.
 * @param {{ name: string, other: boolean, onOther: (other: boolean) => void, onGo: (name: string) => void, onClose: () => void }} props
 *   name of the command, empty for none; other tells whether its second form is chosen
 */
function Asked({ name, other, onOther, onGo, onClose }) {
  const asked = (/** @type {any} */ what) => html`<${Confirm} name=${name} onGo=${() => onGo(name)} onClose=${onClose}>${what}<//>`;
  if (name === 'Verify')
    return asked(html`<${Choice} of="What is verified" first="Each derived value, recomputed from the documents as written"
        second="The log, read through and compared with what was folded from it" chosen=${other} onChoose=${onOther} />
      <p>Reads and writes go on. It takes a core for as long as it needs.</p>`);
  if (name === 'Snapshot')
    return asked(html`<p>The read model is copied into the object store beside the log, where new nodes find it. The newest two are kept.
        Reads and writes go on.</p>`);
  if (name !== 'Replay') return null;
  return asked(html`<${Choice} of="What the replay is for" first="The new read model is put in place of this one"
      second="Each row of this one is compared with it, and the new one is removed" chosen=${other} onChoose=${onOther} />
    <p>The read model of this node is built anew from the log, beside the live one. Reads and writes go on. It needs room for a second
      read model.</p>`);
}

/**
 * Says how a replay stands that was begun here. It is undefined as long as the node tells of an earlier one.
 * @param {any} replay
 */
function sayReplay(replay) {
  if (!replay) return 'Replay: has begun';
  if (replay.running) return `Replay: ${replay.phase}`;
  if (replay.error) return 'Replay: failed';
  const took = `in ${duration(replay.seconds)}`;
  return replay.check ? `Replay: compared ${took}` : `Replay: done ${took}, and the new read model is in place`;
}

/**
 * How far a replay is.
 * @param {{ replay: any }} props
 */
export function Replay({ replay }) {
  const known = replay.rate > 0 || replay.secondsLeft > 0;
  return html`<h3>Replay: ${replay.phase}</h3><${Progress} label="Replay" done=${replay.check ? replay.check.compared : replay.seq}
    total=${replay.check && replay.phase !== 'replaying' ? replay.check.rows : replay.target}
      unit=${replay.phase === 'comparing' ? 'rows' : 'events'} left=${known ? replay.secondsLeft : undefined}>
    ${replay.rate > 0 && `, ${Math.round(replay.rate).toLocaleString('en')} a second`}<//>`;
}

/**
 * Asks for a word before something is done that cannot be taken back.
 * @param {{ word: string, go: string, busy?: boolean, onGo: () => void, children?: any }} props word is typed; go names the button
 */
export function Sure({ word, go, busy = false, onGo, children }) {
  const [typed, setTyped] = useState('');
  const sure = typed.trim().toLowerCase() === word.toLowerCase() && !busy;
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (sure) onGo();
  };
  return html`<form class="actions" onSubmit=${submit}><label>Type <b><${Visible} text=${word} max=${100} /></b> to confirm <input
      autocomplete="off" autocapitalize="off" spellcheck=${false} size="14" value=${typed}
      onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} /></label>
    <button type="submit" class="loss" disabled=${!sure}>${go}</button>${children}</form>`;
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
  return html`<p>The replay compared ${number(rows)} rows: ${
    different === 0
      ? 'none differs.'
      : html`<strong>${number(different)} differ</strong>${
          tables &&
          ` (${Object.entries(tables)
            .map(([name, n]) => `${name}: ${number(n)}`)
            .join(', ')})`
        }.
    ${first && html` The first is ${first.kind}: ${first.table} <code>${first.key}</code>.`} “Replay” mends it.`
  }</p>`;
}

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
    ${
      asking &&
      html`<${Dialog} title="Drop the batch" onClose=${close}>
      <p>Group <b><${Visible} text=${asking.group} max=${200} /></b>, partition ${asking.batch.partition}: the changes behind <code>
        ${asking.batch.from}</code>, up to <code>${asking.batch.to}</code>, will never be given to a member again.</p>
      <p>It failed with: <code><${Visible} text=${asking.batch.error} max=${1000} /></code></p>
      <p class="actions"><button type="button" onClick=${() => {
        close();
        go('DELETE', asking.group, asking.batch);
      }}>Drop</button> <button type="button" data-focus onClick=${close}>Keep it</button></p>
    <//>`
    }`;
  return { retry: (group, batch) => go('POST', group, batch), drop: (group, batch) => setAsking({ group, batch }), shown };
}

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
    <p>${counted(of.documents, 'document')}, ${counted(of.events, 'event')}, asked for <${Time} text=${of.time} />
      ${of.by && html` by <${Visible} text=${of.by} max=${100} />`}: ${PHASES[of.phase] ?? of.phase}.
      ${nodes.length > 0 && html` It waits for <${Visible} text=${nodes.join(', ')} max=${1000} />.`}
      ${of.error && html` It is tried again: <${Visible} text=${of.error} max=${1000} />`}</p>
    ${
      residue.length > 0 &&
      html`<ul aria-label="What a NATS server may still have">${residue.map(
        (one) => html`<li><${Visible}
      text=${one.where} max=${300} />: <${Visible} text=${one.do} max=${500} /></li>`,
      )}</ul>`
    }`;
}

/** @param {{ first: number, last: number }} run */
const run = ({ first, last }) => (first === last ? `event ${number(first)}` : `events ${number(first)} to ${number(last)}`);

/**
 * How the log compares with what was folded from it.
 * @param {{ report: any }} props
 */
export function LogReport({ report: of }) {
  const missing = of.missing ?? [];
  return html`<p>${number(of.read)} events could be read, up
    to ${number(of.last)}.
      ${' '}${
        of.compared > 0 ? `They are those that were folded, up to ${number(of.compared)}.` : 'Nothing was known to compare them with.'
      }</p>
    ${
      missing.length > 0 &&
      html`<ul aria-label="Missing events">${missing.map(
        (/** @type {any} */ one) => html`<li>
      ${run(one)} cannot be read</li>`,
      )}${of.more > 0 && html`<li>and ${number(of.more)} more runs</li>`}</ul>`
    }
    ${of.differs && html`<p><strong>Of ${run(of.differs)} at least one is not the one that was folded.</strong></p>`}
    ${
      of.base &&
      html`<p>The base of ${size(of.base.bytes)}, up to event ${number(of.base.seq)}, is ${
        of.base.error ? html`<strong>of no use</strong>: <${Visible} text=${of.base.error} max=${1000} />` : 'whole'
      }.</p>`
    }`;
}

/**
 * Rules that fail, or have no room.
 * @param {{ status: any }} props
 */
export function Rules({ status }) {
  const failing = status.ruleErrors ?? [];
  const omitted = status.omitted ?? [];
  return html`<${Section} title="Rules">
    ${
      failing.length > 0
        ? html`<h3>Failed since the start</h3><${Table} label="Rule errors" head=${['Rule', ['Failed'], 'Last document', 'Error']}>
      ${failing.map(
        (/** @type {any} */ one) => html`<tr key=${one.rule}><td>${code(one.rule)}</td><td class="number">${number(one.count)}
        </td><td><${NamedDocument} name=${one.document} /></td><td><${Visible} text=${one.error} max=${1000} /></td></tr>`,
      )}<//>`
        : html`<p>No rule has failed since the start.</p>`
    }
    ${
      omitted.length > 0 &&
      html`<h3>Without room in some documents</h3><${Table} label="Values without room" head=${['Rule', ['Documents'], ['Values']]}>
      ${omitted.map(
        (/** @type {any} */ one) => html`<tr key=${one.rule}><td>${code(one.rule)}</td><td class="number">
        ${number(one.documents)}</td><td class="number">${number(one.values)}</td></tr>`,
      )}<//>`
    }
  <//>`;
}

/** @param {string} text */
const code = (text) => html`<code><${Visible} text=${text} max=${200} /></code>`;

// What the detail of a wrong value says. The API has it as a text for people: a JSON Patch behind a few words, or a sentence.

const PATCH = 'from stored (old) to right: ';

/**
 * Where a value is, what it should be and what it is, each undefined where there is none.
 * @typedef {{ path: string, expected?: string, found?: string }} Found
 */

/**
 * Reads a detail.
 * @param {string} detail
 * @returns {Found[] | undefined} undefined where it is a sentence, or was cut
 */
export function foundIn(detail) {
  if (!detail.startsWith(PATCH)) return undefined;
  try {
    const patch = scan(detail.slice(PATCH.length));
    return patch.elements?.map((op) => ({
      path: textOf(member(op, 'path')) ?? '',
      expected: tokenOf(member(op, 'value')),
      found: tokenOf(member(op, 'old')),
    }));
  } catch {
    return undefined; // it was cut
  }
}

/** @param {import('../lib/json.js').Node | undefined} node */
const tokenOf = (node) => node && readable(node);
