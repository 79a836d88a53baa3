// The keys of the store: who has which roles, and until when. Their texts are shown once, where they are made.
import { html, signal, useRef, useState } from '../lib/html.js';
import { ask, hasRole, key as used, me, request, takeKey } from '../lib/http.js';
import { plain, scan } from '../lib/json.js';
import { asProblem, usePolled } from '../lib/load.js';
import { Dialog, Pending, ProblemAlert } from '../ui/dialogs.js';
import { CopyAs, Table, Time, Visible } from '../ui/parts.js';
import { Sure } from './maintenance.js';

/** How long until the keys are asked for again, in milliseconds. */
const EVERY = 30_000;

const asked = { path: ['_keys'] };

/** What a key can be made for, besides roles of the model. @type {[string, string][]} */
const ROLES = [
  ['admin', 'everything'],
  ['write', 'reads and writes documents'],
  ['read', 'reads documents'],
  ['monitor', 'sees how nodes stand'],
];

/**
 * A text that no other answer has. It outlives the page, which begins anew where the key of the tab changes.
 * @type {import('@preact/signals').Signal<{ what: string, text: string, note?: string } | null>}
 */
export const secret = signal(null);

/** The dialog with a text that is shown once. */
export function ShownOnce() {
  const [said, setSaid] = useState('');
  const of = secret.value;
  if (!of) return null;
  const close = () => {
    setSaid('');
    secret.value = null;
  };
  const copy = () =>
    navigator.clipboard.writeText(of.text).then(
      () => setSaid('Copied.'),
      () => setSaid('The browser does not let it be copied: select it.'),
    );
  return html`<${Dialog} title=${of.what} closable=${false} onClose=${close}>
    <p>Nobody sees this text again. Keep it where it is needed.</p>
    <code class="secret" aria-label="Secret" tabindex="0"><${Visible} text=${of.text} /></code>
    ${of.note && html`<p>${of.note}</p>`}
    <p class="actions"><button type="button" class="main" data-focus onClick=${copy}>Copy</button>
      <button type="button" onClick=${close}>I have it</button> <span role="status">${said}</span></p>
  <//>`;
}

/** The keys, for whoever has the role admin. */
export function KeysPage() {
  const admin = hasRole('admin');
  const { value, problem, again, cancel } = usePolled(
    async (signal) => (admin ? (await ask({ ...asked, signal })).keys : []),
    [used.value, admin],
    () => EVERY,
  );
  const [doing, setDoing] = useState(/** @type {{ what: string, of?: any } | null} */ (null));
  const [said, setSaid] = useState('');
  const heading = useRef(/** @type {HTMLElement | null} */ (null));
  if (!admin) return me.value && html`<p>Keys are seen and made by whoever has the role <code>admin</code>.</p><${ShownOnce} />`;
  const close = () => setDoing(null);
  const done = (/** @type {string} */ words) => {
    close();
    setSaid(words);
    again();
  };
  const keys = /** @type {any[]} */ (value ?? []);
  return html`<div class="keys-page"><${ProblemAlert} problem=${problem} again=${again} />
    ${value && keys.length === 0 && html`<p>This store has no key, and nobody needs one. The first key closes it for good.</p>`}
    <p class="actions"><button type="button" onClick=${() => setDoing({ what: 'make' })}>New key</button>
      <span role="status" tabindex="-1" ref=${heading}>${said}</span></p>
    <${Pending} of=${{ value, problem, cancel }}>${
      keys.length > 0 &&
      html`<${Table} label="Keys" head=${['Name', 'Roles', 'State', 'Made', 'Last used', 'Secrets', 'Actions']}>
      ${keys.map((one) => html`<${Row} key=${one.id} of=${one} onDo=${(/** @type {string} */ what) => setDoing({ what, of: one })} />`)}<//>
      <p class="quiet small-print">A use is noted to the minute. Those on other nodes show within a few minutes.</p>`
    }<//>
    ${doing?.what === 'make' && html`<${Make} first=${keys.length === 0} onDone=${done} onClose=${close} />`}
    ${doing?.what === 'rotate' && html`<${Rotate} of=${doing.of} onDone=${done} onClose=${close} />`}
    ${doing?.what === 'revoke' && html`<${Revoke} of=${doing.of} onDone=${done} onClose=${close} />`}
    <${ShownOnce} />
    <${CopyAs} asked=${asked} /></div>`;
}

/** Tells whether this tab has a key. @param {any} of */
const isMine = (of) => me.value?.id === of.id;

/** @param {any} of */
const isOver = (of) => Boolean(of.revoked) || (of.expires && new Date(of.expires) <= new Date());

/** @param {{ of: any, onDo: (what: string) => void }} props */
function Row({ of, onDo }) {
  const claims = Object.keys(of.claims ?? {}).length > 0 ? JSON.stringify(of.claims) : '';
  const ending = of.secrets.filter((/** @type {any} */ one) => one.until);
  return html`<tr class=${isOver(of) ? 'ended' : undefined}><th scope="row"><${Visible} text=${of.name} max=${100} />
      <div class="quiet"><code>${of.id}</code>${isMine(of) && ', of this tab'}</div></th>
    <td><${Visible} text=${of.roles.join(', ')} max=${300} />
      ${of.sub !== 'key:' + of.id && html`<div class="quiet">as <code><${Visible} text=${of.sub} max=${100} /></code></div>`}
      ${claims && html`<div class="quiet"><code><${Visible} text=${claims} max=${200} /></code></div>`}</td>
    <td>${stateOf(of)}</td><td class="one-line"><${Time} text=${of.created} /></td>
    <td class="one-line">${of.lastUsed ? html`<${Time} text=${of.lastUsed} />` : html`<span class="quiet">never</span>`}</td>
    <td>${of.secrets.length}${ending.map(
      (/** @type {any} */ one) => html`<div class="quiet">one until <${Time} text=${one.until} /></div>`,
    )}</td>
    <td><div class="actions one-line">${
      !of.revoked &&
      html`<button type="button" class="small" aria-label=${`Rotate ${of.name}`} onClick=${() => onDo('rotate')}>Rotate</button>`
    }<button type="button" class="small loss" aria-label=${`${of.revoked ? 'Forget' : 'Revoke'} ${of.name}`}
      onClick=${() => onDo('revoke')}>${of.revoked ? 'Forget' : 'Revoke'}</button></div></td></tr>`;
}

/** @param {any} of */
function stateOf(of) {
  if (of.revoked) return html`revoked <${Time} text=${of.revoked} />`;
  if (!of.expires) return 'works, without an end';
  return isOver(of) ? html`ended <${Time} text=${of.expires} />` : html`works until <${Time} text=${of.expires} />`;
}

/**
 * A dialog that sends one request, and shows why it was refused.
 * @param {(answer: any) => void} onDone
 */
function useSending(onDone) {
  const [problem, setProblem] = useState(/** @type {any} */ (undefined));
  const busy = useRef(false);
  const send = async (/** @type {import('../lib/http.js').Asked} */ asked) => {
    if (busy.current) return; // a second click must not be a second key
    busy.current = true;
    setProblem(undefined);
    try {
      const { text } = await request(asked);
      onDone(text === '' ? null : plain(scan(text)));
    } catch (error) {
      setProblem(asProblem(error));
    }
    busy.current = false;
  };
  return { send, problem };
}

/**
 * Makes a key.
 * @param {{ first: boolean, onDone: (said: string) => void, onClose: () => void }} props first is the one that closes the store
 */
function Make({ first, onDone, onClose }) {
  const { send, problem } = useSending((made) => {
    if (first) takeKey(made.key, false);
    const note = first ? 'This tab uses it from now on. A reload asks for it.' : undefined;
    secret.value = { what: `Key of ${made.name}`, text: made.key, note };
    onDone(`${made.name} is made.`);
  });
  const submit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const given = new FormData(/** @type {HTMLFormElement} */ (event.currentTarget));
    const text = (/** @type {string} */ name) => String(given.get(name) ?? '').trim();
    const roles = [
      ...given.getAll('role').map(String),
      ...text('roles')
        .split(/[\s,]+/)
        .filter(Boolean),
    ];
    const expires = text('expires') && new Date(text('expires') + 'Z').toISOString();
    send({
      method: 'POST',
      path: ['_keys'],
      body: JSON.stringify({ name: text('name'), roles, ...(expires && { expires }), ...(text('sub') && { sub: text('sub') }) }),
    });
  };
  return html`<${Dialog} title="New key" onClose=${onClose}><form class="form" onSubmit=${submit}>
    ${
      first &&
      html`<p class="wrong">This is the first key. It closes the store for good: nobody comes in without a key then. It needs the
      role admin.</p>`
    }
    <label>Name <input name="name" required maxlength="100" data-focus autocomplete="off" spellcheck=${false} /></label>
    <fieldset><legend>Roles</legend>${ROLES.map(
      ([role, about]) => html`<label><input type="checkbox" name="role" value=${role} defaultChecked=${first && role === 'admin'} /> ${role}
        ${' '}<span class="quiet">${about}</span></label>`,
    )}</fieldset>
    <label>Roles of the model, by commas <input name="roles" autocomplete="off" spellcheck=${false} /></label>
    <label>Ends at (UTC), never where it is empty <input name="expires" type="datetime-local" /></label>
    <label>Who it is to rules; by itself its id <input name="sub" autocomplete="off" spellcheck=${false} /></label>
    <${ProblemAlert} problem=${problem} />
    <p class="actions"><button type="submit" class="main">Make the key</button> <button type="button" onClick=${onClose}>Cancel</button></p>
  </form><//>`;
}

/** How long an old secret may work beside a new one. @type {[string, string][]} */
const OVERLAPS = [
  ['24h', 'for a day'],
  ['1h', 'for an hour'],
  ['168h', 'for a week'],
  ['0s', 'not at all: it ends at once'],
];

/**
 * Gives a key another secret.
 * @param {{ of: any, onDone: (said: string) => void, onClose: () => void }} props
 */
function Rotate({ of, onDone, onClose }) {
  const [overlap, setOverlap] = useState(OVERLAPS[0][0]);
  const mine = isMine(of) && overlap === '0s';
  const { send, problem } = useSending((made) => {
    if (mine) takeKey(made.key, false);
    secret.value = { what: `New secret of ${of.name}`, text: made.key, note: mine ? 'This tab uses it from now on.' : undefined };
    onDone(`${of.name} has a new secret.`);
  });
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    send({ method: 'POST', path: ['_keys', of.id, '_rotate'], body: JSON.stringify({ overlap }) });
  };
  return html`<${Dialog} title=${`Rotate ${of.name}`} onClose=${onClose}><form class="form" onSubmit=${submit}>
    <p>The key gets a new text. Its name, roles and id stay.</p>
    <label>The text before works on <select data-focus value=${overlap}
      onChange=${(/** @type {any} */ event) => setOverlap(event.target.value)}>
      ${OVERLAPS.map(([value, called]) => html`<option value=${value}>${called}</option>`)}</select></label>
    <${ProblemAlert} problem=${problem} />
    <p class="actions"><button type="submit" class="main">Rotate</button> <button type="button" onClick=${onClose}>Cancel</button></p>
  </form><//>`;
}

/**
 * Revokes a key, or forgets one that is revoked.
 * @param {{ of: any, onDone: (said: string) => void, onClose: () => void }} props
 */
function Revoke({ of, onDone, onClose }) {
  const what = of.revoked ? 'Forget' : 'Revoke';
  const { send, problem } = useSending(() => onDone(`${of.name} is ${of.revoked ? 'forgotten' : 'revoked'}.`));
  return html`<${Dialog} title=${`${what} ${of.name}`} onClose=${onClose}>
    <p>${
      of.revoked
        ? 'Its name and roles go, and histories show its id alone.'
        : 'Whoever uses it is refused from now on, on all nodes within a second. Nothing brings it back. Its name stays for the record.'
    }</p>
    ${isMine(of) && html`<p class="wrong">This tab uses it, and asks for another one then.</p>`}
    <${Sure} word=${of.name} go=${what} onGo=${() => send({ method: 'DELETE', path: ['_keys', of.id] })}>
      <button type="button" data-focus onClick=${onClose}>Keep it</button><//>
    <${ProblemAlert} problem=${problem} />
  <//>`;
}
