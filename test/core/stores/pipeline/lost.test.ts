import { slidingWindow, type Limiter, type Store } from '@sluice/core'
import { batched } from '@sluice/core/batched'
import { breaker } from '@sluice/core/breaker'
import type { Fetch } from '@sluice/core/upstash'
import { startLocal, type LocalServer } from '@sluice/local'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { collectProblems, setUp } from '../../../support/limiters.ts'
import { freshPrefix } from '../../../support/stores.ts'
import { commandsOf, storeBy, textAnswer } from './support.ts'

let local: LocalServer

beforeAll(async () => {
  local = await startLocal({ redisUrl: inject('redisUrl') })
})
afterAll(() => local.close())

const rpm = slidingWindow({ name: 'rpm', limit: 20, window: '1h', per: ['tenant'] })

/** A limiter that asks Redis by way of `fetch`, and what its requests hold. */
function limiterBy(fetch: Fetch, { wrap = same, timeoutMs = 30_000 } = {}) {
  const sent: (readonly (readonly unknown[])[])[] = []
  const { url, token } = local
  const recording: Fetch = (target, init) => {
    sent.push(commandsOf(init.body))
    return fetch(target, init)
  }
  const store = wrap(storeBy(recording, { url, token, timeoutMs, prefix: freshPrefix() }))
  const { limiter } = setUp([rpm], { store, extensions: [collectProblems().listener] })
  return { limiter, sent }
}

const same = (store: Store): Store => store

const withBreaker = (store: Store): Store => breaker(store, { failures: 2, pauseMs: 60_000 })

const checks = async (limiter: Limiter, count: number) => {
  const decisions = await Promise.all(
    Array.from({ length: count }, (_, index) => limiter.check({ tenant: `t${index % 2}` })),
  )
  return decisions.map(({ degraded }) => degraded?.cause)
}

const isShared = ({ body }: { body: string }): boolean => commandsOf(body).length > 1

/** How a request of several calls is lost, and the cause that each decision then has. */
const LOSSES: readonly [string, Fetch, string][] = [
  ['breaks', () => Promise.reject(new Error('reset')), 'store_unreachable'],
  ['is answered with HTML', async () => textAnswer(200, '<html>'), 'store_bad_reply'],
  ['is answered by a proxy', async () => textAnswer(502, '<html>'), 'store_refused'],
  ['is never answered', () => new Promise(() => {}), 'store_timeout'],
]

describe.each(LOSSES)('a request of 128 calls that %s', (_, lose, cause) => {
  // Only a call that is lost on purpose may come to its deadline.
  const timeoutMs = cause === 'store_timeout' ? 50 : 30_000

  it('degrades each of them, is not sent again, and is one failure to a breaker', async () => {
    const patient = limiterBy(fetch)
    await patient.limiter.peek({ tenant: 'warm' })
    const { limiter, sent } = limiterBy(lose, { wrap: withBreaker, timeoutMs })
    expect(new Set(await checks(limiter, 128))).toEqual(new Set([cause]))
    expect(sent).toHaveLength(1)
    expect(new Set(await checks(limiter, 128))).toEqual(new Set([cause]))
    expect(sent).toHaveLength(2)
    expect(new Set(await checks(limiter, 3))).toEqual(new Set(['store_paused']))
    expect(sent).toHaveLength(2)
  })
})

it('decisions of one script call that is lost are one failure to a breaker, too', async () => {
  const { limiter, sent } = limiterBy(() => Promise.reject(new Error('reset')), {
    wrap: (store) => withBreaker(batched(store)),
  })
  for (let time = 1; time <= 2; time += 1) {
    expect(new Set(await checks(limiter, 32))).toEqual(new Set(['store_unreachable']))
    expect(sent).toHaveLength(time)
  }
  expect(await checks(limiter, 1)).toEqual(['store_paused'])
})

it('calls that each failed by themselves are a failure each to a breaker', async () => {
  const { limiter } = limiterBy(() => Promise.reject(new Error('reset')), { wrap: withBreaker })
  expect(await checks(limiter, 1)).toEqual(['store_unreachable'])
  expect(await checks(limiter, 1)).toEqual(['store_unreachable'])
  expect(await checks(limiter, 1)).toEqual(['store_paused'])
})

/** Replies of a pipeline, by what one of them is instead, and the cause of that decision. */
const PARTS: readonly [string, unknown, string][] = [
  ['an error of Redis', { error: 'WRONGTYPE the key holds something else' }, 'store_refused'],
  ['null', null, 'store_bad_reply'],
  ['an object without a result', {}, 'store_bad_reply'],
  ['a result of another shape', { result: 'OK' }, 'store_bad_reply'],
]

it.each(PARTS)('a reply that is %s among others is that of one call', async (_, part, cause) => {
  const { limiter } = limiterBy(async (url, init) => {
    const response = await fetch(url, init)
    if (!isShared(init)) return response
    const replies = (await response.json()) as unknown[]
    replies[2] = part
    return textAnswer(200, JSON.stringify(replies))
  })
  await limiter.peek({ tenant: 'warm' })
  expect(await checks(limiter, 4)).toEqual([undefined, undefined, cause, undefined])
})

it('64 calls that find no script are each decided once, by one command more', async () => {
  let isRestarted = false
  const { limiter, sent } = limiterBy(async (url, init) => {
    if (!isRestarted) return fetch(url, init)
    isRestarted = false
    const replies = commandsOf(init.body).map(() => ({ error: 'NOSCRIPT No matching script.' }))
    return textAnswer(200, JSON.stringify(replies))
  })
  await limiter.peek({ tenant: 'warm' })
  sent.length = 0
  isRestarted = true
  const decisions = await Promise.all(
    Array.from({ length: 64 }, (_, index) => limiter.check({ tenant: `t${index % 2}` })),
  )
  expect(decisions.filter(({ degraded }) => degraded)).toEqual([])
  expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(40)
  expect(sent[0]?.map(([name]) => name)).toEqual(Array.from({ length: 64 }, () => 'EVALSHA'))
  const others = sent.slice(1).flat()
  expect(others.map(([name]) => name)).toEqual(Array.from({ length: 64 }, () => 'EVAL'))
})
