// What is done with a consumer group as a whole: it is made, begins elsewhere, or goes.
import { html, useState } from '../lib/html.js';
import { ask, me, request } from '../lib/http.js';
import { plain, scan } from '../lib/json.js';
import { asProblem } from '../lib/load.js';
import { goTo, placeHref } from '../lib/place.js';
import { Dialog, ProblemAlert } from '../ui/dialogs.js';
import { secret } from './keys.js';
import { Sure } from './maintenance.js';

/** @param {string} text */
const listOf = (text) => text.split(/[\s,]+/).filter(Boolean);

/**
 * Returns what a form says of a new group.
 * @param {FormData} given
 */
function settingsOf(given) {
  const text = (/** @type {string} */ name) => String(given.get(name) ?? '').trim();
  const collections = listOf(text('collections'));
  const of = {
    since: text('since') || 'now',
    partitions: Number(text('partitions')) || undefined,
    collections: collections.length > 0 ? collections : undefined,
    filter: text('filter') || undefined,
    derived: given.get('derived') ? undefined : 'exclude',
    role: text('role') || undefined,
    push: text('push') ? { url: text('push') } : undefined,
  };
  return { name: text('name'), body: JSON.stringify(of) };
}

/** A button that makes a group. */
export function MakeGroup() {
  const [open, setOpen] = useState(false);
  const [problem, setProblem] = useState(/** @type {any} */ (undefined));
  const [taken, setTaken] = useState('');
  const make = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const { name, body } = settingsOf(new FormData(/** @type {HTMLFormElement} */ (event.currentTarget)));
    setProblem(undefined);
    setTaken('');
    try {
      // The same request changes a group that is there.
      const known = (await ask({ path: ['_groups'] })).groups.some((/** @type {any} */ one) => one.name === name);
      if (known) return setTaken(name);
      const { text } = await request({ method: 'PUT', path: ['_groups', name], body });
      if (text !== '') secret.value = { what: `Secret of ${name}`, text: plain(scan(text)).secret, note: 'Posts are signed by it.' };
      setOpen(false);
      goTo(placeHref(['_groups', name]));
    } catch (error) {
      setProblem(asProblem(error));
    }
  };
  if (!me.value) return null;
  return html`<button type="button" onClick=${() => setOpen(true)}>New group</button>
    ${
      open &&
      html`<${Dialog} title="New group" onClose=${() => setOpen(false)}><form class="form" onSubmit=${make}>
      <label>Name <input name="name" required maxlength="64" pattern="[a-z][a-z0-9_\\-]*" title="small letters, digits, - and _" data-focus
        autocomplete="off" spellcheck=${false} /></label>
      <label>Begins at <input name="since" defaultValue="now" title="now, 0, a position or a time" autocomplete="off" /></label>
      <label>Partitions, for ever <input name="partitions" type="number" min="1" max="1000" defaultValue="16" /></label>
      <label>Collections; none for all <input name="collections" autocomplete="off" spellcheck=${false} /></label>
      <label>Filter <input name="filter" autocomplete="off" spellcheck=${false} placeholder="doc.year > 1900" /></label>
      <label class="box"><input type="checkbox" name="derived" defaultChecked /> Derived changes</label>
      <label>Role that its members have; admin where it is empty <input name="role" autocomplete="off" spellcheck=${false} /></label>
      <label>URL that its batches are posted to; none for members of yours <input name="push" type="url" autocomplete="off" /></label>
      ${taken && html`<p role="alert" class="wrong">There is a group ${taken} already.</p>`}
      <${ProblemAlert} problem=${problem} />
      <p class="actions"><button type="submit" class="main">Make the group</button>
        <button type="button" onClick=${() => setOpen(false)}>Cancel</button></p>
    </form><//>`
    }`;
}

/**
 * What an administrator can do with a group.
 * @param {{ group: any, refresh: () => void }} props
 */
export function GroupActions({ group, refresh }) {
  const [open, setOpen] = useState('');
  const [problem, setProblem] = useState(/** @type {any} */ (undefined));
  const [said, setSaid] = useState('');
  const { name } = group;
  const send = async (
    /** @type {string} */ words,
    /** @type {string} */ method,
    /** @type {string[]} */ path,
    /** @type {object | undefined} */ body = undefined,
  ) => {
    setProblem(undefined);
    try {
      const { text } = await request({ method, path: ['_groups', name, ...path], body: body && JSON.stringify(body) });
      if (path[0] === '_rotate')
        secret.value = { what: `New secret of ${name}`, text: plain(scan(text)).secret, note: 'Posts have both signatures for a day.' };
      setOpen('');
      setSaid(words);
      if (words === '') return goTo(placeHref(['_groups']));
      refresh();
    } catch (error) {
      setProblem(asProblem(error));
    }
  };
  const close = () => {
    setOpen('');
    setProblem(undefined);
  };
  return html`<p class="actions"><button type="button" onClick=${() => setOpen('reset')}>Reset</button>
      ${
        group.push &&
        html`<button type="button" onClick=${() => send('It has a new secret.', 'POST', ['_rotate'], { overlap: '24h' })}>New
        secret</button>`
      }
      <button type="button" class="loss" onClick=${() => setOpen('delete')}>Delete</button> <span role="status">${said}</span></p>
    ${open === '' && html`<${ProblemAlert} problem=${problem} />`}
    ${
      open === 'reset' &&
      html`<${Reset} group=${group} problem=${problem} onClose=${close} onGo=${(/** @type {object} */ body) =>
        send('It begins there from now on.', 'POST', ['_reset'], body)} />`
    }
    ${
      open === 'delete' &&
      html`<${Dialog} title=${`Delete ${name}`} onClose=${close}>
      <p>Its members are refused, and its checkpoints and parked batches go. Nothing brings them back. Documents and the feed stay.</p>
      <${Sure} word=${name} go="Delete" onGo=${() => send('', 'DELETE', [])}>
        <button type="button" data-focus onClick=${close}>Keep it</button><//>
      <${ProblemAlert} problem=${problem} /><//>`
    }`;
}

/** Where a group may begin anew, and what becomes of changes. @type {[string, string][]} */
const WAYS = [
  ['now', 'Now: what its members have yet to take is never given to them'],
  ['0', 'At the beginning: every change is given once more'],
  ['at', 'At a position or a time: changes after it are given, once more or for the first time'],
];

/**
 * Asks where a group is to begin.
 * @param {{ group: any, problem: any, onGo: (body: object) => void, onClose: () => void }} props
 */
function Reset({ group, problem, onGo, onClose }) {
  const [way, setWay] = useState('now');
  const [at, setAt] = useState('');
  const [force, setForce] = useState(false);
  const to = way === 'at' ? at.trim() : way;
  const held = group.partitions.filter((/** @type {any} */ one) => one.owner !== undefined).length;
  return html`<${Dialog} title=${`Reset ${group.name}`} onClose=${onClose}>
    <div class="form"><fieldset class="column"><legend>Where it begins</legend>${WAYS.map(
      ([value, called], i) => html`<label><input type="radio" name="to" data-focus=${i === 0 ? '' : undefined} checked=${way === value}
        onChange=${() => setWay(value)} /> ${called}</label>`,
    )}</fieldset>
    ${
      way === 'at' &&
      html`<label>Position or time <input value=${at} autocomplete="off" spellcheck=${false}
      onInput=${(/** @type {any} */ event) => setAt(event.target.value)} /></label>`
    }
    ${
      held > 0 &&
      html`<label class="box"><input type="checkbox" checked=${force} onChange=${() => setForce(!force)} /> Also take the leases of its
        members, who have ${held} of ${group.partitions.length} partitions</label>`
    }</div>
    <${Sure} word=${group.name} go="Reset" busy=${to === ''} onGo=${() => onGo({ to, ...(force ? { force: true } : {}) })}>
      <button type="button" onClick=${onClose}>Cancel</button><//>
    <${ProblemAlert} problem=${problem} />
  <//>`;
}
