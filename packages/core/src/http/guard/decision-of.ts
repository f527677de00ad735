import type { AllowedDecision } from '../../decision.ts'
import { headersFor } from '../headers/add-headers.ts'
import type { HeaderStyle } from '../headers/headers.ts'

const decisions = new WeakMap<Request, AllowedDecision>()

/** Keeps the decision on a request for its handler. */
export function keepDecision(request: Request, decision: AllowedDecision): void {
  decisions.set(request, decision)
}

/**
 * Returns the decision on a request to its handler: what is left of the limits, and `degraded` if the store
 * failed. `undefined` if no adapter of this process has charged the request, because its route has no
 * limits, or because middleware has charged it.
 *
 * @param request The same object that the handler got, not a copy: `context.req.raw` in Hono.
 * @example
 * const isDegraded = decisionOf(request)?.degraded !== undefined
 */
export function decisionOf(request: Request): AllowedDecision | undefined {
  return decisions.get(request)
}

/** Keeps a decision that takes the place of an earlier one, and returns its headers. */
export function decideAnew(
  request: Request,
  decision: AllowedDecision,
  styles: readonly HeaderStyle[] | false | undefined,
): Readonly<Record<string, string>> {
  keepDecision(request, decision)
  return headersFor(request, decision, styles)
}
