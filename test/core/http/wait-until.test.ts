import { limitByBinding, rateLimit as rateLimitWorker, rateLimitQueue } from '@sluice/cloudflare'
import { limitGuesses, rateLimit } from '@sluice/core/http'
import {
  defineExtension,
  fixedWindow,
  type CheckOptions,
  type Limiter,
  type Subject,
} from '@sluice/core'
import { rateLimit as rateLimitNext, withRateLimit } from '@sluice/next'
import { NextRequest, type NextFetchEvent } from 'next/server.js'
import { describe, expect, it } from 'vitest'
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
    const message = { body: {}, ack() {}, retry() {} }
    await rateLimitQueue(
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

  it('for the limiter of unauthenticated requests, too', async () => {
    const [context, limiter] = [new Context(), busy()]
    const unauthenticated = limitGuesses<[Context]>(limiter, subject)
    const options = { routes, subject: () => null, unauthenticated }
    const handle = rateLimit<[Context]>(perMinute(1), options, answer)
    expect((await handle(new Request(url), context)).status).toBe(401)
    expect(context.kept).toEqual([WORK])
  })
})

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
