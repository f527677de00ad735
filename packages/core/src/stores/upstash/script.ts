import type { Algorithm } from '../../algorithm.ts'
import type { SettleRequest, StoreReply, StoreRequest } from '../../store.ts'
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
export function assembleScript(algorithms: Iterable<Algorithm>): Promise<Script> {
  return scriptOf(`${twinsOf(algorithms)}${PRELUDE}${DECIDE}`)
}

/** The Lua twins of the algorithms, by their ids. */
export function twinsOf(algorithms: Iterable<Algorithm>): string {
  const twins = Array.from(algorithms, ({ id, lua }) => `['${id}'] = ${lua}`)
  return `local algorithms = {\n${twins.join(',\n')}\n}\n`
}

/** The deciding script's keys: those of the entries, then of the records, then the mark's. */
export function scriptKeys({ entries, reads, hold }: StoreRequest): string[] {
  return [...entries, ...reads, ...(hold ? [hold] : [])].map(({ key }) => key)
}

/** The deciding script's ARGV, in the order of its keys. */
export function scriptArguments(request: StoreRequest): string[] {
  const { apply, id, entries, reads, hold } = request
  const args = [...clockOf(request), apply ? '1' : '0', id]
  args.push(String(hold?.ttlMs ?? 0), String(entries.length))
  for (const { algorithm, limit, burst, cost, enforced, params } of entries) {
    const numbers = [limit, burst, cost, enforced ? 1 : 0, params.length, ...params]
    args.push(algorithm.id, ...numbers.map(String))
  }
  for (const { field } of reads) args.push(field)
  return args
}

/** The first of a script's ARGV: the caller's time, and whether it is to decide. */
export const clockOf = ({ now, clockIsInjected }: StoreRequest | SettleRequest): string[] => [
  String(now),
  clockIsInjected ? '1' : '0',
]

/** Reads the script's answer. @throws StoreError `store_bad_reply` unless it is one to `request`. */
export function readReply(reply: unknown, { entries, reads }: StoreRequest): StoreReply {
  const numbers = 1 + PER_ENTRY * entries.length
  const isReply =
    Array.isArray(reply) &&
    reply.length === numbers + reads.length &&
    reply.every((value, index) => (index < numbers ? Number.isInteger(value) : isField(value)))
  if (!isReply) {
    throw new StoreError(
      'store_bad_reply',
      'The store answered with something else than a decision',
    )
  }
  const [now, ...rest] = (reply as number[]).slice(0, numbers) as [number, ...number[]]
  const places: number[] = []
  const verdicts = entries.map((_, index) => {
    const numbersOfEntry = rest.slice(PER_ENTRY * index)
    const [fits, available = 0, resetMs = 0, retryMs = 0, waitMs = 0, place = 0] = numbersOfEntry
    places.push(place)
    return { fits: fits === 1, available, resetMs, retryMs, waitMs }
  })
  const read = (reply as unknown[])
    .slice(numbers)
    .map((value) => (value ?? undefined) as string | undefined)
  return { now, verdicts, places, read }
}

/** So many integers tell of one entry. */
const PER_ENTRY = 6

const isField = (value: unknown): boolean => value === null || typeof value === 'string'

/** A script with and without the line that makes Upstash lock its keys only. */
export async function scriptOf(text: string): Promise<Script> {
  return { locking: await digest(LOCKING_LINE + text), plain: await digest(text) }
}

async function digest(text: string): Promise<ScriptText> {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-1', new TextEncoder().encode(text)))
  return { text, sha1: Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('') }
}

/**
 * How far callers' clocks may differ, in milliseconds, where Redis refuses TIME and theirs decide: keys
 * then live that much longer, so that a fast one's do not expire too early for the others.
 */
const CALLER_SKEW_MS = 60_000

// Numbers are checked here too, because in Lua a comparison with NaN is false and so lets everything
// pass. Places are beyond the largest number of units: they are times, or sums over a long one.
export const PRELUDE: string = `local function whole(text, most)
  local number = tonumber(text)
  if not number or number ~= math.floor(number) or number < 0 or number > (most or ${MAX_UNITS}) then
    error('bad argument')
  end
  return number
end
local now, own, slack
local function clock()
  if now then return now, own, slack end
  now, own, slack = tonumber(ARGV[1]), false, 0
  if ARGV[2] == '0' then
    local time = redis.pcall('TIME')
    if not time.err then
      now, own = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000), true
    else
      slack = ${CALLER_SKEW_MS}
    end
  end
  return now, own, slack
end
`

// Phase one reads every entry, phase two writes only if all that are enforced fit, and then once to each
// key, but to those of shadows alone that do not all fit.
const DECIDE = `clock()
local apply, hold, count, at = ARGV[3] == '1', whole(ARGV[5]), whole(ARGV[6]), 7
local entries, verdicts, shared, places, enforcing, done = {}, {}, {}, {}, {}, {}
for index = 1, count do
  local key, params = KEYS[index], {}
  for offset = 1, whole(ARGV[at + 5]) do params[offset] = whole(ARGV[at + 5 + offset]) end
  shared[key] = shared[key] or {}
  local entry = {
    key = key, algorithm = algorithms[ARGV[at]], limit = whole(ARGV[at + 1]), burst = whole(ARGV[at + 2]),
    cost = whole(ARGV[at + 3]), params = params, shared = shared[key],
  }
  local verdict = entry.algorithm.check(entry, now)
  local enforced = whole(ARGV[at + 4]) == 1
  enforcing[key] = enforcing[key] or enforced
  if not verdict.fits then
    done[key] = true
    if enforced then apply = false end
  end
  entries[index], verdicts[index] = entry, verdict
  at = at + 6 + #params
end
if apply then
  local call = { id = ARGV[4], own = own, slack = slack }
  for index, entry in ipairs(entries) do
    if entry.cost > 0 and (enforcing[entry.key] or not done[entry.key]) then
      enforcing[entry.key], done[entry.key] = false, true
      places[index] = entry.algorithm.add(entry, now, verdicts[index], call)
    end
  end
  if hold > 0 then redis.call('SET', KEYS[#KEYS], '', 'PX', hold) end
end
local reply = { now }
for index, verdict in ipairs(verdicts) do
  reply[#reply + 1] = verdict.fits and 1 or 0
  reply[#reply + 1] = verdict.available
  reply[#reply + 1] = verdict.reset
  reply[#reply + 1] = verdict.retry
  reply[#reply + 1] = verdict.wait or 0
  reply[#reply + 1] = places[index] or 0
end
for index = count + 1, #KEYS - (hold > 0 and 1 or 0) do
  -- A record that is none reads as nothing: by now the charge has been made, and an error would hide it.
  local value = redis.pcall('HGET', KEYS[index], ARGV[at])
  reply[#reply + 1] = type(value) == 'string' and value
  at = at + 1
end
return reply
`
