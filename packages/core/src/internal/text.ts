/* Texts for people who operate limits: the entry `internal/text`, for packages of Sluice. */
import type { PolicyState, TriedChoice } from '../decision.ts'

export { csvLine, dollars } from './csv.ts'

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

/** Returns the used part of a limit: `3 of 60 requests used`, with the end of its period if it has a calendar. */
export const usedText = (used: number, most: number, unit: string, resetsAt?: string): string =>
  `${unitsText(used, unit)} of ${amountText(most, unit)} used${resetsAt === undefined ? '' : ` in the period${untilText(resetsAt)}`}`

/** The facts of a policy that its use is told by. A stored one may have no reason. */
export type UseFacts = Pick<PolicyState, 'burst' | 'remaining' | 'unit' | 'resetsAt'> & {
  readonly reason?: PolicyState['reason'] | undefined
}

/** Returns the used part of a policy, or of a balance what is left: `3 of 60 requests used`, `$0.04 left`. */
export const useText = ({ burst, remaining, unit, resetsAt, reason }: UseFacts): string =>
  reason === 'credits_exhausted'
    ? `${amountText(remaining, unit)} left`
    : usedText(Math.max(0, burst - remaining), burst, unit, resetsAt)

/** Returns a cost as a sentence: `It asks for 1 request and $0.05.`, and the denial that it is the cost of. */
export function asksText(cost: Readonly<Record<string, number>>, deniedAt?: number): string {
  const amounts = Object.entries(cost).map(([unit, count]) => amountText(count, unit))
  const origin = deniedAt === undefined ? '' : `, as the denial of ${timeText(deniedAt)} did`
  return `It asks for ${amounts.join(' and ')}${origin}.`
}

/** The facts of a choice that a sentence about it has. */
export type ChoiceFacts = Pick<TriedChoice, 'subject' | 'allowed' | 'retryAfterMs'> & {
  /** Kept only where credits are used up. */
  readonly reason?: TriedChoice['reason']
  readonly violated?:
    Pick<PolicyState, 'name' | 'unit' | 'remaining' | 'cost' | 'resetsAt'> | undefined
}

/** The most choices that are kept or sent, and the most characters of a value of theirs. */
const MAX_CHOICES = 8
const MAX_VALUE = 100

/** Returns the facts of the first choices, and of the one that fits, for `choiceTexts` at another time or place. */
export const choiceFacts = (tried: readonly ChoiceFacts[]): ChoiceFacts[] =>
  tried.filter(({ allowed }, at) => allowed || at < MAX_CHOICES).map(factsOf)

function factsOf({ subject, allowed, violated, retryAfterMs, reason }: ChoiceFacts): ChoiceFacts {
  const cut = Object.entries(subject).map(([name, value]) => [name, value.slice(0, MAX_VALUE)])
  const facts = {
    subject: Object.fromEntries(cut) as typeof subject,
    allowed,
    retryAfterMs,
    ...(reason === 'credits_exhausted' && { reason }),
  } as const
  if (!violated) return facts
  const { name, unit, remaining, cost, resetsAt } = violated
  const end = resetsAt === undefined ? {} : { resetsAt }
  return { ...facts, violated: { name, unit, remaining, cost, ...end } }
}

/** The verbs of a sentence about now, and of one about a decision that was recorded. */
const NOW = {
  has: 'has',
  costs: 'may cost',
  asks: 'asks for',
  fits: 'fits',
  later: 'fits',
  never: 'never fits',
  paid: 'fits after a top-up',
}
const THEN: typeof NOW = {
  has: 'had',
  costs: 'could cost',
  asks: 'asked for',
  fits: 'fitted',
  later: 'would have fitted',
  never: 'could never fit',
  paid: 'would have fitted after a top-up',
}

/**
 * Returns a sentence for each choice that was passed over, with the choice that fits in its place, or else the wait for it:
 * `gpt-6.1-sol: budget.daily has $0.02 left and it may cost $0.08; gpt-6-luna fits`.
 */
export function choiceTexts(tried: readonly ChoiceFacts[] = [], wasRecorded = false): string[] {
  const verbs = wasRecorded ? THEN : NOW
  const wins = tried.findIndex(({ allowed }) => allowed)
  const winner = tried[wins] && choiceName(tried[wins].subject)
  return tried.slice(0, wins < 0 ? tried.length : wins).map((one) => {
    const { subject, violated, retryAfterMs, reason } = one
    const never = reason === 'credits_exhausted' ? verbs.paid : verbs.never
    const wait = retryAfterMs === null ? never : `${verbs.later} in ${durationText(retryAfterMs)}`
    const choice = choiceName(subject)
    // A later choice may ask for less of the same.
    const fits = `${winner === choice ? 'less of it' : winner} ${verbs.fits}`
    const end = winner === undefined ? `it ${wait}` : fits
    if (!violated) return `${choice}: no store has answered; ${end}`
    const { name, unit, remaining, cost, resetsAt } = violated
    const left = `${amountText(remaining, unit)} left${untilText(resetsAt)}`
    const asked = `${unit === 'usd' ? verbs.costs : verbs.asks} ${amountText(cost, unit)}`
    return `${choice}: ${name} ${verbs.has} ${left} and it ${asked}; ${end}`
  })
}

/** Returns the name of a choice: the value of its only dimension, such as its model, or all dimensions that it gives. */
export function choiceName(subject: TriedChoice['subject']): string {
  const values = Object.values(subject)
  return values.length === 1 ? nameText(String(values[0])) : subjectText(subject)
}

/** Returns the end of a period of a calendar (RFC 9557) as a person reads it: `2026-12-01 00:00 (Europe/Berlin)`. */
export const localTimeText = (resetsAt: string): string =>
  resetsAt.replace(/T(.{5})[^[]*.(.*)]/, ' $1 ($2)')

/** Returns the end of a period in a sentence: ` until 2026-12-01 00:00 (Europe/Berlin)`, and nothing without a calendar. */
const untilText = (resetsAt: string | undefined): string =>
  resetsAt === undefined ? '' : ` until ${localTimeText(resetsAt)}`

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
