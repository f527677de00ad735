import { createLimiter, manualClock, slidingWindow, type Limiter, type Store } from '@sluice/core'
import { fairShare } from '@sluice/core/fair-share'
import { NOON } from '../../../support/times.ts'

/** Someone that asks for units of a shared limit. */
export interface Rival {
  readonly weight: number
  readonly guarantee?: number
  /** The units per window that it asks for; Infinity for more than there are. */
  readonly wants: number
  /** The calls that it may make for one of another's. @default 1 */
  readonly haste?: number
}

/** The units that each got in a window, and wanted at its end. */
export interface Window {
  readonly got: readonly number[]
  readonly wants: readonly number[]
  /** The windows since something changed, whole ones: 0 if it was in this one. */
  readonly unchanged: number
}

export interface Competition {
  readonly stores: readonly Store[]
  readonly limit: number
  readonly rivals: readonly Rival[]
  readonly windows: number
  readonly random: () => number
  /** Returns who starts or stops in a window, if anyone does. */
  readonly change?: (window: number) => number | undefined
  readonly cost?: () => number
}

const WINDOW = 60_000
const STEPS = 120

/**
 * Has rivals ask for units of one limit, as long as they get some, and returns what each got in each window. Several
 * stores must decide alike.
 */
export async function compete({
  stores,
  limit,
  rivals,
  windows,
  random,
  change = () => undefined,
  cost = () => 1,
}: Competition): Promise<{ windows: Window[]; decisions: number; disagreements: number }> {
  const clocks = stores.map(() => manualClock(NOON))
  const shared = { name: 'shared', limit, window: '1m', per: 'global' } as const
  const numberOf = (route: string | undefined) => rivals[Number(route)] as Rival
  const limiters = stores.map((store, at): Limiter =>
    createLimiter({
      store,
      clock: clocks[at] as (typeof clocks)[number],
      policies: [
        fairShare(slidingWindow(shared), {
          between: ['tenant'],
          weight: ({ route }) => (route === undefined ? 1 : numberOf(route).weight),
          guarantee: ({ route }) => (route === undefined ? 0 : (numberOf(route).guarantee ?? 0)),
        }),
      ],
    }),
  )
  const isOn = rivals.map(() => true)
  const results: Window[] = []
  let [decisions, disagreements, unchanged] = [0, 0, 0]
  const owed = rivals.map(() => 0)

  /** Asks for one request's units. */
  async function ask(rival: number, units: number): Promise<boolean> {
    const subject = { tenant: `t${rival}`, route: String(rival) }
    const answers = await Promise.all(
      limiters.map((limiter) => limiter.check(subject, { cost: units })),
    )
    const [first] = answers.map(({ policies }) => JSON.stringify(policies))
    decisions += 1
    if (answers.some(({ policies }) => JSON.stringify(policies) !== first)) disagreements += 1
    return answers[0]?.allowed === true
  }

  for (let window = 0; window < windows; window += 1) {
    const got = rivals.map(() => 0)
    const changing = change(window)
    const changeAt = Math.floor(random() * STEPS)
    unchanged = changing === undefined ? unchanged + 1 : 0
    for (let step = 0; step < STEPS; step += 1) {
      if (changing !== undefined && step === changeAt) isOn[changing] = !isOn[changing]
      for (const rival of shuffled(rivals.keys(), random)) {
        const { wants, haste = 1 } = rivals[rival] as Rival
        if (!isOn[rival]) continue
        owed[rival] = wants === Infinity ? Infinity : (owed[rival] ?? 0) + wants / STEPS
        const most = wants === Infinity ? Math.ceil(limit / STEPS + 1) * haste : Infinity
        for (let asked = 0; asked < most; asked += 1) {
          const units = cost()
          if ((owed[rival] ?? 0) < units) break
          // oxlint-disable-next-line no-await-in-loop -- a history
          if (!(await ask(rival, units))) break
          got[rival] = (got[rival] ?? 0) + units
          owed[rival] = (owed[rival] ?? 0) - units
        }
      }
      for (const clock of clocks) clock.advance(WINDOW / STEPS)
    }
    const wants = rivals.map((rival, at) => (isOn[at] ? rival.wants : 0))
    results.push({ got, wants, unchanged })
  }
  return { windows: results, decisions, disagreements }
}

function shuffled(items: Iterable<number>, random: () => number): number[] {
  return Array.from(items, (item) => ({ item, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item)
}

/**
 * The weighted max-min fair division of a limit, found by raising what everyone may have until it is used up: first
 * the guarantees, then the rest by weight, and nobody gets more than it wants.
 */
export function fairDivision(limit: number, rivals: readonly Rival[], wants: readonly number[]) {
  const at = (level: number): number[] =>
    rivals.map(({ weight, guarantee = 0 }, index) =>
      Math.min(wants[index] ?? 0, guarantee + level * weight),
    )
  const total = (level: number): number => at(level).reduce((sum, part) => sum + part, 0)
  let [low, high] = [0, limit]
  for (let round = 0; round < 60; round += 1) {
    const middle = (low + high) / 2
    if (total(middle) > limit) high = middle
    else low = middle
  }
  return at(low)
}

/** Jain's index of fairness: 1 if all are equal. */
export function jain(values: readonly number[]): number {
  const sum = values.reduce((total, value) => total + value, 0)
  const squares = values.reduce((total, value) => total + value * value, 0)
  return (sum * sum) / (values.length * squares)
}
