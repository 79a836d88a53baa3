// The tests that run under Node alone, and why. Each other one runs in a browser, Deno and Bun, too.

export const nodeAlone = {
  "a key is shown by no print": "it needs the inspect of Node",
  "an endless answer ends at maxAnswer, and so does an endless line": "it needs a server of the test's own",
  "an answer of 1 GiB ends at 256 MiB": "it needs a server of the test's own",
  "endless lines are read no faster than the loop asks for them": "it needs a server of the test's own",
  "an answer that is no JSON, or broken, is an error": "it needs a server of the test's own",
  "endless headers are an error, and so is what is no HTTP": "it needs a server of the test's own",
  "neither key nor document goes where a redirect leads": "it needs a server of the test's own",
  "the package is small, the same each time, and runs where it is installed": "it needs npm, and processes",
  "the wire types are those of openapi.json": "it needs a process",
  "codes are those of the server": "it reads sources",
  "each route has a method, or a reason": "it reads sources",
  "useDocument shows each change, shares a feed, and ends with its component": "it runs in a browser already",
  "the page of the example shows a book, and each change of it": "it runs in a browser already",
};
