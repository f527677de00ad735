// The second source: what models.dev says, kept in models-dev.json with its day.
import data from './models-dev.json' with { type: 'json' }
import { trimmed, type ModelRows, type Row } from './rows.ts'

type Kept = Row | readonly [usual: Row, above: number, long: Row]

interface Source {
  readonly source: string
  readonly asOf: string
}

const older: Readonly<Record<string, Source>> = data.older
const vendors = data.vendors as Readonly<Record<string, Readonly<Record<string, Kept>>>>

/** Returns the day on which models.dev said so. */
export const dayOfModelsDev = (file: string): string => (older[file] ?? data).asOf

/** The day of the newer source. */
export const DAY_OF_SOURCES: string = data.asOf

/** Returns the names of a vendor's models. */
export const modelsOfModelsDev = (file: string): string[] => [...rowsOfModelsDev(file).keys()]

/** Returns the rows of a vendor's models by name. */
export function rowsOfModelsDev(file: string): Map<string, ModelRows> {
  const table = new Map<string, ModelRows>()
  for (const [names, kept] of Object.entries(vendors[file] ?? {})) {
    const rows = isLong(kept)
      ? { usual: trimmed(kept[0]), above: kept[1], long: trimmed(kept[2]) }
      : { usual: trimmed(kept) }
    for (const name of names.split(' ')) table.set(name, rows)
  }
  return table
}

const isLong = (kept: Kept): kept is readonly [Row, number, Row] => Array.isArray(kept[0])
