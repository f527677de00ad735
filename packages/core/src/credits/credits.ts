import type { PolicyState } from '../decision.ts'
import type { Per } from '../subject.ts'
import { assertLimitOption, type AnyLimitName, type Limit } from '../policies/limit.ts'
import type {
  AlgorithmConfig,
  Keyspace,
  Policy,
  PolicyOf,
  PolicyOptions,
} from '../policies/policy.ts'
import type { Plans } from '../policies/plans.ts'
import type { Calendar } from '../policies/resets.ts'
import { creditAlgorithm } from '../algorithms/credits.ts'
import type { CreditParams } from '../algorithms/credit-state.ts'
import { ConfigError } from '../errors.ts'
import {
  assertKnownOptions,
  assertName,
  assertOneOf,
  assertOptions,
  invalidOption,
  isUnits,
  MUST_BE_UNITS,
} from '../internal/validation.ts'
import { createPolicy, defineRule } from '../policies/define-rule.ts'
import { configureResets } from '../policies/resets.ts'
import { assertMicros, assertPlanAmounts } from './micro-dollars.ts'

/** The part of a balance that a plan includes. */
export interface IncludedCredits<Name extends string = AnyLimitName> {
  /** The units of each period: a number, or a function of the plan. A larger plan adds the difference at once. */
  readonly amount: Limit<Name>
  /** The periods, created by `calendar({ every: 'month' })` of `@sluice/core/calendars`. */
  readonly resets: Calendar
  /** The most that is left of a period to go on in the next. @default 0, the rest expires */
  readonly rollover?: number
}

/** Options of `credits`. */
export interface CreditsOptions<
  Partition extends Per = Per,
  Unit extends string | undefined = string,
  Name extends string = AnyLimitName,
> extends Omit<PolicyOptions<Partition, Unit, Name>, 'limit' | 'stripes' | 'backpressure'> {
  /** The unit of the balance. @default 'usd', in micro-dollars: `usd(10)` */
  readonly unit?: Unit
  /** The allowance of the plan, which is used first. @default none */
  readonly included?: IncludedCredits<Name>
  /**
   * The end of a reservation that nobody settles in time. `'keep'`: it stays charged, is listed as abandoned, and
   * `settleHold` settles it. `'release'`: its units are free again, and a settlement within a day after that charges what
   * was used.
   */
  readonly unsettled: 'keep' | 'release'
  /** The address at which your customers buy credits: answers to denials name it. @default none */
  readonly topUpUrl?: string
  /** The name of the account in keys. A policy that is renamed keeps its balances. @default 'credits' */
  readonly ledger?: string
}

const OWN = ['included', 'unsettled', 'ledger', 'topUpUrl']

/**
 * Holds what is spent to a balance that you grant: prepaid, included in a plan, or both. A balance has no window: it is 0
 * until the first `grant`, and nothing but a charge, an expiry or you take from it. No decision takes it below 0. It needs
 * `onStoreError: 'deny'`.
 *
 * @throws ConfigError When an option is unknown, missing or out of range.
 * @example
 * createLimiter({
 *   store: upstash(),
 *   onStoreError: 'deny',
 *   policies: [credits({ name: 'credits', per: ['tenant'], unsettled: 'keep' })],
 * })
 */
export function credits<
  const Partition extends Per,
  const Unit extends string | undefined = 'usd',
  Name extends string = AnyLimitName,
>(options: CreditsOptions<Partition, Unit, Name>): PolicyOf<Partition, Unit, Name> {
  assertHasNone(options)
  assertKnownOptions('credits', options, [...COMMON, ...OWN])
  const {
    included,
    unsettled,
    ledger = 'credits',
    topUpUrl,
    unit = 'usd',
    ...rest
  } = options as CreditsOptions
  assertOneOf('credits.unsettled', unsettled, ['keep', 'release'])
  assertName('credits.ledger', ledger)
  if (rest.per === 'global') {
    throw invalidOption(
      'credits.per',
      'must name whose balance it is, such as ["tenant"]',
      'global',
    )
  }
  if (topUpUrl !== undefined && !/^https?:\/\/\S+$/.test(topUpUrl)) {
    throw invalidOption('credits.topUpUrl', 'must be an address such as "https://…"', topUpUrl)
  }
  let limit: Limit = 0
  if (included !== undefined) {
    assertKnownOptions('credits.included', included, ['amount', 'resets', 'rollover'])
    limit = assertLimitOption('credits.included.amount', included.amount)
  }
  const rule = defineRule('credits', { ...rest, unit, limit }, [], () => ({
    ...configure(rest.name, included, unsettled === 'release'),
    balance: { accept, refuseReset, of: describedWith(topUpUrl) },
    keyspace: keyspaceOf(ledger),
  }))
  for (const name of ['amount', 'rollover'] as const) {
    assertMicros(unit, `credits.included.${name}`, included?.[name], invalidOption)
  }
  return createPolicy([rule]) as PolicyOf<Partition, Unit, Name>
}

/** Options of other policies, and the reason why a balance has none. */
const NOT_OF_A_BALANCE: Readonly<Record<string, string>> = {
  limit:
    'a balance has no limit: grant its units, or set those that a plan includes in included.amount',
  window: 'a balance has no window: the periods of an allowance are included.resets',
  resets: 'a balance has no end: the periods of an allowance are included.resets',
  stripes: 'a balance is one number: of parts, one would be spent while others are left',
  backpressure: 'a balance has no share that is used, by which to delay a request',
}

/** @throws ConfigError When one of the options is of another kind of policy. */
function assertHasNone(options: unknown): void {
  assertOptions('credits', options)
  for (const [name, reason] of Object.entries(NOT_OF_A_BALANCE)) {
    if (!(name in options)) continue
    throw new ConfigError('unknown_option', `credits.${name}`, reason)
  }
}

const COMMON = ['name', 'per', 'unit', 'scope', 'routes', 'onMissing', 'mode', 'rollout']

function configure(
  name: string,
  included: IncludedCredits | undefined,
  releases: boolean,
): AlgorithmConfig<never> {
  const common = {
    algorithm: creditAlgorithm as never,
    reason: 'credits_exhausted',
  } as const
  const isReleasing = releases ? 1 : 0
  if (included === undefined) {
    const params: CreditParams = [0, 0, 0, isReleasing]
    const numbers = {
      names: ['limit', 'hold', 'cost'],
      of: ({ holdMs }: { readonly holdMs: number }) => ({ hold: holdMs }),
    }
    return { ...common, params, windowMs: 0, numbers }
  }
  const { resets, rollover = 0 } = included
  if (!isUnits(rollover)) throw invalidOption('credits.included.rollover', MUST_BE_UNITS, rollover)
  const periods = configureResets('credits.included', { name, resets })
  const { calendar, numbers, windowMs, params: [period = 0] = [] } = periods ?? {}
  if (!calendar || !numbers || windowMs === undefined) {
    const message = 'must be created by calendar, such as calendar({ every: "month" })'
    throw invalidOption('credits.included.resets', message, resets)
  }
  return {
    ...common,
    params: [1, period, rollover, isReleasing] satisfies CreditParams,
    windowMs,
    calendar,
    numbers: {
      names: ['limit', ...calendar.times, 'hold', 'cost'],
      of: (facts, settings) => ({ ...numbers.of(facts, settings), hold: facts.holdMs }),
    },
  }
}

/** A balance may hold more than the allowance of a period. */
const describedWith =
  (topUpUrl: string | undefined) =>
  (state: PolicyState, available: number): PolicyState => ({
    ...state,
    limit: Math.max(available, state.limit),
    burst: Math.max(available, state.burst),
    ...(topUpUrl !== undefined && { topUpUrl }),
  })

function refuseReset(): never {
  const message = 'must not name a policy of credits: a balance is money; adjust it instead'
  throw invalidOption('reset.policies', message)
}

const keyspaces = new Map<string, Keyspace>()

/** Returns the keys of a ledger: the same object for each policy of it, so that `accept` can say why there may be one only. */
function keyspaceOf(ledger: string): Keyspace {
  const keyspace = keyspaces.get(ledger) ?? { name: ledger, params: [] }
  keyspaces.set(ledger, keyspace)
  return keyspace
}

/** Checks the options of a limiter. @throws ConfigError When one of them is not for balances. */
function accept(options: {
  readonly onStoreError?: unknown
  readonly policies: readonly Policy[]
  readonly plans?: Plans
}): void {
  assertDenies(options)
  assertOwnLedgers(options.policies)
  assertPlanAmounts(options)
}

/** @throws ConfigError When two policies count in one ledger. */
function assertOwnLedgers(policies: readonly Policy[]): void {
  const counted = new Map<Keyspace, string>()
  for (const [index, policy] of policies.entries()) {
    for (const { name, balance, keyspace } of policy()) {
      if (!balance || !keyspace) continue
      const other = counted.get(keyspace)
      counted.set(keyspace, name)
      if (other === undefined) continue
      const message = `must have a ledger of its own, such as ledger: "${name}": "${other}" counts in "${keyspace.name}", too`
      throw new ConfigError('duplicate_policy', `policies[${index}]`, message)
    }
  }
}

/** @throws ConfigError Unless a limiter denies while its store fails: nothing else knows a balance. */
function assertDenies({ onStoreError }: { readonly onStoreError?: unknown }): void {
  if (onStoreError === 'deny') return
  const message = `must be 'deny' with credits: without the store nobody knows what is left, and what is spent is gone`
  throw invalidOption('onStoreError', message, onStoreError ?? 'local')
}
