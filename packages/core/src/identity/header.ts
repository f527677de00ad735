import type { ResolvedSubject } from '../http/subject-resolver.ts'
import type { Subject } from '../subject.ts'
import { ConfigError } from '../errors.ts'
import { refuse } from '../http/refusal.ts'
import { assertKnownOptions } from '../internal/validation.ts'
import { dimensionName, headerName } from './names.ts'

/** Options of `headerSubject`. */
export interface HeaderSubjectOptions {
  /** The request header that holds the id, such as `X-Project-ID`. */
  readonly header: string
  /** The dimension it is the value of, such as `project`. */
  readonly dimension: string
}

/**
 * Takes a dimension from a request header. A request without it is answered with 400: a missing id is
 * no free pass. Anyone can send any id, so use it only behind something that checks it, or together
 * with a resolver that proves who is asking.
 *
 * @throws ConfigError When an option is unknown or malformed.
 * @example
 * headerSubject({ header: 'X-Project-ID', dimension: 'project' })
 */
export function headerSubject(
  options: HeaderSubjectOptions,
): (request: Request) => ResolvedSubject {
  assertKnownOptions('headerSubject', options, ['header', 'dimension'])
  const header = headerName('headerSubject.header', options.header)
  const dimension = dimensionName('headerSubject.dimension', options.dimension)
  return (request) => {
    const value = request.headers.get(header)?.trim()
    if (value) return { [dimension]: value }
    return refuse({ status: 400, code: 'missing_header', message: `${header} is required.` })
  }
}

/** Options of `apiKeySubject`. */
export interface ApiKeySubjectOptions {
  /** The request header that holds the key; of `Authorization`, what follows `Bearer`. @default 'Authorization' */
  readonly header?: string
  /** Finds out whose key it is; `null` or `undefined` for a key that is nobody's. */
  readonly lookup: (key: string) => Subject | null | undefined | Promise<Subject | null | undefined>
}

/** No API key is longer; a longer one is nobody's. */
const MAX_KEY_LENGTH = 512

/**
 * Takes the subject from an API key. The key itself never becomes part of a subject.
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
  const header = headerName('apiKeySubject.header', options.header ?? 'Authorization')
  if (typeof lookup !== 'function') {
    throw new ConfigError('invalid_option', 'apiKeySubject.lookup', 'must be a function of the key')
  }
  return async (request) => {
    const key = credential(request, header)
    return key !== undefined && key.length <= MAX_KEY_LENGTH ? lookup(key) : null
  }
}

/** What a credential header holds; of `Authorization`, only what follows `Bearer`. */
export function credential(request: Request, header: string): string | undefined {
  const value = request.headers.get(header)?.trim()
  if (header.toLowerCase() !== 'authorization') return value || undefined
  return /^Bearer +(\S+)$/i.exec(value ?? '')?.[1]
}
