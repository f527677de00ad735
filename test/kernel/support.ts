import {
  createLimiter,
  defineExtension,
  definePlans,
  fixedWindow,
  listen,
  manualClock,
  type ExtensionHooks,
  type ExtensionContext,
  type Limiter,
  type LimiterOptions,
  type Problem,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'

export const ACME = { tenant: 'acme' }

export const plans = definePlans({ starter: { rpm: 2 }, growth: { rpm: 5 } })

export const rpm = fixedWindow({
  name: 'rpm',
  limit: ({ plan }) => plan['rpm'],
  window: '1h',
  per: ['tenant'],
})

/** A limiter that an extension has joined, and the problems that it tells. */
export function joined(
  connect: (context: ExtensionContext) => ExtensionHooks,
  options: Partial<LimiterOptions> = {},
): { limiter: Limiter; problems: Problem[] } {
  const problems: Problem[] = []
  const limiter = createLimiter({
    store: memory(),
    clock: manualClock(Date.UTC(2026, 0, 15, 12)),
    plans,
    policies: [rpm],
    ...options,
    extensions: [
      defineExtension({ name: 'own', connect }),
      listen({ problem: (problem) => void problems.push(problem) }),
      ...(options.extensions ?? []),
    ],
  })
  return { limiter, problems }
}
