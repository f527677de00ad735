/* The steps that read an account as it is stored, or put one where none is. */
import type { LuaOperationKind } from '../lua/twins.ts'
import type { RecordValues } from '../stores/store.ts'
import { ENTRY, type CreditState } from '../algorithms/credit-state.ts'
import { CLOCK } from '../lua/program.ts'
import { accountOf, type AccountFields } from './account-fields.ts'
import { DAY_MS, GRANT_IDS_MS } from './bounds.ts'

interface Reading {
  readonly now: number
  readonly clockIsInjected: boolean
  /** True to read the journal and the ids of grants, too. */
  readonly everything: boolean
}

/** An account as it is stored, and the store's time. */
export interface StoredAccount {
  readonly now: number
  readonly state: CreditState | undefined
  /** The ids of grants, as they are stored. */
  readonly ids: AccountFields
}

export const READ: LuaOperationKind<StoredAccount, Reading> = {
  name: 'credits read',
  run(states, { keys: [key = '', idsKey = ''], data: { now, everything } }) {
    const stored = states.get(key, now) as CreditState | undefined
    // Later steps change these two in place.
    const state = stored && {
      ...stored,
      holds: { ...stored.holds },
      journal: [...stored.journal],
    }
    const ids = everything ? (states.get(idsKey, now) as RecordValues | undefined) : undefined
    return { now, state, ids: Object.fromEntries(ids ?? []) }
  },
  lua: {
    script: () => READ_SCRIPT,
    args: ({ now, clockIsInjected, everything }) => [
      String(now),
      clockIsInjected ? 'injected' : 'own',
      everything ? '1' : '0',
    ],
    parse(reply) {
      const [now, fields, ids] = Array.isArray(reply) ? (reply as unknown[]) : []
      if (!Number.isInteger(now) || !isTexts(fields) || !isTexts(ids)) return undefined
      const state = accountOf(objectOf(fields))
      // Of something else under this key, a balance of 0 would be told.
      if (fields.length > 0 && !state) return undefined
      return { result: { now: now as number, state, ids: objectOf(ids) } }
    },
  },
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((text) => typeof text === 'string')

function objectOf(texts: readonly string[]): AccountFields {
  const fields: Record<string, string> = {}
  for (let at = 0; at < texts.length; at += 2) {
    fields[texts[at] as string] = texts[at + 1] as string
  }
  return fields
}

const READ_SCRIPT = `${CLOCK}local fields, rows = {}, redis.call('HGETALL', KEYS[1])
if ARGV[3] == '1' then return { now, rows, redis.call('HGETALL', KEYS[2]) } end
for at = 1, #rows, 2 do
  if string.sub(rows[at], 1, ${ENTRY.length}) ~= '${ENTRY}' then
    fields[#fields + 1] = rows[at]
    fields[#fields + 1] = rows[at + 1]
  end
end
return { now, fields, {} }
`

interface Copy extends Omit<Reading, 'everything'> {
  readonly fields: AccountFields
  readonly ids: AccountFields
}

/** Puts an account under its key, unless there is one. Returns true if it did. */
export const PUT: LuaOperationKind<boolean, Copy> = {
  name: 'credits put',
  run(states, { keys: [key = '', idsKey = ''], data: { now, fields, ids } }) {
    if (states.get(key, now) !== undefined) return false
    states.set(key, { state: accountOf(fields), expiresAt: Infinity })
    states.set(idsKey, { state: new Map(Object.entries(ids)), expiresAt: Infinity })
    return true
  },
  lua: {
    script: () => PUT_SCRIPT,
    args: ({ now, clockIsInjected, fields, ids }) => [
      String(now),
      clockIsInjected ? 'injected' : 'own',
      JSON.stringify(Object.entries(fields).flat()),
      JSON.stringify(Object.entries(ids).flat()),
    ],
    parse: (reply) => (reply === 0 || reply === 1 ? { result: reply === 1 } : undefined),
  },
}

const PUT_SCRIPT = `${CLOCK}local fields, ids = cjson.decode(ARGV[3]), cjson.decode(ARGV[4])
if redis.call('HLEN', KEYS[1]) > 0 then return 0 end
local function put(key, texts)
  redis.call('DEL', key)
  for from = 1, #texts, 1000 do redis.call('HSET', key, unpack(texts, from, math.min(from + 999, #texts))) end
end
put(KEYS[1], fields)
put(KEYS[2], ids)
redis.call('PEXPIRE', KEYS[2], ${GRANT_IDS_MS + DAY_MS} + slack)
return 1
`
