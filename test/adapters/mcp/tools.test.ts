import type { RateLimitOptions } from '@sluice/adapters/mcp'
import { concurrency, createLimiter, fixedWindow, leakyBucket, type Limiter } from '@sluice/core'
import { reserving } from '@sluice/core/http'
import { memory } from '@sluice/core/memory'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { denied, perMinute, setUpAtMidnight, state } from '../../core/http/support.ts'
import { ACME } from '../../support/limiters.ts'
import { MIDNIGHT } from '../../support/times.ts'
import { holdTimers, storeDown } from '../support.ts'
import { SDKS, text } from './support.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  vi.restoreAllMocks()
  for (const close of closing.splice(0).toReversed()) await close()
})

const inFlight = concurrency({ name: 'in-flight', limit: 1, per: ['tenant'] })
const cost = reserving({ token: 100 })
const create = (): Limiter =>
  createLimiter({
    store: memory(),
    policies: [
      inFlight,
      fixedWindow({ name: 'tpm', limit: 1_000, window: '366d', per: ['tenant'], unit: 'token' }),
    ],
  })

/** The facts of a call that the adapter has for programs. */
const facts = ({ _meta: meta }: { readonly _meta?: Record<string, unknown> | undefined }) =>
  meta?.['sluice/rate-limit']

async function left(limiter: Limiter): Promise<number[]> {
  const { policies } = await limiter.peek(ACME, { cost: { token: 0, call: 0 } })
  return policies.map(({ remaining }) => remaining)
}

describe.each(SDKS)('a tool in %s of the SDK', (_, { inMemory }) => {
  /** Calls tools over a transport without HTTP. */
  async function connect(
    limiter: Limiter,
    options: Partial<RateLimitOptions> = {},
    search = async () => {},
  ) {
    const client = await inMemory(limiter, { subject: () => ACME, ...options }, search)
    closing.push(() => client.close())
    // The client holds results to the output schemas that it has read.
    await client.listTools()
    return (name = 'search') => client.callTool({ name, arguments: { query: 'why' } })
  }

  it('answers with the limits in _meta, and a denial tells the model when to call again', async () => {
    const call = await connect(perMinute(1))
    const allowed = await call()
    expect(allowed.structuredContent).toEqual({ found: 'why' })
    expect(facts(allowed)).toEqual(expect.objectContaining({ 'X-RateLimit-Remaining': '0' }))
    const reset = new Date(MIDNIGHT + 60_000).toISOString().replace('.000', '')
    expect(await call()).toEqual({
      isError: true,
      content: [
        {
          type: 'text',
          text: `This call may cost 1; 0 of 1 requests of policy "rpm" are left. Retry in 60 s. It is reset at ${reset}.`,
        },
      ],
      _meta: {
        'sluice/rate-limit': expect.objectContaining({
          error: 'rate_limit_exceeded',
          policy: 'rpm',
          retryAfter: 60,
        }),
      },
    })
  })

  it.each([
    ['says the local time of a calendar once', 0, ''],
    [
      'says the time in UTC where another limit denies for longer',
      1_000,
      ' It is reset at 2026-01-31T23:00:01Z.',
    ],
  ])('%s', async (__, longerMs, end) => {
    const retryAfterMs = Date.parse('2026-01-31T23:00:00Z') - MIDNIGHT
    const resetsAt = '2026-02-01T00:00:00+01:00[Europe/Berlin]'
    const reason = 'monthly_quota_exceeded'
    const decision = {
      ...denied(state({ name: 'monthly', reason, fits: false, retryAfterMs, resetsAt })),
      retryAfterMs: retryAfterMs + longerMs,
    }
    const call = await connect({ ...perMinute(1), check: () => Promise.resolve(decision) })
    const answer = await call()
    const [content] = answer.content as { text: string }[]
    expect(content?.text.endsWith(end)).toBe(true)
    expect(content?.text.match(/2026-0/g)).toHaveLength(1)
    expect(facts(answer)).toMatchObject({ resetsAt })
  })

  it('has the code of the option in its denials', async () => {
    const call = await connect(perMinute(0), { code: -32_023 })
    expect(facts(await call())).toMatchObject({ code: -32_023 })
  })

  it('is not run for a call without a subject', async () => {
    const search = vi.fn<() => Promise<void>>()
    const call = await connect(perMinute(1), { subject: () => null }, search)
    const answer = await call()
    expect(answer.isError).toBe(true)
    expect(facts(answer)).toMatchObject({ error: 'unauthenticated' })
    expect(search).not.toHaveBeenCalled()
  })

  it('is counted by its name, and by its input if the cost says so', async () => {
    const policy = fixedWindow({ name: 'rpm', limit: 9, window: '1m', per: ['tenant', 'route'] })
    const { limiter } = setUpAtMidnight(policy)
    const call = await connect(limiter, {
      cost: (_request, _extra, input) =>
        (input as { query: string } | undefined)?.query.length ?? 1,
    })
    await call('search')
    await call('now')
    const remaining = async (route: string) =>
      (await limiter.peek({ ...ACME, route }, { cost: 0 })).policies[0]?.remaining
    expect([await remaining('search'), await remaining('now')]).toEqual([6, 8])
  })

  it('still limits without the store, each process by itself', async () => {
    const call = await connect(storeDown(1))
    expect([(await call()).isError, (await call()).isError]).toEqual([undefined, true])
  })

  it('fails as it would by itself, and gives its slot back', async () => {
    const limiter = create()
    const call = await connect(limiter, { cost })
    expect(await call('fail')).toMatchObject({
      isError: true,
      content: text('The tool failed').content,
    })
    expect(await left(limiter)).toEqual([1, 900])
  })

  it('settles what is reserved for it, and holds its slot until it has answered', async () => {
    const limiter = create()
    const call = await connect(limiter, { cost }, async () => {
      expect(await left(limiter)).toEqual([0, 870])
      expect((await call('now')).isError).toBe(true)
    })
    expect((await call('settle')).content).toEqual(text('settled').content)
    expect(await left(limiter)).toEqual([1, 970])
    expect((await call('search')).isError).toBe(undefined)
    expect(await left(limiter)).toEqual([1, 870])
  })

  it('waits for its turn, or until its client cancels the call', async () => {
    const delays = holdTimers(1_234)
    const shape = leakyBucket({
      name: 'shape',
      limit: 1,
      window: '1234ms',
      burst: 4,
      per: ['tenant'],
    })
    const search = vi.fn<() => Promise<void>>(async () => {})
    const call = await connect(setUpAtMidnight(shape).limiter, {}, search)
    await call()
    const held = call()
    await expect.poll(() => delays.length).toBe(1)
    expect(search).toHaveBeenCalledTimes(1)
    delays[0]?.()
    expect((await held).isError).toBe(undefined)
    expect(search).toHaveBeenCalledTimes(2)
  })
})
