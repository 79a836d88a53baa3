// What must compile, and what must not.
import { Fanfold, FanfoldError, RawNumber, type Change, type Document } from "../dist/index.js";

interface Book { id?: string; title: string; year?: number }

interface Shelf { shelf: string }

const db = new Fanfold("http://127.0.0.1:8080", { key: async (again) => (again ? "new" : "old"), retryFor: 0, numbers: "exact" });
const books = db.collection<Book>("books");

export async function mustCompile(signal: AbortSignal): Promise<void> {
  const b: Document<Book> = await books.get("b1", { view: "referenced", expand: ["author"], at: new Date(), signal });
  const none: Document<Book> | null = await books.find("b1");
  await books.put("b1", { ...b.doc, year: 1873 }, { ifMatch: b.etag, if: "doc.n > params.n", params: { n: 1 }, refresh: "price" });
  await books.patch("b1", [{ op: "increment", path: "/stock", value: -1, min: 0 }], { return: "representation" });
  await books.patch("b1", { title: null });
  const shelf: Shelf = { shelf: "A" };
  await books.patch("b1", shelf);
  await db.transaction((tx) => {
    tx.put(books, "b2", { title: "x" });
    tx.check(books, "b1", { ifMatch: "*" });
  }, { allowFanout: true });
  for await (const { doc } of books.query({ filter: "doc.year > params.y", params: { y: 1900 }, sort: ["-year"] })) doc.title.trim();
  for await (const change of db.changes<Book>({ since: "now", collections: ["books"], includeDocs: true })) {
    const c: Change<Book> = change;
    c.doc?.title.trim();
  }
  const raw: RawNumber = new RawNumber("1e400");
  raw.raw.trim();
  none?.revision.toFixed();
  try {
    await books.delete("b1", { steps: true });
  } catch (error) {
    if (error instanceof FanfoldError && (error.code === "stale" || error.code === "connection")) error.problems[0]?.detail.trim();
  }
}

export async function mustNotCompile(): Promise<void> {
  // @ts-expect-error the year is a number
  await books.put("b1", { title: "x", year: "1873" });
  // @ts-expect-error the title is missing
  await books.create({ year: 1873 });
  // @ts-expect-error no option is called so
  await books.get("b1", { ifmatch: "*" });
  // @ts-expect-error there is no such operation
  await books.patch("b1", [{ op: "multiply", path: "/n" }]);
  // @ts-expect-error a patch is an object, or a list
  await books.patch("b1", "title");
  // @ts-expect-error find may give null
  (await books.find("b1")).doc;
  const called = await db.call<{ seat: string }>("reserve", { seat: "s1" }, { dryRun: true, seed: 7 });
  const seat: string = called.result.seat;
  // @ts-expect-error the result is a seat
  const n: number = called.result.seat;
  // @ts-expect-error a call has no conditions
  await db.call("reserve", seat, { ifMatch: "*" }) && n;
  // @ts-expect-error there is no such code
  new FanfoldError("gone-away", "x");
  // @ts-expect-error the mode is all or latest
  db.changes({ mode: "some" });
  await db.transaction((tx) => {
    // @ts-expect-error the title is missing
    tx.put(books, "b2", {});
    // @ts-expect-error a check has conditions
    tx.check(books, "b1");
  });
}
