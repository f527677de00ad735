import * as fc from 'fast-check'
import type { Ask } from './oracle.ts'
import { sessionOf, type Rule } from './rules.ts'
import { endOf } from './usage.ts'

/** A move of the clock before an event: often exactly onto a moment at which something changes. */
export interface Step {
  readonly kind: 'stay' | 'some' | 'retry' | 'reset' | 'border' | 'windows' | 'midnight' | 'month'
  readonly rule: number
  /** Off the moment by so much, in milliseconds. */
  readonly off: number
  /** A share of the longest way. */
  readonly share: number
}

export interface Event {
  readonly step: Step
  readonly ask: Ask
  readonly apply: boolean
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(
    'stay',
    'stay',
    'some',
    'some',
    'retry',
    'reset',
    'border',
    'windows',
    'midnight',
    'month',
  ),
  rule: fc.nat(15),
  off: fc.constantFrom(-1, 0, 0, 1),
  share: fc.double({ min: 0, max: 1, noNaN: true }),
})

const cost = fc.oneof(
  { weight: 4, arbitrary: fc.constant(1) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 5 }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 32 }) },
)

const event: fc.Arbitrary<Event> = fc.record({
  step,
  apply: fc.constantFrom(true, true, true, false),
  ask: fc.record({
    tenant: fc.constantFrom('a', 'a', 'b'),
    route: fc.constantFrom('x', 'x', 'y'),
    cost: fc.record({ request: cost, token: cost, usd: cost }),
  }),
})

export const events = (maxLength: number): fc.Arbitrary<readonly Event[]> =>
  fc.array(event, { minLength: 1, maxLength, size: 'max' })

/** Some moment from 1971 to 2105, often close to the end of a month or of a leap February. */
export const start: fc.Arbitrary<number> = fc.oneof(
  fc.integer({ min: 366 * 86_400_000, max: Date.UTC(2105, 0, 1) }),
  fc
    .record({
      year: fc.constantFrom(1972, 2000, 2023, 2024, 2028, 2100),
      month: fc.nat(11),
      before: fc.constantFrom(1, 20_000, 86_400_000),
    })
    .map(({ year, month, before }) => Date.UTC(year, month + 1, 1) - before),
)

/** The times that the last decision reported. */
export interface Told {
  readonly retryAt: number
  readonly resetAt: number
}

/** The time after `step`; never before `now`. */
export function moved(now: number, to: Step, list: readonly Rule[], told: Told): number {
  const rule = list[to.rule % list.length] as Rule
  return Math.max(now, target(now, to, rule, told))
}

function target(now: number, { kind, off, share }: Step, rule: Rule, told: Told): number {
  const targets: Record<Step['kind'], number> = {
    stay: now,
    some: now + Math.floor(share * rule.windowMs * 0.3),
    retry: told.retryAt + off,
    reset: told.resetAt + off,
    border: borderAfter(rule, now) + off,
    windows: now + Math.ceil(share * 4) * rule.windowMs + off,
    midnight: endOf({ ...rule, kind: 'daily' }, now) + off,
    month: endOf({ ...rule, kind: 'monthly' }, now) + off,
  }
  return targets[kind]
}

/** The next moment at which what is charged now, or the grid of the rule, changes something. */
function borderAfter(rule: Rule, now: number): number {
  const { kind, windowMs, limit, segments } = rule
  if (kind === 'session') return now + Math.min(...sessionOf(rule))
  if (kind === 'sliding') return now + windowMs
  if (kind === 'token' || kind === 'leaky') return now + Math.ceil(windowMs / Math.max(1, limit))
  if (kind === 'counter') return endOf({ kind: 'fixed', windowMs: windowMs / segments }, now)
  return endOf(rule, now)
}
