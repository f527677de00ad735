import {
  defineExtension,
  type Extension,
  type ExtensionContext,
  type PolicyRule,
  type WaitUntil,
} from '@sluice/core'
import { assertKnownOptions, assertName, assertPositiveInteger } from '@sluice/core/internal'
import { inProcess } from '@sluice/core/internal/limiter'
import { inTurn } from '../flush.ts'
import { measure, MEASURE_OPTIONS, type MeasureOptions } from '../measure.ts'
import { SeriesCounter, type SeriesValues } from './series.ts'
import { budgetsAmong, TopBudgets } from './top-budgets.ts'

/** Options of `prometheus`. */
export interface PrometheusOptions extends MeasureOptions {
  /**
   * Extensions of one name in a process count together. Next.js needs it, because it loads a module once for
   * `proxy.ts` and again for routes. @default each limiter counts for itself
   */
  readonly name?: string
  /** The most series. Later ones are counted without labels. At most 2,000. @default 1_000 */
  readonly maxSeries?: number
  /**
   * The most tenants whose use of a budget is shown, by budget: those that have used the largest share, among the ones
   * that this process has decided for. A budget is a limit of a tenant over a day or longer. They become labels, and
   * each costs a round trip a scrape. At most 100. @default none
   */
  readonly topBudgets?: number
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
  /** Set if the top budgets are shown. */
  readonly top: TopBudgets | undefined
  readonly read: () => SeriesValues | Promise<SeriesValues>
  /** Set if series are shared. */
  readonly flush: (() => Promise<void>) | undefined
}

export const EXTENSION = 'prometheus'

const OPTIONS = ['name', ...MEASURE_OPTIONS, 'maxSeries', 'topBudgets', 'share']

/** The most tenants by budget that an endpoint looks up. */
const MAX_TOP_BUDGETS = 100

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
  assertKnownOptions('prometheus', options, OPTIONS)
  const { name, maxSeries = 1_000, topBudgets, share } = options
  if (name !== undefined) assertName('prometheus.name', name)
  assertPositiveInteger('prometheus.maxSeries', maxSeries, MAX_SERIES)
  if (topBudgets !== undefined) {
    assertPositiveInteger('prometheus.topBudgets', topBudgets, MAX_TOP_BUDGETS)
  }
  const create = (): Pick<PrometheusHandle, 'top'> & { counter: SeriesCounter } => ({
    counter: new SeriesCounter(maxSeries),
    top: topBudgets === undefined ? undefined : new TopBudgets(topBudgets),
  })
  return defineExtension({
    name: EXTENSION,
    connect(context) {
      const { counter, top } = name === undefined ? create() : inProcess('prometheus', name, create)
      const shared = share?.connect(context, counter, maxSeries)
      const measuring = measure(context, counter, options)
      const handle: PrometheusHandle = {
        policies: context.policies,
        top,
        read: () => shared?.read() ?? counter.values,
        flush: shared && (() => shared.flush()),
      }
      if (!shared && !top) return { on: measuring, handle }
      const budgets = budgetsAmong(context.policies)
      const schedule = (): void => shared?.schedule(undefined)
      return {
        on: {
          ...measuring,
          decision: inTurn(measuring.decision, (event) => {
            top?.see(event, budgets)
            shared?.schedule(event.call.waitUntil)
          }),
          // The last of them come after the last decision.
          wait: inTurn(measuring.wait, schedule),
          cutAnswer: inTurn(measuring.cutAnswer, schedule),
          job: inTurn(measuring.job, schedule),
        },
        handle,
      }
    },
  })
}
