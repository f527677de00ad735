import { createLimiter, defineExtension, fixedWindow, type Limiter, type Store } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { afterEach, expect, it, vi } from 'vitest'

/** A limiter of one request an hour for each tenant, and the requests to its store. */
function setUp(extensions: Parameters<typeof createLimiter>[0]['extensions'] = []) {
  const store = memory()
  const requests: Parameters<Store['check']>[0][] = []
  const limiter: Limiter = createLimiter({
    store: { ...store, check: (request) => (requests.push(request), store.check(request)) },
    policies: [fixedWindow({ name: 'hourly', limit: 1, window: '1h', per: ['tenant'] })],
    extensions,
  })
  return { limiter, requests }
}

afterEach(() => void vi.restoreAllMocks())

it('counts each tenant, of more than it remembers the keys of', async () => {
  vi.spyOn(Date, 'now').mockReturnValue(0)
  const { limiter } = setUp()
  const tenants = Array.from({ length: 2_500 }, (_, index) => `t${index}`)
  const allowed = async () => {
    const decisions = await Promise.all(tenants.map((tenant) => limiter.check({ tenant })))
    return decisions.filter((decision) => decision.allowed).length
  }
  expect(await allowed()).toBe(2_500)
  expect(await allowed()).toBe(0)
})

it('keeps the key of a long value apart from that of a short one', async () => {
  const { limiter, requests } = setUp()
  for (const tenant of ['t', 't'.repeat(300), 't']) await limiter.check({ tenant })
  const [short, long, again] = requests.map(({ entries }) => entries[0]?.key)
  expect(again).toBe(short)
  expect(long).toMatch(/^hourly:fixed-3600000:tenant=~[0-9a-f]{64}$/)
})

it('refuses a recent value that the subject only inherits', async () => {
  const { limiter } = setUp()
  await limiter.check({ tenant: 'acme' })
  const inheriting = Object.create({ tenant: 'acme' }) as { tenant: string }
  await expect(limiter.check(inheriting)).rejects.toMatchObject({ code: 'missing_dimension' })
})

it('decides by the time after its extensions, which may have waited', async () => {
  const clock = vi.spyOn(Date, 'now').mockReturnValue(1_000)
  const slow = defineExtension({
    name: 'slow',
    connect: () => ({ before: () => void clock.mockReturnValue(6_000) }),
  })
  const { limiter, requests } = setUp([slow])
  await limiter.check({ tenant: 'acme' })
  expect(requests).toMatchObject([{ now: 6_000, startedAt: 1_000 }])
})
