import {
  fixedWindow,
  leakyBucket,
  localShare,
  slidingWindow,
  slidingWindowCounter,
  StoreError,
  tokenBucket,
  type Policy,
  type Store,
} from '@sluice/core'
import { reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { countAllowed } from '../../support/decisions.ts'
import { ACME, collectProblems, setUp } from '../../support/limiters.ts'
import { mistakesAreNamed } from '../../support/mistakes.ts'

const fail = () =>
  Promise.reject(new StoreError('store_unreachable', 'The store cannot be reached'))
const down: Store = { check: fail, run: fail, reset: fail }

const common = { window: '1h', per: ['tenant'] } as const

/** A limiter of one isolate while the store fails, which may use this share of its limits. */
function isolate(share: number, ...policies: Policy[]) {
  const { listener } = collectProblems()
  return setUp(policies, { store: down, extensions: [listener], onStoreError: localShare(share) })
}

describe('while the store fails, an isolate with a share of', () => {
  it.each([
    [0.1, 20, 2],
    [0.25, 10, 2],
    [0.29, 100, 29],
    [1, 7, 7],
  ])('%d of a limit of %d allows %d', async (share, limit, allowed) => {
    for (const policy of [
      fixedWindow({ name: 'fixed', limit, ...common }),
      slidingWindow({ name: 'sliding', limit, ...common }),
      tokenBucket({ name: 'bucket', limit, ...common }),
    ]) {
      const { limiter } = isolate(share, policy)
      expect(await countAllowed(limiter, ACME, limit + 1)).toBe(allowed)
    }
  })
})

describe('a share of a limit', () => {
  const tokens = fixedWindow({ name: 'tpm', limit: 1_000, unit: 'token', ...common })

  it('denies a cost above it as a failure of the store, and one above the limit for good', async () => {
    const { limiter } = isolate(0.5, tokens)
    const check = (token: number) => limiter.check(ACME, { cost: { token } })
    expect(await check(501)).toMatchObject({
      reason: 'store_unavailable',
      retryAfterMs: 1_000,
      degraded: { cause: 'store_unreachable', mode: 'deny' },
    })
    expect(await check(1_001)).toMatchObject({
      reason: 'cost_exceeds_limit',
      degraded: { mode: 'local' },
    })
    expect(await check(500)).toMatchObject({ allowed: true, degraded: { mode: 'local' } })
    expect(await check(1)).toMatchObject({ reason: 'rate_limit_exceeded' })
  })

  const few = { name: 'few', limit: 9, ...common }

  it.each([
    fixedWindow(few),
    slidingWindow(few),
    slidingWindowCounter(few),
    tokenBucket({ ...few, burst: 20 }),
    leakyBucket({ ...few, burst: 20 }),
  ])('that is less than one unit lets nothing through, %#', async (policy) => {
    const { limiter } = isolate(0.1, policy)
    for (let time = 0; time < 3; time += 1) {
      expect(await limiter.check(ACME)).toMatchObject({
        allowed: false,
        reason: 'store_unavailable',
        retryAfterMs: 1_000,
      })
    }
  })

  it('does not hold back what only a shadow has no room for', async () => {
    const shadow = fixedWindow({ name: 'few', limit: 9, mode: 'shadow', ...common })
    expect(await isolate(0.1, shadow).limiter.check(ACME)).toMatchObject({ allowed: true })
  })

  it('holds for money, too: you have chosen it', async () => {
    const usd = fixedWindow({ name: 'budget', limit: 1_000, unit: 'usd', ...common })
    const { limiter } = isolate(0.1, usd)
    const check = () => limiter.check(ACME, { cost: { usd: 60 } })
    expect([(await check()).allowed, (await check()).allowed]).toEqual([true, false])
  })

  it('is what a reservation takes from and gives back to', async () => {
    const { limiter } = isolate(0.1, tokens)
    const take = () => reserve(limiter, ACME, { cost: { token: 100 } })
    const call = await take()
    expect((await take()).allowed).toBe(false)
    const settled = call.allowed && call.settle({ token: 0 })
    await expect(settled).resolves.toMatchObject({ applied: true })
    expect((await take()).allowed).toBe(true)
  })

  mistakesAreNamed(
    [0, -1, 1.1, Number.NaN, '0.1'].map((share) => [
      `is not ${String(share)}`,
      () => localShare(share as number),
      'localShare',
    ]),
  )
})
