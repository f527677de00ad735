import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { expect, it } from 'vitest'
import { at, block, cleanUp, requestFrom, stillClock } from './page.ts'

cleanUp()
stillClock()

it('rate-limiter-flexible lets the same requests pass, for windows that begin together', async () => {
  const { serve } = await block('from-flexible')
  // Its own memory, which does not use timers for what has a duration that is over.
  const theirs = new RateLimiterMemory({ keyPrefix: 'api', points: 10, duration: 60 })
  const [here, there] = [[] as boolean[], [] as boolean[]]
  for (const window of [0, 1, 2]) {
    for (let sent = 0; sent < 8; sent += 1) {
      at(window * 60_000 + sent * 3_000)
      here.push((await serve(requestFrom('192.0.2.7'))).ok)
      there.push(await passes(theirs.consume('192.0.2.7', 2)))
    }
  }
  expect(here).toEqual(there)
  expect(here.filter(Boolean)).toHaveLength(3 * 5)
})

it('rate-limiter-flexible charges a denial, which ours does not', async () => {
  const { limiter } = await block('from-flexible')
  const theirs = new RateLimiterMemory({ points: 10, duration: 60 })
  const [here, there] = [[] as boolean[], [] as boolean[]]
  for (const cost of [12, 10]) {
    here.push((await limiter.check({ address: '192.0.2.7' }, { cost })).allowed)
    there.push(await passes(theirs.consume('192.0.2.7', cost)))
  }
  expect([here, there]).toEqual([
    [false, true],
    [false, false],
  ])
})

/** True if points were consumed. A rejection with an error is a fault, not a denial. */
const passes = (consumed: Promise<RateLimiterRes>): Promise<boolean> =>
  consumed.then(
    () => true,
    (rejected: unknown) => {
      if (rejected instanceof RateLimiterRes) return false
      throw rejected
    },
  )
