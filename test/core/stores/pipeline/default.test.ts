import { upstash, type Fetch } from '@sluice/core/upstash'
import * as edge from '../../../../packages/core/dist/stores/upstash/edge.js'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { loosely, mistakesAreNamed } from '../../../support/mistakes.ts'
import { commandsOf, everyResult } from './support.ts'

afterEach(() => {
  vi.unstubAllGlobals()
})

type Options = Parameters<typeof upstash>[0]

const database = { url: 'http://redis.example', token: 'token' }

const recording =
  (list: number[]): Fetch =>
  async (_, { body }) => {
    list.push(commandsOf(body).length)
    return everyResult(body)
  }

/** Makes four calls at once. Returns the number of commands in each request of the global `fetch`, and of an own one. */
async function requestsOf(
  options: (own: Fetch) => Options,
  marks: typeof ofNext,
  create = upstash,
) {
  const sent = { global: [] as number[], own: [] as number[], wrapped: [] as number[] }
  vi.stubGlobal('fetch', Object.assign(recording(sent.global), marks(recording(sent.wrapped))))
  const store = create({ ...database, ...options(recording(sent.own)) })
  await Promise.all(['a', 'b', 'c', 'd'].map((key) => store.reset([key])))
  return sent
}

const together = [4]
const alone = [1, 1, 1, 1]

const none = { global: [], own: [], wrapped: [] }

/** Marks the global `fetch` as that of Next.js, which wraps another. */
const ofNext = (wrapped: Fetch): object => ({ __nextPatched: true, _nextOriginalFetch: wrapped })
const unmarked = (): object => ({})

/** Options, the marks of the global `fetch`, and the requests that they lead to. */
const CASES: readonly [string, (own: Fetch) => Options, typeof ofNext, object][] = [
  ['share one of the global fetch', () => ({}), unmarked, { ...none, global: together }],
  ['do not, with false', () => ({ pipeline: false }), unmarked, { ...none, global: alone }],
  ['share none of an own fetch', (fetch) => ({ fetch }), unmarked, { ...none, own: alone }],
  [
    'share one of an own fetch, with true',
    (fetch) => ({ fetch, pipeline: true }),
    unmarked,
    { ...none, own: together },
  ],
  ['share one of the fetch that Next.js wraps', () => ({}), ofNext, { ...none, wrapped: together }],
  [
    "are sent by Next.js's, with false",
    () => ({ pipeline: false }),
    ofNext,
    { ...none, global: alone },
  ],
]

describe('calls of one moment', () => {
  it.each(CASES)('%s', async (_, options, marks, requests) => {
    expect(await requestsOf(options, marks)).toEqual(requests)
  })

  it.each(CASES)('have a request each in Workers, where others %s', async (_, options, marks) => {
    const { global, own } = await requestsOf(options, marks, edge.upstash)
    expect([...global, ...own]).toEqual(alone)
  })

  it.each(CASES)(
    'have a request each in a Worker that was built without a condition, where others %s',
    async (_, options, marks) => {
      vi.stubGlobal('WebSocketPair', vi.fn())
      const { global, own } = await requestsOf(options, marks)
      expect([...global, ...own]).toEqual(alone)
    },
  )
})

it('both variants have the same functions', async () => {
  const server = await import('@sluice/core/upstash')
  expect(Object.keys(edge)).toEqual(Object.keys(server))
})

describe('a mistake in the options of both variants is an error that names the option', () => {
  for (const create of [upstash, edge.upstash]) {
    mistakesAreNamed([
      ['no object', () => loosely(create)(7), 'upstash'],
      [
        'an unknown option',
        () => loosely(create)({ pipelined: true }),
        'upstash.pipelined',
        'unknown_option',
      ],
      ['a fetch that is none', () => loosely(create)({ fetch: 7 }), 'upstash.fetch'],
      ['a URL without a protocol', () => create({ url: 'redis.example' }), 'upstash.url'],
      ['a timeoutMs of 0', () => create({ timeoutMs: 0 }), 'upstash.timeoutMs'],
    ])
  }
  mistakesAreNamed([
    ['a pipeline that is a word', () => loosely(upstash)({ pipeline: 'no' }), 'upstash.pipeline'],
  ])
})
