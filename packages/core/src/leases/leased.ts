import type { Store, StoreReply, StoreRequest, Verdict } from '../stores/store.ts'
import type { PolicyRule } from '../policies/policy.ts'
import type { Moment } from './block.ts'
import type { PendingBlocks, Served } from './lease-book.ts'
import { systemClock } from '../clock.ts'
import { ConfigError } from '../errors.ts'
import { runInBackground } from '../internal/background.ts'
import { sharesPromises } from '../internal/runtime.ts'
import { noteWrapper } from '../internal/wrappers.ts'
import { requestId } from '../internal/random-id.ts'
import { assertKnownOptions, assertPositiveInteger } from '../internal/validation.ts'
import { assertStore, isDenied } from '../stores/store.ts'
import { LeaseBook } from './lease-book.ts'
import { serveLocally } from './local-part.ts'
import { termsOf } from './lease.ts'

/** Options of `leased`. */
export interface LeasedOptions {
  /** The most partitions to hold leases of. Past that, the oldest lease ends early. @default 10_000 */
  readonly maxLeases?: number
  /**
   * Takes the next block in the background when a lease runs low, so that in steady traffic no decision
   * waits for it. @default true
   */
  readonly fetchAhead?: boolean
}

/** A store that serves leased policies from blocks of units. Created by `leased`. */
export interface LeasedStore extends Store {
  /**
   * Ends all leases of this process and gives their unused units back, as before a shutdown. Never
   * throws: units that cannot be given back stay charged.
   */
  returnUnits(): Promise<void>
}

/** The most blocks that a decision waits for: the first may have been taken before many others came. */
const MAX_WAITS = 2

const NO_VALUES: readonly undefined[] = []

/**
 * Wraps a store so that it serves the policies made by `lease` from blocks of units that it takes in one
 * call. A decision that leases can answer makes no call. The other policies of a decision are checked by
 * the store; if they deny, the leased units go back to their lease.
 *
 * Reservations, `fit` and shadows are always counted by the store itself.
 *
 * @throws ConfigError When an option is unknown or out of range.
 * @example
 * const store = leased(upstash())
 * const limiter = createLimiter({ store, policies: [lease(slidingWindow({ … }), { duration: '2s' })] })
 * process.on('SIGTERM', () => void store.returnUnits())
 */
export function leased(store: Store, options: LeasedOptions = {}): LeasedStore {
  assertStore('leased.store', store)
  assertKnownOptions('leased', options, ['maxLeases', 'fetchAhead'])
  const { maxLeases = 10_000, fetchAhead = true } = options
  const canWait = sharesPromises()
  const book = new LeaseBook(store, assertPositiveInteger('leased.maxLeases', maxLeases))

  /** Checks entries in the store, and takes blocks along for the next decisions. */
  async function checkStore(
    request: StoreRequest,
    blocks: PendingBlocks,
    now: Moment,
  ): Promise<StoreReply> {
    const { entries, apply } = request
    let isCharged = false
    let reply: StoreReply | undefined
    try {
      reply = await store.check({ ...request, mark: blocks.mark, fit: blocks.fit })
      isCharged = apply && !reply.degraded && !isDenied(entries, reply.verdicts)
      return reply
    } finally {
      book.finish(blocks, request, isCharged ? reply : undefined, now)
    }
  }

  /** Checks the entries that no lease serves. */
  function checkRest(request: StoreRequest, now: Moment): Promise<StoreReply> {
    const blocks = request.apply ? book.requestBlocks(request, now) : { requests: [] }
    return checkStore(request, blocks, now)
  }

  /** Fetches the next blocks of leases that run low. If that fails, the next decision requests them. */
  function prefetch(served: readonly Served[], request: StoreRequest, now: Moment): void {
    const low = served.filter(({ lease }) => !lease.isFollowed && lease.isRunningLow(now))
    if (low.length === 0) return
    const id = requestId()
    const blocks = book.prefetch(low, id, request.startedAt, now)
    if (blocks.requests.length === 0) return
    const next = {
      ...request,
      policies: countedRules(request.policies),
      entries: blocks.requests.map(({ entry }) => entry),
      id,
      reads: [],
    }
    runInBackground(checkStore(next, blocks, now))
  }

  return noteWrapper<LeasedStore>({
    async check(request) {
      const policies = countedRules(request.policies)
      const { reads, mark, fit, apply, startedAt } = request
      if (mark || fit) return store.check({ ...request, policies })
      let now = momentOf(request)
      let local = serveLocally(book, request, now)
      let waitsLeft = canWait && apply && reads.length === 0 ? MAX_WAITS : 0
      while (waitsLeft > 0) {
        const wait = book.waitFor(local.rest, startedAt, now)
        if (!wait) break
        local.putBack()
        waitsLeft = (await wait.ended) ? waitsLeft - 1 : 0
        wait.leave()
        now = momentOf(request)
        local = serveLocally(book, request, now)
      }
      const { verdicts, rest, served } = local
      if (fetchAhead && served.length > 0) prefetch(served, request, now)
      if (rest.length + reads.length === 0) {
        return {
          source: 'lease',
          now: now.wall,
          verdicts: verdicts as Verdict[],
          values: NO_VALUES,
        }
      }
      let isAllowed = false
      try {
        const reply = await checkRest({ ...request, policies, entries: rest }, now)
        // A store that decided without counting gives no verdicts.
        const isWhole = reply.verdicts.length === rest.length
        isAllowed = isWhole && !isDenied(rest, reply.verdicts)
        if (!isWhole) return reply
        return {
          ...reply,
          granted: undefined,
          verdicts: merge(verdicts, reply.verdicts, isAllowed),
        }
      } finally {
        if (!isAllowed) local.putBack()
      }
    },

    run: (operation) => store.run(operation),

    async reset(keys) {
      try {
        await store.reset(keys)
      } finally {
        book.drop(keys)
      }
    },

    returnUnits: () => book.close(),
  })
}

/** The moment of a decision. It may have waited since its request was made. */
const momentOf = ({ now, clockIsInjected }: StoreRequest): Moment =>
  clockIsInjected ? { wall: now, steady: now } : { wall: systemClock(), steady: performance.now() }

/** Puts the verdicts of the store where no lease has given one. */
function merge(
  local: readonly (Verdict | undefined)[],
  stored: readonly Verdict[],
  isAllowed: boolean,
): Verdict[] {
  let next = 0
  return local.map((verdict) => {
    if (!verdict) return stored[next++] as Verdict
    return isAllowed ? verdict : { ...verdict, charged: false }
  })
}

/** The rules as the store counts them, by the limiter's own. */
const countedBy = new WeakMap<readonly PolicyRule[], readonly PolicyRule[]>()

/** Returns a limiter's rules as the store counts them. @throws ConfigError When none of them is leased. */
function countedRules(policies: readonly PolicyRule[]): readonly PolicyRule[] {
  const before = countedBy.get(policies)
  if (before) return before
  if (!policies.some(termsOf)) {
    throw new ConfigError(
      'invalid_option',
      'policies',
      'must have a policy that is leased, such as lease(slidingWindow({ … })): the store is leased(…)',
    )
  }
  const rules = Object.freeze(policies.map((rule) => termsOf(rule)?.counted ?? rule))
  countedBy.set(policies, rules)
  return rules
}
