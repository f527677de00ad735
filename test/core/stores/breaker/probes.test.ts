import type { Store, StoreError } from '@sluice/core'
import { breaker } from '@sluice/core/breaker'
import { partitionRecords, runtimeConfiguration } from '@sluice/core/configuration'
import { describe, expect, it, vi } from 'vitest'
import { NOON } from '../../../support/times.ts'
import { FaultyStore, pass, setUpBreaker, stopDates, unreachable } from './support.ts'

stopDates()

const rest = 'store_unreachable'
const paused = 'store_paused'

const write = { kind: { name: 'write', run: () => 'written' }, keys: [], data: {}, startedAt: NOON }

/** The causes of 50 decisions at the same moment, each counted. */
async function causesOfFifty(cause: (tenant: string) => Promise<string | undefined>) {
  const causes = await Promise.all(Array.from({ length: 50 }, (_, index) => cause(`t${index}`)))
  const counts: Record<string, number> = {}
  for (const one of causes) counts[one ?? 'none'] = (counts[one ?? 'none'] ?? 0) + 1
  return counts
}

const allow = { hourly: ['limit'] } as const

describe('after each pause', () => {
  it.each([
    ['the configuration', runtimeConfiguration({ allow })],
    ['the settings of partitions', runtimeConfiguration({ allow, partitions: partitionRecords() })],
  ])('a decision that tries may read %s, and is made by the store', async (_, extension) => {
    const { store, cause, open } = setUpBreaker({ extensions: [extension] })
    await open()
    store.error = undefined
    pass(1_000)
    expect(await cause('new')).toBeUndefined()
  })

  it('one of 50 decisions at the same moment tries the store', async () => {
    const { store, cause, open } = setUpBreaker()
    await open()
    for (let probes = 1; probes <= 3; probes += 1) {
      pass(1_000)
      expect(await causesOfFifty(cause)).toEqual({ [rest]: 1, [paused]: 49 })
      expect(await causesOfFifty(cause)).toEqual({ [paused]: 50 })
      expect(store.calls).toHaveLength(probes)
    }
    store.error = undefined
    pass(1_000)
    expect(await causesOfFifty(cause)).toEqual({ none: 1, [paused]: 49 })
    expect(await causesOfFifty(cause)).toEqual({ none: 50 })
  })

  it('a try that fails begins a whole pause', async () => {
    const { store, cause, open } = setUpBreaker()
    await open()
    pass(1_000)
    const held = store.holdNext()
    const probe = cause()
    const { fail } = await held
    pass(700)
    fail()
    expect(await probe).toBe(rest)
    pass(999)
    expect(await cause()).toBe(paused)
    pass(1)
    expect(await cause()).toBe(rest)
    expect(store.calls).toHaveLength(2)
  })

  it.each<[string, (store: Store) => Promise<unknown>]>([
    ['reset', (store) => store.reset([])],
    ['write', (store) => store.run(write)],
  ])('a %s is paused, and one that tries and fails begins a whole pause', async (_, call) => {
    const store = new FaultyStore()
    const guarded = breaker(store, { failures: 1 })
    store.error = unreachable()
    const codeOf = () => call(guarded).catch(({ code }: StoreError) => code)
    expect([await codeOf(), await codeOf()]).toEqual([rest, paused])
    pass(1_000)
    const held = store.holdNext()
    const probe = codeOf()
    const { fail } = await held
    pass(700)
    fail()
    expect(await probe).toBe(rest)
    pass(999)
    expect(await codeOf()).toBe(paused)
    expect(store.calls).toHaveLength(2)
    pass(1)
    expect(await codeOf()).toBe(rest)
  })

  it('a try that never comes back is followed by the next', async () => {
    const { store, cause, open } = setUpBreaker()
    await open()
    store.error = undefined
    pass(1_000)
    const held = store.holdNext()
    void cause()
    await held
    pass(999)
    expect(await cause()).toBe(paused)
    pass(1)
    expect(await cause()).toBeUndefined()
    expect(await causesOfFifty(cause)).toEqual({ none: 50 })
  })

  it('a read tries the store, too', async () => {
    const { limiter, store, cause, open } = setUpBreaker()
    await open()
    store.error = undefined
    pass(1_000)
    expect((await limiter.peek({ tenant: 'acme' })).degraded).toBeUndefined()
    expect(await cause()).toBeUndefined()
  })
})

describe('a clock that is set', () => {
  it.each([
    ['a day back', -86_400_000],
    ['a second back', -1_000],
    ['a moment back', -1],
  ])('%s does not make the pause longer than pauseMs', async (_, ms) => {
    const { store, cause, open } = setUpBreaker()
    await open()
    pass(ms)
    expect(await cause()).toBe(paused)
    pass(999)
    expect(await cause()).toBe(paused)
    pass(1)
    expect(await cause()).toBe(rest)
    expect(store.calls).toHaveLength(1)
  })

  it('on ends the pause, and the next pause is as long as ever', async () => {
    const { cause, open } = setUpBreaker()
    await open()
    vi.setSystemTime(NOON + 86_400_000)
    expect([await cause(), await cause()]).toEqual([rest, paused])
    pass(1_000)
    expect(await cause()).toBe(rest)
  })
})

describe('a late outcome', () => {
  it('of a call from before the breaker opened does not close it', async () => {
    const { store, cause, open } = setUpBreaker()
    const held = store.holdNext()
    const early = cause()
    const { succeed } = await held
    await open()
    succeed()
    expect(await early).toBeUndefined()
    expect(await cause()).toBe(paused)
  })

  it('of a call from before it opened does not prolong the pause', async () => {
    const { store, cause, open } = setUpBreaker()
    const held = store.holdNext()
    const early = cause()
    const { fail } = await held
    await open()
    pass(500)
    fail()
    expect(await early).toBe(rest)
    pass(500)
    expect(await cause()).toBe(rest)
  })

  it('of a call from before it opened does not open it again after it has closed', async () => {
    const { store, cause, open } = setUpBreaker({ failures: 1 })
    const held = store.holdNext()
    const early = cause()
    const { fail } = await held
    await open()
    store.error = undefined
    pass(1_000)
    expect(await cause()).toBeUndefined()
    fail()
    expect(await early).toBe(rest)
    expect(await cause()).toBeUndefined()
  })

  it('of a try does not open it again after another has closed it', async () => {
    const { store, cause, open } = setUpBreaker({ failures: 1 })
    await open()
    pass(1_000)
    const held = store.holdNext()
    const first = cause()
    const { fail } = await held
    store.error = undefined
    pass(1_000)
    expect(await cause()).toBeUndefined()
    fail()
    expect(await first).toBe(rest)
    expect(await cause()).toBeUndefined()
  })

  it('of a try that succeeds closes it, also if the next has failed: answers may take longer than a pause', async () => {
    const { store, cause, open } = setUpBreaker()
    await open()
    pass(1_000)
    const held = store.holdNext()
    const slow = cause()
    const { succeed } = await held
    store.error = unreachable()
    pass(1_000)
    expect(await cause()).toBe(rest)
    store.error = undefined
    succeed()
    expect(await slow).toBeUndefined()
    expect(await cause()).toBeUndefined()
  })

  it('of calls at the same moment counts up to the one that opens it', async () => {
    const { store, cause } = setUpBreaker({ failures: 3 })
    store.error = unreachable()
    expect(await causesOfFifty(cause)).toEqual({ [rest]: 50 })
    store.error = undefined
    expect(await cause()).toBe(paused)
    pass(1_000)
    expect(await cause()).toBeUndefined()
  })
})
