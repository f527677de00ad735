import type { DeniedDecision, Subject } from '@sluice/core'
import { choices } from '@sluice/core/choices'
import { runtimeOf } from '@sluice/core/internal/limiter'
import {
  fitRange,
  reserve,
  type FitRange,
  type ReserveDecision,
  type ReserveOptions,
} from '@sluice/core/reservations'
import { admit, type AskFor } from '../call/engine.ts'
import type { AdmittedCall, CallTenant } from '../call/options.ts'
import type { PreparedCall } from '../call/prepare.ts'

/** The most policies of one decision, over all of its choices. */
const MAX_ENTRIES = 256

/** The reservation that a call asks for. */
interface Question {
  readonly caller: Subject
  readonly terms: ReserveOptions
  readonly answer: (decision: ReserveDecision) => void
}

/**
 * Admits the first of several calls that has room for its usual output, in one decision. If none has, the first that has
 * room for its fewest.
 *
 * @returns The admitted call and its position, or the denial.
 */
export async function admitFirst<Call extends PreparedCall>(
  calls: readonly Call[],
  tenant: CallTenant,
): Promise<[AdmittedCall<Call> | DeniedDecision, position: number]> {
  const [only] = calls
  if (only && calls.length === 1) return [await admit(only, tenant), 0]
  const { policies } = runtimeOf(tenant.limiter).program
  const inFull = calls.map((call) => ({ ...call, floor: call.usual }))
  const shortened = tenant.options.learn ? [] : calls.filter(({ floor, usual }) => floor < usual)
  const most = Math.max(calls.length, Math.floor(MAX_ENTRIES / policies.length))
  const list = [...inFull, ...shortened].slice(0, most)

  const questions: Question[] = []
  const askFor: AskFor = (_, caller, terms) =>
    new Promise((answer) => questions.push({ caller, terms, answer }))
  const admissions = list.map((call) => admit(call, tenant, askFor))
  // One has failed before it asked.
  if (questions.length < list.length) await Promise.all(admissions)
  const { cost: _cost, fit: _fit, ...terms } = questions[0]!.terms
  const isFitted = questions.some((one) => one.terms.fit)
  const decision = await reserve(tenant.limiter, tenant.subject, {
    ...terms,
    choices: choices(
      questions.map(({ caller, terms: { cost, fit } }, at) => ({
        subject: { model: caller.model as string },
        cost,
        // All of them, or none, have one.
        fit: isFitted ? (fit ?? wholeOf(list[at]!.output, cost as object)) : undefined,
      })),
    ),
  })
  if (!decision.allowed) return [decision, 0]
  const { choice } = decision
  questions[choice]!.answer(decision)
  const position = choice < calls.length ? choice : calls.indexOf(shortened[choice - calls.length]!)
  return [await admissions[choice]!, position]
}

/** Returns a range of which all is granted, and its cost is known. */
const wholeOf = (output: number, cost: object): FitRange =>
  fitRange({ floor: output, most: output, rates: { [Object.keys(cost)[0] ?? '']: 0 } })
