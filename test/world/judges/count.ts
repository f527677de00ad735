import type { Rule } from './rules.ts'

/** The units of one key, as the definition of its policy counts them. */
export interface Count {
  /** Units in use, rounded up. */
  used(rule: Rule, now: number): number
  /** Milliseconds until it would be a charge's turn. */
  turnMs(now: number): number
  /**
   * @param rule That of who charges: apps that run beside each other may have different calendars.
   * @param holdMs Of credits: the time within which it will be settled, 0 if it is spent at once.
   */
  charge(units: number, now: number, id: string, rule?: Rule, holdMs?: number): void
  /** Corrects a charge that was made at `at`. Returns the units charged, below 0 if given back. */
  correct(charge: Charged, actual: number, now: number, rule?: Rule): number
  /** The end of the period of a calendar. */
  readonly until?: number
  copy(): Count
}

/** A charge, as its reservation remembers it. */
export interface Charged {
  readonly id: string
  readonly at: number
  /** 0 if it was given back before. */
  readonly units: number
  /** The end of the period of a calendar that it was made in. */
  readonly until?: number | undefined
}
