import { createLimiter, manualClock, slidingWindow, type Store } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { adaptiveLimit } from '@sluice/core/upstream'
import { describe, expect, it } from 'vitest'
import { withPending } from '../../support/pending-store.ts'
import { ownRedisOverHttp } from '../../support/running-redis.ts'
import { NOON } from '../../support/times.ts'
import { OUTCOMES } from './outcomes.ts'

const policies = [slidingWindow({ name: 'calls', limit: 50, window: '1s', per: 'global' })]

/** An isolate, of which a call takes 100 ms. */
function isolateOf(store: Store, clock = manualClock(NOON)) {
  const model = adaptiveLimit({ policy: 'calls', min: 5 })
  const limiter = createLimiter({ store, clock, policies, extensions: [model] })
  async function call(outcome: unknown): Promise<void> {
    const made = async (): Promise<unknown> => {
      clock.advance(100)
      if (outcome instanceof Error) throw outcome
      return outcome
    }
    await model.observe(made).catch(() => {})
  }
  const answer = (status: number, headers?: HeadersInit) =>
    call(new Response(null, { status, ...(headers && { headers }) }))
  async function run(seconds: number, outcome: () => Promise<void>): Promise<void> {
    for (let made = 0; made < seconds * 10; made += 1) {
      await limiter.check({}, { cost: Math.max(1, Math.floor(model.limit / 10)) })
      await outcome()
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  return { model, limiter, clock, call, answer, run }
}

/** The sign of an outcome, by the change of the limit. */
const SAYS = {
  well: (before: number, after: number) => after >= before,
  fails: (before: number, after: number) => after < before,
  nothing: (before: number, after: number) => after === before,
}

describe.each(OUTCOMES)('an outcome that is %s', (_, outcome, says) => {
  it(`says: ${says}`, async () => {
    const { model, run, call, answer } = isolateOf(memory())
    await run(20, () => answer(200))
    const before = model.limit
    expect(before).toBeGreaterThan(10)
    await run(8, () => call(outcome))
    expect(SAYS[says](before, model.limit)).toBe(true)
  })
})

it('learns nothing from calls that their callers have aborted', async () => {
  const { model, run, answer, clock } = isolateOf(memory())
  await run(20, () => answer(200))
  const before = model.limit
  const signal = AbortSignal.abort('Error: aborted')
  await run(8, async () => {
    const left = model.observe(
      () => {
        clock.advance(100)
        return Promise.reject(signal.reason)
      },
      { signal },
    )
    await left.catch(() => {})
  })
  expect(model.limit).toBe(before)
})

it('returns what the call returns, and throws what it throws', async () => {
  const { model } = isolateOf(memory())
  const response = new Response('hello')
  expect(await model.observe(async () => response)).toBe(response)
  const error = new Error('theirs')
  await expect(model.observe(() => Promise.reject(error))).rejects.toBe(error)
})

it('starts anew from a record that it cannot read', async () => {
  const store = memory()
  const clock = manualClock(NOON)
  const before = isolateOf(store, clock)
  await before.run(20, () => before.answer(200))
  const write = { key: 'adaptive:calls', set: { state: '1,2,nonsense' } }
  const { writeOperation } = await import('../../../packages/core/dist/limiter/records.js')
  await store.run(writeOperation({ writes: [write], now: clock(), clockIsInjected: true }))
  const after = isolateOf(store, clock)
  await after.run(1, () => after.answer(200))
  expect(after.model.limit).toBe(5)
  await after.run(20, () => after.answer(200))
  expect(after.model.limit).toBeGreaterThan(10)
})

it('an instance that decides nothing, as a route beside a proxy, shares what its calls show', async () => {
  const store = memory()
  const clock = manualClock(NOON)
  const proxy = isolateOf(store, clock)
  const route = isolateOf(store, clock)
  for (let second = 0; second < 60; second += 1) {
    await proxy.limiter.check({})
    for (let call = 0; call < 10; call += 1) await route.answer(200)
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(proxy.model.limit).toBeGreaterThan(5)
})

/** The commands of an isolate's first decision, beside those of others. */
const FIRST = 3

// Every command on this Redis is counted, so it is shared with nobody.
const own = ownRedisOverHttp()

it('costs one command a second to read, on the way of a decision, and four to write', async () => {
  const plain = createLimiter({ store: own.store(), policies, clock: manualClock(NOON) })
  const { store, settled } = withPending(own.store())
  const { limiter, clock, answer } = isolateOf(store)
  const decide = () => limiter.check({})
  const costOf = async (act: () => Promise<unknown>) => {
    const before = own.local.requests
    const { total } = await own.meter.measure(act)
    return [own.local.requests - before, total]
  }
  await plain.check({})
  const bare = await costOf(() => plain.check({}))
  // The first decision of an isolate loads the record.
  expect(await costOf(decide)).toEqual([bare[0]! + 1, bare[1]! + FIRST])
  clock.advance(100)
  expect(await costOf(decide)).toEqual(bare)
  clock.advance(1_000)
  expect(await costOf(decide)).toEqual([bare[0]!, bare[1]! + 1])
  const writeOnce = async () => {
    for (let call = 0; call < 15; call += 1) await answer(200)
    return costOf(async () => {
      await decide()
      await settled()
    })
  }
  // Loads the script that writes.
  await writeOnce()
  const [trips, commands] = await writeOnce()
  expect([trips! - bare[0]!, commands! - bare[1]! - 1]).toEqual([1, 4])
})
