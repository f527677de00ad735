/* The Lua that keeps a log of `sliding-log.ts` through the decisions of one script call, and writes it once. */

/**
 * The first rows of a log are held: a newer member changes nothing in them but the total and, if the log is
 * short, the end. `server` is Redis. `held` has the state of each held key, `flush` writes it, and `commands`
 * answers a command on it, or with nil leaves the command to Redis.
 */
export const HELD_LOG = {
  /** True if `state` is that of a log. */
  isLog: 'state.rows',
  /** True if members were added to the log. */
  isChanged: 'state.added',
  /** Defines `recount`. */
  total: `-- Writes the total anew. Of a call that is repeated on its way, some or all members are there already.
local function recount(key)
  local total = 0
  for _, member in ipairs(server.call('ZRANGE', key, 1, -1)) do
    total = total + (tonumber(string.match(member, ':(%d+)$')) or 1)
  end
  server.call('ZADD', key, -total, '#')
end`,
  /** Writes the state of `key`. */
  write: `if state.added then
  local members = #state.added / 2 - (state.isNew and 0 or 1)
  if server.call('ZADD', key, unpack(state.added)) < members then recount(key) end
end
if state.ttl then server.call('PEXPIRE', key, state.ttl) end`,
  /** Defines `append`. */
  append: `-- Adds a member to a held log, or returns false.
local function append(state, total, mark, at, member)
  local rows = state.rows
  local size = #rows
  local newest = tonumber(rows[size])
  if mark ~= '#' or type(at) ~= 'number' then return false end
  if size > 0 and (rows[1] ~= '#' or newest > at) then return false end
  if size < state.full then
    if size == 0 then rows[1], size, state.isNew = '#', 2, true end
    rows[size + 1], rows[size + 2] = member, at
  elseif newest == at then
    -- Members of one time are in the order of their names, so it may be one of the first.
    return false
  end
  rows[2] = total
  state.added = state.added or { total, '#' }
  local added = state.added
  added[1], added[#added + 1], added[#added + 2] = total, at, member
  return true
end`,
  /** Defines the commands. */
  commands: `function commands.ZRANGE(key, state, first, last, scores, more)
  if first ~= 0 or last < 1 or scores ~= 'WITHSCORES' or more then return nil end
  local full = 2 * (last + 1)
  if not state or state.full ~= full then
    flush(key)
    state = { rows = server.call('ZRANGE', key, 0, last, 'WITHSCORES'), full = full }
    held[key] = state
  end
  return state.rows
end
function commands.ZADD(_, state, total, mark, at, member, more)
  if not (state and state.rows and member) or more then return nil end
  return append(state, total, mark, at, member) and 1 or nil
end
function commands.PEXPIRE(_, state, ttl, more)
  if not (state and state.added) or more then return nil end
  state.ttl = ttl
  return 1
end`,
} as const
