import type { AlgorithmConfig } from './policy.ts'
import { assertCreatedBy } from '../internal/validation.ts'

/** The kinds of periods. */
export const EVERY = ['day', 'week', 'month', 'year'] as const

/** A kind of period. */
export type Every = (typeof EVERY)[number]

/** The options of a policy that a calendar is for. */
interface ResettingOptions extends Resets {
  readonly name: string
  readonly window?: unknown
}

/** The periods in which a policy counts, created by `calendar`. */
export interface Calendar {
  /**
   * Returns the part of a policy that counts in these periods.
   *
   * @param factory The function that creates the policy, as errors name it.
   * @param every The period that the function stands for. @default that of the calendar
   * @throws ConfigError When the calendar does not fit the policy.
   */
  configure(factory: string, options: ResettingOptions, every?: Every): AlgorithmConfig<never>
  /** Returns the same calendar for days, which begin at its hour. */
  forDays(): Calendar
}

/** An option of policies that may count in the periods of a calendar. */
export interface Resets {
  /** The time zone, and the local time, at which periods begin, created by `calendar`. @default UTC, from midnight on */
  readonly resets?: Calendar | undefined
}

/** Returns the part of a policy that counts by its calendar, if it has one. @throws ConfigError When it is none. */
export const configureResets = (
  ...[factory, options, every]: Parameters<Calendar['configure']>
): AlgorithmConfig<never> | undefined =>
  assertCreatedBy('calendar', `${factory}.resets`, options.resets, 'configure')?.configure(
    factory,
    options,
    every,
  )
