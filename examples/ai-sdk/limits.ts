import { modelPolicies, usd } from '@sluice/ai'
import { createLimiter } from '@sluice/core'
import { batched } from '@sluice/core/batched'
import { upstash } from '@sluice/core/upstash'

export const limiter = createLimiter({
  store: batched(upstash()), // UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN
  policies: modelPolicies({ per: ['tenant'], rpm: 20, daily: usd(5) }),
})
