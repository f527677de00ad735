// Parts of the hand-written scripts: the same state, reply, checks and commands as the limiter's
// script, without the parts that make it work for any list of policies.

/** The largest number of units, as in the limiter's script. */
const MAX_UNITS = 1_000_000_000_000

export const WHOLE = `local function whole(text)
  local number = tonumber(text)
  if not number or number < 0 or number > ${MAX_UNITS} or number % 1 ~= 0 then error('bad argument') end
  return number
end
`

export const NOW = `local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`

/** Reads the window's set: `used`, `available`, `head`, `retry` and what WINDOW_ADD needs. */
export const WINDOW_CHECK = `local function units(member) return tonumber(string.match(member, ':(%d+)$') or 1) end
local rows = redis.call('ZRANGE', key, 0, 16, 'WITHSCORES')
if rows[1] and rows[1] ~= '#' then error('not a sliding window') end
local total = rows[2] and -rows[2] or 0
local cutoff, oldest = now - window, tonumber(rows[4])
local used, expired, freed, head, retry = total, 0, 0, nil, window
local at, rank, full = 3, 17, 34
while true do
  local member = rows[at]
  if not member then
    if #rows < full then break end
    rows = redis.call('ZRANGE', key, rank, rank + 511, 'WITHSCORES')
    at, rank, full, member = 1, rank + 512, 1024, rows[1]
    if not member then break end
  end
  local score = tonumber(rows[at + 1])
  at = at + 2
  if score <= cutoff then
    used, expired = used - units(member), expired + 1
  else
    head = head or score
    local excess = used + cost - limit
    if excess <= 0 or cost == 0 or cost > limit then break end
    freed = freed + units(member)
    if freed >= excess then
      retry = score - cutoff
      break
    end
  end
end
local fits = cost == 0 or used + cost <= limit
local available = used < limit and limit - used or 0
local reset = head and head - cutoff or window
if fits then retry = 0 elseif cost > limit then retry = -1 end
`

/** Adds the cost to the window's set. */
export const WINDOW_ADD = `local prune = expired >= 16 or oldest and oldest <= cutoff - window
  if prune then
    redis.call('ZREMRANGEBYSCORE', key, 0, cutoff)
    total = used
  end
  local member = cost == 1 and id or id .. ':' .. string.format('%.0f', cost)
  redis.call('ZADD', key, -(total + cost), '#', now, member)
  if prune or not oldest then redis.call('PEXPIRE', key, 3 * window) end
`
