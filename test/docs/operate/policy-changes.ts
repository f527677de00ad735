/* Every change of a policy that `docs/operate/upgrade.md` lists, as pairs of the policy before and after. */
import { readFileSync } from 'node:fs'
import {
  backpressure,
  concurrency,
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
  type Policy,
  type PolicyOptions,
} from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import { fairShare } from '@sluice/core/fair-share'
import { lease } from '@sluice/core/leases'
import { waitingLine } from '@sluice/core/waiting'

/** The policies of the version before and of the version after. */
export interface Change {
  readonly before: Policy
  /** Called in the test: it may be refused. */
  readonly after: () => Policy
}

type Options = Partial<PolicyOptions> & { readonly window?: string; readonly burst?: number }
type Make = (options?: Options) => Policy

const common = { name: 'p', limit: 10, per: ['tenant'] } as const
const minute = { ...common, window: '1m' } as const

const sliding: Make = (options) => slidingWindow({ ...minute, ...options } as typeof minute)

const severalWindows: Make = ({ limit = 10, window = '1m', ...options } = {}) => {
  const windows = { short: { limit, window: '10s' }, long: { limit, window } }
  return slidingWindows({ name: 'p', per: ['tenant'], windows, ...options } as never)
}

const makersOf = <Name extends string>(makers: Record<Name, Make>): Record<Name, Make> => makers

/** A policy of each algorithm, in its plainest form. */
const MAKERS = makersOf({
  slidingWindow: sliding,
  slidingWindows: severalWindows,
  slidingWindowCounter: (options) => slidingWindowCounter({ ...minute, ...options } as never),
  tokenBucket: (options) => tokenBucket({ ...minute, ...options } as never),
  leakyBucket: (options) =>
    leakyBucket({ ...minute, burst: 'limit', wait: false, ...options } as never),
  fixedWindow: (options) => fixedWindow({ ...minute, ...options } as never),
  dailyCap: (options) => dailyCap({ ...common, ...options } as never),
  monthlyCap: (options) => monthlyCap({ ...common, ...options } as never),
  sessionWindow: ({ window = '1m', ...options } = {}) =>
    sessionWindow({ ...common, idle: window, ...options } as never),
  concurrency: ({ window = '1m', ...options } = {}) =>
    concurrency({ ...common, maxDuration: window, ...options } as never),
  fairShare: (options) => fairShare(sliding(options), { between: ['tenant'] }),
  waitingLine: (options) => waitingLine(sliding(options)),
})

type Algorithm = keyof typeof MAKERS
const ALL = Object.keys(MAKERS) as Algorithm[]
const BUCKETS: readonly Algorithm[] = ['tokenBucket', 'leakyBucket']
const CAPS: readonly Algorithm[] = ['dailyCap', 'monthlyCap']
const except = (...left: readonly Algorithm[]): Algorithm[] =>
  ALL.filter((name) => !left.includes(name))

/** The same change of options in these algorithms. */
const each = (
  algorithms: readonly Algorithm[],
  ...variants: readonly Options[]
): Record<string, Change> =>
  Object.fromEntries(
    algorithms.flatMap((name) =>
      variants.map((options) => [
        `${name} ${JSON.stringify(options)}`,
        { before: MAKERS[name](), after: () => MAKERS[name](options) },
      ]),
    ),
  )

/** One change of a policy, in both directions. */
const both = (one: Policy, other: Policy): Record<string, Change> => ({
  forth: { before: one, after: () => other },
  back: { before: other, after: () => one },
})

/** From each algorithm to one that does not only add to it, as `fairShare` adds to a `slidingWindow`. */
const otherAlgorithms = Object.fromEntries(
  ALL.map((from, index) => [from, ALL[(index + 4) % ALL.length] as Algorithm] as const).map(
    ([from, to]) => [`${from} to ${to}`, { before: MAKERS[from](), after: () => MAKERS[to]() }],
  ),
)

const windowsOf = (windows: Record<string, string>): Policy =>
  slidingWindows({
    name: 'p',
    per: ['tenant'],
    windows: Object.fromEntries(
      Object.entries(windows).map(([name, window]) => [name, { limit: 10, window }]),
    ) as never,
  })

const day = { ...common, window: '1d' } as const
const shared = (options: object): Policy =>
  fairShare(sliding(), { between: ['tenant'], ...options })

/** The changes of each row of the page, by its first cell. */
export const CHANGES: Readonly<Record<string, Record<string, Change>>> = {
  '`limit`, also of a plan': each(
    except(...BUCKETS),
    { limit: 20 },
    { limit: 5 },
    { limit: () => 20 },
  ),
  '`limit` of a bucket': each(BUCKETS, { limit: 20 }, { limit: 5 }),
  '`burst`': each(BUCKETS, { burst: 20 }, { burst: 5 }),
  '`wait` of a `leakyBucket`': both(
    MAKERS.leakyBucket(),
    leakyBucket({ ...minute, burst: 'limit', wait: '2m' }),
  ),
  '`routes`, `scope`, `onMissing`, `mode`, `rollout`': each(ALL, {
    routes: ['chat'],
    scope: 'other',
    onMissing: 'skip',
    mode: 'shadow',
    rollout: rollout({ enabled: 100, enforced: 0 }),
  }),
  '`backpressure`': each(except('concurrency'), {
    backpressure: backpressure({ from: 0.8, maxMs: 1 }),
  }),
  '`dailyCap` and `fixedWindow` of a day': both(dailyCap(common), fixedWindow(day)),
  '`resets` of a cap, added, changed or removed': {
    added: {
      before: dailyCap(common),
      after: () => dailyCap({ ...common, resets: calendar({ zone: 'Asia/Tokyo' }) }),
    },
    changed: {
      before: monthlyCap({ ...common, resets: calendar({ zone: 'Asia/Tokyo' }) }),
      after: () => monthlyCap({ ...common, resets: calendar({ on: { day: 15 } }) }),
    },
    removed: {
      before: dailyCap({ ...common, resets: calendar({ zone: 'Asia/Tokyo' }) }),
      after: () => dailyCap(common),
    },
  },
  'windows of `slidingWindows`, but the longest': {
    ...both(windowsOf({ long: '1h' }), windowsOf({ short: '1m', long: '1h' })),
    another: {
      before: windowsOf({ short: '1m', long: '1h' }),
      after: () => windowsOf({ short: '2m', long: '1h' }),
    },
  },
  '`fairShare` or `waitingLine` added or removed': {
    ...both(sliding(), MAKERS.fairShare()),
    ...Object.fromEntries(
      Object.entries(both(sliding(), MAKERS.waitingLine())).map(([way, change]) => [
        `line ${way}`,
        change,
      ]),
    ),
  },
  '`weight`, `guarantee`, `headroom`, `maxWaiting`': {
    weight: { before: shared({}), after: () => shared({ weight: 3 }) },
    guarantee: { before: shared({}), after: () => shared({ guarantee: 5 }) },
    headroom: { before: shared({}), after: () => shared({ headroom: 2 }) },
    maxWaiting: {
      before: MAKERS.waitingLine(),
      after: () => waitingLine(sliding(), { maxWaiting: 7 }),
    },
  },
  '`lease` of a fixed window or cap': both(dailyCap(common), lease(dailyCap(common))),
  '**`unit`**': each(except('slidingWindows', 'concurrency'), { unit: 'token' }),
  '`unit` of `slidingWindows`': each(['slidingWindows'], { unit: 'token' }),
  '**`name`**': each(ALL, { name: 'q' }),
  '**`per`**, also its order': {
    ...each(ALL, { per: ['tenant', 'route'] }, { per: 'global' }),
    order: {
      before: sliding({ per: ['tenant', 'route'] }),
      after: () => sliding({ per: ['route', 'tenant'] }),
    },
  },
  '`window`, `length`, `idle`, `maxDuration`': {
    ...each(except(...CAPS), { window: '2m' }),
    ...both(MAKERS.sessionWindow(), sessionWindow({ ...common, length: '1m', idle: '1m' })),
    length: {
      before: sessionWindow({ ...common, length: '1m' }),
      after: () => sessionWindow({ ...common, length: '2m' }),
    },
  },
  '`dailyCap` and `monthlyCap`': both(dailyCap(common), monthlyCap(common)),
  'another algorithm': otherAlgorithms,
  '`stripes`': {
    ...each(except('slidingWindows', 'sessionWindow', 'fairShare', 'waitingLine'), { stripes: 2 }),
    ...both(sliding({ stripes: 2 }), sliding({ stripes: 3 })),
  },
  '`segments`, `refill`': {
    segments: {
      before: MAKERS.slidingWindowCounter(),
      after: () => slidingWindowCounter({ ...minute, segments: 6 }),
    },
    refill: {
      before: MAKERS.tokenBucket(),
      after: () => tokenBucket({ ...minute, refill: 'interval' }),
    },
  },
  '`lease` of a `slidingWindow`, its `duration`': {
    ...both(sliding(), lease(sliding())),
    duration: {
      before: lease(sliding()),
      after: () => lease(sliding(), { duration: '2s' }),
    },
  },
  'the longest window of `slidingWindows`': both(
    windowsOf({ short: '1m', long: '1h' }),
    windowsOf({ short: '1m', long: '2h' }),
  ),
  '`stripes` of what cannot have them': each(
    ['slidingWindows', 'sessionWindow', 'fairShare', 'waitingLine'],
    { stripes: 2 },
  ),
  '`unit` of `concurrency`, `window` of a cap': {
    ...each(['concurrency'], { unit: 'token' }),
    ...each(CAPS, { window: '2d' }),
  },
}

const page = readFileSync(new URL('../../../docs/operate/upgrade.md', import.meta.url), 'utf8')

/** The effect on counts of each change that the page lists. */
export const EFFECTS: ReadonlyMap<string, string> = new Map(
  Array.from(page.matchAll(/^- \*\*(Kept|Kept, in time|Start afresh|Refused):\*\* ([^]*?)\.\n/gm))
    .slice(0, 4)
    .flatMap(([, effect = '', changes = '']) =>
      changes
        .split(/;\s+/)
        .map((change): [string, string] => [change.replaceAll(/\s+/g, ' '), effect.toLowerCase()]),
    ),
)
