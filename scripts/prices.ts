// Writes the tables of list prices in packages/ai/src/prices from two public sources, the package @pydantic/genai-prices
// and models.dev, and from rows of our own. Run it by `npm run prices` after renewing a source, and read what it prints.
import { readFileSync, writeFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { fileURLToPath } from 'node:url'
import { findProvider } from '@pydantic/genai-prices'
import { format, resolveConfig } from 'prettier'
import { ENDS } from './prices/own-rows.ts'
import { pricedModels, type PricedModel } from './prices/priced-models.ts'
import { dearer, REGIONAL, times, type ModelRows } from './prices/rows.ts'
import { VENDORS } from './prices/vendors.ts'

/** Returns the rows as a table has them: it doubles what it has no row for. */
function text({ usual, above, long }: ModelRows): string {
  if (long === undefined) return JSON.stringify(usual)
  const doubled = usual.map((rate, kind) => rate && times(rate, kind === OUTPUT ? 1.5 : 2))
  return JSON.stringify(isDeepStrictEqual(doubled, long) ? [usual, above] : [usual, above, long])
}

const OUTPUT = 2

/**
 * Splits a table into the models that cost this much more in a region than worldwide, by their names in a region, and
 * the others. A table that knows regions has the former once, at the price of the profile `global`.
 */
function splitRegions(models: Map<string, PricedModel>): readonly Map<string, PricedModel>[] {
  const worldwide = new Map<string, PricedModel>()
  const others = new Map(models)
  for (const [name, model] of models) {
    const own = name.replace('global.', '')
    const home = models.has(own) ? own : `us.${own}`
    const rows = others.get(home)?.rows
    if (own === name || !isDeepStrictEqual(rows, dearer(model.rows, REGIONAL))) continue
    worldwide.set(own, model)
    for (const listed of [name, home]) others.delete(listed)
  }
  return [others, worldwide]
}

/** Returns the text of a vendor's table. */
export async function tableText(file: string): Promise<string> {
  const { id, name, rule } = VENDORS[file] ?? {}
  if (id === undefined) throw new Error(`There is no vendor ${file}`)
  const page = findProvider({ providerId: id })?.pricing_urls?.[0] ?? ''
  const all = pricedModels(file)
  const ending = Object.values(ENDS[file] ?? {}).flatMap((names) => names.split(' '))
  const unlisted = ending.filter((model) => !all.has(model))
  if (unlisted.length > 0) throw new Error(`${file} does not list ${unlisted.join(', ')}`)
  const [models, worldwide] = file === 'bedrock' ? splitRegions(all) : [all, new Map()]
  const regions = file === 'bedrock' ? ', withRegions' : ''
  const parts = pagesOf(models, worldwide, page)
  const ends = ENDS[file] ? `, ${JSON.stringify(ENDS[file])}` : ''
  const table = `/* @__PURE__ */ priceTable({${parts.join('\n')}}${ends})`
  const code = `
    // Written by \`npm run prices\`. Do not edit: docs/prices.md names the sources.
    import type { Prices } from './prices.ts'
    import { priceTable } from './price-table.ts'${rule ? importsOf(rule, regions) : ''}

    /** List prices of ${name}, ${page} */
    export const ${file.toUpperCase().replaceAll('-', '_')}_PRICES: Prices =
      ${rule ? `{ ...${table}, spellings: ${rule} }` : table}
  `
  const path = fileOf(file)
  return format(code, { ...(await resolveConfig(path)), filepath: path })
}

type Listed = [name: string, model: PricedModel]

/** Returns the rows by day and page. */
function pagesOf(
  models: Map<string, PricedModel>,
  worldwide: Map<string, PricedModel>,
  page: string,
): string[] {
  const pages = Map.groupBy(
    [...models, ...worldwide],
    ([, { asOf, source = page }]) => `${asOf} ${source}`,
  )
  const groups: string[] = [...pages.keys()]
  const listed = new Set(worldwide.values())
  return groups.toSorted().map((group) => {
    const [own, regional] = [false, true].map((wanted) =>
      rowLines((pages.get(group) ?? []).filter(([, model]) => listed.has(model) === wanted)),
    )
    return `'${group}': {\n${own}\n${regional && `...withRegions({\n${regional}\n}),`}\n},`
  })
}

function rowLines(models: readonly Listed[]): string {
  const rows = Map.groupBy(models, ([, model]) => text(model.rows))
  const lines = [...rows].map(([row, list]) => {
    const names = list.map(([name]) => name).toSorted()
    return `'${names.join(' ')}': ${row},`
  })
  return lines.toSorted().join('\n')
}

const importsOf = (rule: string, others: string): string => `
  import { ${rule}${others} } from './${rule.replace(/[A-Z].*/, '')}-names.ts'`

/** Returns the path of a vendor's table. */
export const fileOf = (file: string): string =>
  fileURLToPath(new URL(`../packages/ai/src/prices/${file}.ts`, import.meta.url))

const MANIFEST = fileURLToPath(new URL('../packages/ai/package.json', import.meta.url))
const CHECKED = /(?<="pricesChecked": ")[^"]*/

/** Throws if the prices were compared with their sources too long ago to be published. */
export function assertFresh(manifest: string, now: number): void {
  const [day = ''] = CHECKED.exec(manifest) ?? []
  if (now - Date.parse(day) < 30 * 86_400_000) return
  throw new Error(
    `The prices are of ${day}. Compare them with their sources, and run npm run prices.`,
  )
}

function writeTable(file: string, written: string): void {
  let before = ''
  try {
    before = readFileSync(fileOf(file), 'utf8')
  } catch {
    // There is none yet.
  }
  writeFileSync(fileOf(file), written)
  console.log(`${file}: ${written === before ? 'unchanged' : 'changed'}`)
}

if (import.meta.main) {
  const manifest = readFileSync(MANIFEST, 'utf8')
  if (process.argv.includes('--fresh')) assertFresh(manifest, Date.now())
  else {
    for (const file of Object.keys(VENDORS)) writeTable(file, await tableText(file))
    writeFileSync(MANIFEST, manifest.replace(CHECKED, new Date().toISOString().slice(0, 10)))
  }
}
