import type { Changes } from "./changes.js";

/** after tells whether a position is after another one of the same store. */
const after = (a: string, b: string): boolean => {
  const [seq, n] = a.split("-"), [seq0, n0] = b.split("-");
  return +seq! > +seq0! || (seq === seq0 && +n! > +n0!);
};

/** State is a document at a position, null where it is not there. */
export interface State {
  doc: any;
  position: string;
}

interface Watcher {
  tell: (s: State) => void;
  fail: (error: unknown) => void;
}

/** Watches tells many watchers of documents what one feed says, for a browser opens few connections to a host. */
export class Watches {
  readonly #open: (since: string, signal: AbortSignal) => Changes;
  readonly #of = new Map<string, Set<Watcher>>();
  #feed: AbortController | undefined;

  constructor(open: (since: string, signal: AbortSignal) => Changes) {
    this.#open = open;
  }

  /** watch yields a document's state now, then each later one. A loop that is slower than the changes gets the newest. */
  async *watch(key: string, read: () => Promise<State>, signal?: AbortSignal): AsyncGenerator<any> {
    let newest: State | undefined, error: unknown, wake = () => {};
    const w: Watcher = { tell: (s) => ((newest = s), wake()), fail: (e) => ((error = e), wake()) };
    const stop = () => w.fail(signal!.reason);
    signal?.throwIfAborted();
    signal?.addEventListener("abort", stop);
    const set = this.#of.get(key) ?? new Set();
    this.#of.set(key, set.add(w));
    try {
      const first = await read();
      if (!this.#feed) this.#run(first.position);
      let shown = first.position;
      yield first.doc;
      for (;;) {
        if (error) throw error;
        const s = newest;
        newest = undefined;
        if (s && after(s.position, shown)) {
          shown = s.position;
          yield s.doc;
        } else if (!s) await new Promise<void>((go) => (wake = go));
      }
    } finally {
      signal?.removeEventListener("abort", stop);
      set.delete(w);
      if (!set.size) this.#of.delete(key);
      if (!this.#of.size) {
        this.#feed?.abort();
        this.#feed = undefined;
      }
    }
  }

  async #run(since: string): Promise<void> {
    const feed = (this.#feed = new AbortController());
    try {
      for await (const c of this.#open(since, feed.signal)) {
        const { _meta, ...doc } = c.doc ?? {};
        const gone = c.op === "delete" || c.op === "leave" || !c.doc;
        this.#of.get(c.collection + "/" + c.id)?.forEach((w) => w.tell({ doc: gone ? null : doc, position: c.seq }));
      }
    } catch (error) {
      if (this.#feed !== feed) return;
      this.#feed = undefined;
      for (const set of this.#of.values()) for (const w of set) w.fail(error);
    }
  }
}
