import { aliasTable, type ListedModel, type ModelList } from './aliases.ts'
import { assertProvider, namesOf } from './check.ts'
import { providersInUse, type ProviderInUse } from './in-use.ts'
import {
  ambiguousName,
  modelsListed,
  modelsOf,
  snapshotOf,
  splitDate,
  type Offer,
} from './offer.ts'
import type { Aliases, Api, Provider } from './provider.ts'

/** The models that clients may call. */
export interface Offers {
  readonly providers: readonly ProviderInUse[]
  /** The models, by the name that is listed. */
  readonly listed: ReadonlyMap<string, Offer>
  /** Finds a model by the name that a client of a plan uses. An alias of several stands for its first. */
  find(name: string, plan: string): Offer | undefined
  /** Returns the models of an alias that names several in a plan. */
  listOf(name: string, plan: string): ModelList | undefined
  /** All such lists. */
  readonly lists: readonly ModelList[]
  /** Lists the models, and a plan's other names of them, that one of these kinds of calls reaches. */
  list(apis: readonly Api[], plan: string): (readonly [name: string, offer: Offer])[]
}

/** Returns true if a provider answers this kind of call. */
export const answers = ({ apis }: Provider, api: Api): boolean => namesOf(apis).includes(api)

/**
 * Finds the providers that are on, and the models that they offer.
 *
 * @param plans The names of all plans.
 * @throws ConfigError When a field or a variable is malformed, or a name is ambiguous.
 */
export function offersOf(
  env: { readonly MODELS?: string },
  all: readonly Provider[],
  aliases: Aliases,
  plans: readonly string[],
): Offers {
  for (const provider of all) assertProvider(provider, all)
  const providers = providersInUse(env, all)
  const names = namesIn(env.MODELS)
  const offers = names
    ? names.flatMap((name) => modelsListed(name, providers))
    : providers.flatMap((provider) => modelsOf(provider))
  const qualified = new Map(offers.map((offer) => [`${offer.provider.id}/${offer.name}`, offer]))
  const plain = plainNames(qualified, names === undefined)
  const listed = new Map<string, Offer>()
  for (const [name, offer] of qualified) {
    listed.set(plain.get(offer.name) === offer ? offer.name : name, offer)
  }

  const findModel = (name: string): Offer | undefined => plain.get(name) ?? qualified.get(name)
  const find = (name: string): Offer | undefined => {
    const [model, date] = splitDate(name)
    return findModel(name) ?? snapshotOf(findModel(model), date)
  }
  const findListed = (name: string): Omit<ListedModel, 'mayCostMore'> | undefined => {
    const offer = find(name)
    if (!offer) return undefined
    const [model] = splitDate(offer.name)
    const isPlain = (plain.get(offer.name) ?? plain.get(model))?.provider === offer.provider
    return { id: isPlain ? offer.name : `${offer.provider.id}/${offer.name}`, offer }
  }
  const { targetOf, listOf, lists } = aliasTable(aliases, plans, findListed)
  return {
    providers,
    listed,
    find: (name, plan) => find(targetOf(name, plan)),
    listOf,
    lists,
    list: (apis, plan) =>
      [...Object.keys(aliases), ...listed.keys()].flatMap((name) => {
        const offer = find(targetOf(name, plan))
        const isReached = offer && apis.some((api) => answers(offer.provider, api))
        return isReached ? [[name, offer] as const] : []
      }),
  }
}

function namesIn(list: string | undefined): string[] | undefined {
  const names = list?.split(',').map((name) => name.trim()) ?? []
  return names.some(Boolean) ? names.filter(Boolean) : undefined
}

/**
 * Returns the models that can be called without their provider's id: those of one provider alone.
 *
 * @param mustBe True to throw if a name is of several. A list of models is a choice instead.
 */
function plainNames(
  qualified: ReadonlyMap<string, Offer>,
  mustBe: boolean,
): ReadonlyMap<string, Offer> {
  const plain = new Map<string, Offer>()
  const several = new Set<string>()
  for (const offer of qualified.values()) {
    const { name, provider } = offer
    const other = plain.get(name) ?? qualified.get(name)
    // The stand-in answers for the first.
    if (!other) plain.set(name, offer)
    else if (provider.secret && mustBe) throw ambiguousName(name, other, offer)
    else if (provider.secret) several.add(name)
  }
  for (const name of several) plain.delete(name)
  return plain
}
