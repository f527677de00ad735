import {
  dailyCap,
  fixedWindow,
  leakyBucket,
  monthlyCap,
  rollout,
  sessionWindow,
  slidingWindow,
  slidingWindowCounter,
  slidingWindows,
  tokenBucket,
  type Per,
  type Policy,
} from '@sluice/core'
import * as fc from 'fast-check'
import { calendarPolicy, calendars, type CalendarOf } from './calendar.ts'

const KINDS = [
  'sliding',
  'fixed',
  'daily',
  'monthly',
  'calendar',
  'session',
  'counter',
  'token',
  'interval',
  'leaky',
] as const

/** A policy as plain data, which the oracle reads in its own way. */
export interface Rule {
  readonly kind: (typeof KINDS)[number]
  readonly limit: number
  /** Of a session: its idle time, or else its length. */
  readonly windowMs: number
  /** The end of a session: a pause, a length from its first charge, or the first of both. */
  readonly ends?: 'idle' | 'length' | 'both'
  readonly per: Per
  readonly unit: string
  /** False for a rule in shadow mode, which never denies. */
  readonly enforced: boolean
  /** The only route that it is for. */
  readonly route: string | undefined
  /** Of a bucket: the most that it holds. */
  readonly burst: number
  /** Of a counter: the parts of its window. */
  readonly segments: number
  /** Of a leaky bucket: whether there is a wait, or the longest in milliseconds. */
  readonly wait: boolean | number
  /** Of a sliding window: those of one number count in one log. */
  readonly log: number | undefined
  /** Of a calendar. */
  readonly calendar?: CalendarOf
}

const PARTITIONS: readonly Per[] = [['tenant'], ['tenant', 'route'], ['route'], 'global']

/** Of windows that are a whole number of milliseconds in each of these parts. */
const SEGMENTS = [1, 1, 2, 4, 5, 10]

const wholeWindow = (leastMs: number): fc.Arbitrary<number> =>
  fc.oneof(
    fc.constantFrom(10_000, 60_000, 3_600_000, 86_400_000),
    fc.integer({ min: leastMs, max: leastMs * 20 }),
    fc.integer({ min: leastMs, max: 40 * 86_400_000 }),
  )

const aRule = (leastMs: number): fc.Arbitrary<Rule> =>
  fc
    .record({
      kind: fc.constantFrom('sliding', 'sliding', ...KINDS),
      limit: fc.oneof(
        { weight: 8, arbitrary: fc.integer({ min: 1, max: 30 }) },
        { weight: 8, arbitrary: fc.integer({ min: 1, max: 4 }) },
        { weight: 1, arbitrary: fc.constant(0) },
      ),
      windowMs: wholeWindow(leastMs),
      per: fc.constantFrom(...PARTITIONS),
      unit: fc.constantFrom('request', 'request', 'token', 'usd'),
      enforced: fc.constantFrom(true, true, true, true, false),
      route: fc.constantFrom(undefined, undefined, undefined, 'x'),
      burst: fc.integer({ min: 1, max: 30 }),
      segments: fc.constantFrom(...SEGMENTS),
      wait: fc.oneof(fc.boolean(), fc.integer({ min: 1, max: leastMs * 20 })),
      log: fc.constant(undefined),
      ends: fc.constantFrom('idle', 'length', 'both'),
      calendar: calendars,
    })
    .map(cutWhole)

/** A window that can be cut into the rule's segments. */
const cutWhole = (rule: Rule): Rule => ({
  ...rule,
  windowMs: Math.ceil(rule.windowMs / rule.segments) * rule.segments,
})

/** The idle time and the length of a session, in milliseconds. Those of both are often of a similar size. */
export function sessionOf({ windowMs, ends, segments }: Rule): readonly [number, number] {
  if (ends === 'length') return [Infinity, windowMs]
  return [windowMs, ends === 'both' ? Math.ceil((windowMs * segments) / 3) : Infinity]
}

/** Rules that differ in limit, window and whether they deny, to count in one log. */
const aLog = (leastMs: number): fc.Arbitrary<readonly Rule[]> =>
  fc
    .record({
      first: aRule(leastMs),
      others: fc.array(
        fc.record({
          limit: fc.integer({ min: 1, max: 30 }),
          windowMs: wholeWindow(leastMs),
          enforced: fc.boolean(),
        }),
        { maxLength: 2 },
      ),
    })
    .map(({ first, others }) =>
      [first, ...others].map(({ limit, windowMs, enforced }) =>
        inLog(first, 0, { limit, windowMs, enforced }),
      ),
    )

const inLog = (rule: Rule, log: number, own: Partial<Rule> = {}): Rule => ({
  ...rule,
  ...own,
  kind: 'sliding',
  log,
})

/** Up to `most` rules and logs, some of them twice, with windows of at least `leastMs`. */
export const rules = (leastMs: number, most = 8): fc.Arbitrary<readonly Rule[]> =>
  fc
    .array(
      fc.oneof(
        { weight: 8, arbitrary: aRule(leastMs).map((rule) => [[rule]]) },
        { weight: 2, arbitrary: aLog(leastMs).map((log) => [log]) },
        { weight: 1, arbitrary: aRule(leastMs).map((rule) => [[rule], [{ ...rule }]]) },
        { weight: 1, arbitrary: aLog(leastMs).map((log) => [log, log]) },
      ),
      { minLength: 1, maxLength: most },
    )
    .map((list) =>
      list
        .flat()
        .slice(0, most)
        .flatMap((some, log) =>
          some.map((rule) => (rule.log === undefined ? rule : inLog(rule, log))),
        ),
    )

/** Returns true if any stretch as long as its window counts. */
export const isSliding = ({ kind }: Rule): boolean => kind === 'sliding'

export const isBucket = ({ kind }: Rule): boolean =>
  kind === 'token' || kind === 'interval' || kind === 'leaky'

/** The most units at once; nothing where nothing flows in. */
export const capacity = (rule: Rule): number =>
  isBucket(rule) && rule.limit > 0 ? rule.burst : rule.limit

/** The rules that take part in a decision about a request on `route`. */
export const takingPart = (list: readonly Rule[], route: string): Rule[] =>
  list.filter((rule) => rule.route === undefined || rule.route === route)

/** The rules as policies, in their order. */
export function policiesOf(list: readonly Rule[]): Policy[] {
  return list.flatMap((rule, index) => {
    if (rule.log === undefined) return [policyOf(rule, `p${index}`)]
    const together = list.filter(({ log }) => log === rule.log)
    if (together[0] !== rule) return []
    const windows = Object.fromEntries(
      together.map(({ limit, windowMs }, place) => [
        `w${place}`,
        { limit, window: `${windowMs}ms` as const },
      ]),
    )
    const { limit: _, mode: __, ...common } = commonOf(rule, `p${index}`)
    const policy = slidingWindows({ ...common, windows })
    const made = policy().map((own, place) =>
      // As when one window is put in shadow while the app runs.
      Object.freeze({
        ...own,
        rollout: rollout({ enforced: together[place]?.enforced ? 100 : 0 }),
      }),
    )
    return [(() => made) as Policy]
  })
}

function commonOf({ limit, per, unit, enforced, route }: Rule, name: string) {
  const mode = enforced ? ('enforce' as const) : ('shadow' as const)
  return { name, limit, per, unit, mode, ...(route === undefined ? {} : { routes: [route] }) }
}

function policyOf(rule: Rule, name: string): Policy {
  const common = commonOf(rule, name)
  const { kind, windowMs, burst, segments, wait } = rule
  const window = `${windowMs}ms` as const
  const make: Record<Rule['kind'], () => Policy> = {
    sliding: () => slidingWindow({ ...common, window }),
    fixed: () => fixedWindow({ ...common, window }),
    daily: () => dailyCap(common),
    monthly: () => monthlyCap(common),
    calendar: () => calendarPolicy(rule.calendar as CalendarOf, common),
    session() {
      const [idleMs, lengthMs] = sessionOf(rule)
      const length = lengthMs === Infinity ? undefined : (`${lengthMs}ms` as const)
      if (idleMs !== Infinity) return sessionWindow({ ...common, idle: `${idleMs}ms`, length })
      return sessionWindow({ ...common, length: `${lengthMs}ms` })
    },
    counter: () => slidingWindowCounter({ ...common, window, segments }),
    token: () => tokenBucket({ ...common, window, burst }),
    interval: () => tokenBucket({ ...common, window, burst, refill: 'interval' }),
    leaky: () =>
      leakyBucket({
        ...common,
        window,
        burst,
        wait: typeof wait === 'number' ? `${wait}ms` : wait,
      }),
  }
  return make[kind]()
}
