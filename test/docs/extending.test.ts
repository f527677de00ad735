import { spawn } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request as send, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  createLimiter,
  manualClock,
  slidingWindow,
  type Extension,
  type Limiter,
  type PolicyOptions,
  type Policy,
  type Store,
} from '@sluice/core'
import type { AdapterOptions } from '@sluice/core/http'
import { fairShare } from '@sluice/core/fair-share'
import { lease } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { algorithmConformance } from '@sluice/core/testing'
import { adaptiveLimit } from '@sluice/core/upstream'
import { waitingLine } from '@sluice/core/waiting'
import { startLocal } from '@sluice/local'
import { afterAll, describe, expect, inject, it, vi } from 'vitest'
import { hangUpCases } from '../adapters/hang-ups.ts'
import { listen } from '../adapters/support.ts'
import { storesOf } from '../support/stores.ts'
import { patient } from '../support/docs-block.ts'
import { typeCheck } from '../support/type-check.ts'

const page = readFileSync(new URL('../../docs/extending.md', import.meta.url), 'utf8')
const blocks = new Map(
  Array.from(
    page.matchAll(/```ts\n\/\/ ([\w.-]+\.ts)\n([\s\S]*?)```/g),
    ([, name = '', code = '']) => [name, code],
  ),
)
// The page leads to them: they are long.
const LONG = ['gcra.ts', 'file-store.ts', 'node-http.ts']
for (const name of LONG) {
  blocks.set(name, readFileSync(new URL(`extending/${name}`, import.meta.url), 'utf8'))
}
// Inside the workspace, so that the packages are found as a user's would be.
const folder = mkdtempSync(fileURLToPath(new URL('extending-', import.meta.url)))
for (const [name, code] of blocks) writeFileSync(join(folder, name), patient(code))
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

type Handler = (req: IncomingMessage, res: ServerResponse) => unknown

interface Examples {
  gcra: (options: PolicyOptions & { window: string; burst?: number }) => Policy
  fileStore: (file: string) => Store
  rateLimit: (
    limiter: Limiter,
    options: AdapterOptions<[IncomingMessage]>,
    handle: Handler,
  ) => Handler
  overload: () => Extension
  setOverloaded: (limiter: Limiter, isOverloaded: boolean) => Promise<void>
}

const modules = ['gcra', 'file-store', 'node-http', 'overload']
const { gcra, fileStore, rateLimit, overload, setOverloaded } = Object.assign(
  {},
  ...(await Promise.all(modules.map((name) => import(join(folder, `${name}.ts`))))),
) as Examples

let fileCount = 0
const makeFileStore = () => fileStore(join(folder, `counts-${(fileCount += 1)}`))

const rpm = (limit: number) => slidingWindow({ name: 'rpm', limit, window: '1m', per: ['tenant'] })
const ACME = { tenant: 'acme' }

const inMemory = (policies: Policy[], extensions: Extension[] = []) =>
  createLimiter({ store: memory(), policies, extensions })

describe('the code of the page', () => {
  it('type-checks under strict options', () => {
    expect(blocks.size).toBe(modules.length + 2)
    expect(page.split('```ts').length - 1).toBe(blocks.size - LONG.length)
    for (const name of LONG) expect(page).toContain(`](../test/docs/extending/${name})`)
    expect(typeCheck(folder, [...blocks.keys()], '')).toBe('')
  })

  it('passes the conformance suites under node:test', async () => {
    const local = await startLocal({ redisUrl: inject('redisUrl') })
    const env = {
      PATH: process.env['PATH'],
      UPSTASH_REDIS_REST_URL: local.url,
      UPSTASH_REDIS_REST_TOKEN: local.token,
    }
    const files = [...blocks.keys()].filter((name) => name.endsWith('.test.ts'))
    try {
      const child = await run(['--test', ...files], env)
      expect(child.output).toMatch(/^ℹ fail 0$/m)
      expect(Number(/^ℹ pass (\d+)$/m.exec(child.output)?.[1])).toBeGreaterThan(80)
      expect(child.status).toBe(0)
    } finally {
      await local.close()
    }
  })
})

describe('GCRA', () => {
  const redis = storesOf('redis, built-in transport')

  algorithmConformance({
    describe,
    it,
    makePolicy: (options) => gcra({ ...options, window: '1m' }),
    makeStores: { memory: () => memory(), file: makeFileStore, redis },
  })

  it.each([
    ['memory', () => memory()],
    ['redis', redis],
  ])('spaces units evenly, after a burst, in %s', async (_, make) => {
    const clock = manualClock(Date.UTC(2026, 0, 15))
    const policies = [gcra({ name: 'rpm', limit: 60, window: '1m', burst: 2, per: ['tenant'] })]
    const limiter = createLimiter({ store: make(), policies, clock })
    const waits: (number | null)[] = []
    for (let call = 0; call < 4; call += 1) waits.push((await limiter.check(ACME)).retryAfterMs)
    expect(waits).toEqual([0, 0, 1_000, 1_000])
    clock.advance(999)
    expect((await limiter.check(ACME)).retryAfterMs).toBe(1)
    expect((await limiter.check(ACME, { cost: 3 })).reason).toBe('cost_exceeds_limit')
  })

  const rps = gcra({ name: 'rps', limit: 60, window: '1s', per: 'global' })

  it('stands in a line', () => {
    expect(() => inMemory([waitingLine(rps)])).not.toThrow()
  })

  it.each([
    ['a lease', 'the trait lengthen', () => lease(rps)],
    ['shares', 'the trait slides', () => fairShare(rps, { between: ['tenant'] })],
    [
      'an adaptive limit',
      'the trait slides or held',
      () => inMemory([rps], [adaptiveLimit({ policy: 'rps', min: 4 })]),
    ],
  ])('is refused by %s, which names %s', (_, trait, refused) => {
    expect(refused).toThrow(trait)
  })

  it('refuses unknown options', () => {
    const options = { name: 'rpm', limit: 60, per: ['tenant'] } as const
    expect(() => gcra({ ...options, window: '1 minute' })).toThrow(/gcra.window/)
    expect(() => gcra({ ...options, window: '1m', steps: 2 } as never)).toThrow(/gcra.steps/)
  })
})

describe('an algorithm of this project', () => {
  it('is named only in its file, the index and a few exceptions', () => {
    const source = fileURLToPath(new URL('../../packages/core/src/', import.meta.url))
    const files = globSync('**/*.ts', { cwd: source }).filter((path) =>
      /\b(tokenBucket|token-bucket)\b/.test(readFileSync(join(source, path), 'utf8')),
    )
    const others = files.filter((path) => !/^(manifest|testing)\//.test(path))
    expect(others.toSorted()).toEqual([
      'index.ts',
      'journal/kinds.ts',
      'policies/token-bucket.ts',
      'reservations/settlements.ts',
    ])
  })
})

describe('the stores', () => {
  it('counts what three processes decide at the same time in one file', async () => {
    const file = join(folder, 'shared')
    writeFileSync(
      join(folder, 'process.ts'),
      `import { createLimiter, slidingWindow } from '@sluice/core'
import { fileStore } from './file-store.ts'
const policies = [slidingWindow({ name: 'rpm', limit: 30, window: '10m', per: ['tenant'] })]
const store = fileStore(${JSON.stringify(file)})
const limiter = createLimiter({ store, policies, onStoreError: 'deny' })
let allowed = 0
for (let call = 0; call < 40; call += 1) {
  if ((await limiter.check({ tenant: 'acme' })).allowed) allowed += 1
}
console.log('allowed ' + allowed)`,
    )
    const processes = Array.from({ length: 3 }, () =>
      run(['process.ts'], { PATH: process.env['PATH'] }),
    )
    const outputs = (await Promise.all(processes)).map(({ output }) => output)
    const allowed = outputs.map((output) => Number(/^allowed (\d+)$/m.exec(output)?.[1]))
    let total = 0
    for (const count of allowed) total += count
    expect(total, `Processes wrote: ${outputs.join()}`).toBe(30)
  })

  it('counts from the time of the step, not from before it waited for the lock', async () => {
    const file = join(folder, 'waiting')
    writeFileSync(`${file}.lock`, '')
    const policies = [slidingWindow({ name: 'rps', limit: 2, window: '60s', per: ['tenant'] })]
    const limiter = createLimiter({ store: fileStore(file), policies, onStoreError: 'deny' })
    const startedAt = Date.now()
    const waiting = limiter.check(ACME)
    await new Promise((resolve) => setTimeout(resolve, 100))
    rmSync(`${file}.lock`)
    expect((await waiting).at).toBeGreaterThanOrEqual(startedAt + 100)
  })

  it('a file that cannot be read is an error, and stays as it is', async () => {
    const foreign = join(folder, 'foreign')
    writeFileSync(foreign, 'not counts')
    for (const file of [foreign, join(folder, 'missing', 'counts')]) {
      const options = { store: fileStore(file), policies: [rpm(1)], onStoreError: 'deny' } as const
      const { allowed, degraded } = await createLimiter(options).check(ACME)
      expect([allowed, degraded?.cause]).toEqual([false, 'store_failed'])
    }
    expect(readFileSync(foreign, 'utf8')).toBe('not counts')
  })
})

describe('the adapter', () => {
  it('answers 200, 401 and 429 over HTTP, and lets other paths pass', async () => {
    const limiter = createLimiter({ store: memory(), policies: [rpm(2)] })
    const listener = rateLimit(
      limiter,
      {
        routes: ['/api/**'],
        subject: ({ headers }) => {
          const tenant = headers.get('x-tenant')
          return tenant === null ? undefined : { tenant }
        },
      },
      (_, res) => res.end('done'),
    )
    const server = createServer((req, res) => void listener(req, res))
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const get = (path: string, headers: Record<string, string> = { 'x-tenant': 'acme' }) =>
      new Promise<IncomingMessage>((resolve, reject) => {
        send({ port, host: '127.0.0.1', path, headers, agent: false }, resolve)
          .on('error', reject)
          .end()
      })
    try {
      expect((await get('/health', {})).statusCode).toBe(200)
      expect((await get('/api/chat', {})).statusCode).toBe(401)
      const first = await get('/api/chat')
      expect([first.statusCode, first.headers['x-ratelimit-remaining']]).toEqual([200, '1'])
      // As a proxy is asked, which must not go around the limit.
      expect((await get('http://elsewhere.example/api/chat')).statusCode).toBe(200)
      const denied = await get('/api/chat')
      expect([denied.statusCode, denied.headers['retry-after']]).toEqual([429, '60'])
      expect((await get('*')).statusCode).toBe(400)
    } finally {
      server.close()
    }
  })
})

describe('the adapter, on the server of node:http', () => {
  it.each<[string, Partial<AdapterOptions<[IncomingMessage]>>, number]>([
    ['the subject', { subject: () => Promise.reject(new Error('no subject')) }, 0],
    ['a cost of the client', { cost: ({ headers }) => Number(headers.get('x-n')) }, 0],
    ['onDenied', { onDenied: () => Promise.reject(new Error('no answer')) }, 0],
    ['the handler', {}, 1],
  ])('answers 500 if %s fails, and the next request', async (_, options, limit) => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    const all = { routes: ['/api/**'], subject: () => ACME, ...options }
    const listener = rateLimit(inMemory([rpm(limit)]), all, ({ url }, res) => {
      if (url === '/api/chat') throw new Error('no answer')
      res.end()
    })
    const server = await listen(createServer(listener))
    try {
      const headers = { 'x-n': '-1' }
      expect((await fetch(`${server.url}/api/chat`, { headers })).status).toBe(500)
      expect((await fetch(`${server.url}/free`)).status).toBe(200)
      expect(log).toHaveBeenCalledOnce()
    } finally {
      log.mockRestore()
      await server.close()
    }
  })

  hangUpCases(({ limiter, options, chat }) => {
    const listener = rateLimit(limiter, { routes: ['/api/**'], ...options }, (_, res) => {
      res.end(chat())
    })
    return listen(createServer((req, res) => void listener(req, res)))
  })
})

describe('the extensions', () => {
  it.each([
    ['memory', () => memory()],
    ['redis', storesOf('redis, built-in transport')],
  ])('halve the limits while the switch is on, in every process, in %s', async (_, make) => {
    const store = make()
    const limiterOf = () =>
      createLimiter({ store, policies: [rpm(4)], extensions: [overload()], onStoreError: 'deny' })
    const [one, other] = [limiterOf(), limiterOf()]
    const limitOf = async (limiter: Limiter) => (await limiter.peek(ACME)).policies[0]?.limit
    expect(await limitOf(other)).toBe(4)
    await setOverloaded(one, true)
    await limitOf(other)
    expect(await limitOf(other)).toBe(2)
    const allowed = []
    for (let call = 0; call < 4; call += 1) allowed.push((await other.check(ACME)).allowed)
    expect(allowed).toEqual([true, true, false, false])
    await setOverloaded(one, false)
    // Denied by an old setting, so decided again.
    expect((await other.check(ACME)).allowed).toBe(true)
  })

  it('may name an operation as the page says: no name of Sluice has another beginning', () => {
    const root = fileURLToPath(new URL('../../packages/', import.meta.url))
    const names = globSync('*/src/**/*.ts', { cwd: root }).flatMap((path) =>
      Array.from(
        readFileSync(join(root, path), 'utf8').matchAll(
          /OperationKind<[^=]*= \{\s+name: ['`]([^'`]+)/g,
        ),
        ([, name = '']) => name,
      ),
    )
    const kept = Array.from(
      /those that begin with ([^]*?), are/.exec(page)?.[1]?.matchAll(/`(\w+\.)`/g) ?? [],
      ([, one = '']) => one,
    )
    expect(names.length).toBeGreaterThan(12)
    const others = names.filter(
      (name) => name.includes('.') && !kept.some((one) => name.startsWith(one)),
    )
    expect(others).toEqual([])
    expect(
      kept.filter((one) => one !== 'queue.' && !names.some((name) => name.startsWith(one))),
    ).toEqual([])
  })

  it('of a limiter that lacks one throw an error that names it', async () => {
    const limiter = createLimiter({ store: memory(), policies: [rpm(1)] })
    await expect(setOverloaded(limiter, true)).rejects.toThrow(/overload/)
  })
})

/** Runs this Node.js in the folder. */
async function run(args: readonly string[], env: Record<string, string | undefined>) {
  const child = spawn(process.execPath, args, { cwd: folder, env })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  }
  const status = await new Promise<number | null>((resolve) => void child.on('close', resolve))
  return { status, output }
}
