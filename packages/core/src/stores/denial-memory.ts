/* The denials that `cacheDenials` remembers, by partition. */
import type { PolicyRule } from '../policies/policy.ts'
import { systemClock } from '../clock.ts'
import { RecentItems } from '../internal/recent-items.ts'
import {
  afterUse,
  disproves,
  latestOf,
  stillDenies,
  unusedVerdict,
  verdictNow,
  type KnownVerdict,
} from './known-verdict.ts'
import { isDenied, type Entry, type StoreReply, type StoreRequest, type Verdict } from './store.ts'

/** The most changed keys to remember, for replies that were under way when they changed. */
const MAX_CHANGED = 1_000

export class DenialMemory {
  readonly #maxAgeMs: number
  readonly #known: RecentItems<KnownVerdict>
  /** Windows over one log share a key, and are known apart by their names. */
  readonly #sharingNames = new Set<string>()
  /** The number of changes of counts by this process. */
  changes = 0
  /** The latest change of each key. */
  readonly #changedAt = new Map<string, number>()
  /** The last change whose keys are forgotten. */
  #forgottenAt = 0

  constructor(maxAgeMs: number, maxPartitions: number) {
    this.#maxAgeMs = maxAgeMs
    this.#known = new RecentItems(maxPartitions)
  }

  /** Returns a denial if one is known. If the store has failed, its age does not matter. */
  find({ entries }: StoreRequest, now: number, hasFailed: boolean): StoreReply | undefined {
    let denial: KnownVerdict | undefined
    const verdicts: Verdict[] = []
    for (const entry of entries) {
      const latest = latestOf(this.#known.get(nameOf(entry)), entry, now)
      const isFresh = latest !== undefined && now - latest.at < this.#maxAgeMs
      const denies = latest !== undefined && stillDenies(latest, entry, now, hasFailed)
      if (isFresh || (hasFailed && denies)) verdicts.push(verdictNow(latest, entry, now, denies))
      else if (hasFailed) verdicts.push(unusedVerdict(entry, now))
      else return undefined
      if (denies && entry.enforced) denial ??= latest
    }
    if (denial === undefined) return undefined
    return { source: 'cache', now: now + denial.clockOffset, verdicts, values: [] }
  }

  /** Learns from a reply to a request sent at `at`, after so many `changes`: nothing of a key that has changed since. */
  learn(
    request: StoreRequest,
    { verdicts, now: decidedAt, degraded }: StoreReply,
    at: number,
    changes: number,
  ): void {
    const { entries } = request
    if (degraded || verdicts?.length !== entries.length) return
    const denied = isDenied(entries, verdicts)
    const clockOffset = decidedAt - clockOf(request)
    for (const [index, entry] of entries.entries()) {
      const { key, policy, limit, burst, cost } = entry
      const [name, verdict] = [nameOf(entry), verdicts[index]]
      const changedAt = this.#changedAt.get(key) ?? this.#forgottenAt
      if (verdict === undefined || changedAt > changes) continue
      if (denied && (verdict.fits || !isReleasedAnyTime(policy))) {
        if (policy.keyspace) this.#sharingNames.add(policy.name)
        this.#known.set(name, { limit, burst, cost, verdict, at, clockOffset })
      } else if (denied || disproves(verdict, cost, this.#known.get(name))) {
        this.#known.delete(name)
      }
    }
  }

  /** Notes the units that another store lets through while this one fails: they may not exceed those that were left. */
  useUp({ entries }: Pick<StoreRequest, 'entries'>): void {
    for (const entry of entries) {
      const name = nameOf(entry)
      const latest = this.#known.get(name)
      if (latest && !latest.verdict.fits) this.#known.set(name, afterUse(latest, entry.cost))
    }
  }

  /** Forgets keys whose counts this process has changed. */
  forget(keys: readonly string[]): void {
    this.changes += 1
    for (const key of keys) {
      this.#changedAt.set(key, this.changes)
      this.#known.delete(key)
      for (const name of this.#sharingNames) this.#known.delete(sharedName(key, name))
    }
    if (this.#changedAt.size <= MAX_CHANGED) return
    this.#changedAt.clear()
    this.#forgottenAt = this.changes
  }
}

export const clockOf = ({ clockIsInjected, now }: StoreRequest): number =>
  clockIsInjected ? now : systemClock()

const sharedName = (key: string, policy: string): string => `${key} ${policy}`

function nameOf(entry: Entry): string {
  const { key, policy } = entry
  // Each member of a share has a verdict of its own.
  if (policy.numbers && !policy.calendar)
    return sharedName(key, policy.numbers.names.map((name) => entry[name as 'limit']).join())
  return policy.keyspace ? sharedName(key, policy.name) : key
}

/** Returns true for calls in flight, which give their slots back when they end, for shares, which others lend, and for balances. */
const isReleasedAnyTime = ({ algorithm: { traits }, numbers, calendar }: PolicyRule): boolean =>
  traits?.held === true || traits?.balance === true || (numbers !== undefined && !calendar)
