import { follow, soon } from '../lib/feed.js';
import { html, useEffect, useRef, useState } from '../lib/html.js';
import { eventOf, isLater } from '../lib/http.js';
import { NotJSON, scan } from '../lib/json.js';
import { indent, mustBeTaken, splice } from '../lib/jsontext.js';
import { guard } from '../lib/place.js';
import { useHidden } from '../lib/text.js';
import { useWriting } from '../lib/write.js';
import { FeedState } from '../ui/changes.js';
import { Visible, number } from '../ui/parts.js';
import { Preview, WriteProblem, without } from '../ui/preview.js';
import { Conflict, useMeanwhile } from './conflict.js';
import { Fields } from './fields.js';
import { Mistakes, TextBox, mistakeOf, mistakesOf, saving } from './page.js';

/** @typedef {import('./page.js').Read} Read */
/** @typedef {import('./page.js').Box} Box */

const EMPTY = '{\n  \n}';
const NOTHING = { text: '', mistakes: /** @type {import('./page.js').Mistake[]} */ ([]), said: '' };

/**
 * A document while somebody edits it: the text box, what a save of it changes, and what to do where it changed meanwhile.
 * @param {{ collection: string, id: string, read?: Read, initial?: string, onSaved: (written: import('../lib/write.js').Written) => void,
 * children?: any }} props
 *   id is empty where the store makes it; read is what is edited, and initial how it stands in the text box, undefined for a new document;
 * children stand beside the buttons
 */
export function Draft({ collection, id, read, initial = EMPTY, onSaved, children }) {
  const box = useRef(/** @type {Box | null} */ (null));
  const draft = useDraft(box, { collection, id, read, initial, onSaved });
  const { base, told, writing, met, meet, before, save, typing } = draft;
  const { saveBoth, takeTheirs, undo } = after(draft);
  const [typed, setTyped] = useState(/** @type {string | null} */ (null)); // the text, while its fields are shown
  const input = () => {
    typing();
    if (typed !== null) setTyped(draft.text());
  };
  return html`<div class=${typed === null ? undefined : 'with-fields'}><div>
      <${TextBox} box=${box} collection=${collection} initial=${initial} wrong=${told.mistakes.length > 0} focus=${read !== undefined}
        onInput=${input} onSave=${save} /></div>
      ${typed !== null && html`<${Fields} text=${typed} edit=${(/** @type {any} */ edit) => box.current?.edit(edit)} />`}</div>
    <div id="mistakes">${
      told.mistakes.length > 0 &&
      html`<div role="alert" class="problem"><strong>This is no document yet</strong>
      <${Mistakes} text=${told.text} mistakes=${told.mistakes} box=${box} /></div>`
    }
      ${writing.state.phase === 'idle' && html`<${Refusal} writing=${writing} text=${told.text} box=${box} />`}</div>
    ${
      met?.known &&
      html`<${Conflict} key=${met.theirs?.etag} opened=${base?.text} theirs=${met.theirs?.text} mine=${met.typed} onSave=${saveBoth}
      onTheirs=${takeTheirs} />`
    }
    <${WriteProblem} state=${{ phase: 'idle', problem: met?.problem, again: meet }} />
    <p class="actions"><button type="button" class="main" onClick=${save}>Save</button> ${children}
      <button type="button" aria-pressed=${typed !== null} onClick=${() => setTyped(typed === null ? draft.text() : null)}>Fields</button>
      <span role="status" class="quiet">${told.said || SAYS[writing.state.phase]}</span>
      ${before && html`<button type="button" class="small" onClick=${undo}>Undo</button>`}</p>
    <${Preview} title="What this save changes" go="Save now" keep="Keep editing" writing=${writing} />`;
}

/** @type {Record<string, string>} */
const SAYS = { looking: 'Looking at what it changes', sending: 'Saving' };

/**
 * What a draft is made of.
 * @param {{ current: Box | null }} box
 * @param {{ collection: string, id: string, read?: Read, initial: string,
 *   onSaved: (written: import('../lib/write.js').Written) => void }} of
 */
function useDraft(box, { collection, id, read, initial, onSaved }) {
  const [base, setBase] = useState(read);
  const [told, setTold] = useState(NOTHING);
  const [before, setBefore] = useState(/** @type {{ text: string, base: Read | undefined } | null} */ (null)); // a text was put over it
  const text = () => box.current?.text() ?? '';
  const isSaved = useUnsaved(box, initial, !read && id !== '');
  const done = useRef(false); // the next change on the feed is the save itself
  const writing = useWriting({
    onDone: (written) => {
      done.current = true;
      isSaved(text());
      onSaved(written);
    },
    onStale: () => {
      meet();
    },
  });
  const { met, meet, retype, forget } = useMeanwhile({ collection, id, base, text, writing, done });
  useEffect(() => {
    setBase(read); // a document that was met is that of another id
    setBefore(null);
  }, [id]);

  const save = () => {
    const typed = text();
    const mistake = mistakeIn(typed);
    const body = base && !mistake ? splice(base.text, typed) : typed;
    const isSame = body === base?.text;
    writing.stop();
    setTold({
      text: typed,
      mistakes: mistake ? [mistake] : [],
      said: isSame ? 'Nothing has changed: there is nothing to save.' : '',
    });
    if (mistake) box.current?.select(mistake.from, mistake.to);
    else if (!isSame) writing.begin(saving(collection, id, base, body), { own: { before: base?.text, after: body } });
  };
  const typing = () => {
    if (told.said) setTold(NOTHING);
    if (met) retype();
  };
  return { collection, id, box, base, setBase, told, setTold, before, setBefore, text, isSaved, writing, met, meet, forget, save, typing };
}

/**
 * What becomes of a draft whose document is another one than was read.
 * @param {ReturnType<typeof useDraft>} of
 */
function after({ collection, id, box, base, setBase, setTold, before, setBefore, text, isSaved, writing, met, meet, forget }) {
  const theirs = met?.theirs;
  const putOver = (/** @type {string} */ put, /** @type {string} */ said) => {
    setBefore({ text: text(), base });
    box.current?.put(put);
    setBase(theirs);
    setTold({ ...NOTHING, text: put, said });
    writing.stop();
    forget();
  };
  return {
    saveBoth: (/** @type {string} */ both) => {
      putOver(indent(both), 'Both changes are in the text box.');
      writing.begin(saving(collection, id, theirs, both), { always: true, own: { before: theirs?.text, after: both } });
    },
    takeTheirs: () => {
      putOver(theirs ? indent(theirs.text) : EMPTY, 'Theirs is in the text box.');
      isSaved(text());
      box.current?.focus();
    },
    undo: () => {
      if (!before) return;
      box.current?.put(before.text);
      setBase(before.base);
      setBefore(null);
      setTold(NOTHING);
      writing.stop();
      meet();
      box.current?.focus();
    },
  };
}

/**
 * The refusal of a save, with the lines of the text that it is about.
 * @param {{ writing: import('../lib/write.js').Writing, text: string, box: { current: Box | null } }} props
 */
function Refusal({ writing: { state }, text, box }) {
  const { problem } = state;
  if (!problem) return null;
  const mistakes = text === '' ? [] : mistakesOf(text, problem);
  const shown = mistakes.length ? without(problem) : problem;
  return html`<${WriteProblem} state=${{ ...state, problem: shown }}>${
    mistakes.length > 0 &&
    html`<${Mistakes} text=${text}
    mistakes=${mistakes} box=${box} />`
  }<//>`;
}

/**
 * Returns what makes a text no document, undefined where it may be one.
 * @param {string} text
 * @returns {import('./page.js').Mistake | undefined}
 */
function mistakeIn(text) {
  try {
    mustBeTaken(scan(text));
    return undefined;
  } catch (error) {
    if (!(error instanceof NotJSON)) throw error;
    return mistakeOf(error);
  }
}

/**
 * Lets leaving ask while a text is not saved. It returns a function that says which text is.
 * @param {{ current: Box | null }} box
 * @param {string} initial
 * @param {boolean} more whether there is more than the text that would be lost
 */
function useUnsaved(box, initial, more) {
  const stored = useRef({ text: initial, more: false });
  const now = useRef(more);
  now.current = more;
  // A text box that has gone has lost nothing: the guard may outlive it for a moment.
  useEffect(
    () => guard(() => box.current !== null && (box.current.text() !== stored.current.text || now.current !== stored.current.more)),
    [],
  );
  return (/** @type {string} */ saved) => {
    stored.current = { text: saved, more: now.current };
  };
}

/** @typedef {import('../lib/feed.js').Row} Row */

/**
 * The derived changes of a save as they come on the feed, by rule and collection.
 * @param {{ position: string, derived: number, took: number, visible?: boolean }} props position of the write, how many derived changes its
 * answer named, the milliseconds until the
 *   answer, and whether all readers saw it then
 */
export function Arrival({ position, derived, took, visible = true }) {
  const { of, state, problem, again } = useArriving(position, derived);
  const ms = visible ? took : took + of.ms;
  const sentence = `${number(of.come)} of ${number(derived)} derived change${derived === 1 ? '' : 's'}`;
  const rate = of.come > 1 && of.ms > 0 ? `, ${number(Math.round(of.come / (of.ms / 1000)))} a second` : '';
  const rest = of.come < derived ? ': all that you may read' : '';
  return html`<section aria-label="Arrival" class="arrival">
    <p>${
      visible || of.complete
        ? html`Visible to all readers at <code>${position}
      </code>, ${number(Math.round(ms))} ms after saving.`
        : html`Saved at <code>${position}
        </code>. Readers see it once the node has read so far.`
    }</p>
    ${!of.complete && html`<p>${sentence}${rate}</p>`}
    <p role="status">${of.complete && sentence + rest + rate}</p>
    <ul>${[...of.counts.values()].map(
      ({ collection, rule, count }) => html`<li key=${collection + ' ' + rule}>
      ${number(count)} in <${Visible} text=${collection} max=${100} />, by <${Visible} text=${rule} max=${200} /></li>`,
    )}</ul>
    ${!of.complete && html`<${FeedState} state=${state} problem=${problem} again=${again}><p>The save itself is done.</p><//>`}
  </section>`;
}

/**
 * Follows the feed from the position of a write until all that it has caused has come.
 * @param {string} position
 * @param {number} derived
 */
function useArriving(position, derived) {
  const hidden = useHidden();
  const [tries, setTries] = useState(0);
  const [view, setView] = useState({
    state: /** @type {'off' | 'open' | 'cut' | 'ended'} */ ('off'),
    problem: /** @type {any} */ (undefined),
  });
  const current = useRef(new Arriving(position, derived));
  if (current.current.position !== position) current.current = new Arriving(position, derived);
  useEffect(() => {
    const of = current.current;
    if (of.complete || hidden) return undefined;
    const ending = new AbortController();
    const draw = (/** @type {Partial<typeof view>} */ more) => setView((now) => ({ ...now, ...more }));
    const drawing = soon(() => draw({}));
    draw({ state: 'off', problem: undefined });
    follow({
      query: { mode: 'all' },
      since: of.at,
      signal: ending.signal,
      onRows: (rows) => of.add(rows),
      onPosition: (at, all) => {
        of.moved(at, all);
        if (!of.complete) return drawing.ask();
        draw({});
        ending.abort();
      },
      onState: (state, problem) => draw({ state, problem }),
    }).then((problem) => {
      if (problem && !ending.signal.aborted) draw({ state: 'ended', problem });
    });
    return () => {
      drawing.end();
      ending.abort();
    };
  }, [position, derived, hidden, tries]);
  return { of: current.current, ...view, again: () => setTries((n) => n + 1) };
}

/** How many lines of rules and collections are kept apart. */
const MAX_LINES = 200;

/** Counts the derived changes of a write, among the rows of the feed from its position on. */
export class Arriving {
  /**
   * @param {string} position of the write
   * @param {number} derived how many there are
   */
  constructor(position, derived) {
    this.position = position;
    this.derived = derived;
    this.event = eventOf(position);
    this.at = position;
    this.tx = ''; // a delete may write more documents: their changes are caused by it, too
    this.come = 0;
    this.complete = derived <= 0;
    this.began = performance.now();
    this.ms = 0;
    /** @type {Map<string, { collection: string, rule: string, count: number }>} */
    this.counts = new Map();
  }

  /** @param {Row[]} rows */
  add(rows) {
    if (this.complete) return;
    for (const row of rows) {
      if (this.#isOurs(row)) {
        if (row.op === 'derive') this.#count(row);
      } else if (isLater(row.seq, this.position)) this.complete = true;
    }
    this.complete ||= this.come >= this.derived;
    this.ms = performance.now() - this.began;
  }

  /**
   * Takes how far the feed has been read. Where it has nothing more, all that the reader may see has come.
   * @param {string} at
   * @param {boolean} all
   */
  moved(at, all) {
    this.at = at;
    if (all && isLater(at, this.position)) this.complete = true;
  }

  /** @param {Row} row */
  #isOurs(row) {
    if (this.tx === '' && row.tx !== '' && (eventOf(row.seq) === this.event || eventOf(row.cause?.seq ?? '') === this.event))
      this.tx = row.tx;
    return eventOf(row.seq) === this.event || (row.tx !== '' && row.tx === this.tx);
  }

  /** @param {Row} row */
  #count(row) {
    this.come++;
    for (const rule of row.cause?.rules ?? [row.cause?.rule ?? '']) {
      const name = row.collection + ' ' + rule;
      const of = this.counts.get(name);
      if (of) of.count++;
      else if (this.counts.size < MAX_LINES) this.counts.set(name, { collection: row.collection, rule, count: 1 });
    }
  }
}
