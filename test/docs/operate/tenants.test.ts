import { flushUsage } from '@sluice/usage'
import { afterAll, beforeAll, describe, inject } from 'vitest'
import { ACME, createOperator, FREE, type Operator } from '../../cli/operator.ts'
import { removeProjects } from '../../cli/project.ts'
import { sharedRedisOverHttp } from '../../support/running-redis.ts'
import { readPage, runsPage } from './run-page.ts'

const redis = sharedRedisOverHttp()
afterAll(removeProjects)

describe.each(['REST', 'TCP'] as const)('over %s', (way) => {
  let operator: Operator
  beforeAll(() => {
    operator = createOperator(redis.local, { way, redisUrl: inject('redisUrl') })
  })

  /** Requests of a tenant, as another instance records them. */
  async function spend(tenant: string, requests: number, dollars: number): Promise<void> {
    const cost = { ...FREE.cost, usd: dollars * 1_000_000 }
    for (let sent = 0; sent < requests; sent += 1) {
      await operator.running.check({ ...ACME, tenant }, { cost })
    }
    await flushUsage(operator.running)
  }

  runsPage(
    readPage('tenants'),
    {
      'A tenant is locked out': () => spend('acme', 20, 0),
      'A setting is wrong': () =>
        operator.app.sluice([
          'set',
          'rpm',
          'limit=2',
          '--by',
          'ann',
          '--note',
          'less for everyone',
          '--yes',
        ]),
      'A tenant burns money': () => spend('globex', 12, 3),
    },
    () => operator,
  )
})
