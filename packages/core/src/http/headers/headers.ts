import type { Decision, PolicyState } from '../../decision.ts'
import { assertOneOf, invalidOption } from '../../internal/validation.ts'

/**
 * A family of headers that report the limits to a client:
 *
 * - `x-ratelimit`: `X-RateLimit-Limit`, `-Remaining`, `-Reset` (epoch seconds) and `-Scope` of the
 *   policy that denied, or that would deny first;
 * - `draft`: `RateLimit-Policy` of every policy, and `RateLimit` of every policy (on a denial, of
 *   those that deny), as in draft-ietf-httpapi-ratelimit-headers-11;
 * - `draft-6`: `RateLimit-Limit`, `-Remaining` and `-Reset` (seconds from now) of the same policy as `x-ratelimit`, as
 *   in draft-ietf-httpapi-ratelimit-headers-06, which Kong and express-rate-limit (`standardHeaders: true`) send;
 * - `openai`: `x-ratelimit-limit-requests`, `-remaining-requests`, `-reset-requests` (a duration such
 *   as `6m0s`), and the same for `-tokens`, as OpenAI's API sends them.
 *
 * The limit reported for a bucket is its burst, the most that can remain. Policies that are not enforced
 * (shadows) are not reported.
 */
export type HeaderStyle = 'x-ratelimit' | 'draft' | 'draft-6' | 'openai'

/** The wait from which on clients should not retry by themselves, in milliseconds. */
const LONG_WAIT_MS = 60_000

/**
 * Returns the headers of a decision, for allowed and denied responses. A denial also has
 *
 * - `Retry-After` (whole seconds, rounded up; RFC 9110, section 10.2.3), unless the cost can never fit;
 * - `retry-after-ms` for a wait under a minute, else `x-should-retry: false`. The OpenAI and Anthropic
 *   clients read both.
 *
 * There are no policies to report if the decision was made without the store (`degraded` with mode
 * `allow` or `deny`), or if all policies were skipped.
 *
 * @param styles The headers to send. An empty list sends only the retry headers, `false` none at all.
 * @default ['x-ratelimit', 'draft']
 * @param status That of the response: one that asks to pay (402) says nothing of waiting.
 * @example
 * const decision = await limiter.check(subject)
 * if (!decision.allowed) return tooManyRequests(decision)
 * return Response.json(answer, { headers: rateLimitHeaders(decision) })
 */
export function rateLimitHeaders(
  decision: Decision,
  styles: readonly HeaderStyle[] | false = ['x-ratelimit', 'draft'],
  status?: number,
): Record<string, string> {
  if (styles === false) return {}
  const headers: Record<string, string> = {}
  const policies = enforcedPolicies(decision)
  if (policies.length > 0) {
    for (const style of styles) Object.assign(headers, STYLES[style](decision, policies))
  }
  if (decision.allowed) return headers
  return { ...headers, ...retryHeaders(status === 402 ? null : decision.retryAfterMs) }
}

/** Returns the policies to report to a client, without shadows. */
export function enforcedPolicies({ policies }: Decision): readonly PolicyState[] {
  return policies.filter(({ enforced }) => enforced)
}

type Style = (decision: Decision, policies: readonly PolicyState[]) => Record<string, string>

const STYLES: Readonly<Record<HeaderStyle, Style>> = {
  'x-ratelimit': (decision, policies) =>
    countHeaders('X-RateLimit', decision, policies, decision.at),
  draft: draftHeaders,
  'draft-6': (decision, policies) => countHeaders('RateLimit', decision, policies),
  openai: openAiHeaders,
}

const STYLE_NAMES = Object.keys(STYLES) as HeaderStyle[]

/** A rule that allows lists of known styles, and `false`. */
export function assertHeaderStyles(option: string, styles: unknown): void {
  if (styles === false) return
  if (!Array.isArray(styles)) {
    throw invalidOption(option, 'must be a list of styles, or false for none', styles)
  }
  for (const style of styles) assertOneOf(`${option}[]`, style, STYLE_NAMES)
}

/**
 * Returns the headers of the policy that denied, or that would deny first.
 *
 * @param at The time of the decision, for a reset in epoch seconds. Without it, the reset is seconds from now.
 */
function countHeaders(
  name: string,
  { violated, retryAfterMs }: Decision,
  policies: readonly PolicyState[],
  at?: number,
): Record<string, string> {
  const policy = (violated ?? tightestPolicy(policies)) as PolicyState
  // The wait of an allowed decision is 0.
  const reset = Math.ceil(((at ?? 0) + (retryAfterMs || policy.resetMs)) / 1000)
  return {
    [`${name}-Limit`]: String(policy.burst),
    [`${name}-Remaining`]: String(policy.remaining),
    // A balance may have no window.
    ...((policy.windowMs || retryAfterMs) && { [`${name}-Reset`]: String(reset) }),
    ...(at !== undefined && { [`${name}-Scope`]: policy.scope }),
  }
}

function draftHeaders(
  { allowed }: Decision,
  policies: readonly PolicyState[],
): Record<string, string> {
  // In the draft, Retry-After must not be earlier than any `t` beside it. A policy that does not deny
  // may reset later, so a denial leaves it out.
  const states = allowed ? policies : policies.filter(({ fits }) => !fits)
  return {
    'RateLimit-Policy': policies.map(policyItem).join(', '),
    RateLimit: states.map(stateItem).join(', '),
  }
}

function openAiHeaders(_: Decision, policies: readonly PolicyState[]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const unit of ['request', 'token']) {
    const policy = tightestPolicy(policies.filter((each) => each.unit === unit))
    if (policy === undefined) continue
    headers[`x-ratelimit-limit-${unit}s`] = String(policy.burst)
    headers[`x-ratelimit-remaining-${unit}s`] = String(policy.remaining)
    headers[`x-ratelimit-reset-${unit}s`] = duration(policy.resetMs)
  }
  return headers
}

function retryHeaders(retryAfterMs: number | null): Record<string, string> {
  return {
    ...(retryAfterMs !== null && { 'Retry-After': String(wholeSeconds(retryAfterMs)) }),
    ...(retryAfterMs !== null && retryAfterMs < LONG_WAIT_MS
      ? { 'retry-after-ms': String(retryAfterMs) }
      : { 'x-should-retry': 'false' }),
  }
}

/** Converts milliseconds to whole seconds, rounded up, at least 1. */
export function wholeSeconds(retryAfterMs: number): number {
  return Math.max(1, Math.ceil(retryAfterMs / 1000))
}

/** Returns the policy that allows the fewest more requests like this one. */
function tightestPolicy(policies: readonly PolicyState[]): PolicyState | undefined {
  let tightest: PolicyState | undefined
  let fewest = Infinity
  for (const policy of policies) {
    const requests = policy.remaining / Math.max(1, policy.cost)
    if (requests < fewest) [tightest, fewest] = [policy, requests]
  }
  return tightest
}

function policyItem({ name, limit, burst: q, windowMs, unit }: PolicyState): string {
  // For a bucket, the burst and the time in which it fills: the same rate, and a quota that `r` cannot
  // exceed. A limit of 0 never fills it.
  const fillMs = limit === 0 ? windowMs : (windowMs * q) / limit
  // A balance may have no window.
  const w = windowMs && { w: wholeSeconds(fillMs) }
  // `qu` takes registered units only; without it, the unit is requests.
  if (unit === 'call') return sfItem(name, { q, qu: 'concurrent-requests' })
  return sfItem(name, unit === 'request' ? { q, ...w } : { q, ...w, 'sluice-unit': unit })
}

// A leaky bucket with a bounded wait may accept requests before any unit comes back, and `Retry-After`
// must not be earlier than `t`.
function stateItem({ name, remaining, resetMs, retryAfterMs, windowMs }: PolicyState): string {
  const ms = Math.min(resetMs, retryAfterMs || resetMs)
  return sfItem(name, { r: remaining, ...(windowMs && { t: Math.ceil(ms / 1000) }) })
}

/** Writes a duration: `250ms`, `12s`, `6m0s`, `11h58m3s`. */
function duration(ms: number): string {
  if (ms < 1000) return `${ms}ms`
  const seconds = Math.ceil(ms / 1000)
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
  return `${h ? `${h}h` : ''}${h + m ? `${m}m` : ''}${s}s`
}

/**
 * Writes a member of an sf-list (RFC 9651), of which the RateLimit headers consist: a string with integer, string or no
 * parameters.
 */
function sfItem(name: string, parameters: Readonly<Record<string, number | string>>): string {
  // In ASCII, a text of JSON is an sf-string.
  let item = JSON.stringify(name)
  for (const [key, value] of Object.entries(parameters)) {
    // An sf-integer has up to 15 digits.
    const text =
      typeof value === 'number' ? Math.min(MAX_INTEGER, Math.round(value)) : JSON.stringify(value)
    item += `;${key}=${text}`
  }
  return item
}

const MAX_INTEGER = 999_999_999_999_999
