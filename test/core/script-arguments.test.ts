import { fixedWindow, slidingWindow, type Entry, type Policy } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
import { startLocal, type LocalServer } from '@sluice/local'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { connect, keysUnder } from '../support/redis.ts'
import { freshPrefix } from '../support/stores.ts'

let local: LocalServer
let redis: Redis

beforeAll(async () => {
  local = await startLocal({ redisUrl: inject('redisUrl') })
  redis = connect(inject('redisUrl'))
})
afterAll(async () => {
  redis.disconnect()
  await local.close()
})

const entryOf = ({ algorithm, params, name }: Policy): Entry => ({
  key: name,
  algorithm,
  params,
  limit: 10,
  burst: 10,
  cost: 1,
  enforced: true,
})
const sliding = entryOf(slidingWindow({ name: 's', limit: 10, window: '1m', per: 'global' }))
const fixed = entryOf(fixedWindow({ name: 'f', limit: 10, window: '1h', per: 'global' }))

const largest = (entry: Entry): Entry => ({
  ...entry,
  limit: 10 ** 12,
  burst: 10 ** 12,
  cost: 10 ** 12,
})

const ASKED = { id: 'x', apply: true, clockIsInjected: false, reads: [] }

const BAD = [Number.NaN, Infinity, -Infinity, -1, 0.5, 10 ** 12 + 1, 2 ** 63, 'nan', '', 'one']

// A comparison with NaN is false in Lua, so an unchecked one would let everything pass.
describe('the script', () => {
  const forged = BAD.flatMap((value) =>
    (['limit', 'burst', 'cost', 'params'] as const).map((field) => ({ field, value })),
  )

  it.each(forged)('refuses $value as $field, and writes nothing', async ({ field, value }) => {
    const prefix = freshPrefix()
    const { url, token } = local
    const store = upstash({ url, token, prefix, timeoutMs: 30_000 })
    for (const good of [sliding, fixed]) {
      const bad = { ...good, [field]: field === 'params' ? [value] : value } as Entry
      const other = good === sliding ? fixed : sliding
      for (const entries of [[bad], [other, bad], [bad, other]]) {
        const asked = { ...ASKED, entries, now: Date.now() }
        await expect(store.check(asked)).rejects.toMatchObject({ code: 'store_refused' })
      }
    }
    expect(await keysUnder(redis, prefix)).toEqual([])
  })

  it('takes the largest limit and cost', async () => {
    const { url, token } = local
    const store = upstash({ url, token, prefix: freshPrefix(), timeoutMs: 30_000 })
    const entries = [sliding, fixed].map(largest)
    const asked = { ...ASKED, entries, now: Date.now() }
    expect((await store.check(asked)).verdicts.map(({ fits }) => fits)).toEqual([true, true])
    const { verdicts } = await store.check(asked)
    expect(verdicts.map(({ fits, available }) => [fits, available])).toEqual([
      [false, 0],
      [false, 0],
    ])
  })
})
