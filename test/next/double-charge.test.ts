import { createLimiter, fixedWindow, type Limiter } from '@sluice/core'
import { createHandoff, HANDOFF_HEADER } from '@sluice/core/internal/http'
import { memory } from '@sluice/core/memory'
import { rateLimit, withRateLimit } from '@sluice/next'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { request, secret, subject } from './support/one-request.ts'

const error = vi.spyOn(console, 'error')
beforeEach(() => void error.mockReset().mockImplementation(() => {}))
afterEach(() => void error.mockReset())

const PATH = '/api/ai/evaluate'

const answer = (): Response => new Response('answer')

const limiterOf = (name: string): Limiter =>
  createLimiter({
    store: memory(),
    policies: [fixedWindow({ name, limit: 100, window: '1d', per: ['tenant'] })],
  })

const limited = () => rateLimit(limiterOf('rpm'), { routes: [PATH], subject })

interface Side {
  readonly secret?: string | undefined
  readonly limiter?: Limiter
  readonly id?: string
  readonly subject?: () => { tenant: string }
}
interface SetUp {
  readonly middleware?: Side
  readonly wrapper?: Side
}

/** Sends requests through middleware and wrapper; returns what a handler was given and what was logged. */
async function sendThrough({ middleware = {}, wrapper = {} }: SetUp) {
  const handed: (string | null)[] = []
  const first = rateLimit(middleware.limiter ?? limiterOf('rpm'), {
    routes: [{ path: PATH, id: middleware.id ?? 'evaluate' }],
    subject: middleware.subject ?? subject,
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
    const passed = request(PATH, handoff === null ? {} : { headers: { [HANDOFF_HEADER]: handoff } })
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

describe('middleware without a secret', () => {
  const OVERRIDDEN = 'x-middleware-override-headers'

  it('hands on other request headers at most once a second', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    try {
      const middleware = limited()
      const overrides = async () => (await middleware(request(PATH))).headers.has(OVERRIDDEN)
      expect([await overrides(), await overrides()]).toEqual([true, false])
      vi.setSystemTime(Date.now() + 1_000)
      expect([await overrides(), await overrides()]).toEqual([true, false])
      vi.setSystemTime(Date.now() - 3_600_000)
      expect(await overrides()).toBe(true)
    } finally {
      vi.useRealTimers()
    }
  })

  it('never hands on what a client sent as a hand-off', async () => {
    const middleware = limited()
    const handedOn = async () => {
      const { headers } = await middleware(
        request(PATH, { headers: { [HANDOFF_HEADER]: 'forged' } }),
      )
      return [headers.has(OVERRIDDEN), headers.get(`x-middleware-request-${HANDOFF_HEADER}`)]
    }
    expect(await handedOn()).toEqual([true, 'unsigned,rpm'])
    expect(await handedOn()).toEqual([true, null])
  })
})

describe('a hand-off whose signature does not fit', () => {
  const different = 'another secret that nobody here shares'
  const MISMATCH = expect.stringMatching(
    /^Sluice: withRateLimit of the route "evaluate" .* signature does not fit.*"secret".*forged/,
  )

  it.each([
    ['another secret', { middleware: { secret: different }, wrapper: { secret } }],
    ['another route id', { middleware: { secret, id: 'eval' }, wrapper: { secret } }],
    [
      'another subject',
      { middleware: { secret, subject: () => ({ tenant: 'rival' }) }, wrapper: { secret } },
    ],
  ] satisfies [string, SetUp][])('is told of once: %s', async (_, setUp) => {
    const { lines, handed } = await sendThrough(setUp)
    expect(lines).toEqual([MISMATCH])
    expect(lines.join()).not.toContain(different)
    expect(handed).toEqual([null, null, null])
  })

  it('is told of once however many a client forges, and saves it no charge', async () => {
    const limiter = limiterOf('rpm')
    const handle = vi.fn<() => Response>(answer)
    const wrapped = withRateLimit(handle, { limiter, route: 'evaluate', subject, secret })
    for (let count = 0; count < 200; count += 1) {
      const mac = String(count).padStart(64, '0')
      const forged = `${Date.now() + 3_000}.${count}.${mac}.${mac}`
      await wrapped(request(PATH, { headers: { [HANDOFF_HEADER]: forged } }), {})
    }
    expect(error.mock.calls).toEqual([[MISMATCH]])
    expect(handle).toHaveBeenCalledTimes(100)
  })

  it('is not told of when it is late, used up, without form or for nobody', async () => {
    const terms = { method: 'POST', route: 'evaluate', path: PATH, subject: subject() }
    const used = await createHandoff(secret).sign(terms)
    const late = await createHandoff(secret, { clock: () => Date.now() - 4_001 }).sign(terms)
    const limiter = limiterOf('rpm')
    const wrapped = withRateLimit(answer, { limiter, route: 'evaluate', subject, secret })
    const ofNobody = withRateLimit(answer, {
      limiter,
      route: 'evaluate',
      subject: () => null,
      secret,
    })
    for (const [handler, value] of [
      [wrapped, used],
      [wrapped, used],
      [wrapped, late],
      [wrapped, 'x'],
      [ofNobody, await createHandoff(secret).sign(terms)],
    ] as const) {
      await handler(request(PATH, { headers: { [HANDOFF_HEADER]: value } }), {})
    }
    expect(error).not.toHaveBeenCalled()
  })
})
