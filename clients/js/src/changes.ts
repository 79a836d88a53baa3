import { FanfoldError } from "./errors.js";
import { callOf } from "./options.js";
import { backOff, problemError, sleep, within, type Transport } from "./transport.js";

/** Change is a row of the change feed: see docs/use/feed.md. */
export interface Change<T = any> {
  seq: string;
  collection: string;
  id: string;
  op: "create" | "replace" | "patch" | "delete" | "derive" | "erase" | "enter" | "leave";
  rev?: number;
  time?: string;
  tx?: string;
  within?: string;
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
  /** How often the server tells where it is, in milliseconds: 10,000 if not given. The feed connects again after three of them without a word. */
  heartbeat?: number;
  signal?: AbortSignal;
}

/** lines yields the lines of a stream of bytes, each of at most max bytes. */
export async function* lines(body: ReadableStream<Uint8Array>, max: number, next: <R>(read: Promise<R>) => Promise<R> = (r) => r): AsyncGenerator<string> {
  const reader = body.getReader(), decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let rest = "";
  try {
    for (;;) {
      const part = await next(reader.read());
      if (part.done) return;
      rest += decoder.decode(part.value, { stream: true });
      let from = 0;
      for (let end; (end = rest.indexOf("\n", from)) >= 0; from = end + 1) yield rest.slice(from, end);
      rest = rest.slice(from);
      if (rest.length > max) throw new FanfoldError("bad-answer", `a line is longer than ${max} bytes: set maxAnswer higher`);
    }
  } catch (cause) {
    if (cause instanceof TypeError && /decod|utf/i.test(String(cause.message))) throw new FanfoldError("bad-answer", "the answer is not UTF-8", { cause });
    throw cause;
  } finally {
    reader.cancel().catch(() => {});
  }
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
    const { since: _, includeDocs, signal, heartbeat = 10_000, ...rest } = this.#o;
    let next = backOff();
    for (;;) {
      signal?.throwIfAborted();
      const stop = new AbortController(), silent = () => new FanfoldError("connection", `the feed was silent for ${3 * heartbeat} ms`);
      const passOn = () => stop.abort(signal!.reason);
      signal?.addEventListener("abort", passOn);
      try {
        const a = await this.#t.request("changes", "GET", "/v1/_changes", callOf(
          { ...rest, include_docs: includeDocs, heartbeat, since: this.position, feed: "continuous", signal: stop.signal },
          { stream: true, idempotent: true, headers: { Accept: "application/x-ndjson" } }));
        const soon = <R>(read: Promise<R>): Promise<R> => {
          const timer = setTimeout(() => stop.abort(silent()), 3 * heartbeat);
          return within(read, stop.signal).finally(() => clearTimeout(timer));
        };
        for await (const line of lines(a.body!, this.#t.maxAnswer, soon)) {
          if (!line) continue;
          const row = this.#t.parse(line);
          next = backOff();
          if (row.end === "position-gone") throw new FanfoldError("position-gone", `changes after ${row.last_seq} are no longer kept`, { status: 410, oldest: row.oldest });
          if (row.seq) {
            yield row;
            this.position = row.seq;
          } else if (row.last_seq) this.position = row.last_seq;
          else if (row.type) throw problemError(line, row.status) ?? new FanfoldError("bad-answer", "the feed has a line of another kind");
          if (row.end) break; // rights-changed, work-bound: go on from there, with a new key
        }
      } catch (error) {
        signal?.throwIfAborted();
        if (!(error instanceof FanfoldError) ? error instanceof TypeError === false : error.code !== "connection") throw error;
      } finally {
        signal?.removeEventListener("abort", passOn);
        stop.abort();
      }
      await sleep(next(), signal);
    }
  }
}
