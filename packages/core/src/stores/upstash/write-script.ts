import type { RecordCondition, RecordWrite } from '../../store.ts'
import { scriptOf, type Script } from './script.ts'

/** The script that writes records on a condition. */
export function writeScript(): Promise<Script> {
  return scriptOf(WRITE)
}

/** The writing script's keys and arguments. */
export function writeArguments(
  writes: readonly RecordWrite[],
  condition: RecordCondition | undefined,
): { keys: string[]; args: string[] } {
  const keys = writes.map(({ key }) => key)
  const args = condition ? [condition.is === undefined ? '2' : '1'] : ['0']
  if (condition) {
    keys.unshift(condition.key)
    args.push(condition.field, condition.is ?? '')
  }
  for (const { set, ttlMs } of writes) {
    const fields = Object.entries(set).flat()
    args.push(String(ttlMs ?? 0), String(fields.length), ...fields)
  }
  return { keys, args }
}

const WRITE = `local first, at = 1, 2
if ARGV[1] ~= '0' then
  local held = redis.call('HGET', KEYS[1], ARGV[2])
  if ARGV[1] == '1' and held ~= ARGV[3] or ARGV[1] == '2' and held then return 0 end
  first, at = 2, 4
end
for index = first, #KEYS do
  local ttl, count = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  redis.call('HSET', KEYS[index], unpack(ARGV, at + 2, at + 1 + count))
  if ttl > 0 then redis.call('PEXPIRE', KEYS[index], ttl) else redis.call('PERSIST', KEYS[index]) end
  at = at + 2 + count
end
return 1
`
