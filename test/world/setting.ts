/* The parts of a world, drawn from its seed. */
import { weatherOf, type Weather } from './faults.ts'
import { daysOf, strokeOf, withCalendars, type Stroke } from './calendars.ts'
import { withCredits } from './credits.ts'
import { changeFor, deploymentsOf, rolledOut, rulesOf, type Deployment } from './deployments.ts'
import type { Random } from './random.ts'
import { hasPlaces, IN_REDIS, isRegional, WRAPPERS, type WrapperName } from './wrappers.ts'

type OnStoreError = 'default' | 'local' | 'share' | 'allow' | 'deny'

export interface Setting {
  readonly seed: number
  readonly startMs: number
  readonly isUpstash: boolean
  readonly weather: Weather
  readonly wrappers: WrapperName
  readonly onStoreError: OnStoreError
  readonly timeoutMs: number
  readonly deployments: readonly Deployment[]
  readonly isolates: number
  /** Milliseconds between the calls of an isolate. */
  readonly gapMs: number
  /** Decisions in flight at the same moment are likelier the higher it is. */
  readonly burst: number
  readonly tenants: readonly string[]
  readonly routes: readonly string[]
  readonly plans: readonly string[]
  /** The time within which a reservation is settled. */
  readonly settleWithinMs: number
  /** True if reservations are given back when nobody settles them. */
  readonly releases: boolean
  readonly hasServers: boolean
  /** True if limits are changed while it runs. */
  readonly configures: boolean
  /** The most partitions of which leases are held, or denials remembered. */
  readonly maxPartitions: number
  /** True if leases serve reservations, too. */
  readonly leasesCalls: boolean
  /** True if plans are looked up, instead of being known to the caller. */
  readonly looksUpPlans: boolean
  /** True if some decisions have choices. */
  readonly chooses: boolean
}

const DAY_MS = 86_400_000

/** Tenants whose names are hard on keys, errors and headers. Each has a part that judges look for where no id may be. */
const TENANTS = [
  'acme-7Qx',
  'org:1-7Qx',
  'org%3A1-7Qx',
  'a=b{c}d-7Qx',
  'zoë ✓-7Qx',
  `long-${'x'.repeat(200)}-7Qx`,
  'constructor-7Qx',
]

/** The part of every tenant's name that must not be seen in errors and logs. */
export const SECRET = '7Qx'

/** Draws a world. Options replace what would be drawn, and change no other draw. */
export function settingOf(seed: number, random: Random, options: Partial<Setting> = {}): Setting {
  const weather = weatherOf(random.fork('weather'))
  const wrappers = random.fork('wrappers').pick(IN_REDIS)
  const chosen = options.wrappers ?? wrappers
  const ruling = random.fork('rules')
  const inPlaces = hasPlaces(chosen)
  const first = rulesOf(ruling, inPlaces || WRAPPERS[chosen].includes('leased' as never))
  const others = random.fork('others')
  const rolling = random.fork('rollouts')
  const apps = rolledOut(deploymentsOf(first, ruling), rolling).map(changeFor(chosen))
  const drawnMs = startOf(random.fork('start'))
  const chooses = random.fork('choices').chance(0.3)
  // The last draws change no others.
  const calendars = random.fork('calendars')
  const stroke = strokeOf(drawnMs, calendars)
  const startMs = options.startMs ?? stroke?.startMs ?? drawnMs
  const dated = stroke ? withDays(apps, { ...stroke, startMs }, chosen, calendars) : apps
  const selling = random.fork('credits')
  const isUpstash = others.chance(0.5)
  const onStoreError = others.pick(['default', 'local', 'share', 'allow', 'deny', 'deny'] as const)
  const maySell = (options.onStoreError ?? onStoreError) === 'deny' && !isRegional(chosen)
  const deployments = maySell ? withCredits(dated, selling) : dated
  return {
    seed,
    startMs,
    isUpstash,
    weather,
    wrappers,
    onStoreError,
    timeoutMs: others.pick([50, 200, 1_000]),
    deployments,
    isolates: others.whole(1, 5),
    gapMs: others.pick([5, 20, 100, 400]),
    burst: others.pick([1, 1, 3, 10]),
    tenants: TENANTS.slice(0, others.whole(1, TENANTS.length)),
    routes: ['x', 'y'],
    plans: ['free', 'pro'],
    settleWithinMs: others.pick([2_000, 20_000]),
    releases: others.chance(0.4),
    hasServers: others.chance(0.7),
    configures: others.chance(0.3),
    looksUpPlans: others.chance(0.3),
    maxPartitions: others.pick([1, 3, 1_000, 1_000]),
    leasesCalls: others.chance(0.6),
    chooses,
    ...(inPlaces && { leasesCalls: true, releases: false }),
    ...options,
  }
}

/** Adds policies with calendars to each app, of which there then are mostly two: calendars change while both run. */
function withDays(
  known: readonly Deployment[],
  stroke: Stroke,
  wrappers: WrapperName,
  random: Random,
): Deployment[] {
  const [first] = known as [Deployment]
  const apps = known.length > 1 || random.chance(0.4) ? known : [first, { ...first, name: 'next' }]
  const names = apps.map(({ name }) => name)
  const days = rolledOut(daysOf(names, random), random).map(changeFor(wrappers))
  return withCalendars(days, stroke, wrappers, random).map(({ name, rules }, at) => {
    const others = apps[at]?.rules ?? []
    return { name, rules: random.chance(0.5) ? [...rules, ...others] : [...others, ...rules] }
  })
}

/** A moment at any time of the day, or shortly before the end of a day or of a month. */
function startOf(random: Random): number {
  const day = Date.UTC(random.whole(2024, 2030), random.whole(0, 11), random.whole(1, 28))
  if (random.chance(0.4)) return day + random.whole(0, DAY_MS - 1)
  const date = new Date(day)
  const end = random.chance(0.5)
    ? day + DAY_MS
    : Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1)
  return end - random.whole(1, 20_000)
}
