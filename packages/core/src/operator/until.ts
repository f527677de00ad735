import type { PolicyRule, RuleCalendar } from '../policies/policy.ts'
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
  if (rule.calendar) return endOfPeriod(rule, rule.calendar, subject, task)
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
  assertOnePartition('session', rule, subject, task)
  const running = await stateOf(rule, subject, task)
  if (running && running.used > 0) return running.end
  return refuseIdle('session', rule, subject, task)
}

/** Returns the end of the period of a calendar that a partition is in: the stored one, which a change does not move. */
async function endOfPeriod(
  rule: PolicyRule,
  { isFixed }: RuleCalendar,
  subject: Dimensions | undefined,
  task: OperatorTask,
): Promise<Date> {
  if (!isFixed) assertOnePartition('period', rule, subject, task)
  const running = await stateOf(rule, subject, task)
  // The zone of a partition may come from a claim that an operator does not have.
  if (running && (isFixed || running.used > 0)) return running.end
  return refuseIdle('period', rule, subject, task)
}

type Span = 'session' | 'period'

/** @throws OperatorError When a change is for everyone, and each partition has an end of its own. */
function assertOnePartition(
  span: Span,
  { name, per }: PolicyRule,
  subject: Dimensions | undefined,
  { words }: OperatorTask,
): void {
  if (per === 'global' || subject) return
  const names = per.map((one) => words.dimension(one, 'NAME')).join(' ')
  const text = `each ${span} of ${name} has an end of its own: add ${names}, or name a time`
  refuse(`${words.option('until')} window: ${text}`)
}

/** Returns the use of a partition and the end of its window. */
async function stateOf(
  { name, routes }: PolicyRule,
  subject: Dimensions | undefined,
  { limiter }: OperatorTask,
): Promise<{ readonly used: number; readonly end: Date } | undefined> {
  const route = routes?.[0]
  const part = { ...(route !== undefined && { route }), ...subject }
  const { at, policies } = await lookInStore(limiter, fullSubject(limiter, part))
  const state = policies.find((one) => one.name === name)
  return state && { used: usedOf(state), end: new Date(at + state.resetMs) }
}

function refuseIdle(
  span: Span,
  { name }: PolicyRule,
  subject: Dimensions | undefined,
  { words }: OperatorTask,
): never {
  const text = `no ${span} of ${name} runs now for ${subjectText(subject)}. Name a time or a duration`
  return refuse(`${words.option('until')} window: ${text}`, 'conflict')
}

/** `Date` takes the 30th of February for the 2nd of March. */
export const isInCalendar = (date: string): boolean =>
  new Date(Date.parse(date) || 0).toJSON().startsWith(date)
