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

/** A world that has shown a fault, made small, and the texts of the bundle that mend it, with those before. */
interface Found {
  readonly seed: number
  readonly decisions: number
  readonly replace: Partial<Setting>
  readonly mend: Readonly<Record<string, string>>
}

const FOUND: Readonly<Record<string, Found>> = {
  'a bucket of which a share never leaks says when to retry': {
    seed: 130,
    decisions: 250,
    replace: {
      ...SMALL,
      wrappers: 'plain',
      deployments: [{ name: 'now', rules: [BUCKET] }],
      onStoreError: 'share',
      isolates: 1,
      burst: 1,
      weather: { ...CALM, incidentMs: 10_000 },
    },
    mend: { 'burst: limit === 0 ? 0 : part(entry.burst)': 'burst: part(entry.burst)' },
  },
  'a decision that waits for a block ends by its own deadline': {
    seed: 1004,
    decisions: 40,
    replace: { ...SMALL, wrappers: 'leased', weather: { ...CALM, trouble: 0.1 } },
    mend: {
      ' && block.startedAt <= startedAt': '',
      'id: blocks.id, reads: []': 'id: blocks.id, reads: [], startedAt: Date.now()',
    },
  },
  'a cache of denials below leases is asked for the entries that they leave, not for the choices of the call':
    {
      seed: 291,
      decisions: 100,
      replace: {
        ...SMALL,
        isolates: 2,
        releases: false,
        weather: { ...CALM, incidentMs: 10_000 },
      },
      mend: {
        'const alternatives = alternativesOf(request);': 'const { alternatives } = request;',
      },
    },
}

it.each(Object.entries(FOUND))('%s', async (_, { seed, decisions, replace, mend }) => {
  const { violations } = await World.run(seed, { decisions, replace })
  expect(violations).toEqual([])
  // Without the mend the world still shows it: another draw would have another history.
  const mutate = (bundle: string): string =>
    Object.entries(mend).reduce((text, [mended, before]) => {
      expect(text).toContain(mended)
      return text.replace(mended, before)
    }, bundle)
  const before = await World.run(seed, { decisions, replace, mutate })
  expect(before.violations).not.toEqual([])
})
