import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import {
  createLimiter,
  definePlans,
  fixedWindow,
  listen,
  slidingWindow,
  StoreError,
  tokenBucket,
  type Store,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { adaptiveLimit } from '@sluice/core/upstream'
import { waitFor, waitingLine } from '@sluice/core/waiting'
import { metricsText, prometheus } from '@sluice/otel/prometheus'
import { JobError, limitedQueue, work } from '@sluice/queue'
import { expect, it, vi } from 'vitest'
import { INCIDENTS, type Fault } from './incidents.ts'
import type { Service } from './simulated.ts'
import { ALERTS, PROMETHEUS, startPrometheus } from './support.ts'

/** The times of the rules, a hundred times shorter; a day and a week even more, but longer than all others. */
const FAST_RULES = readFileSync(ALERTS, 'utf8')
  .replace(
    /(\[|for: |offset )(\d+)([mdw])\b/g,
    (_, before: string, count: string, unit: string) =>
      before + (unit === 'm' ? `${Number(count) * 600}ms` : unit === 'd' ? '60s' : '30s'),
  )
  // A long wait: the bucket that is the nearest to a hundredth of 30 s.
  .replace('le=~"30([.]0)?"', 'le="0.5"')

/** The calls of a service in a tick: fewer than the rule for unusual traffic looks at. */
const CALLS = 2
const TICK_MS = 100

const ACME = { tenant: 'acme', plan: 'usual' }

/** A real limiter, and how it is used while all is well and during its incident. */
function startService(degraded: Service['degraded'], fault: Fault) {
  const store = memory()
  const upstream = adaptiveLimit({ policy: 'model', min: 1 })
  let isIncident = false
  let calls = 0
  let asked = 0
  let ticks = 0
  const isOneOf = (count: number, every: number | undefined): boolean =>
    isIncident && every !== undefined && count % every === 0
  const faulty: Store = {
    ...store,
    async check(request) {
      // A scrape asks, too.
      const count = request.apply ? (asked += 1) : 1
      if (isOneOf(count, fault.slowEvery)) await delay(150)
      if (isOneOf(count, fault.failsEvery)) throw new StoreError('store_unreachable', 'down')
      return store.check(request)
    },
  }
  const per = ['tenant']
  const limiter = createLimiter({
    store: faulty,
    onStoreError: degraded ?? 'local',
    plans: definePlans({ usual: { rpm: 1_000_000 }, stopped: { rpm: 0 } }),
    policies: [
      fixedWindow({
        name: 'rpm',
        limit: ({ plan }) => plan.rpm,
        window: '1m',
        per,
      }),
      fixedWindow({ name: 'month', unit: 'usd', limit: 1_000, window: '30d', per }),
      waitingLine(
        tokenBucket({ name: 'lined', limit: 1, window: '1s', per: ['user'], onMissing: 'skip' }),
      ),
      slidingWindow({ name: 'model', limit: 100, window: '1s', per: 'global', routes: ['model'] }),
    ],
    extensions: [prometheus(), listen({ problem: () => {} }), upstream],
  })
  /** Somebody who has used up a bucket waits in its line. */
  async function wait(ways: Fault['waits']): Promise<void> {
    const subject = { ...ACME, user: crypto.randomUUID() }
    const signal = ways === 'long' ? undefined : AbortSignal.timeout(200)
    const patient = waitFor(limiter, '5s', { signal })
    const cost = { request: 1, usd: 0 }
    await patient.check(subject, { cost })
    await patient.check(subject, { cost })
  }
  async function callUpstream(): Promise<void> {
    // More than a limit at its min allows, and less than the one in the code.
    const decision = await limiter.check(
      { ...ACME, route: 'model' },
      { cost: { request: 5, usd: 0 } },
    )
    const call = () => Promise.resolve(new Response(null, { status: decision.allowed ? 200 : 500 }))
    await upstream.observe(call)
  }
  const queue = limitedQueue(limiter, { name: 'q' })
  const handle = (): void => {
    if (isIncident && fault.failsJobs) throw new JobError('it fails', { retry: false })
  }
  const worker = fault.failsJobs && work(queue, handle, { onFailed: () => {} })
  const oldestMs = () => (isIncident && fault.oldestMs) || 1_000
  const queues = {
    q: async () => ({ waiting: 1, delayed: 0, running: 0, failed: 0, oldestMs: oldestMs() }),
  }
  return {
    async stop() {
      if (worker) await worker.stop()
    },
    metrics: () => metricsText(limiter, { budgets: [ACME], queues }),
    isGone: () => isIncident && fault.isGone === true,
    async begin() {
      isIncident = true
      if (fault.spends) await limiter.check(ACME, { cost: { request: 1, usd: fault.spends } })
    },
    tick() {
      const count = CALLS * (isIncident ? (fault.times ?? 1) : 1)
      for (let call = 0; call < count; call += 1) {
        calls += 1
        const plan = isOneOf(calls, fault.deniedEvery) ? 'stopped' : 'usual'
        void limiter.check({ ...ACME, plan }, { cost: { request: 1, usd: 0 } })
      }
      ticks += 1
      if (isIncident && ticks % 6 === 0) {
        if (fault.waits) void wait(fault.waits)
        if (fault.failsUpstream) void callUpstream()
      }
      const cost = { request: 1, usd: 0 }
      if (worker && calls % 8 === 0) void queue.add(0, { subject: ACME, cost })
    },
  }
}

const QUIET = 'a quiet service'

const EXPECTED: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  INCIDENTS.map(({ name, alerts }) => [name, alerts.toSorted()]),
)

it.skipIf(!PROMETHEUS)(
  'a running Prometheus fires what an incident of a real limiter raises, and nothing else',
  async () => {
    const services = new Map([
      [QUIET, startService('local', {})],
      ...INCIDENTS.map(
        ({ name, degraded, fault }) => [name, startService(degraded, fault)] as const,
      ),
    ])
    const server = createServer((request, response) => {
      const { searchParams } = new URL(request.url ?? '', 'http://localhost')
      const service = services.get(searchParams.get('job') ?? '')
      const metrics =
        service && !service.isGone() ? service.metrics() : Promise.reject(new Error('gone'))
      metrics.then(
        (text) => response.end(text),
        () => response.destroy(),
      )
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    // A busy machine leaves out calls of a timer: their traffic comes late, but it comes.
    let ticked = performance.now()
    const ticks = setInterval(() => {
      for (; ticked < performance.now(); ticked += TICK_MS) services.forEach((one) => one.tick())
    }, TICK_MS)
    try {
      const options = { jobs: [...services.keys()], interval: '500ms', rules: FAST_RULES }
      await using prometheusServer = await startPrometheus(port, options)
      /** The alerts so far, by service. Before the first scrape there is none to name. */
      const fired = async (): Promise<typeof EXPECTED> => {
        const found: Record<string, string[]> = {}
        const firing = 'count_over_time(ALERTS{alertstate="firing",job!=""}[1h])'
        for (const { metric } of await prometheusServer.query(
          `count by (alertname, job) (${firing})`,
        )) {
          ;(found[metric['job'] ?? ''] ??= []).push(metric['alertname'] ?? '')
        }
        for (const alerts of Object.values(found)) alerts.sort()
        return found
      }
      // The traffic of an hour a week ago is known of each service.
      await vi.waitFor(
        async () => {
          const before = 'rate(rate_limiter_decisions_total[9s] offset 20s)'
          const jobs = await prometheusServer.query(`count by (job) (${before})`)
          expect(jobs).toHaveLength(services.size)
        },
        { timeout: 100_000, interval: 1_000 },
      )
      expect(await fired()).toEqual({})
      await Promise.all([...services.values()].map((service) => service.begin()))
      await vi.waitFor(async () => expect(await fired()).toEqual(EXPECTED), {
        timeout: 100_000,
        interval: 1_000,
      })
    } finally {
      clearInterval(ticks)
      await Promise.all([...services.values()].map((service) => service.stop()))
      server.close()
      server.closeAllConnections()
    }
  },
  300_000,
)
