import {
  assertOptionRules,
  assertPositiveInteger,
  oneOf,
  type OptionRules,
} from '@sluice/core/internal'
import { API_NAMES, type ModelApi } from '../call/api.ts'
import { errorResponse } from '../call/denial.ts'
import { prepareCall, type CallTerms, type PreparedBody } from '../call/prepare.ts'
import { readBody } from '../call/read-body.ts'
import { TERM_RULES } from '../call/rules.ts'
import { refusalOf } from '../call/refused-body.ts'
import { SETTLED_UNITS, unitsUsed, type SettledUnit } from '../call/settling.ts'
import type { Usage } from '../usage.ts'

/** Options of `prepareModelCalls`. */
export interface PrepareOptions extends Omit<CallTerms, 'minOutput'> {
  /** The format of the calls, which is that of the provider's address. */
  readonly api: ModelApi
  /** The largest body of a request, in bytes; a larger one is refused with 413. @default 4_000_000 */
  readonly maxBodyBytes?: number
}

/** Units of a model call by name; `usd` is 0 without prices. */
export type ModelUnits = Readonly<Record<SettledUnit, number>>

/** A model call that may be sent. */
export interface ReadyCall {
  readonly refusal?: undefined
  /** The most that the call may use: reserve the units that your policies count. */
  readonly cost: ModelUnits
  /** The JSON text to send, with a maximum of output tokens. */
  readonly body: string
  /** The model to call. */
  readonly model: string
  /** Input tokens, estimated or bounded. */
  readonly inputTokens: number
  /** Returns the units to settle. An answer that did not report its usage keeps the estimate. */
  readonly unitsOf: (usage: Usage) => ModelUnits
}

/** A model call that may not be sent. */
export interface RefusedCall {
  /** The answer for the client: 400, or 413, in the shape of the provider. */
  readonly refusal: Response
  /** Nothing beside the request. */
  readonly cost: ModelUnits
}

const RULES: OptionRules<PrepareOptions> = {
  ...TERM_RULES,
  api: oneOf(...API_NAMES),
  maxBodyBytes: assertPositiveInteger,
  includeUsage: oneOf(true, false),
}

const NOTHING: ModelUnits = { token: 0, input_token: 0, output_token: 0, usd: 0 }

/**
 * Prepares model calls as `modelHandler` does, for routes behind an adapter: checks the body, gives it a maximum of
 * output tokens, asks for the usage of a stream, and estimates the cost. The function that it returns reads a copy
 * of the request, once: call it for the cost and again in the handler.
 *
 * @throws ConfigError When an option is unknown, missing or malformed.
 * @example
 * const prepare = prepareModelCalls({ api: 'openai-chat', models: ['gpt-4o'] })
 * const cost = reserving(async (request) => ({ token: (await prepare(request)).cost.token }))
 */
export function prepareModelCalls(
  options: PrepareOptions,
): (request: Request) => Promise<ReadyCall | RefusedCall> {
  assertOptionRules('prepareModelCalls', options, RULES, 'api')
  const { api } = options
  const calls = new WeakMap<Request, Promise<ReadyCall | RefusedCall>>()

  async function prepare(request: Request): Promise<ReadyCall | RefusedCall> {
    try {
      const body = await readBody(request.clone(), options.maxBodyBytes)
      const make = (): PreparedBody => prepareCall(body, { ...options, learn: true }, api)
      const call = await (options.prices?.live?.prepare(make) ?? make())
      const cost = { ...NOTHING, ...call.cost }
      const unitsOf = (usage: Usage): ModelUnits => {
        const used = unitsUsed(usage, call, options)
        return usage.complete ? used : larger(cost, used)
      }
      const { model, input, output } = call
      return { cost, body: call.bodyFor(output), model, inputTokens: input, unitsOf }
    } catch (error) {
      return { refusal: errorResponse(refusalOf(error).options, api), cost: NOTHING }
    }
  }

  return (request) => {
    const call = calls.get(request) ?? prepare(request)
    calls.set(request, call)
    return call
  }
}

function larger(one: ModelUnits, other: ModelUnits): ModelUnits {
  const units = SETTLED_UNITS.map((unit) => [unit, Math.max(one[unit], other[unit])])
  return Object.fromEntries(units) as ModelUnits
}
