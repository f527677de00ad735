// How long a decision takes beside @upstash/ratelimit, in one run, over the same REST server and the
// same redis-server. The absolute times are this machine's; the ratios are what to look at.
import { createLimiter, dailyCap, slidingWindow } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
import { startLocal } from '@sluice/local'
import { Ratelimit } from '@upstash/ratelimit'
import { Redis } from '@upstash/redis'
import { compare } from './compare.ts'

await using server = await startLocal({ engine: 'redis-server' })
const redis = new Redis({ url: server.url, token: server.token })
const store = upstash({ url: server.url, token: server.token, timeoutMs: 10_000 })

const window = (limit: number) =>
  slidingWindow({ name: `w${limit}`, limit, window: '1h', per: ['tenant'] })
const daily = (limit: number) => dailyCap({ name: 'daily', limit, per: ['tenant'] })
const peer = (limit: number) =>
  new Ratelimit({
    redis,
    limiter: Ratelimit.slidingWindow(limit, '1 h'),
    ephemeralCache: false,
    prefix: `peer-${limit}`,
  })

const one = createLimiter({ store, policies: [window(1_000_000)] })
const two = createLimiter({ store, policies: [daily(1_000_000), window(1_000_000)] })
const spent = createLimiter({ store, policies: [window(1)] })
const peerOne = peer(1_000_000)
const peerSpent = peer(1)

let caller = 0
/** A tenant among a thousand, so that sets grow as they would. */
const tenant = (): string => `t${(caller += 1) % 1_000}`

await compare('one window, allowed', {
  sluice: () => one.check({ tenant: tenant() }),
  peer: () => peerOne.limit(tenant()),
})
await compare('one window, denied', {
  sluice: () => spent.check({ tenant: 't' }),
  peer: () => peerSpent.limit('t'),
})
await compare('daily cap + window, allowed (the peer needs two calls)', {
  sluice: () => two.check({ tenant: tenant() }),
  peer: async () => {
    await peerOne.limit(`d${tenant()}`)
    await peerOne.limit(tenant())
  },
})
