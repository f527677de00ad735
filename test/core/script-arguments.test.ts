import { fixedWindow, slidingWindow, type Entry, type Policy } from '@sluice/core'
import { describe, expect, it } from 'vitest'
import { keysUnder } from '../support/redis.ts'
import { sharedRedis } from '../support/running-redis.ts'
import { freshPrefix } from '../support/stores.ts'

const shared = sharedRedis()

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
    const store = shared.store(prefix)
    for (const good of [sliding, fixed]) {
      const bad = { ...good, [field]: field === 'params' ? [value] : value } as Entry
      const other = good === sliding ? fixed : sliding
      for (const entries of [[bad], [other, bad], [bad, other]]) {
        const asked = { ...ASKED, entries, now: Date.now() }
        await expect(store.check(asked)).rejects.toMatchObject({ code: 'store_refused' })
      }
    }
    expect(await keysUnder(shared.redis, prefix)).toEqual([])
  })

  it('takes the largest limit and cost', async () => {
    const store = shared.store()
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
