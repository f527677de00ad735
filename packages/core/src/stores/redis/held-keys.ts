/*
 * Lua that stands for `redis` in the decisions of one script call, so that a key is read once and written once for
 * all of them. It relies on what `LuaFragments` promise: a command has one key, the first of its arguments.
 */
import { HELD_LOG } from '../../algorithms/held-log.ts'
import { indent } from '../../lua/program.ts'

/**
 * Defines `passing` and `holding`, two forms of `redis`, and `flush`, which writes what is held of a key.
 *
 * Two kinds of keys are held. A string: GET answers with the last SET. The log of a sliding window, by
 * `HELD_LOG`. Any other command on a held key writes what is held, and forgets it.
 */
export const HELD_KEYS: string = `local server, held, isShared, shared = redis, {}, {}, tonumber(ARGV[1])
for n = 1, shared do isShared[KEYS[n]] = true end
local time, failure, writing
local function textOf(problem)
  return type(problem) == 'table' and problem.err or 'ERR ' .. tostring(problem)
end
${HELD_LOG.total}
local function flush(key)
  local state = held[key]
  held[key] = nil
  if not state then return end
  local done, problem = pcall(function()
    if state.option then server.call('SET', key, state.value, state.option, state.expiry) end
    ${indent(HELD_LOG.write, 4)}
  end)
  if not done then
    failure = problem
    error(problem, 0)
  end
end
${HELD_LOG.append}
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
  if state and ${HELD_LOG.isLog} then flush(key) end
  held[key] = { value = value, option = option, expiry = expiry }
  return { ok = 'OK' }
end
${HELD_LOG.commands}
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
  local isChanged = state and (state.option or ${HELD_LOG.isChanged}) ~= nil
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
