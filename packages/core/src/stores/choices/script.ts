/* The Lua script that makes the first of several decisions that fits. */
import { indent } from '../../lua/program.ts'
import { NEXT_DECISION } from '../../lua/joined-calls.ts'

/** Lua at the start of the writes of a decision: it is the one, and its commands are sent, because replies change. */
export const WINS = 'redis, won = server, true'

/**
 * Wraps a deciding script so that one call tries several decisions, each by that very script, until one is charged.
 * Those before it write nothing, so a command with the same arguments has the same reply: it is sent once for all, and
 * each key is read once for any algorithm.
 *
 * KEYS and ARGV are those of `joinCalls`. The reply has an element for each decision that was tried.
 */
export const choosingScript = (
  decidingScript: string,
): string => `local server, won, replied = redis, false, {}
local function copyOf(reply)
  if type(reply) ~= 'table' then return reply end
  local copy = {}
  for name, value in pairs(reply) do copy[name] = value end
  return copy
end
-- Compares arguments as they are: as text, two long numbers may be equal.
local function once(send)
  local known = {}
  return function(...)
    local at = known
    for n = 1, select('#', ...) do
      local arg = select(n, ...)
      at[arg] = at[arg] or {}
      at = at[arg]
    end
    if at[replied] == nil then at[replied] = { send(...) } end
    return copyOf(at[replied][1])
  end
end
local reading = setmetatable({ call = once(server.call), pcall = once(server.pcall) }, { __index = server })
local decide = function(redis, KEYS, ARGV)
  ${indent(decidingScript)}
end
${NEXT_DECISION}
local answers = {}
while not won and ARGV[at] do
  local keys, args = nextDecision()
  answers[#answers + 1] = decide(reading, keys, args)
end
return answers
`
