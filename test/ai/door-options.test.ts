import {
  budget,
  budgetBelow,
  definePrices,
  estimateRequest,
  learnedOutput,
  limitedFetch,
  limitedModel,
  LIST_PRICES,
  meter,
  meterModel,
  meterStream,
  modelHandler,
  modelLimits,
  modelPolicies,
  prepareModelCalls,
  usageOfAiSdk,
  usd,
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
const body = { model: 'gpt-4o', messages: [] }
const model = {
  specificationVersion: 'v3',
  provider: 'p',
  modelId: 'gpt-4o',
  doGenerate: () => Promise.resolve({}),
  doStream: () => Promise.resolve({}),
}
const stream = new ReadableStream<Uint8Array>()
const per = ['tenant'] as const

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

describe('a mistake in the options of a part is an error that names it:', () => {
  mistakesAreNamed([
    [
      'a model by a number',
      // @ts-expect-error -- no text
      () => meter(new Response('x'), { settle, model: 4 }),
      'meter.model',
    ],
    [
      'an answer that is charged in words',
      // @ts-expect-error -- no boolean
      () => meter(new Response('x'), { settle, chargeErrors: 'yes' }),
      'meter.chargeErrors',
    ],
    [
      'formats without a list',
      // @ts-expect-error -- no list
      () => meterStream(stream, { settle, formats: 'gemini' }),
      'meterStream.formats',
    ],
    [
      'a misspelt settle',
      // @ts-expect-error -- the name is settle
      () => meterStream(stream, { settled: settle }),
      'meterStream.settled',
      UNKNOWN,
    ],
    [
      'a signal that is its controller',
      // @ts-expect-error -- no signal
      () => meterModel({ settle, signal: new AbortController() }),
      'meterModel.signal',
    ],
    [
      'tokens in words',
      // @ts-expect-error -- no number
      () => usageOfAiSdk({}, { inputTokens: '5' }),
      'usageOfAiSdk.inputTokens',
    ],
    [
      'a count that is one',
      // @ts-expect-error -- no function
      () => usageOfAiSdk({}, { count: 4 }),
      'usageOfAiSdk.count',
    ],
    [
      'an estimate by the name of its model',
      // @ts-expect-error -- no options
      () => estimateRequest(body, 'gpt-4o'),
      'estimateRequest',
    ],
    [
      'a default in words',
      // @ts-expect-error -- no number
      () => estimateRequest(body, { defaultOutput: '5' }),
      'estimateRequest.defaultOutput',
    ],
    [
      'a budget by a number',
      // @ts-expect-error -- no text
      () => budget({ per, daily: usd(5), name: 5 }),
      'budget.name',
    ],
    ['a budget without a name', () => budget({ per, daily: usd(5), name: '' }), 'budget.name'],
    [
      'a budget in words',
      // @ts-expect-error -- no number
      () => budget({ per, daily: '5' }),
      'budget.daily',
    ],
    [
      'a misspelt budget',
      // @ts-expect-error -- the name is daily
      () => budget({ per, dayly: usd(5) }),
      'budget.dayly',
      UNKNOWN,
    ],
    // @ts-expect-error -- no number
    ['dollars in words', () => usd('5'), 'usd'],
    [
      'a limit in words',
      // @ts-expect-error -- no number
      () => modelPolicies({ per, rpm: '60' }),
      'modelPolicies.rpm',
    ],
    [
      'a limit in words of a model',
      // @ts-expect-error -- no number
      () => modelLimits({ per: ['model'], models: { a: { rpm: '60' } }, otherModels: {} }),
      'modelLimits.models.a.rpm',
    ],
    [
      'a price in dollars',
      () => definePrices({ mine: { input: 3, output: 15 } }),
      'definePrices.mine.input',
    ],
    [
      'a price without that of its output',
      // @ts-expect-error -- no output
      () => definePrices({ mine: { input: 3_000_000 } }),
      'definePrices.mine.output',
    ],
    [
      'a base that is no table',
      // @ts-expect-error -- no table
      () => definePrices({}, { base: new Map() }),
      'definePrices.base',
    ],
    [
      'an unknown model that is free in words',
      // @ts-expect-error -- no price
      () => definePrices({}, { base: LIST_PRICES, unknownModel: 'free' }),
      'definePrices.unknownModel',
    ],
    [
      'dimensions without a list',
      // @ts-expect-error -- no list
      () => learnedOutput({ per: 'tenant' }),
      'learnedOutput.per',
    ],
    [
      'a dimension by a number',
      // @ts-expect-error -- no text
      () => learnedOutput({ per: [5] }),
      'learnedOutput.per',
    ],
    [
      'a share in words',
      // @ts-expect-error -- no number
      () => learnedOutput({ percentile: '90' }),
      'learnedOutput.percentile',
    ],
    [
      'no limiter of a condition',
      // @ts-expect-error -- no limiter
      () => budgetBelow(undefined, { tenant: 'a' }, { usd: 1 }),
      'limiter',
    ],
    [
      'nobody of a condition',
      // @ts-expect-error -- no subject
      () => budgetBelow(limiter, 'acme', { usd: 1 }),
      'budgetBelow.subject',
    ],
  ])
})
