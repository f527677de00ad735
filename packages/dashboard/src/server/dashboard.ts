import type { Clock, Extension } from '@sluice/core'
import type { DashboardRecord, SourceOptions } from '../records/record.ts'
import type { MakeReport } from '../report.ts'
import type { View } from '../view.ts'
import { assertFunction, assertKnownOptions, assertName } from '@sluice/core/internal'
import { inProcess } from '@sluice/core/internal/limiter'
import { DashboardState } from '../state/state.ts'
import { watchWith } from '../records/watch.ts'

/** Options of `createDashboard`. */
export interface DashboardOptions {
  /**
   * Dashboards of one name in a process are one: they share their counts, and have the options of the first.
   * Next.js needs it, because it loads a module once for `proxy.ts` and again for routes. @default shared with none
   */
  readonly name?: string
  /** The time, for tests. @default the machine's clock */
  readonly clock?: Clock
  /**
   * Makes the parts of the page that need recorded usage: findings, and what policies in shadow would have denied.
   * Called every ten seconds while somebody watches. @default none
   */
  readonly report?: MakeReport
}

/** Counts of the decisions of limiters, in the memory of this process. */
export interface Dashboard {
  /**
   * Creates an extension that counts the decisions of one limiter of this process.
   *
   * @example
   * createLimiter({ store, policies, extensions: [dashboard.watch({ name: 'chat' })] })
   */
  watch(options?: SourceOptions): Extension
  /** Counts a record that `relay` has sent from another process. */
  take(record: DashboardRecord): void
  /** Returns all counts. */
  view(): View
  /**
   * Forgets one tenant, or everything, and makes the report anew. The charts of all tenants together keep the
   * past of one that is forgotten. Neither limits nor recorded usage change: see `limiter.reset`, and
   * `forgetUsage` of `@sluice/usage`.
   */
  forget(tenant?: string): void
}

const states = new WeakMap<Dashboard, DashboardState>()
const SOURCE_OPTIONS = ['name', 'by', 'retriesBy', 'estimate']

/**
 * Creates a dashboard: counts per second of the last five minutes, per minute of the last three hours, and
 * of up to 200 tenants, the heaviest and the latest; dollars of up to 20,000. Its memory is bounded, and it calls no
 * store.
 *
 * @throws ConfigError When an option is unknown or malformed.
 * @example
 * export const dashboard = createDashboard({ name: 'app' })
 * const limiter = createLimiter({ store, policies, extensions: [dashboard.watch()] })
 */
export function createDashboard(options: DashboardOptions = {}): Dashboard {
  assertKnownOptions('createDashboard', options, ['name', 'clock', 'report'])
  const { name, clock = Date.now, report } = options
  if (name !== undefined) assertName('createDashboard.name', name)
  assertFunction('createDashboard.clock', clock)
  if (report !== undefined) assertFunction('createDashboard.report', report)
  const create = (): DashboardState => new DashboardState(clock, report)
  const state = name === undefined ? create() : inProcess('dashboards', name, create)
  const dashboard: Dashboard = Object.freeze({
    watch(source: SourceOptions = {}) {
      assertKnownOptions('watch', source, SOURCE_OPTIONS)
      return watchWith(source, (record) => state.take(record))
    },
    take: (record: DashboardRecord) => state.take(record),
    view: () => state.since(-1),
    forget: (tenant?: string) => state.forget(tenant),
  })
  states.set(dashboard, state)
  return dashboard
}

/** Returns the state of a dashboard; `undefined` if it is none of `createDashboard`. */
export const stateOf = (dashboard: Dashboard): DashboardState | undefined => states.get(dashboard)
