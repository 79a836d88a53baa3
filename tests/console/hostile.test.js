// Hostile content is text, and never markup (point 22 of the console).
import assert from 'node:assert/strict';
import { retype } from './lib/editing.js';
import { hidden, hostileTexts } from './lib/hostile.js';
import { scenario } from './lib/scenario.js';

/** @typedef {import('./lib/scenario.js').Scene} Scene */

const data = { data: 'hostile', shared: true };

/** Styles that are sizes and places in pixels, as the rows and columns of a table have them by the CSSOM: no text of others is in them. */
const sizes = '^(?:(?:(?:max-)?height|width|top): (?:\\d+(?:\\.\\d+)?px|auto);\\s?)+$';

/**
 * Fails where something on a page has come of content as markup, leads elsewhere, or hides.
 * @param {import('./lib/tab.js').Tab} tab
 */
async function textOnly(tab) {
  const found = await tab.page.evaluate((sizes) => ({
    elements: [...document.querySelectorAll('img, iframe, object, embed, base, form[action], body script, body style, body link, [style], a:not([href])')].filter((e) => !new RegExp(sizes).test(e.getAttribute('style') ?? '')).map((e) => e.outerHTML),
    handlers: [...document.querySelectorAll('*')].filter((e) => e.getAttributeNames().some((name) => name.startsWith('on'))).map((e) => e.outerHTML),
    elsewhere: [...document.querySelectorAll('[href], [src]')].filter((e) => e.matches('body *') && !e.getAttribute('href')?.startsWith('#')).map((e) => e.outerHTML),
    text: document.title + '\n' + document.body.textContent + [...document.querySelectorAll('[aria-label]')].map((e) => e.getAttribute('aria-label')).join('\n'),
  }), sizes);
  assert.deepEqual([found.elements, found.handlers, found.elsewhere], [[], [], []], tab.page.url());
  const at = found.text.search(hidden);
  assert.equal(at, -1, `a hidden character in ${JSON.stringify(found.text.slice(Math.max(0, at - 60), at + 20))} at ${tab.page.url()}`);
}

/** The place of a document. @param {string} id */
const placeOf = (id) => '#/things/' + encodeURIComponent(id);

/**
 * What each page with hostile content waits for.
 * @type {Record<string, [(id: string) => string, (scene: Scene, id: string) => Promise<void>]>}
 */
const pages = {
  'a collection': [() => '#/things', async ({ page }) => page.getByRole('table', { name: 'Documents' }).getByRole('link').first().waitFor()],
  'a filter': [(id) => '#/things?filter=' + encodeURIComponent(id) + '&sort=' + encodeURIComponent(id), async ({ page }) => page.getByRole('alert').first().waitFor()],
  'a document': [placeOf, async ({ page }) => {
    await page.getByRole('button', { name: 'Origin of /copied' }).click();
    await page.getByRole('region', { name: 'Origin' }).getByRole('link').first().waitFor();
  }],
  'an editor': [(id) => placeOf(id) + '?edit', async ({ page }) => page.getByRole('textbox', { name: 'Document', exact: true }).waitFor()],
  'a history': [(id) => placeOf(id) + '/_history', async ({ page }) => page.getByRole('button', { name: 'Compare with now' }).first().waitFor()],
  'a document in the past': [(id) => placeOf(id) + '?at=' + encodeURIComponent(id), async ({ page }) => page.getByRole('alert').first().waitFor()],
  'a document that is none': [(id) => placeOf(id + '!'), async ({ page }) => page.getByRole('alert').first().waitFor()],
  'a collection that is none': [(id) => '#/' + encodeURIComponent(id), async ({ page }) => page.getByRole('alert').first().waitFor()],
  'a group that is none': [(id) => '#/_groups/' + encodeURIComponent(id), async ({ page }) => page.getByRole('alert').first().waitFor()],
  'a model that is none': [() => '#/_model', async ({ page }, id) => {
    await retype(page.getByRole('textbox', { name: 'Model', exact: true }), `collections:\n  ${JSON.stringify(id)}: {}\n  things: { derive: { ${JSON.stringify(id)}: { copy: ${JSON.stringify(id)}, value: ${JSON.stringify(id)} } } }\n`);
    await page.getByRole('button', { name: 'Preview', exact: true }).click();
    await page.getByRole('alert').first().waitFor();
  }],
  'changes from nowhere': [(id) => '#/_changes?since=' + encodeURIComponent(id), async ({ page }) => page.getByRole('alert').first().waitFor()],
};

for (const [name, [place, shown]] of Object.entries(pages)) {
  scenario(`Hostile texts on ${name} are text`, data, async (scene) => {
    scene.tab.watch();
    for (const id of hostileTexts) {
      await scene.tab.open(place(id));
      await shown(scene, id);
      await textOnly(scene.tab);
    }
  });
}

scenario('Hostile texts in the feed are text', data, async ({ tab, page }) => {
  tab.watch();
  await tab.open('#/_changes?since=0');
  const changes = page.getByRole('list', { name: 'Changes' });
  await changes.getByRole('listitem').nth(hostileTexts.length).waitFor();
  for (const button of await changes.getByRole('button', { name: /derived change/ }).all()) await button.click();
  await textOnly(tab);
});

scenario('A hostile id leads to its document, and to no other', data, async ({ tab, page }) => {
  await tab.open('#/things');
  const table = page.getByRole('table', { name: 'Documents' });
  await table.getByRole('link').first().waitFor();
  const hrefs = await table.getByRole('link').evaluateAll((links) => links.map((a) => String(a.getAttribute('href'))));
  for (const id of hostileTexts) assert.ok(hrefs.includes(placeOf(id)), `${id} is not among ${hrefs.join(' ')}`);
  for (const id of hostileTexts) {
    const answered = page.waitForResponse((r) => new URL(r.url()).pathname === '/v1/things/' + encodeURIComponent(id));
    await table.locator(`a[href=${JSON.stringify(placeOf(id))}]`).first().click();
    assert.equal((await answered).status(), 200);
    await page.getByRole('region', { name: 'Document' }).waitFor();
    await page.goBack();
  }
});

scenario('Large shapes are shown in part, and the page does not scroll sideways', data, async ({ tab, page }) => {
  for (const id of ['long', 'wide', 'deep']) {
    await tab.open('#/shapes/' + id, 'shapes/' + id);
    await page.getByRole('region', { name: 'Document' }).waitFor();
    await tab.noSidewaysScrolling();
    assert.ok((await page.evaluate(() => document.querySelectorAll('*').length)) < 20_000, id + ': fewer elements than members');
  }
  await tab.open('#/shapes', 'shapes');
  await page.getByRole('table', { name: 'Documents' }).getByRole('link', { name: 'wide' }).waitFor();
  await tab.noSidewaysScrolling();
});
