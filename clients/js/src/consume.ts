import type { Change } from "./changes.js";
import { FanfoldError } from "./errors.js";
import { stringify } from "./json.js";
import { backOff, invalid, randomKey, sleep, within, type Call, type Transport } from "./transport.js";

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

/** final tells whether an error stays the same, however often it is tried. */
const final = (e: unknown): boolean => e instanceof FanfoldError && (e.code === "bad-answer" || (e.status >= 400 && e.status < 500 && e.code !== "busy" && e.code !== "too-slow"));

/** consume is a member of a group until its signal ends. It throws what trying again does not help. */
export async function consume<T>(t: Transport, group: string, o: ConsumerOptions<T>): Promise<void> {
  if (!group || !o.handle) throw invalid("a consumer needs a group and handle");
  const member = o.member ?? randomKey(), path = `/v1/_groups/${encodeURIComponent(group)}`, failed = o.failed ?? (() => {});
  const post = (below: string, body: object, call: Call = {}) =>
    t.request("consume", "POST", path + below, { idempotent: true, headers: { "Content-Type": "application/json" }, body: stringify(body), ...call });
  const end = new AbortController(), hard = new AbortController();
  const stop = () => (end.abort(o.signal!.reason), setTimeout(() => hard.abort(o.signal!.reason), o.grace ?? 10_000));
  if (o.signal?.aborted) return;
  o.signal?.addEventListener("abort", stop);
  let slots = o.concurrency ?? 4, fatal: unknown;
  const waiting: (() => void)[] = [];
  const give = (error: unknown) => ((fatal ??= error), end.abort(error));

  /** work handles the batches of one lease until reading ends or the lease is lost. */
  const work = async (lease: any, reading: AbortController, lost: AbortController): Promise<void> => {
    let position = lease.checkpoint, next = backOff();
    const settle = (route: string, upTo: string, error?: string) =>
      post(route, { partition: lease.partition, token: lease.token, position: upTo, ...(error !== undefined && { error }) }, { signal: AbortSignal.timeout(10_000) });
    while (!reading.signal.aborted) {
      try {
        const page = await t.json("consume", "GET", path + "/_changes", {
          signal: reading.signal, idempotent: true,
          query: { partition: lease.partition, token: lease.token, feed: "longpoll", limit: o.batchSize ?? 100, timeout: readFor, include_docs: o.includeDocs || undefined },
        });
        if (page.results.length) {
          while (slots === 0) await within(new Promise<void>((free) => waiting.push(free)), reading.signal);
          slots--;
          try {
            await o.handle(page.results, { partition: lease.partition, token: lease.token, position: page.last_seq, signal: lost.signal });
          } catch (error) {
            if (lost.signal.aborted) return;
            failed(error);
            await settle("/_nack", page.last_seq, String((error as any)?.message ?? error).slice(0, 500));
            continue;
          } finally {
            slots++;
            waiting.shift()?.();
          }
        }
        if (page.last_seq !== position) await settle("/_ack", page.last_seq);
        position = page.last_seq;
        next = backOff();
      } catch (error) {
        if (reading.signal.aborted || lost.signal.aborted || (error instanceof FanfoldError && error.code === "lease-lost")) break;
        if (final(error)) return give(error);
        failed(error);
        await sleep(next(), reading.signal).catch(() => {});
      }
    }
    if (!lost.signal.aborted) await post("/_release", { partition: lease.partition, token: lease.token }, { signal: AbortSignal.timeout(5000) }).catch(failed);
  };

  const all = new Map<number, { token: string; reading: AbortController; lost: AbortController; timer: any; done: Promise<void>; over: boolean }>();
  try {
    for (let duration = 0, next = backOff(); !end.signal.aborted; ) {
      const asked = Date.now();
      let wait = next();
      try {
        const { leases } = JSON.parse((await post("/_lease", { member, max: o.max }, { once: true, signal: AbortSignal.any([end.signal, AbortSignal.timeout(10_000)]) })).text);
        duration ||= msOf((await t.json("consume", "GET", path, { signal: end.signal, idempotent: true })).settings.lease);
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
            lost.signal.addEventListener("abort", () => reading.abort());
            w = { token: lease.token, reading, lost, timer: 0, over: false, done: Promise.resolve() };
            const mine = w;
            w.done = work(lease, reading, lost).catch(give).finally(() => ((mine.over = true), clearTimeout(mine.timer)));
            all.set(lease.partition, w);
          }
          if (w.token === lease.token) {
            clearTimeout(w.timer);
            const lose = w.lost;
            w.timer = setTimeout(() => lose.abort(new FanfoldError("lease-lost", "the lease ended before it was renewed")), asked + duration * 0.75 - Date.now());
          }
        }
        next = backOff();
        wait = Math.max(duration / 4, 100);
      } catch (error) {
        if (end.signal.aborted) break;
        if (final(error)) give(error);
        else failed(error);
      }
      await sleep(wait, end.signal).catch(() => {});
    }
    hard.signal.addEventListener("abort", () => all.forEach((w) => w.lost.abort(hard.signal.reason)));
    for (const w of all.values()) w.reading.abort();
    await Promise.all([...all.values()].map((w) => w.done));
    await post("/_release", { member }, { once: true, signal: AbortSignal.timeout(5000) }).catch(failed);
  } finally {
    o.signal?.removeEventListener("abort", stop);
    for (const w of all.values()) clearTimeout(w.timer);
  }
  if (fatal) throw fatal;
}

/** msOf returns a time such as 1m30s in milliseconds. */
function msOf(text: string): number {
  let ms = 0;
  for (const [, n, unit] of text.matchAll(/([\d.]+)(h|ms|m|s)/g)) ms += +n! * { h: 3_600_000, m: 60_000, s: 1000, ms: 1 }[unit as "h"]!;
  return ms;
}
