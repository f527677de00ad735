import {
  concurrency,
  dailyCap,
  definePlans,
  fixedWindow,
  leakyBucket,
  monthlyCap,
  projectLimits,
  sessionWindow,
  slidingWindow,
  slidingWindowCounter,
  slidingWindows,
  tokenBucket,
  type Policy,
} from '@sluice/core'
import { configure, runtimeConfiguration } from '@sluice/core/configuration'
import { planResolver } from '@sluice/core/plans'
import { reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { keysUnder } from '../../support/redis.ts'
import { sharedRedis } from '../../support/running-redis.ts'

const shared = sharedRedis()

const per = ['tenant', 'route'] as const
const subject = { tenant: 'acme', route: 'chat', project: 'x' }
const PARTITION = 'tenant=acme:route=chat'
const minute = { limit: 5, window: '1m' } as const

/** A policy of each kind, and its key without the prefix. A key that changes forgets what was counted. */
const KEYS: readonly (readonly [string, Policy])[] = [
  [`p:sliding-60000:${PARTITION}`, slidingWindow({ name: 'p', ...minute, per })],
  [
    `p:counter-60000-2:${PARTITION}`,
    slidingWindowCounter({ name: 'p', ...minute, segments: 2, per }),
  ],
  [`p:token-bucket-60000:${PARTITION}`, tokenBucket({ name: 'p', ...minute, burst: 9, per })],
  [`p:leaky-bucket-60000:${PARTITION}`, leakyBucket({ name: 'p', ...minute, burst: 9, per })],
  [`p:fixed-60000:${PARTITION}`, fixedWindow({ name: 'p', ...minute, per })],
  [`p:fixed-86400000:${PARTITION}`, dailyCap({ name: 'p', limit: 5, per })],
  [`p:fixed-0:${PARTITION}`, monthlyCap({ name: 'p', limit: 5, per })],
  [`p:session-1800000:${PARTITION}`, sessionWindow({ name: 'p', limit: 5, idle: '30m', per })],
  [`p:session-0-18000000:${PARTITION}`, sessionWindow({ name: 'p', limit: 5, length: '5h', per })],
  [
    `p:session-1800000-18000000:${PARTITION}`,
    sessionWindow({ name: 'p', limit: 5, length: '5h', idle: '30m', per }),
  ],
  [`p:slots-300000:${PARTITION}`, concurrency({ name: 'p', limit: 5, per })],
  [`p:log-60000:${PARTITION}`, slidingWindows({ name: 'p', windows: { a: minute }, per })],
  ['p:log-86400000:project=x', projectLimits({ name: 'p' })],
  ['p:sliding-60000:global', slidingWindow({ name: 'p', ...minute, per: 'global' })],
  [
    'p:sliding-60000:global:0/2',
    slidingWindow({ name: 'p', limit: 1, window: '1m', per: 'global', stripes: 2 }),
  ],
  ['p:sliding-60000:tenant=acme', slidingWindow({ name: 'p', ...minute, per: ['tenant'] })],
]

describe('a key in Redis', () => {
  it.each(KEYS)('of a policy is %s', async (key, policy) => {
    const { limiter, prefix } = shared.setUp([policy])
    await limiter.check(subject)
    expect(await keysUnder(shared.redis, prefix)).toEqual([`${prefix}:${key}`])
  })

  it('of a record says what it is', async () => {
    const { limiter, prefix } = shared.setUp([dailyCap({ name: 'p', limit: 5, per: ['tenant'] })], {
      plans: definePlans({ free: { rpm: 1 } }),
      extensions: [
        planResolver(async () => 'free'),
        runtimeConfiguration({ allow: { p: ['limit'] } }),
      ],
    })
    await configure(limiter, { p: { limit: 3 } })
    const call = await reserve(limiter, { tenant: 'acme' })
    const { id } = (call.allowed ? call.toJSON() : {}) as { id: string }
    expect(await keysUnder(shared.redis, prefix)).toEqual(
      [
        'config:default',
        `hold:${id}`,
        'p:fixed-86400000:tenant=acme',
        'tenant:acme:plan',
        'tenant:acme:plan:last',
      ]
        .map((key) => `${prefix}:${key}`)
        .toSorted(),
    )
  })
})
