import type { Rounds } from '../measure/rounds.ts'
import type { Row } from '../measure/row.ts'
import type { Servers } from '../servers/servers.ts'

/** The servers and the rounds of a measurement. */
export interface Bench extends Rounds {
  readonly servers: Servers
}

/** A group of measurements that take turns. It becomes one table. */
export interface Scenario {
  readonly name: string
  /** One line for `--help` and above the table. */
  readonly title: string
  run(bench: Bench): Promise<Row[]>
}
