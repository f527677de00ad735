import {
  ConfigError,
  InputError,
  StoreError,
  type ExtensionHooks,
  type Decision,
  type Limiter,
  type PolicySettings,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ACME, setUp } from '../../support/limiters.ts'
import { setUpExtension, plans, rpm } from './support.ts'

const fail = (): never => {
  throw new Error('a bug')
}
const hang = () => new Promise<never>(() => {})
const field = { key: 'own', field: 'value' }
const reading = (record: unknown) => () => ({ reads: [record] })
const setting = (settings: unknown) => () => ({ settings: () => settings as PolicySettings })

/** Faults of an extension before a decision. */
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
  'sets a limit that nothing can count': setting({ limit: 1e15 }),
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

describe('an extension changes no decision, and is reported, when it', () => {
  it.each(Object.entries(FAULTS))('%s', async (_, before) => {
    const { limiter, problems } = setUpExtension(() => ({ before }) as ExtensionHooks)
    const usual = setUp([rpm], { plans }).limiter
    const decisions = await checks(limiter)
    const expected = await checks(usual)
    expect(decisions.map(timeless)).toEqual(expected.map(timeless))
    const message = 'The extension "own" failed; the decision was made without it'
    expect(problems).toMatchObject([{ code: 'extension_failed', message }])
  })
})

it('a subject that an extension cannot count is an error of the caller', async () => {
  const { limiter, problems } = setUpExtension(() => ({
    before: () => {
      throw new InputError('invalid_subject', 'subject.seat', 'is wrong')
    },
  }))
  await expect(limiter.check(ACME)).rejects.toMatchObject({ input: 'subject.seat' })
  expect(problems).toEqual([])
})

it('misuse that an extension has found, such as missing credentials, is thrown on', async () => {
  const failure = new ConfigError('missing_credentials', 'upstash.url', 'is missing')
  const { limiter } = setUpExtension(() => ({ before: () => ({ failure }) }), { store: memory() })
  await expect(limiter.check(ACME)).rejects.toBe(failure)
})

it.each([new StoreError('store_unreachable', 'down'), 'down'])(
  'a store failure that an extension has found is not tried again: %s',
  async (failure) => {
    const store = memory()
    const check = vi.spyOn(store, 'check')
    const { limiter } = setUpExtension(() => ({ before: () => ({ failure }) }), { store })
    const cause = failure instanceof StoreError ? 'store_unreachable' : 'store_failed'
    expect(await limiter.check(ACME)).toMatchObject({ degraded: { cause, mode: 'local' } })
    expect(check).not.toHaveBeenCalled()
  },
)

const answer = () => Promise.resolve(undefined as never)

describe('an extension that never answers', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it.each([undefined, 200])('holds up a decision for at most maxWaitMs: %s', async (maxWaitMs) => {
    const store = memory()
    const check = vi.spyOn(store, 'check')
    const connected = { before: hang, ...(maxWaitMs !== undefined && { maxWaitMs }) }
    const { limiter, problems } = setUpExtension(() => connected, { store })
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

  it('leaves no timer behind if it answers', async () => {
    const { limiter } = setUpExtension(() => ({ before: answer, maxWaitMs: 5_000 }))
    expect(await limiter.check(ACME)).toMatchObject({ allowed: true, retryAfterMs: 0 })
    expect(vi.getTimerCount()).toBe(0)
  })

  it('affects nothing if it rejects later', async () => {
    let reject: (error: Error) => void = fail
    const before = () => new Promise<never>((_, no) => (reject = no))
    const { limiter } = setUpExtension(() => ({ before, maxWaitMs: 5 }))
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
    const { limiter } = setUpExtension(() => ({ before }), { store })
    const decision = limiter.check(ACME)
    await vi.advanceTimersByTimeAsync(100)
    await decision
    expect(check.mock.lastCall?.[0].startedAt).toBe(startedAt + moved)
  })
})
