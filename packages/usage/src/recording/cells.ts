import type { TakenCounters } from '../counters/counter-flush.ts'
import type { Counter, CounterHash } from '../counters/counter.ts'
import type { CellId } from './cell.ts'
import { tenantNames, type TenantForm } from './tenant-names.ts'

/** The most cells that an isolate holds between two flushes. Past that, new ones share their family's. */
const MAX_CELLS = 1_000

/** The size at which cells are saved before their time. */
const MANY_CELLS = 500

type Claim = NonNullable<Counter['claim']>

/** Counts of one cell in one hour. */
interface Cell {
  readonly hour: number
  readonly id: CellId
  readonly values: number[]
  readonly claim?: Claim | undefined
}

/** The cells that an isolate has counted since its last flush. */
export class Cells {
  #cells = new Map<string, Cell>()
  /** The latest claim of each cell. */
  #claims = new Map<string, Claim>()

  get areMany(): boolean {
    return this.#cells.size >= MANY_CELLS
  }

  /** Adds counts to a cell. */
  add(hour: number, id: CellId, values: readonly number[]): void {
    this.#add(`${hour}${nameOf(id)}`, { hour, id, values: [...values] })
  }

  /** Adds counts unless an earlier claim on the cell lasts, or there are too many claims to know. */
  addOnce(hour: number, id: CellId, values: readonly number[], claim: Claim): void {
    const name = nameOf(id)
    const known = this.#claims.get(name)
    if (known ? claim.at < known.until : this.#claims.size >= MAX_CELLS) return
    this.#claims.set(name, claim)
    this.#add(`${claim.at}${name}`, { hour, id, claim, values: [...values] })
  }

  /** Forgets all cells, and returns the way to get them as counters to save, if there are any. */
  take(
    hashesOf: (hour: number) => readonly CounterHash[],
    form: TenantForm,
  ): TakenCounters | undefined {
    const cells = [...this.#cells.values()]
    this.#cells = new Map()
    this.#claims = new Map()
    if (cells.length === 0) return undefined
    return async () => {
      const names = await tenantNames(cells.map(tenantOf), form)
      return groupByHour(cells).map(([hour, ofHour]) => ({
        hashes: hashesOf(hour),
        counters: ofHour.map((cell) => toCounter(cell, names)),
      }))
    }
  }

  #add(key: string, cell: Cell): void {
    const known = this.#cells.get(key)
    if (known) {
      for (const [index, value] of cell.values.entries()) {
        known.values[index] = (known.values[index] ?? 0) + value
      }
      return
    }
    const { hour, id } = cell
    const isRest = id.parts.length === 0
    if (isRest || this.#cells.size < MAX_CELLS) this.#cells.set(key, cell)
    else this.#add(`${hour}${id.family}`, { ...cell, id: { ...id, parts: [] } })
  }
}

/** A cell without parts is the rest of its family. */
const nameOf = ({ family, parts }: CellId): string =>
  parts.length === 0 ? family : family + JSON.stringify(parts)

const tenantOf = ({ id }: Cell): string => String(id.parts[0] ?? '')

function toCounter(cell: Cell, names: ReadonlyMap<string, string>): Counter {
  const { id, values, claim } = cell
  const [tenant, ...others] = id.parts
  const parts = tenant === undefined ? [] : [names.get(tenantOf(cell)) ?? '', ...others]
  return { name: nameOf({ ...id, parts }), values, claim }
}

function groupByHour(cells: readonly Cell[]): [hour: number, cells: Cell[]][] {
  const hours = new Map<number, Cell[]>()
  for (const cell of cells) {
    const ofHour = hours.get(cell.hour)
    if (ofHour) ofHour.push(cell)
    else hours.set(cell.hour, [cell])
  }
  return [...hours]
}
