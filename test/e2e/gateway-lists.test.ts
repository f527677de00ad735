import { definePrices } from '@sluice/ai'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { limiterFor, PLAN_NAMES } from '../../apps/worker/src/limits.ts'
import { callHandler } from '../../apps/worker/src/providers/handlers.ts'
import { offersOf } from '../../apps/worker/src/providers/offers.ts'
import type { Aliases, Provider } from '../../apps/worker/src/providers/provider.ts'

describe('a list is refused at the start', () => {
  const price = { input: 1_000_000, output: 2_000_000 }
  const own: Provider = {
    id: 'own',
    apis: ['openai-chat'],
    url: 'https://own.example/v1',
    key: 'OWN_API_KEY',
    prices: definePrices({
      large: price,
      small: { input: 500_000, output: 1_000_000 },
    }),
  }
  const other: Provider = {
    ...own,
    id: 'other',
    apis: ['anthropic-messages', 'anthropic-count-tokens'],
    prices: definePrices({ messenger: price }),
  }

  function start(aliases: Aliases): void {
    const env: Readonly<Record<string, string>> = { OWN_API_KEY: 'a', OTHER_API_KEY: 'b' }
    const parts = {
      limiter: limiterFor(memory()),
      offers: offersOf(env, [own, other], aliases, PLAN_NAMES),
      planOf: () => 'starter',
      findSubject: async () => ({}),
      send: async () => new Response(),
    }
    for (const api of ['openai-chat', 'anthropic-messages'] as const) {
      callHandler({ ...parts, api }, () => ({ maxBodyBytes: 9 }))
    }
  }

  it.each<[fault: string, target: Aliases[string], rule: string]>([
    ['is empty', [], 'must name at least one model'],
    ['has a model twice', ['large', 'small', 'own/large'], 'must list each model once'],
    ['has one that is not offered', ['large', 'medium'], 'and "medium" is none'],
    [
      'has one of another format',
      ['large', 'messenger'],
      'must list models that take the same kind',
    ],
    ['has a dearer one', ['small', 'large'], 'has "large", which costs more than "small"'],
    [
      'has a dearer one in a plan',
      { starter: ['small', 'large'] },
      'smart in src/providers.ts, starter',
    ],
  ])('if it %s', (_, target, rule) => {
    expect(() => start({ smart: target })).toThrow(rule)
    expect(() => start({ smart: target })).toThrow('ALIASES.smart in src/providers.ts')
  })

  it('unless it says that the dearer one may be called', () => {
    const smart = ['small', { model: 'large', mayCostMore: true }]
    expect(() => start({ smart })).not.toThrow()
  })
})
