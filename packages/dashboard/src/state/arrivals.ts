import type { Batch } from '../records/batches.ts'
import type { DashboardRecord } from '../records/record.ts'

/** The most sources that are remembered. The one that was heard of longest ago is forgotten. */
const MAX_SOURCES = 1_000
/** The most gaps of a source that are remembered. The first are given up. */
const MAX_GAPS = 100

/** Numbers from `start` on, before `end`, that have not arrived. */
interface Gap {
  readonly start: number
  readonly end: number
  /** False for numbers before the first that arrived: an earlier dashboard may have got them. */
  readonly isMissing: boolean
}

interface Source {
  /** The number after the highest that has arrived. */
  next: number
  gaps: readonly Gap[]
}

/** Knows which records have arrived, for batches overtake each other, and are sent again if their answer is lost. */
export class Arrivals {
  readonly #sources = new Map<string, Source>()
  /** The missing records of sources and gaps that are remembered no more. */
  #lost = 0

  /** The records that have not arrived, though later ones of their sources have. */
  get missing(): number {
    return [...this.#sources.values()].reduce((sum, { gaps }) => sum + missingIn(gaps), this.#lost)
  }

  /** Returns the records of a batch that have not arrived before. */
  accept({ source: id, first, records }: Batch): DashboardRecord[] {
    const source = this.#sourceOf(id, first)
    const accepted = records.filter((_, index) => {
      const number = first + index
      return number >= source.next || source.gaps.some((gap) => isIn(gap, number))
    })
    const end = first + records.length
    const gaps = source.gaps.flatMap((gap) => without(gap, first, end))
    if (first > source.next) gaps.push({ start: source.next, end: first, isMissing: true })
    this.#lost += missingIn(gaps.splice(0, gaps.length - MAX_GAPS))
    source.gaps = gaps
    source.next = Math.max(source.next, end)
    return accepted
  }

  #sourceOf(id: string, first: number): Source {
    const gap = { start: 0, end: first, isMissing: false }
    const source = this.#sources.get(id) ?? { next: first, gaps: first > 0 ? [gap] : [] }
    this.#sources.delete(id)
    this.#sources.set(id, source)
    for (const [oldest, { gaps }] of this.#sources) {
      if (this.#sources.size <= MAX_SOURCES) break
      this.#sources.delete(oldest)
      this.#lost += missingIn(gaps)
    }
    return source
  }
}

const isIn = ({ start, end }: Gap, number: number): boolean => number >= start && number < end

/** Returns what is left of a gap without the numbers from `start` to `end`. */
const without = (gap: Gap, start: number, end: number): Gap[] =>
  [
    { ...gap, end: Math.min(gap.end, start) },
    { ...gap, start: Math.max(gap.start, end) },
  ].filter((part) => part.start < part.end)

const missingIn = (gaps: readonly Gap[]): number =>
  gaps.reduce((sum, { start, end, isMissing }) => sum + (isMissing ? end - start : 0), 0)
