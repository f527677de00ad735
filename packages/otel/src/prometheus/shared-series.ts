import { durationMs, extensionHandle, type Duration, type Limiter } from '@sluice/core'
import { assertKnownOptions, assertName } from '@sluice/core/internal'
import { CounterFlush, readCounters, type CounterValues } from '@sluice/usage/internal'
import { EXTENSION, type PrometheusHandle, type SeriesSharing } from './prometheus.ts'
import type { SeriesValues } from './series.ts'

/** Options of `sharedSeries`. */
export interface SharedSeriesOptions {
  /** The time that counts gather before they are added, in one call. Workers allow 25 s. @default '10s' */
  readonly every?: Duration
  /** The part of the keys after the store's prefix. @default 'metrics' */
  readonly key?: string
}

/** The time for which a month's counts are kept, from the first of them. */
const KEPT_MS = 40 * 86_400_000

/**
 * Adds up the series of all processes and isolates in the limiter's store, for isolates that nobody can
 * scrape. Counts gather in memory and are added in the background, past the response. An isolate that ends
 * loses what it counted since then.
 *
 * @throws ConfigError When an option is unknown or malformed.
 * @example
 * createLimiter({ store, policies, extensions: [prometheus({ share: sharedSeries() })] })
 */
export function sharedSeries(options: SharedSeriesOptions = {}): SeriesSharing {
  assertKnownOptions('sharedSeries', options, ['every', 'key'])
  const everyMs = durationMs('sharedSeries.every', options.every ?? '10s')
  const key = assertName('sharedSeries.key', options.key ?? 'metrics')
  return {
    connect({ records, clock, problem }, counter, maxSeries) {
      // A new key each month, so that a key may expire: Prometheus takes it for a restart.
      const monthKey = (): string => `${key}:${new Date(clock()).toISOString().slice(0, 7)}`
      const flush = new CounterFlush({
        title: 'Metrics',
        records,
        clock,
        problem,
        key,
        maxCounters: maxSeries,
        everyMs,
        take() {
          const counters = [...counter.take()].map(([name, values]) => ({ name, values }))
          const hashes = [{ key: monthKey(), expiresAt: clock() + KEPT_MS }]
          return counters.length > 0 ? () => [{ hashes, counters }] : undefined
        },
      })
      return {
        schedule: (waitUntil) => flush.schedule(waitUntil),
        flush: () => flush.flush(),
        async read() {
          const [found = new Map<string, string>()] = await readCounters(
            records,
            [monthKey()],
            clock(),
          )
          return parse(found)
        },
      }
    },
  }
}

/**
 * Adds what this process has counted, such as before it ends.
 *
 * @throws ConfigError When the limiter does not have the extension `prometheus`.
 * @throws StoreError When the store fails. The counts are kept for the next time.
 */
export async function flushSeries(limiter: Limiter): Promise<void> {
  await extensionHandle<PrometheusHandle>(limiter, EXTENSION, EXTENSION).flush?.()
}

const parse = (found: CounterValues): SeriesValues =>
  new Map([...found].map(([name, text]) => [name, text.split(',').map(Number)]))
