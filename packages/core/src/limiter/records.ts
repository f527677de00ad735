import type { PolicyRule } from '../policies/policy.ts'
import type {
  Operation,
  RecordField,
  RecordValues,
  StateMap,
  Store,
  StoreRequest,
} from '../stores/store.ts'
import type { LuaOperation, LuaOperationKind } from '../lua/twins.ts'
import { systemClock, type Clock } from '../clock.ts'

/** Fields to set in one record. */
export interface RecordWrite {
  readonly key: string
  readonly set: Readonly<Record<string, string>>
  /** The time after which the whole record expires, in milliseconds. @default never */
  readonly ttlMs?: number
}

/** A condition of a write: the field has this value, or, with `undefined`, no value. */
export interface RecordCondition extends RecordField {
  readonly is: string | undefined
}

/** Small named values that a store keeps beside the counts. Without the store there is no fallback. */
export interface Records {
  /**
   * Reads fields.
   *
   * @param startedAt The start of the decision that waits, from which the store's deadline counts.
   * @throws StoreError When the store fails.
   */
  read(fields: readonly RecordField[], startedAt?: number): Promise<readonly (string | undefined)[]>
  /**
   * Writes records in one atomic step if the condition holds. Returns true if it did.
   *
   * @param startedAt As in `read`.
   * @throws StoreError When the store fails.
   */
  write(
    writes: readonly RecordWrite[],
    condition?: RecordCondition,
    startedAt?: number,
  ): Promise<boolean>
  /** Removes records. @throws StoreError When the store fails. */
  remove(keys: readonly string[]): Promise<void>
  /** Runs an operation of your own in one atomic step. @throws StoreError When the store fails. */
  run<Result>(operation: LuaOperation<Result>): Promise<Result>
}

/** Records to write in one step. */
export interface WriteRequest extends Pick<StoreRequest, 'now' | 'clockIsInjected'> {
  readonly writes: readonly RecordWrite[]
  readonly condition?: RecordCondition | undefined
}

/** Creates the operation that writes records if a condition holds. Its result is true if it did. */
export function writeOperation(
  request: WriteRequest,
  startedAt: number = systemClock(),
): Operation<boolean, WriteRequest> {
  const keys = request.writes.map(({ key }) => key)
  if (request.condition) keys.unshift(request.condition.key)
  return { kind: WRITE, keys, data: request, startedAt }
}

export const WRITE: LuaOperationKind<boolean, WriteRequest> = {
  name: 'write',
  writesRecords: true,
  run: (states, { data }) => writeInMemory(states, data),
  lua: {
    script: () => WRITING_SCRIPT,
    args: scriptArgs,
    parse: (reply) => (reply === 1 || reply === 0 ? { result: reply === 1 } : undefined),
  },
}

function writeInMemory(states: StateMap, { writes, condition, now }: WriteRequest): boolean {
  const fieldsOf = (key: string): RecordValues =>
    (states.get(key, now) as RecordValues | undefined) ?? new Map()
  if (condition && fieldsOf(condition.key).get(condition.field) !== condition.is) return false
  for (const { key, set, ttlMs = Infinity } of writes) {
    const fields = new Map([...fieldsOf(key), ...Object.entries(set)])
    states.set(key, { state: fields, expiresAt: now + ttlMs })
  }
  return true
}

function scriptArgs({ writes, condition }: WriteRequest): string[] {
  const args = condition
    ? [condition.is === undefined ? '2' : '1', condition.field, condition.is ?? '']
    : ['0']
  for (const { set, ttlMs } of writes) {
    const fields = Object.entries(set).flat()
    args.push(String(ttlMs ?? 0), String(fields.length), ...fields)
  }
  return args
}

/**
 * Writes records if a condition holds. ARGV: 0 for no condition, 1 for a value, 2 for no value; the
 * condition's field and value; for each record its TTL in milliseconds, the number of its fields and
 * values, and these.
 */
const WRITING_SCRIPT = `local first, at = 1, 2
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

/** Creates access to the records of a store, for extensions. */
export function createRecords(
  host: { readonly store: Store; readonly clockIsInjected: boolean },
  policies: readonly PolicyRule[],
  clock: Clock,
): Records {
  const time = () => ({ now: clock(), clockIsInjected: host.clockIsInjected })
  return {
    async read(reads, startedAt = systemClock()) {
      const request = { policies, entries: [], apply: false, ...time() }
      return (await host.store.check({ ...request, id: '', startedAt, reads })).values
    },
    write: (writes, condition, startedAt) =>
      host.store.run(writeOperation({ writes, condition, ...time() }, startedAt)),
    remove: (keys) => host.store.reset(keys),
    run: (operation) => host.store.run(operation),
  }
}
