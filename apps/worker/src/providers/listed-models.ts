import type { Prices } from '@sluice/ai'
import { fallback, type Fallback } from '@sluice/ai/fallback'
import { ConfigError } from '@sluice/core'
import { notesOf } from '../call-notes.ts'
import type { ListedModel, ModelList } from './aliases.ts'
import type { ModelGroup } from './handlers.ts'
import type { ProviderInUse } from './in-use.ts'
import { withMember } from './model-in-body.ts'
import { answers } from './offers.ts'
import type { Api } from './provider.ts'

/** OpenAI's models, wherever they run, have another name of the maximum than others with its format. */
const OPENAI_MODEL = /^(openai\/)?(ft:)?(gpt-|chatgpt-|o\d)/i

/**
 * Returns the models of a list that one handler answers for: those that take this kind of call, by the names that are
 * listed, each at the price of its own provider. Returns `undefined` if the first takes no such call, or no other does.
 */
export function listGroup(
  { models }: ModelList,
  api: Api,
  pricesOf: (provider: ProviderInUse) => Prices,
): ModelGroup | undefined {
  const reached = models.filter(({ offer }) => answers(offer.provider, api))
  const [first, ...others] = reached
  if (!first || first !== models[0] || others.length === 0) return undefined
  const byId = new Map(reached.map((model) => [model.id, model]))
  const providers = reached.map(({ offer }) => offer.provider)
  const includeUsage = providers.some((one) => one.includeUsage !== false)
  return {
    // By a record, because a list would let snapshots through that are not priced here.
    models: Object.fromEntries(reached.map(({ id }) => [id, id])),
    prices: joinedPrices(byId, first, pricesOf),
    includeUsage,
    // Any of them may get the body.
    allowFields: (first.offer.provider.allowFields ?? []).filter((field) =>
      providers.every(({ allowFields = [] }) => allowFields.includes(field)),
    ),
    fallbackModels: fallback(
      others.map(({ id, mayCostMore }) => ({ model: id, mayCostMore })),
      { onFallback: noteSkipped },
    ),
    offerOf: (id) => (byId.get(id) ?? first).offer,
    adapt(body, id) {
      const { name, provider } = (byId.get(id) ?? first).offer
      const isRenamed = api === 'openai-chat' && id !== name && OPENAI_MODEL.test(name)
      const own = isRenamed ? withMember(body, 'max_tokens', 'max_completion_tokens') : body
      const isAsked = includeUsage && provider.includeUsage === false
      return isAsked ? withMember(own, 'stream_options') : own
    },
  }
}

/** Returns prices by which each model of a list, and an answer to a call of it, has those of its provider. */
function joinedPrices(
  byId: ReadonlyMap<string, ListedModel>,
  first: ListedModel,
  pricesOf: (provider: ProviderInUse) => Prices,
): Prices {
  const tableOf = ({ offer }: ListedModel): Prices => pricesOf(offer.provider)
  // Usage names a snapshot by its model.
  const byUsedName = new Map(
    [...byId.values()].map((model) => [tableOf(model).nameOf(model.offer.name), model]),
  )
  const modelOf = (name: string | undefined): ListedModel =>
    byId.get(name ?? '') ?? byUsedName.get(name) ?? first
  /** Returns the prices of a model of the list, and the name that they have it by. */
  const own = (name: string | undefined): [Prices, string | undefined] => {
    const model = modelOf(name)
    return [tableOf(model), byId.has(name ?? '') ? model.offer.name : name]
  }
  const table = tableOf(first)
  return {
    ...table,
    get(name) {
      const [prices, ownName] = own(name)
      return prices.get(ownName ?? '')
    },
    nameOf(name) {
      const [prices, ownName] = own(name)
      return prices.nameOf(ownName)
    },
    findPrice(name, tier) {
      const [prices, ownName] = own(name)
      return prices.findPrice(ownName, tier)
    },
    priceOf(usage, name, called) {
      const [prices, ownName] = own(called ?? name)
      const isCalled = called === undefined || name === called
      // Its own prices know the name that a provider answers with.
      return prices.priceOf(usage, isCalled ? ownName : name, ownName)
    },
    hasTier: (tier, name) =>
      [...byId.values()].some((one) => tableOf(one).hasTier(tier, own(name)[1])),
  }
}

/** Runs a function, and names the list in its error about the option `fallbackModels`. */
export function namingList<Result>(
  { option }: ModelList,
  { models }: ModelGroup,
  run: () => Result,
): Result {
  try {
    return run()
  } catch (error) {
    const [, at] =
      (error instanceof ConfigError && /\.fallbackModels(?:\[(\d+)\])?$/.exec(error.option)) || []
    if (!(error instanceof ConfigError) || !error.option.includes('.fallbackModels')) throw error
    const id = at === undefined ? undefined : Object.keys(models)[Number(at) + 1]
    const rule =
      id === undefined
        ? error.reason
        : `must not list ${JSON.stringify(id)} here: it ${error.reason}`
    throw new ConfigError('invalid_option', option, rule)
  }
}

/** Notes the models that a call could not go to. */
function noteSkipped({ subject, skipped }: Fallback): void {
  const notes = notesOf(subject)
  if (!notes || skipped.length === 0) return
  notes.skipped = skipped.map(({ model, reason }) => `${model}: ${reason}`)
}
