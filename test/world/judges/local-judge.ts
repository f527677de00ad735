import type { Decision } from '@sluice/core'
import type { Setting } from '../setting.ts'
import type { Call } from './caller-judge.ts'
import { emptyCount, fits, type Count } from './definitions.ts'
import type { Rule } from './rules.ts'

/** Of how many parts of each limit a process may count one alone, where the setting says `share`. */
const SHARES = 5

/** Holds a process that counts by itself, while Redis fails, to each limit or its share of it. */
export class LocalJudge {
  readonly #setting: Setting
  readonly #accuse: (what: string) => void
  /** Counts by isolate, and by policy and partition. */
  readonly #counts = new Map<string, Map<string, Count>>()

  constructor(setting: Setting, accuse: (what: string) => void) {
    this.#setting = setting
    this.#accuse = accuse
  }

  /** Judges a check that a process has decided alone. Sliding windows only: their units come back by time alone. */
  decided(call: Call, decision: Decision, rules: readonly Rule[]): void {
    const { weather, onStoreError, configures } = this.#setting
    // A clock that is set makes windows of its own.
    if (weather.skew || !decision.allowed) return
    const parts = onStoreError === 'share' ? SHARES : 1
    for (const { name, charged, cost, limit, burst, enforced } of decision.policies) {
      const rule = rules.find((one) => one.name === name)
      if (!rule || !charged || !enforced || rule.leaseMs > 0 || rule.kind !== 'sliding') continue
      const limits = typeof rule.limit === 'number' ? [rule.limit] : Object.values(rule.limit)
      if (!configures && !limits.includes(limit)) {
        this.#accuse(`${name} was decided by a limit of ${limit} without the store`)
      }
      const count = this.#countOf(call, rule)
      const most = Math.floor(limit / parts)
      if (!fits(rule, count, { cost, limit: most, burst }, decision.at)) {
        this.#accuse(`${name} let ${cost} in without the store, over its ${most}`)
      }
      count.charge(cost, decision.at, `${call.number}`)
    }
  }

  /** Notes that the counts of a process were removed. */
  reset(isolate: string): void {
    this.#counts.delete(isolate)
  }

  #countOf({ isolate, subject }: Call, rule: Rule): Count {
    const values = rule.per === 'global' ? [] : rule.per.map((part) => subject[part])
    const key = JSON.stringify([rule.name, values])
    const ofIsolate = this.#counts.get(isolate) ?? new Map<string, Count>()
    this.#counts.set(isolate, ofIsolate)
    const count = ofIsolate.get(key) ?? emptyCount(rule)
    ofIsolate.set(key, count)
    return count
  }
}
