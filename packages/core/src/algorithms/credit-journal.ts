import { HOUR_MS, type Part, type Sums } from './credit-state.ts'

/** The journal of an account in one step: its new entries, and the spending of the hour, which becomes entries later. */
export class CreditJournal {
  spent: Part[]
  readonly entries: string[] = []
  readonly #sums: Sums
  readonly #now: number

  constructor(sums: Sums, spent: readonly Part[], now: number) {
    this.#sums = sums
    this.spent = [...spent]
    this.#now = now
  }

  /** Appends an entry: the number, the time, the kind, the units, the lot, the sum of all so far, and more. */
  log(kind: string, units: number, lot: string, more = '', at: number = this.#now): void {
    if (units === 0) return
    if (kind !== 'spent') this.#flush()
    const sums = this.#sums
    sums.entries += 1
    sums.logged += units
    this.entries.push(`${sums.entries} ${at} ${kind} ${units} ${lot} ${sums.logged} ${more}`)
  }

  /** Adds spending to that of the hour. That of an hour before becomes entries. */
  spend(parts: readonly Part[]): void {
    const hour = this.#now - (this.#now % HOUR_MS)
    if (this.#sums.hour !== hour) this.#flush()
    this.#sums.hour = hour
    for (const [lot, units] of parts) {
      if (units === 0) continue
      const at = this.spent.findIndex(([name]) => name === lot)
      if (at < 0) this.spent.push([lot, units])
      else this.spent[at] = [lot, (this.spent[at] as Part)[1] + units]
    }
  }

  #flush(): void {
    const { spent } = this
    this.spent = []
    for (const [lot, units] of spent) this.log('spent', -units, lot, '', this.#sums.hour)
  }
}
