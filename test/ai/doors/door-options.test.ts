import {
  learnedOutput,
  limitedFetch,
  limitedModel,
  modelHandler,
  prepareModelCalls,
  type CallOptions,
} from '@sluice/ai'
import { release } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { mistakesAreNamed, type Mistake } from '../../support/mistakes.ts'
import { limiterOf, PRICES, subject } from '../doors.ts'

/* The compiler refuses each mistake that it can know, too: `tsc` checks that these comments are needed. */

const limiter = limiterOf()
const upstream = { url: 'https://api.openai.com/v1/chat/completions', key: 'k' }
const good = { subject, prices: PRICES }
const settle = (): void => undefined
const model = {
  specificationVersion: 'v3',
  provider: 'p',
  modelId: 'gpt-4o',
  doGenerate: () => Promise.resolve({}),
  doStream: () => Promise.resolve({}),
}

/** Mistakes in the options that all of them have. */
const MISUSES: readonly [mistake: string, options: object, option?: string][] = [
  // @ts-expect-error -- no list
  ['one model without a list', { models: 'gpt-4o' } satisfies CallOptions],
  // @ts-expect-error -- no names
  ['models that are no names', { models: [/gpt/] } satisfies CallOptions],
  // @ts-expect-error -- no name
  ['a model that is called by a number', { models: { fast: 4 } } satisfies CallOptions],
  // @ts-expect-error -- not made by definePrices
  ['prices as they are printed', { prices: { 'gpt-4o': { input: 2.5 } } } satisfies CallOptions],
  ['half a token of output', { maxOutput: 0.5 } satisfies CallOptions],
  ['no output', { maxOutput: 0 } satisfies CallOptions],
  // @ts-expect-error -- no number
  ['a number in words', { maxOutput: '4096' } satisfies CallOptions],
  ['less than nothing', { minOutput: -1 } satisfies CallOptions],
  ['no usual output', { usualOutput: 0 } satisfies CallOptions],
  // @ts-expect-error -- no number
  ['a usual output in words', { usualOutput: '4096' } satisfies CallOptions],
  // @ts-expect-error -- no function
  ['a usual output by model', { usualOutput: { 'gpt-5': 1 } } satisfies CallOptions],
  // @ts-expect-error -- not made by learnedOutput
  ['learning that is switched on', { learn: true } satisfies CallOptions],
  // @ts-expect-error -- not called
  ['learning that was not made', { learn: learnedOutput } satisfies CallOptions],
  // @ts-expect-error -- no function
  ['a bound by its name', { input: 'boundInput' } satisfies CallOptions],
  // @ts-expect-error -- no list
  ['a field without a list', { allowFields: 'tools' } satisfies CallOptions],
  // @ts-expect-error -- no function
  ['a count that is one', { count: 4 } satisfies CallOptions],
  ['less than nothing for an image', { imageTokens: -5 } satisfies CallOptions],
  ['nothing for a file', { unseenTokens: 0 } satisfies CallOptions],
  // @ts-expect-error -- nothing else
  ['an incomplete answer that is free', { onIncomplete: 'free' } satisfies CallOptions],
  ['a second in which to settle', { settleWithin: 60 } satisfies CallOptions],
  // @ts-expect-error -- no unit
  ['two weeks in which to settle', { settleWithin: '2w' } satisfies CallOptions],
  // @ts-expect-error -- not called
  ['a release that was not made', { unsettled: release } satisfies CallOptions],
  ['more than the whole', { maxShare: 1.5 } satisfies CallOptions],
  // @ts-expect-error -- no number
  ['a share in words', { maxShare: '0.5' } satisfies CallOptions],
  // @ts-expect-error -- nothing else
  ['a status that tells nothing', { spentStatus: 403 } satisfies CallOptions],
  // @ts-expect-error -- no function
  ['a log for usage', { onUsage: console } satisfies CallOptions],
  // @ts-expect-error -- no function
  ['null for onError', { onError: null } satisfies CallOptions],
]

const DOORS: readonly [door: string, make: (options: object) => unknown][] = [
  ['modelHandler', (options) => modelHandler(limiter, { ...good, ...options }, upstream)],
  ['limitedFetch', (options) => limitedFetch(limiter, { ...good, ...options })],
  ['limitedModel', (options) => limitedModel(model, limiter, { ...good, ...options })],
]

it.each(DOORS)('%s names a least output above the most', (door, make) => {
  expect(() => make({ maxOutput: 4_000, minOutput: 5_000 })).toThrow(`${door}.minOutput`)
})

const listed = (name: string): RegExp => new RegExp(`unknown option; expected .*"${name}"`)

describe.each(DOORS)('%s names a mistake in the options of a call:', (door, make) => {
  mistakesAreNamed(
    MISUSES.map(([mistake, options]): Mistake => {
      const [option = ''] = Object.keys(options)
      const code = option === 'settleWithin' ? 'invalid_duration' : 'invalid_option'
      return [mistake, () => make(options), `${door}.${option}`, code]
    }),
  )

  it('lists the names that there are for one that it does not know', () => {
    for (const [slip, name] of [
      ['spendStatus', 'spentStatus'],
      ['MaxOutputs', 'maxOutput'],
      ['minimumOutput', 'minOutput'],
      ['model', 'models'],
      ['price', 'prices'],
      ['onIncomplet', 'onIncomplete'],
      ['maxshare', 'maxShare'],
      ['tenantSubject', 'subject'],
    ]) {
      expect(() => make({ [slip as string]: 1 })).toThrow(listed(name as string))
    }
  })

  it('takes every option, and undefined for one that is left out', () => {
    const names = MISUSES.flatMap(([, options]) => Object.keys(options))
    const left = Object.fromEntries(names.map((name) => [name, undefined]))
    expect(() => make({ ...left, prices: PRICES })).not.toThrow()
    const all: CallOptions = {
      models: { fast: 'gpt-4o' },
      prices: PRICES,
      maxOutput: 5,
      minOutput: 5,
      input: () => 1,
      allowFields: ['tools'],
      count: () => 1,
      imageTokens: 1,
      unseenTokens: 1,
      onIncomplete: 'counted',
      settleWithin: '2m',
      unsettled: release(),
      maxShare: 0.5,
      spentStatus: 402,
      onUsage: settle,
      onError: settle,
    }
    expect(() => make(all)).not.toThrow()
    expect(() => make({ learn: learnedOutput() })).not.toThrow()
  })
})

const TERMS = /models|prices|maxOutput|allowFields|input|count|Tokens/

describe('prepareModelCalls names a mistake in the terms of a call:', () => {
  mistakesAreNamed(
    MISUSES.filter(([, options]) => TERMS.test(Object.keys(options).join())).map(
      ([mistake, options]): Mistake => [
        mistake,
        () => prepareModelCalls({ api: 'openai-chat', ...options }),
        `prepareModelCalls.${Object.keys(options).join()}`,
      ],
    ),
  )
})
