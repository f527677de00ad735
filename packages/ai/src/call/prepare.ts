import { InputError } from '@sluice/core'
import { assertPositiveInteger } from '@sluice/core/internal'
import { invalidBody } from '../estimate/invalid-body.ts'
import { byteLength, isGiven, isObject, objectOf, own, type Json } from '../json.ts'
import { baseName, isNamed } from '../model-name.ts'
import type { PricedCall, PricedUsage, Prices } from '../prices/prices.ts'
import { API_RULES, costsTokensOnly, isAnthropic, maximumField, type ModelApi } from './api.ts'
import { MAXIMA } from '../estimate/estimate.ts'
import { tokensOf, unitsOfCall, type CallUnits, type InputTerms } from './call-units.ts'
import { uncounted } from './hidden-input.ts'
import { hasTierSetting, refusesStreamOptions } from './hosts.ts'

/** The parts of the options that say what may be called, and at which price. */
export interface CallTerms extends InputTerms {
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
  /**
   * Further fields of the body that may be sent, by name. What they cost beside tokens is yours to
   * count. @default none
   */
  readonly allowFields?: readonly string[]
  /**
   * True to ask each stream of chat completions for its usage (`stream_options.include_usage`). Clients that did
   * not ask themselves do not see it. False for a provider that refuses the field: where it does not report
   * the usage by itself, the estimate stays charged.
   *
   * @default true, but false for `api.mistral.ai`
   */
  readonly includeUsage?: boolean
}

/** The terms of a call, and `learn` if no decision grants its maximum, which then is the usual one. */
type OutputTerms = CallTerms & { readonly learn?: unknown }

/** A call as it is to be sent, and the most that it is expected to use. */
export interface PreparedCall extends CallUnits, PricedCall {
  /** The model to call. */
  readonly model: string
  /** The one name that all spellings of the model are counted under (`subject.model`). */
  readonly countedAs: string
  /** Returns the body to send, as JSON text, with a maximum of so many output tokens over all answers. */
  readonly bodyFor: (output: number) => string
  /** True if the answer reports a usage that the client did not ask for. */
  readonly addsUsage?: boolean
  /** Input tokens, estimated or bounded. */
  readonly input: number
  /** The most output tokens, over all answers. */
  readonly output: number
  /** The output tokens that it gets if there is room, over all answers. */
  readonly usual: number
  /** The fewest output tokens that are worth the call, over all answers. */
  readonly floor: number
}

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
 * @param host The provider's, if it is known.
 * @throws InputError `invalid_body` when a field is malformed or not allowed.
 * @throws InputError `unknown_model` when the model is not offered, or has no price.
 */
export function prepareCall(
  body: unknown,
  terms: OutputTerms,
  api: ModelApi,
  host?: string,
): PreparedCall {
  if (!isObject(body)) throw invalidBody('must be a JSON object')
  const model = modelToCall(own(body, 'model'), terms)
  const sent = bodyToSend(body, api, model, terms)
  const thinking = thinkingBudget(sent)
  const [usual, allowed] = outputOf(model, sent, thinking, terms)
  const least = leastOutput(usual, thinking, terms)
  const maximum = maximumField(api, model)
  if (maximum) sent[maximum] = maximumFor(body, maximum, allowed, thinking)
  // A project's settings may choose a dearer tier.
  if (hasTierSetting(host) && /chat|responses/.test(api) && !allows(terms, 'service_tier')) {
    sent['service_tier'] = 'default'
  }
  const addsUsage = asksForUsage(sent, api, terms, host)
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
function thinkingBudget({ thinking, reasoning }: Json): number {
  const budgets = [objectOf(thinking)['budget_tokens'], objectOf(reasoning)['max_tokens']]
  return Math.max(0, ...budgets.filter(isCount))
}

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

/** Returns true if the user allows a field that is refused otherwise. */
const allows = ({ allowFields }: CallTerms, field: string): boolean =>
  allowFields?.includes(field) === true

function bodyToSend(
  body: Json,
  api: ModelApi,
  model: string,
  terms: CallTerms,
): Record<string, unknown> {
  const { question, maximum } = API_RULES[api]
  if (api !== 'openai-responses' && !isGiven(own(body, question))) {
    throw invalidBody(`must be given in the format ${api}`, question)
  }
  const sent: Record<string, unknown> = { model }
  for (const [name, value] of Object.entries(body)) {
    if (name === 'model' || !isGiven(value) || MAXIMA.includes(name)) continue
    if (name !== question && !allows(terms, name)) {
      // A call without a tier has this one.
      if (name === 'service_tier' && value === 'auto') continue
      // Embeddings are no stream.
      if (name === 'stream' ? !maximum : !costsTokensOnly(name, value)) throw uncounted(name)
    }
    sent[name] = value
  }
  assertMessages(sent)
  assertCounts(sent)
  const { stream } = sent
  if (stream !== undefined && typeof stream !== 'boolean')
    throw invalidBody('must be true or false', 'stream')
  return sent
}

/**
 * Asks a stream for its usage, without which reasoning that is hidden could not be counted. Returns true if the
 * client did not ask.
 */
function asksForUsage(
  sent: Record<string, unknown>,
  api: ModelApi,
  { includeUsage }: CallTerms,
  host: string | undefined,
): boolean {
  if (sent['stream'] !== true || !/chat|completions/.test(api)) return false
  if (!(includeUsage ?? !refusesStreamOptions(host))) return false
  const options = objectOf(sent['stream_options'])
  sent['stream_options'] = { ...options, include_usage: true }
  return options['include_usage'] !== true
}

function assertMessages({ messages }: Json): void {
  if (messages === undefined) return
  if (Array.isArray(messages) && messages.length > 0 && messages.every(isObject)) return
  throw invalidBody('must be a list of at least one message', 'messages')
}

/** The most answers to one request, as OpenAI allows. */
const MAX_ANSWERS = 128

function assertCounts(sent: Json): void {
  for (const name of ['n', 'best_of']) {
    const value = own(sent, name)
    if (value === undefined || (isCount(value) && value <= MAX_ANSWERS)) continue
    throw invalidBody(`must be a whole number from 1 to ${MAX_ANSWERS}`, name)
  }
}

/** Returns the maximum to send: the client's own under the name that counts, or another one's, up to the most. */
function maximumFor(body: Json, field: string, most: number, thinking: number): number {
  const name = [field, ...MAXIMA].find((one) => isGiven(own(body, one)))
  const value = (name ? own(body, name) : Infinity) as number
  if (name && !isCount(value)) throw invalidBody('must be a whole number from 1', name)
  // What the client itself asks for is between it and the provider.
  if (most <= thinking && value > thinking) {
    throw invalidBody(`is at most ${most} here: lower the thinking budget below that`, field)
  }
  return Math.min(value, most)
}

const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 1

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
