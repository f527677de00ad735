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

/** Makes four calls at once. Returns the number of commands in each request of the global `fetch`, and of an own one. */
async function requestsOf(options: (own: Fetch) => Options, marks: object, create = upstash) {
  const sent = { global: [] as number[], own: [] as number[] }
  const recording =
    (list: number[]): Fetch =>
    async (_, { body }) => {
      list.push(commandsOf(body).length)
      return everyResult(body)
    }
  vi.stubGlobal('fetch', Object.assign(recording(sent.global), marks))
  const store = create({ ...database, ...options(recording(sent.own)) })
  await Promise.all(['a', 'b', 'c', 'd'].map((key) => store.reset([key])))
  return sent
}

const together = [4]
const alone = [1, 1, 1, 1]

/** Options, the marks of the global `fetch`, and the requests that they lead to. */
const CASES: readonly [string, (own: Fetch) => Options, object, object][] = [
  ['share a request of the global fetch', () => ({}), {}, { global: together, own: [] }],
  ['do not, with false', () => ({ pipeline: false }), {}, { global: alone, own: [] }],
  ['do not share one of an own fetch', (fetch) => ({ fetch }), {}, { global: [], own: alone }],
  ['do, with true', (fetch) => ({ fetch, pipeline: true }), {}, { global: [], own: together }],
  [
    "do not share one of Next.js's fetch",
    () => ({}),
    { __nextPatched: true },
    { global: alone, own: [] },
  ],
  [
    "do, with true, of Next.js's",
    () => ({ pipeline: true }),
    { __nextPatched: true },
    { global: together, own: [] },
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
