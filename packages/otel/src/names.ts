/* The names of everything that is reported, in one place. Those of model calls are in `gen-ai.ts`. */

/** The label of a metric, and the attribute that it is in OpenTelemetry. */
export const LABELS = {
  route: 'rate_limiter.route',
  plan: 'rate_limiter.plan',
  model: 'gen_ai.request.model',
  tenant: 'rate_limiter.tenant',
  policy: 'rate_limiter.policy',
  outcome: 'rate_limiter.outcome',
  degraded: 'rate_limiter.degraded.mode',
  source: 'rate_limiter.source',
  queue: 'rate_limiter.queue',
  unit: 'rate_limiter.unit',
  state: 'rate_limiter.state',
  threshold: 'rate_limiter.threshold',
  call: 'rate_limiter.store.call',
  place: 'rate_limiter.place',
  error: 'error.type',
} as const

/** Labels of one measurement. Those that are `undefined` are left out. */
export type Labels = { readonly [Name in keyof typeof LABELS]?: string | undefined }

/** A metric: its name, and how the numbers that are measured become its values. */
export interface Metric {
  readonly name: string
  readonly kind: 'counter' | 'histogram' | 'gauge'
  /** The unit, as OpenTelemetry writes it. */
  readonly unit: string
  readonly description: string
  /** The labels that it can have. */
  readonly labels: readonly (keyof Labels)[]
  /** Measured numbers are divided by this: micro-dollars become dollars. @default 1 */
  readonly divisor?: number
  /** The upper bounds of a histogram's buckets, as measured. */
  readonly bounds?: readonly number[]
}

export type MetricName =
  | 'decisions'
  | 'shadowDenials'
  | 'units'
  | 'cost'
  | 'requestCost'
  | 'limitUsed'
  | 'storeDuration'
  | 'thresholds'
  | 'answersCut'
  | 'waitsBegun'
  | 'waitDuration'
  | 'jobs'
  | 'jobWait'
  | GaugeName

/** A metric that is a state, not a count of events. */
export type GaugeName = 'budgetUsed' | 'limit'

export const METRICS: Readonly<Record<MetricName, Metric>> = {
  decisions: {
    name: 'rate_limiter.decisions',
    kind: 'counter',
    unit: '{decision}',
    description: 'Decisions, by outcome and the policy that denied or delayed',
    labels: ['route', 'plan', 'tenant', 'policy', 'outcome', 'degraded', 'source'],
  },
  shadowDenials: {
    name: 'rate_limiter.shadow_denials',
    kind: 'counter',
    unit: '{decision}',
    description: 'Decisions that a policy in shadow would have denied',
    labels: ['route', 'plan', 'tenant', 'policy'],
  },
  units: {
    name: 'rate_limiter.units',
    kind: 'counter',
    unit: '{unit}',
    description: 'Units other than requests and dollars, by state',
    labels: ['route', 'plan', 'tenant', 'unit', 'state'],
  },
  cost: {
    name: 'rate_limiter.cost',
    kind: 'counter',
    unit: 'USD',
    description: 'Dollars, by state',
    labels: ['route', 'plan', 'tenant', 'state'],
    divisor: 1_000_000,
  },
  requestCost: {
    name: 'rate_limiter.request.cost',
    kind: 'histogram',
    unit: 'USD',
    description: 'The dollars of each request that cost any',
    labels: ['plan', 'model'],
    divisor: 1_000_000,
    bounds: [100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 10_000_000],
  },
  limitUsed: {
    name: 'rate_limiter.limit.used',
    kind: 'histogram',
    unit: '1',
    description: 'The used share of a limit after each decision',
    labels: ['plan', 'policy'],
    divisor: 1_000,
    bounds: [100, 250, 500, 750, 900, 990, 1_000],
  },
  storeDuration: {
    name: 'rate_limiter.store.duration',
    kind: 'histogram',
    unit: 's',
    description: 'The duration of calls to the store',
    labels: ['call', 'place', 'error'],
    divisor: 1_000,
    bounds: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000],
  },
  thresholds: {
    name: 'rate_limiter.thresholds',
    kind: 'counter',
    unit: '{crossing}',
    description: 'Charges that passed a share of a limit',
    labels: ['policy', 'tenant', 'threshold'],
  },
  answersCut: {
    name: 'rate_limiter.answers.cut',
    kind: 'counter',
    unit: '{answer}',
    description: 'Answers that reached their maximum of output',
    labels: ['route', 'plan', 'tenant', 'model'],
  },
  waitsBegun: {
    name: 'rate_limiter.waits.begun',
    kind: 'counter',
    unit: '{wait}',
    description: 'Requests that began to wait in a line',
    labels: ['policy', 'tenant'],
  },
  waitDuration: {
    name: 'rate_limiter.wait.duration',
    kind: 'histogram',
    unit: 's',
    description: 'The duration of waits in a line, by outcome',
    labels: ['policy', 'tenant', 'outcome'],
    divisor: 1_000,
    bounds: [100, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000],
  },
  jobs: {
    name: 'rate_limiter.jobs',
    kind: 'counter',
    unit: '{attempt}',
    description: 'Attempts of jobs, by outcome',
    labels: ['queue', 'tenant', 'outcome'],
  },
  jobWait: {
    name: 'rate_limiter.job.wait',
    kind: 'histogram',
    unit: 's',
    description: 'The time from adding a job to its first attempt',
    labels: ['queue', 'tenant'],
    divisor: 1_000,
    bounds: [1_000, 5_000, 30_000, 60_000, 300_000, 1_800_000, 3_600_000, 21_600_000, 86_400_000],
  },
  limit: {
    name: 'rate_limiter.limit',
    kind: 'gauge',
    unit: '{unit}',
    description: 'The limit now: of global policies, and of listed tenants',
    labels: ['policy', 'tenant', 'route'],
  },
  budgetUsed: {
    name: 'rate_limiter.budget.used',
    kind: 'gauge',
    unit: '1',
    description: 'The used share of a limit: of global policies, and of listed tenants',
    labels: ['policy', 'tenant', 'route'],
  },
}

/** Attributes that only spans have. */
export const SPAN = {
  check: 'rate_limiter.check',
  settle: 'rate_limiter.settle',
  partition: 'rate_limiter.partition',
  policies: 'rate_limiter.policies',
  reason: 'rate_limiter.reason',
  limit: 'rate_limiter.limit',
  remaining: 'rate_limiter.remaining',
  cost: 'rate_limiter.cost',
  degraded: 'rate_limiter.degraded',
  delayMs: 'rate_limiter.delay_ms',
  retryAfterMs: 'rate_limiter.retry_after_ms',
  shadow: 'rate_limiter.shadow',
  reservation: 'rate_limiter.reservation',
  returned: 'rate_limiter.returned',
  overrun: 'rate_limiter.overrun',
} as const
