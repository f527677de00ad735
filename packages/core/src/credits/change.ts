/* The steps that change a balance beside decisions and settlements: grants, corrections, revocations. */
import type { StateMap } from '../stores/store.ts'
import type { LuaOperationKind } from '../lua/twins.ts'
import { CreditAccount } from '../algorithms/credit-account.ts'
import {
  byPosition,
  inOrder,
  lotFacts,
  type CreditState,
  type Lot,
} from '../algorithms/credit-state.ts'
import { MAX_UNITS } from '../internal/validation.ts'
import type { Refusal } from './refusals.ts'
import { GRANT_SCRIPT, REVOKE_SCRIPT, SETTLE_HOLD_SCRIPT } from './change-lua.ts'
import { GRANT_IDS_MS, MAX_GRANT_IDS, MAX_LOTS } from './bounds.ts'

/** The time of a step, and the params of its policy. */
export interface Timed {
  readonly now: number
  readonly clockIsInjected: boolean
  readonly params: readonly number[]
}

/** Units to add to a balance, or to take from it. */
export interface Grant extends Timed {
  readonly id: string
  /** Below 0 for a correction that takes. */
  readonly units: number
  readonly at: number
  readonly sum: 'granted' | 'adjusted'
  readonly lot: string
  /** The id, the reason and who it was, as JSON for the journal. */
  readonly more: string
}

export interface Revocation extends Timed {
  readonly id: string
  /** True to make a debt of what is no longer there. */
  readonly owes: boolean
  readonly more: string
}

export interface HoldSettlement extends Timed {
  readonly id: string
  readonly units: number
}

/** The outcome of a step. */
type Outcome = 'applied' | 'repeated' | 'hold_unknown' | Refusal

/** The effect of a step: units moved, and of these those that are a debt, or those that a reservation held; then the balance. */
export interface Change {
  readonly outcome: Outcome
  readonly units: number
  readonly owed: number
  readonly available: number
  readonly held: number
  readonly debt: number
}

/** An id that was used: `at sum units taken owed lot`; `taken` is -1 until it is revoked. */
interface Known {
  readonly at: number
  readonly sum: string
  readonly units: number
  readonly taken: number
  readonly owed: number
  readonly lot: string
}

function knownOf(text: string): Known {
  const [at, sum = '', units, taken, owed, lot = ''] = text.split(' ')
  return {
    at: Number(at),
    sum,
    units: Number(units),
    taken: Number(taken),
    owed: Number(owed),
    lot,
  }
}

const textOf = ({ at, sum, units, taken, owed, lot }: Known): string =>
  `${at} ${sum} ${units} ${taken} ${owed} ${lot}`

export const GRANT: LuaOperationKind<Change, Grant> = {
  name: 'credits grant',
  run(states, { keys: [key = '', idsKey = ''], data }) {
    const { now, id, units, at, sum, lot, more } = data
    const account = openIn(states, key, data)
    const ids = idsIn(states, idsKey, now)
    const known = ids.get(id)
    if (known !== undefined) {
      const { units: before, lot: lotBefore, sum: sumBefore } = knownOf(known)
      const isSame = before === units && lotBefore === lot && sumBefore === sum
      return changed(account, isSame ? 'repeated' : 'grant_differs', isSame ? units : 0)
    }
    if (at < now - GRANT_IDS_MS) return changed(account, 'grant_too_old')
    const { expires } = lotFacts(lot)
    if (units > 0 && expires > 0 && expires <= now) return changed(account, 'grant_expired')
    const old = ids.size >= MAX_GRANT_IDS ? oldIn(ids, now) : []
    if (ids.size - old.length >= MAX_GRANT_IDS) return changed(account, 'too_many_grants')
    const isNew = account.lots.every(({ name }) => name !== lot)
    if (units > 0 && isNew && account.lots.length >= MAX_LOTS) {
      return changed(account, 'too_many_lots')
    }
    const total = account.lots.reduce((all, { left }) => all + left, account.sums.included)
    if (units > 0 && total + units > MAX_UNITS) return changed(account, 'balance_too_large')
    account.sums[sum] += units
    account.journal.log(sum, units, units > 0 ? lot : '-', more)
    if (units > 0) account.put(lot, units)
    else takeBack(account, -units)
    for (const one of old) ids.delete(one)
    ids.set(id, textOf({ at, sum, units, taken: -1, owed: 0, lot }))
    store(states, key, account)
    keepIds(states, idsKey, ids)
    return changed(account, 'applied', units)
  },
  lua: {
    script: () => GRANT_SCRIPT,
    args: (data) => [
      ...timeArgs(data),
      data.id,
      String(data.units),
      String(data.at),
      data.sum,
      data.lot,
      data.more,
      String(data.params[3]),
    ],
    parse: parseChange,
  },
}

/** Takes units as a refund does: what was paid and lasts must not be left for the allowance, which is renewed. */
function takeBack(account: CreditAccount, units: number): void {
  let rest = units
  for (const { name } of account.lots.toSorted(byRefund)) rest -= account.takeFrom(name, rest)
  account.take(rest)
}

/** Paid before promotional, then what lasts longest, then the order of use. */
function byRefund(one: Lot, other: Lot): number {
  const [a, b] = [lotFacts(one.name), lotFacts(other.name)]
  if (a.kind !== b.kind) return a.kind === 'paid' ? -1 : 1
  // Infinity less itself is NaN.
  return (b.expires || Infinity) - (a.expires || Infinity) || inOrder(one, other)
}

export const REVOKE: LuaOperationKind<Change, Revocation> = {
  name: 'credits revoke',
  run(states, { keys: [key = '', idsKey = ''], data }) {
    const { now, id, owes, more } = data
    const account = openIn(states, key, data)
    const ids = idsIn(states, idsKey, now)
    const text = ids.get(id)
    const known = text === undefined ? undefined : knownOf(text)
    if (known?.sum !== 'granted') return changed(account, 'grant_unknown')
    const { units, lot } = known
    const isFirst = known.taken < 0
    const before = isFirst ? 0 : known.taken + known.owed
    const taken = isFirst ? account.takeFrom(lot, units) : 0
    const owed = owes ? units - before - taken : 0
    if (!isFirst && owed === 0) return changed(account, 'repeated', before, known.owed)
    account.sums.revoked += taken + owed
    account.journal.log('revoked', -taken - owed, lot, more)
    account.owe(owed)
    ids.set(id, textOf({ ...known, taken: isFirst ? taken : known.taken, owed: known.owed + owed }))
    store(states, key, account)
    keepIds(states, idsKey, ids)
    return changed(account, 'applied', taken + owed, owed)
  },
  lua: {
    script: () => REVOKE_SCRIPT,
    args: (data) => [
      ...timeArgs(data),
      data.id,
      data.owes ? '1' : '0',
      data.more,
      String(data.params[3]),
    ],
    parse: parseChange,
  },
}

/** Settles an open reservation by its id, for one whose holder is gone. The last key is that of its mark. */
export const SETTLE_HOLD: LuaOperationKind<Change, HoldSettlement> = {
  name: 'credits settle',
  run(states, { keys: [key = '', mark = ''], data }) {
    const { id, units, now } = data
    const account = openIn(states, key, data)
    const [position] = byPosition(account.holds).find(([, hold]) => hold.id === id) ?? []
    if (position === undefined) return changed(account, 'hold_unknown')
    const { held } = account.sums
    account.settle(Number(position), units, id)
    store(states, key, account)
    // A process that still has the reservation must not settle it again.
    states.set(mark, { state: undefined, expiresAt: now })
    return changed(account, 'applied', units, held - account.sums.held)
  },
  lua: {
    script: () => SETTLE_HOLD_SCRIPT,
    args: (data) => [...timeArgs(data), data.id, String(data.units), String(data.params[3])],
    parse: parseChange,
  },
}

const timeArgs = ({ now, clockIsInjected }: Timed): [string, string] => [
  String(now),
  clockIsInjected ? 'injected' : 'own',
]

function openIn(states: StateMap, key: string, { now, params }: Timed): CreditAccount {
  return new CreditAccount(states.get(key, now) as CreditState | undefined, now, { params })
}

function store(states: StateMap, key: string, account: CreditAccount): void {
  states.set(key, { state: account.save(), expiresAt: Infinity })
}

/** Returns the ids, to be changed in place: there may be thousands. */
const idsIn = (states: StateMap, key: string, now: number): Map<string, string> =>
  (states.get(key, now) as Map<string, string> | undefined) ?? new Map()

/** Stores the ids without an end: a store in memory would drop others for newer records. */
const keepIds = (states: StateMap, key: string, ids: ReadonlyMap<string, string>): void =>
  states.set(key, { state: ids, expiresAt: Infinity })

/** Returns the ids that need not be known any longer. */
const oldIn = (ids: ReadonlyMap<string, string>, now: number): string[] =>
  [...ids.keys()].filter((id) => knownOf(ids.get(id) as string).at < now - GRANT_IDS_MS)

function changed(account: CreditAccount, outcome: Outcome, units = 0, owed = 0): Change {
  const { held, debt } = account.sums
  return { outcome, units, owed, available: account.available(), held, debt }
}

function parseChange(reply: unknown): { readonly result: Change } | undefined {
  const [outcome, ...numbers] = Array.isArray(reply) ? (reply as unknown[]) : []
  const [units, owed, available, held, debt] = numbers as number[]
  if (typeof outcome !== 'string' || !numbers.every(Number.isInteger) || debt === undefined) {
    return undefined
  }
  return { result: { outcome, units, owed, available, held, debt } as Change }
}
