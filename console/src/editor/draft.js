import { html, useEffect, useRef, useState } from '../lib/html.js';
import { NotJSON, scan } from '../lib/json.js';
import { indent, mustBeTaken, splice } from '../lib/jsontext.js';
import { guard } from '../lib/place.js';
import { useWriting } from '../lib/write.js';
import { select } from '../ui/parts.js';
import { Preview, WriteProblem, without } from '../ui/preview.js';
import { Conflict, useMeanwhile } from './conflict.js';
import { Mistakes, TextBox, mistakeOf, mistakesOf, saving } from './page.js';

/** @typedef {import('./page.js').Read} Read */

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
  const box = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const [base, setBase] = useState(read);
  const [told, setTold] = useState(NOTHING);
  const text = () => box.current?.value ?? '';
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

  /** @param {Read | undefined} over the document that is replaced */
  const save = (over) => {
    const typed = text();
    const mistake = mistakeIn(typed);
    if (mistake && box.current) {
      setTold({ ...NOTHING, text: typed, mistakes: [mistake] });
      writing.stop();
      select(box.current, mistake.from, mistake.to);
      return;
    }
    const body = base ? splice(base.text, typed) : typed;
    const changed = !over || body !== over.text;
    setTold({ ...NOTHING, text: typed, said: changed ? '' : 'Nothing has changed: there is nothing to save.' });
    if (changed) writing.begin(saving(collection, id, over, body));
    else writing.stop();
  };
  const typing = () => {
    if (told.said) setTold(NOTHING);
    if (met) retype();
  };
  const takeTheirs = () => {
    const theirs = met?.theirs;
    if (box.current) box.current.value = theirs ? indent(theirs.text) : EMPTY;
    isSaved(text());
    setBase(theirs);
    setTold(NOTHING);
    writing.stop();
    forget();
    box.current?.focus();
  };
  return html`<${TextBox} box=${box} initial=${initial} wrong=${told.mistakes.length > 0} focus=${read !== undefined} onInput=${typing} />
    <div id="mistakes">${
      told.mistakes.length > 0 &&
      html`<div role="alert" class="problem"><strong>This is no document yet</strong>
      <${Mistakes} text=${told.text} mistakes=${told.mistakes} box=${box} /></div>`
    }
      ${writing.state.phase === 'idle' && html`<${Refusal} writing=${writing} text=${told.text} box=${box} />`}</div>
    ${
      met?.known &&
      html`<${Conflict} base=${base?.text} theirs=${met.theirs?.text} mine=${met.typed} onMine=${() => save(met.theirs)}
      onTheirs=${takeTheirs} />`
    }
    <${WriteProblem} state=${{ phase: 'idle', problem: met?.problem, again: meet }} />
    <p class="actions"><button type="button" class="main" onClick=${() => save(base)}>Save</button> ${children}
      <span role="status" class="quiet">${told.said || SAYS[writing.state.phase]}</span></p>
    <${Preview} title="What this save changes" go="Save now" keep="Keep editing" writing=${writing} />`;
}

/** @type {Record<string, string>} */
const SAYS = { looking: 'Looking at what it changes', sending: 'Saving' };

/**
 * The refusal of a save, with the lines of the text that it is about.
 * @param {{ writing: import('../lib/write.js').Writing, text: string, box: { current: HTMLTextAreaElement | null } }} props
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
 * Returns what makes a text no document, undefined where it is one.
 * @param {string} text
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
 * @param {{ current: HTMLTextAreaElement | null }} box
 * @param {string} initial
 * @param {boolean} more whether there is more than the text that would be lost
 */
function useUnsaved(box, initial, more) {
  const stored = useRef({ text: initial, more: false });
  const now = useRef(more);
  now.current = more;
  // A text box that has gone has lost nothing: the guard may outlive it for a moment.
  useEffect(
    () => guard(() => box.current !== null && (box.current.value !== stored.current.text || now.current !== stored.current.more)),
    [],
  );
  return (/** @type {string} */ saved) => {
    stored.current = { text: saved, more: now.current };
  };
}
