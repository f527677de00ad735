import { NOW, WHOLE, WINDOW_ADD, WINDOW_CHECK } from './lua.ts'

const DAY_MS = 86_400_000

/**
 * A daily cap and a sliding window in one script: reads both, then writes both or nothing. KEYS: the
 * day's string, the window's set. ARGV: the id, the day's limit, the window's limit, the cost, the
 * window in milliseconds. Returns now, then for each its state (0 does not fit, 1 fits, 2 charged),
 * available, ms to reset, ms to retry.
 */
export const DAILY_AND_WINDOW: string = `${WHOLE}local day, key, id = KEYS[1], KEYS[2], ARGV[1]
local day_limit, limit, cost, window = whole(ARGV[2]), whole(ARGV[3]), whole(ARGV[4]), whole(ARGV[5])
${NOW}local finish, spent = now - now % ${DAY_MS} + ${DAY_MS}, 0
local stored = redis.call('GET', day)
if stored then
  local stored_finish, stored_spent = string.match(stored, '^w(%d+):(%d+)$')
  if not stored_finish then error('not a count') end
  stored_finish = tonumber(stored_finish)
  if stored_finish >= finish then finish, spent = stored_finish, tonumber(stored_spent) end
end
local day_fits = cost == 0 or spent + cost <= day_limit
local day_available = spent < day_limit and day_limit - spent or 0
local day_reset, day_retry = finish - now, 0
if not day_fits then day_retry = cost > day_limit and -1 or day_reset end
${WINDOW_CHECK}local state, day_state = fits and 1 or 0, day_fits and 1 or 0
if fits and day_fits and cost > 0 then
  redis.call('SET', day, string.format('w%.0f:%.0f', finish, spent + cost), 'PXAT', finish)
  ${WINDOW_ADD}  day_state, state = 2, 2
end
return {
  now, day_state, day_available, day_reset, day_retry, state, available, reset, retry,
}
`
