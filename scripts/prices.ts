// Writes the tables of list prices in packages/ai/src/prices from a public package of price data. Run it by
// `npm run prices` after raising the package's version, and read what it prints.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import {
  findProvider,
  type ConditionalPrice,
  type MatchLogic,
  type ModelInfo,
} from '@pydantic/genai-prices'
import { format, resolveConfig } from 'prettier'
import { spellingsOf } from '../packages/ai/src/model-name.ts'

/** The day on which this version of the package was published. */
export const PUBLISHED = { version: '0.1.8', asOf: '2026-09-23' }

/** The tables by the name of their file, the vendor's id in the package, and the vendor as the docs name it. */
export const VENDORS: Readonly<Record<string, readonly [id: string, name: string]>> = {
  openai: ['openai', 'OpenAI'],
  anthropic: ['anthropic', 'Anthropic'],
  google: ['google', 'Google'],
  bedrock: ['aws', 'Amazon Bedrock'],
  cohere: ['cohere', 'Cohere'],
  deepseek: ['deepseek', 'DeepSeek'],
  groq: ['groq', 'Groq'],
  mistral: ['mistral', 'Mistral'],
  moonshot: ['moonshotai', 'Moonshot'],
  'workers-ai': ['cloudflare', 'Workers AI'],
  xai: ['x-ai', 'xAI'],
}

/** Dollars per million tokens: input, cached input, output, cache write, cache write for longer. */
export type Row = readonly (number | null)[]
/** The rows of a model: usual, and those of an input above a length. */
export interface ModelRows {
  readonly usual: Row
  readonly above?: number
  readonly long?: Row
}

const KINDS = [
  'input_mtok',
  'cache_read_mtok',
  'output_mtok',
  'cache_write_mtok',
  'cache_write_1h_mtok',
] as const
/** A price of something that is not counted in tokens of text. */
const OTHER_KIND = /audio|image|video|hours|requests/
/** Rows that the package has from another seller. */
const SECOND_HAND = /OpenRouter/
/** Models that are gone, and those that count tokens of sound or pictures. */
const LEFT_OUT =
  /^(ada|babbage|curie|davinci|text-(ada|curie|davinci)|claude-(2|v1)|ft:)|audio|tts|image|vision|realtime|^claude.*\.0(-|$)/
const SNAPSHOT = /-(?:\d{4}-\d{2}-\d{2}|\d{8}|latest)$/

type Prices = Extract<ModelInfo['prices'], unknown[]>[number]['prices']

const isLater = ({ constraint }: ConditionalPrice): boolean =>
  constraint?.type === 'start_date' && constraint.start_date > PUBLISHED.asOf
const isHourly = ({ constraint }: ConditionalPrice): boolean => constraint?.type === 'time_of_date'

/** Returns the prices of that day and those announced for later, because a deployed bundle stays; also those by hour. */
function pricesOf(model: ModelInfo): Prices[] {
  if (!Array.isArray(model.prices)) return [model.prices]
  const past = model.prices.filter((price) => !isLater(price) && !isHourly(price))
  const others = model.prices.filter((price) => isLater(price) || isHourly(price))
  return [...past.slice(-1), ...others].map(({ prices }) => prices)
}

/** Returns the rows of a model, or `undefined` if its price depends on more than tokens of text. */
export function rowsOf(model: ModelInfo): ModelRows | undefined {
  const all = pricesOf(model)
  const names = all.flatMap((prices) => Object.keys(prices))
  if (!names.includes('input_mtok') || names.some((name) => OTHER_KIND.test(name))) return undefined
  const highest = (kind: string, isLong: boolean): number | null => {
    const values = all.flatMap((prices) => {
      const price = prices[kind]
      if (price === undefined) return []
      if (typeof price === 'number') return [price]
      return isLong ? price.tiers.map((tier) => tier.price) : [price.base]
    })
    return values.length > 0 ? Math.max(...values) : null
  }
  const rowFor = (isLong: boolean): Row => {
    const [input, cached, output, ...writes] = KINDS.map((kind) => highest(kind, isLong))
    const row = [input ?? null, cached ?? null, output ?? 0, ...writes]
    while (row.length > 3 && row.at(-1) === null) row.pop()
    return row
  }
  const starts = all.flatMap((prices) =>
    Object.values(prices).flatMap((price) => (typeof price === 'object' ? price.tiers : [])),
  )
  if (starts.length === 0) return { usual: rowFor(false) }
  const above = Math.min(...starts.map(({ start }) => start))
  return { usual: rowFor(false), above, long: rowFor(true) }
}

function matches(logic: MatchLogic, name: string): boolean {
  if ('or' in logic) return logic.or.some((one) => matches(one, name))
  if ('and' in logic) return logic.and.every((one) => matches(one, name))
  if ('equals' in logic) return logic.equals === name
  if ('starts_with' in logic) return name.startsWith(logic.starts_with)
  if ('ends_with' in logic) return name.endsWith(logic.ends_with)
  if ('contains' in logic) return name.includes(logic.contains)
  return new RegExp(logic.regex).test(name)
}

/** Returns the names that a rule mentions. */
function mentioned(logic: MatchLogic): string[] {
  if ('or' in logic) return logic.or.flatMap(mentioned)
  if ('equals' in logic) return [logic.equals]
  if ('starts_with' in logic) return [logic.starts_with]
  return []
}

/** Returns the models of a vendor whose price depends on tokens of text alone, by name. */
export function modelsOf(id: string): Map<string, ModelRows> {
  const { models = [] } = findProvider({ providerId: id }) ?? {}
  const ofName = (name: string): ModelInfo | undefined =>
    models.find(({ match }) => matches(match, name))
  const table = new Map<string, ModelRows>()
  for (const model of models) {
    const rows = rowsOf(model)
    if (
      rows === undefined ||
      SECOND_HAND.test(model.price_comments ?? '') ||
      LEFT_OUT.test(model.id)
    ) {
      continue
    }
    for (const name of [model.id, ...mentioned(model.match)]) {
      // A name covers its snapshots, unless one has a price of its own.
      const short = name.replace(SNAPSHOT, '')
      const listed = ofName(short) === model ? short : name
      const isWhole = /^[a-z@][\w./:@-]*[a-z\d]$/.test(listed) && !/-20\d\d$/.test(listed)
      // Azure writes the version with a dash.
      const isAzure = /^gpt-(\d-\d|35)/.test(listed)
      if (isWhole && !isAzure && !LEFT_OUT.test(listed) && ofName(listed) === model) {
        table.set(listed, rows)
      }
    }
  }
  // Other spellings of a listed name are known.
  for (const [name, rows] of table) {
    const others = new Map(table)
    others.delete(name)
    const listed = spellingsOf(name).find((one) => others.has(one)) ?? ''
    if (table.get(listed) === rows) table.delete(name)
  }
  return table
}

const text = ({ usual, above, long }: ModelRows): string =>
  JSON.stringify(long ? [usual, above, long] : usual)

/** Returns the text of a vendor's table. */
export async function tableText(file: string): Promise<string> {
  const [id, vendor] = VENDORS[file] ?? []
  if (id === undefined || vendor === undefined) throw new Error(`There is no vendor ${file}`)
  const source = findProvider({ providerId: id })?.pricing_urls?.[0] ?? ''
  const names = new Map<string, string[]>()
  for (const [name, rows] of modelsOf(id)) {
    names.set(text(rows), [...(names.get(text(rows)) ?? []), name])
  }
  const lines = [...names].map(([rows, list]) => `'${list.toSorted().join(' ')}': ${rows},`)
  const constant = `${file.toUpperCase().replaceAll('-', '_')}_PRICES`
  const code = `
    // Written by \`npm run prices\` from @pydantic/genai-prices ${PUBLISHED.version} (MIT). Do not edit.
    import type { Prices } from './prices.ts'
    import { priceTable } from './price-table.ts'

    /**
     * List prices of ${vendor} of ${PUBLISHED.asOf}. The rows are in dollars per million tokens: input, cached input, output,
     * cache write, cache write for longer.
     *
     * ${source}
     */
    export const ${constant}: Prices = /* @__PURE__ */ priceTable('${PUBLISHED.asOf}', '${source}', {
      ${lines.toSorted().join('\n')}
    })
  `
  const path = fileOf(file)
  return format(code, { ...(await resolveConfig(path)), filepath: path })
}

/** Returns the path of a vendor's table. */
export const fileOf = (file: string): string =>
  fileURLToPath(new URL(`../packages/ai/src/prices/${file}.ts`, import.meta.url))

if (import.meta.main) {
  for (const file of Object.keys(VENDORS)) {
    const written = await tableText(file)
    let before = ''
    try {
      before = readFileSync(fileOf(file), 'utf8')
    } catch {
      // There is none yet.
    }
    writeFileSync(fileOf(file), written)
    console.log(`${file}: ${written === before ? 'unchanged' : 'changed'}`)
  }
}
