import type { Code } from "./errors.js";
import { FanfoldError } from "./errors.js";
import { stringify } from "./json.js";
import { callOf, type Waits } from "./options.js";
import { brokenOff, decoder } from "./streams.js";
import { endOf, follow, invalid, within, type Transport } from "./transport.js";

/** ImportSource gives documents, or lines of NDJSON: a text is one line or several whole ones, bytes may be cut anywhere. */
export type ImportSource = Iterable<object | string> | AsyncIterable<object | string> | ReadableStream<object | string>;

/** Refusal tells why a line was not stored. */
export interface Refusal {
  /** Its number, from 1. */
  line: number;
  status: number;
  code: Code;
  detail: string;
}

/** ImportOptions say how an import goes. */
export interface ImportOptions extends Waits {
  /** Where the documents go. Without it each line says so. */
  collection?: string;
  /** Names the import, so that it can be resumed: each line is stored once. */
  id?: string;
  /** Goes on with the import of this id: what is stored is passed over. */
  resume?: boolean;
  /** The number of the first line that is sent, from 1. */
  first?: number;
  allowFanout?: boolean;
  allowRemoval?: boolean;
  restore?: boolean;
  /** Is told each line that was refused, as soon as its piece was read. */
  refused?: (refusal: Refusal) => void;
  /** Is told how far the import is, after each batch. */
  progress?: (sum: Omit<ImportResult, "refusals">) => void;
}

/** ImportResult is what came of an import. */
export interface ImportResult {
  position?: string;
  written: number;
  refused: number;
  /** Every line up to it is stored, or was refused. */
  line: number;
  /** The first 1,000 lines that were refused. */
  refusals: Refusal[];
}

const pieceSize = 1 << 20, maxLine = 16 << 20, maxRefusals = 1000;

/** reader returns how to take a source's elements one by one, and how to end it. */
function reader(source: ImportSource): { next: () => any; end: () => void } {
  if ("getReader" in source) {
    const r = source.getReader();
    return { next: () => r.read(), end: () => void r.cancel().catch(() => {}) };
  }
  const it: any = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  return { next: () => it.next(), end: () => void Promise.resolve(it.return?.()).catch(() => {}) };
}

/** pieces yields whole lines of a source, together some 1 MiB, or one line that is longer. */
async function* pieces(source: ImportSource, signal: AbortSignal): AsyncGenerator<string> {
  const { next, end } = reader(source), decode = decoder("a line");
  let piece = "", rest = "";
  try {
    for (;;) {
      signal.throwIfAborted();
      const asked = next(), { done, value } = typeof asked.then === "function" ? await within<any>(asked, signal) : asked;
      if (done) break;
      if (value instanceof Uint8Array) {
        const text = decode(value), to = text.lastIndexOf("\n") + 1;
        if (to) piece += rest + text.slice(0, to);
        rest = to ? text.slice(to) : rest + text;
        if (rest.length > maxLine) throw invalid(`a line is longer than ${maxLine} bytes`);
      } else piece += typeof value !== "string" ? stringify(value) + "\n" : value.endsWith("\n") ? value : value + "\n";
      if (piece.length >= pieceSize) {
        yield piece;
        piece = "";
      }
    }
    if ((piece += rest + decode())) yield piece;
  } finally {
    end();
  }
}

/** importFrom writes what a source gives. While a piece is on its way the next one is read, and no more. */
export async function importFrom(t: Transport, source: ImportSource, options: ImportOptions): Promise<ImportResult> {
  const { id, resume, first = 1, refused, progress, signal, ...rest } = options;
  const result: ImportResult = { line: first - 1, written: 0, refused: 0, refusals: [] }, stop = new AbortController();

  /** send imports a piece. With an id the server counts over all pieces, else this does. */
  const send = async (body: string, later: boolean): Promise<void> => {
    const before = id ? { line: 0, written: 0, refused: 0 } : { ...result };
    const count = (of: any, position: string) => {
      for (const name of ["line", "written", "refused"] as const) result[name] = before[name] + of[name];
      t.see((result.position = position || result.position));
    };
    const a = await t.request("POST", "/v1/_import", callOf({ ...rest, ...(id && { id, resume: later || resume, first: result.line + 1 }), signal: stop.signal },
      { once: !later, stream: true, attempt: 0, body, headers: { "Content-Type": "application/x-ndjson" } }));
    for await (const said of t.objects(a, stop.signal)) {
      if (said.progress) {
        count(said.progress, said.position);
        const { refusals: _, ...sum } = result;
        progress?.(sum);
      } else if (said.done === undefined) {
        const refusal = { line: before.line + said.line, status: said.status, code: String(said.type).slice(20) as Code, detail: said.detail };
        if (result.refusals.length < maxRefusals) result.refusals.push(refusal);
        refused?.(refusal);
      } else {
        count(said, said.position);
        if (said.done) return;
        throw endOf(said);
      }
    }
    throw brokenOff();
  };

  const leave = follow(signal, stop);
  try {
    let sending: Promise<void> | undefined;
    for await (const piece of pieces(source, stop.signal)) {
      await sending;
      sending = send(piece, !!sending);
      sending.catch((error) => stop.abort(error));
    }
    await (sending ?? send("", false));
    return result;
  } catch (error) {
    if (error instanceof FanfoldError && !signal?.aborted) error.line = result.line;
    throw error;
  } finally {
    leave();
  }
}
