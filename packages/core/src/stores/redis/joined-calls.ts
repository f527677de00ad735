/* The arguments of a script call that makes several decisions. */
import type { StoreRequest } from '../store.ts'
import { checkCall, type ScriptCall } from '../../lua/call.ts'

/** The keys and arguments of one call: KEYS and ARGV of `batchScript`. */
export interface JoinedCalls {
  readonly keys: readonly string[]
  readonly args: readonly string[]
}

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
