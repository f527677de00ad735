import type { PolicyUsageRow, Usage, UsageRow } from '@sluice/usage/report'

const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS

/** A Monday, so that the week has its weekend at the end. The month is half over. */
const MONDAY: number = Date.UTC(2026, 5, 15)

/** Draws that a seed determines. */
export class Dice {
  #state: number

  constructor(seed: number) {
    this.#state = (seed * 2_654_435_761) >>> 0
  }

  /** From 0 to 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  between(low: number, high: number): number {
    return low + (high - low) * this.next()
  }

  normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next())
  }

  /** A factor around 1, with a long tail upwards. */
  factor(spread: number): number {
    return Math.exp(spread * this.normal() - (spread * spread) / 2)
  }

  /** A count around a mean. */
  count(mean: number): number {
    return Math.max(0, Math.round(mean + Math.sqrt(mean) * this.normal()))
  }
}

/** The limits that a tenant's plan has. */
interface PlanOfTenant {
  readonly rpm: number
  readonly daily: number
  readonly monthlyUsd: number
}

/** One hour of a tenant's traffic. */
export interface Hour {
  allowed: number
  denied: number
  tokens: number
  usd: number
}

/** A tenant and its week, hour by hour. */
export interface SimulatedTenant {
  readonly name: string
  readonly plan: PlanOfTenant
  /** The part of the month before this week, in micro-dollars, day by day. */
  readonly before: readonly number[]
  readonly hours: Hour[]
}

/**
 * A change of one tenant's week, by the draws of its seed.
 *
 * @param fleetUsd What all others use in a usual hour, in micro-dollars.
 */
export type Plant = (tenant: SimulatedTenant, dice: Dice, fleetUsd: number) => SimulatedTenant

/** Rates per minute that plans are sold with. */
const PLANS = [5, 10, 20, 60, 150, 400, 1_000, 3_000, 10_000]

/** The most that people are up by hour of their day, of their busiest. */
const awake = (hour: number): number => 0.5 - 0.5 * Math.cos((2 * Math.PI * (hour - 4)) / 24)

/**
 * Simulates a week of many tenants: days and nights in their time zones, weekends, bursts, and a few tenants that make
 * most of the calls: 3 % of them make 61 %. Plants come on top, each at a tenant of its own.
 */
export function simulateWeek(
  seed: number,
  plants: Readonly<Record<string, Plant>> = {},
): { hours: Usage; days: Usage } {
  const dice = new Dice(seed)
  const count = Math.round(dice.between(70, 160))
  const calls = dice.between(150_000, 900_000)
  const shares = heavyTailed(count, dice)
  const tenants = shares.map((share, index) => ordinary(`t${index}`, share * calls, dice))
  const used = tenants.flatMap(({ hours }) => hours).reduce((sum, { usd }) => sum + usd, 0)
  for (const [name, plant] of Object.entries(plants)) {
    const base = ordinary(name, (calls * dice.between(0.5, 2)) / count, dice)
    tenants.push(plant(base, dice, used / 168))
  }
  return usageOf(tenants)
}

/** Shares of all calls, of which the first 3 % of tenants have 61 %. */
function heavyTailed(count: number, dice: Dice): number[] {
  const large = Math.max(2, Math.round(count * 0.03))
  const weights = (size: number, spread: number): number[] => {
    const drawn = Array.from({ length: size }, () => dice.factor(spread))
    const total = drawn.reduce((sum, weight) => sum + weight, 0)
    return drawn.map((weight) => weight / total)
  }
  const head = weights(large, 0.5).map((weight) => 0.61 * weight)
  return [...head, ...weights(count - large, 1.3).map((weight) => 0.39 * weight)]
}

/** A tenant of people: its plan has room for its busiest time. */
function ordinary(name: string, calls: number, dice: Dice): SimulatedTenant {
  const zone = Math.floor(dice.between(0, 24))
  const night = dice.between(0.02, 0.7)
  const weekend = dice.between(0.15, 1)
  const tokensPerCall = dice.between(200, 4_000)
  const usdPerToken = dice.between(0.5, 8)
  const rejected = dice.next() < 0.2 ? dice.between(0.01, 0.12) : 0
  const shape = Array.from({ length: 168 }, (_, hour) => {
    const day = night + (1 - night) * awake((hour + zone) % 24)
    return day * (hour >= 120 ? weekend : 1)
  })
  const total = shape.reduce((sum, part) => sum + part, 0)
  const ofDay = Array.from({ length: 7 }, () => dice.factor(0.2))
  const hours = shape.map((part, hour): Hour => {
    const burst = dice.next() < 0.01 ? dice.between(2, 4) : 1
    const mean = (calls * part * (ofDay[Math.floor(hour / 24)] ?? 1) * burst) / total
    const allowed = dice.count(mean * dice.factor(0.3))
    const tokens = Math.round(allowed * tokensPerCall * dice.factor(0.2))
    // Clients that wait as they are told to come back a little later.
    const denied = dice.count(allowed * rejected * (burst > 1 ? 3 : 1))
    return { allowed, denied, tokens, usd: Math.round(tokens * usdPerToken) }
  })
  const dayUsd = hours.reduce((sum, { usd }) => sum + usd, 0) / 7
  const before = Array.from({ length: 14 }, () => Math.round(dayUsd * dice.factor(0.3)))
  return { name, plan: roomyPlan(hours, dayUsd, dice), before, hours }
}

function roomyPlan(hours: readonly Hour[], dayUsd: number, dice: Dice): PlanOfTenant {
  const busiest = Math.max(...hours.map(({ allowed }) => allowed))
  const days = Array.from({ length: 7 }, (_, day) =>
    hours.slice(24 * day, 24 * day + 24).reduce((sum, { allowed }) => sum + allowed, 0),
  )
  return {
    rpm: PLANS.find((rpm) => rpm * 60 >= 2 * busiest) ?? Math.ceil(busiest / 30),
    daily: Math.ceil(Math.max(...days) * dice.between(1.25, 6)) + 20,
    monthlyUsd: Math.ceil(dayUsd * 31 * dice.between(1.25, 6)) + 1_000_000,
  }
}

/** A scraper that knows its limit, and stays a little below it, day and night, for some days. */
export const scraper: Plant = (tenant, dice) => {
  const length = Math.round(dice.between(30, 120))
  const from = Math.floor(dice.between(0, 168 - length))
  const { rpm } = tenant.plan
  for (let hour = from; hour < from + length; hour += 1) {
    const allowed = Math.round(rpm * 60 * dice.between(0.935, 0.965))
    tenant.hours[hour] = { allowed, denied: 0, tokens: allowed * 300, usd: allowed * 300 }
  }
  return { ...tenant, plan: { ...tenant.plan, daily: rpm * 1_440 * 2 } }
}

/** A client that retries at once whatever it is told, for an hour or a few. */
export const retryStorm: Plant = (tenant, dice) => {
  const length = Math.ceil(dice.between(1, 6))
  const from = Math.floor(dice.between(10, 168 - length))
  for (let hour = from; hour < from + length; hour += 1) {
    const allowed = Math.min(tenant.plan.rpm * 60, (tenant.hours[hour]?.allowed ?? 0) + 50)
    const denied = Math.round(allowed * dice.between(4, 60) + dice.between(500, 5_000))
    tenant.hours[hour] = { ...(tenant.hours[hour] as Hour), allowed, denied }
  }
  return tenant
}

/** An agent in a loop: for a night or a day, calls of ever longer contexts, of the dearest model. */
export const agent: Plant = (tenant, dice) => {
  const length = Math.round(dice.between(6, 20))
  const from = Math.floor(dice.between(72, 168 - length))
  const week = dice.between(0.35, 0.9)
  for (let hour = from; hour < from + length; hour += 1) {
    const allowed = Math.round(dice.between(250, 900))
    const tokens = allowed * Math.round(dice.between(40_000, 120_000))
    tenant.hours[hour] = { allowed, denied: 0, tokens, usd: Math.round(tokens * 8 * week) }
  }
  const plan = { ...tenant.plan, daily: 40_000, rpm: Math.max(60, tenant.plan.rpm) }
  return { ...tenant, plan }
}

/** A healthy heavy user: every day near three quarters of its limits, with nights that are hardly quieter. */
export const heavyUser: Plant = (tenant, dice) => {
  const rpm = 400
  const top = dice.between(0.7, 0.8)
  const hours = tenant.hours.map((_, hour): Hour => {
    const weekend = hour >= 120 ? 0.85 : 1
    const mean = rpm * 60 * top * (0.6 + 0.4 * awake(hour % 24)) * weekend
    const allowed = Math.min(rpm * 60, dice.count(mean * dice.factor(0.05)))
    const denied = dice.count(allowed * 0.02)
    return { allowed, denied, tokens: allowed * 500, usd: allowed * 500 }
  })
  const days = Array.from({ length: 7 }, (_, day) =>
    hours.slice(24 * day, 24 * day + 24).reduce((sum, { allowed }) => sum + allowed, 0),
  )
  const daily = Math.ceil(Math.max(...days) / 0.82)
  const monthlyUsd = Math.ceil((daily * 0.8 * 500 * 30) / 0.85)
  return {
    ...tenant,
    plan: { rpm, daily, monthlyUsd },
    before: days.map((day) => day * 500),
    hours,
  }
}

/** The rows that `usage` returns for such a week: by hour, and by day since the start of the month. */
function usageOf(tenants: readonly SimulatedTenant[]): { hours: Usage; days: Usage } {
  const to = MONDAY + 7 * DAY_MS
  const hours = tenants.flatMap(({ name, hours: all, plan }) =>
    all.map((hour, index) => ({ name, plan, hour, start: MONDAY + index * HOUR_MS })),
  )
  const policies = hours.flatMap(({ name, plan, hour, start }) => [
    policyRow(start, name, 'rpm', 'request', plan.rpm, 60_000, hour.allowed, hour.denied),
    policyRow(start, name, 'daily', 'request', plan.daily, DAY_MS, hour.allowed, 0),
    policyRow(start, name, 'budget.monthly', 'usd', plan.monthlyUsd, 31 * DAY_MS, hour.usd, 0),
  ])
  const days = tenants.flatMap(({ name, plan, before, hours: all }) => {
    const week = Array.from({ length: 7 }, (_, day) =>
      all.slice(24 * day, 24 * day + 24).reduce((sum, { usd }) => sum + usd, 0),
    )
    return [...before, ...week].map((usd, index, { length }) => {
      const start = to - (length - index) * DAY_MS
      return policyRow(start, name, 'budget.monthly', 'usd', plan.monthlyUsd, 31 * DAY_MS, usd, 0)
    })
  })
  return {
    hours: { by: 'hour', from: MONDAY, to, rows: hours.flatMap(usageRows), policies },
    days: { by: 'day', from: Date.UTC(2026, 5, 1), to, rows: [], policies: days },
  }
}

function usageRows({
  name: tenant,
  start,
  hour,
}: {
  readonly name: string
  readonly start: number
  readonly hour: Hour
}): UsageRow[] {
  const { allowed, denied, tokens, usd } = hour
  const row = { start, tenant, route: 'chat', model: 'gpt-4o', plan: 'growth' }
  return [
    { ...row, outcome: 'allowed' as const, requests: allowed, tokens, usd },
    { ...row, outcome: 'denied' as const, requests: denied, tokens: 0, usd: 0 },
  ].filter(({ requests }) => requests > 0)
}

function policyRow(
  start: number,
  tenant: string,
  policy: string,
  unit: string,
  limit: number,
  windowMs: number,
  units: number,
  denied: number,
): PolicyUsageRow {
  const shadow = { shadowRequests: 0, shadowDenied: 0, shadowTokens: 0, shadowUsd: 0 }
  const counts = { requests: units, units, denied, ...shadow }
  return { start, tenant, route: '', policy, per: 'tenant', unit, limit, windowMs, ...counts }
}
