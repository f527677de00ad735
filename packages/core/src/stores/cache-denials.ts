/* The function `cacheDenials`: a store around a store that denies again what the store has just denied. */
import type { Degraded } from '../decision.ts'
import type { PolicyRule } from '../policies/policy.ts'
import type { Entry, Store, StoreReply, StoreRequest, Verdict } from './store.ts'
import { systemClock } from '../clock.ts'
import { ConfigError, SluiceError, StoreError } from '../errors.ts'
import { RecentItems } from '../internal/recent-items.ts'
import { assertKnownOptions, assertPositiveInteger } from '../internal/validation.ts'
import { isDenied } from './store.ts'

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

/** The store's latest verdict on one entry of a denied request. */
interface KnownVerdict {
  readonly limit: number
  readonly burst: number
  readonly cost: number
  readonly verdict: Verdict
  /** The local time before the request was sent: times that count from it end too early, never too late. */
  readonly at: number
  /** The time of the decision by the store's clock. */
  readonly decidedAt: number
}

/** The most changed keys to remember, for replies that were under way when they changed. */
const MAX_CHANGED = 1_000

/**
 * Wraps `store` so that a partition that it has denied is denied in this process until its retry time,
 * without a call. Larger costs are denied too; smaller ones, and other policies, are not. Denials by
 * `concurrency` are never kept. A partition is forgotten when its counts are reset or settled in this
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
  if (typeof (store as Partial<Store> | undefined)?.check !== 'function') {
    throw new ConfigError(
      'invalid_option',
      'cacheDenials.store',
      'must be a store, such as upstash()',
    )
  }
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
      const denies = latest !== undefined && stillDenies(latest, entry, now)
      if (isFresh || (hasFailed && denies)) verdicts.push(verdictNow(latest, entry, now, denies))
      else if (hasFailed) verdicts.push(unusedVerdict(entry, now))
      else return undefined
      if (denies && entry.enforced) denial ??= latest
    }
    if (denial === undefined) return undefined
    const decidedAt = denial.decidedAt + now - denial.at
    return { source: 'cache' as const, now: decidedAt, verdicts, values: [] }
  }

  async function ask(request: StoreRequest, sentAt: number): Promise<StoreReply> {
    const changesBefore = changes.count
    try {
      const reply = await store.check(request)
      learn(request, reply, sentAt, changesBefore)
      return reply
    } catch (error) {
      const cause = faultOf(error)
      const denial = cause && denialOf(request, clockOf(request), true)
      if (!denial) throw error
      return { ...denial, degraded: { cause, mode: 'local' } }
    }
  }

  function learn(
    { entries }: StoreRequest,
    { verdicts, now: decidedAt, degraded }: StoreReply,
    at: number,
    changesBefore: number,
  ): void {
    if (degraded || verdicts?.length !== entries.length) return
    const denied = isDenied(entries, verdicts)
    for (const [index, entry] of entries.entries()) {
      const { key, policy, limit, burst, cost } = entry
      const [name, verdict] = [nameOf(entry), verdicts[index]]
      if (verdict === undefined || changes.isBefore(key, changesBefore)) continue
      if (denied && (verdict.fits || !isReleasedAnyTime(policy))) {
        if (policy.keyspace) sharingNames.add(policy.name)
        known.set(name, { limit, burst, cost, verdict, at, decidedAt })
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

  return {
    check(request) {
      const now = clockOf(request)
      // A peek asks for the present state, and records have to be read.
      const canAnswer = request.apply && request.reads.length === 0
      const denial = canAnswer && denialOf(request, now, false)
      return denial ? Promise.resolve(denial) : ask(request, now)
    },

    // Forgotten even if it fails, because it may have been done.
    run: (operation) => store.run(operation).finally(() => forget(operation.lua.keys)),
    reset: (keys) => store.reset(keys).finally(() => forget(keys)),
  }
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

const nameOf = ({ key, policy }: Entry): string =>
  policy.keyspace ? sharedName(key, policy.name) : key

/** Returns true for calls in flight: each gives its slot back when it ends. */
const isReleasedAnyTime = ({ reason, algorithm }: PolicyRule): boolean =>
  reason === 'concurrency_exceeded' || algorithm.settlement?.released === true

/** Returns the cause of a degraded decision, or `undefined` if the error is misuse. */
function faultOf(error: unknown): Degraded['cause'] | undefined {
  if (error instanceof StoreError) return error.code
  return error instanceof SluiceError ? undefined : 'store_failed'
}

/** Returns `known` if it is of the same limit, and not of the future: a clock may be set back. */
const latestOf = (known: KnownVerdict | undefined, { limit, burst }: Entry, now: number) =>
  known && known.limit === limit && known.burst === burst && known.at <= now ? known : undefined

/** Returns true if the cost cannot fit yet, because the same or a smaller one did not. */
const stillDenies = ({ verdict, cost, at }: KnownVerdict, entry: Entry, now: number): boolean =>
  !verdict.fits && entry.cost >= cost && (verdict.retryMs < 0 || now < at + verdict.retryMs)

/** Returns true if a cost that fits shows that a known denial is over: units came back early. */
const disproves = ({ fits }: Verdict, cost: number, known: KnownVerdict | undefined): boolean =>
  known !== undefined && !known.verdict.fits && fits && cost >= known.cost

/** Returns the verdict on `entry` as far as it is known. A wait is never too long. */
function verdictNow(
  { verdict, cost: knownCost, at }: KnownVerdict,
  { cost, burst }: Entry,
  now: number,
  denies: boolean,
): Verdict {
  const elapsed = now - at
  const resetMs = verdict.resetMs - elapsed
  const neverFits = cost > burst || (denies && verdict.retryMs < 0)
  // Units may have come back since: then nothing speaks against the cost.
  const isOpen = !denies && (resetMs <= 0 || (!verdict.fits && cost >= knownCost))
  const available = isOpen ? Math.max(verdict.available, Math.min(cost, burst)) : verdict.available
  const fits = !denies && (cost === 0 || cost <= available)
  const retryMs = denies ? verdict.retryMs - elapsed : resetMs
  return {
    fits,
    charged: false,
    available,
    resetMs: Math.max(1, resetMs),
    retryMs: fits ? 0 : neverFits ? -1 : retryMs,
  }
}

/** Returns the verdict on an entry of which nothing is known, as if nothing had been used. */
function unusedVerdict(entry: Entry, now: number): Verdict {
  const { policy } = entry
  return { ...policy.algorithm.check(undefined, entry, now), charged: false }
}
