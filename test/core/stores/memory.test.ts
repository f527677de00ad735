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
})
