import { FanfoldError, type Code } from "./errors.js";
import { parse, stringify, type Numbers } from "./json.js";
import { lines, textOf } from "./streams.js";

/** Key is a key as `fanfold keys create` prints it. A function is asked before each request, and once more, with again, after a 401. */
export type Key = string | ((again: boolean) => string | null | undefined | PromiseLike<string | null | undefined>);

export interface Options {
  /** It is sent with every request, to this server alone. No error and no print shows it. */
  key?: Key;
  /** Lets a key go to another machine without TLS. */
  insecure?: boolean;
  /** How long what may be tried again is tried, in milliseconds: 30,000 if not given, 0 for never, at most an hour. */
  retryFor?: number;
  /** How long an answer may take before the connection counts as lost, in milliseconds: 120,000 if not given. Streams take as long as they take. */
  attempt?: number;
  /** Bounds an answer, and a line of a stream, in bytes: 256 MiB if not given. */
  maxAnswer?: number;
  /** false lets a read show less than this client has written and seen before. */
  session?: boolean;
  /** false sends writes without an Idempotency-Key. A connection that breaks beneath a write is then an error. */
  idempotencyKeys?: boolean;
  /** How numbers are read: exact, the default, loses no digit. */
  numbers?: Numbers;
  /** Sent with every request. */
  headers?: Record<string, string>;
  /** Sends the requests, in the place of the global fetch. */
  fetch?: typeof fetch;
}

/** Call is what is asked of the server besides method and path. */
export interface Call {
  query?: Record<string, unknown>;
  headers?: Record<string, string>;
  body?: string | null;
  /** The body, as a value. */
  json?: unknown;
  signal?: AbortSignal | undefined;
  /** A read, which joins the session. */
  read?: boolean;
  /** Doing it twice is the same as once. */
  idempotent?: boolean;
  /** It is never tried again. */
  once?: boolean;
  /** How long the answer may take, in milliseconds, 0 for as long as it takes; the client's attempt if not given. */
  attempt?: number;
  /** The answer's body comes as a stream, which takes as long as it takes once it has begun. */
  stream?: boolean;
  /** Reads a stream. What breaks it is tried again as a part of the request. */
  finish?: (answer: Answer) => Promise<void>;
  /** When something came of it last, in milliseconds: from then on retryFor counts. */
  since?: number;
  /** Set where it was sent again after the server may have done it. */
  unsure?: boolean;
}

/** Answer is an answer whose status is below 400. */
export interface Answer {
  status: number;
  headers: Headers;
  /** The body, "" under stream. */
  text: string;
  /** The body under stream. */
  body: ReadableStream<Uint8Array> | null;
}

const maxProblem = 1 << 20;
const problemPrefix = "urn:fanfold:problem:";

/** invalid returns the error for what cannot be sent. */
export const invalid = (detail: string, more: Partial<FanfoldError> = {}) => new FanfoldError("invalid", detail, more);

/** within settles as a promise does, or rejects with the signal's reason at once. */
export function within<T>(promise: PromiseLike<T>, signal?: AbortSignal | null): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal!.reason);
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop);
    const done = () => signal?.removeEventListener("abort", stop);
    promise.then((value) => (done(), resolve(value)), (error) => (done(), reject(error)));
  });
}

/** follow has a controller end when a signal does, and returns what ends that. */
export function follow(signal: AbortSignal | undefined, stop: AbortController): () => void {
  const pass = () => stop.abort(signal!.reason);
  if (signal?.aborted) pass();
  signal?.addEventListener("abort", pass);
  return () => signal?.removeEventListener("abort", pass);
}

/** sleep waits, and rejects with the signal's reason at once. */
export function sleep(ms: number, signal?: AbortSignal | null): Promise<void> {
  let timer: ReturnType<typeof setTimeout>;
  return within(new Promise<void>((resolve) => (timer = setTimeout(resolve, ms))), signal).finally(() => clearTimeout(timer));
}

/** backOff returns a function that gives pauses, each twice as long as the one before, up to two seconds, with a random part. */
export function backOff(): (atLeast?: number) => number {
  let pause = 50;
  return (atLeast = 0) => {
    const wait = (pause / 2) * (1 + Math.random());
    pause = Math.min(2 * pause, 2000);
    return Math.max(wait, atLeast);
  };
}

/** randomKey returns a text that nobody has had. randomUUID is many times faster, and absent on plain HTTP. */
export function randomKey(): string {
  return crypto.randomUUID?.() ?? crypto.getRandomValues(new Uint32Array(4)).join("-");
}

/** retryAfter returns how long an answer asks to wait, in milliseconds. */
function retryAfter(headers?: Headers): { retryAfter?: number } {
  const wait = headers?.get("Retry-After");
  return wait ? { retryAfter: Math.max(0, isNaN(+wait) ? Date.parse(wait) - Date.now() : +wait * 1000) || 0 } : {};
}

/** problemError returns the error that a problem document stands for, as a text or an object, undefined where it is none. */
export function problemError(p: any, status: number, headers?: Headers): FanfoldError | undefined {
  try {
    if (typeof p === "string") p = JSON.parse(p);
  } catch {
    return;
  }
  if (!p?.type?.startsWith?.(problemPrefix)) return;
  const { type, title: _, detail, instance: __, ["__proto__"]: ___, code, ...more } = p;
  if (!Array.isArray(more.problems)) delete more.problems;
  return new FanfoldError(type.slice(problemPrefix.length) as Code, String(detail), {
    ...more, status, ...(code && { failCode: code }), ...retryAfter(headers),
    ...(headers?.get("X-Request-Id") && { requestId: headers.get("X-Request-Id")! }),
    ...(headers?.get("Fanfold-Position") && { position: headers.get("Fanfold-Position")! }),
    ...(headers?.get("ETag") && { etag: headers.get("ETag")! }),
  });
}

/** endOf returns the error that a line of an answer tells. */
export const endOf = (said: any): FanfoldError => problemError(said, said.status) ?? new FanfoldError("bad-answer", "the answer has a line of another kind");

/** isLoopback tells whether a host is this machine. */
const isLoopback = (host: string) => /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(host);

/** Deadline is a signal for requests that begin about the same time. */
interface Deadline {
  stop: AbortController;
  timer: ReturnType<typeof setTimeout> | undefined;
  began: number;
  /** How many requests it was given to, and how many of them are running. */
  given: number;
  open: number;
}

/** Transport sends requests to one server: with the key, again where that is right, and in a session. */
export class Transport {
  readonly server: string;
  readonly maxAnswer: number;
  readonly numbers: Numbers;
  /** The newest position that an answer had, "" for none. */
  position = "";
  #key: Key | undefined;
  #headers: Record<string, string>;
  #fetch: typeof fetch;
  #retryFor: number;
  #attempt: number;
  #session: boolean;
  #idempotencyKeys: boolean;
  #deadline: Deadline | undefined;

  constructor(server: string, o: Options = {}) {
    let url: URL | undefined;
    try {
      url = new URL(server);
    } catch {
      // It is told below, without the text, which may have a password.
    }
    if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash)
      throw invalid("the server's URL is one such as http://127.0.0.1:8080, without user, query and fragment");
    this.server = url.origin + url.pathname.replace(/\/$/, "");
    this.#key = typeof o.key === "string" ? checked(o.key) : o.key;
    this.#headers = { ...o.headers };
    this.#fetch = o.fetch ?? ((...of) => fetch(...of));
    this.#retryFor = o.retryFor ?? 30_000;
    this.#attempt = o.attempt ?? 120_000;
    this.#session = o.session ?? true;
    this.maxAnswer = o.maxAnswer ?? 256 << 20;
    this.numbers = o.numbers ?? "exact";
    this.#idempotencyKeys = o.idempotencyKeys ?? true;
    if (!(this.#retryFor >= 0 && this.#retryFor <= 3_600_000 && this.#attempt > 0 && this.#attempt <= 1e9 && this.maxAnswer > 0))
      throw invalid("retryFor is from 0 to 3600000, attempt and maxAnswer are more than 0");
    if (o.key && !o.insecure && url.protocol === "http:" && !isLoopback(url.hostname))
      throw invalid("a key would go to another machine without TLS: use https, or set insecure: true");
  }

  /** see makes reads show at least a position. An older one than the newest changes nothing, and what is none neither. */
  see(at: string | null | undefined): void {
    if (!at || at === this.position || !isPosition(at)) return;
    const [seq, n, store] = at.split("-") as [string, string, string?], [seq0, n0, store0] = this.position.split("-") as [string, string, string?];
    if (!this.position || store !== store0 || +seq > +seq0 || (+seq === +seq0 && +n >= +n0)) this.position = at;
  }

  /** request sends a request until the server answers it, and returns the answer. It throws FanfoldError, and the signal's reason. */
  async request(method: string, path: string, call: Call = {}): Promise<Answer> {
    const { signal } = call, began = Date.now(), url = this.server + path + search(call.query);
    signal?.throwIfAborted();
    const headers: Record<string, string> = { ...this.#headers, ...call.headers };
    if (call.read && this.#session && this.position && !headers["Fanfold-Min-Position"] && call.query?.consistency !== "eventual")
      headers["Fanfold-Min-Position"] = this.position;
    for (let next, refused = false, again = false; ; ) {
      const another = again;
      again = false;
      try {
        const answer = await this.#send(method, url, headers, call, another);
        this.see(answer.headers.get("Fanfold-Position"));
        await call.finish?.(answer);
        return answer;
      } catch (error) {
        signal?.throwIfAborted();
        if (!(error instanceof FanfoldError)) throw error;
        if (error.code === "store-changed") {
          this.position = "";
          if (/[1-9].*-.*-/.test(error.oldest!)) this.see(error.oldest);
        }
        if (error.status === 401 && !refused && typeof this.#key === "function") {
          refused = again = true;
          // The server did nothing, so that also what is never tried again may be sent with another key.
          continue;
        }
        const wait = (next ??= backOff())(error.retryAfter);
        if (call.once || !mayRetry(error, call) || Date.now() - (call.since ?? began) + wait > this.#retryFor) throw error;
        await sleep(wait, signal);
        call.unsure ||= error.code === "outcome-unknown" || error.code === "connection";
      }
    }
  }

  /** keyOf returns the Idempotency-Key of a write, undefined where it has none. */
  keyOf(o: { idempotencyKey?: string; dryRun?: boolean }): string | undefined {
    return o.idempotencyKey ?? (this.#idempotencyKeys && !o.dryRun ? randomKey() : undefined);
  }

  /** json returns the value in an answer. */
  async json<T = any>(method: string, path: string, call?: Call): Promise<T> {
    return this.parse((await this.request(method, path, call)).text);
  }

  /** list returns the object in an answer, which has a list. */
  async list(member: string, method: string, path: string, call: Call): Promise<any> {
    const page = await this.json(method, path, call);
    if (!Array.isArray(page?.[member])) throw new FanfoldError("bad-answer", `the answer to ${method} ${path} has no ${member}`);
    return page;
  }

  /** parse returns the value of an answer's text. */
  parse(text: string): any {
    try {
      return parse(text, this.numbers);
    } catch (cause) {
      throw new FanfoldError("bad-answer", `the answer is not JSON: ${text.slice(0, 200)}`, { cause });
    }
  }

  /** lines yields the lines of an answer that are not empty, until the signal ends. */
  async *lines(answer: Answer, signal?: AbortSignal): AsyncGenerator<string> {
    for await (const line of lines(answer.body!, this.maxAnswer, signal && ((read) => within(read, signal)))) {
      signal?.throwIfAborted();
      if (line) yield line;
    }
  }

  /** objects yields the objects of an answer that has one on each line. */
  async *objects(answer: Answer, signal?: AbortSignal): AsyncGenerator<any> {
    for await (const line of this.lines(answer, signal)) yield Object(this.parse(line));
  }

  /** #begin returns a deadline. 32 requests at most share one, for a signal and a timer of its own would cost each a quarter of its time. */
  #begin(alone: boolean, attempt: number): Deadline {
    const now = Date.now();
    let d = alone ? undefined : this.#deadline;
    if (!d || d.given > 31 || d.stop.signal.aborted || (d.open && now - d.began > attempt / 16)) {
      d = { stop: new AbortController(), timer: undefined, began: 0, given: 0, open: 0 };
      if (!alone) this.#deadline = d;
    }
    d.given++;
    if (!d.open++) {
      const { stop } = d;
      d.began = now;
      if (attempt) d.timer = setTimeout(() => stop.abort(new FanfoldError("connection", `no answer from ${this.server} within ${attempt} ms`)), alone ? attempt : attempt * 17 / 16);
    }
    return d;
  }

  /** #send sends a request once. */
  async #send(method: string, url: string, headers: Record<string, string>, call: Call, again: boolean): Promise<Answer> {
    const { signal } = call, key = this.#key, { attempt = this.#attempt } = call, deadline = this.#begin(!!signal || !!call.stream || attempt !== this.#attempt, attempt), { stop } = deadline;
    const leave = follow(signal, stop);
    try {
      const exchange = this.#exchange(method, url, headers, call, stop.signal, typeof key === "function" ? within(Promise.resolve(key(again)).then(checked), stop.signal) : key);
      return await (signal ? within(exchange, stop.signal) : exchange);
    } finally {
      leave();
      if (!--deadline.open) clearTimeout(deadline.timer);
    }
  }

  async #exchange(method: string, url: string, headers: Record<string, string>, call: Call, signal: AbortSignal, key?: string | PromiseLike<string>): Promise<Answer> {
    const lost = (cause: any, why = cause?.cause?.message ?? cause?.message) =>
      cause instanceof FanfoldError ? cause : new FanfoldError("connection", `no answer to ${method} ${url.split("?")[0]}: ${why}`, { cause });
    const bearer = await key;
    let response: Response;
    try {
      response = await this.#fetch(url, {
        method, signal, cache: "no-store", ...(call.body != null && { body: call.body }),
        // A redirect would take what is sent to whom it names.
        ...(bearer ? { headers: { ...headers, Authorization: bearer }, redirect: "manual" as const } : { headers }),
      });
    } catch (cause) {
      throw lost(cause);
    }
    const { status } = response, answer: Answer = { status, headers: response.headers, text: "", body: response.body };
    if (bearer && (response.type === "opaqueredirect" || (status >= 300 && status < 400 && status !== 304)))
      throw new FanfoldError("bad-answer", `${this.server} redirects: give the server's own URL`, { status });
    if (call.stream && status < 400) return answer;
    try {
      answer.text = await textOf(response, status < 400 ? this.maxAnswer : maxProblem);
    } catch (cause) {
      throw lost(cause, "it broke off");
    }
    if (status < 400) return answer;
    throw problemError(answer.text, status, response.headers) ?? new FanfoldError(status === 429 || status > 501 ? "connection" : "bad-answer",
      `${this.server} answered ${status}, and no problem document: ${answer.text.slice(0, 200)}`, { status, ...retryAfter(response.headers) });
  }
}

/** checked returns the header of a key, "" for none. */
function checked(key: string | null | undefined): string {
  if (!/^[!-~]{0,4096}$/.test((key = key ? String(key).trim() : ""))) throw invalid("the key is none: one has visible ASCII, 4096 at most");
  return key && "Bearer " + key;
}

/** isPosition tells whether a text is a position. */
export const isPosition = (text: string): boolean => /^\d{1,13}-\d{1,7}(-[a-z2-7]{8}(-\d{1,10})?)?$/.test(text);

/** final tells whether an error stays the same, however often it is tried. */
export const final = (e: unknown): boolean =>
  !(e instanceof FanfoldError) || e.code === "bad-answer" || e.code === "invalid" || (e.status >= 400 && e.status < 500 && !/^(busy|too-slow|connection)$/.test(e.code));

/** mayRetry tells whether a request may be sent again after an error. One that may not be done twice is sent again only where the store says that nothing happened. */
function mayRetry(error: FanfoldError, call: Call): boolean {
  const { code, status } = error;
  return /^(busy|unavailable|catching-up|lagging|rights-stale)$/.test(code) ||
    (!!call.idempotent && code !== "log-damaged" && (code === "connection" || status === 429 || status > 502));
}

/** search returns the query of a URL. A list has commas between, but for id, which is repeated. */
function search(query: Record<string, unknown> | undefined): string {
  if (!query) return "";
  const all = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value != null)
      for (const one of name === "id" && Array.isArray(value) ? value : [value])
        all.append(name, one instanceof Date ? one.toISOString() : Array.isArray(one) ? one.join() : typeof one === "object" ? stringify(one) : String(one));
  const text = String(all);
  return text && "?" + text;
}
