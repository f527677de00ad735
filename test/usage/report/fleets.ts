import { PLAN_TIERS } from '@sluice/core/plans'
import type { PolicyUsageRow, Usage, UsageRow } from '@sluice/usage/report'
import { Dice } from './weeks.ts'

const QUARTER_MS = 900_000
const HOUR_MS = 3_600_000
export const DAY_MS = 86_400_000
export const QUARTERS: number = 7 * 96

export const TIERS = Object.values(PLAN_TIERS)

/** Calls of one tenant to one route and model, by quarter-hour of the week. */
export interface Stream {
  readonly route: string
  readonly model: string
  /** Micro-dollars of a call, by quarter-hour. */
  readonly price: number[]
  readonly tokens: number
  readonly allowed: number[]
  readonly denied: number[]
}

export interface Tenant {
  readonly name: string
  readonly streams: Stream[]
  plan: { rpm: number; daily: number }
  /** Hours that its clock is ahead of UTC. */
  readonly zone: number
}

/** A week of many tenants. */
export interface Fleet {
  readonly dice: Dice
  /** The start of the week (UTC), in epoch ms: any day of a week. */
  readonly from: number
  readonly tenants: Tenant[]
}

/** The kinds of tenants that nobody should be called about. */
const KINDS = [
  'office',
  'office',
  'office',
  'office',
  'consumer',
  'consumer',
  'agent',
  'batch',
  'new',
  'growing',
] as const

export const quarters = (valueOf: (quarter: number) => number): number[] =>
  Array.from({ length: QUARTERS }, (_, quarter) => valueOf(quarter))

export const total = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0)

/** Traffic by the clock of people at work: 1 at its peak. */
function atWork(hour: number, isWeekend: boolean, weekend: number): number {
  const work = Math.exp(-(((hour - 13) / 4.2) ** 4))
  return (0.02 + 0.98 * work) * (isWeekend ? weekend : 1)
}

const awake = (hour: number): number => 0.5 - 0.5 * Math.cos((2 * Math.PI * (hour - 4)) / 24)

/**
 * Simulates a week: offices and consumers in time zones, weekends, agents, jobs at night and once a week, growth, new
 * tenants, bursts, and clients that retry after a deploy. Plans have room for all of it.
 */
export function simulateFleet(seed: number): Fleet {
  const dice = new Dice(seed)
  const from = Date.UTC(2026, 5, 15) + Math.floor(dice.between(0, 7)) * DAY_MS
  const count = Math.round(dice.between(30, 60))
  const tenants = Array.from({ length: count }, (_, index) => {
    const kind = KINDS[index % KINDS.length] ?? 'office'
    return ordinary(`${kind}-${index}`, kind, from, dice)
  })
  return { dice, from, tenants }
}

function ordinary(name: string, kind: (typeof KINDS)[number], from: number, dice: Dice): Tenant {
  const zone = Math.floor(dice.between(-8, 10))
  const weekend = dice.between(0.03, 0.4)
  const night = dice.between(0.1, 0.6)
  const jobAt = Math.floor(dice.between(0, 5))
  const jobQuarters = Math.round(dice.between(3, 9))
  const weekly = dice.next() < 0.1 ? Math.floor(dice.between(0, 160)) * 4 : -1
  const startsAt = Math.floor(dice.between(24, 600))
  const growth = dice.between(1.02, 1.08)
  const deploys = new Set([0, 1].map(() => Math.floor(dice.between(0, QUARTERS))))
  const rejected = dice.next() < 0.25 ? dice.between(0.01, 0.12) : 0
  const perQuarter = Math.min(300, 12 * dice.factor(1.2)) * (kind === 'new' ? 0.6 : 1)
  const ofDay = Array.from({ length: 8 }, () => dice.factor(0.15))

  const shape = quarters((quarter) => {
    const at = from + quarter * QUARTER_MS + zone * HOUR_MS
    const hour = (at % DAY_MS) / HOUR_MS
    const isWeekend = [0, 6].includes(new Date(at).getUTCDay())
    if (kind === 'agent') return 0.5
    if (kind === 'consumer') return night + (1 - night) * awake(hour)
    const work = atWork(hour, isWeekend, weekend) * (ofDay[Math.floor(quarter / 96)] ?? 1)
    if (kind === 'batch')
      return 0.1 * work + (hour >= jobAt && hour < jobAt + jobQuarters / 4 ? 2 : 0)
    if (kind === 'new')
      return quarter < startsAt ? 0 : work * Math.min(1, (quarter - startsAt + 8) / 96)
    return kind === 'growing' ? work * growth ** (quarter / 96) : work
  })
  const hasTwo = dice.next() < 0.4
  const second = hasTwo ? dice.between(0.2, 0.5) : 0
  const parts = [
    ['chat', 'gpt-4o-mini', 1 - second],
    ...(hasTwo ? [['search', 'gpt-4o', second] as const] : []),
  ] as const
  const streams = parts.map(([route, model, part]): Stream => {
    const tokens = Math.round(dice.between(300, 3_000))
    const usd = tokens * dice.between(0.5, 3)
    const allowed = quarters((quarter) => {
      const burst = dice.next() < 0.01 ? dice.between(2, 4) : 1
      const job = quarter >= weekly && quarter < weekly + 8 && weekly >= 0 ? 1.5 : 0
      const retried = deploys.has(quarter) ? 1.5 : 1
      const mean = perQuarter * part * ((shape[quarter] ?? 0) * burst * retried + job)
      return mean > 0 ? dice.count(mean * dice.factor(kind === 'agent' ? 0.1 : 0.25)) : 0
    })
    const denied = allowed.map((calls, quarter) =>
      dice.count(calls * (deploys.has(quarter) ? dice.between(0.5, 1.5) : rejected)),
    )
    const price = quarters(() => Math.round(usd * dice.factor(0.1)))
    return { route, model, tokens, price, allowed, denied }
  })
  const tenant: Tenant = { name, streams, zone, plan: { rpm: 0, daily: 0 } }
  tenant.plan = roomyPlan(tenant)
  return tenant
}

/** All allowed calls of a tenant by quarter-hour. */
export const callsOf = ({ streams }: Tenant): number[] =>
  quarters((quarter) => total(streams.map(({ allowed }) => allowed[quarter] ?? 0)))

/** Micro-dollars of a tenant by quarter-hour. */
export const usdOf = ({ streams }: Tenant): number[] =>
  quarters((quarter) =>
    total(streams.map(({ allowed, price }) => (allowed[quarter] ?? 0) * (price[quarter] ?? 0))),
  )

function roomyPlan(tenant: Tenant): Tenant['plan'] {
  const calls = callsOf(tenant)
  const busiest = Math.max(...calls) / 15
  const day = Math.max(...calls.map((_, quarter) => total(calls.slice(quarter, quarter + 96))))
  const fits = TIERS.find(({ rpm, daily }) => rpm >= 2 * busiest && daily >= 1.3 * day)
  return fits ?? { rpm: Math.ceil(2 * busiest), daily: Math.ceil(1.3 * day) }
}

/** The rows that `usage` returns for a week, or for its first minutes. */
export function hoursOf({ from, tenants }: Fleet, minutes: number = QUARTERS * 15): Usage {
  const hourRows: UsageRow[] = []
  const quarterRows: UsageRow[] = []
  const policies: PolicyUsageRow[] = []
  const to = from + Math.ceil(minutes / 60) * HOUR_MS
  for (const { name: tenant, streams, plan } of tenants) {
    const calls = new Map<number, number>()
    for (const { route, model, tokens, price, allowed, denied } of streams) {
      const ofHour = new Map<string, { -readonly [Key in keyof UsageRow]: UsageRow[Key] }>()
      for (let quarter = 0; 15 * quarter < minutes; quarter += 1) {
        const part = Math.min(1, minutes / 15 - quarter)
        const start = from + quarter * QUARTER_MS
        const hour = start - (start % HOUR_MS)
        const row = { start, tenant, route, model, plan: '' }
        const add = (outcome: 'allowed' | 'denied', requests: number, each: number): void => {
          if (requests === 0) return
          const isAllowed = outcome === 'allowed'
          const amounts = {
            requests,
            tokens: isAllowed ? requests * tokens : 0,
            usd: requests * each,
          }
          quarterRows.push({ ...row, outcome, ...amounts })
          const known = ofHour.get(`${hour}${outcome}`)
          if (known) {
            known.requests += requests
            known.tokens += amounts.tokens
            known.usd += amounts.usd
          } else ofHour.set(`${hour}${outcome}`, { ...row, start: hour, outcome, ...amounts })
        }
        const allowedNow = Math.round((allowed[quarter] ?? 0) * part)
        add('allowed', allowedNow, price[quarter] ?? 0)
        add('denied', Math.round((denied[quarter] ?? 0) * part), 0)
        if (allowedNow > 0) calls.set(hour, (calls.get(hour) ?? 0) + allowedNow)
      }
      hourRows.push(...ofHour.values())
    }
    for (const [start, units] of calls) {
      const row = {
        start,
        tenant,
        route: '',
        per: 'tenant',
        unit: 'request',
        requests: units,
        units,
      }
      const shadow = {
        denied: 0,
        shadowRequests: 0,
        shadowDenied: 0,
        shadowTokens: 0,
        shadowUsd: 0,
      }
      policies.push(
        { ...row, ...shadow, policy: 'rpm', limit: plan.rpm, windowMs: 60_000 },
        { ...row, ...shadow, policy: 'daily', limit: plan.daily, windowMs: DAY_MS },
      )
    }
  }
  return { by: 'hour', from, to, rows: hourRows, quarters: quarterRows, policies }
}
