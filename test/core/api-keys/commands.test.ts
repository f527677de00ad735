import { apiKeys, createApiKey } from '@sluice/core/api-keys'
import { createLimiter } from '@sluice/core'
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { tableOf } from '../../support/markdown.ts'
import { ownRedisOverHttp } from '../../support/running-redis.ts'
import { RPM, sent } from './support.ts'

// Every command on this Redis is counted, so it is shared with nobody.
const own = ownRedisOverHttp()

it('a look-up costs as many requests and commands as the page states', async () => {
  const limiter = createLimiter({ store: own.store(), policies: [RPM] })
  const { key } = await createApiKey(limiter, { tenant: 'acme' })
  const costOf = async (act: () => Promise<unknown>) => {
    const before = own.local.requests
    const { total } = await own.meter.measure(act)
    return { requests: String(own.local.requests - before), commands: String(total) }
  }
  const isolate = apiKeys(limiter)
  const first = await costOf(() => isolate(sent(key)))
  const again = await costOf(() => isolate(sent(key)))
  const later = await costOf(() => apiKeys(limiter)(sent(key)))
  const unknown = await costOf(() => isolate(sent(`sk_${'x'.repeat(43)}`)))
  const page = readFileSync(new URL('../../../docs/recipes/api-keys.md', import.meta.url), 'utf8')
  const published = [...tableOf(page, 'look-up').values()].map(({ requests, commands }) => ({
    requests,
    commands,
  }))
  expect([again, later, unknown, first]).toEqual(published)
})
