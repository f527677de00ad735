import {
  defineExtension,
  type ConfigError,
  type Extension,
  type ExtensionContext,
  type ExtensionHooks,
} from '@sluice/core'
import {
  isFresh,
  parseDocument,
  runInBackground,
  singleFlight,
  type StoredDocument,
} from '@sluice/core/internal/configuration'
import { runtimeOf } from '@sluice/core/internal/limiter'
import { invalidOption } from '@sluice/core/internal'
import type { LiveTable, ModelPrice, PricedCall } from '../prices/prices.ts'
import { priceIn, type EntryTerms, type PriceEntry } from './listed-entry.ts'
import type { Feed } from './read-feed.ts'

/** The time for which an isolate relies on its copy, in milliseconds. */
const FRESH_MS = 60_000
/** The least time between two loads, whatever asks for them. */
const BETWEEN_LOADS_MS = 5_000

/** The name of the extension. */
export const PRICES = 'prices'

/** One version of the prices in the store. */
interface LoadedPrices {
  readonly version: string | undefined
  readonly prices: ReadonlyMap<string, ModelPrice>
}

const NOTHING: LoadedPrices = { version: undefined, prices: new Map() }

/** The pull of a feed by an isolate. */
export interface FeedPull {
  readonly isDue: (now: number) => boolean
  /** Never rejects. */
  readonly pull: (copy: PriceCopy) => Promise<void>
}

/**
 * The prices of the record as one isolate knows them, in one of four states:
 *
 * - unknown, before the first load: the next model call loads them;
 * - fresh, for a minute from a read: calls rely on them;
 * - stale, after that: calls rely on them too, and the next decision reads their version along;
 * - outdated, when the versions differ: the next call, and the end of those under way, load them.
 */
export class PriceCopy implements LiveTable {
  readonly terms: EntryTerms
  /** The feed to pull; its `url` is empty if there is none. */
  readonly feed: Feed
  readonly extension: Extension
  readonly #key: string
  readonly #loadOnce: () => Promise<boolean>
  #context: Pick<ExtensionContext, 'records' | 'clock' | 'problem'> | undefined
  #loaded: LoadedPrices = NOTHING
  /** By which `get` finds prices: another version only while one is compared. */
  #current: LoadedPrices = NOTHING
  #isOutdated = true
  #isLoading = false
  #readAt = -Infinity
  #loadedAt = -Infinity
  #reported = ''
  /** The number of changes that this isolate has made. */
  #changes = 0

  constructor(name: string, terms: EntryTerms, feed: Feed, pull: FeedPull | undefined) {
    this.#key = `prices:${name}`
    this.terms = terms
    this.feed = feed
    this.extension = defineExtension({
      name: PRICES,
      connect: (context) => this.#connect(context, pull),
    })
    // Those that wait take what the one has loaded.
    this.#loadOnce = singleFlight(
      () => this.#load().then(() => true),
      () => (this.#isLoading ? undefined : true),
    )
  }

  /** The prices that apply beside those of `base`. */
  get prices(): ReadonlyMap<string, ModelPrice> {
    return this.#current.prices
  }

  /** Connects to the store of a limiter. */
  #connect(context: ExtensionContext, pull: FeedPull | undefined): ExtensionHooks {
    this.#context = context
    return {
      handle: this,
      before: ({ waitUntil }) => {
        const now = context.clock()
        if (pull?.isDue(now)) runInBackground(pull.pull(this), waitUntil)
        if (this.#isOutdated || isFresh(this.#readAt, now, FRESH_MS)) return undefined
        const loaded = this.#loaded
        const update = (stored: string | undefined): boolean => {
          if (loaded === this.#loaded) {
            this.#readAt = now
            if (stored !== loaded.version) this.#isOutdated = true
          }
          // The decision counts what the call has been priced at.
          return false
        }
        return { reads: [{ field: this.document.versionField, update }] }
      },
    }
  }

  /** The document of the record. @throws ConfigError When no limiter has it. */
  get document(): StoredDocument {
    const context = this.#context
    if (!context) throw lacksLive('livePrices')
    const field = (name: string): { key: string; field: string } => ({
      key: this.#key,
      field: name,
    })
    return {
      records: context.records,
      clock: context.clock,
      settingsField: field('prices'),
      versionField: field('version'),
      historyField: field('history'),
      report: (problem) => this.report(problem),
      markOutdated: () => {
        this.#changes += 1
        this.#isOutdated = true
        this.#loadedAt = -Infinity
      },
    }
  }

  assertIn(door: string, limiter: object): void {
    if (runtimeOf(limiter).extensions.some(({ handle }) => handle === this)) return
    throw lacksLive(door)
  }

  async prepare<Call extends PricedCall>(prepare: () => Call | Promise<Call>): Promise<Call> {
    await this.refresh()
    try {
      const call = await this.#preparedBy(prepare)
      if (call.countedAs !== UNLISTED) return call
    } catch (error) {
      if ((error as { code?: unknown } | null)?.code !== 'unknown_model') throw error
    }
    await this.#loadIfDue()
    return this.#preparedBy(prepare)
  }

  /** Prepares a call by one version, also if another is loaded meanwhile. */
  async #preparedBy<Call extends PricedCall>(prepare: () => Call | Promise<Call>): Promise<Call> {
    const pricedBy = this.#loaded
    const call = await prepare()
    return pricedBy === this.#loaded ? { ...call, pricedBy } : this.#preparedBy(prepare)
  }

  async refresh(): Promise<void> {
    if (this.#isOutdated) await this.#loadIfDue()
  }

  highest(pricedBy: unknown, price: () => number): number {
    const before = pricedBy as LoadedPrices | undefined
    if (before === undefined || before === this.#loaded) return price()
    this.#current = before
    let first: number
    try {
      first = price()
    } finally {
      this.#current = this.#loaded
    }
    try {
      return Math.max(first, price())
    } catch {
      // The model is not listed any more.
      return first
    }
  }

  /** Reports a fault in the record or a feed, once. */
  report(problem: string): void {
    if (problem === this.#reported) return
    this.#reported = problem
    const message = `The live prices "${this.#key}": ${problem}; it is ignored`
    this.#context?.problem({ code: 'invalid_configuration', message })
  }

  /** Loads, or waits for the load of another call. Without the store, the prices stay as they are known. */
  async #loadIfDue(): Promise<void> {
    if (!this.#context) return
    try {
      await this.#loadOnce()
    } catch {
      // The decision itself reports a store that fails.
    }
  }

  async #load(): Promise<void> {
    const { records, clock, versionField, settingsField, report } = this.document
    const readAt = clock()
    if (isFresh(this.#loadedAt, readAt, BETWEEN_LOADS_MS)) return
    this.#loadedAt = readAt
    const changes = this.#changes
    this.#isLoading = true
    try {
      const [version, text] = await records.read([versionField, settingsField])
      // A later read has been faster.
      if (readAt < this.#readAt && this.#readAt <= clock()) return
      if (version !== this.#loaded.version) {
        this.#loaded = { version, prices: this.pricesIn(parseDocument(text, report)) }
        this.#current = this.#loaded
      }
      this.#readAt = readAt
      // Otherwise it may lack a change that this isolate has made meanwhile.
      if (changes === this.#changes) this.#isOutdated = false
    } finally {
      this.#isLoading = false
    }
  }

  /** Returns the prices of entries that apply. Reports others. */
  pricesIn(entries: readonly unknown[]): Map<string, ModelPrice> {
    const prices = new Map<string, ModelPrice>()
    for (const entry of entries) {
      try {
        const { policy, settings } = (entry ?? {}) as Partial<PriceEntry>
        const price = priceIn(policy, settings, this.terms)
        prices.set(policy as string, price)
      } catch (error) {
        const { option, reason } = error as ConfigError
        this.report(`${option}: ${reason}`)
      }
    }
    return prices
  }
}

/** The name under which models are counted that have no price. */
const UNLISTED = 'other'

const lacksLive = (door: string): ConfigError =>
  invalidOption(
    `${door}.prices`,
    'must be in the limiter, too: createLimiter({ …, extensions: [prices] })',
  )
