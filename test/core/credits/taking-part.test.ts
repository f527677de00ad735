/* A balance is there for every call of its tenant, also for those that its policy leaves alone. */
import { createLimiter, fixedWindow, manualClock, rollout, type LimiterOptions } from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import { configure, partitionRecords, runtimeConfiguration } from '@sluice/core/configuration'
import * as entry from '@sluice/core/credits'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { sharedRedis } from '../../support/running-redis.ts'
import { DAY, NOON } from '../../support/times.ts'
import { policyOf } from './support.ts'

const redis = sharedRedis()
const { adjust, auditCredits, balance, deleteCredits, exportCredits, grant } = entry
const { exportedJournal, importCredits, journal, revoke, settleHold } = entry

const resets = calendar({ every: 'month' })
const included = { amount: 100, resets }
const perUser = fixedWindow({ name: 'user', limit: 5, window: '1m', per: ['user'] })
const allow = { credits: ['limit', 'enabled'] } as const

/** Limiters that leave a call of acme alone, and one that does not. */
const LIMITERS: Readonly<Record<string, Partial<LimiterOptions>>> = {
  'every call': { policies: [policyOf({ included })] },
  'another route': { policies: [policyOf({ included, routes: ['chat'] })] },
  'other tenants': { policies: [policyOf({ included, rollout: rollout({ enabled: 0 }) })] },
  'no tenant yet': { policies: [policyOf({ included, rollout: rollout({ enforced: 0 }) })] },
  'nobody, in shadow': { policies: [policyOf({ included, mode: 'shadow' })] },
  'nobody, by a setting': {
    policies: [policyOf({ included })],
    extensions: [runtimeConfiguration({ allow })],
  },
  'every call, beside a policy per user': { policies: [perUser, policyOf({ included })] },
}

/** The answers of each function of a balance, one after the other, after the end of an allowance. */
async function askAll(options: Partial<LimiterOptions>, make = memory) {
  const clock = manualClock(NOON)
  const [store, other] = [make(), make()]
  const limiterOf = (more: Partial<LimiterOptions>, at = store) =>
    createLimiter({ store: at, clock, onStoreError: 'deny', ...more } as never)
  // The tenant took part before.
  const before = limiterOf({ policies: [policyOf({ included })] })
  await before.check(ACME, { cost: { credit: 20 } })
  await reserve(before, ACME, { cost: { credit: 30 } })
  const { reservations } = await balance(before, ACME)
  const limiter = limiterOf(options)
  if (options.extensions) {
    await configure(limiter, { credits: { enabled: 0 } }, ACME)
    // As soon as this process has read it.
    await limiter.check(ACME, { cost: { credit: 0 } })
  }
  clock.advance(31 * DAY)
  const answers: Record<string, unknown> = {}
  const paid = { amount: 50, id: 'p', at: clock(), kind: 'paid' } as const
  answers['balance'] = await balance(limiter, ACME)
  answers['grant'] = await grant(limiter, ACME, paid)
  answers['adjust'] = await adjust(limiter, ACME, {
    amount: 4,
    id: 'a',
    at: clock(),
    reason: 'r',
  })
  answers['settleHold'] = await settleHold(limiter, ACME, reservations[0]?.id ?? '', 10)
  answers['revoke'] = await revoke(limiter, ACME, 'p')
  answers['journal'] = await journal(limiter, ACME)
  answers['balance at the end'] = await balance(limiter, ACME)
  const text = await exportCredits(limiter, ACME)
  answers['exportCredits'] = text
  answers['auditCredits'] = auditCredits(exportedJournal(text), { account: text })
  const copy = limiterOf(options, other)
  answers['importCredits'] = await importCredits(copy, ACME, text)
  answers['balance of the copy'] = await balance(copy, ACME)
  await deleteCredits(limiter, ACME, { confirm: text })
  answers['deleteCredits'] = (await balance(limiter, ACME)).totals
  const id = reservations[0]?.id ?? ''
  return JSON.parse(JSON.stringify(answers).replaceAll(id, 'hold')) as Record<string, unknown>
}

const stores = { memory, redis: () => redis.store() }

describe.each(Object.entries(stores))('in %s, all functions of a balance', (_, make) => {
  it.each(Object.entries(LIMITERS))('say the same with a policy of %s', async (_name, options) => {
    const answers = await askAll(options, make)
    expect(answers).toEqual(await askAll(LIMITERS['every call'] ?? {}, make))
    // An allowance that has ended is renewed.
    expect(answers['balance']).toMatchObject({ available: 100, balance: 100, abandoned: 30 })
    // Each function is asked.
    const asked = Object.entries(entry).filter(
      ([, one]) => one.constructor.name === 'AsyncFunction',
    )
    expect(Object.keys(answers)).toEqual(expect.arrayContaining(asked.map(([name]) => name)))
  })
})

it('settings of a tenant are in its balance where its policy is of other routes', async () => {
  const limiter = createLimiter({
    store: memory(),
    clock: manualClock(NOON),
    onStoreError: 'deny',
    policies: [policyOf({ included, routes: ['chat'] })],
    extensions: [runtimeConfiguration({ allow, partitions: partitionRecords() })],
  })
  await configure(limiter, { credits: { limit: 25 } }, ACME)
  for (const subject of [ACME, { ...ACME, route: 'chat' }, { ...ACME, route: 'files' }]) {
    expect((await balance(limiter, subject)).available).toBe(25)
  }
})
