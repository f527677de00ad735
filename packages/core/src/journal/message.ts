/*
 * Calls to a place as text: data, and the names of functions. No function travels: a platform's
 * calls would turn it into a stub in silence.
 */
import type { PolicyRule } from '../policies/policy.ts'
import type { Alternative, Entry, Operation, StoreRequest } from '../stores/store.ts'
import { systemClock } from '../clock.ts'
import { termsOf, type LeasedRule, type LeaseTerms } from '../leases/lease.ts'
import type { Kinds } from './kinds.ts'

/** A call to a place: a decision, an operation or a reset. */
export type PlaceCall =
  | { readonly check: StoreRequest }
  | { readonly run: Operation<unknown> }
  | { readonly reset: readonly string[] }

/** The part of a rule that a decision needs, as data. */
interface RuleData {
  readonly algorithm: string
  readonly name: string
  readonly unit: string
  /** True if its key counts for several policies. */
  readonly shares: boolean
  readonly lease?: Omit<LeaseTerms, 'counted'>
}

function ruleData(rule: PolicyRule): RuleData {
  const { algorithm, name, unit, keyspace } = rule
  const data = { algorithm: algorithm.id, name, unit, shares: keyspace !== undefined }
  const terms = termsOf(rule)
  if (!terms) return data
  const { durationMs, most, isAligned } = terms
  return { ...data, shares: false, lease: { durationMs, most, isAligned } }
}

function ruleOf({ algorithm, name, unit, shares, lease }: RuleData, kinds: Kinds): PolicyRule {
  const rule = { name, unit, algorithm: kinds.algorithm(algorithm) } as PolicyRule
  if (shares) return { ...rule, keyspace: { name, params: [] } }
  return lease ? ({ ...rule, lease: { ...lease, counted: rule } } as LeasedRule) : rule
}

/** One decision as data. */
export interface DecisionData extends Pick<Alternative, 'id'> {
  readonly entries: readonly (Omit<Entry, 'policy'> & { readonly rule: RuleData })[]
  readonly mark: Named | undefined
  readonly fit: Named | undefined
}

const decisionData = ({ id, entries, mark, fit }: Alternative): object => ({
  id,
  entries: entries.map(({ policy, ...entry }) =>
    Object.assign(entry, { place: undefined, rule: ruleData(policy) }),
  ),
  mark: mark && { kind: mark.kind.name, keys: mark.keys, data: mark.data },
  fit: fit && { kind: fit.kind.name, floor: fit.floor, most: fit.most, data: fit.data },
})

/** Returns a decision from its data. Those of alternatives are still data, until a place needs them. */
export const decisionOf = (
  { id, entries, mark, fit }: DecisionData,
  kinds: Kinds,
): Alternative => ({
  id,
  entries: entries.map((entry) => Object.assign(entry, { policy: ruleOf(entry.rule, kinds) })),
  mark: mark && ({ ...mark, kind: kinds.mark(mark.kind) } as StoreRequest['mark']),
  fit: fit && ({ ...fit, kind: kinds.fit(fit.kind) } as StoreRequest['fit']),
})

/** Returns a decision as text. */
export function checkMessage(request: StoreRequest): string {
  return encode({
    check: {
      ...request,
      ...decisionData(request),
      alternatives: request.alternatives?.kind.data(request, decisionData),
      // Only scripts need all policies; a deadline is the caller's.
      policies: undefined,
      startedAt: undefined,
      failure: undefined,
    },
  })
}

/** Returns an operation as text. @throws TypeError When its data has a function. */
export function runMessage({ kind, keys, data }: Operation<unknown>): string {
  // All of a limiter's policies: only scripts need them.
  const needed = typeof data === 'object' ? { ...data, policies: undefined } : data
  return encode({ run: { kind: kind.name, keys, data: needed } })
}

/** Returns a reset as text. */
export const resetMessage = (keys: readonly string[]): string => encode({ reset: keys })

/** Returns what a text asks for. @throws UnknownKind When it names a function that is not known. */
export function parseMessage(text: string, kinds: Kinds): PlaceCall {
  const message = decode(text, kinds) as {
    check?: Omit<StoreRequest, keyof DecisionData> & DecisionData
    run?: Named & Pick<Operation<unknown>, 'keys' | 'data'>
    reset?: readonly string[]
  }
  const { check, run, reset = [] } = message
  if (run) {
    return { run: { ...run, kind: kinds.operation(run.kind), startedAt: systemClock() } }
  }
  if (!check) return { reset }
  return {
    check: {
      ...check,
      ...decisionOf(check, kinds),
      policies: [],
      startedAt: systemClock(),
    } as StoreRequest,
  }
}

interface Named {
  readonly kind: string
}

/** Returns data as text. `Map`s and rules are data, too. @throws TypeError When it has a function. */
export const encode = (data: unknown): string => JSON.stringify(data, replace)

function replace(name: string, value: unknown): unknown {
  if (typeof value === 'function')
    throw new TypeError(`"${name}" is a function, which cannot travel`)
  if (value instanceof Map) return { $map: [...value] }
  return isRule(value) ? { $rule: ruleData(value) } : value
}

const isRule = (value: unknown): value is PolicyRule =>
  typeof (value as Partial<PolicyRule> | null)?.algorithm?.check === 'function'

/** Returns the data of a text that `encode` has made. @throws UnknownKind When a rule's algorithm is not known. */
export function decode(text: string, kinds: Kinds): unknown {
  // Most texts have nothing special, and are parsed faster.
  if (!text.includes('"$')) return JSON.parse(text)
  return JSON.parse(text, (_, value: unknown) => {
    const { $map, $rule } = (value ?? {}) as { $map?: [unknown, unknown][]; $rule?: RuleData }
    if ($map) return new Map($map)
    return $rule ? ruleOf($rule, kinds) : value
  })
}
