/* The steps of callers: each function is one call of an app, from its request to its end. */
import type { Decision } from '@sluice/core'
import type { ReservationData } from '@sluice/core/reservations'
import type { Call } from './judges/caller-judge.ts'
import { isBeside, isBucket, type Rule } from './judges/rules.ts'
import { lookAtBalance, pay } from './credit-calls.ts'
import { viaGuard, viaModel } from './http-calls.ts'
import type { Limiter } from './limiters.ts'
import type { Process } from './process.ts'
import type { Random } from './random.ts'
import type { World } from './world.ts'

export const CALLS = {
  check: 40,
  peek: 4,
  reserve: 40,
  http: 8,
  model: 8,
  reset: 0.3,
  sweep: 1,
  configure: 1,
}

/** The calls of an app whose requests wait. */
export const WAITING_CALLS = { ...CALLS, wait: 60 }

/** The calls of an app that sells credits, beside these. */
export const CREDIT_CALLS = { grant: 12, balance: 3 }

export type CallKind = keyof typeof WAITING_CALLS | keyof typeof CREDIT_CALLS

/** Everything that a call needs. */
export interface Scene {
  readonly world: World
  readonly process: Process
  readonly limiter: Limiter
  readonly rules: readonly Rule[]
  readonly random: Random
  readonly call: Call
  readonly subject: { tenant: string; route: string; plan?: string }
  readonly cost: Record<string, number>
}

type Decided = Decision & {
  readonly settle?: (used: Record<string, number>) => Promise<Outcome>
  readonly cancel?: () => Promise<Outcome>
  readonly toJSON?: () => ReservationData
}

type Outcome = { readonly applied: boolean; readonly why?: string }

/** The most round trips of a reservation: it may look for what dead holders have left, and ask again. */
const RESERVE_TRIPS = 4

export async function act(kind: CallKind, given: Omit<Scene, 'cost'>): Promise<void> {
  const { world, limiter, rules, random, call, subject } = given
  const cost = costOf(rules, random)
  const scene = { ...given, cost }
  try {
    if (kind === 'check' || kind === 'peek') {
      const list = choicesOf(scene)
      const options = list ? { choices: given.process.product.choices(list) } : { cost }
      const decision = await limiter[kind](subject, options)
      world.decided(call, decision, list?.length ?? 1)
      const chosen = list?.[decision.choice ?? 0]
      const made = { ...call, subject: { ...subject, ...chosen?.subject } }
      if (kind === 'check') world.callers.serve(made, decision, rules, chosen?.cost ?? cost)
    } else if (kind === 'wait') await wait(scene)
    else if (kind === 'http') await viaGuard(scene)
    else if (kind === 'model') await viaModel(scene)
    else if (kind === 'grant') await pay(scene)
    else if (kind === 'balance') await lookAtBalance(scene)
    else if (kind === 'configure') await configure(scene)
    else if (kind === 'reset') {
      world.callers.reset(call)
      await limiter.reset(subject)
    } else if (kind === 'sweep')
      await scene.process.product.reservations.sweepUnsettled(limiter, subject)
    else await reserve(scene, cost)
  } catch (error) {
    world.note(`${call.number} threw ${(error as Error).message}`)
    world.callers.threw(call, error)
  }
}

/** The most decisions and calls of a request that waits. */
const [WAIT_DECISIONS, WAIT_CALLS] = [6, 12]

/** Waits until it fits, unless the client hangs up before. */
async function wait({ world, process, limiter, rules, random, call, subject, cost }: Scene) {
  if (!rules.some(({ kind }) => kind === 'line')) return
  const waitMs = random.pick([1_000, 4_000, 20_000])
  const hangUp = new AbortController()
  if (random.chance(0.1)) world.scheduler.after(random.gap(2_000), () => hangUp.abort())
  const onWaited = ({ looks }: { looks: number }): void => {
    if (looks > 5) world.accuse(`looked ${looks} times`)
  }
  const { signal } = hangUp
  const patient = process.product.waiting.waitFor(limiter, waitMs, { signal, onWaited })
  const decision = await patient.check(subject, { cost })
  world.decided(call, decision, WAIT_CALLS, waitMs)
  world.callers.serve(call, decision, rules, cost)
  const most = WAIT_DECISIONS * (world.setting.configures || world.setting.looksUpPlans ? 2 : 1)
  if (call.made.length > most) world.accuse(`decided ${call.made.length} times`)
}

/** Changes a limit of everyone or of one tenant, or takes the change back. */
async function configure({
  world,
  process,
  limiter,
  rules,
  random,
  subject,
}: Scene): Promise<void> {
  const changeable = rules.filter(mayBeConfigured)
  if (!world.setting.configures || changeable.length === 0) return
  const rule = random.pick(changeable)
  const limit = random.whole(0, 40) * (rule.unit === 'token' ? 100 : 1)
  const change = { [rule.name]: random.chance(0.3) ? null : { limit } }
  world.judge.allowLimit(rule.name, limit)
  const { configure: change_ } = process.product.configuration
  if (rule.per === 'global' || random.chance(0.5)) await change_(limiter, change)
  else await change_(limiter, change, subject)
}

/** A bucket's judge knows one limit only; what is leased is counted apart. */
export const mayBeConfigured = (rule: Rule): boolean =>
  !isBucket(rule) &&
  rule.leaseMs === 0 &&
  rule.kind !== 'slots' &&
  rule.kind !== 'credits' &&
  !isBeside(rule)

async function reserve(scene: Scene, cost: Record<string, number>): Promise<void> {
  const { world, process, limiter, rules, random, call, subject } = scene
  const { settleWithinMs, releases } = world.setting
  const { reservations } = process.product
  const fits = random.chance(0.3) && rules.some(({ unit }) => unit === 'token' || unit === 'usd')
  const rangeOf = () =>
    reservations.fitRange({
      floor: random.whole(1, 20),
      most: random.whole(20, 400),
      rates: Object.fromEntries(
        unitsOf(rules)
          .filter((unit) => unit === 'token' || unit === 'usd')
          .map((unit) => [unit, random.pick([1_000_000, 2_500_000, 150_000])]),
      ),
    })
  const list = choicesOf(scene)?.map((one) => Object.assign(one, fits && { fit: rangeOf() }))
  const decision = (await reservations.reserve(limiter, subject, {
    ...(list
      ? { choices: process.product.choices(list) }
      : { cost, ...(fits && { fit: rangeOf() }) }),
    settleWithin: `${settleWithinMs}ms`,
    ...(releases && { unsettled: reservations.release() }),
    ...(random.chance(0.1) && { maxShare: 0.5 }),
  } as never)) as Decided
  world.decided(call, decision, RESERVE_TRIPS * (list?.length ?? 1))
  if (!decision.allowed || !decision.settle || !decision.toJSON) return
  const data = decision.toJSON()
  if (!decision.degraded) world.reserved(call, data)
  await finish(scene, decision, data)
}

/** A model call takes its time, and ends in one of many ways. */
async function finish(
  { world, random, call, limiter, rules, process }: Scene,
  decision: Decided,
  data: ReturnType<NonNullable<Decided['toJSON']>>,
): Promise<void> {
  const { settleWithinMs } = world.setting
  const ending = random.weighted({
    settle: 10,
    cancel: 2,
    crash: 2,
    repeat: 2,
    late: 1,
    elsewhere: 1,
  })
  const isLate = ending === 'late'
  await world.wait(process, isLate ? settleWithinMs + random.gap(settleWithinMs) : random.gap(300))
  if (ending === 'crash' || process.isDead) {
    world.callers.tally.crashed += 1
    return
  }
  const sells = rules.some(({ kind }) => kind === 'credits')
  // Some calls of an app that sells credits leave a debt.
  const share = random.pick(sells ? [0, 0.3, 1, 1.5, 8] : [0, 0.3, 1, 1, 1.5])
  const used: Record<string, number> = {}
  for (const { unit, cost } of decision.policies) used[unit] = Math.floor(cost * share)
  const settle = (): Promise<Outcome> =>
    ending === 'cancel'
      ? decision.cancel!()
      : ending === 'elsewhere'
        ? process.product.reservations
            .reservation(limiter, JSON.parse(JSON.stringify(data)))
            .settle(used)
        : decision.settle!(used)
  const times = ending === 'repeat' ? 2 : 1
  const settling = { ...call, kind: 'settle' }
  for (let time = 0; time < times; time += 1) {
    try {
      const { applied, why } = await settle()
      world.note(`${call.number} settled ${data.id}: ${applied} ${why ?? ''}`)
      // One that was made without the store may have to be settled in both places.
      if (!decision.degraded)
        world.settled(data.id, applied, ending === 'cancel' ? nothingOf(used) : used)
    } catch (error) {
      world.note(`${call.number} settle threw ${(error as Error).message}`)
      if (world.objects)
        world.callers.reservations.unsure(data.id, ending === 'cancel' ? nothingOf(used) : used)
      world.callers.threw(settling, error)
    }
  }
}

const nothingOf = (used: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(Object.keys(used).map((unit) => [unit, 0]))

const unitsOf = (rules: readonly Rule[]): string[] => [...new Set(rules.map(({ unit }) => unit))]

/** The choices of a call, if it has any: routes in an order of preference, each at a cost of its own. */
function choicesOf({ world, rules, random }: Scene) {
  const { chooses, routes } = world.setting
  if (!chooses || !random.chance(0.4)) return undefined
  return Array.from({ length: random.whole(1, 4) }, () => ({
    subject: { route: random.pick(routes) },
    cost: costOf(rules, random),
  }))
}

/** Mostly one request; sometimes nothing, several, or what is above a limit. */
function costOf(rules: readonly Rule[], random: Random): Record<string, number> {
  const cost: Record<string, number> = {}
  for (const unit of unitsOf(rules)) {
    if (unit === 'request') cost[unit] = random.pick([1, 1, 1, 1, 2, 3, 0])
    else if (unit === 'call') cost[unit] = random.pick([1, 1, 1, 0])
    else {
      const most = Math.max(
        10,
        ...rules
          .filter((rule) => rule.unit === unit)
          .map(({ limit, burst }) =>
            Math.max(burst, typeof limit === 'number' ? limit : (limit['pro'] ?? 0)),
          ),
      )
      cost[unit] = random.whole(0, Math.ceil(most * random.pick([0.1, 0.1, 0.3, 1.1])))
    }
  }
  return cost
}
