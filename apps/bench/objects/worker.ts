/* A Worker that makes decisions as it is told, in objects or in Redis, and says how long each took. */
import { createLimiter, dailyCap, slidingWindow, type Limiter } from '@sluice/core'
import { createApiKey, readApiKey } from '@sluice/core/api-keys'
import { upstash } from '@sluice/core/upstash'
import { durableObjects, type LimitsNamespace } from '@sluice/cloudflare/durable-object'

export { LimitsObject } from '@sluice/cloudflare/durable-object'

interface Env {
  readonly LIMITS: LimitsNamespace
  readonly URL: string
  readonly TOKEN: string
}

/** The decisions to make, as the body of a request. */
export interface ObjectsJob {
  readonly store: 'objects' | 'upstash'
  readonly tenants: number
  /** The callers at a time, and the decisions that each makes one after the other. */
  readonly lanes: number
  readonly calls: number
  /** Keys are looked up instead, all in the object of all. */
  readonly looksUpKeys?: boolean
}

const AMPLE = 1_000_000_000
const policies = [
  dailyCap({ name: 'daily', limit: AMPLE, per: ['tenant'] }),
  slidingWindow({ name: 'hour', limit: 100_000, window: '10s', per: ['tenant'] }),
]
const limiters = new Map<string, Limiter>()

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const { store, tenants, lanes, calls, looksUpKeys } = (await request.json()) as ObjectsJob
    const stores = {
      objects: () => durableObjects(env.LIMITS, { timeoutMs: 10_000 }),
      upstash: () => upstash({ url: env.URL, token: env.TOKEN, timeoutMs: 10_000 }),
    }
    const limiter = limiters.get(store) ?? createLimiter({ store: stores[store](), policies })
    limiters.set(store, limiter)
    const { id } = looksUpKeys ? await createApiKey(limiter, { tenant: 'acme' }) : { id: undefined }
    const times: number[] = []
    let next = 0
    const lane = async (): Promise<void> => {
      for (let call = 0; call < calls; call += 1) {
        const tenant = `t${next++ % tenants}`
        const start = performance.now()
        if (id !== undefined) await readApiKey(limiter, id)
        else await decide(limiter, tenant)
        times.push(performance.now() - start)
      }
    }
    await Promise.all(Array.from({ length: lanes }, lane))
    return Response.json(times)
  },
}

async function decide(limiter: Limiter, tenant: string): Promise<void> {
  const { degraded, allowed } = await limiter.check({ tenant })
  if (degraded || !allowed) throw new Error(degraded?.cause ?? 'denied')
}
