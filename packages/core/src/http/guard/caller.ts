import type { DeniedDecision } from '../../decision.ts'
import type { Subject } from '../../subject.ts'
import type { Refusal } from '../answers/refusal.ts'

/** The sender of a request, whose credentials are right. */
interface Caller {
  readonly allowed: true
  readonly subject: Subject & { readonly route: string }
  /** Ends when the charge of a guess has been given back. Await it before the response. */
  readonly refund?: Promise<unknown> | undefined
}

/** The sender of a request, a refusal if there is none, or a denial if there were too many guesses. */
export type CallerOrDenial = Caller | Refusal | DeniedDecision
