import type { AllowedDecision, DeniedDecision } from '../decision.ts'
import type { Limiter, PlanName } from '../limiter/limiter.ts'
import type { Subject } from '../subject.ts'
import type { FitRange } from './fit.ts'
import type { Granted, ReserveOptions } from './reserve.ts'
import { parseCall } from '../limiter/call.ts'
import { decide } from '../limiter/decide.ts'
import { runtimeOf } from '../limiter/runtime.ts'
import { grantedOf, withFit } from './fit-call.ts'
import { limitedToShare } from './max-share.ts'

/**
 * Decides as `reserve` with a `fit` would now, and charges nothing: `granted` is the quantity that there is
 * room for.
 *
 * @throws InputError As `limiter.check` does.
 * @throws ConfigError When `maxShare` is not a number above 0, up to 1.
 * @example
 * const { granted = 0 } = await peekFit(limiter, { tenant: 'acme' }, { fit })
 */
export async function peekFit<
  Dimension extends string,
  Unit extends string,
  Plan extends string,
  const Literal extends string,
>(
  limiter: Limiter<Dimension, Unit, Plan>,
  subject: Subject<NoInfer<Dimension>, PlanName<Literal, NoInfer<Plan>>>,
  options: Pick<ReserveOptions<NoInfer<Unit>>, 'cost' | 'maxShare'> & {
    readonly fit: FitRange<NoInfer<Unit>>
  },
): Promise<
  (AllowedDecision & Granted<FitRange>) | (DeniedDecision & { readonly granted?: never })
> {
  const runtime = limitedToShare(runtimeOf(limiter), options.maxShare)
  const parsed = parseCall(subject, options, false, ['cost', 'fit', 'maxShare'])
  const call = withFit(parsed, options.fit, runtime)
  const outcome = await decide(runtime, call)
  const { decision } = outcome
  if (!decision.allowed) return decision
  return { ...decision, granted: 0, ...grantedOf(outcome) }
}
