import type { Algorithm } from '../../algorithm.ts'
import type { SettleRequest } from '../../store.ts'
import { clockOf, PRELUDE, scriptOf, twinsOf, type Script } from './script.ts'

/** The script that settles charges of the given algorithms. */
export function settleScript(algorithms: Iterable<Algorithm>): Promise<Script> {
  const list = [...algorithms]
  const settlers = list.map(({ id, luaSettle }) => `['${id}'] = ${luaSettle}`)
  return scriptOf(
    `${twinsOf(list)}local settlers = {\n${settlers.join(',\n')}\n}\n${PRELUDE}${SETTLE}`,
  )
}

/** The settling script's ARGV. Its keys: the mark's, then those of the settlements. */
export function settleArguments(request: SettleRequest): string[] {
  const args = clockOf(request)
  for (const settlement of request.settlements) {
    const { algorithm, id, limit, burst, place, reserved, actual, params } = settlement
    const numbers = [limit, burst, place, reserved, actual, params.length, ...params]
    args.push(algorithm.id, id, ...numbers.map(String))
  }
  return args
}

// Nothing may fail between taking the mark away and the last correction: one that does not work, such as
// of a key that holds something else, must not keep the others from being made, and is told at the end.
const SETTLE = `local entries, at = {}, 3
for index = 2, #KEYS do
  local entry = {
    name = ARGV[at], key = KEYS[index], shared = {}, id = ARGV[at + 1], limit = whole(ARGV[at + 2]),
    burst = whole(ARGV[at + 3]), place = whole(ARGV[at + 4], 2 ^ 53), reserved = whole(ARGV[at + 5]),
    actual = whole(ARGV[at + 6]), params = {},
  }
  for offset = 1, whole(ARGV[at + 7]) do entry.params[offset] = whole(ARGV[at + 7 + offset]) end
  at = at + 8 + #entry.params
  entries[#entries + 1] = entry
end
if redis.call('DEL', KEYS[1]) == 0 then return 0 end
local function correct(entry)
  if entry.reserved > 0 then return settlers[entry.name](entry, clock) end
  clock()
  entry.cost = entry.actual
  local verdict = algorithms[entry.name].check(entry, now)
  algorithms[entry.name].add(entry, now, verdict, { id = entry.id, own = own, slack = slack })
end
local settled, failed = {}, false
for _, entry in ipairs(entries) do
  if not settled[entry.key] and entry.actual ~= entry.reserved then
    failed = not pcall(correct, entry) or failed
  end
  settled[entry.key] = true
end
if failed then return { err = 'ERR a charge could not be corrected' } end
return 1
`
