import { FanfoldError } from "./errors.js";
import { callOf } from "./options.js";
import { lines } from "./streams.js";
import { backOff, final, endOf, follow, sleep, within, type Transport } from "./transport.js";

/** Change is a row of the change feed: see docs/use/feed.md. */
export interface Change<T = any> {
  seq: string;
  collection: string;
  id: string;
  op: "create" | "replace" | "patch" | "delete" | "derive" | "erase" | "enter" | "leave";
  rev?: number;
  time?: string;
  tx?: string;
  /** The function that was called in the change's transaction. */
  call?: string;
  within?: boolean;
  cause?: { seq?: string; collection?: string; id?: string; rule?: string; rules?: string[] };
  previous?: T;
  patch?: { op: string; path: string; from?: string; value?: unknown; old?: unknown }[];
  doc?: T;
  actor?: string;
}

/** ChangesOptions say which changes. */
export interface ChangesOptions {
  /** The position after which to begin: "0", the default, for all, "now" for those to come. */
  since?: string;
  collections?: readonly string[];
  /** CEL over doc, previous, change and params. */
  filter?: string;
  params?: object;
  /** all has each change, latest one row for each document. */
  mode?: "all" | "latest";
  includeDocs?: boolean;
  view?: "embedded" | "referenced";
  derived?: "exclude";
  cascades?: "exclude";
  /** Such as 1/3. */
  partition?: string;
  /** How often the server tells where it is, in milliseconds: 15,000 if not given. The feed connects again after three of them without a word, and five seconds at least. */
  heartbeat?: number;
  signal?: AbortSignal;
}

/** Changes is a change feed, for one loop. It goes on after broken connections and restarts from the last position, and reads no faster than the loop. */
export class Changes<T = any> implements AsyncIterable<Change<T>> {
  /** Everything up to it was given to the loop, or is not for it. It moves with heartbeats, too. */
  position: string;
  readonly #t: Transport;
  readonly #o: ChangesOptions;

  /** @internal */
  constructor(transport: Transport, options: ChangesOptions) {
    this.#t = transport;
    this.#o = options;
    this.position = options.since ?? "0";
  }

  /** The changes. A change comes twice where the loop had not asked for the next one before the connection broke. It throws on a 410, with oldest. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Change<T>> {
    const { since: _, includeDocs, signal, heartbeat = 15_000, ...rest } = this.#o, silence = Math.max(3 * heartbeat, 5000);
    for (let next = backOff(), wait; ; await sleep(next(wait), signal)) {
      signal?.throwIfAborted();
      wait = 0;
      const stop = new AbortController(), leave = follow(signal, stop);
      try {
        const a = await this.#t.request("GET", "/v1/_changes", callOf(
          { ...rest, include_docs: includeDocs, heartbeat, since: this.position, feed: "continuous", signal: stop.signal },
          { stream: true, attempt: silence, idempotent: true, headers: { Accept: "application/x-ndjson" } }));
        // So that nothing is left out where the connection breaks before the first line.
        if (this.position === "now") this.position = a.headers.get("Fanfold-Position") ?? "now";
        const soon = <R>(read: Promise<R>): Promise<R> => {
          const timer = setTimeout(() => stop.abort(new FanfoldError("connection", `the feed was silent for ${silence} ms`)), silence);
          return within(read, stop.signal).finally(() => clearTimeout(timer));
        };
        for await (const line of lines(a.body!, this.#t.maxAnswer, soon)) {
          signal?.throwIfAborted();
          if (!line) continue;
          const row = Object(this.#t.parse(line));
          next = backOff();
          if (row.end === "position-gone") throw new FanfoldError("position-gone", `changes after ${row.last_seq} are no longer kept`, { status: 410, oldest: row.oldest });
          if (row.seq) {
            yield row;
            this.position = row.seq;
          } else if (row.last_seq) this.position = row.last_seq;
          else if (row.type) throw endOf(row);
          if (row.end) break; // rights-changed, work-bound: go on from there, with a new key
        }
      } catch (error) {
        signal?.throwIfAborted();
        if (final(error)) throw error;
        wait = (error as FanfoldError).retryAfter;
      } finally {
        leave();
        stop.abort();
      }
    }
  }
}
