import { createLimiter, dailyCap, slidingWindow, tokenBucket, type Limiter } from '@sluice/core'
import { configure, runtimeConfiguration } from '@sluice/core/configuration'
import { reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { ownRedisOverHttp } from '../../support/running-redis.ts'
import { freshPrefix } from '../../support/stores.ts'
import { recordingStore } from './recording.ts'

const ACME = { tenant: 'acme', route: 'chat' }
const per = ['tenant'] as const

// Which scripts a Redis has is counted, so it is shared with nobody.
const own = ownRedisOverHttp()

function limiterOf(daily: number, rpm: number) {
  const { store, sent } = recordingStore(own.local, freshPrefix())
  const limiter = createLimiter({
    store,
    policies: [
      dailyCap({ name: 'daily', limit: daily, per }),
      slidingWindow({ name: 'rpm', limit: rpm, window: '1m', per, routes: ['chat'] }),
      tokenBucket({
        name: 'bucket',
        limit: rpm,
        window: '1h',
        burst: daily,
        per: ['user'],
        onMissing: 'skip',
      }),
    ],
    extensions: [runtimeConfiguration({ allow: { rpm: ['limit'] } })],
  })
  return { limiter, sent }
}

/** Does all that a limiter can do. */
async function doAll(limiter: Limiter): Promise<void> {
  expect((await limiter.peek(ACME)).degraded).toBeUndefined()
  for (const subject of [ACME, { ...ACME, user: 'u' }, { ...ACME, route: 'other' }]) {
    await limiter.check(subject)
    const call = await reserve(limiter, subject, { cost: { request: 2 } })
    expect(call.allowed && (await call.settle({ request: 1 }))).toMatchObject({ applied: true })
  }
  await configure(limiter, { rpm: { limit: 9 } })
  await limiter.check(ACME)
}

describe('a limiter', () => {
  it('uses at most four scripts, whichever of its policies take part', async () => {
    const { limiter, sent } = limiterOf(50, 40)
    await doAll(limiter)
    const digests = sent.filter(({ name }) => name === 'EVALSHA').map(({ script }) => script)
    expect(new Set(digests).size).toBe(4)
    const loads = sent.filter(({ name }) => name === 'EVAL')
    expect(new Set(loads.map(({ script }) => script)).size).toBe(4)
    expect(loads).toHaveLength(4)
  })

  it('adds no script if another has the same shape, so one may be made for each request', async () => {
    await doAll(limiterOf(60, 30).limiter)
    for (const [daily, rpm] of [
      [70, 20],
      [80, 25],
    ] as const) {
      const { limiter, sent } = limiterOf(daily, rpm)
      await doAll(limiter)
      expect(sent.filter(({ name }) => name === 'EVAL')).toEqual([])
    }
  })
})

describe('a policy that takes no part', () => {
  it('adds no key to those that a script is given', async () => {
    const { limiter, sent } = limiterOf(50, 40)
    const keysOf = async (subject: typeof ACME & { user?: string }): Promise<string[]> => {
      await limiter.check(subject)
      const names = sent.at(-1)?.keys.map((key) => key.split(':')[1] ?? '')
      // The record that the configuration reads along is no policy's.
      return names?.filter((name) => name !== 'config') ?? []
    }
    expect(await keysOf({ ...ACME, user: 'u' })).toEqual(['daily', 'rpm', 'bucket'])
    expect(await keysOf(ACME)).toEqual(['daily', 'rpm'])
    expect(await keysOf({ ...ACME, route: 'other', user: 'u' })).toEqual(['daily', 'bucket'])
    expect(await keysOf({ ...ACME, route: 'other' })).toEqual(['daily'])
  })
})
