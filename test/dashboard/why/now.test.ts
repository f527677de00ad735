import { readFileSync } from 'node:fs'
import { definePlans, slidingWindow } from '@sluice/core'
import { flushUsage, recordUsage } from '@sluice/usage'
import { describe, expect, it } from 'vitest'
import { whyDenied } from '@sluice/dashboard/why'
import { denialId, flushDenials, recordDenials } from '@sluice/usage/denials'
import { ownRedis } from '../../support/running-redis.ts'
import { CHAT, asking, setUp } from './support.ts'

const redis = ownRedis()

describe('a question about now', () => {
  it('tells what denies, when it fits, what would let it pass, and how full each limit is', async () => {
    const { clock, limiter, ask } = setUp(redis, [recordUsage({ tenants: 'plain' })])
    await limiter.check(CHAT, { cost: { token: 90 } })
    await flushUsage(limiter)
    clock.advance(23_000)
    const question = { tenant: 'acme', subject: { route: 'chat' }, cost: { token: 22 } }
    const answer = await ask(question)
    const readme = readFileSync(
      new URL('../../../packages/dashboard/README.md', import.meta.url),
      'utf8',
    )
    expect(readme).toContain(`\`\`\`text\n${answer.lines.join('\n')}\n\`\`\``)
    expect(answer).toEqual({
      status: 200,
      lines: [
        'tenant=acme route=chat',
        'It asks for 22 tokens and 1 request.',
        'Denied by tpm: 90 of 100 tokens used, and it asks for 22.',
        '  It fits in 37s if nothing else is charged.',
        '  It fits now with 12 tokens less.',
        '  It fits now with a limit of 112 for tpm.',
        '  rpm: 1 of 60 requests used',
        '  all: 1 of 900 requests used',
        'Used in the last hours, as recorded:',
        '  chat: 1 request, 90 tokens',
      ],
      limiter: 'api',
      limiters: ['api'],
      dimensions: ['route'],
      plans: [],
      units: ['token', 'request'],
    })
  })

  it('charges nothing, and counts as no request', async () => {
    const { dashboard, limiter, ask } = setUp(redis)
    await limiter.check(CHAT, { cost: { token: 90 } })
    const before = dashboard.view()
    await ask({ tenant: 'acme', subject: { route: 'chat' }, cost: { token: 22 } })
    expect(dashboard.view()).toEqual(before)
    expect((await limiter.peek(CHAT, { cost: { token: 1 } })).policies[0]?.remaining).toBe(10)
  })

  it('says how to record who has used it up, where nobody does', async () => {
    const { limiter, ask } = setUp(redis)
    await limiter.check(CHAT, { cost: { token: 100 } })
    const { lines } = await ask({ tenant: 'acme', subject: { route: 'chat' } })
    expect(lines.at(-1)).toContain('add recordUsage() of @sluice/usage')
    const other = await ask({ tenant: 'globex', subject: { route: 'chat' } })
    expect(other.lines).toEqual([
      'tenant=globex route=chat',
      'It asks for 1 token and 1 request.',
      'Allowed.',
      '  tpm: 0 of 100 tokens used',
      '  rpm: 0 of 60 requests used',
      '  all: 1 of 900 requests used',
    ])
  })

  it('names what it lacks, and what else can be asked', async () => {
    const { ask } = setUp(redis)
    const { lines, ...parts } = await ask({ tenant: 'acme' })
    expect(lines).toEqual(['A policy counts by route: fill it in.'])
    expect(parts).toMatchObject({ status: 200, dimensions: ['route'] })
    const wrong = await ask({ tenant: 'acme', subject: { route: 'chat' }, cost: { token: -1 } })
    expect(wrong.lines[0]).toMatch(/^cost\.token /)
  })

  it('asks for the cost of the latest recorded denial that is alike, unless one is given', async () => {
    const { clock, limiter, ask } = setUp(redis, [recordDenials({ flushEvery: '1h' })])
    await limiter.check(CHAT, { cost: { token: 90 } })
    for (const token of [30, 22]) {
      clock.advance(1_000)
      await limiter.check(CHAT, { cost: { token } })
    }
    clock.advance(1_000)
    await limiter.check({ ...CHAT, route: 'other' }, { cost: { token: 50 } })
    await flushDenials(limiter)
    const question = { tenant: 'acme', subject: { route: 'chat' } }
    const { lines } = await ask({ ...question, cost: {} })
    expect(lines.slice(1, 3)).toEqual([
      'It asks for 22 tokens and 1 request, as the denial of 2026-01-15 12:00:32Z did.',
      'Denied by tpm: 90 of 100 tokens used, and it asks for 22.',
    ])
    const given = await ask({ ...question, cost: { token: 5 } })
    expect(given.lines.slice(1, 3)).toEqual(['It asks for 5 tokens and 1 request.', 'Allowed.'])
  })

  it('is about one tenant, whatever its subject says', async () => {
    const { limiter, ask } = setUp(redis)
    await limiter.check({ ...CHAT, tenant: 'globex' }, { cost: { token: 100 } })
    const subject = { tenant: 'globex', route: 'chat' }
    const { lines } = await ask({ tenant: 'acme', subject })
    expect(lines.slice(0, 4)).toEqual([
      'tenant=acme route=chat',
      'It asks for 1 token and 1 request.',
      'Allowed.',
      '  tpm: 0 of 100 tokens used',
    ])
  })

  it('is decided with the limits of the plan', async () => {
    const plans = definePlans({ starter: { rpm: 1 }, growth: { rpm: 2 } })
    const { limiter } = redis.setUp(
      [
        slidingWindow({
          name: 'rpm',
          limit: ({ plan }) => Number(plan['rpm']),
          window: '1m',
          per: ['tenant'],
        }),
      ],
      { plans },
    )
    const ask = asking({ api: limiter })
    await limiter.check({ tenant: 'acme', plan: 'growth' })
    const { lines, plans: names } = { plans: [], ...(await ask({ tenant: 'acme' })) }
    expect(lines[2]).toContain('Denied by rpm: 1 of 1 request used')
    expect(names).toEqual(['starter', 'growth'])
    const growth = await ask({ tenant: 'acme', subject: { plan: 'growth' } })
    expect(growth.lines).toEqual([
      'tenant=acme plan=growth',
      'It asks for 1 request.',
      'Allowed.',
      '  rpm: 1 of 2 requests used',
    ])
  })

  it('is about the limiter that it names', async () => {
    const { limiter } = setUp(redis)
    const other = redis.setUp([
      slidingWindow({ name: 'one', limit: 1, window: '1m', per: ['user'] }),
    ])
    const ask = asking({ api: limiter, images: other.limiter })
    const question = { tenant: 'acme', limiter: 'images', subject: { user: 'u_1' } }
    expect(await ask(question)).toMatchObject({
      lines: [
        'tenant=acme user=u_1',
        'It asks for 1 request.',
        'Allowed.',
        '  one: 0 of 1 request used',
      ],
      limiter: 'images',
      limiters: ['api', 'images'],
      dimensions: ['user'],
    })
    const unknown = await ask({ ...question, limiter: 'chat' })
    expect(unknown.lines[0]).toContain('whyDenied has no limiter "chat", but api, images.')
  })
})

it('takes the dimension that names the tenant, also of a recorded denial', async () => {
  const one = slidingWindow({ name: 'one', limit: 1, window: '1m', per: ['org'] })
  const { limiter } = redis.setUp([one], {
    extensions: [recordDenials({ by: 'org', flushEvery: '1h' })],
  })
  const why = whyDenied({ api: limiter }, { by: 'org' })
  const ask = async (question: object) => {
    const { text } = (await (await why(JSON.stringify(question))).json()) as { text: string }
    return text.split('\n')
  }
  expect(await ask({ tenant: 'acme' })).toEqual([
    'org=acme',
    'It asks for 1 request.',
    'Allowed.',
    '  one: 0 of 1 request used',
  ])
  const decision = await limiter.check({ org: 'acme' }, { cost: 2 })
  const headers = { 'x-request-id': 'req_7' }
  if (!decision.allowed) denialId()(decision, new Request('https://app.example', { headers }))
  await flushDenials(limiter)
  expect(await ask({ tenant: 'acme', id: 'req_7' })).toEqual([
    expect.stringMatching(/ org=acme$/),
    'Denied by one: 0 of 1 request used, and it asked for 2.',
    '  It could never fit: it asked for more than the limit.',
  ])
})
