import type { PolicyRule, Subject } from '@sluice/core'

/** The bounds of one algorithm, for calls whose times are known to a period only. */
export interface Meter {
  /** The bucket of a bucket. `undefined` for windows. */
  readonly bucket: { readonly windowMs: number; readonly quantumMs: number } | undefined
  /** The window of a grid that a time is in. `undefined` if windows slide. */
  readonly windowOf: ((at: number) => Span) | undefined
  /** Returns the time since which use may count at `at`. */
  since(at: number): number
  /** Returns the most units that it can allow within a span. */
  most(span: Span, limit: number, burst: number): number
  /** Returns the units in use, a call's own included, up to which it fits for sure. */
  capacity(limit: number, burst: number): number
}

/** A time from its start to just before its end, in epoch ms. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** Returns the bounds of a rule; `undefined` if its algorithm has none, so that it may deny or allow any call. */
export function meterOf(rule: PolicyRule): Meter | undefined {
  const { algorithm, params, calendar } = rule
  const [window = 1, second = 1, third = 0] = params
  switch (algorithm.id) {
    case 'fixed':
      return window === 0 ? gridMeter(monthOf) : gridMeter(gridOf(window))
    case 'calendar':
      // Where zones or starts differ between subjects, the ends of periods are not known.
      return calendar?.isFixed ? gridMeter(periodOf(rule)) : undefined
    case 'sliding':
    case 'log':
      return slidingMeter(window)
    case 'counter':
      return counterMeter(window, window / second)
    case 'token-bucket':
    case 'leaky-bucket':
      return bucketMeter(window, second, third)
    case 'session':
      // Without a length, charges may prolong a session for ever.
      return params.length > 1 ? sessionMeter(window, second) : undefined
    default:
      return undefined
  }
}

const gridMeter = (windowOf: (at: number) => Span): Meter => ({
  bucket: undefined,
  windowOf,
  since: (at) => windowOf(at).start,
  most({ start, end }, limit) {
    let windows = 0
    for (let at = start; at < end; at = windowOf(at).end) windows += 1
    return windows * limit
  },
  capacity: (limit) => limit,
})

const slidingMeter = (windowMs: number): Meter => ({
  bucket: undefined,
  windowOf: undefined,
  since: (at) => at - windowMs,
  most: ({ start, end }, limit) => Math.ceil((end - start) / windowMs) * limit,
  capacity: (limit) => limit,
})

const sessionMeter = (idleMs: number, lengthMs: number): Meter => ({
  bucket: undefined,
  windowOf: undefined,
  since: (at) => at - lengthMs,
  most({ start, end }, limit) {
    const shortestMs = Math.min(idleMs || lengthMs, lengthMs)
    // One more may have begun before the span.
    return (Math.ceil((end - start) / shortestMs) + 1) * limit
  },
  capacity: (limit) => limit,
})

const counterMeter = (windowMs: number, segmentMs: number): Meter => ({
  bucket: undefined,
  windowOf: undefined,
  // The oldest segment is only partly in the window.
  since: (at) => Math.floor(at / segmentMs) * segmentMs - windowMs,
  most({ start, end }, limit) {
    const first = Math.floor(start / segmentMs) * segmentMs
    return Math.ceil((end - first) / windowMs) * limit
  },
  capacity: (limit) => limit,
})

const bucketMeter = (windowMs: number, quantumMs: number, longestWait: number): Meter => ({
  bucket: { windowMs, quantumMs },
  windowOf: undefined,
  since: () => -Infinity,
  most: ({ start, end }, limit, burst) => burst + ((end - start + quantumMs) * limit) / windowMs,
  capacity: (limit, burst) =>
    longestWait === 0 ? burst : Math.min(burst, Math.floor((longestWait * limit) / windowMs)),
})

const gridOf =
  (windowMs: number) =>
  (at: number): Span => {
    const start = at - (at % windowMs)
    return { start, end: start + windowMs }
  }

const periodOf =
  ({ numbers }: PolicyRule) =>
  (now: number): Span => {
    const period = numbers?.of(
      { subject: NOBODY, limits: NO_LIMITS, now, holdMs: 0, report() {} },
      undefined,
    )
    const { since = now, finish = Infinity } = period as { since?: number; finish?: number }
    return { start: since, end: finish }
  }

const NOBODY = {} as Subject
const NO_LIMITS = { plan: {}, route: undefined, model: undefined }

function monthOf(at: number): Span {
  const date = new Date(at)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  return { start: Date.UTC(year, month), end: Date.UTC(year, month + 1) }
}
