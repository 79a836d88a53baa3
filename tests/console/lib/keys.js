// What the scenarios of a closed store have in common.

/** @typedef {import('playwright-core').Page} Page */

/** The dialog that asks for a key. @param {Page} page */
export const keyDialog = (page) => page.getByRole('dialog', { name: 'Key needed', exact: true });

/** Types a key into that dialog. @param {Page} page @param {string} key @param {boolean} [keep] ticks "Keep in this tab" */
export async function useKey(page, key, keep = false) {
  const dialog = keyDialog(page);
  await dialog.getByLabel('Key', { exact: true }).fill(key);
  if (keep) await dialog.getByRole('checkbox', { name: 'Keep in this tab' }).check();
  await dialog.getByRole('button', { name: 'Use key', exact: true }).click();
}

/**
 * Presses "Save" with a key that ends before the server has the request. The feed ends with the key, too, and the dialog that it opens
 * must not be there before the button is pressed.
 * @param {import('./store.js').Store} store
 * @param {Page} page
 * @param {string} path of the document
 * @param {string} key
 */
export async function saveAsKeyEnds(store, page, path, key) {
  let over = false;
  await page.route((url) => url.pathname === path, async (route) => {
    if (route.request().method() === 'PUT' && !over) {
      over = true;
      await store.want('DELETE', '/v1/_keys/' + key.split('_')[1]);
    }
    await route.fallback();
  });
  await page.getByRole('button', { name: 'Save', exact: true }).click();
}
