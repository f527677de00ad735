import type { Rule } from './rules.ts'

/** The units of one key, as the definition of its policy counts them. */
export interface Count {
  /** Units in use, rounded up. */
  used(rule: Rule, now: number): number
  /** Milliseconds until it would be a charge's turn. */
  turnMs(now: number): number
  charge(units: number, now: number, id: string): void
  /** Corrects a charge that was made at `at`. Returns the units charged, below 0 if given back. */
  correct(charge: Charged, actual: number, now: number): number
  copy(): Count
}

/** A charge, as its reservation remembers it. */
export interface Charged {
  readonly id: string
  readonly at: number
  /** 0 if it was given back before. */
  readonly units: number
}
