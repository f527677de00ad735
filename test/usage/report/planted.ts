import {
  QUARTERS,
  quarters,
  total,
  callsOf,
  usdOf,
  TIERS,
  DAY_MS,
  type Fleet,
  type Stream,
  type Tenant,
} from './fleets.ts'

/* The plants in a fleet, for findings to find. */

/** A thing that was planted. */
interface Planted {
  readonly tenant: string
  /** Its start, in minutes of the week. */
  readonly minute: number
}

type Plant = (fleet: Fleet) => Planted

/** The minutes of a quarter-hour that lie in a span of minutes. */
const overlap = (quarter: number, from: number, to: number): number =>
  Math.max(0, Math.min(to, 15 * quarter + 15) - Math.max(from, 15 * quarter))

/** Adds calls, a number for each minute of a span. */
function addCalls(
  stream: Stream,
  from: number,
  to: number,
  perMinute: (quarter: number) => number,
): void {
  for (let quarter = 0; quarter < QUARTERS; quarter += 1) {
    const minutes = overlap(quarter, from, to)
    if (minutes > 0)
      stream.allowed[quarter] =
        (stream.allowed[quarter] ?? 0) + Math.round(minutes * perMinute(quarter))
  }
}

const emptyStream = (route: string, model: string, tokens: number, price: number): Stream => ({
  route,
  model,
  tokens,
  price: quarters(() => price),
  allowed: quarters(() => 0),
  denied: quarters(() => 0),
})

function addTenant(fleet: Fleet, name: string, plan: Tenant['plan'], stream: Stream): Tenant {
  const tenant = { name, plan, zone: 0, streams: [stream] }
  fleet.tenants.push(tenant)
  return tenant
}

/** Draws one of the tenants of a kind whose share of all dollars is at least so much; else the largest. */
function draw({ tenants, dice }: Fleet, kind: string, leastShare: number): Tenant {
  const all = total(tenants.map((tenant) => total(usdOf(tenant))))
  const ofKind = tenants.filter(({ name }) => name.startsWith(kind))
  const fit = ofKind.filter((tenant) => total(usdOf(tenant)) >= leastShare * all)
  const sorted = ofKind.toSorted((a, b) => total(usdOf(b)) - total(usdOf(a)))
  return (fit[Math.floor(dice.next() * fit.length)] ?? sorted[0]) as Tenant
}

/** Everyone's micro-dollars by quarter-hour. */
const fleetUsd = ({ tenants }: Fleet): number[] => {
  const each = tenants.map(usdOf)
  return quarters((quarter) => total(each.map((usd) => usd[quarter] ?? 0)))
}

const unbounded = { rpm: 100_000, daily: 100_000_000 }

/** Scraper round the clock, at 95 % of the day of its tier. */
function scraper(fleet: Fleet): Planted {
  const { dice } = fleet
  const plan = TIERS[Math.floor(dice.next() * TIERS.length)] ?? { rpm: 20, daily: 500 }
  const length = Math.round(dice.between(26, 100)) * 60
  const minute = Math.floor(dice.between(0, QUARTERS * 15 - length))
  const stream = emptyStream('chat', 'gpt-4o-mini', 300, 300)
  addCalls(
    stream,
    minute,
    minute + length,
    () => (plan.daily / 1_440) * 0.95 * dice.between(0.93, 1.06),
  )
  addTenant(fleet, 'scraper', plan, stream)
  return { tenant: 'scraper', minute }
}

/** Scraper at 95 % of its minute, with pauses of 20 minutes. */
function pausingScraper(fleet: Fleet): Planted {
  const { dice } = fleet
  const rpm = TIERS[Math.floor(dice.next() * TIERS.length)]?.rpm ?? 20
  const length = Math.round(dice.between(27, 100)) * 60
  const minute = Math.floor(dice.between(0, QUARTERS * 15 - length))
  const stream = emptyStream('chat', 'gpt-4o-mini', 300, 300)
  for (let at = minute; at < minute + length;) {
    const busy = dice.between(40, 100)
    addCalls(stream, at, Math.min(at + busy, minute + length), () => rpm * dice.between(0.93, 0.97))
    at += busy + 20
  }
  addTenant(fleet, 'pausing', { rpm, daily: rpm * 2_880 }, stream)
  return { tenant: 'pausing', minute }
}

/** New tenant with 80 % of all dollars. */
function newRunaway(fleet: Fleet): Planted {
  const { dice } = fleet
  const minute = Math.floor(dice.between(30 * 60, QUARTERS * 15 - 60))
  const others = fleetUsd(fleet)
  const stream = emptyStream('agent', 'o3', 20_000, 200_000)
  addCalls(
    stream,
    minute,
    minute + dice.between(60, 600),
    (quarter) => ((others[quarter] ?? 0) * 4) / 15 / 200_000 + 1.5,
  )
  addTenant(fleet, 'newcomer', unbounded, stream)
  return { tenant: 'newcomer', minute }
}

/** Known tenant at 19 times everyone together. */
function knownRunaway(fleet: Fleet): Planted {
  const { dice } = fleet
  const tenant = draw(fleet, 'office', 0)
  const minute = Math.floor(dice.between(30 * 60, QUARTERS * 15 - 60))
  const mean = total(fleetUsd(fleet)) / QUARTERS / 15
  const stream = emptyStream('agent', 'gpt-4o', 20_000, 50_000)
  addCalls(stream, minute, minute + dice.between(60, 360), () => (19 * mean) / 50_000 + 2)
  tenant.streams.push(stream)
  tenant.plan = unbounded
  return { tenant: tenant.name, minute }
}

/** Client that retries at once, for 20 minutes or some hours. */
function retryStorm(fleet: Fleet): Planted {
  const { dice } = fleet
  const tenant = draw(fleet, 'office', 0)
  const length = dice.between(20, 180)
  const minute = Math.floor(dice.between(60, QUARTERS * 15 - length))
  const stream = tenant.streams[0] as Stream
  const perMinute = dice.between(15, 80) + (5 * Math.max(...callsOf(tenant))) / 15
  for (let quarter = 0; quarter < QUARTERS; quarter += 1) {
    const denied = Math.round(overlap(quarter, minute, minute + length) * perMinute)
    stream.denied[quarter] = (stream.denied[quarter] ?? 0) + denied
  }
  return { tenant: tenant.name, minute }
}

/** Leaked key: many times the tenant's peak, by day and night. */
function leakedKey(fleet: Fleet): Planted {
  const { dice } = fleet
  const tenant = draw(fleet, 'office', 0.01)
  const minute = Math.floor(dice.between(48 * 60, QUARTERS * 15 - 200))
  const peak = Math.max(...callsOf(tenant)) / 15
  const factor = dice.between(10, 25)
  const [first] = tenant.streams
  const stream = emptyStream('chat', 'gpt-4o-mini', 1_000, first?.price[0] ?? 1_000)
  addCalls(
    stream,
    minute,
    minute + dice.between(180, 2_880),
    () => peak * factor * dice.factor(0.3),
  )
  tenant.streams.push(stream)
  tenant.plan = unbounded
  return { tenant: tenant.name, minute }
}

/** Slow creep: each day half as much more. */
function creep(fleet: Fleet): Planted {
  const { dice } = fleet
  const tenant = draw(fleet, 'consumer', 0)
  const factor = dice.between(1.35, 1.6)
  const day = (total(fleetUsd(fleet)) / 7) * dice.between(0.15, 0.4)
  const stream = emptyStream('agent', 'gpt-4o', 5_000, 10_000)
  addCalls(
    stream,
    0,
    QUARTERS * 15,
    (quarter) => (day / 1_440 / 10_000) * factor ** (quarter / 96 - 6) * dice.factor(0.2),
  )
  tenant.streams.push(stream)
  tenant.plan = unbounded
  return { tenant: tenant.name, minute: 0 }
}

/** The same calls, to a model that costs far more. */
function dearModel(fleet: Fleet): Planted {
  const { dice } = fleet
  const tenant = draw(fleet, 'consumer', 0.03)
  const start = Math.floor(dice.between(3.2, 5.9) * 96)
  const factor = dice.between(10, 20)
  for (const stream of tenant.streams.slice()) {
    const dear = emptyStream(
      stream.route,
      'o1',
      stream.tokens,
      Math.round((stream.price[0] ?? 0) * factor),
    )
    for (let quarter = start; quarter < QUARTERS; quarter += 1) {
      dear.allowed[quarter] = stream.allowed[quarter] ?? 0
      stream.allowed[quarter] = 0
    }
    tenant.streams.push(dear)
  }
  return { tenant: tenant.name, minute: start * 15 }
}

/** One route of a tenant: several times all that it used before. */
function oneRoute(fleet: Fleet): Planted {
  const { dice } = fleet
  const tenant = draw(fleet, 'consumer', 0.03)
  const minute = Math.floor(dice.between(3.2, 5.8) * 1_440)
  const mean = total(callsOf(tenant)) / QUARTERS / 15
  const stream = emptyStream('export', 'gpt-4o-mini', 1_000, tenant.streams[0]?.price[0] ?? 1_000)
  addCalls(stream, minute, minute + 36 * 60, () => mean * dice.between(4, 8))
  tenant.streams.push(stream)
  tenant.plan = unbounded
  return { tenant: tenant.name, minute }
}

/** Bot at an office at the weekend: evenly, as much as on a working day's peak. */
function weekendBot(fleet: Fleet): Planted {
  const { dice, from } = fleet
  const tenant = draw(fleet, 'office', 0.02)
  const saturday = [2, 3, 4, 5].find((day) => new Date(from + day * DAY_MS).getUTCDay() === 6)
  const start = (saturday ?? 3) * 1_440 + Math.floor(dice.between(0, 300))
  const peak = Math.max(...callsOf(tenant)) / 15
  const level = peak * dice.between(0.6, 1)
  const stream = emptyStream('chat', 'gpt-4o-mini', 500, tenant.streams[0]?.price[0] ?? 500)
  addCalls(stream, start, start + 44 * 60, () => level * dice.between(0.9, 1.1))
  tenant.streams.push(stream)
  tenant.plan = unbounded
  return { tenant: tenant.name, minute: start }
}

/** The plants: ten kinds. */
export const PLANTS: Readonly<Record<string, Plant>> = {
  scraper,
  pausingScraper,
  newRunaway,
  knownRunaway,
  retryStorm,
  leakedKey,
  creep,
  dearModel,
  oneRoute,
  weekendBot,
}
