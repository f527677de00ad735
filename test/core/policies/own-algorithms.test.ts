import {
  concurrency,
  createLimiter,
  definePolicy,
  fixedWindow,
  leakyBucket,
  sessionWindow,
  slidingWindow,
  slidingWindowCounter,
  slidingWindows,
  tokenBucket,
  type Algorithm,
  type Policy,
  type PolicyRule,
} from '@sluice/core'
import { kindsOf } from '@sluice/core/internal/journal'
import { memory } from '@sluice/core/memory'
import { fairShare } from '@sluice/core/fair-share'
import { waitingLine } from '@sluice/core/waiting'
import { expect, it } from 'vitest'

const own = { name: 'own', limit: 5, per: ['tenant'] } as const
const timed = { ...own, window: '1m' } as const
const windows = { a: { limit: 1, window: '1m' }, b: { limit: 2, window: '1h' } } as const

/** Policies in which all algorithms of the core occur. */
const POLICIES: readonly (() => readonly PolicyRule[])[] = [
  fixedWindow(timed),
  slidingWindow(timed),
  slidingWindows({ name: 'own', windows, per: ['tenant'] }),
  slidingWindowCounter(timed),
  tokenBucket(timed),
  leakyBucket({ ...timed, burst: 5 }),
  sessionWindow({ ...own, idle: '1m' }),
  concurrency(own),
  fairShare(slidingWindow({ ...timed, per: 'global' }), { between: ['tenant'] }),
  waitingLine(slidingWindow(timed)),
]
const rules = POLICIES.flatMap((policy) => policy())
const ALGORITHMS = [...new Map(rules.map(({ algorithm }) => [algorithm.id, algorithm])).values()]

const policyOf = (algorithm: Algorithm): Policy<never, never> =>
  definePolicy('mine', own, [], () => ({ algorithm, params: [60_000], windowMs: 60_000 })) as never

it('knows all algorithms of the core', () => {
  expect(ALGORITHMS.map(({ id }) => id).toSorted()).toEqual([
    'counter',
    'fixed',
    'leaky-bucket',
    'line',
    'log',
    'session',
    'shares',
    'sliding',
    'slots',
    'token-bucket',
  ])
})

const refusal = (text: string): object =>
  expect.objectContaining({
    name: 'ConfigError',
    code: 'invalid_option',
    message: expect.stringContaining(text) as string,
  }) as object

it.each(ALGORITHMS)('refuses an algorithm of a user with the id $id', (algorithm) => {
  const copy = { ...algorithm }
  expect(() => policyOf(copy)).toThrow(refusal('mine.algorithm.id: must have a dot'))
  expect(() => kindsOf({ algorithms: [{ ...algorithm }, copy] })).toThrow(
    refusal(`must not be a second one with the name "${algorithm.id}"`),
  )
})

it.each(ALGORITHMS)('takes a copy of $id with an id of its own', (algorithm) => {
  const copy = { ...algorithm, id: `mine.${algorithm.id}` }
  expect(() => createLimiter({ store: memory(), policies: [policyOf(copy)] })).not.toThrow()
  expect(() => kindsOf({ algorithms: [copy] })).not.toThrow()
})

it('refuses two operations of one name', () => {
  const operation = { name: 'settle', run: () => undefined }
  expect(() => kindsOf({ operations: [operation] })).toThrow(refusal('"settle"'))
})
