import { createHandoff } from '@sluice/core/internal/http'
import { expect, it } from 'vitest'
import { ownRedisOverHttp } from '../support/running-redis.ts'
import { secret } from './support/one-request.ts'

// Every command on this Redis is counted, so it is shared with nobody.
const own = ownRedisOverHttp()
const terms = { method: 'POST', route: 'evaluate', path: '/x', subject: { tenant: 'acme' } }

it('a single-use hand-off costs one request of four commands, and a second use two commands', async () => {
  const store = own.store()
  const [first, second] = [
    createHandoff(secret, { singleUse: store }),
    createHandoff(secret, { singleUse: store }),
  ]
  // The script is loaded with it.
  await first.take(await first.sign(terms), terms)
  const value = await first.sign(terms)
  const before = own.local.requests

  const use = await own.meter.measure(() => first.take(value, terms))
  expect(Object.fromEntries(use.calls)).toEqual({ evalsha: 1, hget: 1, hset: 1, pexpire: 1 })
  const again = await own.meter.measure(() => second.take(value, terms))
  expect(Object.fromEntries(again.calls)).toEqual({ evalsha: 1, hget: 1 })
  expect(own.local.requests - before).toBe(2)
})
