import type { Subject } from '../../subject.ts'
import type { Refusal } from '../answers/refusal.ts'

/**
 * Finds the subject of a request. Returns `undefined` or `null` for a request without credentials, or
 * a `Refusal` to turn the request away with a status of its own. `PlatformRequest` is the platform's own
 * kind of request, such as `NextRequest`.
 */
export type SubjectResolver<
  Context extends unknown[] = [],
  PlatformRequest extends Request = Request,
> = (request: PlatformRequest, ...context: Context) => ResolvedSubject | Promise<ResolvedSubject>

/** The result of a subject resolver. */
export type ResolvedSubject = Subject | Refusal | null | undefined
