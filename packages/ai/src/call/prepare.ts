import { InputError } from '@sluice/core'
import { assertPositiveInteger } from '@sluice/core/internal'
import { invalidBody } from '../estimate/invalid-body.ts'
import { units } from '../formats/provider-usage.ts'
import { byteLength, isObject, objectOf, own, type Json } from '../json.ts'
import { baseName, isNamed } from '../model-name.ts'
import type { PricedCall, PricedUsage, Prices } from '../prices/prices.ts'
import { isAnthropic, maximumField, type ModelApi } from './api.ts'
import { tokensOf, unitsOfCall, type CallUnits, type InputTerms } from './call-units.ts'
import { adaptToHost, bodyToSend, maximumFor, type BodyTerms } from './sent-body.ts'

/** The parts of the options that say what may be called, and at which price. */
export interface CallTerms extends InputTerms, BodyTerms {
  /**
   * The models that may be called: a list of names, which cover dated snapshots, or the model to call by the name
   * that clients use.
   *
   * @default every model that has a price
   */
  readonly models?: readonly string[] | Readonly<Record<string, string>>
  /** Prices by model, such as `LIST_PRICES`. Needed if a policy counts `usd`. */
  readonly prices?: Prices
  /**
   * The most output tokens of one answer, with its thinking. A request that sets a lower maximum keeps it; any
   * other is sent with this one, and refused if its thinking budget leaves no room for an answer.
   * `limitedModel` adds the thinking budget, as the AI SDK does.
   *
   * @default the model's own by `prices`, else 16_384
   */
  readonly maxOutput?: number
  /**
   * The output tokens of one answer that a call reserves if there is room. Up to its maximum, it gets more only while that
   * is no more than a quarter of what is left. A thinking budget comes on top. A function returns it for the body of a
   * call, or `undefined` for the default.
   *
   * @default 4_096; for a model that thinks by default, or is asked to by `thinking`, 16_384
   */
  readonly usualOutput?: number | ((body: Json) => number | undefined)
  /**
   * The fewest output tokens that an answer is worth. If the budgets have room for fewer than `usualOutput`, the
   * call is sent with as many as fit, down to this number, instead of being denied.
   *
   * @default 4_096 and the thinking budget, or the lower maximum of the request or `usualOutput`
   */
  readonly minOutput?: number
}

/** The terms of a call, and `learn` if no decision grants its maximum, which then is the usual one. */
type OutputTerms = CallTerms & { readonly learn?: unknown }

/** A call, and the most that it is expected to use. */
export interface PreparedCall extends CallUnits, PricedCall {
  /** The model to call. */
  readonly model: string
  /** The one name that all spellings of the model are counted under (`subject.model`). */
  readonly countedAs: string
  /** Input tokens, estimated or bounded. */
  readonly input: number
  /** The most output tokens, over all answers. */
  readonly output: number
  /** The output tokens that it gets if there is room, over all answers. */
  readonly usual: number
  /** The fewest output tokens that are worth the call, over all answers. */
  readonly floor: number
}

/** A call that is sent as a body of JSON. */
export interface PreparedBody extends PreparedCall {
  /** Returns the body to send, as JSON text, with a maximum of so many output tokens over all answers. */
  readonly bodyFor: (output: number) => string
  /** True if the answer reports a usage that the client did not ask for. */
  readonly addsUsage: boolean
  readonly api: ModelApi
  /** The address to send it to, if it is known. */
  readonly url: URL | undefined
}

/** Prepares a call: as it was asked for, or after a change of its body, or of its model of the AI SDK. */
export type Prepare<Call, Asked> = (change?: (asked: Asked) => Asked) => Call | Promise<Call>

/** The default of `usualOutput` for models that do not think by default. */
const USUAL_OUTPUT = 4_096

/** The default of `usualOutput` for models that do, and the largest maximum that every current model takes. */
const THINKING_OUTPUT = 16_384

/** The models that think by default, by the data of models.dev and of `@ai-sdk/anthropic` 4.0.105, read on 2026-11-28. */
export const THINKS: RegExp = /\bo\d|gpt-[5-9]|claude-\D*[5-9]|gemini/i

/**
 * Builds the body to send from the client's body: with a known model and a maximum, a stream that reports its
 * usage, and no field that costs anything beside tokens.
 *
 * @param url The provider's, if it is known.
 * @throws InputError `invalid_body` when a field is malformed or not allowed.
 * @throws InputError `unknown_model` when the model is not offered, or has no price.
 */
export function prepareCall(
  body: unknown,
  terms: OutputTerms,
  api: ModelApi,
  url?: URL,
): PreparedBody {
  if (!isObject(body)) throw invalidBody('must be a JSON object')
  const model = modelToCall(own(body, 'model'), terms)
  const sent = bodyToSend(body, api, model, terms)
  const thinking = thinkingBudget(sent)
  const [usual, allowed] = outputOf(model, sent, thinking, terms)
  const least = leastOutput(usual, thinking, terms)
  const maximum = maximumField(api, model)
  if (maximum) sent[maximum] = maximumFor(body, maximum, allowed, thinking)
  const addsUsage = adaptToHost(sent, api, terms, url?.hostname)
  const text = JSON.stringify(sent)
  const bytes = byteLength(text)
  const { input, output: most } = tokensOf(sent, bytes, terms)
  const output = maximum ? most : 0
  const answers = maximum ? most / (sent[maximum] as number) : 1
  return {
    model,
    countedAs: countedName(model, terms.prices),
    bodyFor: (granted) =>
      maximum && granted < most
        ? JSON.stringify({ ...sent, [maximum]: Math.floor(granted / answers) })
        : text,
    addsUsage,
    input,
    output,
    usual: Math.min(output, Math.max(usual, least) * answers),
    floor: Math.min(output, least * answers),
    api,
    url,
    ...unitsOfCall(
      model,
      { ...mostExpensive(input, output, api, text), tier: tierAsked(sent) },
      Math.max(input, bytes),
      terms.prices,
    ),
  }
}

/** Returns the service tier that a call asks for, which the user has allowed. */
export const tierAsked = ({ speed, service_tier: tier }: Json): string | undefined =>
  (speed === 'fast' ? speed : tier) as string | undefined

/** Returns the output tokens of one answer, its thinking included: those to reserve if there is room, and the most. */
export function outputOf(
  model: string,
  body: Json,
  budget: number,
  { usualOutput, maxOutput, prices, learn }: OutputTerms,
): [usual: number, most: number] {
  const byModel = body['thinking'] || THINKS.test(model) ? THINKING_OUTPUT : USUAL_OUTPUT
  const chosen = typeof usualOutput === 'function' ? usualOutput(body) : usualOutput
  const usual = budget + assertPositiveInteger('usualOutput', chosen ?? byModel)
  const known = learn ? usual : prices?.findPrice(model).maxOutput
  return [usual, maxOutput ?? known ?? THINKING_OUTPUT + budget]
}

/** Returns the fewest output tokens to send a call for: at least one more than it may think. */
export const leastOutput = (
  usual: number,
  budget: number,
  { minOutput = Math.min(usual, USUAL_OUTPUT + budget) }: CallTerms,
): number => Math.max(minOutput, budget + 1)

/** Returns the tokens that a model may think, of which Anthropic and OpenRouter want fewer than the maximum. */
const thinkingBudget = ({ thinking, reasoning }: Json): number =>
  Math.max(units(objectOf(thinking)['budget_tokens']), units(objectOf(reasoning)['max_tokens']))

/** Returns the model to call by the name that a client uses. @throws InputError When it is not offered, or has no price. */
export function modelToCall(name: unknown, { models, prices }: CallTerms): string {
  if (typeof name !== 'string' || name === '') throw invalidBody('must name a model', 'model')
  const model = Array.isArray(models)
    ? models.some((one: string) => isNamed(name, one)) && name
    : models
      ? own(models as Json, name)
      : name
  try {
    if (typeof model === 'string') {
      prices?.findPrice(model)
      return model
    }
  } catch {
    // It has no price.
  }
  const reason =
    'has no price, or is not in the option models: add it by `sluice prices set` or definePrices, or set unknownModel'
  throw new InputError('unknown_model', 'model', `${JSON.stringify(name).slice(0, 64)} ${reason}`)
}

/**
 * Returns one name for all spellings of a model, so that another spelling has no budget of its own: the
 * name that its price is listed under, or `'other'` for models that are not listed.
 */
export const countedName = (model: string, prices: Prices | undefined): string =>
  prices ? (prices.nameOf(model) ?? 'other') : baseName(model)

/** The usage to take the price of: input is written to a cache where that may happen and costs more. */
function mostExpensive(input: number, output: number, api: ModelApi, text: string): PricedUsage {
  const cacheWrite = !isAnthropic(api) || text.includes('"cache_control"') ? input : 0
  return { input, output, cacheWrite, longCacheWrite: text.includes('"1h"') ? cacheWrite : 0 }
}
