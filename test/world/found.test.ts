import { expect, it } from 'vitest'
import { CALM } from './faults.ts'
import type { Rule } from './judges/rules.ts'
import type { Setting } from './setting.ts'
import { World } from './world.ts'

/** One tenant and one route. */
const SMALL = { tenants: ['acme-7Qx'], routes: ['x'] }

const BUCKET: Rule = {
  name: 'bucket',
  kind: 'token',
  limit: 4,
  windowMs: 10_000,
  longestMs: 10_000,
  per: ['tenant'],
  unit: 'request',
  enforced: true,
  rollout: undefined,
  burst: 7,
  segments: 1,
  waitMs: 0,
  stripes: 1,
  log: undefined,
  leaseMs: 0,
}

/** Worlds that have shown a fault, each made small. */
const FOUND: readonly [what: string, seed: number, decisions: number, replace: Partial<Setting>][] =
  [
    [
      'a bucket of which a share never leaks says when to retry',
      130,
      250,
      {
        ...SMALL,
        wrappers: 'plain',
        deployments: [{ name: 'now', rules: [BUCKET] }],
        onStoreError: 'share',
        isolates: 1,
        burst: 1,
        weather: { ...CALM, incidentMs: 10_000 },
      },
    ],
    [
      'a decision that waits for a block ends by its own deadline',
      186,
      23,
      { ...SMALL, wrappers: 'leased', weather: { ...CALM, trouble: 0.1 } },
    ],
  ]

it.each(FOUND)('%s', async (_, seed, decisions, replace) => {
  const { violations } = await World.run(seed, { decisions, replace })
  expect(violations).toEqual([])
})
