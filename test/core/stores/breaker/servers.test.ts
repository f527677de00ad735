import type { Store } from '@sluice/core'
import { breaker } from '@sluice/core/breaker'
import { upstash } from '@sluice/core/upstash'
import { upstashRedis } from '@sluice/core/upstash-redis'
import { Redis as UpstashClient } from '@upstash/redis'
import { expect, it, vi } from 'vitest'
import { collectProblems, setUp } from '../../../support/limiters.ts'
import { answer, hang, reset, standIn, type Behaviour } from '../../../support/stand-in.ts'
import { hourly, stopDates } from './support.ts'

stopDates()

const json = (status: number, value: unknown): Behaviour =>
  answer(status, JSON.stringify(value), { 'content-type': 'application/json' })

const builtIn = (url: string): Store => upstash({ url, token: 'token', timeoutMs: 30_000 })
const hasty = (url: string): Store => upstash({ url, token: 'token', timeoutMs: 20 })
const client = (url: string): Store =>
  upstashRedis(new UpstashClient({ url, token: 'token' }), { timeoutMs: 30_000 })

/** The calls that a store makes for five checks, if two failures open the breaker. */
async function callsOf(behave: Behaviour, makeStore: (url: string) => Store): Promise<number> {
  const server = await standIn(behave)
  const store = makeStore(server.url)
  const check = vi.fn<Store['check']>((request) => store.check(request))
  const guarded = breaker({ ...store, check }, { failures: 2 })
  const { limiter } = setUp([hourly], { store: guarded, extensions: [collectProblems().listener] })
  for (let tenant = 0; tenant < 5; tenant += 1) {
    const { degraded } = await limiter.check({ tenant: `t${tenant}` })
    expect(degraded?.mode).toBe('local')
  }
  await server.close()
  return check.mock.calls.length
}

it.each<[string, Behaviour, (url: string) => Store]>([
  ['that never answers', hang, hasty],
  ['that breaks connections', reset, builtIn],
  ['that refuses the credentials', json(401, { error: 'WRONGPASS' }), builtIn],
  ['that is something else', answer(200, '<html>'), builtIn],
  ['behind a proxy that answers 502', answer(502, '<html>'), builtIn],
  ['of which the service answers 429', json(429, { error: 'Too many requests' }), builtIn],
  ['that breaks the connections of your own client', reset, client],
])('stops calling a server %s', async (_, behave, makeStore) => {
  expect(await callsOf(behave, makeStore)).toBe(2)
})

it.each<[string, Behaviour, (url: string) => Store]>([
  ['a key', json(400, { error: 'ERR the key holds something else' }), builtIn],
  ['a key of your own client', json(400, { error: 'ERR the key holds something else' }), client],
  ['with status 500 and JSON, for your own client', json(500, { error: 'ERR internal' }), client],
])('goes on calling a Redis that refuses %s', async (_, behave, makeStore) => {
  expect(await callsOf(behave, makeStore)).toBe(5)
})
