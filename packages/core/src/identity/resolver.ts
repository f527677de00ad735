import type { ResolvedSubject, SubjectResolver } from '../http/guard.ts'
import { Refusal } from '../http/refusal.ts'

/**
 * The first of several resolvers that finds somebody, in order; the others are not asked.
 *
 * @example
 * firstOf(jwtSubject({ … }), apiKeySubject({ … }))
 */
export function firstOf<Context extends unknown[]>(
  ...resolvers: readonly SubjectResolver<Context>[]
): SubjectResolver<Context> {
  return async (request, ...context) => {
    for (const resolve of resolvers) {
      const found = await resolve(request, ...context)
      if (found) return found
    }
    return null
  }
}

/**
 * What several resolvers find, in one subject: each must find something, and the later ones win where
 * two name the same dimension.
 *
 * @example
 * allOf(jwtSubject({ … }), headerSubject({ header: 'X-Project-ID', dimension: 'project' }))
 */
export function allOf<Context extends unknown[]>(
  ...resolvers: readonly SubjectResolver<Context>[]
): SubjectResolver<Context> {
  return async (request, ...context): Promise<ResolvedSubject> => {
    const subject: Record<string, string | undefined> = {}
    for (const resolve of resolvers) {
      const found = await resolve(request, ...context)
      if (!found || found instanceof Refusal) return found
      Object.assign(subject, found)
    }
    return subject
  }
}
