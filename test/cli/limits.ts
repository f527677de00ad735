/* The file of limits of a project in tests, and an instance of the app that has them. */
import { createLimiter, dailyCap, monthlyCap, slidingWindow, type Limiter } from '@sluice/core'
import { runtimeConfiguration } from '@sluice/core/configuration'
import { upstash } from '@sluice/core/upstash'
import { recordUsage } from '@sluice/usage'
import { recordDenials } from '@sluice/usage/denials'

/** An instance of the app, elsewhere: the limits of `limitsFile` for the default plan. */
export const instanceOf = (
  { url, token }: { url: string; token: string },
  prefix: string,
): Limiter =>
  createLimiter({
    store: upstash({ url, token, prefix, timeoutMs: 30_000 }),
    policies: [
      slidingWindow({ name: 'rpm', limit: 20, window: '1m', per: ['tenant'] }),
      dailyCap({ name: 'daily', limit: 500, per: ['tenant', 'route'] }),
      monthlyCap({ name: 'budget', limit: 50_000_000, unit: 'usd', per: ['tenant'] }),
      slidingWindow({ name: 'all', limit: 1_000, window: '1m', per: 'global' }),
    ],
    extensions: [
      runtimeConfiguration({ allow: { rpm: ['limit', 'mode'] } }),
      recordUsage({ tenants: 'plain' }),
      recordDenials({ flushEvery: '1h' }),
    ],
  })

/** The ways from a file of limits to its Redis: a statement that makes `store`. */
const STORES = {
  REST: (options: string) => `import { upstash } from '@sluice/core/upstash'
const store = upstash(${options})`,
  TCP: (options: string) => `import { redis } from '@sluice/core/redis'
import { Redis } from 'ioredis'
const client = new Redis(process.env.REDIS_URL, { maxRetriesPerRequest: 0, retryStrategy: () => null })
client.on('error', () => {})
const store = redis({ client, ...${options} })`,
}

export type Way = keyof typeof STORES

/** Limits of every kind that the command shows, under keys of their own. */
export const limitsFile = (prefix: string, way: Way = 'REST'): string => `
import { createLimiter, dailyCap, definePlans, monthlyCap, slidingWindow } from '@sluice/core'
import { runtimeConfiguration } from '@sluice/core/configuration'
${STORES[way](`{ prefix: '${prefix}', timeoutMs: 30_000 }`)}
import { recordUsage } from '@sluice/usage'
import { recordDenials } from '@sluice/usage/denials'
import { BUDGET } from './budget'

enum Plan {
  Starter = 'starter',
}

export const limiter = createLimiter({
  store,
  plans: definePlans(
    { starter: { rpm: 20 }, growth: { rpm: 60 } },
    { defaultPlan: Plan.Starter },
  ),
  policies: [
    slidingWindow({ name: 'rpm', limit: ({ plan }) => plan.rpm, window: '1m', per: ['tenant'] }),
    dailyCap({ name: 'daily', limit: 500, per: ['tenant', 'route'] }),
    monthlyCap({ name: 'budget', limit: BUDGET, unit: 'usd', per: ['tenant'] }),
    slidingWindow({ name: 'all', limit: 1_000, window: '1m', per: 'global' }),
  ],
  extensions: [
    runtimeConfiguration({ allow: { rpm: ['limit', 'mode'], all: ['limit'], budget: ['limit'] } }),
    recordUsage({ tenants: 'plain' }),
    recordDenials(),
  ],
})
`

/** A module that the limits import without its extension. */
export const BUDGET_FILE = 'export const BUDGET: number = 50_000_000\n'
