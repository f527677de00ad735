import { modelHandler, type CallToSend, type ModelHandlerOptions, type Prices } from '@sluice/ai'
import type { Limiter, Subject } from '@sluice/core'
import { Refusal } from '@sluice/core/http'
import type { CallContext } from '../calls.ts'
import type { ProviderInUse } from './in-use.ts'
import { listGroup } from './listed-models.ts'
import { readModel, withModel, withTier } from './model-in-body.ts'
import type { ModelGroup } from './model-group.ts'
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
 * name; so the handler of a call is that of its provider, or that of a list of models. Returns `undefined` if no provider
 * answers such calls.
 *
 * @param optionsFor Returns the other options of a handler, by its prices.
 */
export function callHandler(
  { limiter, offers, planOf, findSubject, send, api }: CallParts & { readonly api: MeteredApi },
  optionsFor: (prices: Prices) => Options & { readonly maxBodyBytes: number },
): CallHandler | undefined {
  const { providers, listed, lists } = offers
  const handlerOf = (group: ModelGroup) => {
    const { offerOf, adapt = (body) => body, ...own } = group
    const { prices, allowFields = [] } = own
    const canTakeTier = api !== 'openai-embeddings' && !allowFields.includes('service_tier')
    return modelHandler<Context>(
      limiter,
      { ...optionsFor(prices), subject: (_, subject) => subject, api, ...own },
      (call, request, _, notes) => {
        const { provider, sent } = offerOf(call.model)
        const model = prices.nameOf(call.model) ?? call.model
        // Only now: which maximum a call has, and whether it thinks, follows from our name.
        const named = adapt(withModel(call.body, call.model, sent), call.model)
        const body = canTakeTier && provider.hasTierSetting ? withTier(named) : named
        return send(provider, { ...call, api, model, body }, request, notes)
      },
    )
  }
  const offersBy = (provider: ProviderInUse) =>
    new Map([...listed].filter(([, offer]) => offer.provider === provider))
  const groups = new Map(
    providers.map((provider) => [provider, groupOfAll(provider, offersBy(provider))]),
  )
  const reached = [...groups].filter(([provider]) => answers(provider, api))
  const [[first] = []] = reached
  if (first === undefined) return undefined
  const handlers = new Map(reached.map(([provider, group]) => [provider, handlerOf(group)]))
  const listHandlers = new Map(
    lists.flatMap((list) => {
      const group = listGroup(list, api, (provider) => groups.get(provider)!.prices)
      return group ? [[list, { handle: handlerOf(group), asked: list.models[0]!.id }] as const] : []
    }),
  )
  // It charges a request for a body that names no model of these calls, and says what is wrong with it.
  const refuse = handlerOf(groupOfAll(first, new Map()))
  const { maxBodyBytes } = optionsFor(first.prices)
  return async (request, ...context) => {
    const [notes] = context
    const subject = await findSubject(request, notes)
    if (subject instanceof Refusal) return refuse(request, subject, ...context)
    const named = await readModel(request, maxBodyBytes)
    if (named.model === undefined) return refuse(named.send(), subject, ...context)
    const plan = planOf(subject)
    const list = offers.listOf(named.model, plan)
    const ofList = list && listHandlers.get(list)
    if (ofList) {
      notes.asked = named.model
      return ofList.handle(named.send(ofList.asked), subject, ...context)
    }
    const offer = offers.find(named.model, plan)
    const handle = offer && handlers.get(offer.provider)
    return handle
      ? handle(named.send(offer.name), subject, ...context)
      : refuse(named.send(), subject, ...context)
  }
}

/** Returns the models of a provider, by its own names of them. @param models The same, by the names that are listed. */
function groupOfAll(provider: ProviderInUse, models: ReadonlyMap<string, Offer>): ModelGroup {
  const { allowFields, includeUsage = true } = provider
  const byName = new Map(Array.from(models.values(), (offer) => [offer.name, offer]))
  return {
    models: [...byName.keys()],
    prices: namedPrices(provider.prices, models),
    includeUsage,
    ...(allowFields && { allowFields }),
    offerOf: (name) => byName.get(name) ?? { provider, name, sent: name },
  }
}
