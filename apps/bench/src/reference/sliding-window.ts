import { NOW, WHOLE, WINDOW_ADD, WINDOW_CHECK } from './lua.ts'

/**
 * One sliding window in one script. KEYS: the set. ARGV: the id, limit, cost, window in milliseconds.
 * Returns now, then its state (0 does not fit, 1 fits, 2 charged), available, ms to reset, ms to retry.
 */
export const SLIDING_WINDOW: string = `${WHOLE}local key, id = KEYS[1], ARGV[1]
local limit, cost, window = whole(ARGV[2]), whole(ARGV[3]), whole(ARGV[4])
${NOW}${WINDOW_CHECK}local state = fits and 1 or 0
if fits and cost > 0 then
  ${WINDOW_ADD}  state = 2
end
return { now, state, available, reset, retry }
`
