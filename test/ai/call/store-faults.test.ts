import { StoreError, createLimiter, listen, manualClock, type Store } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { ModelCallDenied, modelHandler, modelPolicies, usd, type Usage } from '@sluice/ai'
import { describe, expect, it, vi } from 'vitest'
import { runTimersUntil } from '../../support/timers.ts'
import { NOON } from '../../support/times.ts'
import { post, PRICES, QUESTION, subject, used } from '../doors.ts'
import * as recorded from '../recordings.ts'

/** Faults of the next calls, in order: of the request, of the reply, or none. */
type Fault = 'request' | 'reply' | undefined

/** A handler over a store in memory that stands for one far away, and fails as `faults` say. */
const setUp = (...faults: Fault[]) => setUpWith({}, ...faults)

interface Terms {
  readonly onStoreError?: 'local' | 'allow'
  readonly answer?: () => Response
}

function setUpWith(
  { onStoreError = 'local', answer = () => Response.json(recorded.CHAT_JSON) }: Terms,
  ...faults: Fault[]
) {
  const far = memory()
  async function failing<T>(call: () => Promise<T>): Promise<T> {
    const fault = faults.shift()
    const result = fault === 'request' ? undefined : await call()
    if (fault === undefined) return result as T
    throw new StoreError('store_unreachable', 'The store cannot be reached')
  }
  const store: Store = {
    check: (request) => failing(() => far.check(request)),
    run: (operation) => failing(() => far.run(operation)),
    reset: (keys) => far.reset(keys),
  }
  const policies = modelPolicies({
    per: ['tenant'],
    tpm: 1_000_000,
    daily: usd(1),
    inFlight: 20,
  })
  const limiter = createLimiter({
    store,
    clock: manualClock(NOON),
    policies,
    // By default, a budget denies while the store fails.
    onStoreError,
  })
  const usages: Usage[] = []
  const errors: unknown[] = []
  const works: Promise<unknown>[] = []
  const handle = modelHandler(
    limiter,
    {
      subject,
      api: 'openai-chat',
      prices: PRICES,
      onUsage: (usage) => usages.push(usage),
      onError: (error) => errors.push(error),
      waitUntil: (work) => works.push(work),
    },
    answer,
  )
  return {
    usages,
    errors,
    /** Makes a call, and returns what is charged and in flight once it is settled. */
    call: async () => {
      vi.useFakeTimers({ toFake: ['setTimeout'] })
      await (await handle(post(QUESTION))).text()
      await runTimersUntil(Promise.all(works))
      await Promise.all(works)
      vi.useRealTimers()
      expect(faults).toEqual([])
      return [await used(limiter, 'budget.daily'), await used(limiter, 'in-flight')]
    },
  }
}

const ACTUAL = 1_204 + 3_100

describe('a model call whose store fails', () => {
  it.each<[string, Fault[]]>([
    ['its reservation is lost', ['request']],
    ['the reply to its reservation is lost', ['reply']],
    ['settling fails twice', [undefined, 'request', 'reply']],
    ['the reply to its reservation is lost and settling fails once', ['reply', 'request']],
    ['the same, twice', ['reply', 'request', 'request']],
  ])('is charged what it used when %s', async (title, faults) => {
    const { call, errors, usages } = setUp(...faults)
    // A reservation that never reached the store is charged in the memory of this process.
    expect(await call()).toEqual([title === 'its reservation is lost' ? 0 : ACTUAL, 0])
    expect(errors).toEqual([])
    expect(usages).toHaveLength(1)
  })

  it.each(['local', 'allow'] as const)(
    'keeps its estimate without a usage, if the reply to its reservation is lost and onStoreError is %s',
    async (onStoreError) => {
      const headers = { 'content-type': 'text/event-stream' }
      const answer = (): Response => new Response(recorded.CHAT_SSE_WITHOUT_USAGE, { headers })
      const [estimate] = await setUpWith({ answer }).call()
      expect(estimate).toBeGreaterThan(ACTUAL)
      expect(await setUpWith({ answer, onStoreError }, 'reply').call()).toEqual([estimate, 0])
    },
  )

  it('keeps its estimate when settling fails three times, and reports the error and the usage', async () => {
    const { call, errors, usages } = setUp(undefined, 'request', 'request', 'request')
    const [charged, inFlight] = await call()
    expect(charged).toBeGreaterThan(ACTUAL)
    expect(inFlight).toBe(1)
    expect(errors).toMatchObject([{ code: 'store_unreachable' }])
    expect(usages).toMatchObject([{ output: 310, complete: true }])
  })
})

const fail = () =>
  Promise.reject(new StoreError('store_unreachable', 'The store cannot be reached'))

describe('a model call on a budget whose limiter does not say what to do, while the store fails,', () => {
  const limiter = createLimiter({
    store: { check: fail, run: fail, reset: fail },
    clock: manualClock(NOON),
    policies: modelPolicies({ per: ['tenant'], tpm: 1_000_000, daily: usd(1) }),
    extensions: [listen({ problem: () => {} })],
  })

  it.each(['openai-chat', 'anthropic-messages'] as const)(
    'is answered with 503 in the shape of %s, and is not sent',
    async (api) => {
      const send = vi.fn<() => Response>()
      const response = await modelHandler(
        limiter,
        { subject, prices: PRICES, api },
        send,
      )(post({ ...QUESTION, max_tokens: 10 }))
      expect(send).not.toHaveBeenCalled()
      expect(response.status).toBe(503)
      // The official clients try again after this time.
      expect(response.headers.get('retry-after-ms')).toBe('1000')
      expect(response.headers.get('x-should-retry')).toBeNull()
      const { error } = (await response.json()) as { error: Record<string, unknown> }
      const words = {
        'openai-chat': { code: 'store_unavailable' },
        'anthropic-messages': { type: 'overloaded_error' },
      }
      expect(error).toMatchObject(words[api])
    },
  )

  it('is an error that the AI SDK tries again', () => {
    const denied = new ModelCallDenied({
      allowed: false,
      reason: 'store_unavailable',
      violated: undefined,
      retryAfterMs: 1_000,
      delayMs: 0,
      policies: [],
      skipped: [],
      at: NOON,
      source: 'memory',
      plan: undefined,
      planSource: undefined,
      degraded: { cause: 'store_unreachable', mode: 'deny' },
    })
    expect(denied).toMatchObject({ statusCode: 503, isRetryable: true })
  })
})
