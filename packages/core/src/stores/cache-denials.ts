/* The function `cacheDenials`: a store around a store that denies again what the store has just denied. */
import type { PolicyRule } from '../policies/policy.ts'
import type { Entry, Store, StoreProblem, StoreReply, StoreRequest, Verdict } from './store.ts'
import { systemClock } from '../clock.ts'
import { SluiceError, StoreError } from '../errors.ts'
import { RecentItems } from '../internal/recent-items.ts'
import { assertKnownOptions, assertPositiveInteger } from '../internal/validation.ts'
import { noteWrapper } from '../internal/wrappers.ts'
import {
  afterUse,
  disproves,
  latestOf,
  stillDenies,
  unusedVerdict,
  verdictNow,
  type KnownVerdict,
} from './known-verdict.ts'
import { assertStore, isDenied } from './store.ts'

/** Options of `cacheDenials`. */
export interface CacheDenialsOptions {
  /**
   * The longest time, in milliseconds, to deny without the store. Units that come back early by another
   * process (a settlement, a reset) are seen after this time at the latest. @default 5_000
   */
  readonly maxAgeMs?: number
  /** The most partitions to remember. Past that, those not used lately are dropped. @default 10_000 */
  readonly maxPartitions?: number
}

const NO_VALUES: readonly undefined[] = []

/** The most changed keys to remember, for replies that were under way when they changed. */
const MAX_CHANGED = 1_000

/**
 * Wraps `store` so that a partition that it has denied is denied in this process until its retry time,
 * without a call. Larger costs are denied too; smaller ones, and other policies, are not. Denials by
 * `concurrency` and `fairShare` are never kept. A partition is forgotten when its counts are reset or settled in this
 * process, or its limit changes. While the store fails, what it has denied stays denied until the retry
 * time; these decisions are degraded. See `docs/fewer-trips.md`.
 *
 * @throws ConfigError When an option is unknown or out of range, or `store` is no store.
 * @example
 * const limiter = createLimiter({ store: cacheDenials(upstash()), policies })
 */
export function cacheDenials(store: Store, options: CacheDenialsOptions = {}): Store {
  assertKnownOptions('cacheDenials', options, ['maxAgeMs', 'maxPartitions'])
  const { maxAgeMs: maxAge = 5_000, maxPartitions: max = 10_000 } = options
  const maxAgeMs = assertPositiveInteger('cacheDenials.maxAgeMs', maxAge)
  const known = new RecentItems<KnownVerdict>(
    assertPositiveInteger('cacheDenials.maxPartitions', max, 1_000_000),
  )
  assertStore('cacheDenials.store', store)
  const changes = new Changes()
  // Windows over one log share a key, and are known apart by their names.
  const sharingNames = new Set<string>()

  /** Returns a denial if one is known. If the store has failed, its age does not matter. */
  function denialOf({ entries }: StoreRequest, now: number, hasFailed: boolean) {
    let denial: KnownVerdict | undefined
    const verdicts: Verdict[] = []
    for (const entry of entries) {
      const latest = latestOf(known.get(nameOf(entry)), entry, now)
      const isFresh = latest !== undefined && now - latest.at < maxAgeMs
      const denies = latest !== undefined && stillDenies(latest, entry, now, hasFailed)
      if (isFresh || (hasFailed && denies)) verdicts.push(verdictNow(latest, entry, now, denies))
      else if (hasFailed) verdicts.push(unusedVerdict(entry, now))
      else return undefined
      if (denies && entry.enforced) denial ??= latest
    }
    if (denial === undefined) return undefined
    return { source: 'cache' as const, now: now + denial.clockOffset, verdicts, values: NO_VALUES }
  }

  async function ask(request: StoreRequest, sentAt: number): Promise<StoreReply> {
    const changesBefore = changes.count
    try {
      const reply = await store.check(request)
      learn(request, reply, sentAt, changesBefore)
      return reply
    } catch (error) {
      const problem = problemOf(error)
      const denial = problem && denialOf(request, clockOf(request), true)
      if (denial) return { ...denial, degraded: { cause: problem.code, mode: 'local' }, problem }
      if (problem && request.apply) useUp(request)
      throw error
    }
  }

  /** Notes what another store lets through while this one fails: it may not exceed what was left. */
  function useUp({ entries }: StoreRequest): void {
    for (const entry of entries) {
      const latest = known.get(nameOf(entry))
      if (latest && !latest.verdict.fits) known.set(nameOf(entry), afterUse(latest, entry.cost))
    }
  }

  function learn(
    request: StoreRequest,
    { verdicts, now: decidedAt, degraded }: StoreReply,
    at: number,
    changesBefore: number,
  ): void {
    const { entries } = request
    if (degraded || verdicts?.length !== entries.length) return
    const denied = isDenied(entries, verdicts)
    const clockOffset = decidedAt - clockOf(request)
    for (const [index, entry] of entries.entries()) {
      const { key, policy, limit, burst, cost } = entry
      const [name, verdict] = [nameOf(entry), verdicts[index]]
      if (verdict === undefined || changes.isBefore(key, changesBefore)) continue
      if (denied && (verdict.fits || !isReleasedAnyTime(policy))) {
        if (policy.keyspace) sharingNames.add(policy.name)
        known.set(name, { limit, burst, cost, verdict, at, clockOffset })
      } else if (denied || disproves(verdict, cost, known.get(name))) {
        known.delete(name)
      }
    }
  }

  function forget(keys: readonly string[]): void {
    changes.note(keys)
    for (const key of keys) {
      known.delete(key)
      for (const name of sharingNames) known.delete(sharedName(key, name))
    }
  }

  return noteWrapper<Store>({
    accept: store.accept,
    check(request) {
      const { now } = request
      // A peek asks for the present state, and records have to be read.
      const canAnswer = request.apply && request.reads.length === 0
      const denial = canAnswer && denialOf(request, now, false)
      return denial ? Promise.resolve(denial) : ask(request, now)
    },

    // Forgotten even if it fails, because it may have been done.
    run: (operation) => store.run(operation).finally(() => forget(operation.keys)),
    reset: (keys) => store.reset(keys).finally(() => forget(keys)),
  })
}

/** The keys that this process has changed, for replies that were under way meanwhile. */
class Changes {
  count = 0
  readonly #byKey = new Map<string, number>()
  /** The last change whose keys are forgotten. */
  #last = 0

  note(keys: readonly string[]): void {
    this.count += 1
    for (const key of keys) this.#byKey.set(key, this.count)
    if (this.#byKey.size <= MAX_CHANGED) return
    this.#byKey.clear()
    this.#last = this.count
  }

  /** Returns true if `key` may have changed after the first `count` changes. */
  isBefore(key: string, count: number): boolean {
    return (this.#byKey.get(key) ?? this.#last) > count
  }
}

const clockOf = ({ clockIsInjected, now }: StoreRequest): number =>
  clockIsInjected ? now : systemClock()

const sharedName = (key: string, policy: string): string => `${key} ${policy}`

function nameOf(entry: Entry): string {
  const { key, policy } = entry
  // Each member of a share has a verdict of its own.
  if (policy.numbers)
    return sharedName(key, policy.numbers.names.map((name) => entry[name as 'limit']).join())
  return policy.keyspace ? sharedName(key, policy.name) : key
}

/** Returns true for calls in flight, which give their slots back when they end, and for shares, which others lend. */
const isReleasedAnyTime = ({ algorithm, numbers }: PolicyRule): boolean =>
  algorithm.traits?.held === true || numbers !== undefined

/** Returns the failure to report, or `undefined` if the error is misuse. */
function problemOf(error: unknown): StoreProblem | undefined {
  const means = 'Meanwhile cacheDenials denies what the store has denied'
  if (error instanceof StoreError) {
    return { code: error.code, message: `${error.message}. ${means}` }
  }
  if (error instanceof SluiceError) return undefined
  return { code: 'store_failed', message: `The store failed. ${means}`, error }
}
