// What a page must be, whatever it shows.
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import axe from 'axe-core';

/** What axe looks for, and what of that depends on colours. */
const all = { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22a', 'wcag22aa'] };
const ofColours = { type: 'rule', values: ['color-contrast', 'link-in-text-block'] };

/**
 * Fails where axe finds something on a page as it is in light, or in its colours in dark.
 * @param {import('playwright-core').Page} page
 */
export async function accessible(page) {
  if (!await page.evaluate(() => 'axe' in globalThis)) await page.evaluate(axe.source);
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    await page.emulateMedia({ colorScheme });
    const runOnly = colorScheme === 'light' ? all : ofColours;
    const found = await page.evaluate((runOnly) => /** @type {any} */ (globalThis).axe.run(document, { runOnly, resultTypes: ['violations'] }), runOnly);
    const told = found.violations.map((/** @type {any} */ v) => `${v.id}: ${v.help}\n` + v.nodes.map((/** @type {any} */ n) => `  ${n.html}\n  ${n.failureSummary}`).join('\n'));
    assert.deepEqual(told, [], `in ${colorScheme}, at ${page.url()}`);
  }
  await page.emulateMedia({ colorScheme: null });
}

/**
 * Compares what a screen reader finds in a part of a page with a golden file.
 * @param {import('playwright-core').Page | import('playwright-core').Locator} where of a page the part is main
 * @param {string} name of the file
 */
export async function golden(where, name) {
  const part = 'goto' in where ? where.getByRole('main') : where;
  const got = settled(await part.ariaSnapshot()) + '\n';
  const file = new URL(`../golden/${name}.yaml`, import.meta.url);
  if (process.env.FANFOLD_REWRITE) {
    await mkdir(new URL('.', file), { recursive: true });
    await writeFile(file, got);
    return;
  }
  assert.equal(got, await readFile(file, 'utf8'), `${name}: -rewrite writes it anew`);
}

/** Takes out of a text what is different each time: positions, times, durations, ports. @param {string} text */
export const settled = (text) => text
  .replace(/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| UTC|[+-]\d\d:\d\d)?/g, 'TIME').replace(/\b(just now|\d+ (s|min) ago)\b/g, 'TIME')
  .replace(/\b\d+-\d+-[0-9a-z]{8}(-\d+)?\b/g, 'POSITION').replace(/\b\d+-\d+\b/g, 'POSITION')
  .replace(/\b([Rr])evision \d+/g, '$1evision N')
  .replace(/\boldest [\d,.]+ (ms|s|min \d+ s) old\b/g, 'oldest N s old').replace(/\b[\d,.]+ (ms|s)\b/g, 'N $1')
  .replace(/\b[\d,.]+ (B|kB|MB|GB)\b/g, 'SIZE')
  .replace(/\b127\.0\.0\.1:\d+/g, 'SERVER').replace(/schema \d+, cel-go v[\d.]+, cost \d+, decimals \d+/g, 'FOLD')
  .replace(/"[0-9a-f]{16,}"/g, '"HASH"').replace(/\b[\d,]+ a second/g, 'N a second')
  .replace(/\bRows \d+–\d+/g, 'Rows N')
  .replace(/cursor=[\w-]+/g, 'cursor=CURSOR').replace(/\/placeholder: .*/g, '/placeholder: WORDS');
