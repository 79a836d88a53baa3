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
  #changes: Changes | undefined;
  /** Where the feed began. */
  #since = "";

  constructor(open: (since: string, signal: AbortSignal) => Changes) {
    this.#open = open;
  }

  /** watch yields a document's state now, then each later one. A loop that is slower than the changes gets the newest. */
  async *watch(key: string, read: (minPosition?: string) => Promise<State>, signal?: AbortSignal): AsyncGenerator<any> {
    let newest: State | undefined, failed: { error: unknown } | undefined, wake = () => {};
    const w: Watcher = { tell: (s) => ((newest = s), wake()), fail: (error) => ((failed = { error }), wake()) };
    const stop = () => w.fail(signal!.reason);
    signal?.throwIfAborted();
    signal?.addEventListener("abort", stop);
    const set = this.#of.get(key) ?? new Set();
    this.#of.set(key, set.add(w));
    try {
      // What the feed has passed before w was there, another node may not show yet.
      let first = await read(this.#changes?.position);
      if (!this.#feed) this.#run(first.position);
      else if (after(this.#since, first.position)) first = await read(this.#since);
      let shown = first.position;
      yield first.doc;
      for (;;) {
        if (failed) throw failed.error;
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
        this.#feed = this.#changes = undefined;
      }
    }
  }

  async #run(since: string): Promise<void> {
    const feed = (this.#feed = new AbortController());
    this.#since = since;
    try {
      for await (const c of (this.#changes = this.#open(since, feed.signal))) {
        const { _meta, ...doc } = c.doc ?? {};
        const gone = c.op === "delete" || c.op === "leave" || !c.doc;
        this.#of.get(c.collection + "/" + c.id)?.forEach((w) => w.tell({ doc: gone ? null : doc, position: c.seq }));
      }
    } catch (error) {
      if (this.#feed !== feed) return;
      this.#feed = this.#changes = undefined;
      for (const set of this.#of.values()) for (const w of set) w.fail(error);
    }
  }
}
