import { expect, it, vi } from 'vitest'
import { startWorker } from '../cloudflare/support.ts'

it('a Worker sends its spans and metrics in `waitUntil`, and nothing before its first request', async () => {
  await using worker = await startWorker('traced')
  const get = (path: string) => worker.miniflare.dispatchFetch(new URL(path, worker.url))
  const exported = async () =>
    (await (await get('/exported')).json()) as {
      spans: { name: string; attributes: Record<string, unknown> }[]
      metrics: string[]
    }
  expect(await exported()).toEqual({ spans: [], metrics: [] })
  for (const status of [200, 429]) expect((await get('/api/ai/chat')).status).toBe(status)
  await expect.poll(async () => (await exported()).spans).toHaveLength(2)
  const { spans, metrics } = await exported()
  expect(spans.map(({ name }) => name)).toEqual(['rate_limiter.check', 'rate_limiter.check'])
  expect(spans.map(({ attributes }) => attributes['rate_limiter.outcome'])).toEqual([
    'allowed',
    'denied',
  ])
  expect(metrics).toContain('rate_limiter.decisions')
})

it('a Worker adds what it has counted after its responses, for another isolate to read', async () => {
  await using worker = await startWorker('counted')
  const get = (path: string) => worker.miniflare.dispatchFetch(new URL(path, worker.url))
  for (const status of [200, 429, 429]) expect((await get('/api/ai/chat')).status).toBe(status)
  const route = 'rate_limiter_route="/api/ai/**"'
  await vi.waitFor(
    async () => {
      const text = await (await get('/metrics')).text()
      expect(text).toContain(
        `rate_limiter_decisions_total{${route},rate_limiter_outcome="allowed"} 1`,
      )
      expect(text).toContain(
        `rate_limiter_decisions_total{${route},rate_limiter_policy="rpm",rate_limiter_outcome="denied"} 2`,
      )
    },
    { timeout: 30_000, interval: 200 },
  )
})
