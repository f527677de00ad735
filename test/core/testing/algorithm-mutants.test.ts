import { definePolicy, fixedWindow } from '@sluice/core'
import type { Algorithm, LuaFragments, Policy } from '@sluice/core'
import { lease } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { algorithmConformance } from '@sluice/core/testing'
import { describe, expect, it } from 'vitest'
import { sharedRedis } from '../../support/running-redis.ts'

const policy = fixedWindow({ name: 'p', limit: 1, window: '1m', per: ['tenant'] })

const right = {
  ...policy()[0]?.algorithm,
  settlement: lease(policy)()[0]?.algorithm.settlement,
} as Algorithm

const redis = sharedRedis()

/** The claims of the suite that fail for an algorithm. */
async function failuresOf(algorithm: Algorithm): Promise<Map<string, string>> {
  const claims: [string, () => Promise<void>][] = []
  algorithmConformance({
    describe: (_, body) => body(),
    it: (claim, body) => void claims.push([claim, body]),
    makePolicy: (options): Policy =>
      definePolicy('tested', options, [], () => ({
        algorithm,
        params: [60_000],
        windowMs: 60_000,
      })),
    makeStores: { memory: () => memory(), redis: () => redis.store() },
    histories: 5,
  })
  const failures = new Map<string, string>()
  for (const [claim, body] of claims) {
    await body().catch((error: unknown) => failures.set(claim, String(error)))
  }
  return failures
}

const changed = (id: string, change: Partial<Algorithm>): Algorithm => ({
  ...right,
  ...change,
  id: `mutant.${id}`,
})

const withLua =
  (change: (lua: LuaFragments) => Partial<LuaFragments>) => (params: readonly number[]) => {
    const lua = right.lua(params)
    return { ...lua, ...change(lua) }
  }

/** The part of a script that sets the expiry of a fixed window. */
const EXPIRY = /own and 'PXAT'[^)]*\)/

/** Lua that computes the sum in `check`, before the cost has grown. */
const summedTooEarly = withLua(({ keeps = [], check, add }) => ({
  keeps: [...keeps, 'sum'],
  check: `${check}\n$sum = $used + cost`,
  add: add.replace('$used + cost', '$sum'),
}))

const ALIKE = 'decide alike over random histories'

/** Algorithms that are wrong, by what is wrong about them, each with a claim that it must fail. */
const MUTANTS: Readonly<Record<string, readonly [algorithm: Algorithm, claim: string]>> = {
  'lets one unit too many fit': [
    changed('one-more', {
      check: (state, input, now) => right.check(state, { ...input, limit: input.limit + 1 }, now),
    }),
    'of 25 concurrent checks of a limit of 20, exactly 20 are allowed',
  ],
  'tells a retry time that is a millisecond early': [
    changed('early', {
      check(state, input, now) {
        const found = right.check(state, input, now)
        return { ...found, retryMs: found.retryMs > 1 ? found.retryMs - 1 : found.retryMs }
      },
    }),
    'retryAfterMs is exact: denied one millisecond before, allowed at it',
  ],
  'tells that more remains than does': [
    changed('more', {
      check(state, input, now) {
        const found = right.check(state, input, now)
        return { ...found, available: Math.min(input.limit, found.available + 1) }
      },
    }),
    'what remains fits, and one unit more does not',
  ],
  'opens a second budget when the clock steps back': [
    changed('back', {
      check: (state, input, now) =>
        right.check(
          (state as { end: number } | undefined)?.end === now - (now % 60_000) + 60_000
            ? state
            : undefined,
          input,
          now,
        ),
    }),
    'a clock that steps back opens no second budget',
  ],
  'forgets its state too early': [
    changed('forgetful', {
      add(state, input, now, id) {
        const kept = right.add(state, input, now, id)
        return { ...kept, expiresAt: now + 10_000 }
      },
    }),
    ALIKE,
  ],
  'charges one unit more in Lua': [
    changed('lua-add', {
      lua: withLua(({ add }) => ({ add: add.replace('$used + cost', '$used + cost + 1') })),
    }),
    ALIKE,
  ],
  'tells another reset in Lua': [
    changed('lua-reset', {
      lua: withLua(({ check }) => ({ check: `${check}\nreset = reset + 1` })),
    }),
    ALIKE,
  ],
  "fails in Lua by Redis' own clock": [
    changed('lua-own', {
      lua: withLua(({ check }) => ({ check: `if own then error('') end\n${check}` })),
    }),
    "decides by the store's own clock as well",
  ],
  'lets its key expire early in Lua': [
    changed('lua-early', {
      lua: withLua(({ add }) => ({ add: add.replace(EXPIRY, `'PX', 2000)`) })),
    }),
    'a key lives as long as what it counts',
  ],
  'gives its key no end in Lua': [
    changed('lua-endless', {
      lua: withLua(({ add }) => ({ add: add.replace(EXPIRY, `'GET')`) })),
    }),
    'a key lives as long as what it counts',
  ],
  'takes what others have stored for its own in Lua': [
    changed('lua-foreign', {
      lua: withLua(({ check }) => ({
        check: check.replace(
          /if not ending then .* end/,
          'ending, count = ending or 0, count or 0',
        ),
      })),
    }),
    'what another has stored under its key is an error, and no budget',
  ],
  'charges a range its floor in Lua': [
    changed('lua-floor', { lua: summedTooEarly }),
    'a range is charged what it is granted, not its floor',
  ],
  'charges a leased block one decision in Lua': [
    changed('lua-block', { lua: summedTooEarly }),
    'of 60 checks of a leased limit of 20, at most 20 are allowed',
  ],
  'claims that its units slide': [
    changed('slides', { traits: { slides: true } }),
    'units of an algorithm that slides count for a window, whenever they are charged',
  ],
  'tells another end of its window': [
    changed('no-end', { traits: { ...right.traits, windowEnd: () => 0 } }),
    'all units return at windowEnd, and none before',
  ],
  'tells an end of its window that is too late': [
    changed('late-end', { traits: { ...right.traits, windowEnd: (_, now) => now + 60_000 } }),
    'all units return at windowEnd, and none before',
  ],
  'claims that its units return together': [
    changed('together', {
      traits: { ...right.traits, endsTogether: true },
      check(state, input, now) {
        const finding = right.check(state, input, now)
        return { ...finding, resetMs: Math.ceil(finding.resetMs / 2) }
      },
    }),
    'all units return when resetMs is over, and none before',
  ],
  'does not compile in Lua': [
    changed('lua-broken', { lua: withLua(() => ({ check: 'fits = = true' })) }),
    'a denial changes nothing',
  ],
}

describe('the conformance suite of algorithms', () => {
  it('passes a correct algorithm', async () => {
    expect(await failuresOf(changed('none', {}))).toEqual(new Map())
  })

  it.each(Object.entries(MUTANTS))('catches one that %s', async (_, [algorithm, claim]) => {
    expect([...(await failuresOf(algorithm)).keys()]).toContain(claim)
  })
})
