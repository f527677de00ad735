/* The lines of a queue in memory: whose turn it is, by virtual time. */
import { FORGET_FLOW_MS } from './requests.ts'
import { Sorted } from './sorted.ts'

/** The line of one flow. */
export interface Line {
  readonly name: string
  /** Active if its jobs may run, parked if they wait for a limit, empty if it has none. */
  status: 'active' | 'parked' | 'empty'
  /** Its virtual time. */
  tag: number
  readonly waiting: Sorted
}

export class Lines {
  readonly #timers: Sorted
  readonly #lines = new Map<string, Line>()
  readonly #order = new Sorted()
  #virtualTime = 0

  /** @param timers Gets those of lines that are parked, and of empty ones, to be forgotten. */
  constructor(timers: Sorted) {
    this.#timers = timers
  }

  of(name: string): Line {
    const known = this.#lines.get(name)
    if (known) return known
    const line: Line = { name, status: 'empty', tag: 0, waiting: new Sorted() }
    this.#lines.set(name, line)
    return line
  }

  /** The line whose turn it is. */
  get next(): Line | undefined {
    const first = this.#order.first
    return first && this.of(first[1])
  }

  join(line: Line, member: string): void {
    line.waiting.set(member, 0)
    if (line.status !== 'empty') return
    this.#timers.delete(`forgotten|${line.name}`)
    this.#admit(line)
  }

  leave(line: Line, member: string, now: number): void {
    line.waiting.delete(member)
    if (line.waiting.size === 0) this.#empty(line, now)
  }

  /** Takes the first job out of a line, which is then as much further. */
  serve(line: Line, member: string, length: number, now: number): void {
    line.waiting.delete(member)
    this.#virtualTime = Math.max(this.#virtualTime, line.tag)
    line.tag += length
    if (line.waiting.size > 0) this.#order.set(line.name, line.tag)
    else this.#empty(line, now)
  }

  /** Undoes the progress of a line by a job that has not run. */
  moveBack(line: Line, length: number): void {
    line.tag = Math.max(0, line.tag - length)
    if (line.status === 'active') this.#order.set(line.name, line.tag)
  }

  /** Parks a line that has jobs. */
  park(line: Line, until: number): void {
    if (line.status === 'empty') return
    this.#order.delete(line.name)
    line.status = 'parked'
    this.#timers.set(`parked|${line.name}`, until)
  }

  /** Lets a line that is parked take turns again. */
  unpark(line: Line): void {
    if (line.status !== 'parked') return
    this.#timers.delete(`parked|${line.name}`)
    this.#admit(line)
  }

  forget(name: string): void {
    if (this.of(name).status === 'empty') this.#lines.delete(name)
  }

  #admit(line: Line): void {
    line.status = 'active'
    line.tag = Math.max(this.#virtualTime, line.tag)
    this.#order.set(line.name, line.tag)
  }

  #empty(line: Line, now: number): void {
    this.#order.delete(line.name)
    this.#timers.delete(`parked|${line.name}`)
    line.status = 'empty'
    this.#timers.set(`forgotten|${line.name}`, now + FORGET_FLOW_MS)
  }
}
