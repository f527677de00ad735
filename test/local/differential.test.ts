import { startLocal } from '@sluice/local'
import type { LocalServer } from '@sluice/local'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { post, until } from './client.ts'
import { COMMAND_HISTORIES } from './command-histories.ts'
import type { Row } from './command-histories.ts'
import { LIMITER_SCRIPT, SCRIPT_HISTORIES } from './script-histories.ts'

let redis: LocalServer
let embedded: LocalServer

beforeAll(async () => {
  redis = await startLocal({ engine: 'redis-server', scriptFlag: false })
  embedded = await startLocal({ engine: 'embedded', scriptFlag: false })
})
afterAll(async () => {
  await redis.close()
  await embedded.close()
})
beforeEach(async () => {
  for (const server of [redis, embedded]) {
    await post(server, '/pipeline', [['FLUSHALL'], ['SCRIPT', 'FLUSH']])
  }
})

/** Sends the same commands to both and keeps what they answered where it differs. */
async function differences(rows: readonly Row[]): Promise<object[]> {
  const found: object[] = []
  for (const row of rows) {
    const [ours, theirs] = await Promise.all([ask(embedded, row), ask(redis, row)])
    if (ours !== theirs) found.push({ row, ours, theirs })
  }
  return found
}

async function ask(server: LocalServer, row: Row): Promise<string> {
  const headers = { authorization: `Bearer ${server.token}` }
  const body = JSON.stringify(row)
  const response = await fetch(server.url, { method: 'POST', headers, body })
  return `${response.status} ${await response.text()}`
}

async function matchingKeys(server: LocalServer, pattern: string): Promise<string[]> {
  const { body } = await post(server, '/', ['KEYS', pattern])
  return (body as { result: string[] }).result.toSorted()
}

describe('the embedded engine answers byte for byte as Redis does', () => {
  it.each(Object.entries({ ...COMMAND_HISTORIES, ...SCRIPT_HISTORIES }))('%s', async (_, rows) => {
    expect(await differences(rows)).toEqual([])
  })

  it('a random history of checks by a limiter script', async () => {
    let seed = 7
    const random = (below: number): number => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed % below
    }
    let nowMs = 1_700_000_000_000
    const rows: Row[] = []
    for (let index = 0; index < 300; index += 1) {
      nowMs += random(400)
      const key = `window:${random(3)}`
      const args = [nowMs, 1_000 + random(3) * 500, 5 + random(5), 1 + random(4), `m${index}`]
      rows.push(['EVAL', LIMITER_SCRIPT, '2', key, `${key}:count`, ...args.map(String)])
      if (index % 10 === 0) rows.push(['ZRANGE', key, '0', '-1', 'WITHSCORES'])
    }
    expect(await differences(rows)).toEqual([])
  })

  it('key patterns, the malformed ones included', async () => {
    const keys = [
      'a',
      'ab',
      'abc',
      'b-c',
      'a*c',
      'a[b',
      'a]',
      '\\\\',
      'A.c',
      '^',
      '-',
      'é',
      '\n',
      '0z',
    ]
    const patterns =
      '* ** ? ?? a* *c a*c a**c *b* a?c *a*b*c* ?*? *? [a-c]b [c-a]b [^a] [^a-b]* a[] a[ a[b a[^ a[b- ' +
      '[a-]* [-a]* a\\*c a\\[b a] \\ \\\\* [\\]a]* [a\\-z]* [^] [] []] . A.c [\\ [a\\ [.-z] *[ *\\ ' +
      '??*[c] [[]* [*]* é ??'
    for (const server of [redis, embedded]) {
      await post(
        server,
        '/pipeline',
        keys.map((key) => ['SET', key, '1']),
      )
    }
    for (const pattern of ['', ...patterns.split(' ')]) {
      expect(await matchingKeys(embedded, pattern), `of ${pattern}`).toEqual(
        await matchingKeys(redis, pattern),
      )
    }
  })

  it('keys expire, by SET PX and by PEXPIRE', async () => {
    for (const server of [redis, embedded]) {
      const rows = [
        ['SET', 'short', '1', 'PX', '40'],
        ['HSET', 'hash', 'a', '1'],
        ['PEXPIRE', 'hash', '40'],
        ['SET', 'long', '1', 'PX', '40000'],
        ['EVAL', "return redis.call('PTTL', 'short') + redis.call('PTTL', 'hash')", '0'],
      ]
      const before = (await post(server, '/pipeline', rows)).body as [...unknown[], unknown]
      const { result } = before.at(-1) as { result: number }
      expect(result).toBeGreaterThan(0)
      expect(result).toBeLessThanOrEqual(80)
      const left = async (): Promise<string> => ask(server, ['EXISTS', 'short', 'hash', 'long'])
      const answer = await until(left, (text) => text === '200 {"result":1}')
      expect(answer).toBe('200 {"result":1}')
      expect(await ask(server, ['GET', 'short'])).toBe('200 {"result":null}')
      expect(await ask(server, ['TTL', 'short'])).toBe('200 {"result":-2}')
      expect(await ask(server, ['DBSIZE'])).toBe('200 {"result":1}')
    }
  })

  it('a transaction with a failing member, and one that is discarded', async () => {
    const transactions = [
      [
        ['SET', 'a', '1'],
        ['INCR', 'a'],
        ['ZADD', 'a', '1', 'm'],
        ['GET', 'a'],
      ],
      [['SET', 'a', '5'], ['GET'], ['INCR', 'a']],
      [
        ['INCR', 'a'],
        ['NOPE', 'x'],
      ],
      [['GET', 'a']],
    ]
    for (const commands of transactions) {
      const [left, right] = await Promise.all(
        [embedded, redis].map(async (server) => {
          const { status, body } = await post(server, '/multi-exec', commands)
          return { status, body }
        }),
      )
      expect(left).toEqual(right)
    }
  })
})
