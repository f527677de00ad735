import { limitedFetch, limitedModel, modelHandler, usd, type CallOptions } from '@sluice/ai'
import { fallback, type FallbackModel } from '@sluice/ai/fallback'
import { withBudget } from '@sluice/ai/with-budget'
import { createLimiter } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { budget } from '@sluice/ai'
import OpenAI from 'openai'
import { expect, it } from 'vitest'
import { PRICES, sdkModel } from './ladder.ts'

const limiter = createLimiter({
  store: memory(),
  policies: [budget({ daily: usd(1), per: ['tenant'] })],
})
const subject = { tenant: 'acme' }
const model = (name: string) => sdkModel(name, async () => new Response())

type Make = (options: Pick<CallOptions, 'fallbackModels' | 'models'>) => unknown

const HTTP: Readonly<Record<string, Make>> = {
  modelHandler: (options) =>
    modelHandler(
      limiter,
      { ...options, prices: PRICES, subject: () => subject, api: 'openai-chat' },
      () => new Response(),
    ),
  limitedFetch: (options) => limitedFetch(limiter, { ...options, prices: PRICES, subject }),
  withBudget: ({ fallbackModels }) =>
    withBudget(new OpenAI({ apiKey: 'a' }), {
      store: memory(),
      tenant: usd(1),
      prices: PRICES,
      ...(fallbackModels && { fallbackModels }),
    }),
}
const SDK: Readonly<Record<string, Make>> = {
  limitedModel: (options) =>
    limitedModel(model('large'), limiter, { ...options, prices: PRICES, subject }),
  withBudget: ({ fallbackModels }) =>
    withBudget(model('large'), {
      store: memory(),
      tenant: usd(1),
      prices: PRICES,
      ...(fallbackModels && { fallbackModels }),
    }),
}

/** Mistakes that are known when a door is made. */
const MISTAKES: readonly (readonly [list: readonly unknown[], error: string])[] = [
  [['nameless'], '[0]: "nameless" has no price'],
  [['middle', ''], '[1]: must be the name of a model'],
  [['middle', 'two\nlines'], '[1]: must be the name of a model'],
  [['middle', { model: 'small' }], '[1]: must be the name of a model'],
  [['middle', { model: 'small', mayCostMore: 1 }], '[1]: must be the name of a model'],
  [['middle', 'small', 'middle'], '[2]: must be listed once'],
  [['small', 'middle'], '[1]: costs more than "small"'],
  [Array.from({ length: 16 }, (_, at) => `m${at}`), 'must be a list of at most 15 models'],
]

const rowsOf = (doors: Readonly<Record<string, Make>>) =>
  Object.entries(doors).flatMap(([door, make]) =>
    MISTAKES.map(([list, error]) => [door, list, error, make] as const),
  )

const inSdk = (list: readonly unknown[]) =>
  list.map((one) =>
    typeof one === 'string'
      ? model(one)
      : { ...(one as object), model: model((one as { model: string }).model) },
  )

it.each(rowsOf(HTTP))('%s refuses the list %j', (door, list, error, make) => {
  const fallbackModels = fallback(list as FallbackModel[])
  expect(() => make({ fallbackModels })).toThrow(
    new RegExp(
      `${door}\\.fallbackModels${error.startsWith('[') ? '' : ': '}${error.replaceAll(/[[\]"]/g, '\\$&')}`,
    ),
  )
})

it.each(rowsOf(SDK))(
  '%s refuses models of the AI SDK in the list %j',
  (door, list, error, make) => {
    const fallbackModels = fallback(inSdk(list) as FallbackModel[])
    expect(() => make({ fallbackModels })).toThrow(
      new RegExp(
        `${door}\\.fallbackModels${error.startsWith('[') ? '' : ': '}${error.replaceAll(/[[\]"]/g, '\\$&')}`,
      ),
    )
  },
)

it.each(Object.entries(SDK))(
  '%s refuses a name, because a model cannot be renamed',
  (door, make) => {
    expect(() => make({ fallbackModels: fallback(['small']) })).toThrow(
      `${door}.fallbackModels[0]: must be a model of the AI SDK`,
    )
  },
)

it.each(Object.entries(HTTP))('%s refuses a model of the AI SDK', (door, make) => {
  expect(() => make({ fallbackModels: fallback([model('small')]) })).toThrow(
    `${door}.fallbackModels[0]: must be the name of a model`,
  )
})

it('refuses a model that the door does not offer', () => {
  expect(() =>
    HTTP['modelHandler']!({ models: ['large'], fallbackModels: fallback(['small']) }),
  ).toThrow('modelHandler.fallbackModels[0]: "small" has no price, or is not in the option models')
})

it('refuses an option that is no list of fallback', () => {
  expect(() => HTTP['limitedFetch']!({ fallbackModels: ['small'] as never })).toThrow(
    'limitedFetch.fallbackModels: must be created by fallback',
  )
  expect(() => fallback([], { onFall: () => undefined } as never)).toThrow('fallback.onFall')
})

it('takes a dearer model that the list allows, and a model after it that costs less', () => {
  const list = ['small', { model: 'middle', mayCostMore: true }]
  expect(HTTP['limitedFetch']!({ fallbackModels: fallback(list) })).toBeTypeOf('function')
})
