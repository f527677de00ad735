import { createLimiter, slidingWindow, type Policy } from '@sluice/core'
import { waitFor, waitingLine } from '@sluice/core/waiting'
import { expect, it } from 'vitest'
import { readFileSync } from 'node:fs'
import { tableOf } from '../../support/markdown.ts'
import { ownRedisOverHttp } from '../../support/running-redis.ts'

// Every command on this Redis is counted, so it is shared with nobody.
const own = ownRedisOverHttp()

const ACME = { tenant: 'acme' }
const window = (): Policy => slidingWindow({ name: 'rpm', limit: 3, window: '1s', per: ['tenant'] })

async function costOf(
  act: () => Promise<unknown>,
): Promise<readonly [trips: number, commands: number]> {
  const before = own.local.requests
  const { total } = await own.meter.measure(act)
  return [own.local.requests - before, total]
}

it('a line costs as many requests and commands as the page states', async () => {
  const plain = createLimiter({ store: own.store(), policies: [window()] })
  const limiter = createLimiter({ store: own.store(), policies: [waitingLine(window())] })
  const patient = waitFor(limiter, '20s')
  const decide = async (one: typeof limiter) => {
    await new Promise((resolve) => setTimeout(resolve, 1_100))
    expect((await one.check(ACME)).allowed).toBe(true)
  }
  for (const one of [plain, limiter, limiter]) await decide(one)
  await patient.check(ACME, { cost: 3 })
  await decide(plain)
  await decide(limiter)
  const bare = await costOf(() => plain.check(ACME))
  const lined = await costOf(() => limiter.check(ACME))
  const waited = await costOf(async () => {
    expect((await patient.check(ACME, { cost: 3 })).allowed).toBe(true)
  })
  const more = ([trips, commands]: readonly [number, number]) =>
    [trips - bare[0], commands - bare[1]].map(String)
  const page = readFileSync(new URL('../../../docs/waiting.md', import.meta.url), 'utf8')
  const published = [...tableOf(page, 'more than without a line').values()].map(
    ({ requests, commands }) => [requests, commands],
  )
  expect([more(lined), more(waited)]).toEqual(published)
})
