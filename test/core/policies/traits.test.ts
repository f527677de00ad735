/* A second algorithm of a user, by its traits: a log under an id of its own, in the place of Sluice's. */
import {
  createLimiter,
  definePolicy,
  manualClock,
  slidingWindow,
  tokenBucket,
  type Algorithm,
  type Extension,
  type Policy,
  type PolicyOptions,
  type SettlementTwins,
  type Store,
  type Traits,
} from '@sluice/core'
import { fairShare } from '@sluice/core/fair-share'
import { lease, leased } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import { adaptiveLimit } from '@sluice/core/upstream'
import { waitingLine } from '@sluice/core/waiting'
import { describe, expect, it } from 'vitest'
import { storesOf } from '../../support/stores.ts'
import { NOON } from '../../support/times.ts'
import { Random } from '../../world/random.ts'
import { refusal } from './fair-share/refusal.ts'
import { lineOver } from '../waiting/line.ts'

const options = { name: 'rps', limit: 12, per: 'global' } as const
const sluices = slidingWindow({ ...options, window: '1s' }) as Policy
const [log] = sluices()
const [leasedLog] = lease(sluices)()

const policyOf = (algorithm: Partial<Algorithm>): Policy =>
  definePolicy('myapp', options as PolicyOptions, [], () => ({
    algorithm: { ...(log?.algorithm as Algorithm), id: 'myapp.log', ...algorithm },
    params: [1_000],
    windowMs: 1_000,
  })) as Policy

const settlement = leasedLog?.algorithm.settlement as SettlementTwins
const own = policyOf({ settlement })

interface Arrangement {
  readonly store: Store
  readonly policies: readonly Policy[]
  readonly extensions?: readonly Extension[]
}

const ARRANGEMENTS: Record<string, (policy: Policy, store: Store) => Arrangement> = {
  'in a line': (policy, store) => ({ store, policies: [waitingLine(policy)] }),
  leased: (policy, store) => ({
    store: leased(store, { fetchAhead: false }),
    policies: [lease(policy, { duration: '200ms' })],
  }),
  shared: (policy, store) => ({ store, policies: [fairShare(policy, { between: ['tenant'] })] }),
  adapted: (policy, store) => ({
    store,
    policies: [policy],
    extensions: [adaptiveLimit({ policy: 'rps', min: 4 })],
  }),
}

const random = new Random('traits')
const STEPS = Array.from({ length: 120 }, () => ({
  ms: random.pick([0, 20, 110, 400]),
  tenant: random.pick(['acme', 'umbrella', 'initech']),
  cost: random.whole(0, 4),
  used: random.whole(0, 5),
  call: random.pick(['check', 'peek', 'reserve'] as const),
}))

/** Returns the decisions of a history, without their ids. */
async function decisionsOf({ store, policies, extensions = [] }: Arrangement): Promise<unknown[]> {
  const clock = manualClock(NOON)
  const limiter = createLimiter({ store, policies, extensions, clock })
  const decisions: unknown[] = []
  for (const { ms, tenant, cost, used, call } of STEPS) {
    clock.advance(ms)
    if (call === 'reserve' && !('lease' in (policies[0]?.()[0] ?? {}))) {
      const reserved = await reserve(limiter, { tenant }, { cost })
      decisions.push(reserved.policies)
      if (reserved.allowed) await reserved.settle(used)
    } else {
      decisions.push(
        (await limiter[call === 'peek' ? 'peek' : 'check']({ tenant }, { cost })).policies,
      )
    }
  }
  return decisions
}

describe.each(Object.entries(ARRANGEMENTS))('a log of a user, %s,', (_, arrange) => {
  const redis = storesOf('redis, built-in transport')

  it.each([
    ['memory', () => memory()],
    ['redis', redis],
  ])("decides like Sluice's in %s", async (__, make) => {
    const expected = await decisionsOf(arrange(sluices, memory()))
    expect(JSON.stringify(expected)).toContain('"fits":false')
    expect(await decisionsOf(arrange(own, make()))).toEqual(expected)
  })
})

it('tells a line how long each of its requests waits', async () => {
  const [expected, actual] = [sluices, own].map(async (policy) => {
    const line = lineOver(memory(), waitingLine(policy))
    await line.check({ user: 'ada', cost: 12, ticket: 0 })
    const asker = { user: 'ben', cost: 3 }
    return [await line.stand({ ...asker, ticket: 1 }), await line.stand({ ...asker, ticket: 2 })]
  })
  expect(await expected).toEqual([expect.objectContaining({ is: 'waiting' }), expect.anything()])
  expect(await actual).toEqual(await expected)
})

const adapt = (policy: Policy): unknown =>
  createLimiter({
    store: memory(),
    policies: [policy],
    extensions: [adaptiveLimit({ policy: 'rps', min: 4 })],
  })

/** The functions that ask for a trait, with a policy that lacks it, and one that has it. */
const DEMANDS: readonly (readonly [string, (policy: Policy) => unknown, Traits])[] = [
  ['lengthen', lease, { slides: true, held: true, windowEnd: () => 0 }],
  ['slides', (policy) => fairShare(policy, { between: ['tenant'] }), { held: true }],
  ['slides or held', adapt, { lengthen: (params) => params }],
  ['guessesRetry', waitingLine, { slides: true, guessesRetry: true }],
  ['held', waitingLine, { slides: true, held: true }],
]

it.each(DEMANDS)('names the trait %s where it decides', (trait, make, traits) => {
  const [option, message] = refusal(() => make(policyOf({ settlement, traits })))
  expect(option).toMatch(/\.policy$/)
  expect(message).toContain(trait)
  expect(refusal(() => make(own))).toEqual([undefined, 'nothing was thrown'])
})

it('names the settlement that a lease needs beside the trait', () => {
  const [option, message] = refusal(() => lease(policyOf({})))
  expect([option, message]).toEqual(['lease.policy', expect.stringContaining('settlement')])
})

it('refuses a bucket by the same names', () => {
  const bucket = tokenBucket({ ...options, window: '1s' }) as Policy
  expect(refusal(() => lease(bucket))[1]).toContain('lengthen')
  expect(refusal(() => fairShare(bucket, { between: ['tenant'] }))[1]).toContain('slides')
})
