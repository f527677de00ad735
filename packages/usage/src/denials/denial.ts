import type { DenialReason, DeniedDecision, PolicyState, Subject } from '@sluice/core'
import { choiceFacts, type ChoiceFacts } from '@sluice/core/internal/text'

/** The state of one policy when a request was denied. */
export type DeniedPolicy = Pick<
  PolicyState,
  | 'name'
  | 'unit'
  | 'limit'
  | 'burst'
  | 'windowMs'
  | 'remaining'
  | 'cost'
  | 'fits'
  | 'enforced'
  | 'retryAfterMs'
  | 'resetsAt'
> & {
  /** Kept only of credits, of which it says what is left. */
  readonly reason?: PolicyState['reason'] | undefined
}

/** A denial as it was recorded. */
export interface RecordedDenial {
  /** The id that the answer carried. */
  readonly id: string
  /** The time of the decision, in epoch ms. */
  readonly at: number
  /** The subject of the request, without its tenant. */
  readonly subject: Readonly<Record<string, string>>
  readonly plan?: string | undefined
  readonly reason: DenialReason
  /** Milliseconds until the cost would have fitted; `null` if it never could. */
  readonly retryAfterMs: number | null
  /** The policies that took part, in the limiter's order. Empty if the store failed. */
  readonly policies: readonly DeniedPolicy[]
  /** The first 8 choices, if it had any. All else is about the one that would have fitted soonest. */
  readonly tried?: readonly ChoiceFacts[]
}

/** The longest id, and the form of one that a request may bring. */
const OWN_ID = /^[\w.:/+=@-]{1,128}$/

/** Returns the id that a request brings in `X-Request-Id`, if it has one that can be kept. */
export function ownIdOf(request: Request): string | undefined {
  const id = request.headers.get('x-request-id')?.trim() ?? ''
  return OWN_ID.test(id) ? id : undefined
}

/** The most characters of a value of a subject. */
export const MAX_TEXT = 100

/** Returns what is kept of a denial. */
export function denialOf(
  decision: DeniedDecision,
  subject: Subject,
  by: string,
): Omit<RecordedDenial, 'id'> {
  const { at, plan, reason, retryAfterMs, policies, tried } = decision
  const dimensions = Object.entries(subject).flatMap(([name, value]) =>
    name === by || typeof value !== 'string' ? [] : [[name, value.slice(0, MAX_TEXT)]],
  )
  return {
    at,
    subject: Object.fromEntries(dimensions) as Record<string, string>,
    plan,
    reason,
    retryAfterMs,
    policies: policies.map((state) => ({
      name: state.name,
      unit: state.unit,
      limit: state.limit,
      burst: state.burst,
      windowMs: state.windowMs,
      remaining: state.remaining,
      cost: state.cost,
      fits: state.fits,
      enforced: state.enforced,
      retryAfterMs: state.retryAfterMs,
      resetsAt: state.resetsAt,
      reason: state.reason === 'credits_exhausted' ? state.reason : undefined,
    })),
    ...(tried && { tried: choiceFacts(tried) }),
  }
}
