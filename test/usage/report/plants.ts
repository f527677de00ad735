/* Further tenants to plant in a simulated week: each does what somebody should look at, or is healthy and large. */
import type { Dice, Hour, Plant, SimulatedTenant } from './weeks.ts'

/** Adds to an hour so many dollars of calls of a usual size. */
function spend(tenant: SimulatedTenant, hour: number, usd: number, perCall = 2_000): void {
  const known = tenant.hours[hour] as Hour
  const calls = Math.max(1, Math.round(usd / perCall))
  tenant.hours[hour] = {
    ...known,
    allowed: known.allowed + calls,
    tokens: known.tokens + calls * 900,
    usd: known.usd + Math.round(usd),
  }
}

/** Takes everything out of the hours up to `end`. */
function silence({ hours }: SimulatedTenant, end: number): void {
  for (let hour = 0; hour < end; hour += 1) {
    hours[hour] = { allowed: 0, denied: 0, tokens: 0, usd: 0 }
  }
}

/** A plan that has room for what is planted. */
const roomy = (tenant: SimulatedTenant): SimulatedTenant => ({
  ...tenant,
  plan: { rpm: 1_000_000, daily: 1e9, monthlyUsd: 1e13 },
})

const stretch = (dice: Dice, least: number, most: number): [from: number, to: number] => {
  const length = Math.round(dice.between(least, most))
  const from = Math.floor(dice.between(72, 168 - length))
  return [from, from + length]
}

/** A scraper on the smallest of the ready-made plans, which paces itself through its 500 requests a day. */
export const pacedScraper: Plant = (tenant, dice) => {
  const length = Math.round(dice.between(26, 120))
  const from = Math.floor(dice.between(0, 168 - length))
  for (let hour = 0; hour < 168; hour += 1) {
    const paced = Math.round((500 / 24) * 0.95 + dice.between(-1, 1))
    const allowed = hour >= from && hour < from + length ? paced : 0
    tenant.hours[hour] = { allowed, denied: 0, tokens: allowed * 300, usd: allowed * 300 }
  }
  return { ...tenant, plan: { ...tenant.plan, rpm: 20, daily: 500 } }
}

/** A scraper near its limit that pauses for 20 minutes now and then. */
export const pausingScraper: Plant = (tenant, dice) => {
  const length = Math.round(dice.between(30, 120))
  const from = Math.floor(dice.between(0, 168 - length))
  const { rpm } = tenant.plan
  const busy = Math.round(dice.between(80, 180))
  for (let hour = from; hour < from + length; hour += 1) {
    let minutes = 0
    for (let minute = 0; minute < 60; minute += 1) {
      const at = (hour - from) * 60 + minute
      if (at % (busy + 20) < busy) minutes += 1
    }
    const allowed = Math.round(rpm * minutes * dice.between(0.935, 0.965))
    tenant.hours[hour] = { allowed, denied: 0, tokens: allowed * 300, usd: allowed * 300 }
  }
  return { ...tenant, plan: { ...tenant.plan, daily: rpm * 1_440 * 2 } }
}

/** A tenant without a past that soon has 80 % of all dollars. */
export const newcomer: Plant = (tenant, dice, fleetUsd) => {
  const begin = Math.floor(dice.between(96, 140))
  silence(tenant, 168)
  for (let hour = begin; hour < 168; hour += 1) spend(tenant, hour, 4 * fleetUsd * dice.factor(0.2))
  return roomy({ ...tenant, before: tenant.before.map(() => 0) })
}

/** A known tenant that has run away for a quarter of an hour when the report is made, at 19 times all others. */
export const lastMinutes: Plant = (tenant, dice, fleetUsd) => {
  spend(tenant, 167, (19 * fleetUsd * dice.between(0.9, 1.2)) / 4)
  return roomy(tenant)
}

/** A key that leaked: many cheap calls, for some hours. */
export const leakedKey: Plant = (tenant, dice, fleetUsd) => {
  const [from, to] = stretch(dice, 8, 24)
  const level = dice.between(0.8, 2.5)
  for (let hour = from; hour < to; hour += 1) {
    spend(tenant, hour, level * fleetUsd * dice.factor(0.3), 150)
  }
  return roomy(tenant)
}

/** The same calls, by a far dearer model. */
export const dearModel: Plant = (tenant, dice, fleetUsd) => {
  const [from, to] = stretch(dice, 20, 48)
  const usual = tenant.hours.reduce((sum, { usd }) => sum + usd, 0) / 168
  const factor = (fleetUsd * dice.between(0.5, 1.2)) / usual
  for (let hour = from; hour < to; hour += 1) {
    const known = tenant.hours[hour] as Hour
    tenant.hours[hour] = { ...known, usd: Math.round(known.usd * Math.max(8, factor)) }
  }
  return roomy(tenant)
}

/** A job that reads everything in a night. */
export const bulkNight: Plant = (tenant, dice, fleetUsd) => {
  const [from, to] = stretch(dice, 2, 4)
  for (let hour = from; hour < to; hour += 1) spend(tenant, hour, fleetUsd * dice.between(4, 10))
  return roomy(tenant)
}

/** A bot that works at the weekend only. */
export const weekendBot: Plant = (tenant, dice, fleetUsd) => {
  for (let hour = 122; hour < 168; hour += 1) {
    spend(tenant, hour, fleetUsd * 0.7 * dice.factor(0.2))
  }
  return roomy(tenant)
}

/** A healthy customer who began in the middle of the week. */
export const healthyNewcomer: Plant = (tenant, dice) => {
  const begin = Math.floor(dice.between(24, 130))
  silence(tenant, begin)
  return tenant
}

/** A worker that reads a queue at half its limit, at any hour. */
export const worker: Plant = (tenant, dice) => {
  const hours = tenant.hours.map((): Hour => {
    const allowed = dice.count(tenant.plan.rpm * 30)
    return { allowed, denied: 0, tokens: allowed * 20, usd: allowed * 20 }
  })
  const plan = { ...tenant.plan, daily: tenant.plan.rpm * 1_440, monthlyUsd: 1e13 }
  return { ...tenant, plan, hours }
}
