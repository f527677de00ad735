import { InputError } from '@sluice/core'
import { invalidOption } from '@sluice/core/internal'
import { isObject } from '../json.ts'
import { isClaude } from '../model-name.ts'
import type { AiSdkModel } from '../call/model-call.ts'
import { modelToCall, type CallTerms } from '../call/prepare.ts'

/**
 * A model to fall back to: by its name, or for `limitedModel` a model of the AI SDK. With `mayCostMore` it is also called
 * where it is estimated to cost more than the models before it.
 */
export type FallbackModel =
  string | AiSdkModel | { readonly model: string | AiSdkModel; readonly mayCostMore: boolean }

/** The most models of a list. */
const MAX_MODELS = 15

/** One model of a list. */
export interface Rung {
  readonly name: string
  /** The model, for the AI SDK. */
  readonly target: AiSdkModel | undefined
  readonly mayCostMore: boolean
}

/** Returns a model of a list. @throws ConfigError When it is malformed. */
export function rungOf(option: string, model: FallbackModel): Rung {
  const isWrapped = isObject(model) && 'mayCostMore' in model
  const { mayCostMore = false } = isWrapped ? model : {}
  const target: unknown = isWrapped ? model.model : model
  const { modelId, doGenerate } = (isObject(target) ? target : {}) as Partial<AiSdkModel>
  const isModel = typeof doGenerate === 'function'
  const name = isModel ? modelId : target
  // A header names it.
  if (typeof name === 'string' && /^[!-~]+$/.test(name) && typeof mayCostMore === 'boolean') {
    return { name, target: isModel ? (target as AiSdkModel) : undefined, mayCostMore }
  }
  const message =
    'must be the name of a model, a model of the AI SDK, or one of them as { model, mayCostMore: true }'
  throw invalidOption(option, message)
}

/**
 * Throws a `ConfigError` if a list has a model that a door with these options cannot call in any case. A list that a
 * function returns is known at each call alone.
 */
export function assertLadder(door: string, models: unknown, terms: CallTerms): void {
  if (typeof models === 'function') return
  const option = `${door}.fallbackModels`
  if (!Array.isArray(models) || models.length > MAX_MODELS) {
    throw invalidOption(option, `must be a list of at most ${MAX_MODELS} models, or a function`)
  }
  const rungs = models.map((model: FallbackModel, at) => rungOf(`${option}[${at}]`, model))
  for (const [at, rung] of rungs.entries()) {
    const reason = reasonAgainst(door, rung, rungs.slice(0, at), terms)
    if (reason) throw invalidOption(`${option}[${at}]`, reason)
  }
}

/** Returns the reason for which a door can never call a model after these. */
function reasonAgainst(
  door: string,
  { name, target, mayCostMore }: Rung,
  before: readonly Rung[],
  terms: CallTerms,
): string | undefined {
  if (door === 'limitedModel' && !target) {
    return 'must be a model of the AI SDK, such as openai("gpt-6-luna"): a model cannot be renamed'
  }
  if (door !== 'limitedModel' && target) return 'must be the name of a model'
  if (before.some((rung) => rung.name === name)) return 'must be listed once'
  const { prices } = terms
  // They may list it at the first call.
  if (prices?.live) return undefined
  try {
    const price = prices?.findPrice(modelToCall(name, terms))
    const cheaper = before.find((rung) => {
      const other = prices?.findPrice(modelToCall(rung.name, terms))
      // A text has more tokens for Claude.
      const hasMoreTokens = isClaude(name) || !isClaude(rung.name)
      return (
        price && other && hasMoreTokens && price.input > other.input && price.output > other.output
      )
    })
    if (!cheaper || mayCostMore) return undefined
    return `costs more than "${cheaper.name}": list it before that, or as { model, mayCostMore: true }`
  } catch (error) {
    if (error instanceof InputError) return error.reason
    throw error
  }
}
