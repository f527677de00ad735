import {
  limitedFetch,
  modelHandler,
  type FetchLike,
  type LimitedFetchOptions,
  type ModelApi,
} from '@sluice/ai'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { CLIENT_CALLS } from './client-calls.ts'
import type { Ask } from './official-calls.ts'
import { chargedBy, roomyDoor, type roomyLimiter } from './doors.ts'
import { createProvider, type Provider, type ProviderOptions } from './provider.ts'

// The SDK says what a model ignores, once a call.
beforeAll(() => void vi.stubGlobal('AI_SDK_LOG_WARNINGS', false))

const APIS: readonly (readonly [string, ModelApi])[] = [
  ['/chat/completions', 'openai-chat'],
  ['/completions', 'openai-completions'],
  ['/responses', 'openai-responses'],
  ['/embeddings', 'openai-embeddings'],
  ['/messages', 'anthropic-messages'],
]

type Door = (
  provider: Provider,
  options: Omit<LimitedFetchOptions, 'onDenied'>,
  limiter: ReturnType<typeof roomyLimiter>,
) => FetchLike

/** The doors, as what a client is given: its `fetch`, and what answers at its base URL. */
const WAYS: Readonly<Record<string, Door>> = {
  limitedFetch: ({ fetch }, options, limiter) => limitedFetch(limiter, { ...options, fetch }),
  modelHandler:
    ({ fetch }, options, limiter) =>
    async (input, init) => {
      const request = new Request(input, init)
      const [, api] = APIS.find(([end]) => new URL(request.url).pathname.endsWith(end)) ?? []
      const handle = modelHandler(
        limiter,
        { ...options, subject: () => ({ tenant: 'acme' }), api: api as ModelApi },
        ({ body, signal }) => fetch(request.url, { method: 'POST', body, signal }),
      )
      return handle(request)
    },
}

/** Makes a call by a door, and returns its result and what became of the charge. */
async function through(door: Door, ask: Ask, behaviour: ProviderOptions) {
  const provider = createProvider(behaviour)
  const { limiter, options, settled } = roomyDoor()
  const result = await ask({ fetch: door(provider, options, limiter) })
  await settled()
  const { requests, bills } = provider
  // Each attempt is a call of its own; those that the provider refuses cost nothing.
  const billed = { requests: requests.slice(-bills.length), bills, fetch: provider.fetch }
  return { result: plain(result), sent: requests.length, charged: await chargedBy(limiter), billed }
}

const plain = (result: unknown): unknown => JSON.parse(JSON.stringify(result ?? null)) as unknown

const CELLS = Object.keys(WAYS).flatMap((way) =>
  Object.entries(CLIENT_CALLS).map(([call, ask]) => ({ way, call, ask })),
)

describe.each(CELLS)('$call, through $way', ({ way, call, ask }) => {
  it.each([0, 1])('gives what it gives without it, after %i refusals', async (overloadedFor) => {
    const direct = createProvider({ overloadedFor })
    const expected = plain(await ask(direct))
    const { result, sent, charged, billed } = await through(WAYS[way] as Door, ask, {
      overloadedFor,
    })
    expect(result).toEqual(expected)
    expect(sent).toBe(direct.requests.length)
    const usd = direct.bills.reduce((sum, { microDollars }) => sum + microDollars, 0)
    // A client that goes away pays for the output that may have been made.
    if (call.includes('aborted')) return
    expect([charged.usd, billed.bills.length]).toEqual([usd, direct.bills.length])
  })
})
