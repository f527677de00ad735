import { readFileSync } from 'node:fs'
import { createLimiter, manualClock, type Store } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { upstash } from '@sluice/core/upstash'
import { startLocal } from '@sluice/local'
import { describe, expect, inject, it } from 'vitest'
import { capacity, policiesOf, type Rule } from '../conformance/model/rules.ts'
import { usageOf, type Charge } from '../conformance/model/usage.ts'
import { tableOf } from '../support/markdown.ts'
import { freshPrefix } from '../support/stores.ts'
import { HEAVY, readTrace, shareOfBusiest } from './trace.ts'

const page = readFileSync(new URL('../../docs/algorithms.md', import.meta.url), 'utf8')
const rows = readTrace()
const WINDOW_MS = 60_000
const LIMITS = { request: 20, token: 25_000 } as const
const UNITS = ['request', 'token'] as const
/** Decides as `slidingWindow` does, and is not in the page's table. */
const AS_SLIDING_WINDOW = 'slidingWindows'

/** The algorithms to replay, by the first column of the page's table. */
const ALGORITHMS: Readonly<Record<string, Partial<Rule>>> = {
  slidingWindow: { kind: 'sliding' },
  slidingWindows: { kind: 'sliding', log: 0 },
  'slidingWindowCounter, 60 segments': { kind: 'counter', segments: 60 },
  'slidingWindowCounter, 6 segments': { kind: 'counter', segments: 6 },
  'slidingWindowCounter, 1 segment': { kind: 'counter' },
  fixedWindow: { kind: 'fixed' },
  tokenBucket: { kind: 'token' },
  'tokenBucket, refill at intervals': { kind: 'interval' },
  'leakyBucket, without waiting': { kind: 'leaky', wait: false },
  leakyBucket: { kind: 'leaky' },
}
const NAMES = Object.keys(ALGORITHMS)

/** Each algorithm in each unit, all in shadow mode, so none affects the others. */
const RULES = UNITS.flatMap((unit, log) =>
  Object.values(ALGORITHMS).map((own) => ruleOf(unit, own, log)),
)

function ruleOf(unit: (typeof UNITS)[number], own: Partial<Rule>, log: number): Rule {
  return {
    kind: 'sliding',
    limit: LIMITS[unit],
    burst: LIMITS[unit],
    windowMs: WINDOW_MS,
    per: ['tenant'],
    unit,
    enforced: false,
    route: undefined,
    segments: 1,
    wait: true,
    ...own,
    log: own.log === undefined ? undefined : log,
  }
}

/** Which rules let each row pass, by the policies of a limiter. */
async function replay(store: Store, count = rows.length): Promise<boolean[][]> {
  const clock = manualClock(0)
  const limiter = createLimiter({ store, policies: policiesOf(RULES), clock })
  const passed: boolean[][] = []
  for (const { at, tenant, tokens } of rows.slice(0, count)) {
    clock.set(at)
    const { degraded, policies } = await limiter.check({ tenant }, { cost: { token: tokens } })
    expect(degraded).toBeUndefined()
    passed.push(policies.map(({ fits }) => fits))
  }
  return passed
}

interface Defined {
  readonly rule: Rule
  readonly passed: readonly boolean[]
  /** By tenant, what went on and when. */
  readonly wentOn: ReadonlyMap<string, readonly Charge[]>
}

/** Which rows a rule lets pass by its naive definition. */
function byDefinition(rule: Rule): Defined {
  const charged = new Map<string, Charge[]>()
  const wentOn = new Map<string, Charge[]>()
  const passed = rows.map(({ at, tenant, tokens }) => {
    const charges = charged.get(tenant) ?? []
    charged.set(tenant, charges)
    const cost = rule.unit === 'token' ? tokens : 1
    const { units, wait } = usageOf(rule, charges)
    const fits = units(at) + cost <= capacity(rule)
    if (!fits) return false
    wentOn.set(tenant, [...(wentOn.get(tenant) ?? []), { at: at + wait(at), cost }])
    charges.push({ at, cost })
    return true
  })
  return { rule, passed, wentOn }
}

/** The most units that any trailing window held, as a share of the limit. */
function fullestWindow({ rule, wentOn }: Defined): number {
  let highest = 0
  for (const charges of wentOn.values()) {
    let [first, inWindow] = [0, 0]
    for (const { at, cost } of charges) {
      inWindow += cost
      while ((charges[first]?.at ?? at) <= at - WINDOW_MS) {
        inWindow -= charges[first]?.cost ?? 0
        first += 1
      }
      highest = Math.max(highest, inWindow)
    }
  }
  return highest / rule.limit
}

const percent = (which: readonly boolean[]): string => {
  const count = which.filter(Boolean).length
  return count === 0 ? '0' : `${((100 * count) / which.length).toFixed(2)} %`
}

it('three percent of the tenants in the trace make 61 % of its calls', () => {
  expect(rows).toHaveLength(19_366)
  expect(new Set(rows.map(({ tenant }) => tenant)).size).toBe(200)
  expect(shareOfBusiest(rows, HEAVY.tenants)).toBeCloseTo(HEAVY.share, 2)
})

describe('a trace of real traffic', () => {
  const defined = RULES.map(byDefinition)

  it.each(UNITS)('counted by %s gets from each algorithm its own answers', async (unit) => {
    const passed = await replay(memory({ maxKeys: 100_000 }))
    const offset = UNITS.indexOf(unit) * NAMES.length
    const exact = defined[offset]?.passed ?? []
    const measured = NAMES.map((name, index) => {
      const own = defined[offset + index] as Defined
      const mine = passed.map((fits) => fits[offset + index] ?? false)
      const cells = {
        denied: percent(mine.map((fits) => !fits)),
        'not as an exact window': percent(mine.map((fits, row) => fits !== exact[row])),
        'most in any window': fullestWindow(own).toFixed(2),
      }
      expect(mine).toEqual(own.passed)
      return [name, cells] as const
    })
    for (const [name, cells] of measured) {
      expect(Number.parseFloat(cells.denied)).toBeGreaterThan(10)
      expect(Number.parseFloat(cells.denied)).toBeLessThan(40)
      const isExact = /^slidingWindow(?!Counter)/.test(name)
      expect(cells['not as an exact window'] === '0').toBe(isExact)
      expect(Number(cells['most in any window'])).toBeLessThanOrEqual(isExact ? 1 : 2)
    }
    const [[, likeWindow] = []] = measured
    const alike = measured.filter(([name]) => name === AS_SLIDING_WINDOW)
    for (const [, cells] of alike) expect(cells).toEqual(likeWindow)
    if (unit !== 'request') return
    const heading = `${LIMITS[unit]} ${unit}s a minute`
    const published = Array.from(tableOf(page, heading), ([name, row]) => [
      name,
      Object.fromEntries(Object.entries(row).filter(([column]) => column !== heading)),
    ])
    expect(published).toEqual(measured.filter(([name]) => name !== AS_SLIDING_WINDOW))
  })

  it('gets the same numbers from Redis', async () => {
    const local = await startLocal({ redisUrl: inject('redisUrl') })
    const { url, token } = local
    const store = upstash({ url, token, prefix: freshPrefix(), timeoutMs: 30_000 })
    const passed = await replay(store, rows.length)
    await local.close()
    for (const [index, own] of defined.entries()) {
      // By the real clock the last milliseconds of a fixed window may be over before they are here.
      if (own.rule.kind === 'fixed') continue
      expect(passed.map((fits) => fits[index])).toEqual(own.passed.slice(0, passed.length))
    }
    // Tens of thousands of decisions, one after another.
  }, 400_000)
})
