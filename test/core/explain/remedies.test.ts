import { createLimiter, manualClock, type Limiter, type Policy } from '@sluice/core'
import { configure, runtimeConfiguration } from '@sluice/core/configuration'
import { explain, type Explanation } from '@sluice/core/explain'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { KIND_NAMES, KINDS, type Kind } from '../../support/kinds.ts'
import { NOON } from '../../support/times.ts'
import { Random } from '../../world/random.ts'

/** Denials of each kind: some two hundred in all. */
const DENIALS = 13

const LIMIT = 40

interface Step {
  readonly afterMs: number
  readonly cost: number
}

/** The same history, as often as it is needed: each remedy is tried on a copy of the state. */
class Day {
  readonly #kind: Kind
  readonly #steps: readonly Step[]

  constructor(kind: Kind, steps: readonly Step[]) {
    this.#kind = kind
    this.#steps = steps
  }

  async copy(): Promise<{
    limiter: Limiter
    clock: ReturnType<typeof manualClock>
    names: string[]
  }> {
    const clock = manualClock(NOON)
    const policy: Policy = KINDS[this.#kind]('p', LIMIT)
    const names = policy().map(({ name }) => name)
    const allow = Object.fromEntries(
      policy()
        .filter(({ follows }) => follows === undefined)
        .map(({ name, burst }) => [name, burst === undefined ? ['limit'] : ['limit', 'burst']]),
    ) as Record<string, ['limit']>
    const limiter = createLimiter({
      store: memory(),
      policies: [() => policy()],
      clock,
      extensions: [runtimeConfiguration({ allow })],
    })
    for (const { afterMs, cost } of this.#steps) {
      clock.advance(afterMs)
      await limiter.check({ tenant: 'acme' }, { cost: costOf(this.#kind, cost) })
    }
    return { limiter, clock, names }
  }
}

/** Calls in flight have a cost of their own. */
const costOf = (kind: Kind, units: number): number | Record<string, number> =>
  kind === 'calls in flight' ? { call: units } : units

/** Finds histories that end with a denial. */
function* daysOf(kind: Kind): Generator<{ day: Day; cost: number }> {
  const random = new Random(`explain ${kind}`)
  for (;;) {
    const steps = Array.from({ length: random.whole(3, 40) }, () => ({
      afterMs: random.pick([0, 1, 250, 3_000]),
      cost: random.whole(1, kind === 'calls in flight' ? 1 : 8),
    }))
    yield { day: new Day(kind, steps), cost: random.whole(1, 12) }
  }
}

const ACME = { tenant: 'acme' }

describe.each(KIND_NAMES)('%s: what would have let a request pass is true', (kind) => {
  it(`for ${DENIALS} denials`, async () => {
    let found = 0
    const tried = { wait: 0, less: 0, raise: 0 }
    for (const { day, cost } of daysOf(kind)) {
      if (found === DENIALS) break
      const asked = costOf(kind, cost)
      const now = await day.copy()
      const explanation = await explain(now.limiter, ACME, { cost: asked })
      const decision = await now.limiter.check(ACME, { cost: asked })
      expect(explanation.decision.allowed).toBe(decision.allowed)
      if (decision.allowed) continue
      found += 1
      expect(explanation.denials.length).toBeGreaterThan(0)
      tried.wait += await tryToWait(day, asked, explanation)
      tried.less += await tryLess(kind, day, explanation)
      tried.raise += await tryToRaise(day, asked, explanation)
    }
    expect({ kind, wait: tried.wait > 0 }).toEqual({ kind, wait: kind !== 'calls in flight' })
    expect({ kind, less: tried.less > 0 }).toEqual({ kind, less: !NEVER_LESS.has(kind) })
    expect({ kind, raise: tried.raise > 0 }).toEqual({ kind, raise: !NEVER_RAISED.has(kind) })
  })
})

/** Kinds for which no smaller cost helps. */
const NEVER_LESS = new Set<Kind>(['leaky bucket that waits'])

/** Kinds that deny whose turn would come too late, which no burst changes. */
const NEVER_RAISED = new Set<Kind>(['leaky bucket that waits'])

async function tryToWait(
  day: Day,
  cost: number | Record<string, number>,
  { decision: { retryAfterMs }, denials }: Explanation,
): Promise<number> {
  // Nobody knows when a call in flight ends.
  const isGuess = denials.some(({ reason }) => reason === 'concurrency_exceeded')
  if (retryAfterMs === null || isGuess) return 0
  const { limiter, clock } = await day.copy()
  clock.advance(retryAfterMs)
  expect((await limiter.check(ACME, { cost })).allowed).toBe(true)
  return 1
}

async function tryLess(kind: Kind, day: Day, { fittingCost }: Explanation): Promise<number> {
  if (!fittingCost) return 0
  const [units = 0] = Object.values(fittingCost)
  const more = await (await day.copy()).limiter.check(ACME, { cost: costOf(kind, units + 1) })
  expect(more.allowed).toBe(false)
  const less = await (await day.copy()).limiter.check(ACME, { cost: costOf(kind, units) })
  expect(less.allowed).toBe(true)
  return 1
}

async function tryToRaise(
  day: Day,
  cost: number | Record<string, number>,
  { denials }: Explanation,
): Promise<number> {
  if (denials.some(({ raise }) => !raise)) return 0
  const settings = (by: number): Record<string, Record<string, number>> =>
    Object.fromEntries(
      denials.map(({ policy, raise }) => [
        policy.replace(/\.(share|line)$/, ''),
        { [raise?.setting ?? 'limit']: (raise?.to ?? 0) + by },
      ]),
    )
  for (const by of [0, -1]) {
    const { limiter } = await day.copy()
    await configure(limiter, settings(by), ACME)
    expect((await limiter.check(ACME, { cost })).allowed).toBe(by === 0)
  }
  return 1
}
