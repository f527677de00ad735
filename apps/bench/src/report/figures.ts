import type { Row, Unit } from '../measure/row.ts'
import { median, ratios } from '../measure/rounds.ts'
import { amount } from './numbers.ts'
import type { Result } from './result.ts'

/** Where a row is: its scenario and title and, if rows share these, its unit and place on an axis. */
export interface Place {
  readonly scenario: string
  readonly title: string
  readonly unit?: Unit
  readonly at?: Row['at']
}

/** Looks figures up in results. */
export class Figures {
  readonly #results: ReadonlyMap<string, Result>

  constructor(results: ReadonlyMap<string, Result>) {
    this.#results = results
  }

  /** Returns Sluice's median. */
  value(place: Place): number {
    return median(this.#row(place).ours.values)
  }

  /** Returns Sluice's median with its unit. */
  text(place: Place): string {
    return amount(this.value(place), this.#row(place).unit)
  }

  /** Returns the median ratio of Sluice to another. */
  ratio(place: Place, name: string): number {
    const { ours, others } = this.#row(place)
    const other = others?.[name]
    if (other === undefined) throw new Error(`${place.title} is not compared with ${name}`)
    return median(ratios(ours.values, other.values))
  }

  #row({ scenario, title, unit, at }: Place): Row {
    const isSame = (row: Row): boolean =>
      row.title === title &&
      (unit === undefined || row.unit === unit) &&
      JSON.stringify(row.at) === JSON.stringify(at)
    const row = this.#results.get(scenario)?.rows.find(isSame)
    if (row === undefined) throw new Error(`No row "${title}" of ${scenario} has been saved`)
    return row
  }
}
