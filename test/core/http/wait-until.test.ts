import { limitByBinding, rateLimit as rateLimitWorker } from '@sluice/cloudflare'
import { limitGuesses, rateLimit } from '@sluice/core/http'
import {
  defineExtension,
  definePlans,
  fixedWindow,
  type CheckOptions,
  type Limiter,
  type Subject,
} from '@sluice/core'
import { planResolver } from '@sluice/core/plans'
import { waitUntil as waitUntilOnVercel } from '@sluice/core/vercel'
import { rateLimit as rateLimitNext, withRateLimit } from '@sluice/next'
import { limitedConsumer } from '@sluice/queue/cloudflare'
import { NextRequest, type NextFetchEvent } from 'next/server.js'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { setUp } from '../../support/limiters.ts'
import { perMinute } from './support.ts'

const WORK = Promise.resolve('work')

/** A platform's context: its method refuses to be called as anything else's, as workerd's does. */
class Context {
  readonly #kept: Promise<unknown>[] = []
  passThroughOnException(): void {}
  waitUntil(promise: Promise<unknown>): void {
    this.#kept.push(promise)
  }
  get kept(): readonly Promise<unknown>[] {
    return this.#kept
  }
}

/** A limiter that has work to do past the response, if it is let. */
function busy(): Limiter & { readonly checkOptions: CheckOptions[] } {
  const work = defineExtension({
    name: 'work',
    connect: () => ({
      before: ({ waitUntil }) => {
        waitUntil?.(WORK)
        return undefined
      },
    }),
  })
  const policies = [fixedWindow({ name: 'rpm', limit: 9, window: '1m', per: ['tenant'] })]
  const { limiter } = setUp(policies, { extensions: [work] })
  const checkOptions: CheckOptions[] = []
  const check = (subject: Subject, options: CheckOptions = {}) => {
    checkOptions.push(options)
    return limiter.check(subject, options)
  }
  return { ...limiter, check, checkOptions }
}

const subject = () => ({ tenant: 'acme' })
const routes = ['/**']
const url = 'https://app.example/api/ai/chat'
const answer = () => new Response()

describe('the limiter gets a waitUntil', () => {
  it('from a Worker: ctx.waitUntil, also with the pre-filter in front', async () => {
    for (const prefilter of [
      undefined,
      limitByBinding<object>({
        binding: () => ({ limit: async () => ({ success: true }) }),
        limit: 9,
        period: 10,
      }),
    ]) {
      const [ctx, limiter] = [new Context(), busy()]
      const options = { routes, subject, prefilter }
      const handle = rateLimitWorker<object>(() => limiter, options, answer)
      expect((await handle(new Request(url), {}, ctx)).status).toBe(200)
      expect(ctx.kept).toEqual([WORK])
    }
  })

  it('from a queue consumer: ctx.waitUntil', async () => {
    const [ctx, limiter] = [new Context(), busy()]
    const message = { id: 'm', attempts: 1, body: {}, ack() {}, retry() {} }
    await limitedConsumer(
      () => limiter,
      { subject },
      () => {},
    )({ queue: 'jobs', messages: [message] }, {}, ctx)
    expect(ctx.kept).toEqual([WORK])
  })

  it('from Next.js middleware: event.waitUntil', async () => {
    const [event, limiter] = [new Context(), busy()]
    const handle = rateLimitNext(limiter, { routes, subject })
    await handle(new NextRequest(url), event as unknown as NextFetchEvent)
    expect(event.kept).toEqual([WORK])
  })

  it('from any fetch handler whose platform passes it last', async () => {
    const [context, limiter] = [new Context(), busy()]
    const handle = rateLimit<[object, Context]>(limiter, { routes, subject }, answer)
    await handle(new Request(url), {}, context)
    expect(context.kept).toEqual([WORK])
  })

  it('from the option, which comes before the context', async () => {
    const [context, limiter] = [new Context(), busy()]
    const kept: Promise<unknown>[] = []
    const waitUntil = (promise: Promise<unknown>) => void kept.push(promise)
    const handle = withRateLimit(answer, { limiter, route: 'chat', subject, waitUntil })
    await handle(new Request(url), context)
    expect([kept, context.kept]).toEqual([[WORK], []])
  })

  it('for the limiter of unauthenticated requests, too', async () => {
    const [context, limiter] = [new Context(), busy()]
    const unauthenticated = limitGuesses<[Context]>(limiter, subject)
    const options = { routes, subject: () => null, unauthenticated }
    const handle = rateLimit<[Context]>(perMinute(1), options, answer)
    expect((await handle(new Request(url), context)).status).toBe(401)
    expect(context.kept).toEqual([WORK])
  })
})

describe('waitUntil of @sluice/core/vercel', () => {
  const REQUEST_CONTEXT = Symbol.for('@vercel/request-context')
  afterEach(() => {
    Reflect.deleteProperty(globalThis, REQUEST_CONTEXT)
  })

  it('is that of the request that Vercel is handling', () => {
    for (const context of [new Context(), new Context()]) {
      Object.assign(globalThis, { [REQUEST_CONTEXT]: { get: () => context } })
      waitUntilOnVercel(WORK)
      expect(context.kept).toEqual([WORK])
    }
  })

  it.each([undefined, {}, { get: () => undefined }, { get: () => ({}) }])(
    'does nothing elsewhere: with %j',
    (host) => {
      Object.assign(globalThis, { [REQUEST_CONTEXT]: host })
      expect(() => waitUntilOnVercel(WORK)).not.toThrow()
    },
  )
})

it.each(['a refund of a guess', 'a look-up'])(
  'an unbound waitUntil is logged, and loses nothing: %s',
  async (work) => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    // eslint-disable-next-line typescript/unbound-method -- the mistake that is tried
    const { waitUntil: unbound } = Context.prototype
    const guesses = perMinute(1)
    const resolver = planResolver(async () => 'free', { cacheFor: '1s' })
    const { limiter, clock } = setUp(
      [fixedWindow({ name: 'rpm', limit: 9, window: '1m', per: ['tenant'] })],
      { plans: definePlans({ free: {} }), extensions: work === 'a look-up' ? [resolver] : [] },
    )
    const options = { routes, subject, waitUntil: unbound }
    const unauthenticated = work === 'a look-up' ? undefined : limitGuesses(guesses, subject)
    const handle = rateLimit(limiter, { ...options, unauthenticated }, answer)
    for (let time = 0; time < 3; time += 1) {
      expect((await handle(new Request(url))).status).toBe(200)
      clock.advance(5_001)
    }
    expect(log).toHaveBeenCalledWith(expect.stringContaining('waitUntil'), expect.any(TypeError))
    log.mockRestore()
  },
)

describe('the limiter gets no waitUntil', () => {
  it.each<[string, unknown[]]>([
    ['no context', []],
    ['a context without it', [{}]],
    ['a context that is none', [null]],
    ['an event that is missing', [undefined]],
    ['a property of that name', [{ waitUntil: true }]],
  ])('from a platform with %s', async (_, context) => {
    const limiter = busy()
    await rateLimit<unknown[]>(limiter, { routes, subject }, answer)(new Request(url), ...context)
    expect(limiter.checkOptions).toEqual([{ cost: 1 }])
  })

  it('from a wrapped Next.js handler, whose context has none', async () => {
    const limiter = busy()
    const handle = withRateLimit(answer, { limiter, route: 'chat', subject })
    await handle(new Request(url), { params: Promise.resolve({}) })
    expect(limiter.checkOptions).toEqual([{ cost: 1 }])
  })
})
