import { describe, expect, it } from 'vitest'
import { check, type Rule } from './checker.ts'
import type { LoggedDecision } from './log.ts'

const sliding: Rule = {
  name: 'rule',
  windowMs: 1_000,
  isAligned: false,
  isGlobal: false,
  leaseMs: 100,
  limitOf: ({ plan }) => (plan === 'small' ? 2 : 4),
}
const aligned: Rule = { ...sliding, isAligned: true }

/** An allowed decision from a lease. */
const unit = (at: number, changes: Partial<LoggedDecision> = {}): LoggedDecision => ({
  before: at,
  at,
  after: at,
  tenant: 'a',
  plan: 'small',
  route: 'fast',
  units: 1,
  allowed: true,
  isLeased: true,
  isCached: false,
  ...changes,
})

const tooFull = (rule: Rule, log: LoggedDecision[], resets: Parameters<typeof check>[2] = []) =>
  check(rule, log, resets).violations.length

describe('the checker', () => {
  it.each([
    ['three units in a window', sliding, [0, 500, 999].map((at) => unit(at)), 1],
    ['three units in a window and a moment', sliding, [0, 500, 1_000].map((at) => unit(at)), 0],
    [
      'three units across a border of the grid',
      aligned,
      [999, 1_000, 1_001].map((at) => unit(at)),
      0,
    ],
    ['three units between two borders', aligned, [1_000, 1_500, 1_999].map((at) => unit(at)), 1],
    ['one decision of three units', sliding, [unit(0, { units: 3 })], 1],
    ['a denied decision', sliding, [unit(0), unit(1), unit(2, { allowed: false })], 0],
    ['two tenants', sliding, [unit(0), unit(1), unit(2, { tenant: 'b' })], 0],
    [
      'three units of which one had the larger limit',
      sliding,
      [unit(0), unit(1), unit(2, { plan: 'large' })],
      0,
    ],
    [
      'five units of the larger limit',
      sliding,
      [0, 1, 2, 3, 4].map((at) => unit(at, { plan: 'large' })),
      1,
    ],
  ])('judges %s', (_, rule, log, violations) => {
    expect(tooFull(rule, log)).toBe(violations)
  })

  it('counts all tenants together in a global limit', () => {
    const log = [unit(0), unit(1), unit(2, { tenant: 'b' })]
    expect(tooFull({ ...sliding, isGlobal: true }, log)).toBe(1)
  })

  it('counts a decision that waited for a block by when it had it, if requests carry the time', () => {
    const callers = { ...sliding, isCallersTime: true }
    const waited = unit(995, { after: 1_020 })
    expect(tooFull(sliding, [unit(0), unit(1), waited])).toBe(1)
    expect(tooFull(callers, [unit(0), unit(1), waited])).toBe(0)
    // That one waited says nothing about others.
    const other = unit(500, { after: 900, tenant: 'b' })
    expect(tooFull(callers, [unit(0), unit(1), unit(995), other])).toBe(1)
  })

  it('gives a call to the store the benefit of the doubt about its moment', () => {
    const log = [unit(0), unit(1), unit(1_005, { before: 990, isLeased: false })]
    expect(tooFull(sliding, [...log.slice(0, 2), unit(999)])).toBe(1)
    expect(tooFull(sliding, log)).toBe(0)
    expect(
      tooFull({ ...sliding, leaseMs: 0 }, [
        unit(10),
        unit(11),
        unit(1_005, { before: 990, isLeased: false }),
      ]),
    ).toBe(1)
  })

  it('begins anew at a reset, once the leases before it have ended', () => {
    const reset = [{ tenant: 'a', before: 10, after: 20 }]
    expect(
      tooFull(
        sliding,
        [0, 5, 200].map((at) => unit(at)),
        reset,
      ),
    ).toBe(0)
    expect(
      tooFull(
        sliding,
        [0, 100, 200, 210].map((at) => unit(at)),
        reset,
      ),
    ).toBe(0)
    expect(
      tooFull(
        sliding,
        [0, 121, 200, 210].map((at) => unit(at)),
        reset,
      ),
    ).toBe(1)
    expect(
      tooFull(
        sliding,
        [0, 5, 200].map((at) => unit(at)),
        [{ ...reset[0]!, tenant: 'b' }],
      ),
    ).toBe(1)
  })

  it('finds no violation by the time of callers if the last of them may have been late', () => {
    const byCallers = { ...sliding, leaseMs: 0, isCallersTime: true }
    const asked = [0, 500].map((at) => unit(at, { isLeased: false }))
    const onTime = [...asked, unit(999, { isLeased: false })]
    const late = [...asked, unit(999, { isLeased: false, after: 1_001 })]
    expect(tooFull(byCallers, onTime)).toBe(1)
    expect(tooFull(byCallers, late)).toBe(0)
    expect(tooFull({ ...byCallers, isCallersTime: false }, late)).toBe(1)
  })
})
