/*
 * Holds who waits in line to what it was told: nobody is let in before its time, and nobody without a place while others
 * wait. Written from docs/waiting.md; no code of the product is used.
 */
import type { Row } from './script-calls.ts'

type Accuse = (what: string) => void

/** The time for which a place is kept for one that is late, in milliseconds. */
const LATE_MS = 3_000

interface Place {
  /** The time that it was told. */
  readonly at: number
}

export class LineJudge {
  readonly #accuse: Accuse
  /** Those that wait, by the key of their line, and their tickets. */
  #lines = new Map<string, Map<string, Place>>()
  /** True once Redis has lost data: then it may know others that wait. */
  #isUnsure = false
  /** How often somebody has stood in a line, and was let in from one. */
  readonly tally = { stood: 0, letIn: 0 }

  constructor(accuse: Accuse) {
    this.#accuse = accuse
  }

  /** Judges the answer to one that stands in a line. */
  stood(key: string, ticket: string, reply: readonly unknown[], now: number): void {
    this.tally.stood += 1
    const [is, dueMs] = reply as [number, number]
    if (is !== 1) this.#of(key).delete(ticket)
    else this.#of(key).set(ticket, { at: now + dueMs })
    if (!Number.isInteger(dueMs) || dueMs < 0) this.#accuse(`a place is due after ${dueMs} ms`)
  }

  left(key: string, ticket: string): void {
    this.#of(key).delete(ticket)
  }

  /** Judges the line's part of a decision. `isLetIn`: the whole decision has charged. */
  decided({ key, rule, cost, fits, retryMs, ticket = '0' }: Row, now: number, isLetIn: boolean) {
    const places = this.#of(key)
    const own = places.get(ticket)
    const waiting = [...places].filter(([, { at }]) => at + LATE_MS > now)
    if (!fits) {
      if (retryMs < 1) this.#accuse(`${rule.name} denies, to be retried in ${retryMs} ms`)
      if (places.size === 0 && !this.#isUnsure) this.#accuse(`${rule.name} denies for nobody`)
      return
    }
    if (cost === 0) return
    if (own && now < own.at) this.#accuse(`${rule.name} lets in ${own.at - now} ms too early`)
    // A request that comes between has those behind wait longer, and may be late for longer.
    const mayBeKnown = this.#isUnsure && ticket !== '0'
    if (!own && !mayBeKnown && waiting.length > 0) {
      this.#accuse(`${rule.name} lets in one without a place, while ${waiting.length} wait`)
    }
    if (!isLetIn) return
    if (own) this.tally.letIn += 1
    places.delete(ticket)
  }

  reset(key: string): void {
    this.#lines.delete(key)
  }

  /** Forgets everything: Redis has, or may know more. */
  lose(): void {
    this.#lines = new Map()
    this.#isUnsure = true
  }

  #of(key: string): Map<string, Place> {
    const places = this.#lines.get(key) ?? new Map<string, Place>()
    this.#lines.set(key, places)
    return places
  }
}
