import { limitedFetch, limitedModel, modelHandler, type AiSdkModel } from '@sluice/ai'
import {
  concurrency,
  createLimiter,
  dailyCap,
  listen,
  slidingWindow,
  type Limiter,
} from '@sluice/core'
import { explain } from '@sluice/core/explain'
import { createGuard, reserving } from '@sluice/core/http'
import { memory } from '@sluice/core/memory'
import {
  cancelById,
  fitRange,
  peekFit,
  release,
  reservation,
  reserve,
} from '@sluice/core/reservations'
import { waitFor, waiting, waitingLine } from '@sluice/core/waiting'
import { expect, it, vi } from 'vitest'
import { post, PRICES, QUESTION } from '../doors.ts'
import * as recorded from '../recordings.ts'

/** Freezes a value and all in it: to write into it throws. */
function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !(value instanceof AbortSignal)) {
    Object.values(value).forEach(frozen)
    Object.freeze(value)
  }
  return value
}

const SUBJECT = frozen({ tenant: 'acme', route: 'ask', model: 'gpt-4o' })
const subject = () => SUBJECT
const COST = frozen({ token: 40 })
const ROUTE = frozen({ id: 'ask', cost: undefined })
const send = async () => Response.json(recorded.CHAT_JSON)
const model = frozen<AiSdkModel>({
  specificationVersion: 'v2',
  provider: 'test',
  modelId: 'gpt-4o',
  doGenerate: async () => ({
    content: [],
    usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 },
  }),
  doStream: async () => ({}),
})

/** Each entry, with objects that are frozen. */
const ENTRIES: Readonly<Record<string, (limiter: Limiter) => Promise<unknown>>> = {
  check: (limiter) => limiter.check(SUBJECT, frozen({ cost: COST })),
  peek: (limiter) => limiter.peek(SUBJECT, frozen({ cost: COST })),
  reset: (limiter) => limiter.reset(SUBJECT, frozen({ policies: ['daily'] })),
  explain: (limiter) => explain(limiter, SUBJECT, frozen({ cost: { token: 200_000 } })),
  'a limiter that waits': (limiter) =>
    waitFor(limiter, '20s', frozen({})).check(SUBJECT, frozen({ cost: COST })),
  peekFit: (limiter) => {
    const fit = frozen(fitRange({ floor: 1, most: 9, rates: { token: 1_000_000 } }))
    return peekFit(limiter, SUBJECT, frozen({ cost: COST, fit, maxShare: 0.5 }))
  },
  'reserve, and the settlement of its data': async (limiter) => {
    const fit = frozen(fitRange({ floor: 1, most: 9, rates: { token: 1_000_000 } }))
    const options = frozen({ cost: COST, fit, maxShare: 0.5, unsettled: release() })
    const call = await reserve(limiter, SUBJECT, options)
    if (!call.allowed) throw new Error('denied')
    const data = frozen(call.toJSON())
    await reservation(limiter, data).settle(frozen({ token: 3 }))
  },
  cancelById: async (limiter) => {
    await reserve(limiter, SUBJECT, frozen({ cost: COST, id: 'job1' }))
    await cancelById(limiter, SUBJECT, frozen({ cost: COST, id: 'job1' }))
  },
  guard: (limiter) => createGuard(limiter, frozen({ subject, cost: COST }))(ROUTE, post(QUESTION)),
  'guard of a reserved cost': (limiter) =>
    createGuard(limiter, { subject, cost: reserving(COST) })(ROUTE, post(QUESTION)),
  'guard of a cost that waits': (limiter) =>
    createGuard(limiter, { subject, cost: waiting('20s', COST) })(ROUTE, post(QUESTION)),
  modelHandler: async (limiter) => {
    const options = frozen({ subject, prices: PRICES, api: 'openai-chat' } as const)
    const answer = await modelHandler(limiter, options, send)(post(QUESTION))
    expect(await answer.json()).toEqual(recorded.CHAT_JSON)
  },
  limitedFetch: async (limiter) => {
    const options = frozen({ subject: SUBJECT, prices: PRICES, fetch: send })
    const answer = await limitedFetch(limiter, options)(post(QUESTION))
    expect(await answer.json()).toEqual(recorded.CHAT_JSON)
  },
  limitedModel: async (limiter) =>
    limitedModel(model, limiter, frozen({ subject: SUBJECT, prices: PRICES })).doGenerate(
      frozen({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'Why?' }] }] }),
    ),
}

it.each(Object.entries(ENTRIES))('%s writes into no object of its caller', async (_, enter) => {
  const told = vi.fn<(event: object) => void>()
  const problem = vi.fn<(event: object) => void>()
  const heard = { decision: told, reserved: told, settled: told, abandoned: told, problem }
  const limiter = createLimiter({
    store: memory(),
    policies: [
      waitingLine(slidingWindow({ name: 'rpm', limit: 100, window: '1m', per: ['tenant'] })),
      dailyCap({ name: 'daily', limit: 100_000, per: ['tenant'], unit: 'token' }),
      concurrency({ name: 'calls', limit: 20, per: ['tenant'] }),
    ],
    extensions: [listen(frozen(heard))],
  }) as Limiter
  await enter(limiter)
  expect(problem).not.toHaveBeenCalled()
  expect(SUBJECT).toEqual({ tenant: 'acme', route: 'ask', model: 'gpt-4o' })
})
