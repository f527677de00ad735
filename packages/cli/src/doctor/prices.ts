/* The age of the prices by which a project counts dollars. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Prices } from '@sluice/ai'
import { propertyOf } from '../source/literal.ts'
import { nodesIn, textIn } from '../source/module.ts'
import type { ProjectSource } from '../source/project-source.ts'
import type { Finding } from './finding.ts'

const MAX_AGE_DAYS = 60

const DAY_MS = 86_400_000

/** A table of prices, and the day of the newest of them. */
interface DatedTable {
  readonly name: string
  readonly asOf: string
}

/**
 * Returns the tables of prices that nobody has looked at for long. Prices of your own count by their `asOf`: one that is
 * newer shows that somebody did.
 *
 * @param now Milliseconds since the Unix epoch.
 */
export async function judgePrices(source: ProjectSource, now: number): Promise<Finding[]> {
  const isOld = (asOf: string): boolean => now - Date.parse(asOf) > MAX_AGE_DAYS * DAY_MS
  const own = ownPrices(source)
  if (own && !isOld(own.asOf)) return []
  const old = [...(await listedPrices(source)), ...(own ? [own] : [])].filter(({ asOf }) =>
    isOld(asOf),
  )
  if (old.length === 0) return []
  return [
    {
      code: 'prices_old',
      text: `prices are older than ${MAX_AGE_DAYS} days: ${old.map(({ name, asOf }) => `${name} of ${asOf}`).join(', ')}`,
      remedy:
        'npm install @sluice/ai@latest, then compare the prices of your models with their vendors, and list those that you pay by definePrices, each with its asOf',
    },
  ]
}

/** Returns the newest of the prices that the project itself dates, if it does. */
function ownPrices(source: ProjectSource): DatedTable | undefined {
  return [...source.texts]
    .filter(([, text]) => text.includes('definePrices') && text.includes('asOf'))
    .flatMap(([name]) => {
      const module = source.module(name)
      const dates = [...nodesIn(module?.program ?? { type: '' })].map((node) =>
        textIn(propertyOf(node, 'asOf').node),
      )
      return dates.flatMap((asOf) => (asOf !== undefined && isDate(asOf) ? [{ name, asOf }] : []))
    })
    .toSorted(newestFirst)[0]
}

/** Returns the tables of `@sluice/ai` that the project imports, each with the date of its newest price. */
async function listedPrices(source: ProjectSource): Promise<DatedTable[]> {
  const imported = new Map<string, string>()
  for (const [path, text] of source.texts) {
    if (!text.includes('_PRICES')) continue
    for (const { name, from } of source.module(path)?.imports.values() ?? []) {
      if (name.endsWith('_PRICES') && /^@sluice\/ai(?:\/prices\/|$)/.test(from)) {
        imported.set(name, from)
      }
    }
  }
  const tables = [...imported].map(async ([name, from]): Promise<DatedTable[]> => {
    const table = (await load(source.folder, from))?.[name] as Partial<Prices> | undefined
    const dates = [...(table?.models?.().values() ?? [])].map(({ asOf = '' }) => ({ name, asOf }))
    return dates
      .filter(({ asOf }) => isDate(asOf))
      .toSorted(newestFirst)
      .slice(0, 1)
  })
  return (await Promise.all(tables)).flat()
}

const isDate = (text: string): boolean => !Number.isNaN(Date.parse(text))

const newestFirst = (a: DatedTable, b: DatedTable): number =>
  Date.parse(b.asOf) - Date.parse(a.asOf)

/** Loads a package as the project has it; `undefined` if it is not installed. */
async function load(folder: string, from: string): Promise<Record<string, unknown> | undefined> {
  try {
    const path = createRequire(join(folder, 'package.json')).resolve(from)
    return (await import(pathToFileURL(path).href)) as Record<string, unknown>
  } catch {
    return undefined
  }
}
