import {
  ConfigError,
  fixedWindow,
  StoreError,
  type Limiter,
  type PolicySettings,
  type Records,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { describe, expect, it, vi } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { ownRedisOverHttp } from '../../support/running-redis.ts'
import { setUpExtension } from './support.ts'

const field = { key: 'own', field: 'value' }
const reading = (record: unknown) => () => ({ reads: [record] })
const setting = (settings: unknown) => () => ({ settings: () => settings as PolicySettings })

const checks = async (limiter: Limiter) => [
  await limiter.check(ACME),
  await limiter.check(ACME),
  await limiter.check(ACME),
]

describe('the contribution of an extension', () => {
  it('may be the settings of a policy in a partition', async () => {
    const { limiter, problems } = setUpExtension(() => ({
      before: () => ({
        settings: ({ name }, partition) =>
          name === 'rpm' && partition === 'tenant=acme' ? { limit: 1 } : undefined,
      }),
    }))
    const allowed = (await checks(limiter)).map((decision) => decision.allowed)
    expect(allowed).toEqual([true, false, false])
    expect((await limiter.peek({ tenant: 'other' })).policies[0]?.limit).toBe(2)
    expect(problems).toEqual([])
  })

  it('may make a policy count nothing, or deny nothing', async () => {
    const skipped = setUpExtension(() => ({ before: setting({ enabled: false }) }))
    expect((await skipped.limiter.check(ACME)).skipped[0]?.why).toBe('not_enabled')
    const shadow = setUpExtension(() => ({ before: setting({ enforced: false, limit: 0 }) }))
    expect(await shadow.limiter.check(ACME)).toMatchObject({
      allowed: true,
      policies: [{ fits: false, enforced: false }],
    })
  })

  it("may be the limit of a policy whose limit is 'configured'", async () => {
    const later = fixedWindow({ name: 'l', limit: 'configured', window: '1h', per: 'global' })
    const { limiter } = setUpExtension(
      () => ({
        configures: (policy, what) => policy === 'l' && what === 'limit',
        before: setting({ limit: 1 }),
      }),
      { policies: [later] },
    )
    expect((await checks(limiter)).map(({ allowed }) => allowed)).toEqual([true, false, false])
    expect(() => setUpExtension(() => ({}), { policies: [later] })).toThrow(ConfigError)
  })

  it('may be the plan of a subject that names none', async () => {
    const plan = { name: 'growth', source: 'resolver' } as const
    const { limiter } = setUpExtension(() => ({ before: async () => ({ plan }) }))
    expect(await limiter.peek(ACME)).toMatchObject({ plan: 'growth', planSource: 'resolver' })
    const named = await limiter.peek({ ...ACME, plan: 'starter' })
    expect(named).toMatchObject({ plan: 'starter', planSource: 'subject' })
  })

  describe('may be records to read, over Redis', () => {
    const own = ownRedisOverHttp()

    it('along with the decision, in one HTTP request', async () => {
      const values: (string | undefined)[] = []
      const update = (value: string | undefined) => values.push(value) < 0
      let records: Records | undefined
      const { limiter } = setUpExtension(
        (context) => {
          records = context.records
          return { before: reading({ field, update }) as never }
        },
        { store: own.store() },
      )
      await limiter.check(ACME)
      expect(await records?.write([{ key: 'own', set: { value: 'x' } }])).toBe(true)
      const before = own.local.requests
      expect(await limiter.check(ACME)).toMatchObject({ allowed: true })
      expect(own.local.requests - before).toBe(1)
      expect(values).toEqual([undefined, 'x'])
    })
  })

  it('makes an outdated denial be decided again', async () => {
    let limit = 0
    const update = vi.fn<() => boolean>(() => {
      const isOutdated = limit === 0
      limit = 1
      return isOutdated
    })
    const before = () => ({ settings: () => ({ limit }), reads: [{ field, update }] })
    const { limiter } = setUpExtension(() => ({ before }))
    expect((await checks(limiter)).map(({ allowed }) => allowed)).toEqual([true, false, false])
    expect(update).toHaveBeenCalledTimes(4)
  })

  it('contains no value from a store that has failed', async () => {
    const update = vi.fn<() => boolean>()
    const store = {
      ...memory(),
      check: () => Promise.reject(new StoreError('store_unreachable', 'down')),
    }
    const { limiter } = setUpExtension(() => ({ before: reading({ field, update }) as never }), {
      store,
    })
    expect(await limiter.check(ACME)).toMatchObject({ allowed: true, degraded: { mode: 'local' } })
    expect(update).not.toHaveBeenCalled()
  })
})
