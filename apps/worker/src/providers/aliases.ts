import { ConfigError } from '@sluice/core'
import { namesOf } from './check.ts'
import type { Offer } from './offer.ts'
import type { Aliases, AliasTarget } from './provider.ts'

/** A model of a list. */
export interface ListedModel {
  /** The name that is listed. */
  readonly id: string
  readonly offer: Offer
  /** True if it is also called where it may cost more than the models before it. */
  readonly mayCostMore: boolean
}

/** The models of an alias that names several: the first that every budget and limit has room for is called. */
export interface ModelList {
  /** The place in src/providers.ts, for errors. */
  readonly option: string
  readonly models: readonly ListedModel[]
}

/** Finds a model by its name. */
type Find = (name: string) => Omit<ListedModel, 'mayCostMore'> | undefined

/** The models of aliases, by plan. */
export interface AliasTable {
  /** Returns the model that a name stands for in a plan: of a list, the first. */
  readonly targetOf: (name: string, plan: string) => string
  /** Returns the list that a name stands for in a plan. */
  readonly listOf: (name: string, plan: string) => ModelList | undefined
  readonly lists: readonly ModelList[]
}

/** Reads the aliases. @throws ConfigError When one names no plan, or a model that it cannot stand for. */
export function aliasTable(aliases: Aliases, plans: readonly string[], find: Find): AliasTable {
  const targets = new Map<string, string>()
  const lists = new Map<string, ModelList>()
  for (const [alias, target] of Object.entries(aliases)) {
    const option = `ALIASES.${alias} in src/providers.ts`
    if (find(alias)) throw invalid(option, 'must not be the name of a model')
    const isByPlan = typeof target === 'object' && !Array.isArray(target)
    const byPlan = isByPlan ? (target as Readonly<Record<string, AliasTarget>>) : undefined
    // One list, also for all plans, has one handler.
    const forAll = byPlan ? undefined : readTarget(option, target as AliasTarget, find)
    for (const plan of byPlan ? Object.keys(byPlan) : plans) {
      if (!plans.includes(plan)) {
        throw invalid(option, `must name plans of src/limits.ts, and ${plan} is none`)
      }
      const own = byPlan?.[plan]
      const list = own === undefined ? forAll : readTarget(`${option}, ${plan}`, own, find)
      const [first] = list?.models ?? []
      if (!list || !first) continue
      const key = keyOf(alias, plan)
      targets.set(key, first.id)
      if (list.models.length > 1) lists.set(key, list)
    }
  }
  return {
    targetOf: (name, plan) => targets.get(keyOf(name, plan)) ?? name,
    listOf: (name, plan) => lists.get(keyOf(name, plan)),
    lists: [...new Set(lists.values())],
  }
}

const keyOf = (alias: string, plan: string): string => JSON.stringify([alias, plan])

function readTarget(option: string, target: AliasTarget, find: Find): ModelList {
  const entries = typeof target === 'string' ? [target] : target
  if (entries.length === 0) throw invalid(option, 'must name at least one model')
  const models: ListedModel[] = []
  for (const entry of entries) {
    const { model, mayCostMore } =
      typeof entry === 'string' ? { model: entry, mayCostMore: false } : entry
    const found = find(model)
    if (!found) {
      const rule = `must be a model that is offered, and ${JSON.stringify(model)} is none: list it in MODELS, or set the key of its provider`
      throw invalid(option, rule)
    }
    const [first = found] = models
    const shared = callsOf(first.offer).filter((api) => callsOf(found.offer).includes(api))
    if (shared.length === 0) {
      const rule = `must list models that take the same kind of call, and ${JSON.stringify(model)} takes none of those of ${JSON.stringify(first.id)}`
      throw invalid(option, rule)
    }
    if (models.some(({ id }) => id === found.id)) {
      throw invalid(option, `must list each model once, and has ${JSON.stringify(model)} twice`)
    }
    models.push({ ...found, mayCostMore })
  }
  return { option, models }
}

/** Returns the kinds of calls that spend something. */
const callsOf = ({ provider }: Offer): readonly string[] =>
  namesOf(provider.apis).filter((api) => api !== 'anthropic-count-tokens')

const invalid = (option: string, rule: string): ConfigError =>
  new ConfigError('invalid_option', option, rule)
