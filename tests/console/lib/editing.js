// What the scenarios of editing have in common.
import assert from 'node:assert/strict';
import { pathOf } from './store.js';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('./store.js').Store} Store */

/** @param {Page} page */
export const box = (page) => page.getByRole('textbox', { name: 'Document', exact: true });

/**
 * The text in an editor of code, of which it draws what is in sight alone, or in a text box.
 * @param {import('playwright-core').Locator} of
 * @returns {Promise<string>}
 */
export const codeIn = (of) => of.evaluate((element) => /** @type {any} */ (element).value ?? /** @type {any} */ (element).cmTile.view.state.doc.toString());

/** Types a text in the place of all that it has, also of what is out of sight. @param {import('playwright-core').Locator} of @param {string} text */
export async function retype(of, text) {
  await of.press('Control+A');
  await of.page().keyboard.insertText(text);
}

/** Waits until it has a text. @param {import('playwright-core').Locator} of @param {string} text */
export async function codeIs(of, text) {
  const element = await of.elementHandle();
  await of.page().waitForFunction(({ element, text }) => /** @type {any} */ (element).cmTile.view.state.doc.toString() === text, { element, text });
}

/** What is selected in it. @param {import('playwright-core').Locator} of @returns {Promise<string>} */
export const selectedIn = (of) => of.evaluate((element) => {
  const { state } = /** @type {any} */ (element).cmTile.view;
  return state.sliceDoc(state.selection.main.from, state.selection.main.to);
});

/** The text of the document. @param {Page} page */
export const textIn = (page) => codeIn(box(page));

/** Waits until an editor has the focus. @param {Page} page @param {import('playwright-core').Locator} [of] */
export async function focused(page, of = box(page)) {
  const element = await of.elementHandle();
  await page.waitForFunction((element) => /** @type {any} */ (element?.getRootNode()).activeElement === element, element);
}

/** @param {Page} page @param {string} name */
export const press = (page, name) => page.getByRole('button', { name, exact: true }).click();

/** @param {Page} page */
export const preview = (page) => page.getByRole('dialog', { name: 'What this save changes' });

/** @param {Page} page */
export const conflict = (page) => page.getByRole('alert', { name: 'Changed meanwhile' });

/** Types another text in the place of one that the text box has. @param {Page} page @param {string} was @param {string} is */
export async function replace(page, was, is) {
  const text = await textIn(page);
  assert.ok(text.includes(was), `${was} is not in ${text}`);
  await box(page).fill(text.replace(was, is));
}

/** Waits until a save is told. @param {Page} page @param {string} what */
export const told = (page, what) => page.getByRole('status').filter({ hasText: what }).waitFor();

/** How many versions a document has. @param {Store} store @param {string} collection @param {string} id */
export const versions = async (store, collection, id) => (await store.get(pathOf(collection, id) + '/_history?derived=exclude')).json.items.length;

export const model = `
collections:
  authors: { derive: { countOfBooks: { count: books.author } } }
  books:
    relations: { author: { path: author, to: authors } }
    derive: { authorName: { copy: author, value: doc.name } }
  posts:
    relations: { book: { path: book, to: books } }
    derive: { by: { copy: book, value: doc.authorName } }
  forms:
    schema: { type: object, properties: { name: { type: string }, lines: { type: array, items: { type: object, properties: { n: { type: integer } } } } } }
`;

/** @param {number} books @param {number} posts */
export const library = (books, posts) => ({
  model,
  documents: {
    authors: { a1: '{"id":"a1","name":"Mary Ann Evans","born":1819}' },
    books: Object.fromEntries(Array.from({ length: books }, (_, i) => ['b' + i, { author: 'a1' }])),
    posts: Object.fromEntries(Array.from({ length: posts }, (_, i) => ['p' + i, { book: 'b' + i }])),
  },
});
