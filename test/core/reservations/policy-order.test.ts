import { createLimiter, fixedWindow, manualClock, type Limiter, type Store } from '@sluice/core'
import { reservation, reserve } from '@sluice/core/reservations'
import { upstash } from '@sluice/core/upstash'
import { startLocal, type LocalServer } from '@sluice/local'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { NOON } from '../../conformance/cases/case.ts'

let local: LocalServer
beforeAll(async () => {
  local = await startLocal({ redisUrl: inject('redisUrl') })
})
afterAll(() => local.close())

const per = ['tenant']
const tokens = fixedWindow({ name: 'tokens', limit: 1_000, window: '1d', per, unit: 'token' })
const cents = fixedWindow({ name: 'cents', limit: 1_000, window: '1d', per, unit: 'cent' })

it('settles each policy of a reservation in its own key, whatever the order of the policies there', async () => {
  const { url, token } = local
  const prefix = `order-${process.pid}`
  const store: Store = upstash({ url, token, prefix, timeoutMs: 30_000 })
  const clock = manualClock(NOON)
  const here: Limiter = createLimiter({ store, clock, policies: [tokens, cents] })
  const there: Limiter = createLimiter({ store, clock, policies: [cents, tokens] })
  const acme = { tenant: 'acme' }

  const call = await reserve(here, acme, { cost: { token: 100, cent: 10 } })
  const settled = await reservation(there, JSON.stringify(call)).settle({ token: 40, cent: 4 })

  expect(settled).toMatchObject({ applied: true, returned: { token: 60, cent: 6 } })
  const { policies } = await here.peek(acme, { cost: { token: 0, cent: 0 } })
  expect(policies.map(({ remaining }) => remaining)).toEqual([960, 996])
})
