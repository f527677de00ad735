import { describe, expect, it } from 'vitest'
import type { Rule } from './judges/rules.ts'
import type { Setting } from './setting.ts'
import { World, type Outcome } from './world.ts'

const SESSION: Rule = {
  name: 'length',
  kind: 'session',
  limit: 40,
  windowMs: 5_000,
  longestMs: 5_000,
  lengthMs: 5_000,
  per: ['tenant'],
  unit: 'request',
  enforced: true,
  rollout: undefined,
  burst: 1,
  segments: 1,
  waitMs: 0,
  stripes: 1,
  log: undefined,
  leaseMs: 0,
}

/** Sessions of 5 s, sessions of 5 s that a pause of 2 s ends, and both with units that are settled later. */
const RULES: readonly Rule[] = [
  SESSION,
  { ...SESSION, name: 'both', windowMs: 2_000 },
  { ...SESSION, name: 'tokens', unit: 'token', limit: 3_000 },
  { ...SESSION, name: 'dollars', unit: 'usd', limit: 30_000, windowMs: 2_000, enforced: false },
]

const replace: Partial<Setting> = {
  wrappers: 'plain',
  tenants: ['acme-7Qx', 'globex-7Qx'],
  deployments: [{ name: 'now', rules: RULES }],
}

const live = (seed: number, mutate?: (bundle: string) => string): Promise<Outcome> =>
  World.run(seed, { decisions: 700, replace, ...(mutate && { mutate }) })

describe('in a world where anything can go wrong, a session of a length ends when it is over', () => {
  it.each([1, 3])('seed %i', async (seed) => {
    const { violations, server } = await live(seed)
    expect(violations).toEqual([])
    expect(server['retries']).toBeGreaterThan(0)
  })

  const END = 'math.min(start + ${length}, math.max(finish, now + ${idle}))'
  it.each([
    ['charges prolong one with pauses', 'math.max(finish, now + ${idle})'],
    ['charges prolong one without', 'math.max(finish, now + ${idle || length})'],
    [
      'it ends a millisecond early',
      'math.min(start + ${length - 1}, math.max(finish, now + ${idle}))',
    ],
  ])('is noticed: %s', async (_, before) => {
    const { violations } = await live(1, (bundle) => {
      expect(bundle).toContain(END)
      return bundle.replace(END, () => before)
    })
    expect(violations).not.toEqual([])
  })
})
