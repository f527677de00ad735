/* The stop of a subject, among its settings and in the history of changes. */
import { readHistory } from '../configuration/apply.ts'
import type { ConfigurationEntry } from '../configuration/document.ts'
import type { PastChange } from '../configuration/history.ts'
import { entryKey } from '../configuration/stored-entries.ts'
import type { Limiter } from '../limiter/limiter.ts'
import type { PolicyChange } from './change-settings.ts'
import type { Dimensions, OperatorWords } from './task.ts'
import { settingsOf } from './look.ts'

/** Lists the settings by which a subject is stopped: of its partitions, with a limit of 0 for a time. */
export async function stopsOf(
  limiter: Limiter,
  subject: Dimensions,
): Promise<ConfigurationEntry[]> {
  const entries = await settingsOf(limiter, subject)
  return entries.filter(
    (entry) =>
      entryKey('', entry.subject) === entryKey('', subject) &&
      entry.temporary?.settings.limit === 0,
  )
}

type Stored = Readonly<Record<string, unknown>> & { readonly temporary?: StoredTemporary }
type StoredTemporary = Readonly<Record<string, number | string>> & { readonly until: string }

const isStop = (stored: Stored | undefined): boolean => stored?.temporary?.['limit'] === 0

/** Lists the changes that have stopped a policy for a subject, the newest first. */
const stopsIn = (history: readonly PastChange[], policy: string, subject: Dimensions) =>
  history.flatMap(({ changes, by, note }) => {
    const change = changes.find(
      (one) => entryKey(one.policy, one.subject) === entryKey(policy, subject),
    )
    const [from, to] = [change?.from, change?.to] as (Stored | undefined)[]
    return isStop(to) ? [{ from, by, note }] : []
  })

/** Returns the change that ends the stop of a policy: to the temporary settings of before, unless they have ended. */
export async function endOfStop(
  limiter: Limiter,
  policy: string,
  subject: Dimensions,
): Promise<PolicyChange> {
  const stops = stopsIn(await readHistory(limiter), policy, subject)
  const before = stops.find(({ from }) => !isStop(from))?.from?.temporary
  if (!before || Date.parse(before.until) <= Date.now()) return { until: null }
  return { ...before, until: new Date(before.until) }
}

/** Returns a sentence that says by whom a subject was stopped and why; `undefined` if it is not stopped. */
export async function stopText(
  limiter: Limiter,
  subject: Dimensions,
  { startOf }: Pick<OperatorWords, 'startOf'>,
): Promise<string | undefined> {
  const [stop] = await stopsOf(limiter, subject)
  if (!stop) return undefined
  const [last] = stopsIn(await readHistory(limiter), stop.policy, subject)
  const by = last?.by === undefined ? '' : ` by ${last.by}`
  const note = last?.note === undefined ? '' : ` (${last.note})`
  return `${nameOf(subject)} is stopped${by}${note}: ${startOf(subject)} ends it.`
}

/** Names a subject by the value of its only dimension, or by all of them. */
export const nameOf = (subject: Dimensions): string => Object.values(subject).join(' ')
