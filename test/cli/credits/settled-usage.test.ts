import { createLimiter } from '@sluice/core'
import { balance, credits, grant } from '@sluice/core/credits'
import { reserve } from '@sluice/core/reservations'
import { upstash } from '@sluice/core/upstash'
import { flushUsage, recordUsage } from '@sluice/usage'
import { usage } from '@sluice/usage/report'
import { afterAll, expect, it } from 'vitest'
import { sharedRedisOverHttp } from '../../support/running-redis.ts'
import { freshPrefix } from '../../support/stores.ts'
import { envOf, project, removeProjects } from '../project.ts'
import { creditsFile } from './credits-project.ts'

const redis = sharedRedisOverHttp()
afterAll(removeProjects)
const ACME = { tenant: 'acme' }

it.each([
  ['by the difference to the estimate', [], 500_000],
  // Here, it has the estimate.
  ['by all units if it has no estimate', ['--unrecorded'], 2_500_000],
])('sluice credits settle corrects the usage of the app, too, %s', async (_, flags, sum) => {
  const prefix = freshPrefix()
  const { url, token } = redis.local
  const limiter = createLimiter({
    store: upstash({ url, token, prefix, timeoutMs: 30_000 }),
    onStoreError: 'deny',
    policies: [credits({ name: 'credits', per: ['tenant'], unsettled: 'keep' })],
    extensions: [recordUsage()],
  })
  await grant(limiter, ACME, { amount: 5_000_000, id: 'p', at: new Date(), kind: 'paid' })
  await reserve(limiter, ACME, { cost: { usd: 2_000_000 } })
  await flushUsage(limiter)
  const [hold] = (await balance(limiter, ACME)).reservations
  const file = creditsFile(prefix)
    .replace(
      'import { upstash }',
      "import { recordUsage } from '@sluice/usage'\nimport { upstash }",
    )
    .replace('  policies: [', '  extensions: [recordUsage()],\n  policies: [')
  const app = project({ 'limits.ts': file, '.env.local': envOf(redis.local) })
  const command = [
    'credits',
    'settle',
    hold?.id ?? '',
    '0.5',
    '--tenant',
    'acme',
    '--yes',
    ...flags,
  ]
  expect((await app.sluice(command)).out.trim()).toBe(
    'tenant=acme: $0.50 settled. $4.50 is available.',
  )
  const { rows, policies } = await usage(limiter)
  expect(rows.reduce((all, { usd }) => all + usd, 0)).toBe(sum)
  expect(policies.reduce((all, { units }) => all + units, 0)).toBe(sum)
})
