// A server of files for pages, which may post what they have to say.
import { existsSync, readFileSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";

/** served serves the files of a directory until the test ends. hear waits for the next text that a page posts to /said. */
export async function served(t, dir) {
  const said = [], waiting = [];
  const server = http.createServer(async (req, res) => {
    if (req.url === "/said") {
      let text = "";
      for await (const part of req.setEncoding("utf8")) text += part;
      if (waiting.length) waiting.shift()(text);
      else said.push(text);
      return res.end();
    }
    const file = join(dir, req.url);
    if (!existsSync(file)) return res.writeHead(404).end();
    res.setHeader("Content-Type", file.endsWith(".js") ? "text/javascript" : "text/html").end(readFileSync(file));
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  t.after(() => (server.closeAllConnections(), server.close()));
  const hear = () => new Promise((resolve) => (said.length ? resolve(said.shift()) : waiting.push(resolve)));
  return { url: `http://127.0.0.1:${server.address().port}`, hear };
}
