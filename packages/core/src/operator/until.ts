import type { PolicyRule } from '../policies/policy.ts'
import { isInCalendar } from '../configuration/temporary.ts'
import { parseDuration } from '../internal/duration.ts'
import { subjectText } from '../internal/text.ts'
import { fullSubject, lookInStore, usedOf } from './look.ts'
import { refuse, type Dimensions, type OperatorTask, type OperatorWords } from './task.ts'

/** Returns a duration such as `24h` in milliseconds; `undefined` if a text is none. */
export function durationOf(text: string): number | undefined {
  const ms = /^\d{1,5}[smhd]$/.test(text) ? parseDuration(text) : 0
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
 * session or the calendar period of a partition.
 *
 * @throws OperatorError When the policy has no window that ends for all units at once, or none runs.
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
  if (rule.calendar) return endOfSpan('period', rule, subject, task)
  if (windowEnd) return new Date(windowEnd(params, Date.now()))
  if (endsTogether) return endOfSession(rule, subject, task)
  return refuse(
    `${words.option('until')} window: the window of ${name} ends at no one time, because each unit returns by itself. Name a time or a duration; caps and fixed windows have an end`,
  )
}

/** Returns the end of the session that a partition is in. */
async function endOfSession(
  rule: PolicyRule,
  subject: Dimensions | undefined,
  task: OperatorTask,
): Promise<Date> {
  if (rule.algorithm.traits?.guessesRetry) {
    const text = `each charge moves the end of a session of ${rule.name}. Name a time or a duration`
    refuse(`${task.words.option('until')} window: ${text}`)
  }
  return endOfSpan('session', rule, subject, task)
}

/**
 * Returns the stored end of the session or period that a partition is in. The zone of a calendar may come from a claim that
 * an operator does not have, so that only a `fixed` one has an end before the first charge, and one for everyone.
 *
 * @throws OperatorError When none runs, or a change is for everyone, and each partition has an end of its own.
 */
async function endOfSpan(
  span: 'session' | 'period',
  { name, per, routes, calendar }: PolicyRule,
  subject: Dimensions | undefined,
  { limiter, words }: OperatorTask,
): Promise<Date> {
  const isFixed = calendar?.isFixed ?? false
  const option = `${words.option('until')} window:`
  if (!isFixed && per !== 'global' && !subject) {
    const names = per.map((one) => words.dimension(one, 'NAME')).join(' ')
    refuse(`${option} each ${span} of ${name} has an end of its own: add ${names}, or name a time`)
  }
  const route = routes?.[0]
  const part = { ...(route !== undefined && { route }), ...subject }
  const { at, policies } = await lookInStore(limiter, fullSubject(limiter, part))
  const state = policies.find((one) => one.name === name)
  if (state && (isFixed || usedOf(state) > 0)) return new Date(at + state.resetMs)
  return refuse(
    `${option} no ${span} of ${name} runs now for ${subjectText(subject)}. Name a time or a duration`,
    'conflict',
  )
}
