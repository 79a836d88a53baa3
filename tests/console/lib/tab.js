// A tab of the browser, and what is true of every page in it.
import assert from 'node:assert/strict';

/** What the browser itself says of an answer that refuses a request. It is no error of the console's. */
const refused = /^Failed to load resource: the server responded with a status of \d+/;
const unanswered = /net::ERR_/;

/** A tab, which keeps what goes wrong in it. */
export class Tab {
  /**
   * @param {import('playwright-core').Page} page
   * @param {import('./store.js').Store} store
   * @param {boolean} mayFail
   */
  constructor(page, store, mayFail) {
    this.page = page;
    this.store = store;
    /** @type {string[]} */
    this.errors = [];
    /** @type {import('playwright-core').Request[]} */
    this.requests = [];
    page.on('console', (message) => {
      const text = message.text();
      const ofAPI = refused.test(text) && new URL(message.location().url).pathname.match(/\/(v1|readyz|metrics)/);
      if (['error', 'warning'].includes(message.type()) && !ofAPI && !(mayFail && unanswered.test(text))) {
        this.errors.push(`${message.type()}: ${text} (${message.location().url})`);
      }
    });
    page.on('pageerror', (error) => this.errors.push('uncaught: ' + (error.stack ?? error)));
    page.on('request', (request) => {
      this.requests.push(request);
      if (new URL(request.url()).origin !== new URL(store.url).origin) this.errors.push('a request left the origin: ' + request.url());
    });
  }

  /** Watches for what only an attack could do: dialogs of the browser, frames, downloads. */
  watch() {
    this.page.on('dialog', (dialog) => { this.errors.push('a dialog of the browser: ' + dialog.message()); dialog.dismiss(); });
    this.page.on('frameattached', () => this.errors.push('a frame'));
    this.page.on('popup', () => this.errors.push('a window'));
  }

  /**
   * Opens a place, as `#/books/b1`, and waits for its heading.
   * @param {string} place
   * @param {string} [heading] what it says
   */
  async open(place, heading) {
    // A page that has just gone to a place by itself may be ahead of the browser, which would take that one for the one to go to.
    const here = await this.page.evaluate(() => location.href);
    await this.page.waitForURL((url) => url.href === here);
    await this.page.goto(`${this.store.url}/_console/${place}`);
    await this.page.getByRole('heading', { level: 1, ...(heading === undefined ? {} : { name: heading, exact: true }) }).waitFor();
  }

  /** Hides the tab, or shows it, as another tab in front of it does. @param {boolean} hidden */
  async hide(hidden) {
    await this.page.evaluate((hidden) => {
      Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
      document.dispatchEvent(new Event('visibilitychange'));
    }, hidden);
  }

  /** Fails where the browser has told of an error or a breach of the policy. */
  async noErrors() {
    await this.page.evaluate('0'); // what was told before has come, too
    assert.deepEqual(this.errors, []);
  }

  /**
   * Presses a key until something has the focus.
   * @param {import('playwright-core').Locator} locator
   * @param {string} [key]
   */
  async focusByKey(locator, key = 'Tab') {
    await locator.waitFor();
    for (let n = 0; n < 300; n++) {
      if (await locator.evaluate((element) => /** @type {any} */ (element.getRootNode()).activeElement === element)) return;
      await this.page.keyboard.press(key);
    }
    assert.fail(`${key} does not come to ${locator}`);
  }

  /** Fails where the page itself scrolls sideways. */
  async noSidewaysScrolling() {
    const { wide, room, widest } = await this.page.evaluate(() => {
      const room = document.documentElement.clientWidth;
      const beyond = [...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > room + 1 && !e.closest('.scroll'));
      return { wide: document.documentElement.scrollWidth, room, widest: beyond.slice(0, 5).map((e) => e.outerHTML.slice(0, 200)) };
    });
    assert.ok(wide <= room, `the page is ${wide} wide in ${room}: ${widest.join('\n')}`);
  }
}

/**
 * Holds requests, as a slow server holds its answers. It returns a function that lets them go, and all that follow.
 * @param {import('playwright-core').Page} page
 * @param {(url: URL) => boolean} which
 * @returns {Promise<() => void>}
 */
export async function hold(page, which) {
  let go = () => {};
  const gone = new Promise((resolve) => { go = () => resolve(undefined); });
  await page.route(which, async (route) => {
    await gone;
    await route.fallback();
  });
  return go;
}

/** The part of a page that waits for an answer. @param {import('playwright-core').Page} page */
export const waiting = (page) => page.locator('main [aria-busy="true"]');
