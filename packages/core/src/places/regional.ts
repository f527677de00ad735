/* The function `regional`: a store in one of several regions, which share limits that one region, home, counts. */
import type { PolicyRule } from '../policies/policy.ts'
import { StoreError } from '../errors.ts'
import {
  assertKnownOptions,
  assertName,
  assertOptions,
  invalidOption,
} from '../internal/validation.ts'
import { noteWrapper } from '../internal/wrappers.ts'
import { canBeLeased } from '../leases/lease.ts'
import { keyPrefix } from '../policies/rules.ts'
import { placedStore, type PlacedStore } from '../stores/placed/placed-store.ts'
import { HOME, isLeased, type PlacesBy } from '../stores/placed/places-by.ts'
import { assertStore, type Store, type StoreReply } from '../stores/store.ts'
import { placeLeases } from './place-leases.ts'

/** Options of `regional`. */
export interface RegionalOptions {
  /** The store that counts for all regions, such as the database in the region of most of your users. */
  readonly home: Store
  /** The store of this region. In the region of `home`, the same. */
  readonly here: Store
  /**
   * The names of policies that each region counts by itself, such as a window of one second: over all regions, they allow
   * their limit once in each. @default none
   */
  readonly perRegion?: readonly string[]
}

/** The place of what the region counts by itself. */
const HERE = 'here'

/**
 * Creates a store for one of several regions. Policies that are leased, by `lease(…)`, are counted in `home` for all
 * regions: a process takes blocks of their units from there, and serves decisions and reservations from its memory. So
 * all regions together never exceed a limit. If `home` cannot be reached, a process serves what it holds, and denies the
 * rest; these decisions are degraded. If `here` fails, it denies what is leased. See `docs/more-than-one-redis.md`.
 *
 * @throws ConfigError When an option is unknown or malformed. `createLimiter` throws for a policy that is neither leased
 * nor named in `perRegion`.
 * @example
 * const store = regional({ home: breaker(upstash({ … })), here: upstash({ … }) })
 * const limiter = createLimiter({
 *   store,
 *   policies: [lease(dailyCap({ name: 'daily', limit: 10_000, per: ['tenant'] }), { duration: '30s' })],
 * })
 */
export function regional(options: RegionalOptions): PlacedStore {
  assertOptions('regional', options)
  assertKnownOptions('regional', options, ['home', 'here', 'perRegion'])
  const { perRegion = [] } = options
  if (!Array.isArray(perRegion)) {
    throw invalidOption('regional.perRegion', 'must be a list of names of policies', perRegion)
  }
  for (const name of perRegion as readonly unknown[]) assertName('regional.perRegion', name)
  const { store: here } = countAnswers(HERE, assertStore('regional.here', options.here))
  const { store: home, answers } = countAnswers(HOME, assertStore('regional.home', options.home))
  const places = placesOf(new Set(perRegion as readonly string[]))
  const store = placedStore(places, (place) => (place === HERE ? here : home), placeLeases)
  let isCut = false

  return noteWrapper({
    ...store,
    accept(policies) {
      store.accept?.(policies)
      for (const one of [home, here]) one.accept?.(policies.filter((rule) => !isLeased(rule)))
    },

    async check(request) {
      const answersBefore = answers()
      try {
        const reply = await store.check(request)
        if (!isCut || answers() === answersBefore) return reply
        isCut = false
        // Says whose outage has ended.
        return { ...reply, source: 'store', place: HOME }
      } catch (error) {
        // Counted by each process, it would be allowed once in each.
        const isShared = request.entries.some(
          ({ policy, enforced }) => enforced && isLeased(policy),
        )
        if (!(error instanceof StoreError) || !isShared) throw error
        isCut ||= error.place === HOME
        return denial(error, request.now)
      }
    },
  })
}

/** The denial of what no process may count by itself, while home or the region's own store cannot be reached. */
function denial({ code, reason, place }: StoreError, now: number): StoreReply {
  const means =
    place === HOME
      ? 'Meanwhile this region serves the units that it holds, and denies the rest'
      : 'Meanwhile this region denies what all regions share'
  return {
    source: 'memory',
    place,
    now,
    verdicts: [],
    values: [],
    degraded: { cause: code, mode: 'deny' },
    problem: { code, message: `${place}: ${reason} (docs/errors.md#${code}). ${means}`, place },
  }
}

/** Returns a store with errors that name it, and the number of its answers so far. */
function countAnswers(
  place: string,
  store: Store,
): { readonly store: Store; readonly answers: () => number } {
  let answers = 0
  async function ask<T>(call: Promise<T>): Promise<T> {
    try {
      const result = await call
      answers += 1
      return result
    } catch (error) {
      if (error instanceof StoreError) Object.assign(error, { place, origin: place })
      throw error
    }
  }
  return {
    store: {
      accept: store.accept?.bind(store),
      check: (request) => ask(store.check(request)),
      run: (operation) => ask(store.run(operation)),
      reset: (keys) => ask(store.reset(keys)),
    },
    answers: () => answers,
  }
}

/** Finds places by the names of policies. Records are in home. */
function placesOf(perRegion: ReadonlySet<string>): PlacesBy {
  const prefixes = new Set<string>()

  return {
    factory: 'regional',
    leasing: 'lease(…) around the policy',
    shardBy: 'region',
    accept(policies) {
      for (const rule of policies) assertCounted(rule, perRegion)
      for (const rule of policies) if (!isLeased(rule)) prefixes.add(`${keyPrefix(rule)}:`)
    },
    ofKey(key) {
      // The list of open reservations is where the charges are.
      const counted = key.replace(/^open:/, '')
      return [...prefixes].some((prefix) => counted.startsWith(prefix)) ? HERE : HOME
    },
  }
}

/** @throws ConfigError Unless the policy is leased, or each region counts it by itself. */
function assertCounted(rule: PolicyRule, perRegion: ReadonlySet<string>): void {
  const { name, balance } = rule
  if (balance) {
    const message = `must be one store with "${name}": a balance that each region counts is spent once in each`
    throw invalidOption('store', message)
  }
  if (isLeased(rule) !== perRegion.has(name)) return
  const message = isLeased(rule)
    ? `must not have "${name}", which is leased: home counts it for all regions`
    : `must have "${name}", which each region then counts by itself${canBeLeased(rule) ? `; or lease it, as lease(${name}), for one limit over all regions` : ''}`
  throw invalidOption('regional.perRegion', message)
}
