import type { Call, CallSum } from '../call.ts'

/** The estimates of what denied requests would have used. A CSV export has them in columns of their own. */
const PREVENTED = ['prevented_tokens', 'prevented_usd']

/** Returns the columns of a usage export of `@sluice/usage`, whose rows each count the requests of an hour or day. */
export const usageColumns = (names: readonly string[]): Record<string, string> => ({
  time: 'start',
  'unit:usd': 'usd',
  'unit:requests': 'requests',
  ...Object.fromEntries(
    PREVENTED.filter((name) => names.includes(name)).map((name) => [`unit:${name}`, name]),
  ),
})

/** Returns true if a log with these columns is a usage export. */
export const isUsageExport = (names: readonly string[]): boolean =>
  ['start', 'tenant', 'outcome', 'requests', 'tokens', 'usd'].every((name) => names.includes(name))

/**
 * Spreads the requests of each row evenly over its period, and their tokens and dollars over them.
 *
 * @param rows With `requests` among their units, in the order of their periods.
 */
export async function* spreadRows(
  rows: AsyncIterable<Call>,
  periodMs: number,
): AsyncGenerator<Call> {
  let period: Call[] = []
  for await (const row of rows) {
    if (period[0] && row.at !== period[0].at) {
      yield* callsOf(period, periodMs)
      period = []
    }
    period.push(row)
  }
  yield* callsOf(period, periodMs)
}

const callsOf = (rows: readonly Call[], periodMs: number): Call[] =>
  rows.flatMap((row) => spread(row, periodMs)).toSorted((a, b) => a.at - b.at)

/** Returns the calls that a row of a usage export sums up. Denied ones count as they were estimated. */
export function sumOf(row: Call): CallSum {
  const {
    requests: calls = 0,
    prevented_tokens: tokens = 0,
    prevented_usd: usd = 0,
    ...own
  } = row.units
  const units = { ...own, token: (own['token'] ?? 0) + tokens, usd: (own['usd'] ?? 0) + usd }
  return { ...row, calls, units }
}

function spread(row: Call, periodMs: number): Call[] {
  const { calls: count, units, ...call } = sumOf(row)
  return Array.from({ length: count }, (_, index) => {
    const at = row.at + Math.floor(((index + 0.5) * periodMs) / count)
    const shares = Object.entries(units).map(([unit, sum]) => [unit, shareOf(sum, index, count)])
    return { ...call, at, units: Object.fromEntries(shares) as Record<string, number> }
  })
}

/** The first calls have one unit more if the sum cannot be divided. */
const shareOf = (sum: number, index: number, count: number): number =>
  Math.floor(sum / count) + (index < sum % count ? 1 : 0)
