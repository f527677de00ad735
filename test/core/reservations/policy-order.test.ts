import { fixedWindow } from '@sluice/core'
import { reservation, reserve } from '@sluice/core/reservations'
import { expect, it } from 'vitest'
import { ACME, setUp } from '../../support/limiters.ts'
import { sharedRedis } from '../../support/running-redis.ts'

const shared = sharedRedis()

const per = ['tenant']
const tokens = fixedWindow({ name: 'tokens', limit: 1_000, window: '1d', per, unit: 'token' })
const cents = fixedWindow({ name: 'cents', limit: 1_000, window: '1d', per, unit: 'cent' })

it('settles each policy of a reservation in its own key, whatever the order of policies in the settling limiter', async () => {
  const store = shared.store()
  const { limiter: here, clock } = setUp([tokens, cents], { store })
  const { limiter: there } = setUp([cents, tokens], { store, clock })

  const call = await reserve(here, ACME, { cost: { token: 100, cent: 10 } })
  const settled = await reservation(there, JSON.stringify(call)).settle({ token: 40, cent: 4 })

  expect(settled).toMatchObject({ applied: true, returned: { token: 60, cent: 6 } })
  const { policies } = await here.peek(ACME, { cost: { token: 0, cent: 0 } })
  expect(policies.map(({ remaining }) => remaining)).toEqual([960, 996])
})
