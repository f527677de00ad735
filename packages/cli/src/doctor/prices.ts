/* The age of the prices that a project counts dollars by, and the days on which its models end. */
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Prices } from '@sluice/ai'
import { attempt } from '@sluice/core/internal/limiter'
import { propertyOf } from '../source/literal.ts'
import { nameOf, nodesIn, textIn } from '../source/module.ts'
import { modulesWith, type ProjectSource } from '../source/project-source.ts'
import { findingsAmong, type Finding } from './finding.ts'

/** The days after which a price is old. */
export const MAX_AGE_DAYS = 60
/** The days before the end of a model on which a finding says so. */
export const NOTICE_DAYS = 120
export const DAY_MS = 86_400_000
export const CALL_ANOTHER = 'call another model: the vendor’s page of deprecations names one'
/** The most models that a finding names. */
const MAX_NAMED = 5

/** A price that the project counts by. */
interface UsedPrice {
  readonly model: string
  /** The file or the table that has it. */
  readonly from: string
  readonly asOf?: string | undefined
  readonly endsOn?: string | undefined
}

/** A table of `@sluice/ai` that the project imports. */
interface Table {
  readonly name: string
  readonly prices: Prices
  /** The day on which the installed version's prices were compared with their sources. */
  readonly checked: string
}

/**
 * Returns the models in use whose price nobody has compared with its source for long, and those that their vendor shuts
 * down soon. In use are the models that the source names, and those that it lists by `definePrices`. A price of a table is as
 * new as the installed version: nothing newer may exist to install.
 *
 * @param now Milliseconds since the Unix epoch.
 */
export async function judgePrices(source: ProjectSource, now: number): Promise<Finding[]> {
  const own = ownPrices(source)
  const tables = await importedTables(source)
  const named = tables.flatMap((table) => namedPrices(source, table))
  const whole = tables.flatMap((table) => wholeTable(table, named))
  const listed = new Set(own.map(({ model }) => model))
  const used = [...own, ...[...named, ...whole].filter(({ model }) => !listed.has(model))]
  const age = ({ asOf }: UsedPrice): number => (asOf === undefined ? 0 : now - Date.parse(asOf))
  const old = used.filter((price) => age(price) > MAX_AGE_DAYS * DAY_MS)
  const ending = used.filter(({ endsOn = '' }) => Date.parse(endsOn) - now < NOTICE_DAYS * DAY_MS)
  return findingsAmong<Finding>([
    old.length > 0 && {
      code: 'prices_old',
      text: `prices are older than ${MAX_AGE_DAYS} days: ${list(old, ({ model, from, asOf }) => `${model} of ${asOf} (${from})`)}`,
      remedy:
        'npm install @sluice/ai@latest; compare the prices that are still old with their vendors, and list what you pay by definePrices, each with the asOf of today',
    },
    ending.length > 0 && {
      code: 'model_ends',
      text: `vendors shut down models in use: ${list(ending, ({ model, endsOn }) => `${model} on ${endsOn}`)}`,
      remedy: CALL_ANOTHER,
    },
  ])
}

function list(prices: readonly UsedPrice[], textOf: (price: UsedPrice) => string): string {
  const more = prices.length - MAX_NAMED
  const texts = prices.slice(0, MAX_NAMED).map(textOf)
  return [...texts, ...(more > 0 ? [`and ${more} more`] : [])].join(', ')
}

function ownPrices(source: ProjectSource): UsedPrice[] {
  const modules = modulesWith(
    source,
    (text) => text.includes('definePrices') && /\b(asOf|endsOn)\b/.test(text),
  )
  return modules.flatMap(({ path, program }) =>
    [...nodesIn(program)].flatMap((node): UsedPrice | [] => {
      if (node.type !== 'ObjectProperty') return []
      const price = node['value'] as Parameters<typeof propertyOf>[0]
      const [asOf, endsOn] = ['asOf', 'endsOn'].map((field) => {
        const text = textIn(propertyOf(price, field).node)
        return text !== undefined && isDate(text) ? text : undefined
      })
      const isPrice = asOf !== undefined || endsOn !== undefined
      return isPrice ? { model: nameOf(node['key']).toLowerCase(), from: path, asOf, endsOn } : []
    }),
  )
}

function namedPrices(source: ProjectSource, table: Table): UsedPrice[] {
  const found = new Map<string, UsedPrice>()
  for (const { program } of modulesWith(source, (text) => hasModel(text, table.prices))) {
    for (const node of nodesIn(program)) {
      const model = textIn(node)?.toLowerCase()
      const price = model === undefined ? undefined : priceIn(table.prices, model)
      if (model !== undefined && price) found.set(model, usedPrice(model, table, price))
    }
  }
  return [...found.values()]
}

/** Returns true if a text may name a model of a table. */
const hasModel = (text: string, prices: Prices): boolean =>
  [...text.matchAll(/['"`]([\w@./:-]{1,128})['"`]/g)].some(
    ([, name = '']) => priceIn(prices, name.toLowerCase()) !== undefined,
  )

/** Returns the oldest price of a table of which the source names no model: any may be in use. */
function wholeTable(table: Table, named: readonly UsedPrice[]): UsedPrice[] {
  if (named.some(({ from }) => from === table.name)) return []
  const all = [...table.prices.models()].map(([model, price]) => usedPrice(model, table, price))
  const [oldest] = all
    .filter(({ asOf }) => asOf !== undefined)
    .toSorted((a, b) => Date.parse(a.asOf ?? '') - Date.parse(b.asOf ?? ''))
  return oldest ? [{ ...oldest, endsOn: undefined }] : []
}

function usedPrice(
  model: string,
  { name, checked }: Table,
  { asOf = '', endsOn }: { readonly asOf?: string; readonly endsOn?: string },
): UsedPrice {
  const days = [asOf, checked].filter(isDate).toSorted()
  return { model, from: name, asOf: days.at(-1), endsOn }
}

const priceIn = (prices: Prices, model: string): ReturnType<Prices['get']> =>
  prices.get(prices.nameOf(model) ?? '')

async function importedTables(source: ProjectSource): Promise<Table[]> {
  const imported = new Map<string, string>()
  for (const { imports } of modulesWith(source, (text) => text.includes('_PRICES'))) {
    for (const { name, from } of imports.values()) {
      if (name.endsWith('_PRICES') && /^@sluice\/ai(?:\/prices\/|$)/.test(from)) {
        imported.set(name, from)
      }
    }
  }
  const tables = [...imported].map(async ([name, from]): Promise<Table[]> => {
    const path = resolve(source.folder, from)
    if (path === undefined) return []
    const prices = (await load(path))[name] as Prices | undefined
    return prices?.nameOf ? [{ name, prices, checked: checkedDay(path) }] : []
  })
  return (await Promise.all(tables)).flat()
}

const isDate = (text: string): boolean => !Number.isNaN(Date.parse(text))

/** Returns the day on which the version of a file's package was compared with its sources. */
function checkedDay(path: string): string {
  const manifest = join(dirname(path), 'package.json')
  if (!existsSync(manifest)) return dirname(path) === path ? '' : checkedDay(dirname(path))
  const { pricesChecked } = JSON.parse(readFileSync(manifest, 'utf8')) as {
    pricesChecked?: string
  }
  return pricesChecked ?? ''
}

const resolve = (folder: string, from: string): string | undefined =>
  attempt(() => createRequire(join(folder, 'package.json')).resolve(from), undefined)

/** Loads a package as the project has it. Nothing if it fails. */
const load = (path: string): Promise<Record<string, unknown>> =>
  import(pathToFileURL(path).href).catch(() => ({}))
