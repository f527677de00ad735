import type { Algorithm, Entry, Settlement, Verdict } from '../algorithm.ts'
import type { Policy, PolicyOptions } from '../policy.ts'
import { durationMs, type Duration } from '../duration.ts'
import { ConfigError } from '../errors.ts'
import { definePolicy } from '../policy.ts'

/** Options of `concurrency`. */
export interface ConcurrencyOptions extends Omit<PolicyOptions, 'unit' | 'backpressure'> {
  /**
   * How long a call may take: if nobody says that it is over, its slot comes free then. Choose it above
   * your longest call. @default '5m'
   */
  readonly holdFor?: Duration
}

/** What is counted: each request is one call unless its cost says otherwise. */
const UNIT = 'call'

/** More slots than this would make a decision read too much at once. */
const MAX_SLOTS = 1_000

/** A slot may come free at any moment, so a denied request is told to come back soon, in milliseconds. */
const COME_BACK_MS = 1_000

/**
 * Allows at most `limit` calls at the same time. A call that `limiter.reserve` let in holds its slot
 * until it is settled or cancelled, or, if its holder dies, for `holdFor`; one that `limiter.check` let
 * in holds it for `holdFor`. In Redis it is one sorted set per partition, with a member per call.
 *
 * @throws ConfigError When an option is unknown, missing or out of range. At most 1_000 calls.
 * @example
 * concurrency({ name: 'in-flight', limit: 5, per: ['tenant'], holdFor: '2m' })
 */
export function concurrency(options: ConcurrencyOptions): Policy {
  for (const option of ['unit', 'backpressure']) {
    if ((options as object | undefined) === undefined || !(option in options)) continue
    const message = 'is no option: calls are counted, and those beyond the limit are not delayed'
    throw new ConfigError('unknown_option', `concurrency.${option}`, message)
  }
  if (typeof options?.limit === 'number' && options.limit > MAX_SLOTS) {
    throw new ConfigError('invalid_option', 'concurrency.limit', `must be at most ${MAX_SLOTS}`)
  }
  const policy = definePolicy('concurrency', options, ['holdFor'], () => {
    const windowMs = durationMs('concurrency.holdFor', options.holdFor ?? '5m')
    const reason = 'concurrency_exceeded'
    return { algorithm, params: [windowMs], windowMs, reason, maxUnits: MAX_SLOTS }
  })
  return Object.freeze({ ...policy, unit: UNIT })
}

/** When each slot comes free by itself, the earliest first. */
type SlotsState = readonly { readonly id: string; readonly until: number }[]

const algorithm: Algorithm<SlotsState> = {
  id: 'slots',
  released: true,

  check(state: SlotsState | undefined, { limit, cost, params }: Entry, now: number): Verdict {
    const held = (state ?? []).filter(({ until }) => until > now)
    const fits = cost === 0 || held.length + cost <= limit
    const resetMs = (held[0]?.until ?? now + (params[0] ?? 0)) - now
    return {
      fits,
      available: Math.max(0, limit - held.length),
      resetMs: Math.min(resetMs, held.length > 0 ? COME_BACK_MS : resetMs),
      retryMs: fits ? 0 : cost > limit ? -1 : Math.min(resetMs, COME_BACK_MS),
    }
  },

  add(state: SlotsState | undefined, { cost, params }: Entry, now: number, id: string) {
    const until = now + (params[0] ?? 0)
    const held = (state ?? []).filter((slot) => slot.until > now)
    const mine = Array.from({ length: cost }, () => ({ id, until }))
    const slots = [...held, ...mine].toSorted((a, b) => a.until - b.until)
    return { state: slots, expiresAt: slots.at(-1)?.until ?? until, place: until }
  },

  settle(state: SlotsState, { id }: Settlement, now: number) {
    const slots = state.filter((slot) => slot.id !== id)
    return { state: slots, expiresAt: slots.at(-1)?.until ?? now }
  },

  // One read tells it all: which slots are held, which have come free by themselves, and whether the
  // key's expiry is to be moved, which is done once in a quarter of the time that a slot is held.
  lua: `(function()
  return {
    check = function(entry, now)
      local limit, cost, hold = entry.limit, entry.cost, entry.params[1]
      local rows = redis.call('ZRANGE', entry.key, 0, -1, 'WITHSCORES')
      local held, first, last, free = 0, nil, nil, 0
      for at = 2, #rows, 2 do
        last = tonumber(rows[at])
        if last > now then
          held, first = held + 1, first or last
        else
          free = free + 1
        end
      end
      local fits = cost == 0 or held + cost <= limit
      local reset = first and math.min(first - now, ${COME_BACK_MS}) or hold
      return {
        fits = fits, available = math.max(0, limit - held), reset = reset,
        retry = fits and 0 or (cost > limit and -1 or reset), free = free, last = last,
      }
    end,
    add = function(entry, now, verdict, call)
      local key, hold = entry.key, entry.params[1]
      local free_at, slots, quarter = now + hold, {}, math.ceil(hold / 4)
      if verdict.free > 0 then redis.call('ZREMRANGEBYSCORE', key, '-inf', now) end
      for slot = 1, entry.cost do
        slots[#slots + 1] = free_at
        slots[#slots + 1] = slot == 1 and call.id or call.id .. ':' .. slot
      end
      redis.call('ZADD', key, unpack(slots))
      local known = verdict.last and math.floor(verdict.last / quarter)
      if known ~= math.floor(free_at / quarter) or call.slack > 0 then
        redis.call('PEXPIRE', key, 2 * hold + call.slack)
      end
      return free_at
    end,
  }
end)()`,

  luaSettle: `function(entry)
    local slots = { entry.id }
    for slot = 2, entry.reserved do slots[slot] = entry.id .. ':' .. slot end
    redis.call('ZREM', entry.key, unpack(slots))
  end`,
}
