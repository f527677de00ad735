/* A month of calls, and the rows of a usage export of them. */
import type { Call, CallSum } from '@sluice/replay'
import type { Random } from '../world/random.ts'

/** An hour, in milliseconds. */
export const HOUR = 3_600_000
/** The tenants of a month. */
export const TENANTS = ['a', 'b', 'c', 'd']

const START = Date.UTC(2026, 9, 1)
const HOURS = 31 * 24

/** A month in which each tenant is busy for some hours of some days, in bursts. */
export function monthOf(random: Random): Call[] {
  const calls: Omit<Call, 'line'>[] = []
  for (let hour = 0; hour < HOURS; hour += 1) {
    for (const tenant of TENANTS) {
      if (random.whole(0, 9) > 1) continue
      const count = random.whole(1, 30)
      let at = START + hour * HOUR + random.whole(0, HOUR / 2)
      for (let index = 0; index < count; index += 1) {
        at = Math.min(
          at + random.whole(0, 1) * random.whole(0, 90_000),
          START + (hour + 1) * HOUR - 1,
        )
        const subject = { tenant, route: random.whole(0, 2) === 0 ? 'image' : 'chat' }
        const units = { token: random.whole(1, 600), usd: random.whole(100, 9_000) }
        calls.push({ at, subject, units, status: 200 })
      }
    }
  }
  const inOrder = calls.toSorted((a, b) => a.at - b.at)
  return inOrder.map((call, index) => Object.assign(call, { line: index + 1 }))
}

/** The rows of a usage export. */
export function sumsOf(calls: readonly Call[]): CallSum[] {
  const sums = new Map<string, CallSum>()
  for (const { at, line, subject, units } of calls) {
    const start = at - (at % HOUR)
    const key = JSON.stringify([start, subject])
    const own = sums.get(key) ?? { at: start, line, subject, status: 200, calls: 0, units: {} }
    const add = (unit: string): number => (own.units[unit] ?? 0) + (units[unit] ?? 0)
    sums.set(key, { ...own, calls: own.calls + 1, units: { token: add('token'), usd: add('usd') } })
  }
  return [...sums.values()]
}

/** Yields the items. */
export async function* streamOf<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items
}
