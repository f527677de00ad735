/* The metrics of limiters. Those of model calls are in `gen-ai.ts`. A bundle without metrics leaves this file out. */

/** A metric: its name, and how the numbers that are measured become its values. */
export interface Metric {
  readonly name: string
  readonly kind: 'counter' | 'histogram' | 'gauge'
  /** The unit, as OpenTelemetry writes it. */
  readonly unit: string
  readonly description: string
  /** Measured numbers are divided by this: micro-dollars become dollars. @default 1 */
  readonly divisor?: number
  /** The upper bounds of a histogram's buckets, as measured. */
  readonly bounds?: readonly number[]
}

const COUNTERS = {
  decisions: {
    unit: '{decision}',
    description: 'Decisions, by outcome and the policy that denied or delayed',
  },
  shadow_denials: {
    unit: '{decision}',
    description: 'Decisions that a policy in shadow would have denied',
  },
  units: {
    unit: '{unit}',
    description: 'Units other than requests and dollars, by state',
  },
  cost: {
    unit: 'USD',
    description: 'Dollars, by state',
    divisor: 1_000_000,
  },
  thresholds: {
    unit: '{crossing}',
    description: 'Charges that passed a share of a limit',
  },
  'answers.cut': {
    unit: '{answer}',
    description: 'Answers that reached their maximum of output',
  },
  'waits.begun': {
    unit: '{wait}',
    description: 'Requests that began to wait in a line',
  },
  jobs: {
    unit: '{attempt}',
    description: 'Attempts of jobs, by outcome',
  },
} as const

const HISTOGRAMS = {
  'request.cost': {
    unit: 'USD',
    description: 'The dollars of each request that cost any',
    divisor: 1_000_000,
    bounds: [100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 10_000_000],
  },
  'limit.used': {
    unit: '1',
    description: 'The used share of a limit after each decision',
    divisor: 1_000,
    bounds: [100, 250, 500, 750, 900, 990, 1_000],
  },
  'store.duration': {
    unit: 's',
    description: 'The duration of calls to the store',
    divisor: 1_000,
    bounds: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000],
  },
  'wait.duration': {
    unit: 's',
    description: 'The duration of waits in a line, by outcome',
    divisor: 1_000,
    bounds: [100, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000],
  },
  'job.wait': {
    unit: 's',
    description: 'The time from adding a job to its first attempt',
    divisor: 1_000,
    bounds: [1_000, 5_000, 30_000, 60_000, 300_000, 1_800_000, 3_600_000, 21_600_000, 86_400_000],
  },
} as const

const GAUGES = {
  limit: {
    unit: '{unit}',
    description: 'The limit now: of global policies, and of listed tenants',
  },
  'budget.used': {
    unit: '1',
    description: 'The used share of a limit: of global policies, and of listed tenants',
  },
} as const

/** A metric that is a state, not a count of events. */
export type GaugeName = keyof typeof GAUGES

export type MetricName = keyof typeof COUNTERS | keyof typeof HISTOGRAMS | GaugeName

/** All metrics, by their names after `rate_limiter.`. */
export const METRICS = Object.fromEntries(
  Object.entries({ counter: COUNTERS, histogram: HISTOGRAMS, gauge: GAUGES }).flatMap(
    ([kind, metrics]) =>
      Object.entries(metrics).map(([name, metric]) => [
        name,
        { name: `rate_limiter.${name}`, kind, ...metric },
      ]),
  ),
) as Readonly<Record<MetricName, Metric>>
