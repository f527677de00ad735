/* The names of everything that is reported, in one place. Those of model calls are in `gen-ai.ts`. */

/**
 * The label of a metric, and the attribute that it is in OpenTelemetry. By its conventions, `gen_ai.request.model` is the model
 * that was requested, and `gen_ai.response.model` the one actually used (see `gen-ai.ts`).
 */
export const LABELS = {
  route: 'rate_limiter.route',
  plan: 'rate_limiter.plan',
  model: 'gen_ai.request.model',
  response: 'gen_ai.response.model',
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
  passedOver: 'rate_limiter.passed_over',
} as const
