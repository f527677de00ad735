import {
  createLimiter,
  dailyCap,
  definePlans,
  slidingWindow,
  slidingWindows,
  type Policy,
} from '@sluice/core'
import { fairShare, type FairShareOptions } from '@sluice/core/fair-share'
import { lease } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { refusal } from './refusal.ts'

const gpu = slidingWindow({ name: 'gpu', limit: 100, window: '1m', per: 'global' })
const between = ['tenant'] as const

describe('fairShare', () => {
  const shareOf = (policy: unknown, options: object = { between }) =>
    refusal(() => fairShare(policy as Policy, options as FairShareOptions))

  it.each<readonly [string, unknown]>([
    ['no policy', {}],
    ['a cap', dailyCap({ name: 'p', limit: 5, per: 'global' })],
    ['a lease', lease(slidingWindow({ name: 'p', limit: 5, window: '1m', per: 'global' }))],
    [
      'several windows',
      slidingWindows({
        name: 'p',
        windows: { a: { limit: 5, window: '1m' }, b: { limit: 9, window: '1h' } },
        per: 'global',
      }),
    ],
    ['stripes', slidingWindow({ name: 'p', limit: 5, window: '1m', per: 'global', stripes: 2 })],
    ['shares', fairShare(gpu, { between })],
    [
      'a name too long',
      slidingWindow({ name: 'n'.repeat(59), limit: 5, window: '1m', per: 'global' }),
    ],
  ])('refuses %s', (_, policy) => {
    expect(shareOf(policy)[0]).toBe('fairShare.policy')
  })

  it.each<readonly [string, object, string]>([
    ['no names', {}, 'fairShare.between'],
    ['an empty list', { between: [] }, 'fairShare.between'],
    ['global', { between: 'global' }, 'fairShare.between'],
    ['a weight of 0', { between, weight: 0 }, 'fairShare.weight'],
    ['a weight above 1,000', { between, weight: 1_001 }, 'fairShare.weight'],
    ['a guarantee below 0', { between, guarantee: -1 }, 'fairShare.guarantee'],
    ['an unknown option', { between, share: 1 }, 'fairShare.share'],
  ])('refuses %s', (_, options, option) => {
    expect(shareOf(gpu, options)[0]).toBe(option)
  })

  it('finds a weight that a plan lacks at construction', () => {
    const plans = definePlans({ free: { weight: 1 }, pro: { weight: 2_000 } })
    const policy = fairShare(gpu, { between, weight: ({ plan }) => plan['weight'] })
    const [option, message] = refusal(() =>
      createLimiter({ store: memory(), plans, policies: [policy] }),
    )
    expect([option, message]).toEqual(['fairShare.weight', expect.stringContaining('weight')])
  })

  it('finds a guarantee above the limit at construction', () => {
    const policy = fairShare(gpu, { between, guarantee: 101 })
    const [option, message] = refusal(() => createLimiter({ store: memory(), policies: [policy] }))
    expect([option, message]).toEqual(['fairShare.guarantee', expect.stringContaining('100')])
  })

  it('does not compile with a limit that no plan has', () => {
    const plans = definePlans({ free: { weight: 1 }, pro: { weight: 4 } })
    const [option] = refusal(() =>
      createLimiter({
        store: memory(),
        plans,
        // @ts-expect-error -- misspelt
        policies: [fairShare(gpu, { between, weight: ({ plan }) => plan.wieght })],
      }),
    )
    expect(option).toBe('fairShare.weight')
  })
})
