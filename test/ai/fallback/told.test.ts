import { budget, limitedFetch, modelPolicies, usd, type Usage } from '@sluice/ai'
import { fallback } from '@sluice/ai/fallback'
import { livePrices } from '@sluice/ai/live-prices'
import {
  createLimiter,
  defineExtension,
  manualClock,
  type Extension,
  type Limiter,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { flushUsage, recordUsage } from '@sluice/usage'
import { usage as readUsage } from '@sluice/usage/report'
import { describe, expect, it } from 'vitest'
import { NOON } from '../../support/times.ts'
import { answered, callBy, DOORS, PRICES, QUESTION, refused } from './ladder.ts'

const limiterOf = (daily: number, ...extensions: Extension[]): Limiter =>
  createLimiter({
    store: memory(),
    clock: manualClock(NOON),
    policies: [...modelPolicies({ per: ['tenant'], rpm: 100 }), budget({ daily, per: ['tenant'] })],
    extensions,
  })

/** Hears the models of the subjects of events. */
function heard() {
  const events: string[] = []
  const on =
    (name: string) =>
    (event: {
      readonly subject?: object
      readonly origin?: { readonly subject: object } | undefined
    }) => {
      const { model, askedModel } = (event.subject ?? event.origin?.subject ?? {}) as Record<
        string,
        string
      >
      events.push(`${name}: ${model} for ${askedModel}`)
    }
  const extension = defineExtension({
    name: 'heard',
    connect: () => ({
      on: { decision: on('decision'), reserved: on('reserved'), settled: on('settled') },
    }),
  })
  return { events, extension }
}

describe.each(Object.keys(DOORS))('%s', (door) => {
  it('names the model that is used in events, and keeps the one that was asked beside it', async () => {
    const { events, extension } = heard()
    const usages: (readonly [unknown, Usage])[] = []
    await callBy(door, {
      limiter: limiterOf(5_000, extension),
      answer: answered,
      options: { onUsage: (usage, subject) => usages.push([subject, usage]) },
    })
    expect(events).toEqual([
      'decision: middle for large',
      'reserved: middle for large',
      'settled: middle for large',
    ])
    expect(usages).toMatchObject([[{ tenant: 'acme', askedModel: 'large' }, { model: 'middle' }]])
  })

  it.each([
    ['no room', 5_000, () => undefined, []],
    [
      'a failure',
      900_000,
      (model: string) => (model === 'large' ? refused(503) : undefined),
      // The attempt is there, and costs nothing.
      [['large', 1, 0]],
    ],
  ] as const)(
    'has the model used in usage, beside the one asked, after %s',
    async (_, daily, failure, attempts) => {
      const recorder = recordUsage({
        tenants: 'plain',
        dimensions: ['askedModel'],
        flushEvery: '1ms',
      })
      const limiter = limiterOf(daily, recorder)
      await callBy(door, { limiter, answer: (sent) => failure(sent.model) ?? answered(sent) })
      await flushUsage(limiter)
      const { rows, choices } = await readUsage(limiter)
      expect(rows.map(({ model, requests, usd: cost }) => [model, requests, cost])).toEqual([
        ...attempts,
        ['middle', 1, 102],
      ])
      expect(rows[0]?.dimensions).toEqual({ askedModel: 'large' })
      expect(choices?.map(({ asked, model, requests }) => [asked, model, requests])).toEqual([
        ...attempts.map(([model]) => ['large', model, 1]),
        ['large', 'middle', 1],
      ])
      expect(choices?.some(({ policy }) => policy !== '')).toBe(attempts.length === 0)
    },
  )
})

it('sends the body of another model as it was, but for its name', async () => {
  const body = {
    ...QUESTION,
    temperature: 0.5,
    stream: false,
    user: 'u',
    metadata: { a: ['b', 1] },
  }
  const bodies: Record<string, unknown>[] = []
  const send = limitedFetch(limiterOf(5_000), {
    subject: { tenant: 'acme' },
    prices: PRICES,
    maxOutput: 1_000,
    fallbackModels: fallback(['middle']),
    fetch: async (_, init) => {
      bodies.push(JSON.parse(init?.body as string) as Record<string, unknown>)
      return new Response('{}')
    },
  })
  await send('https://provider.example/v1/chat/completions', {
    method: 'POST',
    body: JSON.stringify(body),
  })
  expect(bodies).toEqual([{ ...body, model: 'middle', max_tokens: 1_000 }])
})

it('asks a function for the models of a subject, such as by its plan', async () => {
  const lists: Readonly<Record<string, string[]>> = { free: ['small'], paid: ['middle', 'small'] }
  const called = async (plan: string) => {
    const models: unknown[] = []
    const send = limitedFetch(limiterOf(5_000), {
      subject: { tenant: 'acme', team: plan },
      prices: PRICES,
      maxOutput: 1_000,
      fallbackModels: fallback(
        (subject) => lists[(subject as { readonly team?: string }).team ?? ''] ?? [],
      ),
      fetch: async (_, init) => {
        models.push((JSON.parse(init?.body as string) as { model: unknown }).model)
        return new Response('{}')
      },
    })
    const { status } = await send('https://provider.example/v1/chat/completions', {
      method: 'POST',
      body: JSON.stringify(QUESTION),
    })
    return [status, ...models]
  }
  expect(await called('free')).toEqual([200, 'small'])
  expect(await called('paid')).toEqual([200, 'middle'])
  expect(await called('none')).toEqual([429])
})

it('tells onError once of a model that a function names and that has no price, and goes on', async () => {
  const errors: unknown[] = []
  const limiter = limiterOf(5_000)
  const models: unknown[] = []
  const send = limitedFetch(limiter, {
    subject: { tenant: 'acme' },
    prices: PRICES,
    maxOutput: 1_000,
    onError: (error) => errors.push(error),
    fallbackModels: fallback(() => ['priceless', 'middle']),
    fetch: async (_, init) => {
      models.push((JSON.parse(init?.body as string) as { model: unknown }).model)
      return answered({ model: 'middle', most: 0 })
    },
  })
  for (let call = 0; call < 2; call += 1) {
    const answer = await send('https://provider.example/v1/chat/completions', {
      method: 'POST',
      body: JSON.stringify(QUESTION),
    })
    await answer.text()
  }
  expect(models).toEqual(['middle', 'middle'])
  expect(errors).toMatchObject([{ code: 'invalid_option', option: 'fallbackModels.priceless' }])
})

/** Calls a deployment of Azure, and returns the status and the addresses that are asked. */
const callOfAzure = async (deployment: string) => {
  const urls: string[] = []
  const send = limitedFetch(limiterOf(5_000), {
    subject: { tenant: 'acme' },
    prices: PRICES,
    maxOutput: 1_000,
    fallbackModels: fallback(['middle']),
    fetch: async (url) => {
      urls.push((url as URL).href)
      return new Response('{}')
    },
  })
  const url = `https://a.openai.azure.com/openai/deployments/${deployment}/chat/completions?api-version=1`
  const { status } = await send(url, { method: 'POST', body: JSON.stringify(QUESTION) })
  return [status, ...urls]
}

it('puts another deployment into an address of Azure, and skips it where the address has a name of its own', async () => {
  expect(await callOfAzure('large')).toEqual([
    200,
    'https://a.openai.azure.com/openai/deployments/middle/chat/completions?api-version=1',
  ])
  expect(await callOfAzure('my-gpt')).toEqual([429])
})

it('takes prices that change while the app runs', async () => {
  const prices = livePrices({ base: PRICES })
  const limiter = limiterOf(usd(1), prices)
  const { sent } = await callBy('limitedFetch with a fetch', {
    limiter,
    answer: (one) => (one.model === 'large' ? refused(503) : answered(one)),
    options: { prices },
  })
  expect(sent.map(({ model }) => model)).toEqual(['large', 'middle'])
})
