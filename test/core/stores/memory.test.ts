import { configure, readConfiguration, runtimeConfiguration } from '@sluice/core/configuration'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { KINDS } from '../../support/kinds.ts'
import { setUp } from '../../support/limiters.ts'

describe('memory', () => {
  it('does not forget a tenant that is denied all the time while 100,000 others are charged', async () => {
    const policies = [KINDS['daily cap']('daily', 1)]
    const { limiter } = setUp(policies)
    const busy = { tenant: 'busy' }
    expect((await limiter.check(busy)).allowed).toBe(true)
    const allowed = { busy: 0, others: 0 }
    for (let tenant = 0; tenant < 100_000; tenant += 1) {
      if ((await limiter.check({ tenant: `t${tenant}` })).allowed) allowed.others += 1
      // Fewer others than memory has room for come between.
      if (tenant % 5_000 === 0 && (await limiter.check(busy)).allowed) allowed.busy += 1
    }
    expect(allowed).toEqual({ busy: 0, others: 100_000 })
  })

  it('keeps a configuration, however many reservations it has forgotten', async () => {
    const { limiter } = setUp([KINDS['daily cap']('daily', 5)], {
      store: memory({ maxKeys: 10 }),
      extensions: [runtimeConfiguration({ allow: { daily: ['limit'] } })],
    })
    await configure(limiter, { daily: { limit: 3 } })
    const first = await reserve(limiter, { tenant: 't0' }, { settleWithin: '1h' })
    for (let tenant = 1; tenant < 50; tenant += 1) await reserve(limiter, { tenant: `t${tenant}` })
    expect(await readConfiguration(limiter)).toMatchObject([
      { policy: 'daily', settings: { limit: 3 } },
    ])
    expect(first.allowed && (await first.settle({ request: 0 }))).toMatchObject({ applied: false })
  })
})
