import {
  createLimiter,
  InputError,
  StoreError,
  type CapOptions,
  type Limiter,
  type Store,
  type Subject,
  type WaitUntil,
} from '@sluice/core'
import {
  assertFunction,
  assertOptionRules,
  hasMethod,
  isUnits,
  oneOf,
  optionRule,
  type OptionRules,
  invalidOption,
} from '@sluice/core/internal'
import { budget } from '../policies/budget.ts'
import { LIST_PRICES } from '../prices/price-list.ts'
import type { Json } from '../json.ts'
import { definePrices, type ModelPrice, type Prices } from '../prices/prices.ts'
import type { CallOptions } from '../call/options.ts'
import { CALL_RULES } from '../call/rules.ts'
import { withOwnOptions } from '../own-options.ts'
import { explainedModel, unpricedByClient } from './budget-errors.ts'
import { hideCredentials } from './hidden-credentials.ts'
import { refusingFetch, type FetchLike } from './limited-fetch.ts'
import type { AiSdkModel } from '../call/model-call.ts'
import { limitedModel } from './limited-model.ts'

/** A client of OpenAI's or Anthropic's SDK, or another that can be copied with a `fetch`, which the copy shows. */
export interface ModelClient {
  withOptions(options: { readonly fetch: FetchLike }): unknown
}

/** The options of every door that `withBudget` takes, too. */
type DoorOption =
  | 'fallbackModels'
  | 'maxOutput'
  | 'usualOutput'
  | 'minOutput'
  | 'unseenTokens'
  | 'allowFields'
  | 'onUsage'

/** Options of `withBudget`. */
export interface WithBudgetOptions extends Pick<CallOptions, DoorOption> {
  /** The place of the counts: `file('.sluice')`, `upstash()`, `durableObjects(env.LIMITS)`. */
  readonly store: Store
  /** The most that each tenant may spend in a window, in micro-dollars: `usd(5)`. */
  readonly tenant: number
  /** The most that all tenants together may spend in a window, in micro-dollars. @default not limited */
  readonly total?: number
  /** The calendar day or month. @default 'day' */
  readonly window?: 'day' | 'month'
  /** The time zone, and the local time, at which a window begins, created by `calendar`. @default UTC, from midnight on */
  readonly resets?: CapOptions['resets']
  /** The prices of models, made by `definePrices`. @default LIST_PRICES */
  readonly prices?: Prices
  /** The price of models that are not listed, or `'deny'` to refuse them. @default that of `prices` */
  readonly unknownModel?: ModelPrice | 'deny'
  /**
   * Keeps a call alive until it is settled, past the response and a client that goes away: `waitUntil` of
   * `cloudflare:workers`. @default none
   */
  readonly waitUntil?: WaitUntil
}

/** The least budget in micro-dollars, as of `budget`: less is an amount in dollars. */
const isAmount = (value: unknown): boolean => isUnits(value) && (value === 0 || value >= 1_000)
const assertAmount = /* @__PURE__ */ optionRule(isAmount, 'in micro-dollars, such as usd(5)')

const { fallbackModels, maxOutput, usualOutput, minOutput, unseenTokens, allowFields, onUsage } =
  CALL_RULES
const TERMS = {
  fallbackModels,
  maxOutput,
  usualOutput,
  minOutput,
  unseenTokens,
  allowFields,
  onUsage,
}

const RULES: OptionRules<WithBudgetOptions> = {
  ...TERMS,
  store: /* @__PURE__ */ hasMethod('check', "a store, such as file('.sluice') or upstash()"),
  tenant: assertAmount,
  total: assertAmount,
  window: /* @__PURE__ */ oneOf('day', 'month'),
  resets: /* @__PURE__ */ hasMethod('configure', 'created by calendar'),
  prices: /* @__PURE__ */ hasMethod('priceOf', 'made by definePrices'),
  // Checked by definePrices.
  unknownModel: () => undefined,
  waitUntil: assertFunction,
}

/** The clients of tenants, whose calls one limiter decides. */
export interface Budgeted<Client> {
  /** Returns the client of a tenant. @throws InputError Without a tenant. */
  (tenant: string): Client
  /** The limiter, for the command and for pages about limits. */
  readonly limiter: Limiter
  /** Returns what is left for a tenant, in micro-dollars: less, if the total has less. @throws StoreError When the store fails. */
  left(tenant: string): Promise<number>
}

/**
 * Holds a model client to a budget for each tenant: a call reserves the most that it may cost, and settles what it did
 * cost. A call that does not fit is not sent: OpenAI's and Anthropic's clients throw their 429, the AI SDK a `ModelCallDenied`.
 * The client of a tenant holds no key, so that it opens no WebSocket: only its calls over HTTP have one.
 *
 * @param client A client of OpenAI's or Anthropic's SDK, or a language model of the AI SDK.
 * @returns A function that returns the client of a tenant, with `limiter`, and `left`: what a tenant may still spend.
 * @throws ConfigError When an option is unknown, missing or out of range.
 * @example
 * const openai = withBudget(new OpenAI(), { store: file('.sluice'), tenant: usd(5) })
 * await openai('acme').responses.create({ model: 'gpt-4o', input: 'Why is the sky blue?' })
 */
export function withBudget<Client extends ModelClient | AiSdkModel>(
  client: Client,
  options: WithBudgetOptions,
): Budgeted<Client> {
  const limitTo = waysOf(client)
  assertOptionRules('withBudget', options, RULES, 'store', 'tenant')
  const { store, tenant: each, total, window = 'day', resets, unknownModel } = options
  const { prices: base = LIST_PRICES } = options
  const prices =
    unknownModel === undefined
      ? base
      : { ...definePrices({}, { base, unknownModel }), live: base.live }
  const door = 'doGenerate' in client ? 'limitedModel' : 'limitedFetch'
  withOwnOptions('withBudget', '', () => options.fallbackModels?.assertIn(door, { prices }))
  const given = Object.keys(options).filter((name) => name in TERMS || name === 'waitUntil')
  const terms = Object.fromEntries(given.map((name) => [name, options[name as 'waitUntil']]))
  const cap = window === 'day' ? 'daily' : 'monthly'
  const policies = [budget({ name: 'tenant', [cap]: each, per: ['tenant'], resets })]
  if (total !== undefined) {
    policies.push(budget({ name: 'total', [cap]: total, per: 'global', resets }))
  }
  const extensions = prices.live ? [prices.live.extension] : []
  const limiter = createLimiter({ store, policies, extensions })

  return Object.assign(
    (tenant: string) =>
      limitTo(limiter, { ...terms, subject: subjectOf(tenant), prices }) as Client,
    {
      limiter,
      async left(tenant: string) {
        const { degraded, policies: states } = await limiter.peek(subjectOf(tenant), {
          cost: { usd: 0 },
        })
        if (degraded)
          throw new StoreError(degraded.cause, 'The store failed, so nobody knows what is left')
        return Math.min(...states.map(({ remaining }) => remaining))
      },
    },
  )
}

interface Terms extends Pick<WithBudgetOptions, DoorOption | 'waitUntil'> {
  readonly subject: Subject
  readonly prices: Prices
}

function subjectOf(tenant: unknown): Subject {
  if (typeof tenant === 'string' && tenant !== '') return { tenant }
  const message = 'must be a text that is not empty: whose budget the call is charged to'
  throw new InputError('invalid_subject', 'withBudget(…)(tenant)', message)
}

const PROBE: FetchLike = async () => Response.error()

/** Returns what only a client for Azure is made with, which its `withOptions` does not copy before version 7. */
function azureOptions(client: unknown): object {
  const { apiVersion, deploymentName: deployment } = client as Json
  return apiVersion === undefined ? {} : { apiVersion, deployment }
}

/** Returns the way to limit a client. @throws ConfigError When it is no client or model, or takes no `fetch`. */
function waysOf(client: unknown): (limiter: Limiter, terms: Terms) => unknown {
  const {
    withOptions,
    doGenerate,
    fetch: own,
  } = (client ?? {}) as Partial<ModelClient & AiSdkModel & { readonly fetch: FetchLike }>
  if (typeof doGenerate === 'function') {
    return (limiter, terms) => explainedModel(limitedModel(client as AiSdkModel, limiter, terms))
  }
  if (typeof withOptions !== 'function') {
    const message =
      'must be a client with withOptions, such as new OpenAI() or new Anthropic(), or a model of the AI SDK'
    throw invalidOption('withBudget.client', message, client)
  }
  const { options, revealedBy } = hideCredentials(client as ModelClient)
  const copyWith = (fetch: FetchLike): unknown =>
    (client as ModelClient).withOptions({ ...azureOptions(client), ...options, fetch })
  if ((copyWith(PROBE) as { readonly fetch?: unknown } | null)?.fetch !== PROBE) {
    const message =
      'must take the option fetch in withOptions: the copy has another fetch, so its calls would not be limited. Pass the bare client, and wrap what withBudget returns'
    throw invalidOption('withBudget.client', message)
  }
  // The global `fetch` is known to limitedFetch: it sees which calls were never sent.
  const under = own === undefined || own === globalThis.fetch ? {} : { fetch: own }
  return (limiter, terms) =>
    copyWith(revealedBy(refusingFetch(limiter, { ...terms, ...under }, unpricedByClient)))
}
