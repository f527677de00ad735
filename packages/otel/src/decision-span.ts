import type { Attributes } from '@opentelemetry/api'
import type { Decision, Subject } from '@sluice/core'
import { modelsOf } from '@sluice/core/internal/limiter'
import { bindingPolicy, costBy, outcomeOf } from './decision-facts.ts'
import { LABELS, SPAN } from './names.ts'

/** Returns the attributes of the span of one decision. Those that are `undefined` are left out. */
export function decisionAttributes(
  decision: Decision,
  subject: Subject,
  reservation: string | undefined,
): Attributes {
  const { policies, source, degraded, plan, reason, delayMs, retryAfterMs, tried } = decision
  const binding = bindingPolicy(decision)
  const [asked = subject.model, used] = modelsOf(decision, subject)
  const shadows = policies.filter(({ fits, enforced }) => !fits && !enforced)
  return {
    [LABELS.outcome]: outcomeOf(decision),
    [LABELS.policy]: binding?.name,
    [LABELS.route]: subject.route,
    [LABELS.plan]: plan,
    [LABELS.model]: asked,
    [LABELS.response]: used,
    [SPAN.passedOver]: tried?.flatMap(({ violated }) => violated?.name ?? []),
    [SPAN.policies]: policies.map(({ name }) => name),
    [SPAN.limit]: binding?.limit,
    [SPAN.remaining]: binding?.remaining,
    ...prefixed(SPAN.cost, costBy(decision)),
    [SPAN.reason]: reason,
    [SPAN.delayMs]: delayMs > 0 ? delayMs : undefined,
    [SPAN.retryAfterMs]: decision.allowed ? undefined : (retryAfterMs ?? undefined),
    [LABELS.source]: source,
    [SPAN.degraded]: degraded !== undefined,
    [LABELS.degraded]: degraded?.mode,
    [LABELS.error]: degraded?.cause,
    [SPAN.shadow]: shadows.length > 0 ? shadows.map(({ name }) => name) : undefined,
    [SPAN.reservation]: reservation,
  }
}

/** Returns the numbers as attributes: `rate_limiter.cost.token`. */
export const prefixed = (prefix: string, units: Readonly<Record<string, number>>): Attributes =>
  Object.fromEntries(Object.entries(units).map(([unit, n]) => [`${prefix}.${unit}`, n]))
