/* The step that deletes an account. */
import type { LuaOperationKind } from '../lua/twins.ts'
import { ACCOUNT, type CreditState } from '../algorithms/credit-state.ts'
import { fieldsOf } from './account-fields.ts'

interface Removal {
  readonly now: number
  /** The account as it must be: its own field, without reservations and journal. */
  readonly account: string
}

/** Deletes an account and the ids of its grants, if it is as it was. Returns true if it did. */
export const REMOVE: LuaOperationKind<boolean, Removal> = {
  name: 'credits remove',
  run(states, { keys: [key = '', idsKey = ''], data: { now, account } }) {
    const state = states.get(key, now) as CreditState | undefined
    if (state === undefined || fieldsOf(state)[ACCOUNT] !== account) return false
    for (const one of [key, idsKey]) states.set(one, { state: undefined, expiresAt: now })
    return true
  },
  lua: {
    script: () => REMOVE_SCRIPT,
    args: ({ account }) => [account],
    parse: (reply) => (reply === 0 || reply === 1 ? { result: reply === 1 } : undefined),
  },
}

const REMOVE_SCRIPT = `if redis.call('HGET', KEYS[1], '${ACCOUNT}') ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1], KEYS[2])
return 1
`
