/* The body that a provider is sent in place of the client's. */
import { MAXIMA } from '../estimate/estimate.ts'
import { invalidBody } from '../estimate/invalid-body.ts'
import { isGiven, isObject, objectOf, own, type Json } from '../json.ts'
import { API_RULES, costsTokensOnly, type ModelApi } from './api.ts'
import { uncounted } from './hidden-input.ts'

/** The parts of the options that say which fields are sent. */
export interface BodyTerms {
  /**
   * Further fields of the body that may be sent, by name. Their cost beside tokens is yours to
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

/** Returns true if the user allows a field that is refused otherwise. */
const allows = ({ allowFields }: BodyTerms, field: string): boolean =>
  allowFields?.includes(field) === true

/**
 * Returns the body to send, without a maximum.
 *
 * @throws InputError `invalid_body` when a field is malformed or not allowed.
 */
export function bodyToSend(
  body: Json,
  api: ModelApi,
  model: string,
  terms: BodyTerms,
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
 * Adapts a body to the provider's host: names the service tier where a project's settings may choose a more expensive
 * one, and asks a stream for its usage, without which reasoning that is hidden could not be counted. Returns true if
 * the client did not ask.
 */
export function adaptToHost(
  sent: Record<string, unknown>,
  api: ModelApi,
  terms: BodyTerms,
  host: string | undefined,
): boolean {
  // It takes the tier from a project's settings unless the call names one.
  // https://developers.openai.com/api/docs/guides/fast-mode
  const hasTierSetting = /(^|\.)api\.openai\.com$/.test(host ?? '')
  if (hasTierSetting && /chat|responses/.test(api) && !allows(terms, 'service_tier')) {
    sent['service_tier'] = 'default'
  }
  if (sent['stream'] !== true || !/chat|completions/.test(api)) return false
  // It refuses the field, and reports the usage of every stream: https://docs.mistral.ai/api/endpoint/chat
  if (!(terms.includeUsage ?? host !== 'api.mistral.ai')) return false
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
export function maximumFor(body: Json, field: string, most: number, thinking: number): number {
  const name = [field, ...MAXIMA].find((one) => isGiven(own(body, one)))
  const value = (name ? own(body, name) : Infinity) as number
  if (name && !isCount(value)) throw invalidBody('must be a whole number from 1', name)
  // The wishes of the client itself are between it and the provider.
  if (most <= thinking && value > thinking) {
    throw invalidBody(`is at most ${most} here: lower the thinking budget below that`, field)
  }
  return Math.min(value, most)
}

/** Returns true for a number of tokens, or of answers. */
const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 1
