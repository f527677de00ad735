import type {
  AllowedDecision,
  Decision,
  DeniedDecision,
  Limiter,
  Subject,
  WaitUntil,
} from '@sluice/core'
import {
  fitRange,
  reserve,
  settleWithRetry,
  unitNamesOf,
  type ReserveOptions,
  type Settled,
} from '@sluice/core/reservations'
import { reportCut, reportModelEnd } from '@sluice/core/internal/limiter'
import type { UsageFormat } from '../formats/format.ts'
import type { LearnedOutput } from '../policies/learned-output.ts'
import { logError } from '../log-error.ts'
import type { Usage } from '../usage.ts'
import type { Units } from './call-units.ts'
import { wasNeverSent } from './never-sent.ts'
import type { CallTerms, PreparedCall } from './prepare.ts'
import { SETTLED_UNITS, unitsUsed } from './settling.ts'

/** Options of every way to make a limited model call. */
export interface CallOptions
  extends CallTerms, Pick<ReserveOptions, 'settleWithin' | 'unsettled' | 'maxShare'> {
  /**
   * Reserves as much output as the latest answers had, created by `learnedOutput`. Not with `minOutput`.
   *
   * @default the maximum is reserved
   */
  readonly learn?: LearnedOutput
  /**
   * The charge of an answer whose provider did not report its usage: `keep` the estimate, which is the most
   * that the call may have used, or charge what was `counted` while it passed, in which hidden
   * reasoning is missing. @default 'keep'
   */
  readonly onIncomplete?: 'keep' | 'counted'
  /**
   * The status of a denial by a daily or monthly budget that is used up: 429, or 402 (Payment Required),
   * which asks the client to pay instead of to wait. @default 429
   */
  readonly spentStatus?: 402 | 429
  /** The largest body of a request, in bytes; a larger one is answered with 413. @default 4_000_000 */
  readonly maxBodyBytes?: number
  /**
   * The formats that answers may have beside those of OpenAI and Anthropic, from `@sluice/ai/formats`.
   *
   * @default none
   */
  readonly formats?: readonly UsageFormat[]
  /** Called once per call with its usage, after settling succeeded or failed. @default none */
  readonly onUsage?: (usage: Usage, subject: Subject) => unknown
  /** Called with faults in settling and metering. @default console.error */
  readonly onError?: (error: unknown) => void
}

/** The caller of a model, and the limits on it. */
export interface CallTenant {
  readonly limiter: Limiter
  readonly subject: Subject
  readonly options: CallOptions
  readonly waitUntil: WaitUntil | undefined
}

/** A call that a limiter has let in, charged at its estimate. */
export interface AdmittedCall<Call extends PreparedCall = PreparedCall> {
  readonly allowed: true
  readonly call: Call
  readonly tenant: CallTenant
  readonly decision: AllowedDecision
  /** The output tokens that it may use, over all answers. */
  readonly output: number
  /** Gives back what a call used that the provider answered with an error. */
  failed(): void
  /**
   * Settles a call of which no answer came. The provider may have been at work, so the estimate stays, unless the
   * error proves that nothing was sent. Pass it only if it is of one `fetch`: what a user's function does before
   * it fails cannot be seen.
   */
  unanswered(error?: unknown): void
  /** Gives back everything that was charged for a call that was never sent. */
  cancel(): void
  /** Settles a usage that is known. */
  settle(usage: Usage): Promise<void>
}

/**
 * Reserves the most that a call may use, in one decision with every policy of the limiter.
 *
 * @throws InputError As `limiter.check` does.
 */
export async function admit<Call extends PreparedCall>(
  call: Call,
  tenant: CallTenant,
): Promise<AdmittedCall<Call> | DeniedDecision> {
  const { limiter, subject, options, waitUntil } = tenant
  const units = unitNamesOf(limiter)
  const counted = SETTLED_UNITS.filter((unit) => units.has(unit))
  reportModelEnd(limiter, call.countedAs, options.prices)
  const only = (amounts: Units): Units =>
    Object.fromEntries(counted.map((unit) => [unit, amounts[unit] ?? 0]))
  const { cost, inputCost, outputRates, floor, output } = call
  // A maximum that no model has is reserved in full: products of it may not be exact.
  const isExact = Object.values(outputRates).every((rate) => rate * output <= 2 ** 52)
  const { settleWithin, unsettled, maxShare, learn } = options
  const learned = learn?.expect(subject, call.countedAs, output)
  const [least, most, usual] = learned ? [learned, learned] : [floor, output, call.usual]
  const isFitted = least < output && isExact && counted.some((unit) => unit in outputRates)
  const caller = { ...subject, model: subject.model ?? call.countedAs }
  const decision = await reserve(limiter, caller, {
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
    const settled = Object.fromEntries(
      counted.map((unit) => [unit, Math.max((!counts && reserved[unit]) || 0, used[unit])]),
    )
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

  const end = (settleIt: () => Promise<Settled>): void => settleInBackground(tenant, settleIt)
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

function settleInBackground({ waitUntil, options }: CallTenant, settle: () => Promise<Settled>) {
  const { onError = logError } = options
  const safe = settleWithRetry(settle).catch(onError)
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
