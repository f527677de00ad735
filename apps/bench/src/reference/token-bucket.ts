import { NOW, WHOLE } from './lua.ts'

/**
 * One token bucket in one script. KEYS: the string. ARGV: limit, burst, cost, window in milliseconds.
 * Returns now, then its state (0 does not fit, 1 fits, 2 charged), available, ms to reset, ms to retry.
 */
export const TOKEN_BUCKET: string = `${WHOLE}local key = KEYS[1]
local limit, burst, cost, window = whole(ARGV[1]), whole(ARGV[2]), whole(ARGV[3]), whole(ARGV[4])
${NOW}local used, at = 0, now
local stored = redis.call('GET', key)
if stored then
  local held, since, rate = string.match(stored, '^b(%d+):(%d+):(%d+)$')
  if not held then error('not a bucket') end
  since, rate = tonumber(since), tonumber(rate)
  if since > at then at = since end
  used = held - (at - since) * rate
  if used < 0 then used = 0 end
  if rate ~= limit then
    used = math.floor(used / rate) * limit + math.ceil(used % rate * limit / rate)
  end
end
local behind, held = at - now, math.ceil(used / window)
local over = used - (burst - cost) * window
local fits = cost == 0 or cost <= burst and over <= 0
local next_unit = used == 0 and window or used - (held - 1) * window
local reset, retry = math.ceil(next_unit / limit) + behind, 0
if cost > burst then retry = -1 elseif not fits then retry = math.ceil(over / limit) + behind end
local state = fits and 1 or 0
if fits and cost > 0 then
  local filled = used + cost * window
  local expiry = math.max(at + math.ceil(filled / limit), now) + window
  redis.call('SET', key, string.format('b%.0f:%.0f:%.0f', filled, at, limit),
    'PXAT', string.format('%.0f', expiry))
  state = 2
end
return { now, state, held < burst and burst - held or 0, reset, retry }
`
