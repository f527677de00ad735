/**
 * The versions of `@hono/node-server`. From 1.14 to 1.19, a response that is made from a fetched one shares its headers,
 * which cannot be changed.
 */
export const VERSIONS = {
  '1.14': async () => (await import('hono-node-server-1-14')).serve,
  '1.19': async () => (await import('hono-node-server-1-19')).serve,
  2: async () => (await import('@hono/node-server')).serve,
} as const

/** Ways that a fetched response takes. One that is `held` holds a slot of a `concurrency` policy meanwhile. */
export const DOORS = [
  'modelHandler',
  'modelHandler with a function',
  'limitedFetch',
  'limitedFetch of a Request',
  'limitedFetch of an older Request',
  'meter',
  'rateLimit',
  'rateLimit, held',
  'hono',
  'hono, held',
  'hono in hono',
  'h3',
  'h3, held',
  'react-router',
  'react-router, held',
  'sveltekit',
  'sveltekit, held',
  'astro',
  'astro, held',
  'next route',
  'next route, held',
  'next proxy.ts',
  'trpc',
] as const

/** A way, which the header `x-door` of a request names. */
export type Door = (typeof DOORS)[number]

/** The requests that a tenant has in each limiter. */
export const LIMIT = 3
