// How far back the store can be read, and what lets go of it: a compaction, an erasure, and the backup that comes before either.
import { html, useEffect, useRef, useState } from '../lib/html.js';
import { addressOf, ask, request } from '../lib/http.js';
import { plain, scan } from '../lib/json.js';
import { asProblem } from '../lib/load.js';
import { goTo, placeHref, replacePlace } from '../lib/place.js';
import { Dialog, ProblemAlert } from '../ui/dialogs.js';
import { Section, Time, Visible, counted, duration, number, size } from '../ui/parts.js';
import { Erasing, Sure } from './maintenance.js';

/**
 * How far back the store can be read, and what was let go of it.
 * @param {{ status: any, admin: boolean, refresh: () => void }} props
 */
export function History({ status, admin, refresh }) {
  const { history: of } = status;
  if (!of) return null;
  const { base, compaction, backup } = of;
  const erased = (of.erasures ?? []).filter((/** @type {any} */ one) => one.phase === 'done');
  return html`<${Section} title="History"><dl>
    <dt>Oldest position</dt><dd><code><${Visible} text=${of.oldest} /></code>${of.oldestTime && html`, <${Time} text=${of.oldestTime} />`}
      ${!base && ': the store has all its events'}</dd>
    ${base && html`<dt>Begins with</dt><dd>a base of ${size(base.bytes)}, which stands for the events up to ${number(base.seq)}</dd>`}
    ${
      compaction &&
      !compaction.running &&
      html`<dt>Last compaction</dt><dd>to before <code><${Visible} text=${compaction.before} />
      </code>, ${duration(compaction.seconds)}${compaction.by && html`, by <${Visible} text=${compaction.by} max=${100} />`}
        ${waiting(compaction)}${compaction.error && html`: <${Visible} text=${compaction.error} max=${1000} />`}</dd>`
    }
    ${
      backup &&
      html`<dt>Last backup</dt><dd><${Time} text=${backup.time} />, up to <code><${Visible} text=${backup.last} />
      </code>: it has what was erased since</dd>`
    }
    ${
      status.snapshot?.last &&
      html`<dt>Last snapshot</dt><dd><${Time}
      text=${status.snapshot.last.taken} />, up to event ${number(status.snapshot.last.seq)}, ${size(status.snapshot.last.bytes)}</dd>`
    }
    ${
      status.snapshot?.startedFrom &&
      html`<dt>Started from</dt><dd>the snapshot of <${Time}
      text=${status.snapshot.startedFrom.taken} />, up to event ${number(status.snapshot.startedFrom.seq)}</dd>`
    }
    </dl>
    ${admin && !status.readOnly && html`<${Commands} status=${status} refresh=${refresh} />`}
    ${
      erased.length > 0 &&
      html`<details><summary>${counted(erased.length, 'erasure')}</summary>
      ${erased.map((/** @type {any} */ one) => html`<${Erasing} key=${one.number} erasure=${one} />`)}</details>`
    }
  <//>`;
}

/** @param {any} compaction */
const waiting = ({ waitingFor = [] }) =>
  waitingFor.length > 0 && html`; the log waits for <${Visible} text=${waitingFor.join(', ')} max=${1000} />`;

/**
 * What an administrator can do with the history.
 * @param {{ status: any, refresh: () => void }} props
 */
function Commands({ status, refresh }) {
  const [open, setOpen] = useState('');
  const [said, setSaid] = useState('');
  const close = () => setOpen('');
  const gone = (/** @type {string} */ words) => {
    close();
    setSaid(words);
    refresh();
  };
  return html`<p class="actions"><${Backup} />
      <button type="button" onClick=${() => setOpen('compact')}>Compact</button>
      ${status.logErasable && html`<button type="button" class="loss" onClick=${() => setOpen('erase')}>Erase</button>`}
      <span role="status">${said}</span></p>
    ${open === 'compact' && html`<${Compact} onGone=${gone} onClose=${close} />`}
    ${open === 'erase' && html`<${Erase} onGone=${gone} onClose=${close} />`}`;
}

/**
 * A dialog for what cannot be taken back: it shows what would go, and does it once its name is typed. What is changed in the fields is
 * looked at once more.
 * @param {object} props
 * @param {string} props.name of the button, which is typed
 * @param {string} props.title
 * @param {any} props.fields
 * @param {(dry: boolean) => import('../lib/http.js').Asked} props.asked what is sent
 * @param {(plan: any) => any} props.shown says what would go
 * @param {(plan: any) => boolean} props.isNothing tells whether nothing would
 * @param {boolean} [props.atOnce] looks without being asked to
 * @param {(answer: any) => void} props.onGone
 * @param {() => void} props.onClose
 */
function Planned({ name, title, fields, asked, shown, isNothing, atOnce = false, onGone, onClose }) {
  const [plan, setPlan] = useState(/** @type {any} */ (undefined));
  const [problem, setProblem] = useState(/** @type {any} */ (undefined));
  const [busy, setBusy] = useState(false);
  const looked = useRef('');
  const text = JSON.stringify(asked(true));
  const isNew = looked.current === text;
  const go = async (/** @type {boolean} */ dry) => {
    setBusy(true);
    setProblem(undefined);
    try {
      const answer = plain(scan((await request(asked(dry))).text));
      if (!dry) return onGone(answer);
      looked.current = text;
      setPlan(answer);
    } catch (error) {
      looked.current = '';
      setProblem(asProblem(error));
    } finally {
      setBusy(false);
    }
  };
  const look = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!busy) go(true);
  };
  useEffect(() => {
    if (atOnce) go(true);
  }, []);
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <form class="form" onSubmit=${look}>${fields}
      <p class="actions"><button type="submit" aria-disabled=${busy ? 'true' : undefined}>What would go</button>
        <button type="button" onClick=${onClose}>Cancel</button> <span role="status" class="quiet">${busy && 'Asking the server'}</span></p>
    </form>
    <${ProblemAlert} problem=${problem} />
    ${isNew && plan && html`<div class="plan" role="group" aria-label="What would go">${shown(plan)}</div>`}
    ${isNew && plan && !isNothing(plan) && html`<${Sure} word=${name} go=${name} busy=${busy} onGo=${() => go(false)} />`}
  <//>`;
}

/**
 * Asks from when on the store is to be read, shows what would go, and lets it go.
 * @param {{ onGone: (said: string) => void, onClose: () => void }} props
 */
function Compact({ onGone, onClose }) {
  const [before, setBefore] = useState('');
  const [force, setForce] = useState(false);
  const at = /^\d{4}-\d\d-\d\d$/.test(before.trim()) ? before.trim() + 'T00:00:00Z' : before.trim();
  const fields = html`<p>The store then begins at this moment. What it is stays; older versions, older rows of the feed and the events
      of the log go for good. Only a backup from before has them.</p>
    <label>Begin at <input data-focus required value=${before} placeholder="2026-01-31, a time or a position" autocomplete="off"
      spellcheck=${false} onInput=${(/** @type {any} */ event) => setBefore(event.target.value)} /></label>
    <label class="box"><input type="checkbox" checked=${force} onChange=${() => setForce(!force)} /> Also where a group has yet to take what
      goes: it has to be reset then</label>`;
  const shown = (/** @type {any} */ plan) =>
    plan.done
      ? html`<p>Nothing: the store begins at <code><${Visible} text=${plan.before} /></code> already, or later.</p>`
      : html`<p><strong>${counted(plan.events, 'event')} of the log</strong> (about ${size(plan.bytes)}) and
        ${' '}<strong>${counted(plan.versions, 'version')} of documents</strong>. The oldest position is <code>
        <${Visible} text=${plan.before} />        </code> then${plan.time && html`, of <${Time} text=${plan.time} />`}.</p>
      ${
        plan.groups.length > 0 &&
        html`<p class="wrong">Groups that have yet to take some of it: <${Visible} text=${plan.groups.join(', ')}
        max=${1000} />.</p>`
      }
      ${plan.feeds > 0 && html`<p>${counted(plan.feeds, 'open feed')} would end, as late as that.</p>`}`;
  return html`<${Planned} name="Compact" title="Let the store begin later" fields=${fields} shown=${shown} onClose=${onClose}
    isNothing=${(/** @type {any} */ plan) => plan.done} onGone=${(/** @type {any} */ plan) =>
      onGone(plan.done ? 'Compaction: nothing is left to do' : 'Compaction: has begun, and shows under way')}
    asked=${(/** @type {boolean} */ dry) => ({
      method: 'POST',
      path: ['_compact'],
      body: JSON.stringify({ before: at, ...(dry ? { dryRun: true } : force ? { force: true } : {}) }),
    })} />`;
}

/** The erasure of the document of a place, over its page. @param {{ place: import('../lib/place.js').Place }} props */
export function EraseHere({ place: { parts } }) {
  const [collection, id] = parts;
  return html`<${Erase} document=${{ collection, id }} onGone=${() => goTo(placeHref(['_status']))}
    onClose=${() => replacePlace(placeHref(parts))} />`;
}

/**
 * Asks which documents are to be erased, shows what would go, and erases it.
 * @param {{ document?: { collection: string, id: string }, onGone: (said: string) => void, onClose: () => void }} props document is the
 * one that is meant; without it they are named here
 */
function Erase({ document, onGone, onClose }) {
  const [names, setNames] = useState('');
  const [members, setMembers] = useState('');
  const documents = document
    ? [document]
    : linesOf(names).map((name) => {
        const slash = name.indexOf('/');
        return { collection: name.slice(0, Math.max(0, slash)), id: name.slice(slash + 1) };
      });
  const only = linesOf(members);
  const named = html`<label>Documents, one a line <textarea data-focus required rows="3" spellcheck=${false} placeholder="customers/c1"
      value=${names} onInput=${(/** @type {any} */ event) => setNames(event.target.value)}></textarea></label>
    <${Find} onFound=${(/** @type {string[]} */ found) => setNames([...new Set([...linesOf(names), ...found])].join('\n'))} />`;
  const fields = html`<p>All that ${document ? 'this document was' : 'these documents were'} goes from every version, every copy and
      the log, as if it had never been written. Nothing brings it back; a backup from before loses it with its next run.</p>
    ${document ? html`<p><b><${Visible} text=${document.collection + '/' + document.id} max=${300} /></b></p>` : named}
    <label>Only these members, one a line; none for the whole ${document ? 'document, which is' : 'documents, which are'} deleted
      <textarea rows="2" data-focus=${document ? '' : undefined} spellcheck=${false}
      placeholder="/email" value=${members} onInput=${(/** @type {any} */ event) => setMembers(event.target.value)}></textarea></label>`;
  return html`<${Planned} name="Erase" title=${document ? 'Erase a document' : 'Erase documents'} atOnce=${document !== undefined}
    fields=${fields} shown=${sayErasure} onClose=${onClose}
    isNothing=${(/** @type {any} */ plan) => plan.events === 0} onGone=${(/** @type {any} */ of) =>
      onGone(`Erasure ${of.number}: ${of.phase}`)}
    asked=${(/** @type {boolean} */ dry) => ({
      method: 'POST',
      path: ['_erase'],
      query: dry ? { dryRun: true } : {},
      body: JSON.stringify({ documents, ...(only.length > 0 ? { members: only } : {}) }),
    })} />`;
}

/**
 * Finds the documents that have a text in any version, and adds them.
 * @param {{ onFound: (names: string[]) => void }} props
 */
function Find({ onFound }) {
  const [text, setText] = useState('');
  const [said, setSaid] = useState('');
  const find = async () => {
    setSaid('Looking');
    try {
      const { found, more } = await ask({ method: 'POST', path: ['_find'], body: JSON.stringify({ text }) });
      setSaid(`${counted(found.length, 'document')} found${more ? ', and there are more' : ''}.`);
      onFound(found.map((/** @type {any} */ one) => one.collection + '/' + one.id));
    } catch (error) {
      const { title, detail } = asProblem(error);
      setSaid([title, detail].filter(Boolean).join(': '));
    }
  };
  const enter = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== 'Enter') return;
    event.preventDefault(); // it would ask what goes
    if (text) find();
  };
  return html`<p class="actions"><label>Or those with this text in any version <input value=${text} autocomplete="off" spellcheck=${false}
      maxlength="1000" onKeyDown=${enter} onInput=${(/** @type {any} */ event) => setText(event.target.value)} /></label>
    <button type="button" class="small" disabled=${text === ''} onClick=${find}>Find</button>
    <span role="status" class="quiet">${said}</span></p>`;
}

/** @param {string} text */
const linesOf = (text) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);

/** Says what an erasure would take away. @param {any} plan */
function sayErasure({ documents, living, versions, events, ...of }) {
  const counts = /** @type {[string, string][]} */ ([
    ['copies', 'copies'],
    ['frozen', 'frozen copies'],
    ['kept', 'values that outlived a delete'],
  ]);
  return html`<p><strong>${counted(documents, 'document')}</strong>, ${number(living)} still there: ${counted(versions, 'version')} and
      ${' '}${counted(events, 'event')}.</p>
    <ul>${counts.flatMap(([name, called]) =>
      Object.entries(of[name] ?? {}).map(
        ([rule, n]) => html`<li><code><${Visible} text=${rule} max=${200} /></code>: ${counted(/** @type {number} */ (n), 'document')} with
        ${' '}${called}</li>`,
      ),
    )}</ul>`;
}

/** A button that lets the browser download a backup by itself, so nothing of it is in the page's memory. */
function Backup() {
  const [said, setSaid] = useState('');
  const [problem, setProblem] = useState(/** @type {any} */ (undefined));
  const go = async () => {
    setSaid('Asking the server');
    setProblem(undefined);
    try {
      await download();
      setSaid('Backup: see the downloads of your browser');
    } catch (error) {
      setSaid('');
      setProblem(asProblem(error));
    }
  };
  return html`<button type="button" onClick=${go}>Download a backup</button>
    <span role="status" class="quiet">${said}</span><${ProblemAlert} problem=${problem} />`;
}

/** Begins the download of a backup. A browser sends no key with it, so a ticket lets it in. */
async function download() {
  const { ticket } = await ask({ method: 'POST', path: ['_tickets'], body: JSON.stringify({ path: '/v1/_backup' }) });
  const link = document.createElement('a');
  link.href = addressOf({ path: ['_backup'], query: { ticket: ticket || undefined } }); // whoever needs no key needs no ticket
  link.download = '';
  link.click();
}
