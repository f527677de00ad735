/*
 * Lua that stands for `redis` in the decisions of one script call, so that a key is read once and written once for
 * all of them. It relies on what `LuaFragments` promise: a command has one key, the first of its arguments.
 */

/**
 * Defines `passing` and `holding`, two forms of `redis`, and `flush`, which writes what is held of a key.
 *
 * Two kinds of keys are held. A string: GET answers with the last SET. The log of a sliding window: its first
 * rows, in which a newer member changes nothing but the total and, if the log is short, the end. Any other
 * command on a held key writes what is held, and forgets it.
 */
export const HELD_KEYS = `local server, held, isShared, shared = redis, {}, {}, tonumber(ARGV[1])
for n = 1, shared do isShared[KEYS[n]] = true end
local time, failure, writing
local function textOf(problem)
  return type(problem) == 'table' and problem.err or 'ERR ' .. tostring(problem)
end
-- Writes the total anew. Of a call that is repeated on its way, some or all members are there already.
local function recount(key)
  local total = 0
  for _, member in ipairs(server.call('ZRANGE', key, 1, -1)) do
    total = total + (tonumber(string.match(member, ':(%d+)$')) or 1)
  end
  server.call('ZADD', key, -total, '#')
end
local function flush(key)
  local state = held[key]
  held[key] = nil
  if not state then return end
  local done, problem = pcall(function()
    if state.option then server.call('SET', key, state.value, state.option, state.expiry) end
    if state.added then
      local members = #state.added / 2 - (state.isNew and 0 or 1)
      if server.call('ZADD', key, unpack(state.added)) < members then recount(key) end
    end
    if state.ttl then server.call('PEXPIRE', key, state.ttl) end
  end)
  if not done then
    failure = problem
    error(problem, 0)
  end
end
-- Adds a member to a held log, or returns false.
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
end
local commands = {}
function commands.GET(key, state)
  if not state or state.value == nil then
    flush(key)
    state = { value = server.call('GET', key) }
    held[key] = state
  end
  return state.value
end
function commands.SET(key, state, value, option, expiry, more)
  if type(value) ~= 'string' or option ~= 'PX' and option ~= 'PXAT' or more then return nil end
  if state and state.rows then flush(key) end
  held[key] = { value = value, option = option, expiry = expiry }
  return { ok = 'OK' }
end
function commands.ZRANGE(key, state, first, last, scores, more)
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
end
local passing = setmetatable({}, { __index = server })
function passing.pcall(command, ...)
  if command ~= 'TIME' then return server.pcall(command, ...) end
  time = time or server.pcall('TIME')
  return time
end
local holding = setmetatable({}, { __index = server })
function holding.call(command, key, ...)
  local state = held[key]
  -- What an earlier decision has changed may yet fail to be written.
  local isChanged = state and (state.option or state.added) ~= nil
  writing = writing or isChanged or command ~= 'GET' and command ~= 'ZRANGE'
  if not isShared[key] then return server.call(command, key, ...) end
  local hold = commands[command]
  local reply = hold and hold(key, state, ...)
  if reply ~= nil then return reply end
  flush(key)
  return server.call(command, key, ...)
end
function holding.pcall(command, key, ...)
  if command ~= 'TIME' then flush(key) end
  return passing.pcall(command, key, ...)
end`
