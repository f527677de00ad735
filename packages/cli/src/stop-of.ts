/* The stop of a tenant, among its settings and in the history of changes. */
import type { Limiter } from '@sluice/core'
import { readHistory, type ConfigurationEntry, type PastChange } from '@sluice/core/configuration'
import type { PolicyChange } from './change-settings.ts'
import { settingsOf } from './settings.ts'

/** Lists the settings by which a tenant is stopped: of its partitions, with a limit of 0 for a time. */
export async function stopsOf(limiter: Limiter, tenant: string): Promise<ConfigurationEntry[]> {
  const entries = await settingsOf(limiter, { tenant })
  return entries.filter(
    ({ subject, temporary }) => subject !== undefined && temporary?.settings.limit === 0,
  )
}

type Stored = Readonly<Record<string, unknown>> & { readonly temporary?: StoredTemporary }
type StoredTemporary = Readonly<Record<string, number | string>> & { readonly until: string }

const isStop = (stored: Stored | undefined): boolean => stored?.temporary?.['limit'] === 0

/** Lists the changes that have stopped a policy for a tenant, the newest first. */
const stopsIn = (history: readonly PastChange[], policy: string, tenant: string) =>
  history.flatMap(({ changes, by, note }) => {
    const change = changes.find(
      (one) => one.policy === policy && one.subject?.['tenant'] === tenant,
    )
    const [from, to] = [change?.from, change?.to] as (Stored | undefined)[]
    return isStop(to) ? [{ from, by, note }] : []
  })

/** Returns the change that ends the stop of a policy: to the temporary settings of before, unless they have ended. */
export async function endOfStop(
  limiter: Limiter,
  policy: string,
  tenant: string,
): Promise<PolicyChange> {
  const stops = stopsIn(await readHistory(limiter), policy, tenant)
  const before = stops.find(({ from }) => !isStop(from))?.from?.temporary
  if (!before || Date.parse(before.until) <= Date.now()) return { until: null }
  return { ...before, until: new Date(before.until) }
}

/** Returns a sentence that says by whom a tenant was stopped and why; `undefined` if it is not stopped. */
export async function stopText(limiter: Limiter, tenant: string): Promise<string | undefined> {
  const [stop] = await stopsOf(limiter, tenant)
  if (!stop) return undefined
  const [last] = stopsIn(await readHistory(limiter), stop.policy, tenant)
  const by = last?.by === undefined ? '' : ` by ${last.by}`
  const note = last?.note === undefined ? '' : ` (${last.note})`
  return `${tenant} is stopped${by}${note}: sluice start ${tenant} ends it.`
}
