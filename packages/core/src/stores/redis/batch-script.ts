/* The Lua script that makes several decisions, one after another. */
import { HELD_KEYS } from './held-keys.ts'
import { indent } from '../../lua/program.ts'

/**
 * Wraps a deciding script so that one call makes several decisions, each by that very script. A decision with a
 * key that others of the call have too sends its commands by `holding`; all others by `passing`, which only
 * saves the TIME.
 *
 * KEYS: every key once, those of several decisions first. ARGV: the number of these; then for each decision the
 * number of its keys, their positions in KEYS, the number of its arguments, and these; or 1 and the id, if only
 * the id differs from the decision before. The reply has an element for each decision: what its script has
 * replied, or the text of its error.
 */
export const batchScript = (decidingScript: string): string => `${HELD_KEYS}
local decide = function(redis, KEYS, ARGV)
  ${indent(decidingScript)}
end
local answers, wrote, at, args = {}, {}, 2, nil
while ARGV[at] do
  local api, keys, count = passing, {}, tonumber(ARGV[at])
  for n = 1, count do
    local position = tonumber(ARGV[at + n])
    keys[n] = KEYS[position]
    if position <= shared then api = holding end
  end
  at = at + count + 1
  count = tonumber(ARGV[at])
  if count == 1 then
    args[3] = ARGV[at + 1]
  else
    args = {}
    for n = 1, count do args[n] = ARGV[at + n] end
  end
  at, writing = at + count + 1, false
  local made, answer = pcall(decide, api, keys, args)
  answers[#answers + 1], wrote[#wrote + 1] = made and answer or textOf(answer), writing
end
for key in pairs(held) do pcall(flush, key) end
-- Nobody may take for charged what could not be written.
if failure then
  for n, answer in ipairs(answers) do answers[n] = wrote[n] and textOf(failure) or answer end
end
return answers
`
