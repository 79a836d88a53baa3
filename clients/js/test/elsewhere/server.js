// server.js for tests that run elsewhere than under Node: what runs servers is asked for them.
export { seeded } from "../seeded.js";

/** keys are those of the servers, by their URLs. */
export const keys = new Map();

/** ask has the Node of elsewhere.test.js do something, and returns its answer. */
export async function ask(what, of = {}) {
  const answer = await fetch(`${CONTROL}/${what}`, { method: "POST", body: JSON.stringify(of) });
  if (!answer.ok) throw new Error(`${what}: ${await answer.text()}`);
  return answer.json();
}

export const freePort = () => ask("freePort");
export const text = (path) => ask("text", path);

/** start runs a server, which always wants a key here. */
export async function start(t, { args = [] } = {}) {
  const s = await ask("start", { args }), { id } = s;
  keys.set(s.url, s.key);
  t.after(() => ask("end", { id }));
  return { ...s, up: () => ask("up", { id }), kill: (signal) => ask("kill", { id, signal }) };
}

/** chaos is a proxy that breaks connections. */
export async function chaos(t, to, random, share) {
  const { id, url } = await ask("chaos", { to, seed: Math.floor(random() * 2 ** 31), share });
  keys.set(url, keys.get(`http://127.0.0.1:${to}`));
  t.after(() => ask("end", { id }));
  return url;
}
