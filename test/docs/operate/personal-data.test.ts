import {
  createLimiter,
  dailyCap,
  definePlans,
  slidingWindow,
  type Limiter,
  type Subject,
} from '@sluice/core'
import { configure, runtimeConfiguration } from '@sluice/core/configuration'
import { createApiKey, revokeApiKey } from '@sluice/core/api-keys'
import { credits, grant } from '@sluice/core/credits'
import { memory } from '@sluice/core/memory'
import { planResolver } from '@sluice/core/plans'
import { redis } from '@sluice/core/redis'
import { startRedisServer } from '@sluice/local'
import { flushUsage, recordUsage } from '@sluice/usage'
import { flushDenials, recordDenials } from '@sluice/usage/denials'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { runIn } from '../../cli/project.ts'
import { importBlock, readBlock } from '../../support/docs-block.ts'
import { connect } from '../../support/redis.ts'
import { commandsOn } from '../shown-commands.ts'
import { readPage } from './run-page.ts'

const PAGE = 'operate/personal-data.md'
const folder = mkdtempSync(fileURLToPath(new URL('personal-data-', import.meta.url)))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
afterEach(() => {
  vi.unstubAllGlobals()
  vi.unstubAllEnvs()
})

interface Forgetting {
  readonly forget: (tenant: string) => Promise<void>
}

const requestFrom = (address: string): Request =>
  new Request('https://app.example', { headers: { 'x-vercel-forwarded-for': address } })

/** Imports the code of the page anew, with a secret. */
async function addressesBy(
  secret: string | undefined,
): Promise<(request: Request) => Subject | null> {
  vi.stubEnv('ADDRESS_SECRET', secret)
  const file = join(folder, `address-${secret}.ts`)
  writeFileSync(file, readBlock(PAGE, 'address.ts'))
  const { subject } = (await import(file)) as { subject: (request: Request) => Subject | null }
  return subject
}

describe('the hash of an address', () => {
  it('is the same for one client, and names neither the client nor its network', async () => {
    const subject = await addressesBy('a-secret')
    const first = subject(requestFrom('203.0.113.7'))
    expect(first).toEqual({ address: expect.stringMatching(/^[\w-]{43}$/) })
    expect(subject(requestFrom('203.0.113.7'))).toEqual(first)
    expect(subject(requestFrom('203.0.113.8'))).not.toEqual(first)
    expect(subject(requestFrom('2001:db8::1'))).toEqual(subject(requestFrom('2001:db8::2')))
    expect((await addressesBy('another'))(requestFrom('203.0.113.7'))).not.toEqual(first)
    await expect(addressesBy(undefined)).rejects.toThrow('ADDRESS_SECRET is missing')
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    expect(subject(new Request('https://app.example'))).toBeNull()
    warn.mockRestore()
  })
})

describe('a tenant that is deleted', () => {
  let database: Redis
  let url = ''
  let limiter: Limiter
  let ledger: Limiter
  let stop: (() => Promise<void>) | undefined

  beforeAll(async () => {
    const server = await startRedisServer()
    url = server.url
    database = connect(url)
    const client = database.duplicate({ maxRetriesPerRequest: 0 })
    limiter = limiterOver(client)
    ledger = createLimiter({
      store: redis({ client, timeoutMs: 30_000 }),
      onStoreError: 'deny',
      policies: [credits({ name: 'credits', per: ['tenant'], unsettled: 'keep' })],
    })
    stop = async () => {
      client.disconnect()
      database.disconnect()
      await server.stop()
    }
    const subject = { tenant: 'acme', route: 'chat', user: 'u_17' }
    await limiter.check(subject)
    await configure(limiter, { rpm: { limit: 7 } }, { tenant: 'acme' })
    for (let sent = 0; sent < 9; sent += 1) await limiter.check(subject)
    await flushUsage(limiter)
    await flushDenials(limiter)
  })
  afterAll(() => stop?.())

  it('is in counts, usage, denials, settings and plans', async () => {
    const kinds = (await keysWith('acme', database)).map((key) => key.split(':')[1])
    expect(new Set(kinds)).toEqual(
      new Set(['rpm', 'daily', 'usage', 'denials', 'config', 'tenant']),
    )
  })

  it('is only in the history of settings, in denials and in plans, after the code of the page', async () => {
    vi.stubGlobal('limiter', limiter)
    const { forget } = await importBlock<Forgetting>(folder, PAGE, 'forget.ts')
    await forget('acme')
    const lasting = await keysWith('acme', database, true)
    expect(lasting).toEqual(['sluice:config:default'])
    const expiring = (await keysWith('acme', database)).map((key) => key.split(':')[1])
    expect(new Set(expiring)).toEqual(new Set(['config', 'denials', 'tenant']))
  })

  it('is only in denials and plans, which expire, after the commands of the page', async () => {
    const [remove] = commandsOn(readPage('personal-data'))
    expect(await run(remove?.command)).toBe('1')
    expect(await keysWith('acme', database, true)).toEqual([])
    const left = (await keysWith('acme', database)).map((key) => key.split(':')[1])
    expect(new Set(left)).toEqual(new Set(['denials', 'tenant']))
  })

  it.each(['acme', 'ACMÉ GmbH 🎈', 'a~{b}:c=d%\n*', 'é'.repeat(65), 'Ü '.repeat(40)])(
    'is found by the code of the page, and no other is: %j',
    async (tenant) => {
      const { keysOf } = await importBlock<{
        keysOf: (client: Redis, tenant: string) => Promise<string[]>
      }>(folder, PAGE, 'left.ts')
      const other = [`${tenant}2`, `2${tenant}`]
      for (const each of other) await limiter.check({ tenant: each, route: 'chat' })
      await limiter.check({ tenant, route: 'chat' })
      const { id } = await createApiKey(limiter, { tenant })
      const paid = {
        amount: 100_000,
        id: 'pay_1',
        kind: 'paid',
        at: Date.now(),
        reason: 'Top-up',
      } as const
      await grant(ledger, { tenant }, paid)
      const kindsOf = async () =>
        (await keysOf(database, tenant)).map((key) => key.split(/[:/]/)[1] ?? '').toSorted()
      expect(await kindsOf()).toEqual(['api-keys', 'credits', 'daily', 'grants', 'rpm'])

      vi.stubGlobal('limiter', limiter)
      const { forget } = await importBlock<Forgetting>(folder, PAGE, 'forget.ts')
      await forget(tenant)
      await revokeApiKey(limiter, id)
      // Without keys, their list is kept for a minute.
      expect(await kindsOf()).toEqual(['api-keys', 'credits', 'grants'])
      for (const each of other) expect(await keysOf(database, each)).toHaveLength(2)
    },
  )

  it('needs no settings and no usage, and leaves counts by more dimensions', async () => {
    const window = { limit: 9, window: '1m' } as const
    const plain = createLimiter({
      store: memory(),
      policies: [
        slidingWindow({ name: 'rpm', ...window, per: ['tenant'] }),
        dailyCap({ name: 'daily', limit: 9, per: ['tenant', 'route'] }),
        slidingWindow({ name: 'user', ...window, per: ['tenant', 'user'] }),
      ],
    })
    vi.stubGlobal('limiter', plain)
    const code = readBlock(PAGE, 'forget.ts')
    const without = code.replaceAll(/^.* \/\/ only with .*\n/gm, '')
    expect(without.split('\n')).toHaveLength(code.split('\n').length - 2)
    writeFileSync(join(folder, 'plain.ts'), without)
    const { forget } = (await import(join(folder, 'plain.ts'))) as Forgetting
    const subject = { tenant: 'acme', route: 'chat', user: 'u_17' }
    await plain.check(subject)
    await forget('acme')
    const left = async () =>
      (await plain.peek(subject)).policies.map(({ name, remaining }) => [name, remaining])
    expect(await left()).toEqual([
      ['rpm', 9],
      ['daily', 9],
      ['user', 8],
    ])
    await expect(plain.reset({ tenant: 'acme' }, { routes: ['chat'] })).rejects.toMatchObject({
      code: 'missing_dimension',
    })
    await plain.reset(subject, { policies: ['user'] })
    expect((await left()).at(-1)).toEqual(['user', 9])
  })

  const run = async (command = ''): Promise<string> =>
    (await runIn(folder, 'sh', ['-c', command], { REDIS_URL: url })).out
})

/** A limiter that records all that can name a tenant. */
function limiterOver(client: Redis): Limiter {
  return createLimiter({
    store: redis({ client, timeoutMs: 30_000 }),
    plans: definePlans({ starter: { rpm: 20 } }),
    policies: [
      slidingWindow({ name: 'rpm', limit: ({ plan }) => plan.rpm, window: '1m', per: ['tenant'] }),
      dailyCap({ name: 'daily', limit: 500, per: ['tenant', 'route'] }),
    ],
    extensions: [
      planResolver(() => Promise.resolve('starter')),
      runtimeConfiguration({ allow: { rpm: ['limit'] } }),
      recordUsage({ tenants: 'plain' }),
      recordDenials({ tenants: 'plain' }),
    ],
  })
}

/** Returns the keys that have a text in their name or value, all of them or those that never expire. */
async function keysWith(text: string, database: Redis, lasting = false): Promise<string[]> {
  const keys = await database.keys('*')
  const found = await Promise.all(
    keys.map(async (key) => {
      const [type, ttl] = [await database.type(key), await database.pttl(key)]
      const value = type === 'hash' ? await database.hgetall(key) : {}
      const names = `${key}${JSON.stringify(value)}`.includes(text)
      return names && (!lasting || ttl < 0) ? [key] : []
    }),
  )
  return found.flat().toSorted()
}
