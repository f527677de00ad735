import type { Subject } from '../subject.ts'
import type { Refusal } from './refusal.ts'

/**
 * Finds out whose request it is; `undefined` or `null` when it is nobody's, a `Refusal` to turn it
 * away with a status of its own.
 */
export type SubjectResolver<Context extends unknown[] = []> = (
  request: Request,
  ...context: Context
) => ResolvedSubject | Promise<ResolvedSubject>

/** What a subject resolver may return. */
export type ResolvedSubject = Subject | Refusal | null | undefined
