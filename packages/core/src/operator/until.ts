import type { PolicyRule } from '../policies/policy.ts'
import { refuse, type OperatorWords } from './task.ts'

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
 * Returns the end of a change of one policy: `window` is the end of the window that runs now, as of a cap.
 *
 * @throws OperatorError When the policy has no window that ends for all units at once.
 */
export function untilOfPolicy(
  text: string,
  { name, algorithm, params }: PolicyRule,
  words: OperatorWords,
): Date {
  if (text !== 'window') return untilOf(text, words)
  const end = algorithm.traits?.windowEnd?.(params, Date.now())
  if (end === undefined)
    refuse(
      `${words.option('until')} window: the window of ${name} ends at no one time, because each unit returns by itself. Name a time or a duration; caps and fixed windows have an end`,
    )
  return new Date(end)
}

/** `Date` takes the 30th of February for the 2nd of March. */
export const isInCalendar = (date: string): boolean =>
  new Date(Date.parse(date) || 0).toJSON().startsWith(date)
