import type { ResolvedSubject, SubjectResolver } from '../http/guard/subject-resolver.ts'
import type { Subject } from '../subject.ts'
import { invalidOption } from '../internal/validation.ts'
import { Refusal } from '../http/answers/refusal.ts'

/**
 * Combines resolvers: they are called in order until one finds a subject. A
 * refusal ends the search, too, so that a later resolver cannot let the request in.
 *
 * @throws ConfigError Unless there is at least one resolver, and all are functions.
 * @example
 * firstOf(jwtSubject({ … }), apiKeySubject({ … }))
 */
export function firstOf<Context extends unknown[]>(
  ...resolvers: readonly SubjectResolver<Context>[]
): SubjectResolver<Context> {
  assertResolvers('firstOf', resolvers)
  return async (request, ...context) => {
    for (const resolve of resolvers) {
      const resolved = await resolve(request, ...context)
      if (resolved) return resolved
    }
    return null
  }
}

/**
 * Combines resolvers: merges their results into one subject. Each must find one. If two have the same
 * dimension, the earlier one wins: put the resolver that verifies credentials first, so that an
 * unverified id cannot replace a verified one.
 *
 * @throws ConfigError Unless there is at least one resolver, and all are functions.
 * @example
 * allOf(jwtSubject({ … }), headerSubject({ header: 'X-Project-ID', dimension: 'project' }))
 */
export function allOf<Context extends unknown[]>(
  ...resolvers: readonly SubjectResolver<Context>[]
): SubjectResolver<Context> {
  assertResolvers('allOf', resolvers)
  return async (request, ...context): Promise<ResolvedSubject> => {
    const subjects: Subject[] = []
    for (const resolve of resolvers) {
      const resolved = await resolve(request, ...context)
      if (!resolved || resolved instanceof Refusal) return resolved
      subjects.push(resolved)
    }
    return Object.assign({}, ...subjects.toReversed()) as Subject
  }
}

function assertResolvers(option: string, resolvers: readonly unknown[]): void {
  if (resolvers.length > 0 && resolvers.every((resolve) => typeof resolve === 'function')) return
  throw invalidOption(option, 'must have at least one resolver, and each must be a function')
}
