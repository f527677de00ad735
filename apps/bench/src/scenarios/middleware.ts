import { createLimiter, fixedWindow, type Limiter } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { rateLimit as expressRateLimit } from '@sluice/adapters/express'
import { rateLimit as honoRateLimit } from '@sluice/adapters/hono'
import express, { type RequestHandler } from 'express'
import peerOfExpress from 'express-rate-limit'
import { Hono, type MiddlewareHandler } from 'hono'
import { rateLimiter as peerOfHono } from 'hono-rate-limiter'
import type { Bench, Scenario } from './scenario.ts'
import type { Row } from '../measure/row.ts'
import { AMPLE, tenants } from '../limits.ts'
import { cpuMicroseconds, interleave, type Sample } from '../measure/rounds.ts'
import { callExpress } from '../sides/express-call.ts'

const CALLS = 1_000
const TURNS = 3
const HOUR_MS = 3_600_000
const HEADER = 'x-tenant'

/** The CPU time that a middleware adds to a request: one fixed window in memory, and its headers. */
export const middlewareScenario: Scenario = {
  name: 'middleware',
  title: 'microseconds of CPU that a middleware adds to a request, in memory',

  async run(bench) {
    return [
      await measure(bench, 'Express', 'express-rate-limit', {
        bare: ofExpress(),
        ours: ofExpress(expressRateLimit(limiter(), { subject })),
        peer: ofExpress(
          peerOfExpress({
            windowMs: HOUR_MS,
            limit: AMPLE,
            standardHeaders: 'draft-7',
            legacyHeaders: false,
            keyGenerator: (request) => request.get(HEADER) ?? '',
          }),
        ),
      }),
      await measure(bench, 'Hono', 'hono-rate-limiter', {
        bare: ofHono(),
        ours: ofHono(honoRateLimit(limiter(), { subject })),
        peer: ofHono(
          peerOfHono({
            windowMs: HOUR_MS,
            limit: AMPLE,
            standardHeaders: 'draft-7',
            keyGenerator: (context) => context.req.header(HEADER) ?? '',
          }),
        ),
      }),
    ]
  },
}

const subject = (request: Request) => ({ tenant: request.headers.get(HEADER) ?? '' })

const limiter = (): Limiter =>
  createLimiter({
    store: memory(),
    policies: [fixedWindow({ name: 'hour', limit: AMPLE, window: '1h', per: ['tenant'] })],
  })

/** Subtracts the CPU time of the app without a middleware. */
async function measure(
  bench: Bench,
  framework: string,
  peer: string,
  sides: Record<'bare' | 'ours' | 'peer', Sample>,
): Promise<Row> {
  const cpu = await interleave(bench, sides, TURNS)
  const added = (values: readonly number[]): number[] =>
    values.map((value, round) => value - (cpu.bare[round] ?? Number.NaN))
  return {
    title: `${framework}: a fixed window`,
    unit: 'µs',
    ours: { values: added(cpu.ours) },
    others: { [peer]: { values: added(cpu.peer) } },
  }
}

function ofExpress(middleware?: RequestHandler): Sample {
  const app = express()
  if (middleware) app.use(middleware)
  app.get('/', (_request, response) => void response.send('ok'))
  const tenant = tenants()
  return () => cpuMicroseconds(CALLS, () => callExpress(app, { [HEADER]: tenant() }))
}

function ofHono(middleware?: MiddlewareHandler): Sample {
  const app = new Hono()
  if (middleware) app.use(middleware)
  app.get('/', (context) => context.text('ok'))
  const tenant = tenants()
  return () =>
    cpuMicroseconds(CALLS, async () => {
      const response = await app.request('/', { headers: { [HEADER]: tenant() } })
      if (response.status !== 200) throw new Error(`Hono answered ${response.status}`)
    })
}
