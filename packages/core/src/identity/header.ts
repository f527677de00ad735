import type { ResolvedSubject } from '../http/guard/subject-resolver.ts'
import { refuse } from '../http/answers/refusal.ts'
import { assertFunction, assertKnownOptions } from '../internal/validation.ts'
import { assertDimensionName, assertHeaderName } from './names.ts'

/** Options of `headerSubject`. */
export interface HeaderSubjectOptions {
  /** The request header that holds the id, such as `X-Project-ID`. */
  readonly header: string
  /** The dimension that gets its value, such as `project`. */
  readonly dimension: string
}

/**
 * Creates a resolver of a dimension from a request header. A request without the header is answered with
 * 400. Anyone can send any id: use it only behind something that checks it, or together with a resolver
 * that verifies credentials (`allOf`).
 *
 * @throws ConfigError When an option is unknown or malformed.
 * @example
 * headerSubject({ header: 'X-Project-ID', dimension: 'project' })
 */
export function headerSubject(
  options: HeaderSubjectOptions,
): (request: Request) => ResolvedSubject {
  assertKnownOptions('headerSubject', options, ['header', 'dimension'])
  const header = assertHeaderName('headerSubject.header', options.header)
  const dimension = assertDimensionName('headerSubject.dimension', options.dimension)
  return (request) => {
    const value = request.headers.get(header)?.trim()
    if (value) return { [dimension]: value }
    return refuse({ status: 400, code: 'missing_header', message: `${header} is required.` })
  }
}

/** Options of `apiKeySubject`. */
export interface ApiKeySubjectOptions {
  /** The request header that holds the key; in `Authorization`, the part after `Bearer`. @default 'Authorization' */
  readonly header?: string
  /** Finds the subject of a key; `null` or `undefined` for an unknown key, `refuse(…)` if nobody can tell. */
  readonly lookup: (key: string) => ResolvedSubject | Promise<ResolvedSubject>
}

/** The longest key that is looked up; a longer one is unknown. */
const MAX_KEY_LENGTH = 512

/**
 * Creates a resolver that looks up the subject of an API key. The key itself is not part of the subject.
 *
 * @throws ConfigError When an option is unknown or malformed.
 * @example
 * apiKeySubject({ header: 'X-API-Key', lookup: (key) => tenantsByKeyHash.get(hash(key)) })
 */
export function apiKeySubject(
  options: ApiKeySubjectOptions,
): (request: Request) => Promise<ResolvedSubject> {
  assertKnownOptions('apiKeySubject', options, ['header', 'lookup'])
  const { lookup } = options
  const header = assertHeaderName('apiKeySubject.header', options.header ?? 'Authorization')
  assertFunction('apiKeySubject.lookup', lookup)
  return async (request) => {
    const key = readCredential(request, header)
    return key !== undefined && key.length <= MAX_KEY_LENGTH ? lookup(key) : null
  }
}

/** Reads a credential from a header; in `Authorization`, the part after `Bearer`. */
export function readCredential(request: Request, header: string): string | undefined {
  const value = request.headers.get(header)?.trim()
  if (header.toLowerCase() !== 'authorization') return value || undefined
  return /^Bearer +(\S+)$/i.exec(value ?? '')?.[1]
}
