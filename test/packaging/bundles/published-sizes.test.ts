import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { bundle } from '../../support/bundle.ts'
import { tableOf } from '../../support/markdown.ts'

const published = tableOf(
  readFileSync(new URL('../../../docs/performance.md', import.meta.url), 'utf8'),
  'in the bundle',
)

const OURS = "from '@sluice/core'; export { upstash } from '@sluice/core/upstash'"

/** The imports of a Worker. */
const BUNDLES: Record<string, string> = {
  'createLimiter, slidingWindow, upstash': `export { createLimiter, slidingWindow } ${OURS}`,
  'the same, dailyCap and definePlans': `export { createLimiter, slidingWindow, dailyCap, definePlans } ${OURS}`,
  'the same, and rateLimit of @sluice/cloudflare': `export { createLimiter, slidingWindow, dailyCap, definePlans } ${OURS}; export { rateLimit } from '@sluice/cloudflare'`,
  'createLimiter, slidingWindow, durableObjects and its class': `export { createLimiter, slidingWindow } from '@sluice/core'; export { durableObjects, LimitsObject } from '@sluice/cloudflare/durable-object'`,
  'retryingFetch of @sluice/core/client': `export { retryingFetch } from '@sluice/core/client'`,
  'breaker of @sluice/core/breaker': `export { breaker } from '@sluice/core/breaker'`,
  'the first line, lease and leased of @sluice/core/leases': `export { createLimiter, slidingWindow } ${OURS}; export { lease, leased } from '@sluice/core/leases'`,
  'the first line, adaptiveLimit of @sluice/core/upstream': `export { createLimiter, slidingWindow } ${OURS}; export { adaptiveLimit } from '@sluice/core/upstream'`,
  'upstreamBreaker of @sluice/core/upstream': `export { upstreamBreaker } from '@sluice/core/upstream'`,
  'the first line, all of @sluice/core/waiting': `export { createLimiter, slidingWindow } ${OURS}; export * from '@sluice/core/waiting'`,
  'the first line, limitedQueue of @sluice/queue': `export { createLimiter, slidingWindow } ${OURS}; export { limitedQueue } from '@sluice/queue'`,
  'the first line, limitedQueue and work of @sluice/queue': `export { createLimiter, slidingWindow } ${OURS}; export { limitedQueue, work } from '@sluice/queue'`,
  '@upstash/ratelimit and @upstash/redis':
    "export { Ratelimit } from '@upstash/ratelimit'; export { Redis } from '@upstash/redis/cloudflare'",
}

describe('a bundle of', () => {
  it.each(Object.entries(BUNDLES))('%s is as large as the page states', async (name, contents) => {
    const { gzipped } = await bundle(contents, ['node:*', 'crypto', 'cloudflare:*'])
    const page = Number(published.get(name)?.['kB, gzipped']) * 1_000
    expect(gzipped).toBeLessThanOrEqual(page)
    expect(gzipped).toBeGreaterThan(page * 0.9)
  })
})
