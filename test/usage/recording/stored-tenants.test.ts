import { createHash, createHmac } from 'node:crypto'
import { fixedWindow } from '@sluice/core'
import { recordUsage, type RecordUsageOptions } from '@sluice/usage'
import { usage } from '@sluice/usage/report'
import { describe, expect, it } from 'vitest'
import { setUp } from '../../support/limiters.ts'
import { recording } from '../support.ts'

const COST = { cost: { token: 1 } }

describe('tenants are stored', () => {
  const secret = 'a secret of 32 characters or more'

  it.each([
    ['hashed by default', {}, createHash('sha256').update('acme').digest('hex').slice(0, 20)],
    [
      'as an HMAC, with a secret that is read at a flush',
      { tenants: { secret: () => secret } },
      createHmac('sha256', secret).update('acme').digest('hex').slice(0, 20),
    ],
    ['as they are, if the option says so', { tenants: 'plain' }, 'acme'],
  ] as const)('%s', async (_, options: RecordUsageOptions, name) => {
    const { limiter } = recording(undefined, { usage: options })
    for (const tenant of ['acme', 'globex']) await limiter.check({ tenant }, COST)
    const { rows, policies } = await usage(limiter)
    expect(rows.map(({ tenant }) => tenant)).toContain(name)
    expect(policies.map(({ tenant }) => tenant)).toContain(name)
    const own = await usage(limiter, { tenants: ['acme'] })
    expect(own.rows.map(({ tenant }) => tenant)).toEqual(['acme'])
  })

  it('by another dimension, if the option says so', async () => {
    const { limiter } = setUp(
      [fixedWindow({ name: 'rpm', limit: 9, window: '1m', per: ['user'] })],
      { extensions: [recordUsage({ tenants: 'plain', by: 'user' })] },
    )
    await limiter.check({ tenant: 'acme', user: 'u1' })
    const { rows, policies } = await usage(limiter)
    expect([rows[0]?.tenant, policies[0]?.per]).toEqual(['u1', 'user'])
  })
})
