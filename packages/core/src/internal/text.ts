/* Texts for people who operate limits: the entry `internal/text`, for packages of Sluice. */

const STEPS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const

/** Returns a duration of at most two units, rounded up: `1h 5m`, `37s`; below a second `250ms`. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${ms}ms`
  const first = STEPS.findIndex(([, length]) => length <= ms)
  const steps = STEPS.slice(first, first + 2)
  const [, finest] = steps.at(-1) ?? STEPS[3]
  let left = Math.ceil(ms / finest) * finest
  const parts = steps.map(([name, length]) => {
    const count = Math.floor(left / length)
    left -= count * length
    return count > 0 ? [`${count}${name}`] : []
  })
  return parts.flat().join(' ')
}

/** Returns a number of units: micro-dollars as dollars, others as they are. */
export function unitsText(count: number | 'unlimited', unit: string): string {
  if (count === 'unlimited' || unit !== 'usd') return String(count)
  return `$${(count / 1_000_000).toFixed(count % 10_000 === 0 ? 2 : 6)}`
}

/** Returns a number of units with their name: `3 requests`, `$1.50`. */
export const amountText = (count: number, unit: string): string =>
  unit === 'usd' ? unitsText(count, unit) : `${count} ${unit}${count === 1 ? '' : 's'}`
