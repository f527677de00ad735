import { createLimiter, dailyCap, StoreError, type Operation, type Store } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { countJobs, limitedQueue, work, type WorkOptions } from '@sluice/queue'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

const acme = { tenant: 'acme' }
const daily = dailyCap({ name: 'daily', limit: 100, per: ['tenant'] })

/** The time after which a connection that is cut fails. */
const ANSWER_MS = 50

/** A connection to a store. While it is cut, it fails after a while, and notes when it was asked. */
class Connection implements Store {
  isCut = false
  asked: number[] = []
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  check(...[request]: Parameters<Store['check']>): ReturnType<Store['check']> {
    return this.#pass(() => this.#store.check(request))
  }

  run<Result>(operation: Operation<Result>): Promise<Result> {
    return this.#pass(() => this.#store.run(operation))
  }

  reset(keys: readonly string[]): Promise<void> {
    return this.#store.reset(keys)
  }

  async #pass<T>(ask: () => Promise<T>): Promise<T> {
    if (!this.isCut) return ask()
    this.asked.push(Date.now())
    await new Promise((resolve) => setTimeout(resolve, ANSWER_MS))
    throw new StoreError('store_unreachable', 'cut')
  }
}

/** Ends the workers of a test. */
const closing: (() => void)[] = []

/** A queue on a store, over a connection of its own. Its handler runs until `end` is called. */
function open(lease: '5s' | '10s', store: Store = memory()) {
  const connection = new Connection(store)
  const limiter = createLimiter({ store: connection, policies: [daily] })
  const queue = limitedQueue(limiter, { name: 'q', lease })
  const running: { readonly signal: AbortSignal; end: () => void }[] = []
  let ran = 0
  const handle = ({ signal }: { signal: AbortSignal }) =>
    new Promise<void>((end) => {
      ran += 1
      running.push({ signal, end })
    })
  const begin = (options: WorkOptions = {}) => {
    const worker = work(queue, handle, options)
    closing.push(() => {
      connection.isCut = false
      for (const { end } of running) end()
      void worker.stop()
    })
    return worker
  }
  return { connection, queue, running, begin, hasRun: () => ran }
}

/** Returns the pauses between the failures of a connection and the next questions, in milliseconds. */
const pausesOf = ({ asked }: Connection): number[] =>
  asked.slice(1).map((at, n) => at - (asked[n] as number) - ANSWER_MS)

/** Waits for what takes no time. */
const until = (is: () => boolean): Promise<void> =>
  vi.waitFor(() => expect(is()).toBe(true), { timeout: 30_000, interval: 0 })

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

beforeEach(() => {
  vi.spyOn(console, 'error').mockImplementation(() => {})
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] })
})
afterEach(async () => {
  for (const close of closing.splice(0)) close()
  await pass(30_000)
  vi.useRealTimers()
  vi.restoreAllMocks()
})

it.each<['5s' | '10s', string, number, number]>([
  ['5s', 'each 0.5 s', 500, 500],
  ['10s', 'after 0.5 s to 1 s', 500, 1_000],
])(
  'a worker whose leases of %s are to be renewed asks a store that fails again %s',
  async (lease, _, least, most) => {
    const { connection, queue, begin, hasRun } = open(lease)
    await queue.add('data', { subject: acme })
    begin()
    await until(() => hasRun() === 1)
    connection.isCut = true
    await pass(20_000)
    const pauses = pausesOf(connection)
    expect([Math.min(...pauses), Math.max(...pauses)]).toEqual([least, most])
  },
)

it('a worker without jobs asks a store that fails again after 0.5 s to 10 s', async () => {
  const { connection, begin } = open('5s')
  begin()
  connection.isCut = true
  await pass(60_000)
  expect(pausesOf(connection).slice(0, 7)).toEqual([
    500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000,
  ])
})

it('an outage that ends a tenth of a lease before the lease does loses no job', async () => {
  const store = memory()
  const one = open('10s', store)
  const other = open('10s', store)
  await one.queue.add('data', { subject: acme })
  one.begin()
  await until(() => one.hasRun() === 1)
  other.begin({ lookEvery: '100ms' })
  await pass(1_000)
  one.connection.isCut = true
  await pass(7_900)
  one.connection.isCut = false
  await pass(30_000)
  expect([one.hasRun(), other.hasRun()]).toEqual([1, 0])
  expect(one.running[0]?.signal.aborted).toBe(false)
})

it('jobs that end in a short outage do not use up the attempts of a worker that ends when it is idle', async () => {
  const { connection, queue, running, begin, hasRun } = open('5s')
  await queue.addAll([1, 2, 3, 4].map((data) => ({ data, subject: acme })))
  const { ended } = begin({ untilIdle: true })
  await until(() => hasRun() === 4)
  connection.isCut = true
  for (const { end } of running) {
    end()
    await pass(100)
  }
  expect(connection.asked).toHaveLength(1)
  connection.isCut = false
  await pass(500)
  await ended
  expect(await countJobs(queue)).toMatchObject({ waiting: 0, running: 0 })
})

it('a worker that waits for its store looks at once when its process adds a job', async () => {
  const { connection, queue, begin, hasRun } = open('5s')
  begin()
  connection.isCut = true
  await pass(20_000)
  connection.isCut = false
  await queue.add('data', { subject: acme })
  await until(() => hasRun() === 1)
  expect(await countJobs(queue)).toMatchObject({ waiting: 0, running: 1 })
})

it('a worker that stops in an outage reports a job as soon as that has ended', async () => {
  const { connection, queue, running, begin, hasRun } = open('10s')
  await queue.add('data', { subject: acme })
  const worker = begin()
  await until(() => hasRun() === 1)
  connection.isCut = true
  await pass(5_000)
  const stopped = worker.stop({ timeout: '25s' })
  await pass(ANSWER_MS)
  connection.isCut = false
  running[0]?.end()
  await stopped
  expect(await countJobs(queue)).toMatchObject({ waiting: 0, running: 0 })
})
