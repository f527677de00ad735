import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import type { Row } from '../measure/row.ts'
import type { Facts } from './facts.ts'

/** All that a run of a scenario has found. Its table is made from this alone. */
export interface Result {
  readonly scenario: string
  readonly title: string
  readonly rounds: number
  /** The load of the machine before and after. */
  readonly load: readonly [number, number]
  readonly facts: Facts
  readonly rows: readonly Row[]
}

const FOLDER = fileURLToPath(new URL('../../results', import.meta.url))

/** Writes a result to its file, in place of an older one. */
export function saveResult(result: Result, folder = FOLDER): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, `${result.scenario}.json`),
    `${JSON.stringify(result, sixDigits, 2)}\n`,
  )
}

const sixDigits = (_: string, value: unknown): unknown =>
  typeof value === 'number' ? Number(value.toPrecision(6)) : value

/** Reads the results of all scenarios that have been run with `--write`, by name. */
export function readResults(folder = FOLDER): ReadonlyMap<string, Result> {
  const results = readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Result)
  return new Map(results.map((result) => [result.scenario, result]))
}
