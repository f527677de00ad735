import type { PolicyRule } from '../policies/policy.ts'
import { subjectText } from '../internal/text.ts'
import { fullSubject, lookInStore, usedOf } from './look.ts'
import { refuse, type Dimensions, type OperatorTask, type OperatorWords } from './task.ts'

const UNIT_MS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

/** Returns a duration such as `24h` in milliseconds; `undefined` if a text is none. */
export function durationOf(text: string): number | undefined {
  const [, count = '', unit = ''] = /^(\d{1,5})([smhd])$/.exec(text) ?? []
  const ms = Number(count) * (UNIT_MS[unit] ?? Number.NaN)
  return ms > 0 ? ms : undefined
}

/** Returns the end of a change: a time, or a duration from now, such as `24h`. */
export function untilOf(text: string, { option }: OperatorWords): Date {
  const ms = durationOf(text)
  if (ms !== undefined) return new Date(Date.now() + ms)
  const time = new Date(text)
  const [, date] = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d.*(?:Z|[+-]\d\d:\d\d)$/.exec(text) ?? []
  if (date !== undefined && isInCalendar(date) && !Number.isNaN(time.getTime())) return time
  return refuse(
    `${option('until')} ${text} must be a duration, such as 24h or 3d, or a time with a zone, such as 2026-11-28T18:00Z`,
  )
}

/**
 * Returns the end of a change of one policy: `window` is the end of the window that runs now, as of a cap, or of the
 * session of a partition.
 *
 * @throws OperatorError When the policy has no window that ends for all units at once, or no session runs.
 * @throws StoreError When the store fails.
 */
export async function untilOfPolicy(
  text: string,
  rule: PolicyRule,
  subject: Dimensions | undefined,
  task: OperatorTask,
): Promise<Date> {
  const { words } = task
  if (text !== 'window') return untilOf(text, words)
  const { name, algorithm, params } = rule
  const { windowEnd, endsTogether } = algorithm.traits ?? {}
  if (windowEnd) return new Date(windowEnd(params, Date.now()))
  if (endsTogether) return endOfSession(rule, subject, task)
  return refuse(
    `${words.option('until')} window: the window of ${name} ends at no one time, because each unit returns by itself. Name a time or a duration; caps and fixed windows have an end`,
  )
}

/** Returns the end of the session that a partition is in. */
async function endOfSession(
  { name, per, routes, algorithm }: PolicyRule,
  subject: Dimensions | undefined,
  { limiter, words }: OperatorTask,
): Promise<Date> {
  const until = `${words.option('until')} window: `
  if (algorithm.traits?.guessesRetry) {
    refuse(`${until}each charge moves the end of a session of ${name}. Name a time or a duration`)
  }
  if (per !== 'global' && !subject) {
    const names = per.map((one) => words.dimension(one, 'NAME')).join(' ')
    refuse(`${until}each session of ${name} has an end of its own: add ${names}, or name a time`)
  }
  const route = routes?.[0]
  const part = { ...(route !== undefined && { route }), ...subject }
  const { at, policies } = await lookInStore(limiter, fullSubject(limiter, part))
  const state = policies.find((one) => one.name === name)
  if (state && usedOf(state) > 0) return new Date(at + state.resetMs)
  const text = `${until}no session of ${name} runs now for ${subjectText(subject)}. Name a time or a duration`
  return refuse(text, 'conflict')
}

/** `Date` takes the 30th of February for the 2nd of March. */
export const isInCalendar = (date: string): boolean =>
  new Date(Date.parse(date) || 0).toJSON().startsWith(date)
