import { concurrency, createLimiter, dailyCap, type Policy, type Store } from '@sluice/core'
import { limitedQueue, work, type Job, type WorkOptions } from '@sluice/queue'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { PATIENTLY } from '../support/patience.ts'
import { storesOf, STORES_TO_TEST } from '../support/stores.ts'
import { NOON } from '../support/times.ts'

const acme = { tenant: 'acme' }
const LEASE_MS = 600_000

const units = dailyCap({ name: 'daily', limit: 100, per: ['tenant'], unit: 'token' })
const slots = concurrency({ name: 'inFlight', limit: 5, per: ['tenant'], maxDuration: '1d' })

/** A promise, and the function that resolves it. */
function signal() {
  let resolved: (() => void) | undefined
  const told = new Promise<void>((resolve) => {
    resolved = resolve
  })
  return { tell: () => resolved?.(), told }
}

/** A clock that decides in every store, also in one with its own: time passes when a test says so. */
const clock = (): number => Date.now()

/** A process with a queue on a store. */
function open(store: Store, policies: Policy[]) {
  const limiter = createLimiter({ store: wrapped(store), policies, clock })
  const queue = limitedQueue(limiter, { name: 'q', lease: `${LEASE_MS}ms`, backoff: '1ms' })
  const left = async () => {
    const { policies: states } = await limiter.peek(acme, { cost: { token: 0 } })
    return states.map(({ remaining }) => remaining)
  }
  const add = (options = {}) =>
    queue.add('data', { subject: acme, cost: { token: 10 }, ...options })
  const run = (
    handle: (job: Job<unknown>) => Promise<{ token: number } | void>,
    options: WorkOptions = {},
  ) => work(queue, handle, { lookEvery: '1h', ...options })
  return { add, left, run }
}

/** Another object for the same store: a process hears of its own jobs alone. */
const wrapped = (store: Store): Store => ({
  check: (request) => store.check(request),
  run: (operation) => store.run(operation),
  reset: (keys) => store.reset(keys),
  accept: (policies) => store.accept?.(policies),
})

/** A store that keeps its first claim back until `go` is called, and tells when its worker has reported thereafter. */
function late(store: Store) {
  const [claimed, go, reported] = [signal(), signal(), signal()]
  let turns = 0
  const run: Store['run'] = async (operation) => {
    const result = await store.run(operation)
    if (operation.kind.name !== 'queue.turn') return result
    turns += 1
    if (turns > 1) reported.tell()
    else {
      claimed.tell()
      await go.told
    }
    return result
  }
  return {
    store: { ...wrapped(store), run },
    claimed: claimed.told,
    go: go.tell,
    reported: reported.told,
  }
}

const passTime = (ms: number): void => void vi.setSystemTime(Date.now() + ms)

const isOfTenant = (name: string): boolean => name.startsWith('durable objects')

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: NOON }))
afterEach(() => void vi.useRealTimers())

describe.each(STORES_TO_TEST.filter((name) => !isOfTenant(name)))('in %s', (name) => {
  const store = storesOf(name)

  describe.each<[string, Policy[], number[]]>([
    ['units', [units], [96]],
    ['units and calls in flight', [units, slots], [96, 5]],
  ])('a job that costs %s', (_, policies, rest) => {
    it.each([
      ['has reserved itself', 0],
      ['has taken over from an attempt that failed', 1],
      ['has taken over from the second attempt that failed', 2],
    ])('is charged once if its worker was cut off with what it %s', async (__, failures) => {
      const shared = store()
      const [one, other] = [open(shared, policies), open(shared, policies)]
      await one.add()
      const [begun, done, taken] = [signal(), signal(), signal()]
      const cutOff = one.run(async ({ attempt, signal: lost }) => {
        if (attempt <= failures) throw new Error('no luck')
        const ended = new Promise((resolve) => lost.addEventListener('abort', resolve))
        begun.tell()
        await ended
        throw lost.reason
      })
      const isBegun = begun.told.then(() => true)
      while (!(await Promise.race([isBegun, new Promise((later) => setTimeout(later, 1))]))) {
        passTime(1)
      }
      passTime(LEASE_MS + 1)
      const successor = other.run(async () => {
        taken.tell()
        await done.told
        return { token: 4 }
      })
      await taken.told
      // Wakes the worker, whose renewal is due: it learns that another has the job.
      await one.add({ delay: '1h' })
      await cutOff.stop()
      done.tell()
      await successor.stop()
      expect(await other.left()).toEqual(rest)
    })

    it('is charged once if its first worker stood still once it had claimed it, until another had run it', async () => {
      const shared = store()
      const stood = late(shared)
      const [one, other] = [open(stood.store, policies), open(shared, policies)]
      await one.add()
      const ran: string[] = []
      const cutOff = one.run(async () => void ran.push('one'))
      await stood.claimed
      passTime(2 * LEASE_MS)
      const successor = other.run(async () => {
        ran.push('other')
        return { token: 4 }
      })
      await vi.waitFor(() => expect(ran).toEqual(['other']), PATIENTLY)
      await successor.stop()
      passTime(LEASE_MS)
      stood.go()
      // It gives the job back by itself, before a renewal tells it that another had that.
      await stood.reported
      await cutOff.stop()
      expect(ran).toEqual(['other'])
      expect(await other.left()).toEqual(rest)
    })
  })
})
