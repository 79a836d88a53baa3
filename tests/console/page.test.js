// The page itself: its headers, what it loads, and that nothing leaves the origin (points 1 to 5 of the console).
import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { get } from 'node:http';
import { gzipSync } from 'node:zlib';
import { scenario } from './lib/scenario.js';
import { figure } from './lib/store.js';

/** Whether the files are served from a directory, while one works on them. Then nobody keeps them. */
const fromDir = process.env.FANFOLD_DIR !== undefined;

scenario('The page has its headers, and is not sent twice', {}, async ({ store }) => {
  const page = await fetch(store.url + '/_console/');
  const text = await page.text();
  assert.equal(page.headers.get('Content-Security-Policy'), "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'");
  for (const [name, value] of Object.entries({
    'X-Content-Type-Options': 'nosniff', 'Referrer-Policy': 'no-referrer', 'Cross-Origin-Opener-Policy': 'same-origin', 'Cache-Control': fromDir ? 'no-store' : 'no-cache', 'Content-Type': 'text/html; charset=utf-8',
  })) assert.equal(page.headers.get(name), value, name);
  const again = await fetch(store.url + '/_console/', { headers: { 'If-None-Match': String(page.headers.get('ETag')) } });
  assert.equal(again.status, 304);
  const bare = await fetch(store.url + '/_console', { redirect: 'manual' });
  assert.deepEqual([bare.status, bare.headers.get('Location')], [308, '_console/']);
  assert.equal((await fetch(store.url + '/_console/', { method: 'POST' })).status, 405);
  const none = await fetch(store.url + '/_console/nothing');
  assert.deepEqual([none.status, none.headers.get('Content-Type')], [404, 'application/problem+json']);
  for (const [, name] of text.matchAll(/(?:href|src)="([^"]+)"/g)) {
    const asset = await fetch(`${store.url}/_console/${name}`);
    assert.equal(asset.status, 200, name);
    assert.equal(asset.headers.get('Cache-Control'), fromDir ? 'no-store' : 'public, max-age=31536000, immutable', name);
  }
  assert.equal(await statusBy(store.url + '/_console/', 'evil.example'), 403);
});

scenario('The first page loads by few requests, and few bytes', { data: 'bookshop', shared: true }, async ({ tab, page }) => {
  await tab.open('#/', 'Collections');
  await page.getByRole('table', { name: 'Collections' }).waitFor();
  const loaded = await page.evaluate(() => performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))
    .map((e) => /** @type {PerformanceResourceTiming} */ (e)).filter((e) => e.name.includes('/_console/')).map((e) => e.encodedBodySize));
  const bytes = loaded.reduce((a, b) => a + b, 0);
  const dir = new URL('../../console/dist/', import.meta.url);
  let all = 0;
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) all += gzipSync(await readFile(`${entry.parentPath ?? entry.path}/${entry.name}`), { level: 9 }).length;
  }
  await figure('all files, gzipped', kB(all), '320 kB');
  await figure('what the first page loads, gzipped', kB(bytes), '60 kB');
  await figure('its requests of assets', String(loaded.length - 1), '40');
  assert.ok(all <= 320_000 && bytes <= 60_000 && loaded.length <= 41, `${all} ${bytes} ${loaded.length}`);
});

scenario('The console works below a path of a proxy', { data: 'bookshop', prefix: '/shop/fanfold' }, async ({ tab, page }) => {
  await tab.open('#/', 'Collections');
  await page.getByRole('table', { name: 'Collections' }).getByRole('link', { name: 'authors' }).waitFor();
});

/**
 * The status of an answer to a request by a name of the server.
 * @param {string} url
 * @param {string} host
 * @returns {Promise<number | undefined>}
 */
const statusBy = (url, host) => new Promise((resolve, reject) => {
  get(url, { headers: { Host: host } }, (answer) => { answer.resume(); resolve(answer.statusCode); }).on('error', reject);
});

/** @param {number} bytes */
const kB = (bytes) => (bytes / 1000).toFixed(1) + ' kB';
