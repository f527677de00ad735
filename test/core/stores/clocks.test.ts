import { fixedWindow, sessionWindow, slidingWindow } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
import { startLocal } from '@sluice/local'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { keysUnder } from '../../support/redis.ts'
import { entriesOf, rulesOf, storeRequest } from '../../support/store-request.ts'
import { freshPrefix } from '../../support/stores.ts'
import { limiterOf, redisWithUsers } from './restricted-users.ts'

const own = redisWithUsers()

afterEach(() => {
  vi.useRealTimers()
})

/** Puts the machine's clock elsewhere, and nothing else. */
function setMachineClock(at: number): void {
  vi.useFakeTimers({ now: at, toFake: ['Date'] })
}

describe('on Redis', () => {
  it('lets callers whose clocks differ by years share one budget, by its own clock', async () => {
    const local = await startLocal({ redisUrl: own.url })
    const prefix = freshPrefix()
    const realNow = Date.now()
    const allowed: boolean[] = []
    for (const [index, off] of [0, 400, -400, 0.5, -0.5].entries()) {
      setMachineClock(realNow + off * 86_400_000)
      const decision = await limiterOf(local, prefix).check(ACME)
      vi.useRealTimers()
      expect(decision.degraded).toBeUndefined()
      expect(Math.abs(decision.at - Date.now())).toBeLessThan(60_000)
      allowed.push(decision.allowed)
      expect(decision.policies[1]?.remaining).toBe(Math.max(0, 3 - index))
    }
    expect(allowed).toEqual([true, true, true, true, false])
    await local.close()
  })

  it('decides by the clock of the caller if it refuses TIME in scripts', async () => {
    const local = await own.restricted('timeless', '~*', '+@all', '-time')
    const limiter = limiterOf(local)
    const start = Date.UTC(2026, 0, 15, 23, 59, 30)
    setMachineClock(start)
    for (let time = 0; time < 4; time += 1) {
      expect(await limiter.check(ACME)).toMatchObject({
        allowed: true,
        at: start,
        degraded: undefined,
      })
    }
    expect(await limiter.check(ACME)).toMatchObject({ allowed: false, retryAfterMs: 60_000 })
    setMachineClock(start + 59_999)
    expect(await limiter.check(ACME)).toMatchObject({ allowed: false, retryAfterMs: 1 })
    setMachineClock(start + 60_000)
    expect(await limiter.check(ACME)).toMatchObject({ allowed: true, at: start + 60_000 })
    await local.close()
  })
})

describe('by the clocks of callers that differ by seconds', () => {
  it.each([
    ['a fixed window', fixedWindow({ name: 'f', limit: 5, window: '5s', per: ['tenant'] })],
    ['a session', sessionWindow({ name: 'e', limit: 5, idle: '5s', per: ['tenant'] })],
    ['a session of 5 s', sessionWindow({ name: 'l', limit: 5, length: '5s', per: ['tenant'] })],
    ['a sliding window', slidingWindow({ name: 's', limit: 5, window: '1s', per: ['tenant'] })],
  ])('%s keeps to its limit: no fast clock lets its keys expire early', async (_, policy) => {
    const local = await own.restricted('skewed', '~*', '+@all', '-time')
    const { url, token } = local
    const prefix = freshPrefix()
    const store = upstash({ url, token, prefix, timeoutMs: 30_000 })
    const rules = rulesOf(policy)
    const entries = entriesOf(rules, { limit: 5 })
    const start = Date.UTC(2026, 0, 15, 12)
    const ask = (now: number, id = 'late') => store.check(storeRequest(rules, entries, { now, id }))
    for (let time = 0; time < 5; time += 1) await ask(start + 4_900, `id${time}`)
    // The slow caller's window is not over when the fast one's is: its key outlives both.
    const [key = ''] = await keysUnder(own.redis, prefix)
    expect(await own.redis.pttl(key)).toBeGreaterThan(10_000)
    expect((await ask(start)).verdicts[0]?.fits).toBe(false)
    await local.close()
  })
})
