import type { Servers } from '../servers/servers.ts'
import type { Row } from '../measure/table.ts'

/** The servers and the number of rounds of a measurement. */
export interface Bench {
  readonly servers: Servers
  readonly rounds: number
}

/** A group of measurements that take turns. */
export interface Scenario {
  readonly name: string
  /** One line for `--help`. */
  readonly title: string
  run(bench: Bench): Promise<Row[]>
}
