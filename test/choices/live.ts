/* Lives through calls with a limiter of each store, and with one that is asked for one choice after another. */
import { createLimiter, manualClock, type Decision, type Limiter, type Store } from '@sluice/core'
import { choices } from '@sluice/core/choices'
import { configure } from '@sluice/core/configuration'
import { reserve, type ReserveDecision } from '@sluice/core/reservations'
import { memory } from '@sluice/core/memory'
import { expect } from 'vitest'
import { NOON } from '../support/times.ts'
import { choicesOf, subjectOf, type CallData, type ChangeData, type OneChoice } from './calls.ts'
import {
  comparable,
  decideInTurn,
  decideOne,
  entriesOf,
  reserveOptions,
  triedOf,
  type Expected,
  type Tried,
} from './in-turn.ts'
import { nameOf, optionsOf, unitsOf, type LimiterData, type OwnPolicy } from './limiters.ts'
import { changedKeys, type RedisState } from './redis-state.ts'

const MOST_ENTRIES = 256
/** By which another process' change is seen. */
const FRESH_MS = 5_000
const MINUTE = 60_000

/** A limiter, and one of another process over the same store. */
interface Pair {
  readonly here: Limiter
  readonly elsewhere: Limiter
}

/** Calls a limiter with choices. */
function decide(
  limiter: Limiter,
  call: CallData,
  list: readonly OneChoice[],
): Promise<Decision | ReserveDecision> {
  const subject = subjectOf(call)
  const options = { choices: choices(list as never) }
  return call.kind === 'reserve'
    ? reserve(limiter, subject, { ...reserveOptions(call), ...options })
    : limiter[call.kind](subject, options)
}

/** In Redis, keys of fixed windows end by the real clock: none is written shortly before. */
const awayFromEnds = (at: number): number =>
  MINUTE - (at % MINUTE) < 10_000 ? at - (at % MINUTE) + MINUTE : at

/** Changes a limit in one process. */
async function change(
  limiter: Limiter,
  data: LimiterData,
  call: CallData,
  { policy, limit, model, isForAll }: ChangeData,
): Promise<void> {
  const { kind, per } = data.policies[policy] ?? {}
  if (kind === undefined || ['log', 'share', 'line'].includes(kind)) return
  // The first counts every choice.
  const settings = policy === 0 && limit === 'unlimited' ? null : limit === null ? null : { limit }
  const subject = { tenant: call.tenant, model: `m${model}` }
  const changes = { [nameOf(policy)]: settings }
  if (isForAll || per === 'global') await configure(limiter, changes)
  else await configure(limiter, changes, subject)
}

/** How often each outcome was seen: an oracle that has seen nothing has proved nothing. */
export const counts = { all: 0, fell: 0, denied: 0, refused: 0, changed: 0, large: 0 }

/** The stores that decide, each with nothing in it. */
export interface Stores {
  /** Those that are asked with choices. */
  readonly asked: readonly Store[]
  /** A second Redis that is asked for what is chosen, alone. */
  readonly alone: Store
  /** Reads what the Redis of `asked` holds, and the second. */
  readonly states: () => Promise<readonly [asked: RedisState, alone: RedisState]>
}

/** Lives through a history with each store, and compares all that is said and stored. */
export async function live(
  { asked, alone, states }: Stores,
  data: LimiterData,
  own: OwnPolicy,
  history: readonly CallData[],
): Promise<void> {
  const clock = manualClock(NOON)
  const options = optionsOf(data, own)
  const pairOf = (store: Store): Pair => {
    const make = () => createLimiter({ store, clock, ...options })
    return { here: make(), elsewhere: make() }
  }
  const [twin, redisTwin, ...pairs] = [memory(), alone, ...asked].map(pairOf) as [Pair, Pair]
  const units = unitsOf(data)
  for (const call of history) {
    clock.set(awayFromEnds(clock() + call.waitMs))
    if (call.change && data.settings !== 'none') {
      const { isElsewhere } = call.change
      for (const { here, elsewhere } of [twin, redisTwin, ...pairs]) {
        await change(isElsewhere ? elsewhere : here, data, call, call.change)
      }
      if (isElsewhere) clock.set(awayFromEnds(clock() + FRESH_MS))
      counts.changed += 1
    }
    const list = choicesOf(call, units)
    const ask = ({ here }: Pair) => decide(here, call, list)
    // Before the entries are counted: those of settings that are out of date may be too many.
    if (call.change?.isElsewhere) {
      await Promise.all(pairs.map(({ here }) => entriesOf(here, call, list)))
    }
    const before = await states()
    if ((await entriesOf(twin.here, call, list)) > MOST_ENTRIES) {
      for (const pair of pairs) {
        await expect(ask(pair)).rejects.toMatchObject({ code: 'invalid_choices' })
      }
      expect(changedKeys(before[0], (await states())[0])).toEqual([])
      counts.refused += 1
      continue
    }
    const expected = await decideInTurn(twin.here, call, list)
    const { choice, decision } = expected
    const inRedis = await decideOne(redisTwin.here, call, list[choice] as OneChoice)
    const decisions = await Promise.all(pairs.map(ask))
    for (const one of decisions) agree(one, call, expected)
    expect(comparable(inRedis)).toEqual(comparable(decision))
    onlyTheWinnerChanged(before, await states(), decision.allowed && call.kind !== 'peek')
    counts.all += 1
    if (list.length > 20) counts.large += 1
    if (!decision.allowed) counts.denied += 1
    else if (choice > 0) counts.fell += 1
    await settleAll(call, [decision, inRedis, ...decisions])
  }
  const [first, second] = await states()
  expect(holdingsOf(first)).toEqual(holdingsOf(second))
}

/** Marks have ids, and name the choice. */
const isOfCharges = (key: string): boolean => !/^(hold|open|config):/.test(key)

const holdingsOf = (state: RedisState): Record<string, string> =>
  Object.fromEntries(
    Array.from(state, ([key, { holds }]) => [key, holds] as const).filter(([key]) =>
      isOfCharges(key),
    ),
  )

/** Expects the bytes of all keys to be as before, but of those that one decision about the winner alone has written. */
function onlyTheWinnerChanged(
  before: readonly [RedisState, RedisState],
  after: readonly [RedisState, RedisState],
  isCharged: boolean,
): void {
  const changed = changedKeys(before[0], after[0])
  const changedAlone = changedKeys(before[1], after[1])
  expect(changed.filter(isOfCharges)).toEqual(changedAlone.filter(isOfCharges))
  expect(changed).toHaveLength(changedAlone.length)
  if (!isCharged) expect(changed).toEqual([])
}

/** Expects an answer to be that of the oracle. Of a denied reservation, any of those that fit soonest may be told. */
function agree(decision: Decision | ReserveDecision, call: CallData, expected: Expected): void {
  const { choice = -1, tried, allowed, retryAfterMs } = decision
  const isTie = call.kind === 'reserve' && !allowed
  const told = isTie ? (expected.made[choice] ?? expected.decision) : expected.decision
  expect(comparable(decision)).toEqual(comparable(told))
  expect(isTie ? retryAfterMs : choice).toBe(
    isTie ? expected.decision.retryAfterMs : expected.choice,
  )
  expect(comparedOf(tried, call)).toEqual(comparedOf(expected.tried, call))
}

/** Of a range that is denied, the quantity means nothing, and so does its cost. */
const comparedOf = (tried: readonly Tried[] | undefined, { kind, fits }: CallData): unknown =>
  tried?.map((one) => {
    const { violated, ...told } = triedOf(one)
    return { ...told, violated: kind === 'reserve' && fits ? violated?.name : violated }
  })

/** Settles the reservations of one call alike. */
async function settleAll(
  { used }: CallData,
  made: readonly (Decision | ReserveDecision)[],
): Promise<void> {
  if (used === null) return
  const settled = await Promise.all(
    made.map(async (decision) => {
      if (!('settle' in decision)) return undefined
      if (used === 0) return decision.cancel()
      const actual = decision.policies
        .filter(({ unit }) => unit !== 'call')
        .map(({ unit, cost }) => [unit, Math.round(cost * used)])
      return decision.settle(Object.fromEntries(actual))
    }),
  )
  expect(settled).toEqual(settled.map(() => settled[0]))
}
