import type { PolicyState } from '../decision.ts'
import type { Listeners } from '../limiter/events.ts'
import type { Extension } from '../limiter/extensions.ts'
import type { PolicyRule } from '../policies/policy.ts'
import type { Subject } from '../subject.ts'
import {
  assertFunction,
  assertKnownOptions,
  invalidOption,
  isUnits,
} from '../internal/validation.ts'
import { RecentItems } from '../internal/recent-items.ts'
import { defineExtension } from '../limiter/define-extension.ts'
import { assertMicros } from './micro-dollars.ts'

/** A balance that has fallen below an amount. */
export interface LowBalance {
  /** The subject of the call that took it below. */
  readonly subject: Subject
  /** The name of the policy. */
  readonly policy: string
  /** The unit of the balance, such as `usd` (micro-dollars). */
  readonly unit: string
  /** Units that a charge may still take. */
  readonly left: number
  /** The amount of the option. */
  readonly below: number
  readonly topUpUrl: string | undefined
}

/** Options of `lowBalance`. */
export interface LowBalanceOptions {
  /** The amount, in units of the balance: `usd(5)`. */
  readonly below: number
  /** Called when a balance has fallen below it. An exception is logged. */
  readonly tell: (low: LowBalance) => unknown
  /** The name of the policy. @default all policies of `credits` */
  readonly policy?: string
}

/** The last known state of one balance. */
interface Known {
  left: number
  isLow: boolean
  readonly topUpUrl: string | undefined
}

/** The most balances that are known. Past it, the least recently used is forgotten. */
const MAX_KNOWN = 10_000

/** A balance that rises by less than this part of the amount may only have got back a part of an estimate. */
const MARGIN = 0.1

/**
 * Calls a function when a balance falls below an amount: once in each process, and again after the balance was at least a
 * tenth above it. Its numbers are those of decisions and settlements in this process, so it costs no command. Open
 * reservations count as spent.
 *
 * @throws ConfigError When an option is unknown, missing or malformed; by `createLimiter`, when it has no such policy.
 * @example
 * createLimiter({ store, onStoreError: 'deny', policies, extensions: [lowBalance({ below: usd(5), tell: sendMail })] })
 */
export function lowBalance(options: LowBalanceOptions): Extension {
  assertKnownOptions('lowBalance', options, ['below', 'tell', 'policy'])
  const { below, tell, policy } = options
  if (!isUnits(below) || below === 0) {
    throw invalidOption('lowBalance.below', 'must be a whole number of units, at least 1', below)
  }
  assertFunction('lowBalance.tell', tell)
  return defineExtension({
    name: `lowBalance.${policy === undefined ? '' : `${policy}.`}${below}`,
    connect({ policies }) {
      const rules = policies.filter(
        ({ name, balance }) => balance && (policy === undefined || name === policy),
      )
      if (rules.length === 0) {
        throw invalidOption('lowBalance.policy', 'must name a policy of credits', policy)
      }
      for (const { unit } of rules) assertMicros(unit, 'lowBalance.below', below, invalidOption)
      return { on: watchBalances(rules, below, tell) }
    },
  })
}

function watchBalances(
  rules: readonly PolicyRule[],
  below: number,
  tell: LowBalanceOptions['tell'],
): Listeners {
  const balances = new RecentItems<Known>(MAX_KNOWN)
  const ruleOf = (name: string) => rules.find((rule) => rule.name === name)

  /** Notes the rest of a balance, and calls the function if it has fallen below the amount. */
  const note = (
    known: Known,
    left: number,
    subject: Subject,
    { name: policy, unit }: Pick<PolicyRule, 'name' | 'unit'>,
  ): void => {
    const falls = left < below && !known.isLow
    known.left = left
    known.isLow ||= falls
    const { topUpUrl } = known
    if (falls) tell({ subject, policy, unit, left: Math.max(0, left), below, topUpUrl })
  }

  const knownOf = (rule: PolicyRule, subject: Subject, state: PolicyState): Known => {
    const key = keyOf(rule, subject)
    const before = state.remaining + (state.charged ? state.cost : 0)
    const { topUpUrl } = state
    const known = balances.get(key) ?? { left: before, isLow: before < below, topUpUrl }
    if (before >= below * (1 + MARGIN)) known.isLow = false
    balances.set(key, known)
    return known
  }

  return {
    decision({ decision, subject }) {
      for (const state of decision.policies) {
        const rule = ruleOf(state.name)
        if (rule) note(knownOf(rule, subject, state), state.remaining, subject, rule)
      }
    },

    settled({ corrections, origin, wasReleased }) {
      if (!origin) return
      for (const { policy, reserved, actual } of corrections) {
        const rule = ruleOf(policy.name)
        const known = rule && balances.get(keyOf(rule, origin.subject))
        if (!known) continue
        note(known, known.left - actual + (wasReleased ? 0 : reserved), origin.subject, rule)
      }
    },
  }
}

/** Returns the key of a balance in this process. */
const keyOf = ({ name, per }: PolicyRule, subject: Subject): string => {
  const ids = subject as Readonly<Record<string, string | undefined>>
  return JSON.stringify([name, ...(per as readonly string[]).map((dimension) => ids[dimension])])
}
