import type { Rounds } from '../measure/rounds.ts'
import type { Row } from '../measure/row.ts'
import type { Servers } from '../servers/servers.ts'

/** The servers and the rounds of a measurement. */
export interface Bench extends Rounds {
  readonly servers: Servers
}

/** A group of measurements that take turns. It becomes one table and its plots. */
export interface Scenario {
  readonly name: string
  /** One line for `--help`, above the table and under the plot. */
  readonly title: string
  /** The part of rows without `at` that its plot shows; default: `figures`. */
  readonly plot?: 'figures' | 'ratios'
  run(bench: Bench): Promise<Row[]>
}
