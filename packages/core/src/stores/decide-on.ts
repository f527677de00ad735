/* The decision of a store that runs the TypeScript of algorithms, on states that it keeps in any way. */
import type { Finding, StoredState } from '../algorithms/algorithm.ts'
import type {
  Entry,
  MarkedCharge,
  RecordValues,
  StateMap,
  StoreReply,
  StoreRequest,
  Verdict,
} from './store.ts'
import { isDenied, isOutdated } from './store.ts'

/** The states and records of a store that decides. */
export interface CountedStates extends StateMap {
  /** Stores the count of a key that was charged. */
  count(key: string, stored: StoredState): void
  /** Called before any of these is charged. */
  makeRoom(entries: readonly Entry[]): void
}

/** A verdict under construction. */
type MutableVerdict = { -readonly [Name in keyof Verdict]: Verdict[Name] }

/** Decides a request. Awaits nothing, so that no other decision comes between check and charge. */
export function decideOn(states: CountedStates, request: StoreRequest): StoreReply {
  const { entries, apply, now, reads, mark, fit } = request
  const before = entries.map(({ key }) => states.get(key, now))
  const verdicts = entries.map((entry, index): MutableVerdict => {
    const finding = entry.policy.algorithm.check(before[index] as never, entry, now)
    return { waitMs: 0, ...finding, charged: false }
  })
  const granted = fit?.kind.grant(fit, entries, verdicts)
  const values = reads.map(({ key, field }) => {
    const record = states.get(key, now)
    // A count under the key of a record reads as nothing, as it does in Redis.
    return record instanceof Map ? (record as RecordValues).get(field) : undefined
  })
  if (apply && !isDenied(entries, verdicts) && !isOutdated(reads, values)) {
    const charged = fit?.kind.charge(fit, entries, { verdicts, granted })
    const marked = charge(states, charged ?? entries, before, verdicts, request)
    mark?.kind.write(mark, states, marked, now)
  }
  return { source: 'memory', now, verdicts, values, granted }
}

function charge(
  states: CountedStates,
  entries: readonly Entry[],
  before: readonly unknown[],
  verdicts: readonly MutableVerdict[],
  { now, id }: StoreRequest,
): MarkedCharge[] {
  const charged = entries.filter((entry) => isChargeable(entry, entries, verdicts))
  // One dropped right after its charge would never count.
  states.makeRoom(charged)
  // By key, which policies of one keyspace share.
  const positions = new Map<string, number>()
  return charged.map((entry) => {
    const { key, policy, cost, index } = entry
    const at = entries.indexOf(entry)
    let position = positions.get(key)
    if (position === undefined) {
      const stored = policy.algorithm.add(before[at] as never, entry, now, id)
      states.count(key, stored)
      position = stored.position
      positions.set(key, position)
    }
    ;(verdicts[at] as MutableVerdict).charged = true
    return { index, units: cost, position }
  })
}

/**
 * Returns true if the key of `entry` is to be charged when nothing is denied. In a key that only shadows share, all of them
 * must fit. For stores that run the algorithms' TypeScript.
 */
export function isChargeable(
  entry: Entry,
  entries: readonly Entry[],
  findings: readonly Finding[],
): boolean {
  const { key, cost, policy } = entry
  if (cost === 0) return false
  if (policy.keyspace === undefined) return findings[entries.indexOf(entry)]?.fits === true
  const sameKey = entries.filter((other) => other.key === key)
  return (
    sameKey.some(({ enforced }) => enforced) ||
    sameKey.every((other) => findings[entries.indexOf(other)]?.fits === true)
  )
}
