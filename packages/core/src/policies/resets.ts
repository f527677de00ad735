import type { Every } from '../calendars/periods.ts'
import type { AlgorithmConfig } from './policy.ts'
import { ConfigError } from '../errors.ts'

/** The policy that a calendar is for. */
export interface ResettingPolicy {
  /** The function that creates it, as errors name it. */
  readonly factory: string
  readonly name: string
  /** The period that the function stands for. @default that of the calendar */
  readonly every?: Every
}

/** The periods in which a policy counts, created by `calendar`. */
export interface Calendar {
  /** Returns the part of a policy that counts in these periods. @throws ConfigError When it does not fit the policy. */
  configure(policy: ResettingPolicy): AlgorithmConfig<never>
  /** Returns the same calendar for days, which begin at its hour. */
  forDays(): Calendar
}

/** An option of policies that may count in the periods of a calendar. */
export interface Resets {
  /** The time zone, and the local time, at which periods begin, created by `calendar`. @default UTC, from midnight on */
  readonly resets?: Calendar | undefined
}

/** Returns the part of a policy that counts by its calendar, if it has one. @throws ConfigError When it is none. */
export function configureResets(
  { resets, name }: Resets & { readonly name: string },
  policy: Omit<ResettingPolicy, 'name'>,
): AlgorithmConfig<never> | undefined {
  if (resets === undefined) return undefined
  if (typeof resets?.configure === 'function') return resets.configure({ ...policy, name })
  const option = `${policy.factory}.resets`
  throw new ConfigError('invalid_option', option, 'must be created by calendar', resets)
}
