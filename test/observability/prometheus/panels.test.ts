import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import {
  createLimiter,
  definePlans,
  fixedWindow,
  listen,
  slidingWindow,
  StoreError,
  tokenBucket,
  type Limiter,
  type Store,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import { lease, leased } from '@sluice/core/leases'
import { adaptiveLimit } from '@sluice/core/upstream'
import { waitFor, waitingLine } from '@sluice/core/waiting'
import { metricsText, prometheus } from '@sluice/otel/prometheus'
import { countJobs, limitedQueue, work } from '@sluice/queue'
import { describe, expect, it, vi } from 'vitest'
import { DASHBOARD, PROMETHEUS, startPrometheus } from './support.ts'

interface Panel {
  readonly title: string
  readonly targets: readonly { readonly expr: string }[]
}

const { panels } = JSON.parse(readFileSync(DASHBOARD, 'utf8')) as { panels: readonly Panel[] }

const expressions = panels.flatMap(({ title, targets }) =>
  targets.map(({ expr }) => ({ title, expr: expr.replaceAll('$__rate_interval', '20s') })),
)

/** A store in memory that is down for every tenth decision. */
function failingStore(): Store {
  const store = memory()
  let calls = 0
  return {
    ...store,
    check(request) {
      calls += 1
      if (calls % 10 > 0 || !request.apply) return store.check(request)
      return Promise.reject(new StoreError('store_unreachable', 'down'))
    },
  }
}

const per = ['tenant']

const makeLimiter = (): Limiter =>
  createLimiter({
    store: failingStore(),
    plans: definePlans({ free: { rpm: 20 }, paid: { rpm: 1_000 } }),
    onStoreError: 'local',
    policies: [
      slidingWindow({ name: 'rpm', limit: ({ plan }) => plan.rpm, window: '1m', per }),
      slidingWindow({ name: 'next-rpm', limit: 10, window: '1m', per, mode: 'shadow' }),
      slidingWindow({ name: 'tpm', unit: 'token', limit: 1_000_000, window: '1m', per }),
      fixedWindow({ name: 'month', unit: 'usd', limit: 1e9, window: '30d', per: 'global' }),
      slidingWindow({ name: 'model', limit: 10, window: '1s', per: 'global', routes: ['model'] }),
    ],
    extensions: [
      adaptiveLimit({ policy: 'model', min: 1 }),
      prometheus({ name: 'all', tenants: ['acme'] }),
      listen({ problem: () => {} }),
    ],
  })

/** A limiter that leases, has a line, and a queue. */
function makeOthers() {
  const policies = [
    lease(slidingWindow({ name: 'leased', limit: 1_000, window: '1m', per }), { duration: '10s' }),
    waitingLine(
      tokenBucket({ name: 'lined', limit: 1, window: '1h', per: ['user'], onMissing: 'skip' }),
    ),
  ]
  const extensions = [prometheus({ name: 'all', tenants: ['acme'] })]
  const limiter = createLimiter({ store: leased(memory()), policies, extensions })
  const queue = limitedQueue(limiter, { name: 'q', parse: Number })
  const impatient = waitFor(limiter, '1s')
  return {
    queue,
    async drive() {
      const subject = { tenant: 'acme', user: crypto.randomUUID() }
      await queue.add(0, { subject })
      await work(queue, () => {}, { untilIdle: true }).ended
      await impatient.check(subject)
      // Only what a lease has alone makes no call.
      await limiter.check({ tenant: 'acme' })
    },
  }
}

/** One call of each kind. */
async function drive(limiter: Limiter): Promise<void> {
  for (const [tenant, plan] of [
    ['acme', 'paid'],
    ['stranger', 'free'],
  ] as const) {
    const subject = { tenant, plan, route: 'chat', model: 'gpt-4o' }
    const cost = { request: 1, token: 500, usd: 20_000 }
    await limiter.check(subject, { cost })
    const call = await reserve(limiter, subject, { cost })
    if (call.allowed) await call.settle({ request: 1, token: 300, usd: 9_000 })
  }
}

describe.skipIf(!PROMETHEUS)('the dashboard', () => {
  it('shows data in every panel after traffic of every kind', async () => {
    const limiter = makeLimiter()
    const others = makeOthers()
    const queues = { q: () => countJobs(others.queue) }
    const server = createServer((_, response) => {
      metricsText(limiter, { budgets: [{ tenant: 'acme', plan: 'paid' }], queues }).then(
        (text) => response.end(text),
        (error: unknown) => response.writeHead(500).end(String(error)),
      )
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    try {
      await using prometheusServer = await startPrometheus(port)
      const empty = async (): Promise<string[]> => {
        await drive(limiter)
        await others.drive()
        const results = await Promise.all(
          expressions.map(async ({ title, expr }) => {
            const samples = await prometheusServer.query(expr)
            const hasData = samples.some(({ value }) => Number.isFinite(Number(value[1])))
            return hasData ? [] : [`${title}: ${expr}`]
          }),
        )
        return results.flat()
      }
      await vi.waitFor(async () => expect(await empty()).toEqual([]), {
        timeout: 60_000,
        interval: 500,
      })
      const tenants = await prometheusServer.query(
        'count by (rate_limiter_tenant) (rate_limiter_decisions_total)',
      )
      expect(tenants.map(({ metric }) => metric['rate_limiter_tenant'] ?? '').toSorted()).toEqual([
        '',
        'acme',
      ])
    } finally {
      server.close()
      server.closeAllConnections()
    }
  })
})
