import { createLimiter, definePolicy, slidingWindow, type Algorithm } from '@sluice/core'
import { file } from '@sluice/core/file'
import { decode, encode, kindsOf } from '@sluice/core/internal/journal'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ACME, collectProblems } from '../../support/limiters.ts'
import { NOON } from '../../support/times.ts'
import { ownFolders, remaining, restart } from './support.ts'

const folderOf = ownFolders()

beforeEach(() => {
  restart()
  vi.spyOn(console, 'warn').mockImplementation(() => {})
})
afterEach(() => {
  restart()
  vi.restoreAllMocks()
})

/** Allows one request, after which its state is `value`. */
const algorithmOf = (value: unknown): Algorithm<unknown> => ({
  id: 'test.once',
  check: (state, { limit }) => ({
    fits: state === undefined,
    available: state === undefined ? limit : 0,
    resetMs: 1_000,
    retryMs: state === undefined ? 0 : -1,
  }),
  add: (_, __, now) => ({ state: value, expiresAt: Infinity, position: now }),
  lua: () => ({ check: '', add: '', position: '0' }),
})

function limiterOf(folder: string, value: unknown) {
  const { problems, listener } = collectProblems()
  const once = definePolicy('once', { name: 'once', limit: 1, per: ['tenant'] }, [], () => ({
    algorithm: algorithmOf(value),
    params: [],
    windowMs: 60_000,
  }))
  const rpm = slidingWindow({ name: 'rpm', limit: 5, window: '1h', per: ['tenant'] })
  const store = file(folder)
  const limiter = createLimiter({
    store,
    policies: [rpm, once],
    extensions: [listener],
    onStoreError: 'deny',
    clock: () => NOON,
  })
  const alone = createLimiter({ store, policies: [rpm], clock: () => NOON })
  return { limiter, alone, problems }
}

const KEPT = {
  'a Map': new Map([['n', [1, 2]]]),
  null: null,
  'a text of any kind': '\ud800\u2028\n"$map',
  'an object without a prototype': Object.assign(Object.create(null), { n: 1 }) as object,
}

const LOST = {
  Infinity: { until: Infinity },
  NaN: [NaN],
  '-Infinity': { since: -Infinity },
  Set: new Set([1]),
  Date: { at: new Date(NOON) },
  Uint8Array: new Uint8Array(2),
  Counter: new (class Counter {
    readonly n = 1
  })(),
  function: { read: () => 1 },
  bigint: { n: 1n },
}

describe('a state of an own algorithm', () => {
  it.each(Object.entries(KEPT))('comes back with %s', async (_, value) => {
    const text = encode({ value })
    expect(decode(text, kindsOf())).toEqual({ value: structuredClone(value) })
    const folder = folderOf()
    const { limiter } = limiterOf(folder, value)
    expect((await limiter.check(ACME)).degraded).toBeUndefined()
    restart()
    expect(await limiterOf(folder, value).limiter.peek(ACME)).toMatchObject({ allowed: false })
  })

  it.each(Object.entries(LOST))('that is or has a %s is refused', async (name, value) => {
    const { limiter, alone, problems } = limiterOf(folderOf(), value)
    expect(await limiter.check(ACME)).toMatchObject({
      allowed: false,
      degraded: { cause: 'store_refused' },
    })
    expect(problems[0]?.message).toMatch(
      new RegExp(`state of the algorithm "test\\.once" has a ${name}, .*use finite numbers`),
    )
    // Nothing of the decision is charged.
    expect(await remaining(alone)).toBe(5)
  })
})
