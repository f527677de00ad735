import { ConfigError } from '@sluice/core'
import type { ProviderInUse } from './in-use.ts'

/** A model that a provider offers. */
export interface Offer {
  readonly provider: ProviderInUse
  /** Our name, by which it has a price. */
  readonly name: string
  /** The provider's name. */
  readonly sent: string
}

/** A date at the end of a name: a snapshot of a model is offered with it. */
const DATE = /-(\d{4}-\d{2}-\d{2}|\d{8})$/

/** Returns the name of a model, and the date of its snapshot. */
export function splitDate(name: string): [model: string, date: string] {
  const [date = ''] = DATE.exec(name) ?? []
  return [name.slice(0, name.length - date.length), date]
}

/** Returns a snapshot of a model, unless the provider has a name of its own for the model. */
export const snapshotOf = (offer: Offer | undefined, date: string): Offer | undefined =>
  offer && date !== '' && offer.sent === offer.name
    ? { ...offer, name: offer.name + date, sent: offer.sent + date }
    : undefined

/** Returns all models of a provider. @throws ConfigError When there is none, or one has no price. */
export function modelsOf(provider: ProviderInUse): Offer[] {
  const { id, prices, models = [...prices.models().keys()] } = provider
  const pairs = Array.isArray(models)
    ? (models as readonly string[]).map((name) => [name, name] as const)
    : Object.entries(models as Readonly<Record<string, string>>)
  const option = `${id}.prices in src/providers.ts`
  if (pairs.length === 0 && provider.secret) {
    const rule = 'must list the models to offer, with their prices: it has none'
    throw new ConfigError('invalid_option', option, rule)
  }
  return pairs.map(([name, sent]) => {
    const hasPrice = prices.unknownModel !== 'deny' || prices.nameOf(name) !== undefined
    if (hasPrice) return { provider, name, sent }
    const rule = `must list ${JSON.stringify(name)}, which models offers: add its price, or take it out of models`
    throw new ConfigError('invalid_option', option, rule)
  })
}

/**
 * Returns the models that an entry of `MODELS` names: `model`, `provider/model` or `provider/*`.
 *
 * @throws ConfigError When there is none, or several providers have it.
 */
export function modelsListed(entry: string, providers: readonly ProviderInUse[]): Offer[] {
  const [id, ...rest] = entry.split('/')
  const provider = providers.find((one) => one.id === id)
  const name = rest.join('/')
  if (provider && name === '*') return modelsOf(provider)
  const own = provider && modelNamed(name, provider)
  const [first, second] = own ? [own] : providers.flatMap((one) => modelNamed(entry, one) ?? [])
  // The stand-in answers for any of them.
  if (first && second?.provider.secret) throw ambiguousName(entry, first, second)
  if (first) return [first]
  const rule =
    `must list models with a price at a provider that is on, and ${JSON.stringify(entry)} has none: ` +
    'add its price in src/providers.ts, or set the key of its provider'
  throw new ConfigError('invalid_option', 'MODELS', rule)
}

function modelNamed(name: string, provider: ProviderInUse): Offer | undefined {
  const all = modelsOf(provider)
  const [model, date] = splitDate(name)
  const named = (one: string): Offer | undefined => all.find((offer) => offer.name === one)
  return named(name) ?? snapshotOf(named(model), date)
}

/** Returns the error for a name that two providers offer. */
export function ambiguousName(name: string, first: Offer, second: Offer): ConfigError {
  const [one, other] = [first.provider.id, second.provider.id]
  const rule =
    `must say whose ${JSON.stringify(name)} is meant, because ${one} and ${other} offer it: list ` +
    `${one}/${first.name} or ${one}/*, or have one of them offer other models in src/providers.ts`
  return new ConfigError('invalid_option', 'MODELS', rule)
}
