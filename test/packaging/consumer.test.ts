import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { SignJWT } from 'jose'
import { Miniflare } from 'miniflare'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { lockedVersion } from './locked-version.ts'
import { filesOf, startPage } from '../../scripts/start-pages.ts'
import { nextBuild, start } from '../next/support/build.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)
const require = createRequire(import.meta.url)
const JWT_SECRET = 'a secret of at least thirty-two bytes'

let folder: string
let tarballs: Map<string, string>
let local: { child: ChildProcess; url: string; token: string }

beforeAll(async () => {
  // Outside the workspace: nothing is found but what is installed.
  folder = mkdtempSync(join(tmpdir(), 'sluice-consumer-'))
  const names = ['core', 'next', 'cloudflare', 'cli', 'local', 'dashboard']
  tarballs = new Map(await Promise.all(names.map(pack)))
  const tools = `${folder}/tools`
  await install(tools, ['core', 'cli', 'local', 'dashboard'], [])
  local = await startLocalCommand(tools)
})

afterAll(async () => {
  local?.child.kill('SIGTERM')
  if (local) await once(local.child, 'exit')
  rmSync(folder, { recursive: true, force: true })
})

// Installs and builds as a user does, which takes as long as the machine and the network need.
it(
  'a new Next.js app limits a route with the lines of its page',
  { timeout: 300_000 },
  async () => {
    const cwd = `${folder}/next-app`
    const dependencies = ['next', 'react', 'react-dom', 'jose']
    const types = ['typescript', '@types/node', '@types/react', '@types/react-dom']
    await install(cwd, ['core', 'next'], [...dependencies, ...types])
    writePage(cwd, 'nextjs')

    const bin = `${cwd}/node_modules/next/dist/bin/next`
    await nextBuild(cwd, bin)
    const app = await start({ folder: cwd }, { ...storeEnv(), JWT_SECRET }, bin)
    try {
      const authorization = `Bearer ${await jwt()}`
      const statuses = await statusesOf(25, () =>
        fetch(`${app.url}/api/ai/chat`, { method: 'POST', headers: { authorization } }),
      )
      expect(statuses).toEqual({ 200: 20, 429: 5 })
      expect((await fetch(`${app.url}/api/ai/chat`, { method: 'POST' })).status).toBe(401)
    } finally {
      await app.stop()
    }
  },
)

it('a new Worker limits a route with the lines of its page', async () => {
  const cwd = `${folder}/worker`
  await install(cwd, ['core', 'cloudflare'], [])
  writePage(cwd, 'cloudflare')
  const wrangler = join(dirname(require.resolve('wrangler/package.json')), 'bin/wrangler.js')
  await run(process.execPath, [wrangler, 'deploy', '--dry-run', '--outdir', 'dist'], { cwd })

  const contents = readFileSync(`${cwd}/dist/worker.js`, 'utf8')
  const bindings = Object.entries({ ...storeEnv(), JWT_SECRET })
  const env = bindings.map(([name, value]) => [name, { type: 'text', value }])
  const miniflare = new Miniflare({
    host: '127.0.0.1',
    port: 0,
    workers: [
      {
        config: {
          name: 'limited',
          compatibilityDate: '2026-05-01',
          manifest: { mainModule: 'index.js', modules: { 'index.js': { type: 'esm', contents } } },
          env: Object.fromEntries(env) as Record<string, { type: 'text'; value: string }>,
        },
      },
    ],
  })
  try {
    const url = new URL('/api/ai/chat', await miniflare.ready)
    const headers = { authorization: `Bearer ${await jwt()}` }
    expect(await statusesOf(25, () => fetch(url, { headers }))).toEqual({ 200: 20, 429: 5 })
    expect((await fetch(url)).status).toBe(401)
  } finally {
    await miniflare.dispose()
  }
})

async function pack(name: string): Promise<[string, string]> {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]
  const { stdout } = await run('npm', args, { cwd: `${root}/packages/${name}` })
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }]
  return [name, join(folder, filename)]
}

/** A new project with packed packages of ours and, in the workspace's versions, those of others. */
async function install(cwd: string, ours: readonly string[], others: readonly string[]) {
  mkdirSync(cwd)
  writeFileSync(`${cwd}/package.json`, JSON.stringify({ private: true, type: 'module' }))
  const packed = ours.map((name) => tarballs.get(name) ?? name)
  const pinned = others.map((name) => `${name}@${lockedVersion(name)}`)
  const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts']
  await run('npm', ['install', ...flags, ...packed, ...pinned], { cwd })
}

/** Writes the files of a page to start with, and those that it shares with others. */
function writePage(cwd: string, name: string): void {
  for (const [file, code] of filesOf(startPage(name))) {
    mkdirSync(dirname(join(cwd, file)), { recursive: true })
    writeFileSync(join(cwd, file), code)
  }
}

/** `sluice local`, as installed, in front of the tests' Redis. */
async function startLocalCommand(cwd: string): Promise<typeof local> {
  const args = [`${cwd}/node_modules/.bin/sluice`, 'local', '--port', '0']
  const child = spawn(process.execPath, [...args, '--redis', inject('redisUrl')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  for await (const chunk of child.stdout) {
    output += String(chunk)
    const url = /^UPSTASH_REDIS_REST_URL=(\S+)\n/m.exec(output)?.[1]
    const token = /^UPSTASH_REDIS_REST_TOKEN=(\S+)\n/m.exec(output)?.[1]
    if (url !== undefined && token !== undefined) return { child, url, token }
  }
  throw new Error(`sluice local ended before it was ready:\n${output}`)
}

function storeEnv(): Record<string, string> {
  return { UPSTASH_REDIS_REST_URL: local.url, UPSTASH_REDIS_REST_TOKEN: local.token }
}

function jwt(): Promise<string> {
  return new SignJWT({ tenant: `consumer-${Date.now()}`, plan: 'starter' })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('5m')
    .sign(new TextEncoder().encode(JWT_SECRET))
}

async function statusesOf(count: number, send: () => Promise<Response>) {
  const answers = await Promise.all(Array.from({ length: count }, send))
  const statuses: Record<number, number> = {}
  for (const { status } of answers) statuses[status] = (statuses[status] ?? 0) + 1
  await Promise.all(answers.map(async (answer) => answer.body?.cancel()))
  return statuses
}
