/* The next model after a provider's failure: a table over the doors. */
import { budget, definePrices, modelPolicies, usd } from '@sluice/ai'
import { createLimiter, manualClock, StoreError, type Limiter, type Store } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { NOON } from '../../support/times.ts'
import { answered, callBy, DOORS, PRICES, refused, type Sent } from './ladder.ts'

const limiterOf = (store: Store = memory(), daily = usd(1)): Limiter =>
  createLimiter({
    store,
    clock: manualClock(NOON),
    policies: [
      ...modelPolicies({ per: ['tenant'], rpm: 100, inFlight: 5 }),
      budget({ daily, per: ['tenant'] }),
    ],
  })

/** The units that are charged, by policy. */
async function charged(limiter: Limiter): Promise<Record<string, number>> {
  const { policies } = await limiter.peek(
    { tenant: 'acme' },
    { cost: { request: 0, call: 0, usd: 0 } },
  )
  return Object.fromEntries(policies.map(({ name, limit, remaining }) => [name, limit - remaining]))
}

/** A refused connection, as Node's `fetch` throws it. */
const refusedConnection = (): Error => {
  const cause = Object.assign(new Error('connect ECONNREFUSED'), { syscall: 'connect' })
  return new TypeError('fetch failed', { cause })
}
const brokenConnection = (): Error =>
  new TypeError('fetch failed', {
    cause: Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }),
  })

/** Of a model that costs more than the first. */
const PRICIER_MIDDLE = definePrices(
  { middle: { input: 3_000_000, output: 30_000_000 } },
  { base: PRICES },
)

type Failure = () => Response

const failing =
  (failure: Failure, ...models: string[]) =>
  (sent: Sent): Response =>
    models.includes(sent.model) ? failure() : answered(sent)

const refusedThenBroken = ({ model }: Sent): Response => refused(model === 'large' ? 503 : 502)
const html = (status: number): Response =>
  new Response('<html>', { status, headers: { 'content-type': 'text/html' } })
const thrown = (make: () => Error) => (): Response => {
  throw make()
}

/** True for a failure after which the next model is called. */
const FAILURES: Readonly<Record<string, readonly [Failure, boolean]>> = {
  '429': [() => refused(429), true],
  '500': [() => refused(500), true],
  '503': [() => refused(503), true],
  '529': [() => refused(529), true],
  '400': [() => refused(400), false],
  '401': [() => refused(401), false],
  '404': [() => refused(404), false],
  '502': [() => refused(502), false],
  '504': [() => refused(504), false],
  '520': [() => refused(520), false],
  '524': [() => refused(524), false],
  'a page with 503 of something between': [() => html(503), false],
  'a broken connection': [thrown(brokenConnection), false],
}

/** The charge of one call that was answered, by a model of these micro-dollars a token. */
const oneCall = (input: number, output: number) => ({
  rpm: 1,
  'in-flight': 0,
  'budget.daily': 10 * input + 50 * output,
})
const MIDDLE = oneCall(0.2, 2)
const SMALL = oneCall(0.1, 1)
const NOTHING_BUT_A_REQUEST = oneCall(0, 0)

/** The doors that know that an error is that of one `fetch`. */
const SEES_ERRORS = /^(modelHandler with an address|limitedFetch)$/

const modelsOf = (sent: readonly Sent[]): string[] => sent.map(({ model }) => model)

const falling = (isFollowed: boolean) =>
  Object.entries(FAILURES)
    .filter(([, [, falls]]) => falls === isFollowed)
    .map(([name, [failure]]) => [name, failure] as const)

/** Calls a door whose first two models cannot be reached. */
async function callUnreachable(door: string) {
  const limiter = limiterOf()
  const models: string[] = []
  const answer = (one: Sent): Response => {
    models.push(one.model)
    return failing(thrown(refusedConnection), 'large', 'middle')(one)
  }
  const called = await callBy(door, { limiter, answer }).catch(() => undefined)
  return { limiter, models, called }
}

describe.each(Object.keys(DOORS).filter((door) => SEES_ERRORS.test(door)))('%s', (door) => {
  it('calls the next model after a refused connection, which one fetch proves', async () => {
    const { limiter, models, called } = await callUnreachable(door)
    expect(models).toEqual(['large', 'middle', 'small'])
    expect(called?.result).toMatchObject({ status: 200, model: 'small' })
    expect(await charged(limiter)).toEqual(SMALL)
  })
})

it('a handler that reaches no model of its list has the clients not repeat the call, which costs nothing', async () => {
  const limiter = limiterOf()
  const { sent, result } = await callBy('modelHandler with an address', {
    limiter,
    answer: thrown(refusedConnection),
  })
  expect(modelsOf(sent)).toEqual(['large', 'middle', 'small'])
  expect(result.status).toBe(502)
  expect(result.headers.get('x-should-retry')).toBe('false')
  expect(await charged(limiter)).toEqual({ rpm: 0, 'in-flight': 0, 'budget.daily': 0 })
})

it.each(Object.keys(DOORS))(
  '%s has the clients not repeat a list that ended by another error',
  async (door) => {
    const called = await callBy(door, { limiter: limiterOf(), answer: refusedThenBroken }).then(
      ({ result }) => result.headers.get('x-should-retry') === 'false',
      (error: unknown) => (error as { isRetryable?: boolean }).isRetryable === false,
    )
    expect(called).toBe(true)
  },
)

it('a function that returns no list is told so', async () => {
  const models = (async () => ['small']) as never
  const call = callBy('limitedFetch', { limiter: limiterOf(), answer: answered, list: models })
  await expect(call).rejects.toThrow('fallbackModels: must return a list of models')
})

describe.each(Object.keys(DOORS).filter((door) => !SEES_ERRORS.test(door)))('%s', (door) => {
  it('calls no other model after an error, because another function may have tried before', async () => {
    expect((await callUnreachable(door)).models).toEqual(['large'])
  })
})

describe.each(Object.keys(DOORS))('%s', (door) => {
  it.each(falling(true))('%s of the provider is followed by the next model', async (_, failure) => {
    const limiter = limiterOf()
    const { sent, told, result } = await callBy(door, {
      limiter,
      answer: failing(failure, 'large'),
    })
    expect(modelsOf(sent)).toEqual(['large', 'middle'])
    expect(result).toMatchObject({ status: 200, model: 'middle' })
    expect(told).toMatchObject([{ asked: 'large', used: 'middle', isAfterFailure: true }])
    // One call of a user counts once, at the price of the model that has answered.
    expect(await charged(limiter)).toEqual(MIDDLE)
  })

  it.each(falling(false))('%s is not, and the client decides on its own', async (_, failure) => {
    const models: string[] = []
    const answer = (one: Sent): Response => {
      models.push(one.model)
      return failing(failure, 'large')(one)
    }
    const called = await callBy(door, { limiter: limiterOf(), answer }).catch(() => undefined)
    expect(models).toEqual(['large'])
    expect(called?.result.headers.get('x-should-retry') ?? null).toBeNull()
  })

  it('the end of the list is the failure of its last model, which the clients do not repeat', async () => {
    const limiter = limiterOf()
    const answer = failing(() => refused(503), 'large', 'middle', 'small')
    const { sent, result } = await callBy(door, { limiter, answer })
    expect(modelsOf(sent)).toEqual(['large', 'middle', 'small'])
    expect(result.status).toBe(503)
    expect(result.headers.get('x-should-retry')).toBe('false')
    expect(await charged(limiter)).toEqual(NOTHING_BUT_A_REQUEST)
  })

  it('the failure stands, and costs a request, if nothing has room for the next model', async () => {
    const limiter = limiterOf()
    let taken = 0
    const { sent, result } = await callBy(door, {
      limiter,
      answer: async () => {
        // Others have spent the rest meanwhile.
        taken = usd(1) - 20_000
        await limiter.check({ tenant: 'acme' }, { cost: { usd: taken, request: 0, call: 0 } })
        return refused(429)
      },
      list: [{ model: 'middle', mayCostMore: true }],
      options: { prices: PRICIER_MIDDLE },
    })
    expect(modelsOf(sent)).toEqual(['large'])
    expect(result.status).toBe(429)
    expect(result.headers.get('x-should-retry')).toBe('false')
    expect(await charged(limiter)).toEqual({ ...NOTHING_BUT_A_REQUEST, 'budget.daily': taken })
  })

  it.each(['request', 'reply'])(
    'the next model is tried also if the %s of giving back is lost',
    async (lost) => {
      const inMemory = memory()
      let failures = 0
      const store: Store = {
        ...inMemory,
        check: (request) => inMemory.check(request),
        async run(operation) {
          failures += 1
          if (failures > 1) return inMemory.run(operation)
          if (lost === 'reply') await inMemory.run(operation)
          throw new StoreError('store_timeout', 'no answer')
        },
      }
      const limiter = limiterOf(store)
      const answer = failing(() => refused(500), 'large')
      const { sent, result } = await callBy(door, { limiter, answer })
      expect(modelsOf(sent)).toEqual(['large', 'middle'])
      expect(result.status).toBe(200)
      // It is given back later.
      expect(await charged(limiter)).toEqual(MIDDLE)
    },
  )

  it('a client that goes away ends all, and the call costs nothing', async () => {
    const limiter = limiterOf()
    const controller = new AbortController()
    const sent: Sent[] = []
    const answer = (one: Sent): Response => {
      sent.push(one)
      controller.abort(new Error('gone'))
      return refused(503)
    }
    await callBy(door, { limiter, answer, signal: controller.signal }).catch(() => undefined)
    expect(modelsOf(sent)).toEqual(['large'])
    expect(await charged(limiter)).toMatchObject({ 'in-flight': 0, 'budget.daily': 0 })
  })

  it('a stream that breaks is not followed by another model', async () => {
    const limiter = limiterOf()
    const sent: Sent[] = []
    const answer = (one: Sent): Response => {
      sent.push(one)
      let pulls = 0
      const stream = new ReadableStream<Uint8Array>({
        pull(controller) {
          pulls += 1
          if (pulls > 1) controller.error(new TypeError('terminated'))
          else controller.enqueue(new TextEncoder().encode('{"model":'))
        },
      })
      return new Response(stream, { headers: { 'content-type': 'application/json' } })
    }
    await callBy(door, { limiter, answer }).catch(() => undefined)
    expect(modelsOf(sent)).toEqual(['large'])
  })
})
