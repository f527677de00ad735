import type { Extension, Listeners, PolicyRule, WaitUntil } from '@sluice/core'
import type { DashboardRecord, SourceOptions } from './record.ts'
import { listen, logProblem } from '@sluice/core'
import { costIn, decisionRecord, settledRecord, tenantOf } from './record.ts'

/** The longest message of a problem that is shown, in UTF-16 units. The log has the whole. */
const MAX_MESSAGE = 1_000

/** Takes the record of an event. `waitUntil` keeps work running after the response of its request. */
type Take = (record: DashboardRecord, waitUntil?: WaitUntil) => void

/** Creates an extension that reports a limiter's events to `take`. */
export const watchWith = (options: SourceOptions, take: Take): Extension =>
  Object.freeze({
    ...listen({}),
    join: (host: ExtensionHost) => listen(listenersOf(options, take, host.policies)).join(host),
  })

type ExtensionHost = Parameters<Extension['join']>[0]

/** Returns listeners that reduce the events of a limiter with these rules to records. */
export const listenersOf = (
  options: SourceOptions,
  take: Take,
  rules: readonly PolicyRule[],
): Listeners => ({
  decision: ({ decision, subject, call }) =>
    take(decisionRecord(decision, subject, options, rules), call.waitUntil),
  reserved: ({ id, subject, decision, settleBy }) => {
    const { name: limiter = 'limits' } = options
    const { at, degraded } = decision
    const call = { id, usd: costIn(decision, 'usd'), at, settleBy, isDegraded: !!degraded }
    take({ type: 'reserved', limiter, tenant: tenantOf(subject, options), ...call })
  },
  settled: (event) => take(settledRecord(event)),
  abandoned: ({ id }) => take({ type: 'abandoned', id }),
  problem(problem) {
    const { code, message } = problem
    // A limiter logs its problems only if nobody listens, and they belong in the log, too.
    logProblem(problem)
    take({ type: 'problem', code, message: message.slice(0, MAX_MESSAGE) })
  },
})
