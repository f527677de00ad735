import type { Redis } from 'ioredis'

/** The state of every key under a prefix, by its name without that: its bytes, its end, and what it holds. */
export type RedisState = ReadonlyMap<string, { readonly bytes: string; readonly holds: string }>

const SCRIPT = `local out = {}
for _, key in ipairs(redis.call('KEYS', ARGV[1] .. '*')) do
  local kind, holds = redis.call('TYPE', key).ok, ''
  if kind == 'string' then holds = redis.call('GET', key)
  elseif kind == 'zset' then
    local rows, list = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES'), {}
    for at = 1, #rows, 2 do list[#list + 1] = rows[at + 1] .. ' ' .. rows[at] end
    holds = table.concat(list, '\\n')
  elseif kind == 'hash' then holds = table.concat(redis.call('HGETALL', key), '\\n') end
  for _, text in ipairs({ string.sub(key, #ARGV[1] + 1), redis.call('DUMP', key), tostring(redis.call('PEXPIRETIME', key)), holds }) do
    out[#out + 1] = text
  end
end
return out`

/** The id of a request: that of the process, a number, and perhaps that of a choice. */
const ID = /(?<![0-9a-z])(?=\d*[a-z])[0-9a-z]{14,}(C\d+)?/g

/** Reads all that is stored under a prefix, in one step. */
export async function stateUnder(redis: Redis, prefix: string): Promise<RedisState> {
  const rows = (await redis.callBuffer('EVAL', SCRIPT, 0, `${prefix}:`)) as Buffer[]
  const state = new Map<string, { bytes: string; holds: string }>()
  for (let at = 0; at < rows.length; at += 4) {
    const [key = '', dump = '', until = '', holds = ''] = rows
      .slice(at, at + 4)
      .map((row) => row.toString('latin1'))
    const lines = holds.replace(ID, 'id').split('\n').toSorted()
    state.set(key, { bytes: `${dump} until ${until}`, holds: lines.join('\n') })
  }
  return state
}

/** The keys whose bytes or ends differ, sorted. */
export function changedKeys(before: RedisState, after: RedisState): string[] {
  const keys = new Set([...before.keys(), ...after.keys()])
  return [...keys].filter((key) => before.get(key)?.bytes !== after.get(key)?.bytes).toSorted()
}
