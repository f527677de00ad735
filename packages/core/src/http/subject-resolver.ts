import type { Subject } from '../subject.ts'
import type { Refusal } from './refusal.ts'

/**
 * Finds the subject of a request. Returns `undefined` or `null` for a request without credentials, or
 * a `Refusal` to turn the request away with a status of its own.
 */
export type SubjectResolver<Context extends unknown[] = []> = (
  request: Request,
  ...context: Context
) => ResolvedSubject | Promise<ResolvedSubject>

/** The result of a subject resolver. */
export type ResolvedSubject = Subject | Refusal | null | undefined
