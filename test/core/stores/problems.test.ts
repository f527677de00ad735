import { createLimiter, fixedWindow, manualClock, type Problem, type Store } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { upstash } from '@sluice/core/upstash'
import { upstashRedis } from '@sluice/core/upstash-redis'
import { startLocal, type LocalServer } from '@sluice/local'
import { Redis as UpstashClient } from '@upstash/redis'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { ACME, collectProblems, setUp, type SetUpOptions } from '../../support/limiters.ts'
import { answer, hang, standIn } from '../../support/stand-in.ts'
import { NOON } from '../../support/times.ts'

const MINUTE_MS = 60_000

const policies = [fixedWindow({ name: 'rpm', limit: 2, window: '1h', per: ['tenant'] })]

let local: LocalServer
beforeAll(async () => {
  local = await startLocal({ engine: 'embedded' })
})
afterAll(() => local.close())
afterEach(() => {
  vi.restoreAllMocks()
})

const silence = () => vi.spyOn(console, 'error').mockImplementation(() => {})

/** The problems of a limiter over this store that checks once. */
async function problemsOf(store: Store, options: SetUpOptions = {}): Promise<readonly Problem[]> {
  const { problems, listener } = collectProblems()
  const { limiter } = setUp(policies, { store, extensions: [listener], ...options })
  await limiter.check(ACME)
  return problems
}

const CREDENTIALS =
  'Sluice: The store refused the credentials: check UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN '
const LOCAL = ". onStoreError is 'local'"

describe('a store that cannot be asked is told of:', () => {
  it.each([
    ['the built-in transport', (url: string, token: string) => upstash({ url, token })],
    [
      'the @upstash/redis client',
      (url: string, token: string) => upstashRedis(new UpstashClient({ url, token })),
    ],
  ])('a wrong token, with the remedy, over %s', async (_, storeAt) => {
    const error = silence()
    const limiter = createLimiter({ store: storeAt(local.url, 'wrong-token'), policies })
    const decisions = [await limiter.check(ACME), await limiter.check(ACME)]
    const degraded = { cause: 'store_unauthorized', mode: 'local' }
    expect(decisions.map((decision) => decision.degraded)).toEqual([degraded, degraded])
    expect(error.mock.calls).toEqual([
      [`${CREDENTIALS}(docs/errors.md#store_unauthorized)${LOCAL}`],
    ])
    expect(String(error.mock.calls)).not.toContain('wrong-token')
  })

  it('a URL at which nothing listens', async () => {
    const gone = await standIn(hang)
    await gone.close()
    const problems = await problemsOf(upstash({ url: gone.url, token: 'token' }))
    expect(problems).toEqual([
      {
        code: 'store_unreachable',
        message: `Sluice: The store cannot be reached (docs/errors.md#store_unreachable)${LOCAL}`,
      },
    ])
  })

  it('a URL of something else', async () => {
    const site = await standIn(answer(404, '<html>Not found</html>'))
    const problems = await problemsOf(upstash({ url: site.url, token: 'token' }), {
      onStoreError: 'deny',
    })
    expect(problems).toEqual([
      {
        code: 'store_refused',
        message:
          "Sluice: The store answered with status 404 (docs/errors.md#store_refused). onStoreError is 'deny'",
      },
    ])
    await site.close()
  })

  it('one that is too slow', async () => {
    const slow = await standIn(hang)
    const store = upstash({ url: slow.url, token: 'token', timeoutMs: 20 })
    expect(await problemsOf(store, { onStoreError: 'allow' })).toEqual([
      {
        code: 'store_timeout',
        message:
          "Sluice: The store did not answer within 20 ms (docs/errors.md#store_timeout). onStoreError is 'allow'",
      },
    ])
    await slow.close()
  })

  it('one of your own, whose error is not in the text, because it may hold ids', async () => {
    const bug = new Error('no such column: acme')
    expect(await problemsOf({ ...memory(), check: () => Promise.reject(bug) })).toEqual([
      {
        code: 'store_failed',
        message: `Sluice: The store failed (docs/errors.md#store_failed)${LOCAL}`,
        error: bug,
      },
    ])
  })
})

it('a store that fails is told of once a minute for each code, and a peek tells, too', async () => {
  const statuses = [500, 502, 401]
  const refused = await standIn((response, request) => {
    answer(statuses.shift() ?? 503, '')(response, request)
  })
  const { problems, listener } = collectProblems()
  const clock = manualClock(NOON)
  const store = upstash({ url: refused.url, token: 'token' })
  const { limiter } = setUp(policies, { store, clock, extensions: [listener] })
  const codes = () => problems.map(({ code }) => code)
  await limiter.peek(ACME)
  await limiter.check(ACME)
  expect(codes()).toEqual(['store_refused'])
  // The first refused credential is not hidden by the failures before it.
  await limiter.check(ACME)
  expect(codes()).toEqual(['store_refused', 'store_unauthorized'])
  clock.advance(MINUTE_MS - 1)
  await limiter.check(ACME)
  expect(problems).toHaveLength(2)
  clock.advance(1)
  await limiter.check(ACME)
  await limiter.check(ACME)
  expect(codes()).toEqual(['store_refused', 'store_unauthorized', 'store_refused'])
  await refused.close()
})
