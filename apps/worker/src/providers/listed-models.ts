import type { Prices } from '@sluice/ai'
import { fallback, type Fallback } from '@sluice/ai/fallback'
import { ConfigError } from '@sluice/core'
import { notesOf } from '../call-notes.ts'
import type { ListedModel, ModelList } from './aliases.ts'
import type { ProviderInUse } from './in-use.ts'
import type { ModelGroup } from './model-group.ts'
import { withMember } from './model-in-body.ts'
import { answers } from './offers.ts'
import type { Api } from './provider.ts'

/** OpenAI's models, wherever they run, have another name of the maximum than others with its format. */
const OPENAI_MODEL = /^(openai\/)?(ft:)?(gpt-|chatgpt-|o\d)/i

/**
 * Returns the models of a list that one handler answers for: those that take this kind of call, by the names that are
 * listed, each at the price of its own provider. Returns `undefined` if the first takes no such call, or no other does.
 * @throws ConfigError When a model costs more than one before it, and the list does not say so.
 */
export function listGroup(
  { option, models: list }: ModelList,
  api: Api,
  pricesOf: (provider: ProviderInUse) => Prices,
): ModelGroup | undefined {
  const reached = list.filter(({ offer }) => answers(offer.provider, api))
  const [first, ...others] = reached
  if (!first || first !== list[0] || others.length === 0) return undefined
  const byId = new Map(reached.map((model) => [model.id, model]))
  // A record, because a list would let snapshots through that are not priced here.
  const models = Object.fromEntries(reached.map(({ id }) => [id, id]))
  const prices = joinedPrices(byId, first, pricesOf)
  assertList(option, reached, { models, prices })
  const providers = reached.map(({ offer }) => offer.provider)
  const includeUsage = providers.some((one) => one.includeUsage !== false)
  return {
    models,
    prices,
    includeUsage,
    // Any of them may get the body.
    allowFields: (first.offer.provider.allowFields ?? []).filter((field) =>
      providers.every(({ allowFields = [] }) => allowFields.includes(field)),
    ),
    fallbackModels: fallback(rungsOf(others), { onFallback: noteSkipped }),
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

/** Throws a `ConfigError` that names a model of a list which no call can go to. */
function assertList(
  option: string,
  list: readonly ListedModel[],
  terms: Pick<ModelGroup, 'models' | 'prices'>,
): void {
  try {
    fallback(rungsOf(list)).assertIn('ALIASES', terms)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const { id } = list[Number(/\[(\d+)\]$/.exec(error.option)?.[1])] ?? {}
    const { reason } = error
    const rule = id === undefined ? reason : `has ${JSON.stringify(id)}, which ${reason}`
    throw new ConfigError('invalid_option', option, rule)
  }
}

const rungsOf = (list: readonly ListedModel[]) =>
  list.map(({ id, mayCostMore }) => ({ model: id, mayCostMore }))

/** Notes the models that a call could not go to. */
function noteSkipped({ subject, skipped }: Fallback): void {
  const notes = notesOf(subject)
  if (!notes || skipped.length === 0) return
  notes.skipped = skipped.map(({ model, reason }) => `${model}: ${reason}`)
}
