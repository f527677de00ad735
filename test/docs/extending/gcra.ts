import { definePolicy, durationMs } from '@sluice/core'
import type { Algorithm, Burst, Duration, Per, PolicyOf, PolicyOptions } from '@sluice/core'

/** When the budget is full again, in whole microseconds. */
type Tat = number

const MAX = Number.MAX_SAFE_INTEGER

/** The microseconds between two units, rounded up. */
const intervalOf = (limit: number, windowMs: number): number =>
  Math.ceil((windowMs * 1_000) / Math.max(1, limit))

// A key lives one window longer, in case the clock is set back.
const stateOf = (tat: Tat, windowMs: number) => ({
  state: tat,
  expiresAt: Math.ceil(tat / 1_000) + windowMs,
})

/** The Lua that both scripts share. */
const lua = (windowMs: number) => ({
  read: `local tat, stored = now * 1000, redis.call('GET', key)
if stored then
  local held = string.match(stored, '^g(%d+)$')
  if not held then error('the key holds something else') end
  tat = math.max(tat, tonumber(held))
end
local interval = math.ceil(${windowMs * 1_000} / math.max(1, limit))`,
  write: `local gone = math.ceil(tat / 1000) + ${windowMs}
redis.call('SET', key, string.format('g%.0f', tat), own and 'PXAT' or 'PX', own and gone or gone - now + slack)`,
})

const algorithm: Algorithm<Tat> = {
  id: 'myapp.gcra',

  check(state, { limit, burst, cost, params: [windowMs = 1] }, now) {
    const interval = intervalOf(limit, windowMs)
    const ahead = Math.max(0, (state ?? 0) - now * 1_000)
    const over = ahead - (burst - cost) * interval
    const fits = cost === 0 || (cost <= burst && over <= 0)
    const next = ahead === 0 ? interval : ahead - (Math.ceil(ahead / interval) - 1) * interval
    return {
      fits,
      available: Math.max(0, Math.floor((burst * interval - ahead) / interval)),
      resetMs: Math.ceil(next / 1_000),
      retryMs: fits ? 0 : cost > burst ? -1 : Math.ceil(over / 1_000),
    }
  },

  add(state, { limit, cost, params: [windowMs = 1] }, now) {
    const tat = Math.max(state ?? 0, now * 1_000) + cost * intervalOf(limit, windowMs)
    return { ...stateOf(tat, windowMs), position: now }
  },

  lua([windowMs = 1]) {
    const { read, write } = lua(windowMs)
    return {
      keeps: ['tat', 'interval'],
      check: `${read}
local ahead = tat - now * 1000
local over = ahead - (burst - cost) * interval
fits = cost == 0 or cost <= burst and over <= 0
available = math.floor((burst * interval - ahead) / interval)
reset = math.ceil((ahead == 0 and interval or ahead - (math.ceil(ahead / interval) - 1) * interval) / 1000)
if not fits then retry = cost > burst and -1 or math.ceil(over / 1000) end
$tat, $interval = tat, interval`,
      add: `local tat = $tat + cost * $interval
${write}`,
      position: 'now',
    }
  },

  settlement: {
    needsTime: true,

    // Units that have flowed back since the charge are not given back again.
    settle(state, { limit, position, reserved, actual, params: [windowMs = 1] }, now) {
      const interval = intervalOf(limit, windowMs)
      const left = (units: number) => Math.max(0, units * interval - (now - position) * 1_000)
      const isMore = actual > reserved
      const more = isMore ? (actual - reserved) * interval : left(actual) - left(reserved)
      if (state === undefined && !isMore) return undefined
      const tat = Math.max(now * 1_000, Math.max(state ?? 0, now * 1_000) + more)
      const applied = Math.trunc(more / interval)
      return { ...stateOf(Math.min(tat, MAX), windowMs), applied }
    },

    lua([windowMs = 1]) {
      const { read, write } = lua(windowMs)
      return `${read}
local more, gone = (actual - reserved) * interval, (now - position) * 1000
if more < 0 then more = math.max(0, actual * interval - gone) - math.max(0, reserved * interval - gone) end
if stored or more > 0 then
  applied = more < 0 and math.ceil(more / interval) or math.floor(more / interval)
  tat = math.min(math.max(now * 1000, tat + more), ${MAX})
  ${write}
end`
    },
  },
}

export interface GcraOptions<
  Partition extends Per,
  Unit extends string | undefined,
  Name extends string,
> extends PolicyOptions<Partition, Unit, Name> {
  readonly window: Duration
  /** The most units at once. @default the limit */
  readonly burst?: Burst<Name>
}

/** Allows `limit` units per `window`, evenly spaced, up to `burst` at once. */
export function gcra<
  const Partition extends Per,
  const Unit extends string | undefined,
  // eslint-disable-next-line typescript/no-explicit-any -- any name of a plan
  Name extends string = any,
>(options: GcraOptions<Partition, Unit, Name>): PolicyOf<Partition, Unit, Name> {
  return definePolicy('gcra', options, ['window', 'burst'], () => {
    const windowMs = durationMs('gcra.window', options.window)
    const { burst = 'limit' } = options
    // Keeps intervals at a microsecond or more, and sums exact.
    const maxUnits = Math.floor(Math.min(windowMs * 1_000, MAX / 2 / (windowMs * 1_000)))
    return { algorithm, params: [windowMs], windowMs, burst, maxUnits }
  })
}
