import type { Table } from './text-table.ts'
import { COLOURS } from './svg.ts'

/** A plot, and the table with the same figures. */
export interface Plot {
  readonly title: string
  readonly svg: string
  readonly table: Table
}

/** The width of a plot with its axis, in pixels. */
export const WIDTH = 840

/** The parts of each bar. */
export const KINDS = ['allowed', 'denied'] as const

/** The encoding of `KINDS` as colours. */
interface KindColour {
  readonly field: 'kind'
  readonly type: 'nominal'
  readonly scale: { domain: string[]; range: string[] }
}

export const KIND_COLOUR: KindColour = {
  field: 'kind',
  type: 'nominal',
  scale: { domain: [...KINDS], range: KINDS.map((kind) => COLOURS[kind][0]) },
}
