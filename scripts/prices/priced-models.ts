// The models of a vendor by name, each with the higher of what the sources say about that very name.
import { findProvider, type MatchLogic, type ModelInfo } from '@pydantic/genai-prices'
import { googleNames } from '../../packages/ai/src/prices/google-names.ts'
import { dayOfModelsDev, rowsOfModelsDev } from './models-dev.ts'
import { OWN_ROWS } from './own-rows.ts'
import { dearer, higherOf, REGIONAL, rowsOf, withHourlyCache, type ModelRows } from './rows.ts'
import { IDS, PUBLISHED, spellingsOf, VENDORS } from './vendors.ts'

/** The rows of a model, and the newest day on which a source said so. */
export interface PricedModel {
  readonly rows: ModelRows
  readonly asOf: string
  /** The page, where it is not that of the whole table. */
  readonly source?: string
}

/** Rows that the package has from another seller. */
const SECOND_HAND = /open ?router/i
/** Models that are gone, and those that count tokens of sound, make pictures or search the web by themselves. */
const LEFT_OUT =
  /^(ada|babbage|curie|davinci|gemini-(pro$|1\.0|.*1\.5)|text-(ada|curie|davinci)|claude-(2|v\d)|ft:|deep-research)|audio|tts|image|transcri|realtime|^claude.*\.0(-|$)/
/** Names that only a reseller or the package itself uses, and Azure's, which has a table of its own. */
const OTHERS_NAME = /:(thinking|extended|free)$|^regional\.|^titan|^gpt-(\d-\d(-|$)|35)/
/** Regions whose prices the package takes for those of another. */
const OTHER_REGION = /^us-gov\.anthropic/
/** Models that Bedrock does not offer any more: models.dev does not list them. */
const GONE = /^amazon\.titan-text|^anthropic\.claude-3-(opus|sonnet)/
/** A part of a name that is none. */
const FRAGMENT = /-20\d\d$|-v0$|flash-0$/
/** The spelling without the day of a snapshot or a version, of vendors that have such. */
const SHORT_SPELLINGS: Readonly<Record<string, number>> = {
  openai: 2,
  anthropic: 2,
  google: 3,
  bedrock: 3,
}
/**
 * Claude models whose regional endpoints on Vertex AI cost a tenth more, which their names do not tell, and that write to
 * a cache for an hour at twice the price of input.
 */
const RECENT_CLAUDE = /^([a-z]+\.)*claude-(fable|[a-z]+-(4-[5-9]|5))/

function matches(logic: MatchLogic, name: string): boolean {
  if ('or' in logic) return logic.or.some((one) => matches(one, name))
  if ('and' in logic) return logic.and.every((one) => matches(one, name))
  if ('equals' in logic) return logic.equals.toLowerCase() === name
  if ('starts_with' in logic) return name.startsWith(logic.starts_with)
  if ('ends_with' in logic) return name.endsWith(logic.ends_with)
  if ('contains' in logic) return name.includes(logic.contains)
  return new RegExp(logic.regex).test(name)
}

/** Returns the names that a rule mentions, and those of which it has a beginning or a part. */
function mentioned(logic: MatchLogic): { readonly names: string[]; readonly parts: string[] } {
  if ('or' in logic || 'and' in logic) {
    const all = ('or' in logic ? logic.or : logic.and).map(mentioned)
    return { names: all.flatMap(({ names }) => names), parts: all.flatMap(({ parts }) => parts) }
  }
  if ('equals' in logic) return { names: [logic.equals.toLowerCase()], parts: [] }
  if ('starts_with' in logic) return { names: [], parts: [logic.starts_with] }
  if ('contains' in logic) return { names: [], parts: [logic.contains] }
  if ('ends_with' in logic) return { names: [], parts: [logic.ends_with] }
  return { names: [], parts: [] }
}

/** Returns the rows of the package by name, and the names that it has in full or in part. */
function packageOf(file: string) {
  const { models = [] } = findProvider({ providerId: VENDORS[file]?.id ?? '' }) ?? {}
  const spellings = spellingsOf(file)
  const listed = new Set(idsOf(file))
  const ofName = (name: string): ModelInfo | undefined =>
    models.find(({ match }) => matches(match, name))
  /** Returns true if the package means this model, and not another one whose name begins or ends alike. */
  const isMeant = (name: string, { id, match }: ModelInfo): boolean => {
    const { names, parts } = mentioned(match)
    const known = new Set([id.toLowerCase(), ...names, ...parts].flatMap(spellings))
    return listed.has(name) || spellings(name).some((one) => known.has(one))
  }
  const ownNames = (namesOf: (model: ModelInfo) => string[]): string[] =>
    models.flatMap((model) => namesOf(model).filter((name) => ofName(name) === model))
  return {
    names: ownNames(({ match }) => mentioned(match).names),
    parts: ownNames(({ id, match }) =>
      [id.toLowerCase(), ...mentioned(match).parts].filter((name) => !FRAGMENT.test(name)),
    ),
    /** Returns the rows of a model, unless the package has them from another seller or means another model. */
    rowsOf: (name: string): ModelRows | undefined => {
      const model = ofName(name)
      if (!model || SECOND_HAND.test(model.price_comments ?? '') || !isMeant(name, model)) {
        return undefined
      }
      return rowsOf(model, PUBLISHED.asOf)
    },
  }
}

const idsOf = (file: string): string[] => IDS[file]?.ids.split(/\s+/) ?? []

/** Returns the rows of our own by name. */
function ownRowsOf(file: string): Map<string, PricedModel> {
  const own = new Map<string, PricedModel>()
  for (const { rows, ...page } of OWN_ROWS[file] ?? []) {
    for (const [names, row] of Object.entries(rows)) {
      const priced = { rows: 'usual' in row ? row : { usual: row }, ...page }
      for (const name of names.split(' ')) own.set(name, priced)
    }
  }
  return own
}

/** Returns the name without the day of a snapshot or a version. */
function shortName(file: string, name: string): string {
  const index = SHORT_SPELLINGS[file]
  return index === undefined ? name : (spellingsOf(file)(name)[index] ?? name)
}

/** Returns the price of each name that a vendor's models have. */
function pricedNames(file: string): Map<string, PricedModel> {
  const { names, parts, rowsOf: packageRows } = packageOf(file)
  const own = ownRowsOf(file)
  const dev = rowsOfModelsDev(file)
  const full = [...own.keys(), ...dev.keys(), ...names, ...idsOf(file)]
  const known = new Set(full.map((name) => shortName(file, name)))
  const all = [...full, ...parts.filter((name) => !known.has(shortName(file, name)))]
  const priced = new Map<string, PricedModel>()
  for (const name of new Set(all)) {
    const isName = /^[a-z@][\w./:@-]*[a-z\d]$/.test(name)
    if (!isName || [LEFT_OUT, OTHERS_NAME, OTHER_REGION, GONE].some((rule) => rule.test(name)))
      continue
    const said: PricedModel[] = []
    const fromPackage = packageRows(name)
    if (fromPackage) said.push({ rows: fromPackage, asOf: PUBLISHED.asOf })
    const fromDev = dev.get(name)
    if (fromDev) said.push({ rows: fromDev, asOf: dayOfModelsDev(file) })
    const model = own.get(name) ?? (said.length > 0 ? said.reduce(higherOfModels) : undefined)
    if (model) priced.set(name, model)
  }
  return /google|bedrock/.test(file) ? withClaude(file, priced) : priced
}

const higherOfModels = (one: PricedModel, other: PricedModel): PricedModel => ({
  rows: higherOf(one.rows, other.rows),
  asOf: one.asOf > other.asOf ? one.asOf : other.asOf,
})

/** Completes the prices of Claude on the platforms of others. */
function withClaude(file: string, priced: Map<string, PricedModel>): Map<string, PricedModel> {
  const isRecent = (name: string): boolean =>
    RECENT_CLAUDE.test(file === 'google' ? (googleNames(name).at(-1) ?? '') : name)
  if (file === 'google') {
    // Vertex AI has Anthropic's prices, and those of its regions.
    for (const [name, { rows, asOf }] of pricedNames('anthropic')) {
      const model = priced.get(name)
      if (isRecent(name)) {
        priced.set(name, model ? higherOfModels(model, { rows, asOf }) : { rows, asOf })
      }
    }
  }
  for (const [name, { rows, ...model }] of priced) {
    if (!isRecent(name)) continue
    const all = withHourlyCache(rows)
    priced.set(name, { ...model, rows: file === 'google' ? dearer(all, REGIONAL) : all })
  }
  return priced
}

/** Returns the models of a vendor by the names that its table lists. */
export function pricedModels(file: string): Map<string, PricedModel> {
  const priced = pricedNames(file)
  const spellings = spellingsOf(file)
  // A name covers its snapshots, unless one has a price of its own.
  const table = new Map<string, PricedModel>()
  for (const [name, model] of priced) {
    const short = shortName(file, name)
    const alike = priced.has(short)
      ? [name, short]
      : [...priced.keys()].filter((other) => shortName(file, other) === short)
    const listed = alike.every((other) => isSame(priced.get(other), model)) ? short : name
    if ((table.get(listed)?.asOf ?? '') < model.asOf) table.set(listed, model)
  }
  // Other spellings of a listed name are known.
  for (const [name, model] of table) {
    const others = new Map(table)
    others.delete(name)
    if (isSame(table.get(spellings(name).find((one) => others.has(one)) ?? ''), model))
      table.delete(name)
  }
  return table
}

const isSame = (one: PricedModel | undefined, other: PricedModel): boolean =>
  JSON.stringify(one?.rows) === JSON.stringify(other.rows)
