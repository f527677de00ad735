import { dailyCap, slidingWindow } from '@sluice/core'
import { describe, expect, it } from 'vitest'
import { checkCall } from '../../../packages/core/src/lua/call.ts'
import { minify } from '../../../packages/core/src/stores/redis/redis-store.ts'
import { sharedRedis } from '../../support/running-redis.ts'
import { entriesOf, rulesOf, storeRequest } from '../../support/store-request.ts'
import { freshPrefix } from '../../support/stores.ts'
import { NOON } from '../../support/times.ts'
// The assembler is nobody's business but the store's, so the package does not export it.
import { decidingScript } from '../../../packages/core/src/lua/program.ts'

// The policies of the README's limiter.
const rules = rulesOf(
  dailyCap({ name: 'daily', limit: ({ plan }) => plan['daily'], per: ['tenant'] }),
  slidingWindow({
    name: 'rpm',
    limit: ({ plan }) => plan['rpm'],
    window: '1m',
    per: ['tenant', 'route'],
  }),
)
const readable = decidingScript({ policies: rules })

const shared = sharedRedis()

describe("the script of the README's limiter", () => {
  it('equals its golden file', async () => {
    await expect(readable).toMatchFileSnapshot('./readme-script.lua')
  })

  it('decides the same minified as in full', async () => {
    const prefix = freshPrefix()
    const calls = Array.from({ length: 60 }, (_, index) => {
      const now = NOON + index * 1_700 + (index > 40 ? 60_000 : 0)
      const changes = { now, clockIsInjected: true, id: `id${index}`, apply: index % 7 !== 6 }
      const entries = entriesOf(rules, { limit: 20, cost: index % 4 })
      return checkCall(storeRequest(rules, entries, changes), prefix) as [number, ...string[]]
    })
    const repliesOf = async (script: string): Promise<unknown[]> => {
      const replies: unknown[] = []
      for (const call of calls) replies.push(await shared.redis.eval(script, ...call))
      await shared.redis.del(`${prefix}daily`, `${prefix}rpm`)
      return replies
    }
    const minified = minify(readable)
    expect(minified.length).toBeLessThan(readable.length)
    const replies = await repliesOf(readable)
    expect(await repliesOf(minified)).toEqual(replies)
    const allowed = replies.filter((reply) => (reply as number[])[1] === 3)
    expect(allowed.length).toBeGreaterThan(5)
    expect(allowed.length).toBeLessThan(40)
  })
})
