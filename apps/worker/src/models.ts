import { definePrices, findPrice, LIST_PRICES } from '@sluice/ai'
import { ConfigError } from '@sluice/core'
import type { Env } from './env.ts'

/** The prices of all models, in micro-dollars per million tokens. Add your own models, and discounts. */
export const prices = definePrices({}, { base: LIST_PRICES })

/** The models to offer, unless `MODELS` names others. Clients use exactly these names. */
const OFFERED = [
  'gpt-6.2-astra',
  'gpt-6.2-sol',
  'gpt-6.1-terra',
  'gpt-6-luna',
  'gpt-5.6-sol',
  'gpt-5.6-terra',
  'gpt-5.6-luna',
  'gpt-5.4-mini',
  'text-embedding-3-small',
  'text-embedding-3-large',
  'claude-opus-5-5',
  'claude-sonnet-5-5',
  'claude-haiku-5-5',
  'claude-sonnet-5',
  'claude-haiku-4-5',
]

/** A provider, by the format that it speaks. */
export type Provider = 'openai' | 'anthropic'

/** Names the offered models of each provider. Throws a `ConfigError` if one of them has no price. */
export function offeredModels({ MODELS }: Env): Readonly<Record<Provider, string[]>> {
  const listed = MODELS?.split(',').map((name) => name.trim()) ?? []
  const names = listed.some(Boolean) ? listed.filter(Boolean) : OFFERED
  for (const name of names) assertPrice(name)
  return { anthropic: names.filter(isClaude), openai: names.filter((name) => !isClaude(name)) }
}

const isClaude = (name: string): boolean => /^(anthropic\/)?claude/.test(name)

function assertPrice(name: string): void {
  try {
    findPrice(name, prices)
  } catch {
    const message = `must list models with a price, and "${name}" has none: add it in src/models.ts`
    throw new ConfigError('invalid_option', 'MODELS', message)
  }
}

/** A date at the end of a name: a snapshot of a model is offered with it. */
const DATE = /-(\d{4}-\d{2}-\d{2}|\d{8})$/

/** Describes a model, or returns `undefined` if it is not offered. */
export function modelNamed(
  id: string,
  names: readonly string[],
  owner: Provider,
): object | undefined {
  const isOffered = names.includes(id) || names.includes(id.replace(DATE, ''))
  return isOffered ? described(id, owner) : undefined
}

/** Describes a model in a shape that OpenAI's and Anthropic's clients both read. */
const described = (id: string, owner: Provider): object => ({
  id,
  object: 'model',
  created: 0,
  owned_by: owner,
  type: 'model',
  display_name: id,
  created_at: '1970-01-01T00:00:00Z',
})

/** Lists models in a shape that OpenAI's and Anthropic's clients both read. */
export function modelList(names: readonly string[], owner: Provider): object {
  const data = names.map((id) => described(id, owner))
  return {
    object: 'list',
    data,
    has_more: false,
    first_id: names[0] ?? null,
    last_id: names.at(-1) ?? null,
  }
}
