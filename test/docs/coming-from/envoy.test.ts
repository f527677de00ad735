import { createLimiter, rollout, tokenBucket, type Limiter, type Policy } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import * as fc from 'fast-check'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { EnvoyLocalRateLimit, type EnvoyFilter } from './models/envoy.ts'
import { at, block, cleanUp, requestFrom, source, START, stillClock } from './page.ts'

cleanUp()
stillClock()

/** Bursts of requests, each after a pause in milliseconds. */
const bursts = fc.array(
  fc.record({
    waitMs: fc.oneof(fc.constantFrom(0, 1, 99, 100, 999, 1_000, 6_000), fc.nat({ max: 15_000 })),
    sent: fc.integer({ min: 1, max: 40 }),
  }),
  { minLength: 1, maxLength: 30 },
)

describe("Envoy's token bucket", () => {
  it('lets the same requests pass, with the same headers, status and body', async () => {
    const filter = filterOf(source('envoy.yaml'))
    const { serve } = await block('envoy')
    const envoy = new EnvoyLocalRateLimit(filter, START)
    const [theirs, ours] = [[] as object[], [] as object[]]
    for (let sent = 0; sent < 400; sent += 1) {
      const ms = sent < 130 ? 0 : sent * 73
      const now = at(ms)
      const { allowed } = envoy.request(now)
      const answer = await serve(requestFrom('192.0.2.7', '/any'))
      const { headers } = answer
      theirs.push({
        ms,
        status: allowed ? 200 : 429,
        limit: String(filter.token_bucket.max_tokens),
        remaining: String(envoy.remaining(now)),
        added: allowed ? null : 'true',
        body: allowed ? 'answer' : 'local_rate_limited',
      })
      ours.push({
        ms,
        status: answer.status,
        limit: headers.get('x-ratelimit-limit'),
        remaining: headers.get('x-ratelimit-remaining'),
        added: headers.get('x-local-rate-limit'),
        body: await answer.text(),
      })
    }
    expect(ours).toEqual(theirs)
    expect(theirs).toContainEqual(expect.objectContaining({ status: 429 }))
  })

  it('lets the same requests pass when a timer fills it', async () => {
    await fc.assert(
      fc.asyncProperty(bursts, async (steps) => {
        const bucket = { limit: 10, window: '1s', burst: 100, per: 'global' } as const
        const limiter = limiterOf(tokenBucket({ ...bucket, name: 'local', refill: 'interval' }))
        const filter = { ...filterOf(source('envoy.yaml')), timer: true }
        const envoy = new EnvoyLocalRateLimit(filter, START)
        expect(await passed(steps, async () => (await limiter.check({})).allowed)).toEqual(
          await passed(steps, (now) => envoy.request(now).allowed),
        )
      }),
      { numRuns: 30 },
    )
  })
})

describe("Envoy's percentages", () => {
  it('of 100 and of 0 let the same requests pass', async () => {
    await fc.assert(
      fc.asyncProperty(bursts, async (steps) => {
        const bucket = { limit: 10, window: '1m', per: ['tenant'] } as const
        const limiter = limiterOf(tokenBucket({ ...bucket, name: 'rpm', mode: 'shadow' }))
        const filter = filterOf(source('envoy-rollout.yaml'))
        const shares = { filter_enabled: 100, filter_enforced: 0 }
        const envoy = new EnvoyLocalRateLimit({ ...filter, ...shares }, START)
        const ours = await passed(steps, async () => {
          const { allowed, policies } = await limiter.check({ tenant: 'acme' })
          return { allowed, limited: policies[0]?.fits === false }
        })
        expect(ours).toEqual(await passed(steps, (now) => envoy.request(now)))
      }),
      { numRuns: 30 },
    )
  })

  it('between 0 and 100 refuse some requests of each tenant in Envoy, and each request of some tenants in Sluice', async () => {
    const [TENANTS, SENT] = [1_000, 40]
    const { limiter } = await block('envoy-rollout')
    const filter = filterOf(source('envoy-rollout.yaml'))
    const draw = lots()
    const [theirs, ours] = [[] as number[], [] as number[]]
    for (let index = 0; index < TENANTS; index += 1) {
      const envoy = new EnvoyLocalRateLimit(filter, START, draw)
      let [there, here] = [0, 0]
      for (let sent = 0; sent < SENT; sent += 1) {
        const { allowed } = await limiter.check({ tenant: `tenant-${index}` })
        if (!envoy.request(START).allowed) there += 1
        if (!allowed) here += 1
      }
      theirs.push(there)
      ours.push(here)
    }
    const over = SENT - filter.token_bucket.max_tokens
    // Hardly anyone is refused as often there as a limit for everyone would have it.
    expect(theirs.filter((refused) => refused > 0).length).toBeGreaterThan(TENANTS / 2)
    expect(Math.max(...theirs)).toBeLessThan(over)
    expect(new Set(ours)).toEqual(new Set([0, over]))
    const { filter_enabled = 0, filter_enforced = 0 } = filter
    const share = (filter_enabled / 100) * (filter_enforced / 100)
    const refusedShare = ours.filter((refused) => refused > 0).length / TENANTS
    expect(refusedShare).toBeGreaterThan(share * 0.75)
    expect(refusedShare).toBeLessThan(share * 1.25)
  })

  it('by request refuse as many requests as Envoy does', async () => {
    const SENT = 20_000
    const byRequest = rollout({ enabled: 50, enforced: 20, by: 'request' })
    const bucket = { limit: 10, window: '1m', per: 'global' } as const
    const limiter = limiterOf(tokenBucket({ ...bucket, name: 'rpm', rollout: byRequest }))
    const envoy = new EnvoyLocalRateLimit(filterOf(source('envoy-rollout.yaml')), START, lots())
    let seed = 1
    const random = vi.spyOn(Math, 'random').mockImplementation(() => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed / 2_147_483_647
    })
    onTestFinished(() => random.mockRestore())
    let [there, here] = [0, 0]
    for (let sent = 0; sent < SENT; sent += 1) {
      if (!envoy.request(START).allowed) there += 1
      if (!(await limiter.check({})).allowed) here += 1
    }
    expect(Math.abs(here - there)).toBeLessThan(SENT * 0.01)
    expect(here / SENT).toBeCloseTo(0.1, 1)
  })
})

const limiterOf = (policy: Policy): Limiter =>
  createLimiter({ store: memory(), policies: [policy] })

/** Lots from 0 up to 100, the same in each run (a linear congruential generator). */
function lots(): () => number {
  let seed = 1
  return () => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
    return (seed / 2 ** 32) * 100
  }
}

/** Asks for every request of `steps`, from midnight on. */
async function passed<Answer>(
  steps: readonly { readonly waitMs: number; readonly sent: number }[],
  ask: (now: number) => Answer | Promise<Answer>,
): Promise<Answer[]> {
  const answers: Answer[] = []
  let ms = 0
  for (const { waitMs, sent } of steps) {
    ms += waitMs
    for (let index = 0; index < sent; index += 1) answers.push(await ask(at(ms)))
  }
  return answers
}

/** A filter's options in a block of the page. */
function filterOf(yaml: string): EnvoyFilter {
  const number = (pattern: RegExp): number => Number(pattern.exec(yaml)?.[1])
  return {
    token_bucket: {
      max_tokens: number(/max_tokens: (\d+)/),
      tokens_per_fill: number(/tokens_per_fill: (\d+)/),
      fill_interval_ms: number(/fill_interval: (\d+)s/) * 1000,
    },
    filter_enabled: number(/filter_enabled: .*numerator: (\d+)/),
    filter_enforced: number(/filter_enforced: .*numerator: (\d+)/),
  }
}
