import {
  ConfigError,
  createLimiter,
  fixedWindow,
  InputError,
  StoreError,
  type ExtensionHooks,
  type Decision,
  type Limiter,
  type PolicySettings,
  type Records,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ownRedis } from '../support/running-redis.ts'
import { ACME, joined, plans, rpm } from './support.ts'

const fail = (): never => {
  throw new Error('a bug')
}
const hang = () => new Promise<never>(() => {})
const field = { key: 'own', field: 'value' }
const reading = (record: unknown) => () => ({ reads: [record] })
const setting = (settings: unknown) => () => ({ settings: () => settings as PolicySettings })

/** What an extension may do wrong before a decision. */
const FAULTS: Record<string, unknown> = {
  throws: fail,
  'rejects with nothing': () => Promise.reject(),
  rejects: () => Promise.reject(new Error('a bug')),
  // oxlint-disable-next-line no-thenable -- as promises of other libraries are
  'is a thenable that throws': () => ({ then: fail }),
  'is no function': 'before',
  'returns null': () => null,
  'returns a number': () => 5,
  'resolves to a text': async () => 'growth',
  'names a plan that is a number': () => ({ plan: { name: 5, source: 'resolver' } }),
  'names no plan': () => ({ plan: { name: 'ultra', source: 'resolver' } }),
  'has a plan that is a name': () => ({ plan: 'growth' }),
  'has settings that are no function': () => ({ settings: { limit: 9 } }),
  'has settings that throw': () => ({ settings: fail }),
  'has settings that throw an error of input': () => ({
    settings: () => {
      throw new InputError('invalid_subject', 'subject', 'is wrong')
    },
  }),
  'sets a number': setting(5),
  'sets a limit that is NaN': setting({ limit: Number.NaN }),
  'sets a limit below 0': setting({ limit: -1 }),
  'sets a limit that is text': setting({ limit: '9' }),
  'sets a limit that nothing can count': setting({ limit: 1e13 }),
  'sets a limit that is a function': setting({ limit: () => 5 }),
  'sets a limit to be configured': setting({ limit: 'configured' }),
  'sets a burst below 0': setting({ burst: -1 }),
  'sets an enforcement that is text': setting({ enforced: 'no' }),
  'sets a share': setting({ enabled: 0 }),
  'has reads that are no list': () => ({ reads: 5 }),
  'reads null': reading(null),
  'reads no field': reading({ update: () => false }),
  'reads a key that is a number': reading({ field: { key: 5, field: 'x' }, update: () => false }),
  'reads and does not take the value': reading({ field }),
  'fails to take the value': reading({ field, update: fail }),
  'rejects to take the value': reading({ field, update: () => Promise.reject(new Error('a bug')) }),
}

const checks = async (limiter: Limiter) => [
  await limiter.check(ACME),
  await limiter.check(ACME),
  await limiter.check(ACME),
]

/** A decision without what depends on the moment. */
const timeless = ({ policies, ...decision }: Decision) => ({
  ...decision,
  at: 0,
  retryAfterMs: 0,
  violated: decision.violated?.name,
  policies: policies.map(({ name, limit, fits, enforced }) => [name, limit, fits, enforced]),
})

describe('an extension changes no decision, and is told of, when it', () => {
  it.each(Object.entries(FAULTS))('%s', async (_, before) => {
    const { limiter, problems } = joined(() => ({ before }) as ExtensionHooks)
    const usual = createLimiter({ store: memory(), policies: [rpm], plans })
    const decisions = await checks(limiter)
    const expected = await checks(usual)
    expect(decisions.map(timeless)).toEqual(expected.map(timeless))
    const message = 'The extension "own" failed; the decision was made without it'
    expect(problems).toMatchObject([{ code: 'extension_failed', message }])
  })
})

it('a subject that an extension cannot count is the mistake of the caller', async () => {
  const { limiter, problems } = joined(() => ({
    before: () => {
      throw new InputError('invalid_subject', 'subject.seat', 'is wrong')
    },
  }))
  await expect(limiter.check(ACME)).rejects.toMatchObject({ input: 'subject.seat' })
  expect(problems).toEqual([])
})

it.each([
  new ConfigError('invalid_option', 'x', 'is wrong'),
  new StoreError('store_unreachable', 'down'),
  'down',
])('a failure of the store that an extension has met is not met again: %s', async (failure) => {
  const store = memory()
  const check = vi.spyOn(store, 'check')
  const { limiter } = joined(() => ({ before: () => ({ failure }) }), { store })
  const cause = failure instanceof StoreError ? 'store_unreachable' : 'store_failed'
  expect(await limiter.check(ACME)).toMatchObject({ degraded: { cause, mode: 'local' } })
  expect(check).not.toHaveBeenCalled()
})

describe('an extension that never answers', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it.each([undefined, 200])('is waited for at most maxWaitMs: %s', async (maxWaitMs) => {
    const store = memory()
    const check = vi.spyOn(store, 'check')
    const connected = { before: hang, ...(maxWaitMs !== undefined && { maxWaitMs }) }
    const { limiter, problems } = joined(() => connected, { store })
    const decision = limiter.check(ACME)
    await vi.advanceTimersByTimeAsync((maxWaitMs ?? 1_000) - 1)
    expect(check).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    expect(await decision).toMatchObject({ allowed: true, degraded: undefined })
    expect(problems).toMatchObject([{ code: 'extension_failed' }])
    // The store's own time has not been used up by it.
    expect(check.mock.lastCall?.[0].startedAt).toBe(Date.now())
    expect(vi.getTimerCount()).toBe(0)
  })

  it('and rejects in the end disturbs nobody', async () => {
    let reject: (error: Error) => void = fail
    const before = () => new Promise<never>((_, no) => (reject = no))
    const { limiter } = joined(() => ({ before, maxWaitMs: 5 }))
    const decision = limiter.check(ACME)
    await vi.advanceTimersByTimeAsync(5)
    expect(await decision).toMatchObject({ allowed: true })
    // Vitest fails a run with an unhandled rejection.
    reject(new Error('too late'))
    await vi.advanceTimersByTimeAsync(5)
  })

  it.each([
    [Number.NaN, 0],
    [-50, 0],
    [30, 30],
    [1e9, 100],
    [Infinity, 100],
  ])('cannot move the deadline of the store by %d ms into the future', async (ms, moved) => {
    const store = memory()
    const check = vi.spyOn(store, 'check')
    const startedAt = Date.now()
    const before: ExtensionHooks['before'] = async (call) => {
      await new Promise((resolve) => setTimeout(resolve, 100))
      call.pauseDeadline(ms)
      return undefined
    }
    const { limiter } = joined(() => ({ before }), { store })
    const decision = limiter.check(ACME)
    await vi.advanceTimersByTimeAsync(100)
    await decision
    expect(check.mock.lastCall?.[0].startedAt).toBe(startedAt + moved)
  })
})

describe('what an extension contributes', () => {
  it('is settings of a policy in a partition', async () => {
    const { limiter, problems } = joined(() => ({
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

  it('is that a policy counts nobody, or denies nobody', async () => {
    const skipped = joined(() => ({ before: setting({ enabled: false }) }))
    expect((await skipped.limiter.check(ACME)).skipped[0]?.why).toBe('not_enabled')
    const shadow = joined(() => ({ before: setting({ enforced: false, limit: 0 }) }))
    expect(await shadow.limiter.check(ACME)).toMatchObject({
      allowed: true,
      policies: [{ fits: false, enforced: false }],
    })
  })

  it('is a limit that is to be configured', async () => {
    const later = fixedWindow({ name: 'l', limit: 'configured', window: '1h', per: 'global' })
    const { limiter } = joined(
      () => ({
        configures: (policy, what) => policy === 'l' && what === 'limit',
        before: setting({ limit: 1 }),
      }),
      { policies: [later] },
    )
    expect((await checks(limiter)).map(({ allowed }) => allowed)).toEqual([true, false, false])
    expect(() => joined(() => ({}), { policies: [later] })).toThrow(ConfigError)
  })

  it('is the plan of a subject that names none', async () => {
    const plan = { name: 'growth', source: 'resolver' } as const
    const { limiter } = joined(() => ({ before: async () => ({ plan }) }))
    expect(await limiter.peek(ACME)).toMatchObject({ plan: 'growth', planSource: 'resolver' })
    const named = await limiter.peek({ ...ACME, plan: 'starter' })
    expect(named).toMatchObject({ plan: 'starter', planSource: 'subject' })
  })

  describe('is records to read, over Redis', () => {
    const own = ownRedis()

    it('along with the decision, in one HTTP request', async () => {
      const values: (string | undefined)[] = []
      const update = (value: string | undefined) => values.push(value) < 0
      let records: Records | undefined
      const { limiter } = joined(
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

  it('makes a denial be decided once more when what it went by was outdated', async () => {
    let limit = 0
    const update = vi.fn<() => boolean>(() => {
      const isOutdated = limit === 0
      limit = 1
      return isOutdated
    })
    const before = () => ({ settings: () => ({ limit }), reads: [{ field, update }] })
    const { limiter } = joined(() => ({ before }))
    expect((await checks(limiter)).map(({ allowed }) => allowed)).toEqual([true, false, false])
    expect(update).toHaveBeenCalledTimes(4)
  })

  it('takes no value from a store that has failed', async () => {
    const update = vi.fn<() => boolean>()
    const store = {
      ...memory(),
      check: () => Promise.reject(new StoreError('store_unreachable', 'down')),
    }
    const { limiter } = joined(() => ({ before: reading({ field, update }) as never }), { store })
    expect(await limiter.check(ACME)).toMatchObject({ allowed: true, degraded: { mode: 'local' } })
    expect(update).not.toHaveBeenCalled()
  })
})
