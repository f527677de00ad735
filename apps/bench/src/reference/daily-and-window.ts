import { NOW, WHOLE, WINDOW_ADD, WINDOW_CHECK } from './lua.ts'

const DAY_MS = 86_400_000

/**
 * A daily cap and a sliding window in one script: reads both, then writes both or nothing. KEYS: the
 * day's string, the window's set. ARGV: the id, the day's limit, the window's limit, the cost, the
 * window in milliseconds. Returns now, then for each fits, available, ms to reset, ms to retry, and the
 * place of the charge.
 */
export const DAILY_AND_WINDOW: string = `${WHOLE}local day, key, id = KEYS[1], KEYS[2], ARGV[1]
local day_limit, limit, cost, window = whole(ARGV[2]), whole(ARGV[3]), whole(ARGV[4]), whole(ARGV[5])
${NOW}local finish, spent = now - now % ${DAY_MS} + ${DAY_MS}, 0
local stored = redis.call('GET', day)
if stored then
  local stored_finish, stored_spent = string.match(stored, '^(%d+):(%d+)$')
  if not stored_finish then error('not a count') end
  stored_finish = tonumber(stored_finish)
  if stored_finish >= finish then finish, spent = stored_finish, tonumber(stored_spent) end
end
local day_fits = cost == 0 or spent + cost <= day_limit
local day_available = spent < day_limit and day_limit - spent or 0
local day_reset, day_retry, day_place = finish - now, 0, 0
if not day_fits then day_retry = cost > day_limit and -1 or day_reset end
${WINDOW_CHECK}local place = 0
if fits and day_fits and cost > 0 then
  redis.call('SET', day, string.format('%.0f:%.0f', finish, spent + cost), 'PXAT', finish)
  ${WINDOW_ADD}  day_place, place = finish, now
end
return {
  now, day_fits and 1 or 0, day_available, day_reset, day_retry, day_place,
  fits and 1 or 0, available, reset, retry, place,
}
`
