import { concurrency, slidingWindow } from '@sluice/core'
import { rateLimit, reservationOf, reserving } from '@sluice/core/http'
import { expect, it } from 'vitest'
import { ownRedisOverHttp } from '../support/running-redis.ts'

// Every command on this Redis is counted, so it is shared with nobody.
const own = ownRedisOverHttp()

const common = { limit: 1_000, window: '1h', per: ['tenant'] } as const
const rpm = slidingWindow({ name: 'rpm', ...common })
const tpm = slidingWindow({ name: 'tpm', unit: 'token', ...common })
const calls = concurrency({ name: 'calls', limit: 5, per: ['tenant'] })

/** Requests to the store, and the commands of one request to a handler that settles or does not. */
async function costOf(policies: Parameters<typeof own.setUp>[0], isSettled: boolean) {
  const { limiter } = own.setUp(policies)
  const handle = rateLimit(
    limiter,
    {
      routes: ['/**'],
      subject: () => ({ tenant: 'acme' }),
      cost: reserving({ token: 100 }),
    },
    async (request) => {
      if (isSettled) await reservationOf(request).settle({ token: 5 })
      return new Response('answer')
    },
  )
  const ask = async () => (await handle(new Request('https://app.example/'))).text()
  // The scripts are loaded with it.
  await ask()
  const before = own.local.requests
  const { calls: commands } = await own.meter.measure(ask)
  return { requests: own.local.requests - before, commands: Object.fromEntries(commands) }
}

const total = (counts: Record<string, number>) => Object.values(counts).reduce((a, b) => a + b)

it('a route that reserves costs one request to reserve and one to settle', async () => {
  const { requests, commands } = await costOf([rpm, tpm, calls], true)
  expect(requests).toBe(2)
  expect(commands['evalsha']).toBe(2)
})

it('what is not settled costs one request that frees its slot: two commands, beside the reservation', async () => {
  const settled = await costOf([rpm, tpm, calls], true)
  const { requests, commands } = await costOf([rpm, tpm, calls], false)
  expect(requests).toBe(2)
  expect([commands['evalsha'], commands['zrem']]).toEqual([2, 1])
  expect(total(commands)).toBeLessThan(total(settled.commands))
})

it('what is not settled costs nothing beside the reservation if it holds no slot', async () => {
  const { requests, commands } = await costOf([rpm, tpm], false)
  expect(requests).toBe(1)
  expect(commands['evalsha']).toBe(1)
})
