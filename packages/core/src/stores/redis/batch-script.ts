/* The Lua script that makes several decisions, one after another. */
import { HELD_KEYS } from './held-keys.ts'
import { NEXT_DECISION } from '../../lua/joined-calls.ts'
import { indent } from '../../lua/program.ts'

/**
 * Wraps a deciding script so that one call makes several decisions, each by that very script. A decision with a
 * key that others of the call have too sends its commands by `holding`; all others by `passing`, which only
 * saves the TIME.
 *
 * KEYS and ARGV are those of `joinCalls`. The reply has an element for each decision: what its script has replied, or the
 * text of its error.
 */
export const batchScript = (decidingScript: string): string => `${HELD_KEYS}
local decide = function(redis, KEYS, ARGV)
  ${indent(decidingScript)}
end
${NEXT_DECISION}
local answers, wrote = {}, {}
while ARGV[at] do
  local keys, args, shares = nextDecision()
  writing = false
  local made, answer = pcall(decide, shares and holding or passing, keys, args)
  answers[#answers + 1], wrote[#wrote + 1] = made and answer or textOf(answer), writing
end
for key in pairs(held) do pcall(flush, key) end
-- Nobody may take for charged what could not be written.
if failure then
  for n, answer in ipairs(answers) do answers[n] = wrote[n] and textOf(failure) or answer end
end
return answers
`
