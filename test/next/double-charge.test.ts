import { createLimiter, fixedWindow, type Limiter } from '@sluice/core'
import { HANDOFF_HEADER } from '@sluice/core/http'
import { memory } from '@sluice/core/memory'
import { rateLimit, withRateLimit } from '@sluice/next'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { request, secret, subject } from './support/one-request.ts'

const error = vi.spyOn(console, 'error')
beforeEach(() => void error.mockReset().mockImplementation(() => {}))
afterEach(() => void error.mockReset())

const PATH = '/api/ai/evaluate'

const limiterOf = (name: string): Limiter =>
  createLimiter({
    store: memory(),
    policies: [fixedWindow({ name, limit: 100, window: '1d', per: ['tenant'] })],
  })

interface SetUp {
  readonly middleware?: { readonly secret?: string | undefined; readonly limiter?: Limiter }
  readonly wrapper?: { readonly secret?: string | undefined; readonly limiter?: Limiter }
}

/** Sends requests through middleware and wrapper; returns what a handler was given and what was logged. */
async function sendThrough({ middleware = {}, wrapper = {} }: SetUp) {
  const handed: (string | null)[] = []
  const first = rateLimit(middleware.limiter ?? limiterOf('rpm'), {
    routes: [{ path: PATH, id: 'evaluate' }],
    subject,
    secret: middleware.secret,
  })
  const second = withRateLimit(
    ({ headers }) => {
      handed.push(headers.get(HANDOFF_HEADER))
      return new Response('answer')
    },
    {
      limiter: wrapper.limiter ?? limiterOf('rpm'),
      route: 'evaluate',
      subject,
      secret: wrapper.secret,
    },
  )
  for (let count = 0; count < 3; count += 1) {
    const { headers } = await first(request(PATH))
    const handoff = headers.get(`x-middleware-request-${HANDOFF_HEADER}`)
    const passed = request(PATH, { headers: { [HANDOFF_HEADER]: handoff ?? '' } })
    expect((await second(passed, {})).status).toBe(200)
  }
  return { handed, lines: error.mock.calls.map(([text]) => String(text)) }
}

describe('a request that middleware and wrapper both charge', () => {
  it.each([
    ['without a secret on both sides', {}, 'rateLimit'],
    ['without one in the middleware', { wrapper: { secret } }, 'rateLimit'],
    ['without one in the wrapper', { middleware: { secret } }, 'withRateLimit'],
  ] satisfies [string, SetUp, string][])('is told of once, %s', async (_, setUp, side) => {
    const { lines, handed } = await sendThrough(setUp)
    expect(lines).toEqual([
      'Sluice: withRateLimit charges the route "evaluate" a second time, after the middleware: rpm. ' +
        `Set the same "secret" in rateLimit and in withRateLimit: it is missing in ${side}.`,
    ])
    expect(handed).toEqual([null, null, null])
  })

  it.each([
    ['the same secret', { middleware: { secret }, wrapper: { secret } }],
    ['limiters with different policies', { middleware: { limiter: limiterOf('address') } }],
  ] satisfies [string, SetUp][])('is not told of with %s', async (_, setUp) => {
    expect((await sendThrough(setUp)).lines).toEqual([])
  })
})
