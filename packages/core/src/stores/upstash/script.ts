import type { Algorithm, Entry } from '../../policy.ts'
import type { StoreReply, StoreRequest } from '../../store.ts'
import { StoreError } from '../../errors.ts'
import { MAX_UNITS } from '../../validate.ts'

/** A Lua script, with the digests that EVALSHA names it by. */
export interface Script {
  /** Locks only the keys it is given. Upstash takes it; stock Redis refuses the flag. */
  readonly locking: ScriptText
  readonly plain: ScriptText
}

export interface ScriptText {
  readonly text: string
  readonly sha1: string
}

// Without exactly this first line, Upstash takes a lock on the whole database for each call.
const LOCKING_LINE = '#!lua flags=allow-key-locking\n'

/** The script that decides for the given algorithms: their Lua twins around one check-then-add. */
export async function assembleScript(algorithms: Iterable<Algorithm>): Promise<Script> {
  const twins = Array.from(algorithms, ({ id, lua }) => `['${id}'] = ${lua}`)
  const text = BODY.replace('--TWINS--', () => twins.join(',\n'))
  return { locking: await digest(LOCKING_LINE + text), plain: await digest(text) }
}

/** The script's ARGV. Keys go in KEYS, in the order of the entries. */
export function scriptArguments(request: StoreRequest, id: string): string[] {
  const { now, clockIsInjected, apply, entries } = request
  const args = [String(now), clockIsInjected ? '1' : '0', apply ? '1' : '0', id]
  for (const { algorithm, limit, cost, params } of entries) {
    args.push(algorithm.id, ...[limit, cost, params.length, ...params].map(String))
  }
  return args
}

/** Reads the script's answer. @throws StoreError `store_bad_reply` unless it is one for `entries`. */
export function readReply(reply: unknown, entries: readonly Entry[]): StoreReply {
  if (!Array.isArray(reply) || reply.length !== 1 + 4 * entries.length || !reply.every(isInteger)) {
    throw new StoreError(
      'store_bad_reply',
      'The store answered with something else than a decision',
    )
  }
  const [now, ...rest] = reply as [number, ...number[]]
  const verdicts = entries.map((_, index) => {
    const [fits, available, resetMs, retryMs] = rest.slice(4 * index) as [
      number,
      number,
      number,
      number,
    ]
    return { fits: fits === 1, available, resetMs, retryMs }
  })
  return { now, verdicts }
}

const isInteger = (value: unknown): boolean => Number.isInteger(value)

async function digest(text: string): Promise<ScriptText> {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-1', new TextEncoder().encode(text)))
  return { text, sha1: Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('') }
}

/**
 * How far callers' clocks may differ, in milliseconds, where Redis refuses TIME and theirs decide: keys
 * then live that much longer, so that a fast one's do not expire too early for the others.
 */
const CALLER_SKEW_MS = 60_000

// Phase one reads every entry, phase two writes to all of them only if all fit. The numbers are
// checked here too, because in Lua a comparison with NaN is false and so lets everything pass.
const BODY = `local algorithms = {
--TWINS--
}
local function whole(text)
  local number = tonumber(text)
  if not number or number ~= math.floor(number) or number < 0 or number > ${MAX_UNITS} then
    error('bad argument')
  end
  return number
end
local now, own, slack = tonumber(ARGV[1]), false, 0
if ARGV[2] == '0' then
  local time = redis.pcall('TIME')
  if not time.err then
    now, own = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000), true
  else
    slack = ${CALLER_SKEW_MS}
  end
end
local apply, id, at = ARGV[3] == '1', ARGV[4], 5
local entries, reply = {}, { now }
for index, key in ipairs(KEYS) do
  local algorithm = algorithms[ARGV[at]]
  local limit, cost, params = whole(ARGV[at + 1]), whole(ARGV[at + 2]), {}
  for offset = 1, whole(ARGV[at + 3]) do params[offset] = whole(ARGV[at + 3 + offset]) end
  at = at + 4 + #params
  local verdict = algorithm.check(key, now, limit, cost, params)
  if not verdict.fits then apply = false end
  entries[index] = { key, algorithm, limit, cost, params, verdict }
  reply[#reply + 1] = verdict.fits and 1 or 0
  reply[#reply + 1] = verdict.available
  reply[#reply + 1] = verdict.reset
  reply[#reply + 1] = verdict.retry
end
if apply then
  for _, entry in ipairs(entries) do
    local key, algorithm, limit, cost, params, verdict = unpack(entry)
    if cost > 0 then algorithm.add(key, now, limit, cost, params, id, verdict, own, slack) end
  end
end
return reply
`
