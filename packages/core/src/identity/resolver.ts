import type { ResolvedSubject, SubjectResolver } from '../http/subject-resolver.ts'
import type { Subject } from '../subject.ts'
import { ConfigError } from '../errors.ts'
import { Refusal } from '../http/refusal.ts'

/**
 * The first of several resolvers that finds somebody, in order; the others are not asked. A refusal
 * ends the search, too: whom one resolver turns away, the next must not let in.
 *
 * @throws ConfigError When there is no resolver, or something else among them.
 * @example
 * firstOf(jwtSubject({ … }), apiKeySubject({ … }))
 */
export function firstOf<Context extends unknown[]>(
  ...resolvers: readonly SubjectResolver<Context>[]
): SubjectResolver<Context> {
  assertResolvers('firstOf', resolvers)
  return async (request, ...context) => {
    for (const resolve of resolvers) {
      const found = await resolve(request, ...context)
      if (found) return found
    }
    return null
  }
}

/**
 * What several resolvers find, in one subject: each must find something, and the earlier ones win where
 * two name the same dimension, so that an id which a client merely claims replaces none that is proven
 * before it.
 *
 * @throws ConfigError When there is no resolver, or something else among them.
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
      const found = await resolve(request, ...context)
      if (!found || found instanceof Refusal) return found
      subjects.push(found)
    }
    return Object.assign({}, ...subjects.toReversed()) as Subject
  }
}

function assertResolvers(where: string, resolvers: readonly unknown[]): void {
  if (resolvers.length > 0 && resolvers.every((resolve) => typeof resolve === 'function')) return
  throw new ConfigError('invalid_option', where, 'takes at least one function of the request')
}
