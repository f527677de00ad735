import type { Decision, DeniedDecision, Limiter, Subject } from '@sluice/core'
import {
  fitRange,
  reserve,
  settleWithRetry,
  unitNamesOf,
  type ReserveDecision,
  type ReserveOptions,
  type Settled,
} from '@sluice/core/reservations'
import { reportCut, reportModelEnd } from '@sluice/core/internal/limiter'
import { logError } from '../log-error.ts'
import type { Usage } from '../usage.ts'
import type { Units } from './call-units.ts'
import { wasNeverSent } from './never-sent.ts'
import type { AdmittedCall, CallTenant } from './options.ts'
import type { PreparedCall } from './prepare.ts'
import { SETTLED_UNITS, unitsUsed } from './settling.ts'

/** Asks a limiter for a reservation. */
export type AskFor = (
  limiter: Limiter,
  subject: Subject,
  options: ReserveOptions,
) => Promise<ReserveDecision>

/**
 * Reserves the most that a call may use, in one decision with every policy of the limiter.
 *
 * @throws InputError As `limiter.check` does.
 */
export async function admit<Call extends PreparedCall>(
  call: Call,
  tenant: CallTenant,
  askFor: AskFor = reserve,
): Promise<AdmittedCall<Call> | DeniedDecision> {
  const { limiter, subject, options, waitUntil } = tenant
  const names = unitNamesOf(limiter)
  const counted = SETTLED_UNITS.filter((unit) => names.has(unit))
  reportModelEnd(limiter, call.countedAs, options.prices)
  const only = (amounts: Units, least: Units = {}): Units => {
    const units: Record<string, number> = {}
    for (const unit of counted) units[unit] = Math.max(amounts[unit] ?? 0, least[unit] ?? 0)
    return units
  }
  const { cost, inputCost, outputRates, floor, output } = call
  const product = Math.max(...counted.map((unit) => (outputRates[unit] ?? 0) * output))
  const { settleWithin, unsettled, maxShare, learn } = options
  const learned = learn?.expect(subject, call.countedAs, output)
  const [least, most, usual] = learned ? [learned, learned] : [floor, output, call.usual]
  // A maximum that no model has is reserved in full: products of it may not be exact.
  const isFitted = least < output && product > 0 && product <= 2 ** 52
  const caller = { ...subject, model: subject.model ?? call.countedAs }
  const decision = await askFor(limiter, caller, {
    cost: only(isFitted ? inputCost : cost),
    fit: isFitted ? fitRange({ floor: least, most, usual, rates: only(outputRates) }) : undefined,
    waitUntil,
    settleWithin,
    unsettled,
    maxShare,
  })
  if (!decision.allowed) return decision

  const { granted = output } = (learned ? {} : decision) as { readonly granted?: number }
  const settle = async (usage: Usage): Promise<void> => {
    await options.prices?.live?.refresh()
    const used = unitsUsed(usage, call, options)
    const counts = usage.complete || options.onIncomplete === 'counted'
    // Let in without the store, it has no policies, and may cost the most.
    const reserved = learned ? cost : { ...cost, ...reservedBy(decision) }
    const settled = only(used, counts ? {} : reserved)
    const told = granted && usage.output >= granted ? { ...usage, isCut: true } : usage
    reportCut(limiter, { subject: caller, decision, usage: told })
    try {
      await settleWithRetry(() => decision.settle(settled))
    } finally {
      if (usage.complete) learn?.observe(subject, call.countedAs, usage.output)
      // The provider bills it, also if the store does not know.
      await options.onUsage?.(told, subject)
    }
  }

  const end = (settleIt: () => Promise<Settled>): void => settleLater(tenant, settleIt)
  return {
    allowed: true,
    call,
    tenant,
    decision,
    output: granted,
    settle,
    // The request itself stays counted: errors are not free to repeat.
    failed: () => end(() => decision.settle(only({}))),
    cancel: () => end(() => decision.cancel()),
    unanswered: (error) =>
      end(() =>
        wasNeverSent(error) ? decision.cancel() : decision.settle(learned ? only(cost) : {}),
      ),
  }
}

/** Settles a call after its answer. */
function settleLater({ options, waitUntil }: CallTenant, settleIt: () => Promise<Settled>): void {
  const { onError = logError } = options
  const safe = settleWithRetry(settleIt).catch(onError)
  try {
    waitUntil?.(safe)
  } catch (error) {
    onError(error)
  }
}

/** Returns the most that a policy has charged, by unit. */
function reservedBy({ policies }: Decision): Units {
  const most: Record<string, number> = {}
  for (const { unit, cost } of policies) most[unit] = Math.max(most[unit] ?? 0, cost)
  return most
}
