import {
  defineExtension,
  type Extension,
  type ExtensionContext,
  type PolicyRule,
  type WaitUntil,
} from '@sluice/core'
import { assertKnownOptions, assertName, assertPositiveInteger } from '@sluice/core/internal'
import { measure, type MeasureOptions } from '../measure.ts'
import { processCounter } from './process-counters.ts'
import { SeriesCounter, type SeriesValues } from './series.ts'

/** Options of `prometheus`. */
export interface PrometheusOptions extends MeasureOptions {
  /**
   * Extensions of one name in a process count together. Next.js needs it, because it loads a module once for
   * `proxy.ts` and again for routes. @default each limiter counts for itself
   */
  readonly name?: string
  /** The most series. What comes later is counted without labels. At most 2,000. @default 1_000 */
  readonly maxSeries?: number
  /**
   * Adds up the counts of all processes and isolates in the store, created by `sharedSeries`.
   *
   * @default each process has its own
   */
  readonly share?: SeriesSharing
}

/** A way to add up the series of many processes. */
export interface SeriesSharing {
  /** @internal */
  connect(context: ExtensionContext, counter: SeriesCounter, maxSeries: number): SharedSeries
}

/** The series of many processes, as one of them adds to them and reads them. */
interface SharedSeries {
  /** Makes sure that what was counted is added. */
  schedule(waitUntil: WaitUntil | undefined): void
  /** Adds what was counted, now. @throws StoreError When the store fails. */
  flush(): Promise<void>
  /** Returns the sum of all processes. @throws StoreError When the store fails. */
  read(): Promise<SeriesValues>
}

/** The part of a limiter that an endpoint reads. */
export interface PrometheusHandle {
  readonly policies: readonly PolicyRule[]
  readonly read: () => SeriesValues | Promise<SeriesValues>
  /** Set if series are shared. */
  readonly flush: (() => Promise<void>) | undefined
}

export const EXTENSION = 'prometheus'

/** The most series that one script call can add. */
const MAX_SERIES = 2_000

/**
 * Counts a limiter's decisions for Prometheus, to be read by `metricsHandler`.
 *
 * @throws ConfigError When an option is unknown or malformed.
 * @example
 * createLimiter({ store, policies, extensions: [prometheus()] })
 */
export function prometheus(options: PrometheusOptions = {}): Extension {
  assertKnownOptions('prometheus', options, ['name', 'tenants', 'maxValues', 'maxSeries', 'share'])
  const { name, maxSeries = 1_000, share } = options
  if (name !== undefined) assertName('prometheus.name', name)
  assertPositiveInteger('prometheus.maxSeries', maxSeries, MAX_SERIES)
  return defineExtension({
    name: EXTENSION,
    connect(context) {
      const counter =
        name === undefined ? new SeriesCounter(maxSeries) : processCounter(name, maxSeries)
      const shared = share?.connect(context, counter, maxSeries)
      const measuring = measure(context, counter, options)
      const handle: PrometheusHandle = {
        policies: context.policies,
        read: () => shared?.read() ?? counter.values,
        flush: shared && (() => shared.flush()),
      }
      if (!shared) return { on: measuring, handle }
      return {
        on: {
          ...measuring,
          decision(event) {
            measuring.decision(event)
            shared.schedule(event.call.waitUntil)
          },
          // The last of them come after the last decision.
          wait(event) {
            measuring.wait(event)
            shared.schedule(undefined)
          },
          job(event) {
            measuring.job(event)
            shared.schedule(undefined)
          },
        },
        handle,
      }
    },
  })
}
