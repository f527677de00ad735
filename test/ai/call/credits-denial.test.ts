import { createLimiter, type Limiter } from '@sluice/core'
import { credits } from '@sluice/core/credits'
import { memory } from '@sluice/core/memory'
import { limitedFetch, limitedModel, modelHandler, ModelCallDenied } from '@sluice/ai'
import { describe, expect, it } from 'vitest'
import { PRICES, QUESTION, subject } from '../doors.ts'

const topUpUrl = 'https://app.example.com/credits'
const PATHS = { 'openai-chat': 'chat/completions', 'anthropic-messages': 'messages' } as const
type Api = keyof typeof PATHS
type Status = 402 | 429 | undefined

/** A limiter whose tenants have no credits yet. */
const limiterOf = (): Limiter =>
  createLimiter({
    store: memory(),
    onStoreError: 'deny',
    policies: [credits({ name: 'credits', per: ['tenant'], unsettled: 'keep', topUpUrl })],
  })

const request = (api: Api): Request =>
  new Request(`https://api.example/v1/${PATHS[api]}`, {
    method: 'POST',
    body: JSON.stringify({ ...QUESTION, max_tokens: 100 }),
  })

const provider = () => Response.json({})

/** The doors that answer with a response. */
const DOORS: Readonly<Record<string, (api: Api, spentStatus: Status) => Promise<Response>>> = {
  modelHandler: (api, spentStatus) =>
    modelHandler(
      limiterOf(),
      { subject, prices: PRICES, api, ...(spentStatus && { spentStatus }) },
      provider,
    )(request(api)),
  limitedFetch: (api, spentStatus) =>
    limitedFetch(limiterOf(), {
      subject: { tenant: 'acme' },
      prices: PRICES,
      fetch: async () => provider(),
      ...(spentStatus && { spentStatus }),
    })(request(api)),
}

const TYPES = {
  'openai-chat': { 429: 'insufficient_quota', 402: 'insufficient_quota' },
  // The types of Anthropic are those of its statuses.
  'anthropic-messages': { 429: 'rate_limit_error', 402: 'billing_error' },
} as const

const MESSAGE = /^This call may cost \$0\.\d+; \$0\.00 of policy "credits" is left\. Top up at /

const TABLE = Object.keys(DOORS).flatMap((door) =>
  (Object.keys(PATHS) as Api[]).flatMap((api) =>
    ([undefined, 429, 402] as const).map((spentStatus) => [door, api, spentStatus] as const),
  ),
)

describe.each(TABLE)('%s in the format %s with spentStatus %s', (door, api, spentStatus) => {
  it('says that credits are used up as the provider does, and where to buy more', async () => {
    const answer = (await DOORS[door]?.(api, spentStatus)) as Response
    const status = spentStatus ?? 429
    expect(answer.status).toBe(status)
    const { error } = (await answer.json()) as { error: { type: string; message: string } }
    expect(error.type).toBe(TYPES[api][status])
    expect(error.message).toMatch(MESSAGE)
    expect(error.message.endsWith(topUpUrl)).toBe(true)
  })

  it('has no time, so that the official clients give up', async () => {
    const headers = (await DOORS[door]?.(api, spentStatus))?.headers
    expect(headers?.get('x-should-retry')).toBe('false')
    expect(headers?.has('retry-after')).toBe(false)
    expect(headers?.has('x-ratelimit-reset')).toBe(false)
  })
})

it.each([429, 402] as const)('limitedModel with spentStatus %s is not retried', async (status) => {
  const model = limitedModel(
    {
      specificationVersion: 'v3',
      provider: 'openai',
      modelId: QUESTION.model,
      doGenerate: async () => ({}),
    } as never,
    limiterOf(),
    { subject: { tenant: 'acme' }, prices: PRICES, spentStatus: status },
  ) as unknown as { doGenerate: (call: object) => Promise<unknown> }
  const call = { prompt: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] }
  const error = await model.doGenerate(call).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ModelCallDenied)
  expect(error).toMatchObject({
    statusCode: status,
    isRetryable: false,
    message: expect.stringMatching(MESSAGE) as string,
  })
})
