// What a page must be, whatever it shows.
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

/** What axe looks for, and what of that depends on colours. */
const all = { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22a', 'wcag22aa'] };
const colours = ['color-contrast', 'link-in-text-block'];
const schemes = /** @type {const} */ (['light', 'dark']);
const { source } = createRequire(import.meta.url)('axe-core/axe.min.js');

/** How the elements were drawn whose colours were looked at already. @type {Set<string>} */
const looks = new Set();

/**
 * Fails where axe finds something on a page as it is in light, or in its colours in dark. Colours are most of the work, and elements
 * of one look have the same ones: they are compared once for each look, or for all elements of a page whose whole it is to look at.
 * @param {import('playwright-core').Page} page
 * @param {boolean} [whole]
 */
export async function accessible(page, whole = false) {
  if (!await page.evaluate(() => 'axe' in globalThis)) await page.evaluate(source + ';0');
  await page.emulateMedia({ colorScheme: 'light' });
  await violates(page, { runOnly: all, rules: Object.fromEntries(colours.map((name) => [name, { enabled: false }])) }, 'light');
  const fresh = (await page.evaluate(looksOf)).filter((look) => whole || !looks.has(look));
  for (const colorScheme of fresh.length > 0 ? schemes : []) {
    await page.emulateMedia({ colorScheme });
    await violates(page, { runOnly: { type: 'rule', values: colours } }, colorScheme, whole ? undefined : fresh);
  }
  for (const look of fresh) looks.add(look);
  await page.emulateMedia({ colorScheme: null });
}

/**
 * Fails where axe finds something.
 * @param {import('playwright-core').Page} page
 * @param {object} options of axe
 * @param {string} scheme
 * @param {string[]} [fresh] the looks to look at, all elements by default
 */
async function violates(page, options, scheme, fresh) {
  const found = await page.evaluate(([options, fresh]) => {
    const { axe, drawn } = /** @type {any} */ (globalThis);
    const include = fresh?.map((look) => drawn.get(look)).filter((element) => element.isConnected);
    return axe.run(include === undefined ? document : { include }, { ...options, resultTypes: ['violations'] });
  }, /** @type {const} */ ([options, fresh]));
  const told = found.violations.map((/** @type {any} */ v) => `${v.id}: ${v.help}\n` + v.nodes.map((/** @type {any} */ n) => `  ${n.html}\n  ${n.failureSummary}`).join('\n'));
  assert.deepEqual(told, [], `in ${scheme}, at ${page.url()}`);
}

/**
 * Runs in the page: returns the looks of what has a text, and keeps an element of each. A look is a hash of the names and states that
 * styles go by, and of the colours and sizes, from the root to the element.
 */
function looksOf() {
  const notOfStyle = /^(id|href|title|for|name|value|style|aria-(label|labelledby|describedby|controls|rowindex|rowcount|owns|activedescendant|valuenow|valuetext))$/;
  /** @type {Map<string, Element>} */
  const drawn = new Map();
  const walk = (/** @type {Element} */ element, /** @type {number} */ above) => {
    const { color, backgroundColor, opacity, fontSize, fontWeight, textDecorationLine } = getComputedStyle(element);
    const states = [...element.attributes].filter(({ name }) => !notOfStyle.test(name)).map(({ name, value }) => name + '=' + value);
    let look = above;
    for (const character of [element.tagName, ...states, color, backgroundColor, opacity, fontSize, fontWeight, textDecorationLine].join(' ')) {
      look = (Math.imul(look, 31) + character.charCodeAt(0)) | 0;
    }
    const hasText = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent?.trim() !== '');
    if ((hasText || element.matches('input, textarea, select')) && element.checkVisibility()) drawn.set(String(look), element);
    for (const child of [...element.children, ...element.shadowRoot?.children ?? []]) walk(child, look);
  };
  walk(document.documentElement, 7);
  Object.assign(globalThis, { drawn });
  return [...drawn.keys()];
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
