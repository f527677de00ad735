import type { AllowedDecision, Subject } from '@sluice/core'
import { requestIdOf } from './request-id.ts'

/** The facts of one request, gathered while it is served. They hold nothing of its content. */
export interface CallNotes {
  /** The id of the request. */
  readonly id: string
  readonly startedAt: number
  /** The address, if it is one of the gateway's. */
  address?: string
  subject?: Subject
  /** The name that the client gave a list of models. */
  asked?: string
  model?: string
  /** The models of the list that this call cannot go to, each with the reason. */
  skipped?: readonly string[]
  provider?: string
  /** The time at which it was sent to the first provider. */
  sentAt?: number
  /** The id that the provider gave its answer. */
  upstreamId?: string | undefined
  outcome?: CallOutcome | undefined
  /** True while an answer passes, whose usage is not known yet. */
  isRunning?: boolean
  /** The units that were reserved for the call. */
  reserved?: Units | undefined
  /** The units that stay charged, once they are known. */
  charged?: Units | undefined
  /** The answer instead of that of the handler, which keeps the charge if the call throws. */
  answer?: Response
}

/** The end of a call. */
type CallOutcome =
  /** The provider answered, and its usage is settled. */
  | 'answered'
  /** The answer broke off, or its usage is unknown: the setting `INCOMPLETE` decides on its charge. */
  | 'incomplete'
  /** The provider answered with an error. */
  | 'error'
  | 'unreachable'
  | 'timed_out'
  | 'paused'
  /** The client went away before there was an answer: the estimate stays. */
  | 'client_gone'
  /** The gateway refused the request. */
  | 'refused'

/** Amounts by unit; dollars are micro-dollars. */
export type Units = Readonly<Record<string, number>>

/** The notes of a call go along with its subject, under a key that no policy and no store sees. */
const NOTES = Symbol('notes')

export const withNotes = (subject: Subject, notes: CallNotes): Subject =>
  Object.assign({ ...subject }, { [NOTES]: notes })

export const notesOf = (subject: Subject): CallNotes | undefined =>
  (subject as { readonly [NOTES]?: CallNotes })[NOTES]

/** Returns the most tokens and dollars that a policy has reserved. */
export function reservedBy({ policies }: AllowedDecision): Units {
  const most = (unit: string): number =>
    Math.max(0, ...policies.filter((policy) => policy.unit === unit).map(({ cost }) => cost))
  return { token: most('token'), usd: most('usd') }
}

export const startNotes = (request: Request): CallNotes => ({
  id: requestIdOf(request),
  startedAt: Date.now(),
})
