import { fixedWindow, slidingWindow } from '@sluice/core'
import { describe, expect, it } from 'vitest'
import { keysUnder } from '../../support/redis.ts'
import { sharedRedis } from '../../support/running-redis.ts'
import { entriesOf, rulesOf, storeRequest } from '../../support/store-request.ts'
import { freshPrefix } from '../../support/stores.ts'

const shared = sharedRedis()

const sliding = slidingWindow({ name: 's', limit: 10, window: '1m', per: 'global' })
const fixed = fixedWindow({ name: 'f', limit: 10, window: '1h', per: 'global' })

const BAD = [Number.NaN, Infinity, -Infinity, -1, 0.5, 10 ** 14 + 1, 2 ** 63, 'nan', '', 'one']

// A comparison with NaN is false in Lua, so an unchecked one would let everything pass.
describe('the script', () => {
  const forged = BAD.flatMap((value) =>
    (['limit', 'cost'] as const).map((field) => ({ field, value })),
  )

  it.each(forged)('refuses $value as $field, and writes nothing', async ({ field, value }) => {
    const prefix = freshPrefix()
    const store = shared.store(prefix)
    for (const policies of [[sliding], [fixed], [sliding, fixed], [fixed, sliding]]) {
      const rules = rulesOf(...policies)
      const good = entriesOf(rules)
      for (const [position, entry] of good.entries()) {
        const entries = good.with(position, { ...entry, [field]: value })
        const pending = store.check(storeRequest(rules, entries))
        await expect(pending).rejects.toMatchObject({ code: 'store_refused' })
      }
    }
    expect(await keysUnder(shared.redis, prefix)).toEqual([])
  })

  it('takes the largest limit and cost', async () => {
    const store = shared.store()
    const rules = rulesOf(sliding, fixed)
    const pending = storeRequest(rules, entriesOf(rules, { limit: 10 ** 12, cost: 10 ** 12 }))
    expect((await store.check(pending)).verdicts.map(({ fits }) => fits)).toEqual([true, true])
    const { verdicts } = await store.check(pending)
    expect(verdicts.map(({ fits, available }) => [fits, available])).toEqual([
      [false, 0],
      [false, 0],
    ])
  })
})
