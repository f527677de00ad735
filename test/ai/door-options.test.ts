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
import { mistakesAreNamed, type Mistake } from '../support/mistakes.ts'
import { limiterOf, PRICES, subject } from './doors.ts'

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

const UNKNOWN = 'unknown_option'

describe('a mistake in the options of model calls is an error at construction that names it:', () => {
  mistakesAreNamed([
    [
      'an unknown style of headers',
      // @ts-expect-error -- no style
      () => modelHandler(limiter, { ...good, headers: ['x-ratelimits'] }, upstream),
      'modelHandler.headers[]',
    ],
    [
      'a style of headers without a list',
      // @ts-expect-error -- no list
      () => modelHandler(limiter, { ...good, headers: 'draft' }, upstream),
      'modelHandler.headers',
    ],
    [
      'a misspelt option',
      // @ts-expect-error -- the name is maxOutput
      () => modelHandler(limiter, { ...good, maxOuput: 5 }, upstream),
      'modelHandler.maxOuput',
      UNKNOWN,
    ],
    [
      'a subject that is not found out',
      // @ts-expect-error -- no function
      () => modelHandler(limiter, { ...good, subject: { tenant: 'a' } }, upstream),
      'modelHandler.subject',
    ],
    [
      'nobody',
      // @ts-expect-error -- no subject
      () => modelHandler(limiter, { prices: PRICES }, upstream),
      'modelHandler.subject',
    ],
    [
      'an api that nobody speaks',
      // @ts-expect-error -- no api
      () => modelHandler(limiter, { ...good, api: 'openai' }, upstream),
      'modelHandler.api',
    ],
    [
      'a route without a name',
      // @ts-expect-error -- no text
      () => modelHandler(limiter, { ...good, route: 5 }, upstream),
      'modelHandler.route',
    ],
    [
      'a delay in words',
      // @ts-expect-error -- no number
      () => modelHandler(limiter, { ...good, maxDelayMs: '5s' }, upstream),
      'modelHandler.maxDelayMs',
    ],
    [
      'a waitUntil that is a context',
      // @ts-expect-error -- no function
      () => modelHandler(limiter, { ...good, waitUntil: {} }, upstream),
      'modelHandler.waitUntil',
    ],
    [
      'no prices where dollars are counted',
      () => modelHandler(limiter, { subject }, upstream),
      'modelHandler.prices',
    ],
    [
      'no limiter',
      // @ts-expect-error -- no limiter
      () => modelHandler({}, good, upstream),
      'modelHandler.limiter',
    ],
    [
      'no provider',
      // @ts-expect-error -- nothing to send to
      () => modelHandler(limiter, good),
      'modelHandler.send',
    ],
    [
      'the body of a call beside the AI SDK',
      // @ts-expect-error -- a model has no body
      () => limitedModel(model, limiter, { ...good, maxBodyBytes: 5 }),
      'limitedModel.maxBodyBytes',
      UNKNOWN,
    ],
    [
      'formats of a model of the AI SDK',
      // @ts-expect-error -- a model has no format
      () => limitedModel(model, limiter, { ...good, formats: [] }),
      'limitedModel.formats',
      UNKNOWN,
    ],
    [
      'a delay of more than an hour',
      () => limitedModel(model, limiter, { ...good, maxDelayMs: 3_600_001 }),
      'limitedModel.maxDelayMs',
    ],
    [
      'the name of a model',
      // @ts-expect-error -- no model
      () => limitedModel('openai/gpt-4o', limiter, good),
      'limitedModel.model',
    ],
    [
      'a model and a limiter in the wrong order',
      // @ts-expect-error -- the model comes first
      () => limitedModel(limiter, model, good),
      'limitedModel.model',
    ],
    [
      'no limiter of a model',
      // @ts-expect-error -- no limiter
      () => limitedModel(model, undefined, good),
      'limitedModel.limiter',
    ],
    [
      'nobody of a model',
      // @ts-expect-error -- no subject
      () => limitedModel(model, limiter, { prices: PRICES }),
      'limitedModel.subject',
    ],
    [
      'no prices of a model',
      () => limitedModel(model, limiter, { subject }),
      'limitedModel.prices',
    ],
    [
      'options instead of a limiter',
      // @ts-expect-error -- the limiter comes first
      () => limitedFetch(good),
      'limitedFetch',
    ],
    [
      'no limiter of a fetch',
      // @ts-expect-error -- no limiter
      () => limitedFetch(null, good),
      'limitedFetch.limiter',
    ],
    [
      'the id of a tenant',
      // @ts-expect-error -- no subject
      () => limitedFetch(limiter, { ...good, subject: 'acme' }),
      'limitedFetch.subject',
    ],
    [
      'nobody of a fetch',
      // @ts-expect-error -- no subject
      () => limitedFetch(limiter, { prices: PRICES }),
      'limitedFetch.subject',
    ],
    [
      'headers of a fetch',
      // @ts-expect-error -- a fetch has no headers of its own
      () => limitedFetch(limiter, { ...good, headers: ['draft'] }),
      'limitedFetch.headers',
      UNKNOWN,
    ],
    [
      'a fetch that is an address',
      // @ts-expect-error -- no function
      () => limitedFetch(limiter, { ...good, fetch: 'https://api.openai.com' }),
      'limitedFetch.fetch',
    ],
    [
      'no prices of a fetch',
      () => limitedFetch(limiter, { subject: subject() }),
      'limitedFetch.prices',
    ],
  ])
})

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
  ['more than the most', { minOutput: 5_000 } satisfies CallOptions],
  ['less than nothing', { minOutput: -1 } satisfies CallOptions],
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
