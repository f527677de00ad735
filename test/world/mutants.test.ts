import { expect, it } from 'vitest'
import { CALM } from './faults.ts'
import type { Setting } from './setting.ts'
import { World } from './world.ts'

const PLAIN = { configures: false, looksUpPlans: false, weather: CALM }

/**
 * A mistake in the packages or in their Lua: a text of the bundle, and what stands there instead.
 * The bundler numbers a local name that another file has, too, so no text contains one.
 */
const MUTANTS: readonly [what: string, text: string, instead: string, where?: Partial<Setting>][] =
  [
    [
      'a window lets in one more',
      'cost == 0 or used + cost <= limit',
      'cost == 0 or used + cost <= limit + 1',
    ],
    [
      'a window counts from a millisecond too late',
      'local cutoff, rows = now - ',
      'local cutoff, rows = now + 1 - ',
    ],
    ['a script that denies goes on', 'if enforced and not fits then go = false end', ''],
    ['a day ends with the hour', 'DAY_MS = 864e5', 'DAY_MS = 36e5'],
    ['a correction of a bucket is forgotten', 'math.max(0, used + more)', 'math.max(0, used)'],
    [
      'a settlement acts again',
      "redis.call('SET', KEYS[1], left, 'XX', 'GET', 'PX', lasting)",
      "redis.call('GET', KEYS[1])",
    ],
    [
      'a retry time is a millisecond early',
      'cost > limit and -1 or ',
      'cost > limit and -1 or -1 + ',
    ],
    [
      'a call ends long after its deadline',
      'setTimeout(abort, leftMs)',
      'setTimeout(abort, leftMs * 5)',
    ],
    [
      'a denial is remembered for an hour',
      'maxAgeMs: maxAge = 5e3',
      'maxAgeMs: maxAge = 36e5',
      { ...PLAIN, wrappers: 'cached', gapMs: 400 },
    ],
    [
      'a share of each limit is the whole',
      '* share).toPrecision',
      ').toPrecision',
      { ...PLAIN, onStoreError: 'share', weather: { ...CALM, trouble: 0.3 } },
    ],
    [
      'a lease serves more than it has',
      'this.left = ',
      'this.left = 3 * ',
      { ...PLAIN, wrappers: 'leased' },
    ],
    [
      'a rollout selects by chance instead of by partition',
      'hash(text) / 2 ** 32',
      'Math.random()',
    ],
    ['a policy is left out of a rollout', 'isIn(`${name}/enabled:${partition}`, enabled)', 'false'],
    ['the marks of reservations never expire', ", 'PX', ${ttl})`", ')`'],
  ]

it.each(MUTANTS)('notices that %s', async (_, text, instead, replace = {}) => {
  let isThere = false
  const mutate = (bundle: string): string => {
    const changed = bundle.replaceAll(text, instead)
    isThere ||= changed !== bundle
    return changed
  }
  let foundBy: number | undefined
  for (let seed = 1; seed <= 40 && foundBy === undefined; seed += 1) {
    const { violations } = await World.run(seed, { decisions: 500, mutate, replace })
    if (violations.length > 0) foundBy = seed
  }
  expect({ isThere, foundBy }).toEqual({ isThere: true, foundBy: expect.any(Number) })
  // The same world without the mistake: a judge that accuses everyone notices nothing.
  const { violations } = await World.run(foundBy ?? 0, { decisions: 500, replace })
  expect(violations).toEqual([])
})
