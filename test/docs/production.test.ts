import { readFileSync } from 'node:fs'
import type { Store } from '@sluice/core'
import { redis } from '@sluice/core/redis'
import { upstash } from '@sluice/core/upstash'
import { startLocal, startRedisServer } from '@sluice/local'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { describe, expect, it } from 'vitest'
import { tableOf } from '../support/markdown.ts'
import { PRODUCTION_RULES, productionUser } from '../support/production-user.ts'
import { commandCalls, connect } from '../support/redis.ts'
import { useEveryFeature } from './every-feature.ts'

const read = (name: string): string =>
  readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8')
const page = read('production')

describe('the prices of the page on production', () => {
  it('are those of the commands that are published', () => {
    const commands = tableOf(read('performance'), 'outcome')
    const prices = tableOf(page, 'outcome')
    expect(prices.size).toBeGreaterThan(5)
    for (const [outcome, row] of prices) {
      // $0.20 per 100,000 commands.
      const dollars = Number(commands.get(outcome)?.['commands']) * 2
      expect([outcome, row['dollars per million']]).toEqual([outcome, dollars.toFixed(2)])
    }
  })
})

it('the latency of the page is that of the benchmark', () => {
  const { Sluice: time } =
    tableOf(read('benchmarks'), 'measurement').get('daily cap and window') ?? {}
  expect(time).toMatch(/^[\d.]+ ms$/)
  expect(page).toContain(`a decision over HTTP takes [${time}](benchmarks.md#`)
})

/** Each way to a Redis, for a user with a password in the address. */
const WAYS: Record<string, (url: string) => Promise<[Store, close: () => unknown]>> = {
  REST: async (redisUrl) => {
    const local = await startLocal({ redisUrl })
    return [upstash({ url: local.url, token: local.token, timeoutMs: 30_000 }), () => local.close()]
  },
  ioredis: (url) => {
    const client = new Redis(url, { maxRetriesPerRequest: 0 })
    return Promise.resolve([redis({ client, timeoutMs: 30_000 }), () => client.disconnect()])
  },
  'node-redis': async (url) => {
    const client = await createClient({ url }).connect()
    return [redis({ client, timeoutMs: 30_000 }), () => client.destroy()]
  },
}

describe('the user of the page on production', () => {
  it.each(Object.entries(WAYS))(
    'may run every feature over %s, and needs each of its commands',
    async (_, open) => {
      await using server = await startRedisServer()
      const admin = connect(server.url)
      const [store, close] = await open(await productionUser(server.url))
      await admin.call('CONFIG', 'RESETSTAT')
      await useEveryFeature(store)
      const calls = await commandCalls(admin)
      const log = (await admin.call('ACL', 'LOG')) as unknown[][]
      await close()
      admin.disconnect()
      const refused = log.map((entry) => entry[entry.indexOf('object') + 1])
      // Clients look for readiness by INFO and name themselves by CLIENT SETINFO, and do without.
      const asked = new Set(['info', 'client|setinfo'])
      expect(refused.filter((command) => !asked.has(String(command)))).toEqual([])
      const granted = Array.from(
        PRODUCTION_RULES.matchAll(/\+(\w+)/g),
        ([, command = '']) => command,
      )
      expect(granted.filter((command) => !calls.has(command))).toEqual([])
    },
  )
})
