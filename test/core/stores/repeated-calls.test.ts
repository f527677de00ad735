import { createLimiter, slidingWindow, type Limiter, type Policy } from '@sluice/core'
import { batched } from '@sluice/core/batched'
import { reserve } from '@sluice/core/reservations'
import { upstash } from '@sluice/core/upstash'
import { startLocal, type LocalServer } from '@sluice/local'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { KIND_NAMES, KINDS, type Kind } from '../../support/kinds.ts'
import { freshPrefix } from '../../support/stores.ts'

const LIMIT = 100
const ACME = { tenant: 'acme' }

const ENGINES = {
  redis: () => startLocal({ redisUrl: inject('redisUrl') }),
  'the embedded engine': () => startLocal({ engine: 'embedded' }),
}

/** The kinds that know each charge by its id; the others count a call that is repeated twice. */
const EXACT: ReadonlySet<Kind> = new Set([
  'sliding window',
  'fair shares',
  'waiting line',
  'calls in flight',
])

describe.each(Object.entries(ENGINES))('a call that is repeated on its way to %s', (_, start) => {
  let local: LocalServer
  beforeAll(async () => {
    local = await start()
  })
  afterAll(() => local.close())

  /** A limiter whose calls arrive twice while `repeats` is set; the caller gets the first or the second reply. */
  function setUp(policy: Policy, isBatched = false, takes: 'first' | 'second' = 'second') {
    const network = { repeats: true }
    const store = upstash({
      url: local.url,
      token: local.token,
      prefix: freshPrefix(),
      timeoutMs: 30_000,
      async fetch(url, init) {
        const first = await fetch(url, init)
        if (!network.repeats) return first
        const second = await fetch(url, init)
        return takes === 'first' ? first : second
      },
    })
    const wrapped = isBatched ? batched(store) : store
    return { limiter: createLimiter({ store: wrapped, policies: [policy] }), network }
  }

  /** The units that Redis has counted. */
  async function used(limiter: Limiter, kind?: Kind): Promise<number> {
    const calls = kind === 'calls in flight' && { call: 0 }
    const { policies } = await limiter.peek(ACME, { cost: { request: 0, ...calls } })
    return LIMIT - (policies[0]?.remaining ?? Number.NaN)
  }

  const cells = KIND_NAMES.flatMap((kind) =>
    [false, true].map((isBatched) => ({ kind, isBatched })),
  )

  it.each(cells)('counts in a $kind as the page says, batched: $isBatched', async (cell) => {
    const { kind, isBatched } = cell
    const { limiter, network } = setUp(KINDS[kind]('p', LIMIT), isBatched)
    const isCall = kind === 'calls in flight'
    const check = (units: number) => limiter.check(ACME, isCall ? {} : { cost: units })
    for (const units of [1, 3]) await check(units)
    await Promise.all([check(2), check(2), check(2)])
    network.repeats = false
    const once = isCall ? 5 : 10
    expect(await used(limiter, kind)).toBe(EXACT.has(kind) ? once : 2 * once)
  })

  const exact = slidingWindow({ name: 'p', limit: LIMIT, window: '1h', per: ['tenant'] })

  it.each(['first', 'second'] as const)(
    'leaves a sliding window exact for later calls, up to its limit, with the %s reply',
    async (takes) => {
      for (const isBatched of [false, true]) {
        const { limiter, network } = setUp(exact, isBatched, takes)
        const first = await Promise.all(Array.from({ length: 4 }, () => limiter.check(ACME)))
        const large = await limiter.check(ACME, { cost: 90 })
        expect([...first, large].map(({ allowed }) => allowed)).toEqual(
          // Repeated, the large one does not fit beside itself: the second reply is a denial of what is charged.
          [true, true, true, true, takes === 'first'],
        )
        network.repeats = false
        expect(await used(limiter)).toBe(94)
        expect((await limiter.check(ACME, { cost: 6 })).allowed).toBe(true)
        expect((await limiter.check(ACME)).allowed).toBe(false)
      }
    },
  )

  it('settles a reservation once', async () => {
    const { limiter } = setUp(exact)
    const call = await reserve(limiter, ACME, { cost: 5 })
    if (!call.allowed) throw new Error('It fits')
    await call.settle(9)
    expect(await used(limiter)).toBe(9)
    await call.settle(9)
    expect(await used(limiter)).toBe(9)
  })
})
