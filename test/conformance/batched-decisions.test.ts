import { createLimiter, manualClock, type Decision, type Limiter } from '@sluice/core'
import { batched } from '@sluice/core/batched'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { keysUnder } from '../support/redis.ts'
import { ownRedis } from '../support/running-redis.ts'
import { freshPrefix } from '../support/stores.ts'
import { events, moved, start, type Event } from './model/history.ts'
import { costOf, put } from './model/replay.ts'
import { policiesOf, rules, type Rule } from './model/rules.ts'

const SEED = 20_260_118
const LIMITERS = 150
/** In Redis keys expire by the real clock: windows long enough for a history to end well before. */
const REDIS_LEAST_MS = 10_000

/** The id of a request: that of the process, and a number. */
const ID = /(?<![0-9a-z])(?=\d*[a-z])[0-9a-z]{14,}/g

const own = ownRedis()

/** Requests of one moment: all are checks and peeks, or all reservations, which may be settled afterwards. */
interface Moment {
  readonly requests: readonly Event[]
  /** The clock's steps before each request. */
  readonly skewMs: readonly number[]
  readonly reserves: boolean
  readonly isSettled: boolean
}

const moments: fc.Arbitrary<readonly Moment[]> = fc.array(
  fc.record({
    requests: events(12),
    skewMs: fc.array(fc.constantFrom(0, 0, 0, 0, 1, -1, 300), { minLength: 12, maxLength: 12 }),
    reserves: fc.constantFrom(false, false, true),
    isSettled: fc.boolean(),
  }),
  { minLength: 1, maxLength: 5, size: 'max' },
)

type Answer = Decision | Awaited<ReturnType<typeof reserve>>

/** All that may differ is left out: who answered, and the ids of requests. */
const comparable = (answer: Answer): unknown =>
  JSON.parse(
    JSON.stringify(answer, (name, value: unknown) =>
      name === 'id' || name === 'source' || name === 'madeIn' ? undefined : value,
    ),
  )

/** Lives through the moments with requests that wait for each other, or that do not. */
async function answersOf(
  limiter: Limiter,
  clock: ReturnType<typeof manualClock>,
  list: readonly Rule[],
  {
    startMs,
    history,
    isTogether,
  }: { startMs: number; history: readonly Moment[]; isTogether: boolean },
): Promise<unknown[]> {
  clock.set(startMs)
  const told = { retryAt: startMs, resetAt: startMs }
  const answers: Answer[] = []
  const settled: unknown[] = []
  for (const { requests, skewMs, reserves, isSettled } of history) {
    const [{ step }] = requests as [Event]
    const now = moved(clock(), step, list, told)
    const decisions: Promise<Answer>[] = []
    for (const [index, { ask, apply }] of requests.entries()) {
      clock.set(now + (skewMs[index] ?? 0))
      const { tenant, route } = ask
      const cost = costOf(ask, list)
      const answer: Promise<Answer> = reserves
        ? reserve(limiter, { tenant, route }, { cost })
        : put(limiter, { ...ask, cost }, apply)
      decisions.push(answer)
      if (!isTogether) await answer
    }
    clock.set(now)
    for (const decision of await Promise.all(decisions)) {
      answers.push(decision)
      if (!decision.allowed && decision.retryAfterMs !== null) {
        told.retryAt = now + decision.retryAfterMs
      }
      if (isSettled && 'settle' in decision) {
        settled.push(await decision.settle({ request: 1 }))
      }
    }
  }
  return [...answers.map(comparable), ...settled]
}

/** All that is stored under a prefix, without the ids of requests, and the life of each key to ten minutes. */
async function stateUnder(prefix: string): Promise<string[]> {
  const state: string[] = []
  for (const key of await keysUnder(own.redis, prefix)) {
    const isText = (await own.redis.type(key)) === 'string'
    const value = isText ? await own.redis.get(key) : await membersOf(key)
    const tensOfMinutes = Math.round((await own.redis.pttl(key)) / 600_000)
    state.push(JSON.stringify([key.slice(prefix.length), value, tensOfMinutes]).replace(ID, 'id'))
  }
  return state.toSorted()
}

/** The members of a set by their scores. Ids decide the order of equal scores. */
async function membersOf(key: string): Promise<string[]> {
  const rows = await own.redis.zrange(key, 0, -1, 'WITHSCORES')
  const members = rows.flatMap((text, at) => (at % 2 === 1 ? [] : [`${rows[at + 1]} ${text}`]))
  return members.map((text) => text.replace(ID, 'id')).toSorted()
}

it(`${LIMITERS} limiters decide the requests of a moment in one call as one after another, and leave the same counts`, async () => {
  let together = 0
  const property = fc.asyncProperty(
    rules(REDIS_LEAST_MS),
    start,
    moments,
    async (list, startMs, history) => {
      const clock = manualClock(startMs)
      const policies = policiesOf(list)
      const [alone, joint] = [freshPrefix(), freshPrefix()]
      const store = batched(own.store(joint))
      const run = (given: Parameters<typeof createLimiter>[0]['store'], isTogether: boolean) =>
        answersOf(createLimiter({ store: given, policies, clock }), clock, list, {
          startMs,
          history,
          isTogether,
        })
      const expected = await run(own.store(alone), false)
      expect(await run(store, true)).toEqual(expected)
      expect(await run(memory(), false)).toEqual(expected)
      expect(await stateUnder(joint)).toEqual(await stateUnder(alone))
      together += history.filter(({ requests }) => requests.length > 1).length
      await own.redis.flushall()
    },
  )
  await fc.assert(property, { seed: SEED, numRuns: LIMITERS })
  expect(together).toBeGreaterThan(LIMITERS)
}, 400_000)
