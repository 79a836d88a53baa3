import { html, useEffect, useRef, useState } from '../lib/html.js';
import { draft, guard, placeHref, replacePlace } from '../lib/place.js';
import { Code } from '../ui/inputs.js';
import { ProblemAlert } from '../ui/dialogs.js';
import { Visible, number } from '../ui/parts.js';
import { MAX_PLACE } from '../ui/preview.js';
import { useBase } from './page.js';
import { ModelPreview, ModelProblem, useChange } from './preview.js';

/**
 * The editor of the model: its text, a preview, and what applies the text that was previewed.
 * @param {Edited} props
 */
export function Editor(props) {
  const of = useEditor(props);
  const { box, base, theirs, problem, again, takeTheirs, against, change, text, typed, setTyped, suggested, drafted } = of;
  const { state, preview, apply, stop, forget } = change;
  const [sure, setSure] = useState(false);
  useEffect(() => setSure(false), [state.previewed]);
  if (!base) return html`<${ProblemAlert} problem=${problem} again=${again} asked />`;

  const busy = state.phase !== 'idle';
  const { previewed } = state;
  const isSame = previewed !== undefined && previewed.text === typed;
  const look = () => {
    if (!busy) preview(text(), against());
  };
  const take = () => {
    takeTheirs();
    forget();
  };
  return html`<section aria-label="Editor" class="model-editor"><h2>Edit</h2>
    ${suggested.note}${props.isDrafted && drafted.current !== null && html`<p>The proposal stands in the text.</p>`}
    <${Code} box=${box} label="Model" language="yaml" initial=${base.text} rows=${Math.min(30, base.text.split('\n', 40).length + 1)}
      readOnly=${state.phase === 'applying' || state.phase === 'merging'} wrong=${state.problem && state.text === typed}
      onInput=${() => setTyped(text())} onSave=${look} onReady=${of.setReady} completeText=${completeModel} />
    ${
      theirs &&
      html`<div role="alert" class="problem"><strong>Changed meanwhile</strong>
      <p>Another model applies than the one that this text was made from. A preview compares with the model of now: what only that one has
        is told as gone.</p>
      <button type="button" onClick=${take}>Take theirs</button></div>`
    }
    <${ProblemAlert} problem=${problem} again=${again} asked />
    <${ModelProblem} problem=${state.problem} text=${state.text ?? ''} box=${box} />
    <p class="actions"><button type="button" class=${isSame ? '' : 'main'} aria-disabled=${busy ? 'true' : undefined}
      onClick=${look}>Preview</button>
      <button type="button" class=${isSame ? 'main' : ''} disabled=${!isSame || busy || !mayApply(previewed.preview, sure)}
        onClick=${apply}>Apply</button>
      ${(state.phase === 'previewing' || state.phase === 'merging') && html`<button type="button" onClick=${stop}>Stop</button>`}
      <span role="status" class="quiet">${told(state, typed, props.pending)}</span></p>
    ${previewed && html`<${ModelPreview} preview=${previewed.preview} isSame=${isSame} sure=${sure} onSure=${setSure} />`}
  </section>`;
}

/**
 * What an editor of the model is given.
 * @typedef {object} Edited
 * @property {string} etag of the model that applies
 * @property {string | null} suggest what a place wants merged in
 * @property {boolean} isDrafted whether the text of another page stands in for the model's
 * @property {boolean} pending whether another model is announced
 * @property {() => void} onChanged is called after a change
 */

/**
 * What the editor has: the text, what it was made from, and how a change of it stands.
 * @param {Edited} props
 */
function useEditor({ etag, suggest, isDrafted, onChanged }) {
  const box = useRef(/** @type {import('../ui/inputs.js').Box | null} */ (null));
  const [typed, setTyped] = useState('');
  const [isReady, setReady] = useState(false); // the text box is there
  const text = () => box.current?.text() ?? '';
  const change = useChange({
    onApplied: (text) => {
      edited.applied(text);
      if (suggest !== null || isDrafted) replacePlace(placeHref(['_model']));
      onChanged();
    },
    onStale: onChanged,
  });
  const edited = useBase(etag, box, change.state.phase === 'applying');
  const { base, theirs, problem, again, takeTheirs, against } = edited;
  const suggested = useSuggestion(suggest, isReady ? base : null, change.state, (patch, etag, take) =>
    change.merge(patch, etag, (text) => {
      if (!box.current) return;
      take(text);
      box.current.put(text);
      setTyped(text);
      box.current.select(0, 0);
    }),
  );
  const drafted = useDraft(isDrafted, isReady ? base : null, box, setTyped);
  useEffect(change.forget, [theirs]); // what was previewed is told of a model that applies no more
  useEffect(() => setTyped(text()), [base, isReady]);
  const clean = useRef('');
  clean.current = base?.text ?? '';
  useEffect(() => guard(() => box.current !== null && ![clean.current, suggested.put.current.text, drafted.current].includes(text())), []);
  return {
    setReady: () => setReady(true),
    box,
    base,
    theirs,
    problem,
    again,
    takeTheirs,
    against,
    change,
    text,
    typed,
    setTyped,
    suggested,
    drafted,
  };
}

/**
 * Tells whether what was previewed can be applied.
 * @param {any} preview
 * @param {boolean} sure that what it takes away is to go
 */
const mayApply = (preview, sure) =>
  !preview.problems?.length &&
  !preview.misfits?.length &&
  preview.differences.length > 0 &&
  (sure || !preview.differences.some((/** @type {any} */ one) => one.removes));

/** What the phases are called. @type {Record<string, string>} */
const SAYS = { merging: 'Looking at what the suggestion changes', previewing: 'Looking at what it changes', applying: 'Applying it' };

/**
 * Says how the change stands.
 * @param {import('./preview.js').State} state
 * @param {string} typed
 * @param {boolean} pending
 */
function told({ phase, work, applied, previewed }, typed, pending) {
  if (phase !== 'idle')
    return SAYS[phase] + (work && work.total > 0 ? `: ${work.phase}, ${number(work.done)} of ${number(work.total)}` : '');
  if (applied?.applied)
    return `It applies since ${applied.position}: ${number(applied.values)} values on ${number(applied.documents)} documents changed.`;
  if (applied && pending) return 'It is being prepared, and applies then.';
  if (previewed && previewed.text !== typed) return 'The text is another one than was previewed.';
  return pending && previewed ? 'Another model is being prepared. Withdraw it, or wait for it.' : '';
}

/**
 * Has the suggestion of a place, a JSON merge patch, put into the text, once that is there. Where another model came before that, it
 * is tried again with the text of that one.
 * @param {string | null} suggest
 * @param {import('./page.js').Base | null} base
 * @param {import('./preview.js').State} state
 * @param {(patch: string, etag: string, take: (text: string) => void) => void} merge
 */
function useSuggestion(suggest, base, state, merge) {
  const tried = useRef({ patch: /** @type {string | null} */ (null), etag: '' });
  const put = useRef({ patch: /** @type {string | null} */ (null), text: '' });
  const tooLong = suggest !== null && suggest.length > MAX_PLACE;
  const stale = state.problem?.status === 412 && state.text === suggest;
  useEffect(() => {
    if (!base || suggest === null || tooLong || (tried.current.patch === suggest && !(stale && tried.current.etag !== base.etag))) return;
    tried.current = { patch: suggest, etag: base.etag };
    merge(suggest, base.etag, (text) => {
      put.current = { patch: suggest, text };
    });
  }, [base, suggest, stale]);
  return {
    note:
      suggest === null
        ? null
        : noteOf(suggest, tooLong, put.current.patch === suggest, tried.current.patch === suggest && state.phase !== 'merging'),
    put,
  };
}

/**
 * Puts the text that another page has proposed into the text box, once that is there.
 * @param {boolean} isDrafted
 * @param {import('./page.js').Base | null} base
 * @param {{ current: import('../ui/inputs.js').Box | null }} box
 * @param {(text: string) => void} setTyped
 * @returns {{ current: string | null }} what was put
 */
function useDraft(isDrafted, base, box, setTyped) {
  const put = useRef(/** @type {string | null} */ (null));
  useEffect(() => {
    if (!isDrafted || !base || put.current !== null || draft.value === null || !box.current) return;
    put.current = draft.value;
    box.current.put(draft.value);
    setTyped(draft.value);
    box.current.select(0, 0);
  }, [isDrafted, base]);
  return put;
}

/**
 * Says what became of a suggestion.
 * @param {string} suggest
 * @param {boolean} tooLong
 * @param {boolean} isPut it stands in the text
 * @param {boolean} wasTried
 */
function noteOf(suggest, tooLong, isPut, wasTried) {
  if (tooLong) return html`<p>The suggestion is longer than a place may be.</p>`;
  if (isPut) return html`<p>The suggestion stands in the text.</p>`;
  return (
    wasTried &&
    html`<p>The suggestion could not be put into the text. This is it, as a merge patch:</p><pre aria-label="Suggestion"><${Visible}
      text=${suggest} /></pre>`
  );
}

// What may be written at a place of the model.

/** Members of a model by the member around them: of a collection, of a relation and of a rule. */
const WORDS = {
  '': 'collections functions access fanout open',
  collection: 'relations derive schema unique indexes checks defaults trigger access private sequences release pages',
  relation: 'path to onDelete strict',
  rule: 'copy value where count sum min max avg ids recent limit frozen of orderBy fields takeOver',
};

/** Values that a member has. @type {Record<string, string>} */
const VALUES = { onDelete: 'clear keep unlink cascade restrict', strict: 'true false', frozen: 'true false', open: 'true false' };

/** Members whose values are collections or their relations. */
const NAMED = /^(?:to|copy|count|sum|min|max|avg|ids|recent)$/;

/**
 * Completes the text of a model: its own words, the values that members take, and the names that stand in the text.
 * @param {string} before what stands before the cursor
 * @param {string} text all of it
 */
export async function completeModel(before, text) {
  const line = before.slice(before.lastIndexOf('\n') + 1);
  const [word] = /[\w-]*$/.exec(line) ?? [''];
  const from = before.length - word.length;
  const [, member = ''] = /([\w-]+):\s+[\w-]*$/.exec(line) ?? [];
  const own = Object.values(WORDS).join(' ').split(' ');
  const names = new Set([...text.matchAll(/^ +([A-Za-z][\w-]*):/gm)].map(([, name]) => name).filter((name) => !own.includes(name)));
  const labels = VALUES[member]?.split(' ') ?? (NAMED.test(member) ? [...names] : member === '' ? own : []);
  return { from, choices: [...new Set(labels)].map((label) => ({ label })) };
}
