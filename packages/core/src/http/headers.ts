import type { Decision, PolicyState } from '../decision.ts'
import { ConfigError } from '../errors.ts'
import { assertOneOf } from '../internal/validation.ts'

/**
 * A family of headers that tell a client where it stands:
 *
 * - `x-ratelimit`: `X-RateLimit-Limit`, `-Remaining`, `-Reset` (epoch seconds) and `-Scope` of the
 *   policy that bound, or that would bind first;
 * - `draft`: `RateLimit-Policy` of every policy, and `RateLimit` of every policy (on a denial, of
 *   those that deny), as in draft-ietf-httpapi-ratelimit-headers-11;
 * - `openai`: `x-ratelimit-limit-requests`, `-remaining-requests`, `-reset-requests` (a duration such
 *   as `6m0s`), and the same for `-tokens`, as OpenAI's API sends them.
 *
 * The limit shown of a bucket is its burst, the most that may remain. Policies that are not enforced
 * (shadows) are not told of.
 */
export type HeaderStyle = 'x-ratelimit' | 'draft' | 'openai'

/** The styles sent unless others are asked for. */
const DEFAULT_HEADERS: readonly HeaderStyle[] = ['x-ratelimit', 'draft']

/** From this wait on a client is told not to retry by itself. */
const LONG_WAIT_MS = 60_000

/**
 * The headers of a decision, for allowed and denied responses alike. Beside those of `styles`, a
 * denial has
 *
 * - `Retry-After` (whole seconds, rounded up; RFC 9110, section 10.2.3), absent when the cost can
 *   never fit;
 * - for waits under a minute `retry-after-ms`, for longer ones and for never `x-should-retry: false`:
 *   the OpenAI and Anthropic clients read both.
 *
 * A decision made blindly (`degraded` with mode `allow` or `deny`), or whose policies were all skipped,
 * has no policies to tell of.
 *
 * @param styles Which headers to send; none for an empty list, and not even the retry headers for
 * `false`. @default ['x-ratelimit', 'draft']
 * @example
 * const decision = await limiter.check(subject)
 * if (!decision.allowed) return tooManyRequests(decision)
 * return Response.json(answer, { headers: rateLimitHeaders(decision) })
 */
export function rateLimitHeaders(
  decision: Decision,
  styles: readonly HeaderStyle[] | false = DEFAULT_HEADERS,
): Record<string, string> {
  if (styles === false) return {}
  const headers: Record<string, string> = {}
  const told = enforcedOf(decision)
  if (told.length > 0) {
    for (const style of styles) Object.assign(headers, STYLES[style](decision, told))
  }
  return decision.allowed ? headers : { ...headers, ...retryHeaders(decision.retryAfterMs) }
}

/** The policies that a client is told of: what a shadow would do is for its owner only. */
export function enforcedOf({ policies }: Decision): readonly PolicyState[] {
  return policies.filter(({ enforced }) => enforced)
}

type Style = (decision: Decision, told: readonly PolicyState[]) => Record<string, string>

const STYLES: Readonly<Record<HeaderStyle, Style>> = {
  'x-ratelimit': xRateLimitHeaders,
  draft: draftHeaders,
  openai: openAiHeaders,
}

const STYLE_NAMES = Object.keys(STYLES) as HeaderStyle[]

/** Returns `styles` if they are known, `false` or left out; else throws. */
export function validStyles(
  option: string,
  styles: readonly HeaderStyle[] | false | undefined,
): readonly HeaderStyle[] | false | undefined {
  if (styles === undefined || styles === false) return styles
  if (Array.isArray(styles))
    return styles.map((style) => assertOneOf(`${option}[]`, style, STYLE_NAMES))
  throw new ConfigError('invalid_option', option, 'must be a list of styles, or false for none')
}

function xRateLimitHeaders(
  decision: Decision,
  told: readonly PolicyState[],
): Record<string, string> {
  const shown = decision.violated ?? nextToBind(told)
  if (shown === undefined) return {}
  const resetMs = (decision.allowed ? undefined : decision.retryAfterMs) ?? shown.resetMs
  return {
    'X-RateLimit-Limit': String(shown.burst),
    'X-RateLimit-Remaining': String(shown.remaining),
    'X-RateLimit-Reset': String(Math.ceil((decision.at + resetMs) / 1000)),
    'X-RateLimit-Scope': shown.scope,
  }
}

function draftHeaders({ allowed }: Decision, told: readonly PolicyState[]): Record<string, string> {
  // The draft wants Retry-After no earlier than any `t` beside it; a quota that does not deny may
  // well reset later.
  const states = allowed ? told : told.filter(({ fits }) => !fits)
  return {
    'RateLimit-Policy': told.map(policyItem).join(', '),
    RateLimit: states.map(stateItem).join(', '),
  }
}

function openAiHeaders(_: Decision, told: readonly PolicyState[]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const unit of ['request', 'token']) {
    const shown = nextToBind(told.filter((policy) => policy.unit === unit))
    if (shown === undefined) continue
    headers[`x-ratelimit-limit-${unit}s`] = String(shown.burst)
    headers[`x-ratelimit-remaining-${unit}s`] = String(shown.remaining)
    headers[`x-ratelimit-reset-${unit}s`] = duration(shown.resetMs)
  }
  return headers
}

function retryHeaders(retryAfterMs: number | null): Record<string, string> {
  if (retryAfterMs === null) return { 'x-should-retry': 'false' }
  const headers = { 'Retry-After': String(retryAfterSeconds(retryAfterMs)) }
  return retryAfterMs < LONG_WAIT_MS
    ? { ...headers, 'retry-after-ms': String(retryAfterMs) }
    : { ...headers, 'x-should-retry': 'false' }
}

/** A wait in whole seconds, rounded up, at least 1. */
export function retryAfterSeconds(retryAfterMs: number): number {
  return Math.max(1, Math.ceil(retryAfterMs / 1000))
}

/** The policy that allows the fewest more requests like this one. */
function nextToBind(policies: readonly PolicyState[]): PolicyState | undefined {
  let next: PolicyState | undefined
  let fewest = Infinity
  for (const policy of policies) {
    const more = policy.remaining / Math.max(1, policy.cost)
    if (more < fewest) [next, fewest] = [policy, more]
  }
  return next
}

function policyItem({ name, limit, burst: q, windowMs, unit }: PolicyState): string {
  // A bucket's burst, in the time that it takes to fill: the same rate, and a quota that covers what
  // may remain of it. Nothing never fills.
  const fillMs = limit === 0 ? windowMs : (windowMs * q) / limit
  const w = Math.max(1, Math.ceil(fillMs / 1000))
  // `qu` is for registered units only, and absent it means requests.
  if (unit === 'call') return sfItem(name, { q, qu: 'concurrent-requests' })
  return sfItem(name, unit === 'request' ? { q, w } : { q, w, 'sluice-unit': unit })
}

// A queue that is too long for a bounded wait is shorter before any of it comes back, and `Retry-After`
// must not point earlier than `t`.
function stateItem({ name, remaining, resetMs, retryAfterMs, fits }: PolicyState): string {
  const ms = fits ? resetMs : Math.min(resetMs, retryAfterMs ?? resetMs)
  return sfItem(name, { r: remaining, t: Math.ceil(ms / 1000) })
}

/** `250ms`, `12s`, `6m0s`, `11h58m3s`. */
function duration(ms: number): string {
  if (ms < 1000) return `${ms}ms`
  const seconds = Math.ceil(ms / 1000)
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
  return `${h > 0 ? `${h}h` : ''}${h > 0 || m > 0 ? `${m}m` : ''}${s}s`
}

// The few structured fields (RFC 9651) that the RateLimit headers are made of.

/** An sf-string. @throws RangeError When the text has a character outside printable ASCII. */
function sfString(text: string): string {
  if (!/^[\x20-\x7e]*$/.test(text)) throw new RangeError('A structured string is printable ASCII')
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

/** One member of an sf-list: a string with integer, string or no parameters. */
function sfItem(name: string, parameters: Readonly<Record<string, number | string>>): string {
  let item = sfString(name)
  for (const [key, value] of Object.entries(parameters)) {
    item += `;${key}=${typeof value === 'number' ? sfInteger(value) : sfString(value)}`
  }
  return item
}

/** An sf-integer, held inside the range that RFC 9651 gives it (15 digits). */
function sfInteger(value: number): string {
  return String(Math.max(-999_999_999_999_999, Math.min(999_999_999_999_999, Math.round(value))))
}

/** The response header that lists what a script of another origin may read. */
const EXPOSE = 'Access-Control-Expose-Headers'

/** Lets a script of another origin read the headers. That it may read at all is for others to say. */
export function exposed(
  headers: Readonly<Record<string, string>>,
  request: Request,
): Readonly<Record<string, string>> {
  const names = Object.keys(headers)
  const crossOrigin = request.headers.has('origin') && names.length > 0
  return crossOrigin ? { ...headers, [EXPOSE]: names.join(', ') } : headers
}

/**
 * The response with headers added; a copy, because those of a fetched response cannot be changed.
 *
 * @example
 * return withHeaders(await fetch(upstream), rateLimitHeaders(decision))
 */
export function withHeaders(
  response: Response,
  headers: Readonly<Record<string, string>>,
): Response {
  // A 101 carries a WebSocket, and a copy of it would lose that; of a network error there is none.
  if (response.status === 101 || response.status === 0) return response
  const copy = new Response(response.body, response)
  for (const [name, value] of Object.entries(headers)) {
    if (name === EXPOSE) copy.headers.append(name, value)
    else copy.headers.set(name, value)
  }
  return copy
}
