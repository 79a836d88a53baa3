// Chromium, for tests whose page tells itself what came of it.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

/** commandOf returns the path of the first command that is installed, undefined where none is. */
export const commandOf = (...names) => names.flatMap((name) => process.env.PATH.split(delimiter).map((dir) => join(dir, name))).find((path) => existsSync(path));

/** browse opens a page in a Chromium of its own until the test ends. It fails where there is none: make js installs it. */
export function browse(t, url) {
  const browser = process.env.FANFOLD_BROWSER ?? commandOf("chromium-headless-shell", "chromium");
  if (!browser) throw new Error("neither chromium-headless-shell nor chromium is installed: make js does it on a Debian, FANFOLD_BROWSER names another one");
  const profile = mkdtempSync(join(tmpdir(), "fanfold-browser-"));
  const child = spawn(browser, [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--user-data-dir=" + profile, "--remote-debugging-port=0", url,
  ], { stdio: "ignore", detached: true }); // of a group of its own, for Debian's command is a script that starts the browser
  const gone = new Promise((resolve) => child.once("exit", resolve)), kill = () => process.kill(-child.pid, "SIGKILL");
  process.once("exit", kill);
  t.after(async () => {
    process.off("exit", kill);
    kill();
    await gone;
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  });
}
