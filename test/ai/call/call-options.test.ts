import { limitedFetch, limitedModel, modelHandler } from '@sluice/ai'
import { describe } from 'vitest'
import { mistakesAreNamed } from '../../support/mistakes.ts'
import { limiterOf, PRICES, subject } from '../doors.ts'

/* The compiler refuses each mistake that it can know, too: `tsc` checks that these comments are needed. */

const limiter = limiterOf()
const upstream = { url: 'https://api.openai.com/v1/chat/completions', key: 'k' }
const good = { subject, prices: PRICES }
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
