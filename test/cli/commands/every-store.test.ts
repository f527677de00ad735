/* An operator's day over each store that a terminal reaches. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { startWorker, type TestWorker } from '../../cloudflare/support.ts'
import { productionUser } from '../../support/production-user.ts'
import { sharedRedisOverHttp } from '../../support/running-redis.ts'
import { freshPrefix } from '../../support/stores.ts'
import { envOf, project, removeProjects, type Project } from '../project.ts'

const rest = sharedRedisOverHttp()
const TOKEN = randomUUID()
let worker: TestWorker

beforeAll(async () => {
  worker = await startWorker('operated', { TOKEN }, { objects: { LIMITS: 'Limits' } })
})
afterAll(async () => {
  removeProjects()
  await worker[Symbol.asyncDispose]()
})

interface Reached {
  readonly name: string
  readonly imports: string
  /** `shardBy` of a store in several places. */
  readonly store: (prefix: string, shardBy: string) => string
  readonly variables: (prefix: string) => string | Promise<string>
  /** Variables that do not lead to the store, and what is said of them. */
  readonly broken: () => string
  readonly says: RegExp
}

/** The JSON of `show`, as far as it is read here. */
interface Shown {
  readonly policies: readonly { readonly name: string; readonly limit: number }[]
  readonly adapted: readonly { readonly limit: number }[]
}

const STORES: readonly Reached[] = [
  {
    name: 'Redis over REST',
    imports: "import { upstash } from '@sluice/core/upstash'",
    store: (prefix) => `upstash({ prefix: '${prefix}', timeoutMs: 30_000 })`,
    variables: () => envOf(rest.local),
    broken: () => envOf({ ...rest.local, token: 'another' }),
    says: /store_unauthorized/,
  },
  {
    name: 'Redis over TCP, as the user of the page on production',
    imports:
      "import { Redis } from 'ioredis'\nimport { redis } from '@sluice/core/redis'\nconst client = new Redis(process.env.REDIS_URL, { maxRetriesPerRequest: 0, enableReadyCheck: false })",
    store: (prefix) => `redis({ client, prefix: '${prefix}', timeoutMs: 30_000 })`,
    variables: async (prefix) => `REDIS_URL=${await productionUser(inject('redisUrl'), prefix)}\n`,
    broken: () => 'REDIS_URL=redis://127.0.0.1:1\n',
    says: /store_unreachable/,
  },
  {
    name: 'Durable Objects',
    imports:
      "import { env } from 'cloudflare:workers'\nimport { durableObjects } from '@sluice/cloudflare/durable-object'\nexport { LimitsObject } from '@sluice/cloudflare/durable-object'",
    store: (prefix, shardBy) =>
      `durableObjects(env.LIMITS, { prefix: '${prefix}', shardBy: '${shardBy}', timeoutMs: 30_000 })`,
    variables: () => `SLUICE_OBJECTS_URL=${worker.url}\nSLUICE_OBJECTS_TOKEN=${TOKEN}\n`,
    broken: () => `SLUICE_OBJECTS_URL=${worker.url}\nSLUICE_OBJECTS_TOKEN=${randomUUID()}\n`,
    says: /store_unauthorized/,
  },
]

/** @param shardBy If `'global'`, a limit of everyone follows an upstream. */
async function projectOver(
  { imports, store, variables }: Reached,
  shardBy: 'tenant' | 'global' = 'tenant',
): Promise<Project> {
  const prefix = freshPrefix()
  return project({
    '.env.local': await variables(prefix),
    'limits.ts': `
import { createLimiter, dailyCap, slidingWindow } from '@sluice/core'
import { runtimeConfiguration } from '@sluice/core/configuration'
import { adaptiveLimit } from '@sluice/core/upstream'
import { recordUsage } from '@sluice/usage'
${imports}

export const model = adaptiveLimit({ policy: 'calls', min: 10 })

export const limiter = createLimiter({
  store: ${store(prefix, shardBy)},
  policies: [
    slidingWindow({ name: 'rpm', limit: 20, window: '1m', per: ['tenant'] }),
    dailyCap({ name: 'daily', limit: 500, per: ['tenant'] }),
    ${shardBy === 'global' ? "slidingWindow({ name: 'calls', unit: 'call', limit: 200, window: '1s', per: 'global' })," : ''}
  ],
  extensions: [${shardBy === 'global' ? 'model, ' : ''}runtimeConfiguration({ allow: { rpm: ['limit'] } }), recordUsage({ tenants: 'plain' })],
})
`,
    'charge.ts': `
import { flushUsage } from '@sluice/usage'
import { limiter as made } from './limits'

await made.check({ tenant: 'acme' }, { cost: { request: 3 } })
await flushUsage(made)
export const limiter = made
`,
    'well.ts': useOf(200),
    'ill.ts': useOf(500),
  })
}

/** A file that calls an upstream for some seconds, which answers with a status. */
const useOf = (status: number): string => `
import { limiter, model } from './limits'

export { limiter }
for (const end = Date.now() + 60_000; Date.now() < end; ) {
  const before = model.limit
  await limiter.check({ tenant: 'other' }, { cost: { request: 0, call: before } })
  const call = async () => {
    await new Promise((done) => setTimeout(done, 60))
    return new Response(null, { status: ${status} })
  }
  await Promise.all(Array.from({ length: 20 }, () => model.observe(call)))
  await new Promise((done) => setTimeout(done, 300))
  if (${status === 200 ? 'model.limit > 12' : 'model.limit < before'}) break
}
`

describe.each(STORES)('over $name', (reached) => {
  it('each command of a day does what it says', async () => {
    const app = await projectOver(reached)
    const say = async (command: string): Promise<string> => {
      const { out, err, exitCode } = await app.sluice(command.split(' '))
      expect({ command, err, exitCode }).toEqual({ command, err: '', exitCode: 0 })
      return out.replaceAll(/ {2,}/g, ' | ')
    }
    expect(await say('doctor')).toContain('Nothing is wrong with')
    // The only charge of the day.
    await say('show --limits charge.ts')
    expect(await say('show --tenant acme')).toContain('rpm | 3 | 20 | 17 | request')
    expect(await say('why --tenant acme --cost request=18')).toContain('Denied by rpm: 3 of 20')
    expect(await say('usage')).toContain('acme | 1 | 0')
    await say('set rpm limit=30 --tenant acme --yes')
    await say('raise rpm 40 --tenant acme --until 1h --yes')
    expect(await say('show --tenant acme')).toContain('rpm | 3 | 40 | 37 | request')
    await say('undo --yes')
    expect(await say('show --tenant acme')).toContain('rpm | 3 | 30 | 27 | request')
    expect((await say('log')).split('\n').filter((line) => !line.startsWith(' '))).toHaveLength(3)
    const id = (await say('keys create --tenant acme --yes')).split('\n')[1]?.split(' ')[0] ?? ''
    await say(`keys rotate ${id} --yes`)
    expect((await say('keys --tenant acme')).split('\n')).toHaveLength(3)
    await say(`keys revoke ${id} --yes`)
    // Settings are no counts.
    await say('reset --tenant acme --yes')
    expect(await say('show --tenant acme')).toContain('rpm | 0 | 30 | 30 | request')
  })

  it('a limit that follows an upstream is shown as it is now, with a word on why', async () => {
    const app = await projectOver(reached, 'global')
    const say = async (...command: string[]): Promise<string> =>
      (await app.sluice(['show', ...command])).out
    expect(await say('--tenant', 'acme')).toContain(
      'calls: 10 now, 200 in the code: it starts at its min',
    )
    await say('--limits', 'well.ts')
    const [, grown = ''] =
      /calls: (\d+) now, 200 in the code: it grows/.exec(await say('--tenant', 'acme')) ?? []
    expect(Number(grown)).toBeGreaterThan(10)
    await say('--limits', 'ill.ts')
    const { out } = await app.sluice(['show', '--tenant', 'acme', '--json'])
    const { adapted, policies } = JSON.parse(out) as Shown
    expect(adapted).toEqual([
      {
        policy: 'calls',
        limit: expect.any(Number),
        most: 200,
        why: 'calls to the upstream are slow or fail',
      },
    ])
    expect(adapted[0]?.limit).toBeLessThan(Number(grown))
    expect(policies.find(({ name }) => name === 'calls')?.limit).toBe(adapted[0]?.limit)
  })

  it('its faults are named', async () => {
    const app = await projectOver(reached)
    app.write('.env.local', reached.broken())
    // In a process of its own, which ends a client that goes on to connect.
    const { err, exitCode } = await app.terminal(['show', '--tenant', 'acme'])
    expect({ err, exitCode }).toEqual({ err: expect.stringMatching(reached.says), exitCode: 1 })
    const doctor = await app.terminal(['doctor'])
    expect(doctor).toMatchObject({ out: expect.stringMatching(reached.says), exitCode: 1 })
  })
})

const OBJECTS = STORES[2] as Reached

describe('the variables of Durable Objects', () => {
  it.each([
    ['', /SLUICE_OBJECTS_URL and SLUICE_OBJECTS_TOKEN/],
    [
      'SLUICE_OBJECTS_URL=http://example.com/sluice\nSLUICE_OBJECTS_TOKEN=x',
      /SLUICE_OBJECTS_URL must be the https address/,
    ],
    [
      'SLUICE_OBJECTS_URL=https://example.com/sluice',
      /SLUICE_OBJECTS_TOKEN must be the token .* 32 characters/,
    ],
    [
      'SLUICE_OBJECTS_URL=https://a.example\nSLUICE_OBJECTS_BINDING=OTHER\nSLUICE_OBJECTS_TOKEN=0123456789abcdef0123456789abcdef',
      /SLUICE_OBJECTS_BINDING if it is not LIMITS/,
    ],
  ])('%j are refused with their remedy', async (variables, says) => {
    const app = await projectOver(OBJECTS)
    app.write('.env.local', variables)
    const { out, err, exitCode } = await app.sluice(['show', '--tenant', 'acme'])
    expect({ out, exitCode }).toEqual({ out: '', exitCode: 1 })
    expect(err).toMatch(says)
    expect(err).not.toContain('0123456789abcdef')
  })
})
