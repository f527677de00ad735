import { invalidOption } from '@sluice/core/internal'
import { extensionHandle, StoreError, type Limiter, type Subject } from '@sluice/core'
import { adaptedLimitOf } from '@sluice/core/internal/limiter'
import { shareUsed } from '../decision-facts.ts'
import { METRICS, type Metric } from '../metric-table.ts'
import { gaugesOfQueues, type GaugeValue, type QueueCounts } from '../queue-counts.ts'
import { labelText } from './label-text.ts'
import { EXTENSION, type PrometheusHandle } from './prometheus.ts'
import { CONTENT_TYPE, formatMetrics } from './text.ts'

/** Options of `metricsHandler`. */
export interface MetricsOptions {
  /**
   * The subjects whose use of their limits is shown. Their tenants become labels. Limits of a tenant, a route
   * or everyone are shown, not those of users or models. Each costs a round trip a scrape. @default none
   */
  readonly budgets?: readonly Subject[]
  /**
   * The queues whose jobs are counted, by name, such as `{ summaries: () => countJobs(summaries) }`. Each costs a round
   * trip a scrape. @default none
   */
  readonly queues?: QueueCounts
}

/**
 * Returns the metrics of a limiter in Prometheus' text format.
 *
 * @throws ConfigError When the limiter does not have the extension `prometheus`, or a subject lacks a dimension.
 * @throws StoreError When the series are shared, and the store fails.
 */
export async function metricsText(limiter: Limiter, options: MetricsOptions = {}): Promise<string> {
  const handle = extensionHandle<PrometheusHandle>(limiter, EXTENSION, EXTENSION)
  assertBudgets('metricsText', options, handle)
  const [series, queues, ...budgets] = await Promise.all([
    handle.read(),
    gaugesOfQueues(options.queues ?? {}),
    ...(options.budgets ?? []).map((subject) => budgetsOf(limiter, subject, handle.policies)),
    ...(handle.top?.subjects ?? []).map((subject) => topBudgetsOf(limiter, subject, handle)),
  ])
  // Subjects share the budgets of everyone. The limits of decisions, which may be adapted, come last.
  const distinct = new Map(
    [adaptedAmong(handle.policies), ...budgets]
      .flatMap((found = []) => found)
      .map((budget) => [budget.metric.name + labelText(budget.labels), budget]),
  )
  return formatMetrics(series, [...distinct.values(), ...queues])
}

/**
 * Creates the endpoint that Prometheus scrapes: it answers every request with the metrics of `limiter`. Put
 * your own authentication before it. While shared series cannot be read, it answers 503.
 *
 * @throws ConfigError When the limiter does not have the extension `prometheus`, or a subject lacks a dimension.
 * @example
 * export const GET = metricsHandler(limiter)
 */
export function metricsHandler(
  limiter: Limiter,
  options: MetricsOptions = {},
): (request?: Request) => Promise<Response> {
  assertBudgets('metricsHandler', options, extensionHandle(limiter, EXTENSION, EXTENSION))
  return async () => {
    try {
      const text = await metricsText(limiter, options)
      return new Response(text, { headers: { 'content-type': CONTENT_TYPE } })
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      return new Response(`The store failed: ${error.code}\n`, { status: 503 })
    }
  }
}

/** A scrape must not fail for a subject whose limits cannot be asked for. */
function assertBudgets(
  name: string,
  { budgets = [] }: MetricsOptions,
  { policies }: PrometheusHandle,
): void {
  for (const [index, subject] of budgets.entries()) {
    for (const { name: policy, per, routes, onMissing } of policies) {
      if (per === 'global' || onMissing === 'skip') continue
      if (routes && !routes.includes(subject.route ?? '')) continue
      const known = new Map<string, unknown>(Object.entries(subject))
      const lacking = per.find((dimension) => known.get(dimension) === undefined)
      if (lacking === undefined) continue
      const message = `lacks ${lacking}, by which policy "${policy}" counts; name it beside the others`
      throw invalidOption(`${name}.budgets[${index}]`, message)
    }
  }
}

/** A metric apart from others for who has no such limit. */
const LIMIT_MAX: Metric = {
  name: 'rate_limiter.limit.max',
  kind: 'gauge',
  unit: '{unit}',
  description: 'The limit in the code, of a limit that follows an upstream',
}

/** Returns the limits that follow an upstream, as far as this process knows, and those in the code. */
const adaptedAmong = (policies: PrometheusHandle['policies']): GaugeValue[] =>
  policies.flatMap((rule) => {
    const adapted = adaptedLimitOf(rule)
    if (!adapted) return []
    const labels = { policy: rule.name }
    return [
      { metric: METRICS.limit, labels, value: adapted.limit },
      { metric: LIMIT_MAX, labels, value: adapted.most },
    ]
  })

/** Returns each limit of a subject, and how much of it is used. `undefined` if the store fails. */
async function budgetsOf(
  limiter: Limiter,
  subject: Subject,
  rules: PrometheusHandle['policies'],
): Promise<GaugeValue[] | undefined> {
  const cost = Object.fromEntries(rules.map(({ unit }) => [unit, 0]))
  const { policies, degraded } = await limiter.peek(subject, { cost })
  if (degraded) return undefined
  return policies.flatMap((policy) => {
    const { per } = rules.find(({ name }) => name === policy.name) ?? { per: [] }
    const dimensions: readonly string[] = per === 'global' ? [] : per
    // Without a label for each of its dimensions, one budget would be shown as another.
    if (dimensions.some((dimension) => dimension !== 'tenant' && dimension !== 'route')) return []
    const of = (name: 'tenant' | 'route') => (dimensions.includes(name) ? subject[name] : undefined)
    const labels = { policy: policy.name, tenant: of('tenant'), route: of('route') }
    const limit = { metric: METRICS.limit, labels, value: policy.limit }
    // Of a limit of 0 nothing is left, and nothing is used.
    if (policy.limit === 0) return [limit]
    return [{ metric: METRICS['budget.used'], labels, value: shareUsed(policy) }, limit]
  })
}

/** Returns how much of its top budgets a tenant has used by now. */
async function topBudgetsOf(
  limiter: Limiter,
  subject: Subject,
  { policies, top }: PrometheusHandle,
): Promise<GaugeValue[] | undefined> {
  const found = await budgetsOf(limiter, subject, policies)
  if (!found) return undefined
  const used = found.filter(({ metric }) => metric === METRICS['budget.used'])
  top?.correct(subject, new Map(used.map(({ labels, value }) => [labels.policy, value])))
  return found.filter(({ labels: { policy = '' } }) => top?.has(policy, subject))
}
