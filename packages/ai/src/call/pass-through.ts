/* The requests that are sent without a charge: those that cost nothing, and those that an option names. */
import { invalidOption } from '@sluice/core/internal'

/** A request that is no model call with a price. */
export interface UnpricedRequest {
  /** In upper case. */
  readonly method: string
  readonly url: URL
}

/** The requests that may pass without a charge: methods and paths, or a function that returns true for them. */
export type PassThrough =
  readonly string[] | ((request: UnpricedRequest) => boolean | Promise<boolean>)

/**
 * Addresses that a vendor calls free: counting tokens (https://platform.claude.com/docs/en/build-with-claude/token-counting)
 * and OpenAI's moderation (https://developers.openai.com/api/docs/guides/moderation), which others charge for.
 */
const FREE = /\/v1\/messages\/count_tokens$|^https:\/\/api\.openai\.com\/v1\/moderations$/

/** An optional method, and a path. */
const PATTERN = /^(?:([A-Z]+) )?(\/\S*)$/

/**
 * Compiles the option `passThrough` to a function that returns true for a request that may be sent.
 *
 * @throws ConfigError When a pattern is malformed.
 */
export function compilePassThrough(
  passThrough: PassThrough = [],
): (request: UnpricedRequest, headers: Headers) => Promise<boolean> {
  const matches = matcherOf(passThrough)
  return async (request, headers) => {
    const { method, url } = request
    // Providers offer WebSockets, by a GET, and bill what is asked for there.
    if (/^(GET|HEAD)$/.test(method) && !headers.has('upgrade')) return true
    if (method === 'POST' && FREE.test(url.origin + url.pathname)) return true
    // A function in JavaScript may return anything.
    const isNamed: unknown = await matches(request)
    return isNamed === true
  }
}

function matcherOf(passThrough: PassThrough): Exclude<PassThrough, readonly string[]> {
  if (typeof passThrough === 'function') return passThrough
  const message = 'must be a list, such as ["POST /v1/files", "/oauth/token"], or a function'
  if (!Array.isArray(passThrough)) {
    throw invalidOption('limitedFetch.passThrough', message, passThrough)
  }
  const patterns = passThrough.map(patternOf)
  return (request) => patterns.some((matches) => matches(request))
}

function patternOf(pattern: unknown, index: number): (request: UnpricedRequest) => boolean {
  const [, method, path = ''] = (typeof pattern === 'string' && PATTERN.exec(pattern)) || []
  if (path === '') {
    const message = 'must be a path, or a method and a path, such as "POST /v1/files"'
    const option = `limitedFetch.passThrough[${index}]`
    throw invalidOption(option, message, pattern)
  }
  const source = path.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*')
  const matching = new RegExp(`^${source}$`)
  return (request) =>
    (method === undefined || method === request.method) && matching.test(request.url.pathname)
}
