/* A replay with settings denies the same as a real Redis with these settings. */
import {
  createLimiter,
  dailyCap,
  fixedWindow,
  manualClock,
  slidingWindow,
  slidingWindowCounter,
  tokenBucket,
  type Policy,
} from '@sluice/core'
import {
  applyConfiguration,
  runtimeConfiguration,
  type DesiredEntry,
  type Setting,
} from '@sluice/core/configuration'
import { policySet, replay, type Call } from '@sluice/replay'
import { describe, expect, it } from 'vitest'
import { storesOf } from '../../support/stores.ts'
import { Random } from '../../world/random.ts'

const CHANGES = 30
const CALLS = 300
const START = Date.UTC(2026, 10, 1)
const TENANTS = ['a', 'b', 'c', 'd']

/** Returns whole numbers from 0 to below `below`. */
type Below = (below: number) => number

const seededBelow = (seed: number): Below => {
  const random = new Random(seed)
  return (below) => random.whole(0, below - 1)
}

/** Policies of every kind that a replay decides, with the settings that each can have. */
const POLICIES: readonly (readonly [policy: Policy, settings: readonly Setting[]])[] = [
  [slidingWindow({ name: 'rpm', limit: 8, window: '1m', per: ['tenant'] }), ['limit', 'mode']],
  [slidingWindowCounter({ name: 'hourly', limit: 40, window: '1h', per: ['tenant'] }), ['limit']],
  [fixedWindow({ name: 'fixed', limit: 60, window: '10m', per: 'global' }), ['limit', 'mode']],
  [
    tokenBucket({
      name: 'tokens',
      limit: 900,
      window: '1m',
      burst: 2_000,
      unit: 'token',
      per: ['tenant'],
    }),
    ['limit', 'burst', 'mode'],
  ],
  [dailyCap({ name: 'budget', limit: 400_000, unit: 'usd', per: ['tenant'] }), ['limit', 'mode']],
]

const NAMES = ['rpm', 'hourly', 'fixed', 'tokens', 'budget']
const LIMITS = [8, 40, 60, 900, 400_000]
const ALLOW = Object.fromEntries(NAMES.map((name, at) => [name, POLICIES[at]?.[1] ?? []]))

/** A month would say no more than two hours in which limits are reached. */
function callsOf(random: Below): Call[] {
  let at = START
  return Array.from({ length: CALLS }, (_, line) => {
    at += random(10) === 0 ? random(600_000) : random(9_000)
    const subject = { tenant: TENANTS[random(2) * random(TENANTS.length)] ?? 'a' }
    const units = { token: random(600), usd: random(9_000) }
    return { at, line: line + 1, subject, units, status: 200 }
  })
}

function settingsOf(random: Below): DesiredEntry[] {
  const entries = new Map<string, DesiredEntry>()
  for (let count = random(4) + 1; count > 0; count -= 1) {
    const index = random(NAMES.length)
    const policy = NAMES[index] ?? ''
    const tenant = policy === 'fixed' || random(2) === 0 ? undefined : TENANTS[random(2)]
    const limit = random(8) === 0 ? 0 : Math.ceil(((LIMITS[index] ?? 0) * (random(30) + 1)) / 15)
    const canShadow = ALLOW[policy]?.includes('mode') === true
    const settings = {
      limit,
      ...(canShadow && random(3) === 0 && { mode: 'shadow' as const }),
      ...(policy === 'tokens' && random(2) === 0 && { burst: 600 + random(3_000) }),
    }
    const subject = tenant === undefined ? undefined : { tenant }
    entries.set(`${policy} ${tenant}`, { policy, subject, settings })
  }
  return [...entries.values()]
}

async function* streamOf(calls: readonly Call[]): AsyncGenerator<Call> {
  yield* calls
}

describe('a replay with settings', () => {
  const make = storesOf('redis, built-in transport')
  const policies = POLICIES.map(([policy]) => policy)

  it.each(Array.from({ length: CHANGES }, (_, seed) => seed + 1))(
    'denies what Redis denies, and its shadows what those in Redis would: change %i',
    async (seed) => {
      const random = seededBelow(seed)
      const [calls, configuration] = [callsOf(random), settingsOf(random)]
      const denied: (readonly [line: number, policy: string | undefined])[] = []
      const set = policySet('settings', { policies, configuration })
      const { sets } = await replay(streamOf(calls), [set], {
        onDenied: ({ call, decision }) => denied.push([call.line, decision.violated?.name]),
      })

      const clock = manualClock(START)
      const extensions = [runtimeConfiguration({ allow: ALLOW })]
      const limiter = createLimiter({ store: make(), clock, policies, extensions })
      await applyConfiguration(limiter, configuration)
      const truth: typeof denied = []
      const shadows = new Map<string, number>()
      for (const { at, line, subject, units } of calls) {
        clock.set(at)
        const decision = await limiter.check(subject, { cost: { request: 1, ...units } })
        expect(decision.degraded).toBeUndefined()
        if (!decision.allowed) truth.push([line, decision.violated?.name])
        for (const { name, enforced, fits } of decision.policies) {
          if (enforced || !decision.allowed) continue
          shadows.set(name, (shadows.get(name) ?? 0) + (fits ? 0 : 1))
        }
      }
      expect(denied).toEqual(truth)
      const shadow = sets[0]?.shadow.map(({ policy, denied: count }) => [policy, count] as const)
      expect(new Map(shadow)).toEqual(shadows)
    },
  )

  it('tries changes that deny, that allow, and that only watch', async () => {
    const all = Array.from({ length: CHANGES }, (_, seed) => {
      const random = seededBelow(seed + 1)
      callsOf(random)
      return settingsOf(random)
    }).flat()
    expect(new Set(all.map(({ policy }) => policy))).toEqual(new Set(NAMES))
    expect(all.some(({ settings }) => settings.mode === 'shadow')).toBe(true)
    expect(all.some(({ subject }) => subject)).toBe(true)
    const random = seededBelow(1)
    const calls = callsOf(random)
    const given = { policies, configuration: settingsOf(random) }
    const changed = await replay(streamOf(calls), [
      policySet('as they are', { policies }),
      policySet('changed', given),
    ])
    expect(changed.comparison?.bothAllow).toBeGreaterThan(0)
    expect(changed.comparison?.bothDeny).toBeGreaterThan(0)
    expect(changed.comparison?.onlySecondDenies).toBeGreaterThan(0)
  })
})
