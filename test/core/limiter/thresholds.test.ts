import {
  dailyCap,
  fixedWindow,
  listen,
  monthlyCap,
  sessionWindow,
  slidingWindow,
  slidingWindowCounter,
  tokenBucket,
  type Policy,
} from '@sluice/core'
import { reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { setUp } from '../../support/limiters.ts'

const HOUR = 3_600_000
const common = { name: 'own', limit: 100, per: ['tenant'] } as const

/** Each policy, and the time after which the next window has begun, whatever this one has counted. */
const POLICIES: readonly (readonly [string, Policy, number])[] = [
  ['fixedWindow', fixedWindow({ ...common, window: '1h' }), HOUR],
  [
    'fixedWindow in stripes',
    fixedWindow({ ...common, limit: 200, window: '1h', stripes: 2 }),
    HOUR,
  ],
  ['dailyCap', dailyCap(common), 24 * HOUR],
  ['monthlyCap', monthlyCap(common), 31 * 24 * HOUR],
  ['slidingWindow', slidingWindow({ ...common, window: '1h' }), HOUR],
  ['slidingWindowCounter', slidingWindowCounter({ ...common, window: '1h' }), 2 * HOUR],
  ['tokenBucket', tokenBucket({ ...common, window: '1h' }), HOUR],
  ['sessionWindow', sessionWindow({ ...common, idle: '1h' }), 2 * HOUR],
  ['sessionWindow of a length', sessionWindow({ ...common, length: '1h' }), HOUR],
]

function setUpListened(policy: Policy) {
  const heard: string[] = []
  const { limiter, clock } = setUp([policy], {
    extensions: [
      listen({
        threshold: ({ threshold, subject }) => void heard.push(`${subject['tenant']} ${threshold}`),
      }),
    ],
  })
  const reserveAndReturn = async (tenant: string, times: number): Promise<void> => {
    for (let time = 0; time < times; time += 1) {
      const call = await reserve(limiter, { tenant }, { cost: 85 })
      if (call.allowed) await call.cancel()
    }
  }
  return { limiter, clock, heard, reserveAndReturn }
}

describe.each(POLICIES)('the event "threshold" of %s', (name, policy, windowMs) => {
  it('is emitted once for a tenant and window, however often reservations cross it', async () => {
    const { clock, heard, reserveAndReturn } = setUpListened(policy)
    await reserveAndReturn('acme', 38)
    expect(heard).toEqual(['acme 0.8'])
    await reserveAndReturn('globex', 38)
    expect(heard).toEqual(['acme 0.8', 'globex 0.8'])
    clock.advance(windowMs)
    await reserveAndReturn('acme', 38)
    expect(heard).toEqual(['acme 0.8', 'globex 0.8', 'acme 0.8'])
  })

  it('is emitted once for each threshold that plain calls cross', async () => {
    const { limiter, heard } = setUpListened(policy)
    if (name.endsWith('stripes')) return
    for (let time = 0; time < 20; time += 1) await limiter.check({ tenant: 'acme' }, { cost: 5 })
    expect(heard).toEqual(['acme 0.8', 'acme 0.95'])
  })
})

it.each([{}, { idle: '45m' }] as const)(
  'is emitted in the next session of a length, though it was late in the last one (%o)',
  async (options) => {
    const { limiter, clock, heard, reserveAndReturn } = setUpListened(
      sessionWindow({ ...common, length: '1h', ...options }),
    )
    await limiter.check({ tenant: 'acme' })
    clock.advance(HOUR / 2)
    await reserveAndReturn('acme', 2)
    clock.advance(HOUR / 2)
    await reserveAndReturn('acme', 2)
    expect(heard).toEqual(['acme 0.8', 'acme 0.8'])
  },
)

it('is remembered of a bounded number of tenants', async () => {
  const { limiter, heard, reserveAndReturn } = setUpListened(
    fixedWindow({ ...common, window: '1h' }),
  )
  await reserveAndReturn('acme', 2)
  for (let tenant = 0; tenant < 20_000; tenant += 1) {
    await limiter.check({ tenant: `t${tenant}` }, { cost: 85 })
  }
  await reserveAndReturn('acme', 2)
  expect(heard).toHaveLength(20_002)
})
