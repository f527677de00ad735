/* The arguments of a script call that makes several decisions, and the Lua that takes them apart. */
import type { StoreRequest } from '../stores/store.ts'
import { checkCall, type ScriptCall } from './call.ts'

/**
 * The keys and arguments of one call. KEYS: every key once, those of several decisions first. ARGV: the number of these;
 * then for each decision the number of its keys, their positions in KEYS, the number of its arguments, and these; or 1
 * and the id, if only the id differs from the decision before.
 */
export interface JoinedCalls {
  readonly keys: readonly string[]
  readonly args: readonly string[]
}

/**
 * Lua that defines `nextDecision`, which returns the keys and the arguments of the next decision, and true if it has a key
 * that others have, too. While there is one, `ARGV[at]` is set.
 */
export const NEXT_DECISION = `local at, argsBefore = 2, nil
local function nextDecision()
  local keys, args, shares, count = {}, argsBefore, false, tonumber(ARGV[at])
  for n = 1, count do
    local position = tonumber(ARGV[at + n])
    keys[n] = KEYS[position]
    if position <= tonumber(ARGV[1]) then shares = true end
  end
  at = at + count + 1
  count = tonumber(ARGV[at])
  if count == 1 then
    args[3] = ARGV[at + 1]
  else
    args = {}
    for n = 1, count do args[n] = ARGV[at + n] end
  end
  at, argsBefore = at + count + 1, args
  return keys, args, shares
end`

/** The position of the id among the arguments of a decision. */
const ID = 2

/** Joins the calls of these requests: every key once, and arguments that are those of the request before not again. */
export function joinCalls(requests: readonly StoreRequest[]): JoinedCalls {
  const calls = requests.map((request) => checkCall(request, ''))
  const { keys, shared } = orderKeys(calls)
  const positions = new Map(keys.map((key, index) => [key, String(index + 1)]))
  const args = [String(shared)]
  let before: ScriptCall = []
  for (const call of calls) {
    const end = firstArg(call)
    args.push(String(end - 1))
    for (let at = 1; at < end; at += 1) args.push(positions.get(call[at] as string) as string)
    if (differOnlyInId(call, before)) {
      args.push('1', call[end + ID] as string)
    } else {
      args.push(String(call.length - end))
      for (let at = end; at < call.length; at += 1) args.push(call[at] as string)
    }
    before = call
  }
  return { keys, args }
}

const firstArg = ([keys]: ScriptCall): number => (keys as number) + 1

/** Returns each key once, those of several calls first, and the number of these. */
function orderKeys(calls: readonly ScriptCall[]): { keys: string[]; shared: number } {
  const seen = new Set<string>()
  const shared = new Set<string>()
  for (const call of calls) {
    const end = firstArg(call)
    for (let at = 1; at < end; at += 1) {
      const key = call[at] as string
      if (seen.has(key)) shared.add(key)
      else seen.add(key)
    }
  }
  const others = [...seen].filter((key) => !shared.has(key))
  return { keys: [...shared, ...others], shared: shared.size }
}

function differOnlyInId(call: ScriptCall, before: ScriptCall): boolean {
  const [end, beforeEnd] = [firstArg(call), firstArg(before)]
  const count = call.length - end
  if (count !== before.length - beforeEnd) return false
  for (let at = 0; at < count; at += 1) {
    if (at !== ID && call[end + at] !== before[beforeEnd + at]) return false
  }
  return true
}
