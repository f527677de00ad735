import type { TakenCounters } from '../counters/counter-flush.ts'
import { isInPool, type Counter, type CounterHash } from '../counters/counter.ts'
import { rankOf, type CellId } from './cell.ts'
import { CellSizes } from './cell-sizes.ts'
import { tenantNames, type TenantForm } from './tenant-names.ts'

/** The most cells that an isolate holds between two flushes. Past that, the small ones share their family's. */
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
  /** True once the store has no room for all cells: from then on, it is told which are large. */
  isStoreFull = false
  /** True if the limiter counts dollars, by which cells are then compared. */
  readonly #hasDollars: boolean
  #cells = new Map<string, Cell>()
  /** The latest claim of each cell. */
  #claims = new Map<string, Claim>()
  #sizes = new CellSizes()
  /** The size of the smallest cell by the start of its name and its pool, at the last search. */
  #least = new Map<string, number>()

  constructor(hasDollars: boolean) {
    this.#hasDollars = hasDollars
  }

  get areMany(): boolean {
    return this.#cells.size >= MANY_CELLS
  }

  /** Adds counts to a cell. */
  add(hour: number, id: CellId, values: readonly number[]): void {
    this.#add(keyOf(hour, id), { hour, id, values: [...values] })
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
    const cells = [...this.#cells.values()].map((cell) => ({ cell, rank: this.#rankIn(cell) }))
    this.#cells = new Map()
    this.#claims = new Map()
    this.#least = new Map()
    if (cells.length === 0) return undefined
    // The largest come first, while there is room.
    cells.sort((a, b) => (b.rank?.size ?? 0) - (a.rank?.size ?? 0))
    return async () => {
      const names = await tenantNames(
        cells.map(({ cell }) => tenantOf(cell)),
        form,
      )
      return groupByHour(cells).map(([hour, ofHour]) => ({
        hashes: hashesOf(hour),
        counters: ofHour.map(({ cell, rank }) => ({ ...toCounter(cell, names), rank })),
      }))
    }
  }

  /** Returns the rank of a cell to save, with what it had before; `undefined` while the store has room. */
  #rankIn({ hour, id, values }: Cell): Counter['rank'] {
    const rank = this.isStoreFull ? rankOf(id, this.#hasDollars) : undefined
    return rank && { ...rank, size: this.#sizes.add(keyOf(hour, id), values[rank.by] ?? 0) }
  }

  #add(key: string, cell: Cell): void {
    const known = this.#cells.get(key)
    if (known) {
      addTo(known.values, cell.values)
      return
    }
    const { hour, id } = cell
    const isRest = id.parts.length === 0
    if (isRest || this.#cells.size < MAX_CELLS || this.#makeRoom(cell)) this.#cells.set(key, cell)
    else this.#add(restKey(hour, id), { ...cell, id: { ...id, parts: [] } })
  }

  /** Adds the smallest cell to the rest of its family, if the new one has become larger. */
  #makeRoom({ hour, id, values }: Cell): boolean {
    const rank = rankOf(id, this.#hasDollars)
    // A correction goes to the place of the count that it corrects.
    if (!rank || (values[0] ?? 0) <= 0) return false
    const amount = values[rank.by] ?? 0
    const size = this.#sizes.add(keyOf(hour, id), amount)
    const pool = id.family + rank.pool
    if (size <= (this.#least.get(pool) ?? -Infinity)) return false
    let smallest: [key: string, cell: Cell, size: number] | undefined
    for (const [key, cell] of this.#cells) {
      const isRival = cell.id.parts.length > 0 && cell.id.family === id.family
      const rivalSize = cell.values[rank.by] ?? 0
      if (!isRival || rivalSize >= (smallest?.[2] ?? Infinity)) continue
      if (isInPool(nameOf(cell.id), rank.pool)) smallest = [key, cell, rivalSize]
    }
    this.#least.set(pool, smallest?.[2] ?? Infinity)
    if (!smallest || size <= smallest[2]) return false
    const [key, cell] = smallest
    // Its flush adds all that it then has.
    this.#sizes.add(keyOf(hour, id), -amount)
    this.#cells.delete(key)
    this.#add(restKey(cell.hour, cell.id), { ...cell, id: { ...cell.id, parts: [] } })
    return true
  }
}

const restKey = (hour: number, { family }: CellId): string => `${hour}${family}`

function addTo(values: number[], added: readonly number[]): void {
  for (const [index, value] of added.entries()) values[index] = (values[index] ?? 0) + value
}

/** A cell without parts is the rest of its family. */
const nameOf = ({ family, parts }: CellId): string =>
  parts.length === 0 ? family : family + JSON.stringify(parts)

const keyOf = (hour: number, id: CellId): string => `${hour}${nameOf(id)}`

const tenantOf = ({ id }: Cell): string => String(id.parts[0] ?? '')

function toCounter(cell: Cell, names: ReadonlyMap<string, string>): Counter {
  const { id, values, claim } = cell
  const [tenant, ...others] = id.parts
  const parts = tenant === undefined ? [] : [names.get(tenantOf(cell)) ?? '', ...others]
  return { name: nameOf({ ...id, parts }), values, claim }
}

function groupByHour<T extends { readonly cell: Cell }>(cells: readonly T[]): [number, T[]][] {
  const hours = new Map<number, T[]>()
  for (const item of cells) {
    const ofHour = hours.get(item.cell.hour)
    if (ofHour) ofHour.push(item)
    else hours.set(item.cell.hour, [item])
  }
  return [...hours]
}
