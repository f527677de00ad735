import { definePrices, modelHandler, modelPolicies, usd } from '@sluice/ai'
import { createLimiter, dailyCap, manualClock, slidingWindow } from '@sluice/core'
import { lease } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { placeLeases } from '@sluice/core/place-leases'
import { sharded } from '@sluice/core/sharded'
import { rateLimit } from '@sluice/next'
import { NextRequest } from 'next/server.js'

const URL = 'https://app.example/api/ai/chat'
const clock = manualClock(Date.UTC(2026, 0, 15, 12))
const per = ['tenant'] as const
const subject = { tenant: 'acme' }
const policies = [
  slidingWindow({ name: 'rpm', limit: 1_000, window: '1m', per }),
  dailyCap({ name: 'daily', limit: 1_000, per }),
]

/** The requests that are measured, each allowed, with the state of earlier ones in memory. */
export const REQUESTS: Readonly<Record<string, () => Promise<unknown>>> = {
  'a bare check': bareCheck(),
  'a Next request': nextRequest(),
  'a sharded decision': shardedDecision(),
  'a leased one': leasedDecision(),
  'a streamed model call': streamedCall(),
}

function bareCheck() {
  const limiter = createLimiter({ store: memory(), clock, policies })
  return async () => allowed((await limiter.check(subject)).allowed)
}

function nextRequest() {
  const limiter = createLimiter({ store: memory(), clock, policies })
  const routes = ['/api/ai/**']
  const middleware = rateLimit(limiter, { routes, subject: () => subject })
  return async () => allowed((await middleware(new NextRequest(URL, { method: 'POST' }))).ok)
}

function shardedDecision() {
  const store = sharded({ a: memory(), b: memory() })
  const limiter = createLimiter({ store, clock, policies })
  return async () => allowed((await limiter.check(subject)).allowed)
}

function leasedDecision() {
  const store = sharded({ a: memory(), b: memory() }, { leases: placeLeases })
  const everyone = slidingWindow({ name: 'all', limit: 1e9, window: '1m', per: 'global' })
  const limiter = createLimiter({ store, clock, policies: [...policies, lease(everyone)] })
  let begun = false
  return async () => {
    // Blocks have grown with the traffic, so that this decision takes none.
    if (!begun) for (let at = 0; at < 200; at += 1) await limiter.check(subject)
    begun = true
    allowed((await limiter.check(subject)).allowed)
  }
}

function streamedCall() {
  const limits = modelPolicies({ per, rpm: 1_000, tpm: 1e9, daily: usd(1_000), inFlight: 10 })
  const limiter = createLimiter({ store: memory(), clock, policies: limits })
  const prices = definePrices({ 'gpt-4o': { input: usd(2.5), output: usd(10) } })
  let settled: Promise<unknown> | undefined
  const waitUntil = (work: Promise<unknown>) => void (settled = work)
  const options = { subject: () => subject, prices, api: 'openai-chat', waitUntil } as const
  const handler = modelHandler(limiter, options, answer)
  const body = JSON.stringify({
    model: 'gpt-4o',
    max_completion_tokens: 100,
    stream: true,
    messages: [{ role: 'user', content: 'Say ten words.' }],
  })
  return async () => {
    const response = await handler(new Request(URL, { method: 'POST', body }))
    allowed(response.ok && (await response.text()).endsWith('[DONE]\n\n'))
    await settled
  }
}

const event = (data: object): string => `data: ${JSON.stringify({ model: 'gpt-4o', ...data })}\n\n`
const delta = (content: object, finish_reason: string | null = null): string =>
  event({ choices: [{ index: 0, delta: content, finish_reason }] })
const EVENTS = [
  ...Array.from({ length: 10 }, (_, word) => delta({ content: `word ${word} ` })),
  delta({}, 'stop'),
  event({
    choices: [],
    usage: { prompt_tokens: 12, completion_tokens: 10, total_tokens: 22 },
  }),
  'data: [DONE]\n\n',
]

/** Answers ten words, each in a chunk of its own, with the usage at the end. */
function answer(): Response {
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const one of EVENTS) controller.enqueue(new TextEncoder().encode(one))
      controller.close()
    },
  })
  return new Response(stream, { headers: { 'content-type': 'text/event-stream' } })
}

/** Fails for a request that was denied: it is another way through the code. */
function allowed(isAllowed: boolean): void {
  if (!isAllowed) throw new Error('A measured request was denied')
}
