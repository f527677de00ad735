import type { PolicyRule } from '../policies/policy.ts'

/** A limit that follows an upstream, as far as this process knows. */
export interface AdaptedLimit {
  /** The present limit. */
  readonly limit: number
  /** The limit in the code, which it never exceeds. */
  readonly most: number
  /** The reason for the present limit, as part of a sentence. */
  readonly why: string
}

/** The state of an adapted limit: its steps until now, and the last of them. */
interface AdaptiveState {
  readonly turn: number
  readonly state: { readonly limit: number; readonly phase: string }
}

/** Returns the state of an adapted limit, or `undefined` until the store has told it. */
type ReadAdaptiveState = () => AdaptiveState | undefined

// A registered symbol, so that a second copy of this package finds them, too.
const ADAPTED: unique symbol = Symbol.for('sluice.adapted') as never

type Registry = WeakMap<PolicyRule, ReadAdaptiveState>

const registryOf = (): Registry =>
  ((globalThis as { [ADAPTED]?: Registry })[ADAPTED] ??= new WeakMap())

/** Notes that an extension adapts the limit of a rule. Of limiters that share the rule, the latest counts. */
export function noteAdapted(rule: PolicyRule, read: ReadAdaptiveState): void {
  registryOf().set(rule, read)
}

/**
 * Returns the adapted limit of a rule.
 *
 * @param decided The state of the policy in a decision. If another setting preceded the adapted limit there, the result is
 * `undefined`. @default none
 */
export function adaptedLimitOf(
  rule: PolicyRule | undefined,
  decided?: { readonly limit: number },
): AdaptedLimit | undefined {
  const found = rule && registryOf().get(rule)?.()
  if (!found || typeof rule.limit !== 'number') return undefined
  const limit = Math.floor(found.state.limit)
  if (decided && decided.limit !== limit) return undefined
  return { limit, most: rule.limit, why: whyOf(found, limit >= rule.limit) }
}

function whyOf({ turn, state }: AdaptiveState, isMost: boolean): string {
  if (turn === 0) return 'it starts at its min, until calls to the upstream are observed'
  if (state.phase === 'falling') return 'calls to the upstream are slow or fail'
  return isMost ? 'the upstream is well' : 'it grows as long as the upstream is well'
}
