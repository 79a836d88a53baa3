// What a user does, told in a browser: each scenario has a server, a context of the browser and a tab of its own.
import { chromium } from 'playwright-core';
import { openStore } from './store.js';
import { Tab } from './tab.js';

/**
 * What a scenario wants.
 * @typedef {object} Wanted
 * @property {string | import('./data.js').Data} [data] the name of data, or a model and documents; nothing by default
 * @property {boolean} [closed] the store is closed: `store.key` is an admin's, and the tab has none
 * @property {boolean} [process] the server is a process, which stop kills
 * @property {string[]} [args] of that process
 * @property {boolean} [nats] the log is on an outside server
 * @property {boolean} [held] models that are prepared wait for store.release
 * @property {string} [prefix] the proxy has this path before all others
 * @property {boolean} [shared] the server is that of all scenarios with this data, and nothing is written to it
 * @property {boolean} [bare] the browser asks the server itself, and not the proxy: for what is measured
 * @property {boolean} [mayFail] requests may fail without an answer: the server is stopped, or connections are cut
 * @property {import('playwright-core').BrowserContextOptions} [context] options of the context
 */

/**
 * What a scenario has.
 * @typedef {object} Scene
 * @property {import('./store.js').Store} store
 * @property {Tab} tab
 * @property {import('playwright-core').Page} page that of the tab
 * @property {import('playwright-core').BrowserContext} context
 * @property {() => Promise<Tab>} newTab opens another tab of the same browser
 */

/** @type {Promise<import('playwright-core').Browser> | undefined} */
let launched;

/** The browser of all scenarios. */
const browser = () => launched ??= chromium.launch({
  executablePath: process.env.FANFOLD_BROWSER,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-dev-shm-usage'],
});

/** Ends that browser, once all scenarios are over. */
export const closeBrowser = async () => (await launched)?.close();

/**
 * The scenarios of the files that were read.
 * @type {{ name: string, run: () => Promise<void> }[]}
 */
export const declared = [];

/**
 * Declares a scenario. It fails on an error in the browser, too, and on whatever openapi.json does not have.
 * @param {string} name
 * @param {Wanted} wanted
 * @param {(scene: Scene) => Promise<void>} run
 */
export const scenario = (name, wanted, run) => { declared.push({ name, run: () => play(wanted, run) }); };

/** Plays a scenario. @param {Wanted} wanted @param {(scene: Scene) => Promise<void>} run */
async function play(wanted, run) {
  const store = await openStore(wanted);
  const context = await (await browser()).newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce', locale: 'en-GB', timezoneId: 'UTC', ...wanted.context });
  context.setDefaultTimeout(20_000);
  /** @type {Tab[]} */
  const tabs = [];
  const newTab = async () => {
    const tab = new Tab(await context.newPage(), store, wanted.mayFail ?? false);
    tabs.push(tab);
    return tab;
  };
  try {
    const tab = await newTab();
    await within(120_000, run({ store, tab, page: tab.page, context, newTab }));
    for (const tab of tabs) await tab.noErrors();
  } catch (error) {
    const failure = await told(error, tabs);
    await context.close();
    await store.close().catch((/** @type {Error} */ wrong) => console.error(wrong.message));
    throw failure;
  }
  for (const tab of tabs) await tab.page.unrouteAll({ behavior: 'ignoreErrors' }); // an answer on its way must fail no scenario that is over
  await context.close();
  await store.close();
}

/**
 * Waits for something, and throws where it takes too long: what it had is closed then, as after any other error.
 * @param {number} most in milliseconds
 * @param {Promise<void>} done
 */
async function within(most, done) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`it takes longer than ${most} ms`)), most); });
  await Promise.race([done, late]).finally(() => clearTimeout(timer));
}

/** Returns an error with what the tabs show. @param {any} error @param {Tab[]} tabs */
async function told(error, tabs) {
  let text = error.message;
  for (const tab of tabs) {
    const shown = await tab.page.locator('body').ariaSnapshot({ timeout: 2000 }).catch(() => 'nothing');
    text += `\n${tab.page.url()} shows\n${shown.slice(0, 4000)}\n${tab.errors.join('\n')}`;
  }
  return new Error(text, { cause: error });
}
