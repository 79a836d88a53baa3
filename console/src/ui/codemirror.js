// The editor of code as CodeMirror makes it. Nothing but code.js imports this, when an editor is shown.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { json } from '@codemirror/lang-json';
import { yaml } from '@codemirror/lang-yaml';
import {
  HighlightStyle,
  StreamLanguage,
  bracketMatching,
  codeFolding,
  foldGutter,
  foldKeymap,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
  syntaxTree,
} from '@codemirror/language';
import { lintKeymap, linter } from '@codemirror/lint';
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search';
import { Compartment, EditorState, StateEffect } from '@codemirror/state';
import { EditorView, drawSelection, dropCursor, highlightSpecialChars, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { hidden } from '../lib/jsontext.js';
import { pieces } from '../lib/text.js';

/** @typedef {import('./inputs.js').Coding} Coding */
/** @typedef {import('@codemirror/autocomplete').CompletionSource} CompletionSource */

/** How long nothing is typed until mistakes are looked for, in milliseconds. */
const PAUSE = 300;

/** Has mistakes looked for again. @type {import('@codemirror/state').StateEffectType<null>} */
const again = StateEffect.define();

/**
 * Makes an editor in an element.
 * @param {HTMLElement} host
 * @param {() => Coding} latest
 */
export function mount(host, latest) {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
  const changing = new Compartment();
  const of = latest();
  let by = of.checkedBy;
  const isOld = () => (by === latest().checkedBy ? [] : ((by = latest().checkedBy), [again.of(null)]));
  const view = new EditorView({
    parent: root,
    root,
    state: EditorState.create({
      doc: of.initial,
      extensions: [...common, languages[of.language](), ...looks(of), ...helps(latest), changing.of(attributes(of))],
    }),
  });
  return {
    box: boxOf(view, of.initial),
    tell: () => view.dispatch({ effects: [changing.reconfigure(attributes(latest())), ...isOld()] }),
    end: () => view.destroy(),
  };
}

/**
 * What others do with the text. One that nobody has edited is returned as it came, with its own ends of lines.
 * @param {EditorView} view
 * @param {string} initial
 * @returns {import('./inputs.js').Box}
 */
function boxOf(view, initial) {
  let came = { text: initial, doc: view.state.doc };
  return {
    text: () => (view.state.doc.eq(came.doc) ? came.text : view.state.doc.toString()),
    put: (text) => {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text }, selection: { anchor: 0 } });
      came = { text, doc: view.state.doc };
    },
    edit: (changes) => view.dispatch({ changes }),
    focus: () => view.focus(),
    select: (from, to) => {
      const end = view.state.doc.length;
      view.dispatch({
        selection: { anchor: Math.min(from, end), head: Math.min(to, end) },
        effects: EditorView.scrollIntoView(Math.min(from, end), { y: 'center' }),
      });
      view.focus();
    },
  };
}

/** @param {Coding} of */
const attributes = ({ label, wrong, readOnly = false }) => [
  EditorState.readOnly.of(readOnly),
  EditorView.contentAttributes.of({
    'aria-label': label,
    tabindex: '0',
    'aria-readonly': String(readOnly),
    autocapitalize: 'off',
    ...(wrong ? { 'aria-invalid': 'true' } : {}),
  }),
];

/**
 * What an editor tells, and what helps whoever types.
 * @param {() => Coding} latest
 */
function helps(latest) {
  const { check, complete, completeText } = latest();
  const save = () => {
    latest().onSave?.();
    return latest().onSave !== undefined;
  };
  const out = [
    EditorView.updateListener.of((update) => {
      if (update.docChanged) latest().onInput?.();
    }),
    keymap.of([{ key: 'Mod-s', run: save, preventDefault: true }]),
    EditorView.domEventHandlers({ beforeinput: typedOver }),
  ];
  if (check) out.push(checking(latest));
  if (complete || completeText)
    out.push(autocompletion({ override: [complete ? inJSON(latest) : inText(latest)], icons: false, activateOnTyping: true }));
  return out;
}

/**
 * Returns what is selected in the page. The library may not have heard of it yet.
 * @param {EditorView} view
 */
function selectedNow(view) {
  const root = /** @type {any} */ (view.root); // only some browsers tell of selections in shadow roots
  const { anchorNode, anchorOffset, focusNode, focusOffset } = root.getSelection?.() ?? {};
  if (!view.contentDOM.contains(anchorNode) || !view.contentDOM.contains(focusNode)) return view.state.selection.main;
  const [from, to] = [view.posAtDOM(anchorNode, anchorOffset), view.posAtDOM(focusNode, focusOffset)];
  const { main } = view.state.selection;
  const isKnown = main.from <= Math.min(from, to) && main.to >= Math.max(from, to); // and reaches beyond what is drawn
  return isKnown ? main : { from: Math.min(from, to), to: Math.max(from, to) };
}

/**
 * Puts what is typed in the place of what is selected. A browser that does that itself gives styles to lines, which the page refuses.
 * @param {InputEvent} event
 * @param {EditorView} view
 */
function typedOver(event, view) {
  const text = event.data;
  if (event.inputType !== 'insertText' || text === null || event.isComposing || view.state.readOnly) return false;
  const { from, to } = selectedNow(view);
  if ((from === to && !text.includes('\n')) || view.state.selection.ranges.length > 1) return false;
  event.preventDefault();
  const put = () =>
    view.state.update({
      changes: { from, to, insert: text },
      selection: { anchor: from + text.length },
      scrollIntoView: true,
      userEvent: 'input.type',
    });
  if (!view.state.facet(EditorView.inputHandler).some((handle) => handle(view, from, to, text, put))) view.dispatch(put());
  return true;
}

/** @param {() => Coding} latest */
function checking(latest) {
  let ending = new AbortController();
  const look = async (/** @type {EditorView} */ view) => {
    ending.abort();
    ending = new AbortController();
    const { signal } = ending;
    const end = view.state.doc.length;
    try {
      const found = (await latest().check?.(view.state.doc.toString(), signal)) ?? [];
      return found.map(({ what, from, to }) => ({
        from: Math.min(from, end),
        to: Math.min(to, end),
        severity: /** @type {const} */ ('error'),
        message: what,
      }));
    } catch (error) {
      if (signal.aborted) return []; // another look has begun
      throw error;
    }
  };
  const needsRefresh = (/** @type {import('@codemirror/view').ViewUpdate} */ { transactions }) =>
    transactions.some(({ effects }) => effects.some((one) => one.is(again)));
  return linter(look, { delay: PAUSE, needsRefresh });
}

/**
 * Completes names and values of JSON.
 * @param {() => Coding} latest
 * @returns {CompletionSource}
 */
const inJSON = (latest) => async (context) => {
  const { state, pos } = context;
  const at = syntaxTree(state).resolveInner(pos, -1);
  const isText = at.name === 'String' || at.name === 'PropertyName';
  const from = isText ? at.from : (context.matchBefore(/[\w.-]+/)?.from ?? pos);
  if (!isText && from === pos && !context.explicit) return null;
  const spot = spotOf(state, at, from);
  if (!spot) return null;
  const choices = await latest().complete?.(spot);
  if (context.aborted || !choices?.length) return null;
  const options = choices.map(({ label, detail }) => ({
    label: spot.isName ? JSON.stringify(label) : label,
    displayLabel: label,
    detail,
    apply: (/** @type {EditorView} */ view, /** @type {any} */ chosen, /** @type {number} */ from, /** @type {number} */ to) => {
      const rest = view.state.sliceDoc(to, to + 40);
      const isClosed = chosen.label.startsWith('"') && rest.startsWith('"');
      const insert = chosen.label + (spot.isName && !/^"?\s*:/.test(rest) ? ': ' : '');
      view.dispatch({
        changes: { from, to: to + Number(isClosed), insert },
        selection: { anchor: from + insert.length },
        userEvent: 'input.complete',
      });
    },
  }));
  return { from, options, validFor: /^"?[^"\\]*$/ };
};

/**
 * Returns where something is written, undefined where nothing can be.
 * @param {EditorState} state
 * @param {import('@lezer/common').SyntaxNode} at what stands there
 * @param {number} from where it begins
 * @returns {import('./inputs.js').Spot | undefined}
 */
function spotOf(state, at, from) {
  let edge = from;
  while (edge > 0 && /\s/.test(state.sliceDoc(edge - 1, edge))) edge--;
  const before = state.sliceDoc(edge - 1, edge);
  const inName = at.name === 'PropertyName';
  const around = enclosing(inName ? (at.parent?.parent ?? null) : syntaxTree(state).resolveInner(edge, -1));
  const isName = inName || ((before === '{' || before === ',') && around?.name === 'Object');
  if (!around || (!isName && !':[,'.includes(before))) return undefined;
  /** @type {string[]} */
  const path = [];
  for (let node = /** @type {typeof at | null} */ (around); node; node = node.parent) {
    if (node.name === 'Property') path.unshift(nameIn(state, node));
    if (node.name === 'Array') path.unshift('');
  }
  return { path, isName, taken: isName ? around.getChildren('Property').map((one) => nameIn(state, one)) : [] };
}

/** Returns the first that has others in it, from a node on outwards. @param {import('@lezer/common').SyntaxNode | null} node */
function enclosing(node) {
  let around = node;
  while (around && !['Property', 'Object', 'Array'].includes(around.name)) around = around.parent;
  return around;
}

/**
 * Returns the name of a member, empty while it is being typed.
 * @param {EditorState} state
 * @param {import('@lezer/common').SyntaxNode} property
 */
function nameIn(state, property) {
  const name = property.getChild('PropertyName');
  try {
    return name ? String(JSON.parse(state.sliceDoc(name.from, name.to))) : '';
  } catch {
    return '';
  }
}

/**
 * Completes a text by what stands before the cursor.
 * @param {() => Coding} latest
 * @returns {CompletionSource}
 */
const inText = (latest) => async (context) => {
  const found = await latest().completeText?.(context.state.sliceDoc(0, context.pos), context.state.doc.toString());
  if (context.aborted || !found?.choices.length || (found.from === context.pos && !context.explicit)) return null;
  return { from: found.from, options: found.choices, validFor: /^[\w.-]*$/ };
};

/** The tokens of CEL, each with what it is. @type {[RegExp, string | null][]} */
const CEL = [
  [/^\s+/, null],
  [/^\/\/.*/, 'comment'],
  [/^[rRbB]?(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?)/, 'string'],
  [/^(?:0[xX][\da-fA-F]+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)[uU]?/, 'number'],
  [/^(?:true|false|null)\b/, 'atom'],
  [/^in\b/, 'keyword'],
  [/^(?:doc|params|meta|auth)\b/, 'keyword'],
  [/^[A-Za-z_]\w*/, 'variableName'],
  [/^./, 'punctuation'],
];

/** The language of filters, line by line. */
const cel = () =>
  StreamLanguage.define({
    name: 'cel',
    token: (stream) => CEL.find(([of]) => stream.match(of))?.[1] ?? null,
  });

/** @type {Record<Coding['language'], () => import('@codemirror/state').Extension>} */
const languages = { json, yaml, cel };

const accent = { color: 'var(--link)' };
const quiet = { color: 'var(--quiet)' };

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.keyword, tags.definition(tags.propertyName)], ...accent },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], fontWeight: '600' },
  { tag: [tags.punctuation, tags.separator, tags.brace, tags.squareBracket, tags.comment, tags.meta], ...quiet },
  { tag: tags.invalid, textDecoration: 'underline var(--alert)' },
]);

const bare = { outline: 'none', border: '0', backgroundColor: 'transparent', color: 'inherit' };

/** Tokens of the page reach into the shadow root. Pictures of the library's own are not allowed by the page, and have other marks. */
const theme = EditorView.theme({
  '&': { border: '1px solid var(--edge)', borderRadius: 'var(--radius)', backgroundColor: 'var(--paper)', color: 'var(--ink)' },
  '&.cm-focused': { outline: '3px solid var(--link)', outlineOffset: '0' },
  '.cm-scroller': {
    fontFamily: 'var(--mono)',
    fontSize: 'var(--text)',
    lineHeight: '1.5',
    overflow: 'auto',
    maxHeight: 'min(70vh, 52rem)',
  },
  '.cm-gutters': { ...bare, color: 'var(--quiet)', backgroundColor: 'var(--soft)', borderInlineEnd: '1px solid var(--line)' },
  '.cm-cursor': { borderInlineStartColor: 'var(--ink)', borderInlineStartWidth: '2px' },
  '.cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground': {
    backgroundColor: 'color-mix(in srgb, var(--link) 24%, transparent)',
  },
  '.cm-selectionMatch, .cm-searchMatch': { backgroundColor: 'var(--mark)' },
  '.cm-searchMatch-selected': { backgroundColor: 'var(--mark)', outline: '2px solid var(--link)' },
  '&.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--mark)' },
  '.cm-foldPlaceholder': { ...bare, border: '1px solid var(--line)', color: 'var(--quiet)', padding: '0 0.4em' },
  '.cm-specialChar, .cm-hidden': { ...bare, color: 'inherit', border: '1px solid var(--quiet)', borderRadius: '3px', fontSize: '0.8em' },
  '.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--alert)' },
  '.cm-lintPoint-error::after': { borderBottomColor: 'var(--alert)' },
  '.cm-tooltip, .cm-panels': { backgroundColor: 'var(--paper)', color: 'var(--ink)', borderColor: 'var(--line)' },
  '.cm-diagnostic-error': { borderInlineStartColor: 'var(--alert)' },
  '.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '0.15rem 0.6rem' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': { backgroundColor: 'var(--link)', color: 'var(--paper)' },
  '.cm-completionDetail': { fontStyle: 'normal', opacity: '1', fontFamily: 'system-ui, sans-serif' },
  '.cm-textfield, .cm-button': {
    backgroundColor: 'var(--paper)',
    backgroundImage: 'none',
    color: 'inherit',
    border: '1px solid var(--quiet)',
    borderRadius: '4px',
    minHeight: '24px',
    fontSize: '0.9rem',
  },
  '.cm-panel.cm-search label': { fontSize: '0.85rem' },
});

/** @param {Coding} of */
const looks = ({ rows = 12 }) => [
  lineNumbers(),
  codeFolding(),
  foldGutter(),
  EditorView.theme({ '.cm-content, .cm-gutter': { minHeight: `${1.5 * rows}em` } }),
];

/** Shows a character that nobody would see by its code point. @param {number} code */
function shownAs(code) {
  const span = document.createElement('span');
  span.className = 'cm-hidden';
  span.textContent = pieces(String.fromCodePoint(code))[1];
  return span;
}

const common = [
  history(),
  drawSelection(),
  dropCursor(),
  indentOnInput(),
  indentUnit.of('  '),
  bracketMatching(),
  closeBrackets(),
  highlightSelectionMatches(),
  highlightSpecialChars({ specialChars: hidden, render: shownAs }),
  search({ top: true }),
  syntaxHighlighting(colours),
  theme,
  EditorView.lineWrapping,
  EditorState.tabSize.of(2),
  keymap.of([
    ...closeBracketsKeymap,
    ...defaultKeymap,
    ...searchKeymap,
    ...historyKeymap,
    ...foldKeymap,
    ...completionKeymap,
    ...lintKeymap,
  ]),
];
