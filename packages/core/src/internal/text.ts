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

/** Returns the used part of a limit: `3 of 60 requests used`. */
export const usedText = (used: number, most: number, unit: string): string =>
  `${unitsText(used, unit)} of ${amountText(most, unit)} used`

/** Returns a cost as a sentence: `It asks for 1 request and $0.05.`, and the denial that it is the cost of. */
export function asksText(cost: Readonly<Record<string, number>>, deniedAt?: number): string {
  const amounts = Object.entries(cost).map(([unit, count]) => amountText(count, unit))
  const origin = deniedAt === undefined ? '' : `, as the denial of ${timeText(deniedAt)} did`
  return `It asks for ${amounts.join(' and ')}${origin}.`
}

/** Returns a time as a person reads it: `2026-11-28 18:00Z`. */
export const timeText = (time: Date | number): string =>
  new Date(time)
    .toJSON()
    .replace('T', ' ')
    .replace(/(:00)?\.\d+Z$/, 'Z')

// Names come from anybody's requests, and a terminal must not obey them: controls but for the ends of lines, and the
// characters that reorder text (UAX #9) or break lines.
const UNPRINTABLE = /(?!\r?\n)[\p{Cc}\u200E\u200F\u2028-\u202E\u2066-\u2069]/gu

const escape = (character: string): string =>
  `\\u${character.codePointAt(0)?.toString(16).padStart(4, '0')}`

/** Returns a text without what a terminal would obey, such as escape sequences. */
export const printable = (text: string): string => text.replaceAll(UNPRINTABLE, escape)

/** Returns a name in one line, without what a terminal would obey. */
export const nameText = (name: string): string => printable(name.replaceAll(/[\r\n]/g, escape))

/** Returns a subject whose limits are those of a plan: `tenant=acme (plan starter)`, if it does not name the plan itself. */
export const askerText = (
  subject: Readonly<Record<string, string>>,
  plan: string | undefined,
): string =>
  `${subjectText(subject)}${plan === undefined || plan === subject['plan'] ? '' : ` (plan ${nameText(plan)})`}`

/** Returns a subject as a person reads it: `tenant=acme route=chat`. */
export const subjectText = (subject: Readonly<Record<string, string>> | undefined): string =>
  subject
    ? Object.entries(subject)
        .map((pair) => nameText(pair.join('=')))
        .join(' ')
    : 'everyone'
