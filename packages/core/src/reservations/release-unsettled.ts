import type { Limiter, PlanName } from '../limiter/limiter.ts'
import type { ResolvedEntry } from '../limiter/resolve.ts'
import type { LuaMarkKind, LuaOperationKind } from '../lua/twins.ts'
import type { Operation, StateMap, StoreRequest } from '../stores/store.ts'
import type { Subject } from '../subject.ts'
import { systemClock } from '../clock.ts'
import { runInBackground } from '../internal/background.ts'
import { assertSubject } from '../limiter/call.ts'
import { decide } from '../limiter/decide.ts'
import { runtimeOf, type LimiterRuntime } from '../limiter/runtime.ts'
import { releasedSubject } from '../limiter/unknown-request.ts'
import { argument, KEY_BEFORE_LAST } from '../lua/expressions.ts'
import { CLOCK } from '../lua/program.ts'
import { KEPT, LATE_MS, noteCharge, writeMark, type Unsettled } from './mark.ts'
import { chargeOf, markKey, parseReservation, type ReservationData } from './reservation-data.ts'
import { settle } from './settle.ts'
import { settleWithRetry } from './settle-with-retry.ts'
import { startTelling } from './telling.ts'

/** The most reservations that one sweep releases. */
const MAX_SWEPT = 64

/**
 * Has a reservation given back if it is not settled in time: its holder has died. The next reservation of the
 * partition that would be denied finds it, and so does `sweepUnsettled`. If the holder settles after that,
 * what was used is charged then, as an overrun.
 *
 * Costs two commands more to reserve, one more to settle, and a round trip before a denial.
 *
 * @example
 * const unsettled = release()
 * await reserve(limiter, { tenant: 'acme' }, { cost: { token: 2_000 }, settleWithin: '2m', unsettled })
 */
export const release = (): Unsettled => RELEASE

/**
 * Releases the reservations of the subject's partition that were made with `release` and not settled in time.
 * Returns their number, at most 64.
 *
 * @throws InputError When the subject is no object, or lacks a dimension.
 * @throws StoreError When the store fails.
 * @example
 * const released = await sweepUnsettled(limiter, { tenant: 'acme' })
 */
export async function sweepUnsettled<
  Dimension extends string,
  Unit extends string,
  Plan extends string,
  const Literal extends string,
>(
  limiter: Limiter<Dimension, Unit, Plan>,
  subject: Subject<NoInfer<Dimension>, PlanName<Literal, NoInfer<Plan>>>,
): Promise<number> {
  assertSubject(subject)
  const runtime = runtimeOf(limiter)
  const cost = Object.fromEntries([...runtime.program.units].map((unit) => [unit, 0]))
  const { entries } = await decide(runtime, { subject, cost, apply: false, waitUntil: undefined })
  return entries.length > 0 ? RELEASE.sweep(runtime, entries, { subject, waitUntil: undefined }) : 0
}

/** The entry whose partition has a list: of a budget rather than of requests. */
const listed = (entries: readonly ResolvedEntry[]): ResolvedEntry =>
  (entries.find(({ policy: { unit } }) => unit !== 'request') ?? entries[0]) as ResolvedEntry

const RELEASE: Unsettled = {
  mark(id, entries, settleWithinMs, ttlMs) {
    const openKey = RELEASE.openKey(entries)
    const charges = entries.map((entry) => chargeOf(entry))
    const reservation: ReservationData = { id, madeIn: 'store', settleBy: 0, charges, openKey }
    return {
      kind: RELEASED_LATER,
      keys: [openKey, markKey(id)],
      data: { ttlMs: ttlMs + LATE_MS, settleWithinMs, reservation },
    }
  },

  openKey(entries) {
    const { key, policy } = listed(entries)
    return `open:${policy.stripes > 1 ? key.replace(/:\d+\/\d+$/, '') : key}`
  },

  async sweep(runtime, entries, { subject, waitUntil }) {
    const due = await runtime.store.run(findDue(runtime, RELEASE.openKey(entries)))
    const origin = {
      subject: releasedSubject(subject, listed(entries).policy),
      plan: undefined,
      at: runtime.clock(),
      limits: Object.fromEntries(
        entries.map(({ policy, policyLimit }) => [policy.name, policyLimit]),
      ),
    }
    const swept = due.map((found) => {
      const data = { ...found, origin }
      const telling = startTelling()
      const attempt = () => settle(data, runtime, () => 0, telling, true)
      return attempt().catch((error: unknown) => {
        // Nobody else finds it in the list, so only this process can tell listeners that it is released.
        if (runtime.events.settled) runInBackground(settleWithRetry(attempt), waitUntil)
        throw error
      })
    })
    return (await Promise.all(swept)).filter(({ applied }) => applied).length
  },
}

interface Open {
  readonly ttlMs: number
  readonly settleWithinMs: number
  readonly reservation: ReservationData
}

export const RELEASED_LATER: LuaMarkKind<Open> = {
  name: 'release',
  releases: true,
  write(mark, states, marked, now) {
    const { ttlMs, settleWithinMs, reservation } = mark.data
    KEPT.write({ ...mark, kind: KEPT, data: ttlMs }, states, marked, now)
    const [openKey = ''] = mark.keys
    const open = openIn(states, openKey, now)
    open.set(reservation.id, { dueAt: now + settleWithinMs, data: reservation })
    states.set(openKey, { state: { open }, expiresAt: now + ttlMs })
  },
  lua: {
    keyCount: 2,
    argCount: 3,
    args: ({ data: { ttlMs, settleWithinMs, reservation } }) => [
      String(ttlMs),
      String(settleWithinMs),
      JSON.stringify(reservation),
    ],
    note: noteCharge,
    write(firstArg) {
      const [ttl, settleWithin, reservation] = [0, 1, 2].map((at) => argument(firstArg + at))
      return `${writeMark(ttl as string)}
redis.call('HSET', ${KEY_BEFORE_LAST}, id, string.format('%.0f:', now + ${settleWithin}) .. ${reservation})
redis.call('PEXPIRE', ${KEY_BEFORE_LAST}, ${ttl} + slack)`
    },
  },
}

interface OpenReservation {
  readonly dueAt: number
  readonly data: ReservationData
}

function openIn(states: StateMap, key: string, now: number): Map<string, OpenReservation> {
  const list = states.get(key, now) as { open: Map<string, OpenReservation> } | undefined
  return list?.open ?? new Map()
}

/** Creates the operation that finds the reservations of a list that were not settled in time. */
const findDue = (
  { clock, clockIsInjected }: LimiterRuntime,
  openKey: string,
): Operation<readonly ReservationData[], Due> => ({
  kind: FIND_DUE,
  keys: [openKey],
  data: { now: clock(), clockIsInjected },
  startedAt: systemClock(),
})

type Due = Pick<StoreRequest, 'now' | 'clockIsInjected'>

export const FIND_DUE: LuaOperationKind<readonly ReservationData[], Due> = {
  name: 'find due',
  run: (states, { keys: [openKey = ''], data: { now } }) =>
    [...openIn(states, openKey, now).values()]
      .filter(({ dueAt }) => dueAt <= now)
      .slice(0, MAX_SWEPT)
      .map(({ data }) => data),
  lua: {
    script: () => FIND_DUE_SCRIPT,
    args: ({ now, clockIsInjected }) => [String(now), clockIsInjected ? 'injected' : 'own'],
    parse: (reply) =>
      Array.isArray(reply) && reply.every((text) => typeof text === 'string')
        ? { result: reply.map((text) => parseReservation(text)) }
        : undefined,
  },
}

const FIND_DUE_SCRIPT = `${CLOCK}local due, rows = {}, redis.call('HVALS', KEYS[1])
for _, row in ipairs(rows) do
  local time, data = string.match(row, '^(%d+):(.*)$')
  if time and tonumber(time) <= now and #due < ${MAX_SWEPT} then due[#due + 1] = data end
end
return due
`
