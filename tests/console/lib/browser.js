// Starts the browser that all scenarios share, prints where it is driven, and ends it when its standard input ends.
import { chromium } from 'playwright-core';

const server = await chromium.launchServer({
  executablePath: process.argv[2],
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-dev-shm-usage'],
});
console.log(server.wsEndpoint());
process.stdin.on('end', () => server.close());
process.stdin.resume();
