import type { Change } from "./changes.js";
import { FanfoldError } from "./errors.js";
import { callOf, pathOf } from "./options.js";
import { backOff, final, follow, invalid, randomKey, sleep, within, type Call, type Transport } from "./transport.js";

/** Batch says of which lease changes are that a handler gets. */
export interface Batch {
  partition: number;
  /** Begins with a number that grows whenever the partition changes hands, so that a target can refuse members that were frozen. */
  token: string;
  /** Everything up to it is in this batch, or before. */
  position: string;
  /** Ends when the lease is lost: another member may handle the same changes from then on. */
  signal: AbortSignal;
}

/** ConsumerOptions say how a member of a group works. */
export interface ConsumerOptions<T = any> {
  /** Once it is done, the batch is acknowledged. If it throws, the batch comes again after a pause, and is parked if it fails too often. */
  handle: (changes: Change<T>[], batch: Batch) => void | PromiseLike<void>;
  /** A name that no other member has; a random one if not given. */
  member?: string;
  /** How many partitions this member wants at most; its share if not given. */
  max?: number;
  /** How many handlers run at a time: 4 if not given. */
  concurrency?: number;
  /** Changes from which on a batch ends, after the event: 100 if not given. */
  batchSize?: number;
  includeDocs?: boolean;
  /** How long handlers may go on once the signal has ended, in milliseconds: 10,000 if not given. */
  grace?: number;
  /** Ends the work: running handlers are waited for, and the leases are given back. */
  signal?: AbortSignal;
  /** Is told what is tried again: lost connections, and errors of the handler. */
  failed?: (error: unknown) => void;
}

const readFor = 20_000;

/** consume is a member of a group until its signal ends. It throws what trying again does not help. */
export async function consume<T>(t: Transport, group: string, o: ConsumerOptions<T>): Promise<void> {
  const { member = randomKey(), failed = () => {}, grace = 10_000 } = o, path = pathOf("_groups", group);
  if (!o.handle || !(Math.min(o.max ?? 0, o.concurrency ?? 0, o.batchSize ?? 0, grace) >= 0)) throw invalid("a consumer needs handle, and no negative numbers");
  const post = (below: string, body: object, call: Call = {}) =>
    t.request("POST", path + below, callOf({}, { idempotent: true, json: body, ...call }));
  if (o.signal?.aborted) return;
  const end = new AbortController(), leave = follow(o.signal, end);
  const waiting: (() => void)[] = [];
  let free = o.concurrency || 4, fatal: { error: unknown } | undefined;
  const give = (error: unknown) => ((fatal ??= { error }), end.abort(error));

  /** work handles the batches of one lease until reading ends or the lease is lost. */
  const work = async ({ partition, token, checkpoint }: any, reading: AbortSignal, lost: AbortSignal): Promise<void> => {
    let position = checkpoint, next = backOff();
    const settle = (route: string, position: string, error?: string) => post(route, { partition, token, position, error }, { attempt: 10_000, signal: lost });
    while (!reading.aborted) {
      try {
        const page = await t.list("results", "GET", path + "/_changes", {
          signal: reading, idempotent: true,
          query: { partition, token, feed: "longpoll", limit: o.batchSize || 100, timeout: readFor, include_docs: o.includeDocs || undefined },
        });
        const upTo = page.last_seq;
        if (page.results.length) {
          while (!free) await within(new Promise<void>((go) => waiting.push(go)), reading);
          free--;
          try {
            await o.handle(page.results, { partition, token, position: upTo, signal: lost });
          } catch (error) {
            if (lost.aborted) return;
            failed(error);
            await settle("/_nack", upTo, String((error as any)?.message ?? error).slice(0, 500));
            continue;
          } finally {
            free++;
            for (const go of waiting.splice(0)) go();
          }
        }
        if (upTo !== position) await settle("/_ack", upTo);
        position = upTo;
        next = backOff();
      } catch (error) {
        if (lost.aborted || (error instanceof FanfoldError && error.code === "lease-lost")) return;
        if (reading.aborted) break;
        if (final(error)) return give(error);
        failed(error);
        await sleep(next((error as FanfoldError).retryAfter), reading).catch(() => {});
      }
    }
    if (!lost.aborted) await post("/_release", { partition, token }, { attempt: 5000, signal: lost }).catch(failed);
  };

  const all = new Map<number, Lease>();
  const loseAll = () => all.forEach((w) => w.lost.abort(end.signal.reason));
  let hard: ReturnType<typeof setTimeout> | undefined;
  end.signal.addEventListener("abort", () => (hard = setTimeout(loseAll, grace)));
  try {
    for (let duration = 0, next = backOff(); !end.signal.aborted; ) {
      const asked = Date.now();
      let wait = 0;
      try {
        const { leases } = await t.parse((await post("/_lease", { member, max: o.max }, { once: true, attempt: 10_000, signal: end.signal })).text);
        duration ||= msOf((await t.json("GET", path, { signal: end.signal, idempotent: true })).settings.lease);
        for (const [n, w] of all) {
          const lease = leases.find((l: any) => l.partition === n);
          if (w.over) all.delete(n);
          else if (!lease) w.reading.abort();
          else if (lease.token !== w.token) w.lost.abort();
        }
        for (const lease of leases) {
          let w = all.get(lease.partition);
          if (!w) {
            const lost = new AbortController(), reading = new AbortController();
            follow(lost.signal, reading);
            const mine: Lease = (w = { token: lease.token, reading, lost, timer: undefined, over: false, done: Promise.resolve() });
            w.done = work(lease, reading.signal, lost.signal).catch(give).finally(() => ((mine.over = true), clearTimeout(mine.timer)));
            all.set(lease.partition, w);
          }
          if (w.token === lease.token && !w.over) {
            clearTimeout(w.timer);
            const { lost } = w;
            // The server may have written the lease a quarter of its time before.
            w.timer = setTimeout(() => lost.abort(new FanfoldError("lease-lost", "the lease ended")), asked + duration * 0.75 - Date.now());
          }
        }
        next = backOff();
        wait = Math.max(duration / 4, 100);
      } catch (error) {
        if (end.signal.aborted) break;
        if (final(error)) give(error);
        else failed(error);
        wait = next((error as FanfoldError).retryAfter);
      }
      await sleep(wait, end.signal).catch(() => {});
    }
    for (const w of all.values()) w.reading.abort();
    await Promise.all([...all.values()].map((w) => w.done));
    await post("/_release", { member }, { once: true, attempt: 5000 }).catch(failed);
  } finally {
    clearTimeout(hard);
    leave();
    for (const w of all.values()) clearTimeout(w.timer);
  }
  if (fatal) throw fatal.error;
}

/** Lease is the work on a partition. */
interface Lease {
  token: string;
  /** Ends the reading, after the batch at hand. */
  reading: AbortController;
  /** Ends the handler, too. */
  lost: AbortController;
  timer: ReturnType<typeof setTimeout> | undefined;
  done: Promise<void>;
  over: boolean;
}

/** msOf returns a time such as 1m30s in milliseconds. */
function msOf(text: string): number {
  let ms = 0;
  for (const [, n, unit] of text.matchAll(/([\d.]+)(h|ms|m|s)/g)) ms += +n! * { h: 3_600_000, m: 60_000, s: 1000, ms: 1 }[unit as "h"]!;
  return ms;
}
