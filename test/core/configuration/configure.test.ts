import type { Limiter } from '@sluice/core'
import {
  configure,
  readConfiguration,
  removeConfiguration,
  runtimeConfiguration,
} from '@sluice/core/configuration'
import { describe, expect, it } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { storesOf, STORES_TO_TEST } from '../../support/stores.ts'
import { limitsIn } from '../../support/decisions.ts'
import { ALLOW, app, limitOf, FRESH_MS } from './support.ts'

describe.each(STORES_TO_TEST)('%s', (name) => {
  const make = storesOf(name)

  it('a changed limit applies at once in its isolate, and within 5 s in all others', async () => {
    const { clock, isolate } = app(make())
    const [here, there, idle] = [isolate(), isolate(), isolate()]
    expect(await limitOf(here, 'rpm')).toBe(10)
    expect(await limitOf(there, 'rpm')).toBe(10)
    await configure(here, { rpm: { limit: 3 } })
    expect(await limitOf(here, 'rpm')).toBe(3)
    // One that starts afterwards has it from its first decision on.
    expect(await limitOf(idle, 'rpm')).toBe(3)
    clock.advance(FRESH_MS - 1)
    expect(await limitOf(there, 'rpm')).toBe(10)
    clock.advance(1)
    // It is read along with a decision, and what that allows stands.
    await there.check(ACME)
    expect(await limitOf(there, 'rpm')).toBe(3)
  })

  it('a denial by an outdated limit is decided again by the new one', async () => {
    const { clock, isolate } = app(make())
    const [here, there] = [isolate(), isolate()]
    for (let time = 0; time < 10; time += 1) await there.check(ACME)
    expect(await there.check(ACME)).toMatchObject({ allowed: false })
    await configure(here, { rpm: { limit: 64 + 10 } })
    clock.advance(FRESH_MS)
    const decisions = await Promise.all(Array.from({ length: 64 }, () => there.check(ACME)))
    // The bucket of 40, of which 10 were used, is what binds now.
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(32)
    for (const { violated } of decisions) expect(violated?.name ?? 'bucket').toBe('bucket')
  })

  it('a setting of a partition wins over its policy, that over the code, and null removes it', async () => {
    const { isolate } = app(make())
    const limiter = isolate()
    const limits = async () => [
      await limitOf(limiter, 'rpm'),
      await limitOf(limiter, 'rpm', { tenant: 'other' }),
    ]
    await configure(limiter, { rpm: { limit: 5 } }, ACME)
    expect(await limits()).toEqual([5, 10])
    await configure(limiter, { rpm: { limit: 30 } })
    expect(await limits()).toEqual([5, 30])
    await configure(limiter, { rpm: { limit: null } }, ACME)
    expect(await limits()).toEqual([30, 30])
    await configure(limiter, { rpm: { limit: 6 } }, ACME)
    await configure(limiter, { rpm: null })
    expect(await limits()).toEqual([6, 10])
    await configure(limiter, { rpm: null }, ACME)
    expect(await limits()).toEqual([10, 10])
    expect(await readConfiguration(limiter)).toEqual([])
  })

  it('"unlimited" means no limit and 0 allows nothing, for everyone or for one', async () => {
    const { isolate } = app(make())
    const limiter = isolate()
    const other = { tenant: 'other' }
    await configure(limiter, { rpm: { limit: 'unlimited' } }, ACME)
    expect(await limitOf(limiter, 'rpm')).toBe('unlimited')
    expect(await limitOf(limiter, 'rpm', other)).toBe(10)
    await configure(limiter, { rpm: { limit: 0 } })
    expect(await limitOf(limiter, 'rpm')).toBe('unlimited')
    expect(await limiter.check(other)).toMatchObject({
      allowed: false,
      reason: 'cost_exceeds_limit',
      retryAfterMs: null,
      violated: { name: 'rpm', limit: 0 },
    })
    await configure(limiter, { rpm: { limit: 'unlimited' } })
    expect(await limitOf(limiter, 'rpm', other)).toBe('unlimited')
  })

  it("a policy whose limit is 'configured' has none until it is set", async () => {
    const { isolate } = app(make())
    const limiter = isolate()
    expect((await limiter.check(ACME)).skipped).toContainEqual({
      name: 'later',
      scope: 'tenant',
      why: 'unconfigured',
    })
    await configure(limiter, { later: { limit: 2 } }, ACME)
    expect(limitsIn(await limiter.check(ACME))).toMatchObject({ later: 2 })
    expect(await limitOf(limiter, 'later', { tenant: 'other' })).toBe('unconfigured')
    await limiter.check(ACME)
    expect(await limiter.check(ACME)).toMatchObject({ violated: { name: 'later' } })
  })

  it('several policies change in one step, each for the partition of its own dimensions', async () => {
    const { isolate } = app(make())
    const limiter = isolate()
    const subject = { tenant: 'acme', user: 'u1', route: 'evaluate' }
    await configure(limiter, { rpm: { limit: 7 }, byUser: { limit: 8 } }, subject)
    await configure(limiter, { bucket: { burst: 9, limit: 60 }, all: { limit: 500 } })
    expect(limitsIn(await limiter.peek(subject))).toEqual({
      rpm: 7,
      byUser: 8,
      bucket: 60,
      all: 500,
    })
    expect((await limiter.peek(subject)).policies[2]).toMatchObject({ burst: 9 })
    expect(await limitOf(limiter, 'byUser', { tenant: 'acme', user: 'u2' })).toBe(20)
    expect(await limitOf(limiter, 'rpm', { tenant: 'acme', user: 'u2' })).toBe(7)
    expect(await readConfiguration(limiter)).toEqual([
      { policy: 'rpm', subject: { tenant: 'acme' }, settings: { limit: 7 } },
      { policy: 'byUser', subject: { tenant: 'acme', user: 'u1' }, settings: { limit: 8 } },
      { policy: 'bucket', settings: { burst: 9, limit: 60 } },
      { policy: 'all', settings: { limit: 500 } },
    ])
  })

  it('a change adds to earlier ones and leaves other settings as they are', async () => {
    const { isolate } = app(make())
    const limiter = isolate()
    await configure(limiter, { bucket: { limit: 60 } })
    await configure(limiter, { bucket: { burst: 9 } })
    await configure(limiter, { bucket: { limit: 61, burst: undefined as never } })
    expect(await readConfiguration(limiter)).toEqual([
      { policy: 'bucket', settings: { limit: 61, burst: 9 } },
    ])
    await configure(limiter, { bucket: { limit: null, burst: 8 } })
    expect((await limiter.peek(ACME)).policies[1]).toMatchObject({ limit: 30, burst: 8 })
  })

  it('a policy in shadow mode denies nobody until it is enforced, for all or for one', async () => {
    const { isolate } = app(make())
    const limiter = isolate()
    const enforced = async (tenant = 'acme') =>
      (await limiter.peek({ tenant })).policies[0]?.enforced
    await configure(limiter, { rpm: { mode: 'shadow' } })
    expect([await enforced(), await enforced('other')]).toEqual([false, false])
    await configure(limiter, { rpm: { mode: 'enforce' } }, ACME)
    expect([await enforced(), await enforced('other')]).toEqual([true, false])
    await configure(limiter, { rpm: { enforced: 0, mode: null } }, ACME)
    await configure(limiter, { rpm: { mode: 'enforce' } })
    expect([await enforced(), await enforced('other')]).toEqual([false, true])
    // A shadow is one whatever the share, so that one word is enough to stop denials.
    await configure(limiter, { rpm: { enforced: 100 } })
    await configure(limiter, { rpm: { mode: 'shadow' } })
    expect(await enforced('other')).toBe(false)
    await configure(limiter, { rpm: { mode: 'enforce' } })
    expect(await enforced('other')).toBe(true)
  })

  it('mode and enforced of a partition replace both of the whole policy', async () => {
    const { isolate } = app(make())
    const limiter = isolate()
    const enforced = async (tenant = 'acme') =>
      (await limiter.peek({ tenant })).policies[0]?.enforced
    await configure(limiter, { rpm: { mode: 'shadow' } })
    await configure(limiter, { rpm: { enforced: 100 } }, ACME)
    expect([await enforced(), await enforced('other')]).toEqual([true, false])
    await configure(limiter, { rpm: { mode: 'enforce', enforced: 0 } })
    await configure(limiter, { rpm: { mode: 'enforce', enforced: null } }, ACME)
    expect([await enforced(), await enforced('other')]).toEqual([true, false])
    await configure(limiter, { rpm: { mode: 'shadow' } }, ACME)
    await configure(limiter, { rpm: { mode: 'enforce', enforced: 100 } })
    expect([await enforced(), await enforced('other')]).toEqual([false, true])
    // Another setting of the partition leaves both as they are for everyone.
    await configure(limiter, { rpm: { mode: 'shadow', enforced: null } })
    await configure(limiter, { rpm: { mode: null, limit: 3 } }, ACME)
    expect([await enforced(), await enforced('other')]).toEqual([false, false])
  })

  it('a policy may be enabled for a share of the partitions, and disabled for one of them', async () => {
    const { isolate } = app(make())
    const limiter = isolate()
    await configure(limiter, { rpm: { enabled: 50 } })
    const tenants = Array.from({ length: 200 }, (_, index) => `t${index}`)
    const found = await Promise.all(tenants.map((tenant) => limitOf(limiter, 'rpm', { tenant })))
    const share = found.filter((limit) => limit === 10).length
    expect(share).toBeGreaterThan(60)
    expect(share).toBeLessThan(140)
    await configure(limiter, { rpm: { enabled: 100 } })
    await configure(limiter, { rpm: { enabled: 0 } }, ACME)
    expect(await limitOf(limiter, 'rpm')).toBe('not_enabled')
    expect(await limitOf(limiter, 'rpm', { tenant: 't1' })).toBe(10)
  })

  it('of 16 changes at once by four isolates none is lost', async () => {
    const { isolate } = app(make())
    const limiters = Array.from({ length: 4 }, () => isolate())
    await Promise.all(
      Array.from({ length: 16 }, (_, index) =>
        configure(
          limiters[index % 4] as Limiter,
          { rpm: { limit: index + 1 } },
          { tenant: `t${index}` },
        ),
      ),
    )
    const fresh = isolate()
    for (let index = 0; index < 16; index += 1) {
      expect(await limitOf(fresh, 'rpm', { tenant: `t${index}` })).toBe(index + 1)
    }
    for (const limiter of limiters) expect(await limitOf(limiter, 'rpm', { tenant: 't9' })).toBe(10)
  })

  it('no two ids share a setting, whatever characters they hold', async () => {
    const { isolate } = app(make())
    const limiter = isolate()
    const ids = [
      'a',
      'a:user=b',
      'a%3A',
      '*',
      '{a}',
      '__proto__',
      'constructor',
      'x'.repeat(300),
      `${'x'.repeat(300)}y`,
      '🙂',
      'a"\\',
    ]
    for (const [index, tenant] of ids.entries()) {
      await configure(limiter, { rpm: { limit: index + 1 } }, { tenant })
    }
    const fresh = isolate()
    for (const [index, tenant] of ids.entries()) {
      expect([tenant, await limitOf(fresh, 'rpm', { tenant })]).toEqual([tenant, index + 1])
    }
    const subjects = (await readConfiguration(fresh)).map(({ subject }) => subject?.['tenant'])
    expect(subjects).toEqual(ids)
    expect(await limitOf(fresh, 'rpm', { tenant: 'b' })).toBe(10)
  })

  it('a version that allows fewer settings ignores those of another version and keeps them', async () => {
    const { isolate, problems } = app(make())
    const allowing = (allow: typeof ALLOW) =>
      isolate({ extensions: [runtimeConfiguration({ allow })] })
    const wide = allowing({ ...ALLOW, rpm: ['limit', 'mode'] })
    const narrow = allowing({ ...ALLOW, rpm: ['limit'] })
    const settings = async () => (await readConfiguration(wide)).map((entry) => entry.settings)
    await configure(wide, { rpm: { limit: 30, mode: 'shadow' } })
    await configure(narrow, { rpm: { limit: 40 } })
    expect(await settings()).toEqual([{ limit: 40, mode: 'shadow' }])
    expect(await limitOf(narrow, 'rpm')).toBe(40)
    expect(await readConfiguration(narrow)).toMatchObject([{ settings: { limit: 40 } }])
    expect(problems).toMatchObject([{ code: 'invalid_configuration' }])
    await configure(narrow, { rpm: null })
    expect(await settings()).toEqual([{ mode: 'shadow' }])
    expect(await readConfiguration(narrow)).toEqual([])
    await configure(wide, { rpm: null })
    await configure(narrow, { rpm: { limit: 50 } }, ACME)
    await removeConfiguration(narrow, ACME)
    expect(await settings()).toEqual([])
  })

  it('limiters of another name, or over another store, do not see it', async () => {
    const store = make()
    const { isolate } = app(store)
    await configure(isolate(), { rpm: { limit: 3 } })
    const extensions = [runtimeConfiguration({ name: 'other', allow: ALLOW })]
    const other = isolate({ extensions })
    expect(await limitOf(other, 'rpm')).toBe(10)
    expect(await limitOf(app(make()).isolate(), 'rpm')).toBe(10)
  })
})
