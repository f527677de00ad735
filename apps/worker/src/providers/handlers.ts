import { modelHandler, type CallToSend, type ModelHandlerOptions, type Prices } from '@sluice/ai'
import type { Limiter, Subject } from '@sluice/core'
import { Refusal } from '@sluice/core/http'
import type { CallContext } from '../calls.ts'
import type { ProviderInUse } from './in-use.ts'
import { readModel, withModel, withTier } from './model-in-body.ts'
import { namedPrices } from './named-prices.ts'
import type { Offer } from './offer.ts'
import { answers, type Offers } from './offers.ts'
import type { Api } from './provider.ts'

/** The kinds of calls that are metered. */
export type MeteredApi = Exclude<Api, 'anthropic-count-tokens'>

/** Answers calls. */
export type CallHandler = (request: Request, ...context: CallContext) => Promise<Response>

/** A call to send to its provider. */
interface ProviderCall extends Pick<CallToSend, 'body' | 'signal' | 'subject'> {
  readonly api: Api
  /** The name that is listed. */
  readonly model?: string
  /** True if the provider bills nothing for it. */
  readonly isFree?: boolean
}

/** Sends a call to its provider. */
export type SendTo = (
  provider: ProviderInUse,
  call: ProviderCall,
  request: Request,
  notes: CallContext[0],
) => Promise<Response>

/** The parts that all handlers of calls share. */
export interface CallParts {
  readonly limiter: Limiter
  readonly offers: Offers
  readonly planOf: (subject: Subject) => string
  readonly findSubject: (request: Request, notes: CallContext[0]) => Promise<Subject | Refusal>
  readonly send: SendTo
}

type Context = [Subject | Refusal, ...CallContext]
type Options = Omit<ModelHandlerOptions<Context>, 'subject' | 'api' | 'models' | 'prices'>

/**
 * Creates the handler of one kind of calls. Each provider has its own prices, whatever models another one has by the same
 * name; so the handler of a call is that of its provider. Returns `undefined` if no provider answers such calls.
 *
 * @param optionsFor Returns the other options of a provider's handler, by its prices.
 */
export function callHandler(
  { limiter, offers, planOf, findSubject, send, api }: CallParts & { readonly api: MeteredApi },
  optionsFor: (prices: Prices) => Options & { readonly maxBodyBytes: number },
): CallHandler | undefined {
  const { providers, listed } = offers
  const handlerOf = (provider: ProviderInUse, models: ReadonlyMap<string, Offer>) => {
    const prices = namedPrices(provider.prices, models)
    const { allowFields = [], hasTierSetting = false, includeUsage = true } = provider
    const namesTier =
      hasTierSetting && api !== 'openai-embeddings' && !allowFields.includes('service_tier')
    const sentBy = new Map(Array.from(models.values(), ({ name, sent }) => [name, sent]))
    return modelHandler<Context>(
      limiter,
      {
        ...optionsFor(prices),
        subject: (_, subject) => subject,
        api,
        models: [...sentBy.keys()],
        prices,
        includeUsage,
        allowFields,
      },
      (call, request, _, notes) => {
        const model = prices.nameOf(call.model) ?? call.model
        // Only now: which maximum a call has, and whether it thinks, follows from our name.
        const named = withModel(call.body, call.model, sentBy.get(call.model) ?? call.model)
        const body = namesTier ? withTier(named) : named
        return send(provider, { ...call, api, model, body }, request, notes)
      },
    )
  }
  const handlers = new Map(
    providers
      .filter((provider) => answers(provider, api))
      .map((provider) => {
        const own = [...listed].filter(([, offer]) => offer.provider === provider)
        return [provider, handlerOf(provider, new Map(own))]
      }),
  )
  const [first] = handlers.keys()
  if (first === undefined) return undefined
  // It charges a request for a body that names no model of these calls, and says what is wrong with it.
  const refuse = handlerOf(first, new Map())
  const { maxBodyBytes } = optionsFor(first.prices)
  return async (request, ...context) => {
    const subject = await findSubject(request, context[0])
    if (subject instanceof Refusal) return refuse(request, subject, ...context)
    const named = await readModel(request, maxBodyBytes)
    const offer = named.model === undefined ? undefined : offers.find(named.model, planOf(subject))
    const handle = offer && handlers.get(offer.provider)
    return handle
      ? handle(named.send(offer.name), subject, ...context)
      : refuse(named.send(), subject, ...context)
  }
}
