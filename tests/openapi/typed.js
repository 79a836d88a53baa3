// Makes clients of openapi.json with the types of the documents of model.yaml, and uses them against a server with that model.
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const free = await new Promise((resolve) => {
  const s = createServer().listen(0, '127.0.0.1', () => {
    const { port } = s.address()
    s.close(() => resolve(port))
  })
})
const url = 'http://127.0.0.1:' + free
const dir = mkdtempSync(join(tmpdir(), 'fanfold-'))
const server = spawn('../../bin/fanfold', ['serve', '--data', dir, '--listen', '127.0.0.1:' + free], { stdio: ['ignore', 'ignore', 'inherit'] })
const ended = new Promise((resolve) => server.on('exit', resolve))
const run = (program, ...args) => execFileSync(program, args, { stdio: 'inherit', env: { ...process.env, FANFOLD_URL: url } })

/** ready returns once the server answers, and fails where it has ended. */
async function ready() {
  while (server.exitCode === null) {
    const r = await fetch(url + '/readyz').catch(() => null)
    if (r?.ok) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('the server has ended: make build makes it')
}

try {
  await ready()
  const applied = await fetch(url + '/v1/_model', { method: 'PUT', body: readFileSync('model.yaml'), headers: { 'Content-Type': 'application/yaml' } })
  if (applied.status !== 200) throw new Error(await applied.text())
  mkdirSync('made', { recursive: true })
  const text = await (await fetch(url + '/openapi.json?model=true')).text()
  writeFileSync('made/typed.json', text)
  run('npx', 'openapi-typescript', 'made/typed.json', '-o', 'made/typed.d.ts')
  run('npx', 'openapi-ts', '-i', './made/typed.json', '-o', 'made/hey')
  run('npx', 'tsc', '-p', 'tsconfig.typed.json')
  writeFileSync('made/used/package.json', '{"type":"commonjs"}')
  run('node', '--test', 'made/used/typeduses.js')
} finally {
  server.kill('SIGINT')
  await ended
  rmSync(dir, { recursive: true })
}
