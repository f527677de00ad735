/* The decision which model answers a call: the requested one, or one of a list. */
import type { Decision, DeniedDecision, Subject } from '@sluice/core'
import { invalidOption } from '@sluice/core/internal'
import { amountText } from '@sluice/core/internal/text'
import { logError } from '../log-error.ts'
import { admitFirst } from './admit-first.ts'
import { rungOf, type FallbackModel } from './assert-ladder.ts'
import type { AdmittedCall } from '../call/options.ts'
import { preparedFor, type CallToPrepare } from './prepared-for.ts'
import type { PreparedCall } from '../call/prepare.ts'
import type { StickyRuns } from './sticky-runs.ts'

/** A call that another model answers, or none. */
export interface Fallback {
  readonly subject: Subject
  /** The model that was requested. */
  readonly asked: string
  /** The model that is called instead; `undefined` if no model has room. */
  readonly used: string | undefined
  /** The models that cannot take this call, each with the reason. */
  readonly skipped: readonly SkippedModel[]
  /** The decision. Its `tried` says which limits had no room for the models before the one that is used. */
  readonly decision: Decision
  /** True if a model was called, and its provider has failed. */
  readonly isAfterFailure: boolean
}

/** A model that a call is not sent to, with the reason in a sentence. */
export interface SkippedModel {
  readonly model: string
  readonly reason: string
}

/** A subject, with the requested model. */
export type AskedSubject = Subject & { readonly askedModel: string }

/** The models to call instead, or a function that returns them for a call. */
export type FallbackList =
  readonly FallbackModel[] | ((subject: AskedSubject) => readonly FallbackModel[])

/** A call, and the list of models that may answer it. */
interface LadderTerms<Call extends PreparedCall, Asked> extends CallToPrepare<Call, Asked> {
  readonly models: FallbackList
  readonly onFallback: ((fallback: Fallback) => unknown) | undefined
  readonly runs: StickyRuns | undefined
}

/** An admitted call of a list. */
export interface LadderCall<Call extends PreparedCall> extends AdmittedCall<Call> {
  /** False if the requested model alone may answer it. */
  readonly hasOthers: boolean
  /** True if another model than the requested one answers. */
  readonly isOther: boolean
  /** Admits the call by one of the models after this one; `undefined` if there is none. */
  readonly next: (() => Promise<LadderCall<Call> | DeniedDecision>) | undefined
}

/** Admits a call by the first model of its list that every budget and limit has room for. */
export async function admitByLadder<Call extends PreparedCall, Asked>(
  terms: LadderTerms<Call, Asked>,
): Promise<LadderCall<Call> | DeniedDecision> {
  const { call, onFallback, runs } = terms
  // Usage and events have it beside the model that is used.
  const subject = { ...terms.tenant.subject, askedModel: call.countedAs }
  const tenant = { ...terms.tenant, subject }
  const [all, skipped] = await callsOf({ ...terms, tenant })
  const calls = runs?.inOrder(subject, all) ?? all

  async function report(
    decision: Decision,
    used: string | undefined,
    isAfterFailure: boolean,
  ): Promise<void> {
    const { onError = logError } = tenant.options
    try {
      const asked = call.model
      await onFallback?.({ subject, asked, used, skipped, decision, isAfterFailure })
    } catch (error) {
      onError(error)
    }
  }

  async function decide(from: number): Promise<LadderCall<Call> | DeniedDecision> {
    const [admitted, at] = await admitFirst(calls.slice(from), tenant)
    const position = from + at
    if (!admitted.allowed) {
      await report(admitted, undefined, from > 0)
      return admitted
    }
    const isOther = admitted.call.model !== call.model
    runs?.note(subject, admitted.call.model)
    if (isOther || skipped.length > 0)
      await report(admitted.decision, admitted.call.model, from > 0)
    const isLast = position === calls.length - 1
    return {
      ...admitted,
      hasOthers: calls.length > 1,
      isOther,
      next: isLast ? undefined : () => decide(position + 1),
    }
  }
  return decide(0)
}

/** Returns the call by each model that can answer it, the requested one first, and the models that cannot. */
async function callsOf<Call extends PreparedCall, Asked>(
  terms: LadderTerms<Call, Asked>,
): Promise<[calls: Call[], skipped: SkippedModel[]]> {
  const { call, models, tenant } = terms
  const calls = [call]
  const skipped: SkippedModel[] = []
  let least = estimateOf(call, call.output)
  const list: unknown =
    typeof models === 'function' ? models(tenant.subject as AskedSubject) : models
  if (!Array.isArray(list)) {
    throw invalidOption(
      'fallbackModels',
      'must return a list of models, and no promise of one',
      list,
    )
  }
  for (const [at, model] of (list as readonly FallbackModel[]).entries()) {
    const rung = rungOf(`fallbackModels[${at}]`, model)
    const other = await preparedFor(rung, terms)
    if (typeof other === 'string') {
      skipped.push({ model: rung.name, reason: other })
    } else if (calls.every((one) => one.model !== other.model)) {
      const estimate = estimateOf(other, call.output)
      if (estimate <= least || rung.mayCostMore) calls.push(other)
      else skipped.push({ model: rung.name, reason: tooDear(estimate, least) })
      least = rung.mayCostMore ? estimate : Math.min(estimate, least)
    }
  }
  return [calls, skipped]
}

/** Returns the micro-dollars of a call with so much output. */
function estimateOf({ inputCost, outputRates }: PreparedCall, output: number): number {
  return (inputCost['usd'] ?? 0) + ((outputRates['usd'] ?? 0) * output) / 1e6
}

const tooDear = (estimate: number, least: number): string =>
  `may cost ${amountText(Math.ceil(estimate), 'usd')} for this call, and a model before it ${amountText(Math.ceil(least), 'usd')}`
