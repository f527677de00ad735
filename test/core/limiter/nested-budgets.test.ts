import { createLimiter, dailyCap, monthlyCap, sessionWindow, type Subject } from '@sluice/core'
import { tooManyRequests } from '@sluice/core/http'
import { describe, expect, it } from 'vitest'
import { remaining } from '../../support/decisions.ts'
import { sharedRedisOverHttp } from '../../support/running-redis.ts'

const shared = sharedRedisOverHttp()
const unit = 'cent'
const SUBJECT = { org: 'acme', team: 'search', user: 'u_17', key: 'k_1', run: 'r_1' }
const LIMITS = { org: 500, team: 100, user: 50, key: 20, run: 10 }
type Budget = keyof typeof LIMITS

/** A subject that shares with `SUBJECT` the budget `name`, and no narrower one. */
const SHARING: Readonly<Record<Budget, Subject>> = {
  org: { org: 'acme', team: 't', user: 'u', key: 'k', run: 'r' },
  team: { ...SUBJECT, user: 'u', key: 'k', run: 'r' },
  user: { ...SUBJECT, key: 'k', run: 'r' },
  key: { ...SUBJECT, org: 'o', run: 'r' },
  run: { ...SUBJECT, org: 'o', key: 'k' },
}
const SCOPES = { org: 'org', team: 'org+team', user: 'org+team+user', key: 'key', run: 'run' }

/** The five budgets, of which those but `name` are so large that they never deny. */
function limiterOf(name: Budget) {
  const limit = (each: Budget): number => (each === name ? LIMITS[each] : 10 ** 6)
  const policies = [
    monthlyCap({ name: 'org', limit: limit('org'), unit, per: ['org'] }),
    monthlyCap({ name: 'team', limit: limit('team'), unit, per: ['org', 'team'] }),
    dailyCap({ name: 'user', limit: limit('user'), unit, per: ['org', 'team', 'user'] }),
    dailyCap({ name: 'key', limit: limit('key'), unit, per: ['key'] }),
    sessionWindow({ name: 'run', limit: limit('run'), unit, per: ['run'], idle: '30m' }),
  ]
  return createLimiter({ store: shared.store(), policies })
}

describe('five budgets, from the organisation to the run,', () => {
  it.each(Object.keys(LIMITS) as Budget[])(
    'are decided in one round trip, and name the %s if that denies; then none is charged',
    async (name) => {
      const limiter = limiterOf(name)
      const cost = { cent: LIMITS[name] }
      expect((await limiter.check(SHARING[name], { cost })).allowed).toBe(true)
      const before = await limiter.peek(SUBJECT, { cost: { cent: 0 } })
      const requests = shared.local.requests
      const denied = await limiter.check(SUBJECT, { cost: { cent: 1 } })
      expect(shared.local.requests - requests).toBe(1)
      if (denied.allowed) throw new Error('It is allowed')
      expect(denied).toMatchObject({ degraded: undefined, violated: { name, scope: SCOPES[name] } })
      expect(denied.policies.filter(({ fits }) => !fits).map((policy) => policy.name)).toEqual([
        name,
      ])
      expect(tooManyRequests(denied).headers.get('x-ratelimit-scope')).toBe(SCOPES[name])
      const after = await limiter.peek(SUBJECT, { cost: { cent: 0 } })
      expect(remaining(after)).toEqual(remaining(before))
    },
  )

  it('are all charged by a call that fits all of them', async () => {
    const limiter = limiterOf('run')
    const { policies } = await limiter.check(SUBJECT, { cost: { cent: 4 } })
    expect(policies.map(({ limit, remaining: left }) => limit - left)).toEqual([4, 4, 4, 4, 4])
  })
})
