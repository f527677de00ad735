/** Where progress is written, such as `process.stderr`. */
interface Output {
  readonly isTTY?: boolean
  write(text: string): unknown
}

/** Tells how far a run is: on a terminal one line that changes, elsewhere a line for each round. */
export class Progress {
  readonly #rounds: number
  readonly #output: Output
  #scenario = ''
  #group = 0
  #last = Number.NaN

  constructor(rounds: number, output: Output = process.stderr) {
    this.#rounds = rounds
    this.#output = output
  }

  /** Begins a scenario, the `index`th of `count`. */
  begin(name: string, index: number, count: number): void {
    this.#scenario = `[${index}/${count}] ${name}`
    this.#group = 0
    this.#last = Number.NaN
  }

  /** Reports a round, or a warm-up as round 0. A scenario may measure several groups of sides. */
  readonly round = (round: number): void => {
    if (round === 0 && this.#last === 0) return
    if (round === 0) this.#group += 1
    this.#last = round
    const stage = round === 0 ? 'warming up' : `round ${round} of ${this.#rounds}`
    this.#line(`${this.#scenario}, group ${this.#group}: ${stage}`)
  }

  /** Ends a scenario. */
  end(seconds: number): void {
    this.#line(`${this.#scenario}: ${seconds.toFixed(0)} s`)
    if (this.#output.isTTY) this.#output.write('\n')
  }

  #line(text: string): void {
    this.#output.write(this.#output.isTTY ? `\r\u001b[K${text}` : `${text}\n`)
  }
}
