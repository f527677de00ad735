import {
  budget,
  budgetBelow,
  definePrices,
  estimateRequest,
  learnedOutput,
  LIST_PRICES,
  meter,
  meterModel,
  meterStream,
  modelLimits,
  modelPolicies,
  usageOfAiSdk,
  usd,
} from '@sluice/ai'
import { describe } from 'vitest'
import { mistakesAreNamed } from '../../support/mistakes.ts'
import { limiterOf } from '../doors.ts'

/* The compiler refuses each mistake that it can know, too: `tsc` checks that these comments are needed. */

const limiter = limiterOf()
const settle = (): void => undefined
const body = { model: 'gpt-4o', messages: [] }
const stream = new ReadableStream<Uint8Array>()
const per = ['tenant'] as const

const UNKNOWN = 'unknown_option'

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
      'definePrices.options.base',
    ],
    [
      'an unknown model that is free in words',
      // @ts-expect-error -- no price
      () => definePrices({}, { base: LIST_PRICES, unknownModel: 'free' }),
      'definePrices.options.unknownModel',
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
