import { rateLimit } from '@sluice/cloudflare'
import { createLimiter, fixedWindow } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { limitedConsumer } from '@sluice/queue/cloudflare'
import { expect, it, vi } from 'vitest'

const context = { waitUntil: () => {} }

/** A limiter that was created without an `env`, and allows one request. */
const once = () =>
  createLimiter({
    store: memory(),
    policies: [fixedWindow({ name: 'once', limit: 1, window: '1d', per: ['tenant'] })],
  })

it('a limiter that was created once counts for every env of a Worker', async () => {
  const options = { routes: ['/**'], subject: () => ({ tenant: 'acme' }) }
  const fetch = rateLimit(once(), options, () => new Response('answer'))
  const send = async () => (await fetch(new Request('https://app.example/'), {}, context)).status
  expect([await send(), await send()]).toEqual([200, 429])
})

it('a limiter that was created once counts for every env of a queue', async () => {
  const consume = limitedConsumer(once(), { subject: () => ({ tenant: 'acme' }) }, () => {})
  const messages = [0, 1].map((id) => ({
    id: String(id),
    attempts: 1,
    body: {},
    ack: vi.fn<() => void>(),
    retry: vi.fn<() => void>(),
  }))
  for (const message of messages) await consume({ queue: 'jobs', messages: [message] }, {}, context)
  expect(
    messages.map(({ ack, retry }) => [ack.mock.calls.length, retry.mock.calls.length]),
  ).toEqual([
    [1, 0],
    [0, 1],
  ])
})
