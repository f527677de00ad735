import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { startLocal, type LocalServer } from '@sluice/local'
import { EdgeRuntime } from 'edge-runtime'
import { build } from 'esbuild'
import { SignJWT } from 'jose'
import { afterAll, beforeAll, expect, inject, it, vi } from 'vitest'
import { filesOf, startPage } from '../../scripts/start-pages.ts'
import { patient } from '../support/docs-block.ts'

const SECRET = 'a secret of at least thirty-two bytes'
const example = fileURLToPath(new URL('../../examples/vercel', import.meta.url))

// Inside the workspace, so that the packages are found as a user's would be.
const folder = mkdtempSync(fileURLToPath(new URL('vercel-', import.meta.url)))
let local: LocalServer
beforeAll(async () => {
  local = await startLocal({ redisUrl: inject('redisUrl') })
  cpSync(example, folder, {
    recursive: true,
    filter: (path) => basename(path) !== 'node_modules',
  })
  for (const [name, code] of filesOf(startPage('vercel'))) {
    const file = join(folder, name)
    writeFileSync(file, patient(existsSync(file) ? readFileSync(file, 'utf8') : code))
  }
  // The app has no Edge Function, which Vercel deprecates. The page says how one differs.
  const chat = readFileSync(join(folder, 'api/chat.ts'), 'utf8')
  const edge = chat
    .replace(
      "import { waitUntil } from '@sluice/core/vercel'\n",
      "export const config = { runtime: 'edge' }\n",
    )
    .replace(', waitUntil }', ' }')
    .replace('/api/chat', '/api/edge')
    .replace(/export default \{ fetch: (.*) \}/, 'export default $1')
  writeFileSync(join(folder, 'api/edge.ts'), edge)
})
afterAll(async () => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true, force: true })
  await local.close()
})

/** Sends a request to the deployed file. */
type Send = (
  url: string,
  init: { method: string; headers: Record<string, string> },
) => Promise<Response>

/** Loads a file of the app as Node.js does, by the export that Vercel calls. */
async function deployToNode(file: string): Promise<Send> {
  vi.stubEnv('JWT_SECRET', SECRET)
  vi.stubEnv('UPSTASH_REDIS_REST_URL', local.url)
  vi.stubEnv('UPSTASH_REDIS_REST_TOKEN', local.token)
  const { outputFiles } = await build({
    entryPoints: [join(folder, file)],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
  })
  const bundle = join(folder, `${file.replace('/', '-')}.mjs`)
  writeFileSync(bundle, outputFiles[0]?.text ?? '')
  type Handle = (request: Request) => Promise<Response>
  const { default: exported } = (await import(pathToFileURL(bundle).href)) as {
    readonly default: Handle | { readonly fetch: Handle }
  }
  const handle = typeof exported === 'function' ? exported : exported.fetch
  return (url, init) => handle(new Request(url, init))
}

/** Bundles a file of the app as Vercel does, and loads it into its edge runtime. */
async function deployToEdge(file: string): Promise<Send> {
  const { outputFiles } = await build({
    stdin: {
      contents: `import handle from ${JSON.stringify(join(folder, file))}
        addEventListener('fetch', (event) => event.respondWith(handle(event.request, event)))`,
      resolveDir: folder,
    },
    bundle: true,
    write: false,
    format: 'iife',
    platform: 'browser',
    conditions: ['edge-light', 'worker', 'import'],
  })
  const env = {
    JWT_SECRET: SECRET,
    UPSTASH_REDIS_REST_URL: local.url,
    UPSTASH_REDIS_REST_TOKEN: local.token,
  }
  const runtime = new EdgeRuntime({
    initialCode: outputFiles[0]?.text ?? '',
    extend: (context) => Object.assign(context, { process: { env } }),
  })
  return (url, init) => runtime.dispatchFetch(url, init)
}

const RUNTIMES = { 'Node.js': deployToNode, 'the edge runtime': deployToEdge }

it.each([
  ['middleware.ts', 'Node.js', '/api/ai/models/chat', '', '1'],
  ['middleware.ts', 'the edge runtime', '/api/ai/models/chat', '', '1'],
  ['api/chat.ts', 'Node.js', '/api/chat', '{"answer":42}', null],
  ['api/edge.ts', 'the edge runtime', '/api/edge', '{"answer":42}', null],
] as const)(
  '%s limits a tenant on %s, as Vercel runs it',
  async (file, runtime, path, body, next) => {
    const dispatch = await RUNTIMES[runtime](file)
    const token = await new SignJWT({ tenant: `vercel-${crypto.randomUUID()}` })
      .setProtectedHeader({ alg: 'HS256' })
      .setExpirationTime('5m')
      .sign(new TextEncoder().encode(SECRET))
    const send = (headers: Record<string, string>) =>
      dispatch(`https://app.example${path}`, { method: 'POST', headers })
    expect((await send({})).status).toBe(401)

    const authorization = `Bearer ${token}`
    for (let sent = 1; sent <= 20; sent += 1) {
      const answer = await send({ authorization })
      expect(answer.status).toBe(200)
      expect(answer.headers.get('x-ratelimit-remaining')).toBe(String(20 - sent))
      expect(answer.headers.get('x-middleware-next')).toBe(next)
      expect(await answer.text()).toBe(body)
    }
    const denied = await send({ authorization })
    expect(denied.status).toBe(429)
    expect(denied.headers.get('x-middleware-next')).toBe(null)
    expect(Number(denied.headers.get('retry-after'))).toBeGreaterThan(0)
  },
)

it('the app is compiled by its own settings', () => {
  const { status, stdout } = spawnSync('tsc', ['-p', folder, '--noEmit'], { encoding: 'utf8' })
  expect([status, stdout]).toEqual([0, ''])
})
