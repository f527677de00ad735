import { upstashRedis } from '@sluice/core/upstash-redis'
import { startLocal, type LocalServer } from '@sluice/local'
import { Redis } from '@upstash/redis'
import { Redis as CloudflareRedis } from '@upstash/redis/cloudflare'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { freshPrefix } from '../../support/stores.ts'
import { decidesThroughClient } from './decides-through-client.ts'

let local: LocalServer

beforeAll(async () => {
  local = await startLocal({ redisUrl: inject('redisUrl') })
})
afterAll(() => local.close())

const access = () => ({ url: local.url, token: local.token })

/** Clients set up in ways that change what they send or how they read answers. */
const CLIENTS: Record<string, () => object> = {
  'as it comes': () => new Redis(access()),
  'without retries': () => new Redis({ ...access(), retry: false }),
  'with many slow retries': () =>
    new Redis({ ...access(), retry: { retries: 9, backoff: () => 60_000 } }),
  'with plain answers': () => new Redis({ ...access(), responseEncoding: false }),
  'without deserialisation': () => new Redis({ ...access(), automaticDeserialization: false }),
  'with automatic pipelines': () => new Redis({ ...access(), enableAutoPipelining: true }),
  'without automatic pipelines': () => new Redis({ ...access(), enableAutoPipelining: false }),
  'without read-your-writes': () => new Redis({ ...access(), readYourWrites: false }),
  'with a signal of its own': () =>
    new Redis({ ...access(), signal: new AbortController().signal }),
  'with an aborted signal of its own': () =>
    new Redis({ ...access(), signal: AbortSignal.abort() }),
  'for Cloudflare': () => new CloudflareRedis(access()),
}

describe("a user's @upstash/redis client", () => {
  it.each(Object.entries(CLIENTS))('decides like the built-in transport: %s', async (_, make) => {
    expect.hasAssertions()
    await decidesThroughClient(upstashRedis(make(), { prefix: freshPrefix(), timeoutMs: 30_000 }))
  })
})
