import { createLimiter, type Store } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { waitFor, waitingLine, type Waited } from '@sluice/core/waiting'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { KINDS, type Kind } from '../../support/kinds.ts'
import { NOON } from '../../support/times.ts'
import { Random } from '../../world/random.ts'
import { LINED } from './lined.ts'

beforeEach(() => {
  vi.useFakeTimers({ now: NOON })
})
afterEach(() => {
  vi.useRealTimers()
})

/** A store whose calls take up to 30 ms each way. */
function slow(store: Store, random: Random): Store {
  const trip = () => new Promise((resolve) => setTimeout(resolve, random.whole(1, 30)))
  const across = async <T>(call: () => Promise<T>): Promise<T> => {
    await trip()
    const result = await call()
    await trip()
    return result
  }
  return {
    check: (request) => across(() => store.check(request)),
    run: (operation) => across(() => store.run(operation)),
    reset: (keys) => across(() => store.reset(keys)),
  }
}

interface Served {
  readonly came: number
  readonly at: number
}

/** Per minute. */
const LIMIT = 30
const MINUTES = 6

/** Requests of one tenant from several isolates: a third more than the limit allows, some of which hang up. */
async function crowd(kind: Kind, seed: number) {
  const random = new Random(seed)
  const store = slow(memory(), random)
  const served: Served[] = []
  const waits: Waited[] = []
  const policies = () => [waitingLine(KINDS[kind]('p', LIMIT))]
  const isolates = [1, 2, 3].map(() => createLimiter({ store, policies: policies() }))
  const asking: Promise<void>[] = []
  const onWaited = (waited: Waited): void => void waits.push(waited)
  const ask = async (came: number): Promise<void> => {
    const gone = new AbortController()
    if (random.whole(0, 9) === 0) setTimeout(() => gone.abort(), random.whole(100, 9_000))
    const limiter = random.pick(isolates)
    const patient = waitFor(limiter, '40s', { signal: gone.signal, onWaited })
    const decision = await patient.check({ tenant: 'acme' })
    if (decision.allowed) served.push({ came, at: decision.at + decision.delayMs })
  }
  const end = NOON + MINUTES * 60_000
  while (Date.now() < end) {
    asking.push(ask(Date.now()))
    await vi.advanceTimersByTimeAsync(random.whole(1, 3_000))
  }
  await vi.advanceTimersByTimeAsync(60_000)
  await Promise.all(asking)
  return { served, waits }
}

/** Ways to count whose window ends while a crowd waits. */
const SHORT = LINED.filter((kind) => (KINDS[kind]('p', 1)()[0]?.windowMs ?? 0) <= 60_000)

describe.each(SHORT)('a crowd before a %s', (kind) => {
  it('uses all that there is, in order, and looks five times at most', async () => {
    const { served, waits } = await crowd(kind, 7)
    const waited = waits.filter(({ outcome }) => outcome === 'allowed')
    expect(waited.length).toBeGreaterThan(30)
    expect(Math.max(...waits.map(({ looks }) => looks))).toBeLessThanOrEqual(5)
    // After the first minutes there are always some that wait.
    const from = NOON + 2 * 60_000
    const inTime = served.filter(({ at }) => at >= from && at < from + 4 * 60_000)
    expect(inTime.length / (4 * LIMIT)).toBeGreaterThanOrEqual(0.95)
    expect(inTime.length).toBeLessThanOrEqual(5 * LIMIT)
    // A request that came a second or more before another is not let in after it.
    const overtaken = served.filter(({ came, at }) =>
      served.some((other) => other.came > came + 1_000 && other.at < at - 100),
    )
    expect(overtaken.length / served.length).toBeLessThanOrEqual(0.05)
  })
})
