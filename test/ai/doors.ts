import { createLimiter, manualClock, type Limiter, type Policy } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import {
  definePrices,
  modelHandler,
  modelPolicies,
  usd,
  type CallToSend,
  type Usage,
} from '@sluice/ai'
import { NOON } from '../support/times.ts'

/** A dollar per million tokens of input and ten of output, so that a token of output is ten micro-dollars. */
export const PRICES = definePrices({
  'gpt-4o': { input: 1_000_000, output: 10_000_000 },
  'claude-opus-4-5': { input: 1_000_000, cacheWrite: 1_250_000, output: 10_000_000 },
  'deepseek-chat': { input: 1_000_000, output: 10_000_000 },
})

/** The budget of a tenant in `limiterOf`, in micro-dollars. */
export const BUDGET: number = usd(1)

/** A limiter of model calls in memory: a dollar a day, and these policies. */
export function limiterOf(...policies: Policy[]): Limiter {
  return limiterWith(BUDGET, ...policies)
}

/** A limiter of model calls in memory with a budget of its own, in micro-dollars a day. */
export function limiterWith(daily: number, ...policies: Policy[]): Limiter {
  const usual = modelPolicies({
    per: ['tenant'],
    rpm: 100,
    tpm: 1_000_000,
    daily,
    inFlight: 20,
  })
  return createLimiter({
    store: memory(),
    clock: manualClock(NOON),
    policies: [...usual, ...policies],
  })
}

/** The units that a tenant has used of a policy. */
export async function used(limiter: Limiter, name: string): Promise<number> {
  const { policies } = await limiter.peek(
    { tenant: 'acme' },
    { cost: { request: 0, call: 0, token: 0, usd: 0 } },
  )
  const policy = policies.find((one) => one.name === name)
  if (policy === undefined) throw new Error(`There is no policy ${name}`)
  return policy.limit - policy.remaining
}

export const subject = (): { tenant: string } => ({ tenant: 'acme' })
export const QUESTION = {
  model: 'gpt-4o',
  messages: [{ role: 'user', content: 'Why is the sky blue?' }],
}

export const post = (body: unknown, init: RequestInit = {}): Request =>
  new Request('https://app.example/v1/chat/completions', {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...init,
  })

export const sse = (text: string): Response =>
  new Response(text, { headers: { 'content-type': 'text/event-stream' } })

/** A handler in front of a provider that answers this, and the calls that it was sent. */
export function handlerOf(
  answer: (call: CallToSend) => Response | Promise<Response>,
  options: object = {},
) {
  const limiter = limiterOf()
  const calls: CallToSend[] = []
  const usages: Usage[] = []
  const handle = modelHandler(
    limiter,
    {
      subject,
      api: 'openai-chat',
      prices: PRICES,
      onUsage: (usage) => usages.push(usage),
      ...options,
    },
    (call) => {
      calls.push(call)
      return answer(call)
    },
  )
  return { limiter, calls, usages, handle }
}

/** The body that a provider was sent. */
export const sentTo = (calls: readonly CallToSend[]): Record<string, unknown> =>
  JSON.parse(calls[0]?.body ?? '') as Record<string, unknown>
