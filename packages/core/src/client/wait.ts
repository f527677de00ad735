/**
 * Returns the wait that a response states, in milliseconds, or `undefined`. In this order: `retry-after-ms`;
 * `Retry-After` (seconds, or an HTTP date), which goes before `RateLimit` by the draft; the `t` of
 * `RateLimit`; `X-RateLimit-Reset`.
 *
 * @param now The time of the response, in epoch ms, if it has no `Date`.
 */
export function statedWaitMs(headers: Headers, now: number): number | undefined {
  // The server's own clock: a wrong one here must not shorten the wait until a date.
  const date = Date.parse(headers.get('date') ?? '')
  const at = Number.isNaN(date) ? now : date
  return (
    parseNumber(headers.get('retry-after-ms')) ??
    parseRetryAfter(headers.get('retry-after'), at) ??
    parseRateLimit(headers.get('ratelimit')) ??
    parseReset(headers.get('x-ratelimit-reset'), at)
  )
}

function parseNumber(text: string | null): number | undefined {
  return text !== null && /^\d+(\.\d+)?$/.test(text) ? Number(text) : undefined
}

function parseRetryAfter(text: string | null, at: number): number | undefined {
  const seconds = parseNumber(text)
  if (seconds !== undefined) return seconds * 1_000
  // `Date.parse` reads numbers such as -1 as dates, too. An HTTP date begins with the name of a day.
  const date = /^[A-Z]/i.test(text ?? '') ? Date.parse(text ?? '') : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - at)
}

/** Reads the longest `t` of the used up policies in `"rpm";r=0;t=12, "daily";r=9;t=3600`. */
function parseRateLimit(text: string | null): number | undefined {
  // The names may contain any separator.
  const items = (text ?? '').replaceAll(/"(?:[^"\\]|\\.)*"/g, '').split(',')
  const timed = items.filter((item) => /; *t=\d/.test(item))
  const spent = timed.filter((item) => /; *r=0(?!\d)/.test(item))
  const seconds = (spent.length > 0 ? spent : timed).map((item) =>
    Number(/; *t=(\d+)/.exec(item)?.[1]),
  )
  return seconds.length > 0 ? Math.max(...seconds) * 1_000 : undefined
}

/** Reads a number of seconds from now, or since 1970 as GitHub does, or milliseconds since 1970. */
function parseReset(text: string | null, at: number): number | undefined {
  const value = parseNumber(text)
  if (value === undefined) return undefined
  if (value < 1e9) return value * 1_000
  return Math.max(0, (value < 1e11 ? value * 1_000 : value) - at)
}
