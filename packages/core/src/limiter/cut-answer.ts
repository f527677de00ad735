import type { LimiterEvents } from './events.ts'
import { runtimeOf } from './runtime.ts'

/**
 * Emits `cutAnswer` if an answer has reached its maximum of output.
 *
 * @throws ConfigError When `createLimiter` did not create `limiter`.
 */
export function reportCut(limiter: object, event: LimiterEvents['cutAnswer']): void {
  if (event.usage.isCut) runtimeOf(limiter).events.cutAnswer?.(event)
}
