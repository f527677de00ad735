import { createLimiter, manualClock } from '@sluice/core'
import { runtimeConfiguration } from '@sluice/core/configuration'
import * as entry from '@sluice/core/credits'
import {
  adjust,
  balance,
  credits,
  deleteCredits,
  exportCredits,
  grant,
  importCredits,
  journal,
  revoke,
  settleHold,
} from '@sluice/core/credits'
import { memory } from '@sluice/core/memory'
import { stop } from '@sluice/core/operator'
import { describe, expect, it } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { sharedRedis } from '../../support/running-redis.ts'
import { DAY, NOON } from '../../support/times.ts'

const redis = sharedRedis()
const prepaid = () => credits({ name: 'credits', per: ['tenant'], unsettled: 'keep' })
const limiterOf = (store = memory()) =>
  createLimiter({ store, clock: manualClock(NOON), onStoreError: 'deny', policies: [prepaid()] })
const TOP_UP = { amount: 5_000_000, id: 'p1', at: NOON, kind: 'paid' } as const

describe('a mistake in a change of a balance', () => {
  const limiter = limiterOf()
  const wrong = (options: object) => grant(limiter, ACME, { ...TOP_UP, ...options })

  it.each([
    [{ at: '2026-01-15T12:00:00' }, 'at: must be a Date'],
    [{ at: null }, 'at: must be a Date'],
    [{ at: [NOON] }, 'at: must be a Date'],
    [{ expiresAt: null }, 'expiresAt: must be a Date'],
    [{ at: '2026-01-15' }, 'at: must be a Date'],
    [{ at: NOON + 2 * DAY }, 'at: must not be after tomorrow'],
    [{ at: NOON / 1_000 }, 'at: must be milliseconds, not seconds'],
    [{ reason: 5 }, 'reason: must be a text'],
    [{ amount: 5 }, 'amount: must be micro-dollars'],
    [{ expires: NOON + DAY }, 'grant.expires: unknown option'],
    [{ expiresAt: NOON - 1 }, 'expiresAt: has passed'],
  ])('of a grant with %j says so', async (options, says) => {
    await expect(wrong(options)).rejects.toThrow(says)
  })

  it('is told for unknown options of each function', async () => {
    const options = { dept: true } as never
    const at = { amount: 1, id: 'a', at: NOON, reason: 'r' }
    const calls = {
      grant: () => grant(limiter, ACME, { ...TOP_UP, dept: true } as never),
      revoke: () => revoke(limiter, ACME, 'p1', options),
      settleHold: () => settleHold(limiter, ACME, 'h', 0, options),
      adjust: () => adjust(limiter, ACME, { ...at, dept: true } as never),
      balance: () => balance(limiter, ACME, options),
      journal: () => journal(limiter, ACME, options),
      exportCredits: () => exportCredits(limiter, ACME, options),
      importCredits: () => importCredits(limiter, ACME, '{}', options),
      deleteCredits: () => deleteCredits(limiter, ACME, { confirm: '{}', dept: true } as never),
    }
    for (const [name, call] of Object.entries(calls)) {
      await expect(call()).rejects.toThrow(`${name}.dept: unknown option`)
    }
    // A new function of a balance joins them.
    const taking = Object.entries(entry).filter(
      ([, one]) => one.constructor.name === 'AsyncFunction',
    )
    expect(Object.keys(calls).toSorted()).toEqual(taking.map(([name]) => name).toSorted())
  })

  it('names the amount that takes a balance above the most', async () => {
    await wrong({ id: 'p2', amount: 10 ** 14 })
    await expect(wrong({ id: 'p3' })).rejects.toMatchObject({
      code: 'balance_too_large',
      input: 'amount',
    })
  })
})

describe('a balance without an allowance', () => {
  it('has no limit to change at run time', () => {
    const allow = { credits: ['limit'] } as const
    const extensions = [runtimeConfiguration({ allow })]
    const policies = [prepaid()]
    expect(() =>
      createLimiter({ store: memory(), onStoreError: 'deny', policies, extensions }),
    ).toThrow('runtimeConfiguration.allow.credits: must not list "limit"')
  })

  it('is stopped by no limit', async () => {
    const task = { limiter: limiterOf(), words: { file: 'limits.ts' } }
    await expect(stop(task as never, ACME)).rejects.toThrow('no policy counts by tenant alone')
  })
})

it('a hash that is no account is no balance of 0', async () => {
  const limiter = limiterOf(redis.store('odd'))
  await redis.redis.hset('odd:credits:credits-:tenant=acme', { other: '1' })
  await expect(balance(limiter, ACME)).rejects.toMatchObject({ code: 'store_bad_reply' })
})
