import type { Undivided, Usage } from '../../rows.ts'

const MINUTE_MS = 60_000
const HOUR_MINUTES = 60

const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

function lengthOf(ms: number): string {
  const minutes = Math.round(ms / MINUTE_MS)
  return minutes % HOUR_MINUTES === 0 ? `${minutes / HOUR_MINUTES} h` : `${minutes} min`
}

/** Returns the longest time that lies in another period. */
const mostOf = (items: readonly Undivided[]): string =>
  lengthOf(items.reduce((most, { shiftedMs }) => Math.max(most, shiftedMs), 0))

/**
 * Returns what could not be divided exactly between the periods of a calendar, a sentence each; none if all is exact.
 *
 * @example
 * for (const sentence of undividedTexts(await usage(limiter, { by: 'month', zone: 'Asia/Tokyo' }))) console.log(sentence)
 */
export function undividedTexts({ by, calendar }: Pick<Usage, 'by' | 'calendar'>): string[] {
  const all = calendar?.undivided ?? []
  const [days, hours] = (['day', 'hour'] as const).map((kind) =>
    all.filter((one) => one.by === kind),
  )
  const texts: string[] = []
  const [first, last] = [days?.[0], days?.at(-1)]
  if (days && first && last) {
    const count = days.length === 1 ? 'A day' : `${days.length} days`
    const range =
      first === last ? dateOf(first.start) : `${dateOf(first.start)} to ${dateOf(last.start)}`
    texts.push(
      `${count} (UTC, ${range}) could not be divided, for the hours are no longer kept (keepHours): each counts to the ${by} that most of it lies in, and at most ${mostOf(days)} of it lie in another.`,
    )
  }
  if (hours?.length) {
    const places = hours.length === 1 ? 'one hour' : `${hours.length} hours`
    texts.push(
      `The ${by} begins within ${places} (UTC): allowed and denied requests are divided by quarter-hour; what is stored by hour alone (policies, choices, prevented cost) counts to the ${by} that most of the hour lies in, and at most ${mostOf(hours)} of it lie in another.`,
    )
  }
  return texts
}
