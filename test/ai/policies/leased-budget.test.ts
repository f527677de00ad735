import { createLimiter, dailyCap, manualClock, type Store } from '@sluice/core'
import { lease, leased, reserveFromLeases } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { limitedFetch, modelHandler, usd } from '@sluice/ai'
import { expect, it } from 'vitest'
import { NOON } from '../../support/times.ts'
import { post, PRICES, QUESTION } from '../doors.ts'
import * as recorded from '../recordings.ts'

/** The cost of the recorded answer, in micro-dollars. */
const ACTUAL = 1_204 + 3_100

const LIMIT = usd(50)
const spend = lease(dailyCap({ name: 'spend', limit: LIMIT, unit: 'usd', per: 'global' }), {
  duration: '2s',
})

function setUp() {
  const far = memory()
  let trips = 0
  const shared: Store = {
    ...far,
    check: (request) => ((trips += 1), far.check(request)),
    run: (operation) => ((trips += 1), far.run(operation)),
  }
  const store = leased(shared, { reservations: reserveFromLeases })
  const clock = manualClock(NOON)
  const limiter = createLimiter({ store, policies: [spend], clock })
  const meter = createLimiter({ store: leased(far), policies: [spend], clock })
  const charged = async (): Promise<number> => {
    const { policies } = await meter.peek({}, { cost: { usd: 0 } })
    return LIMIT - (policies[0]?.remaining ?? Number.NaN)
  }
  return { limiter, store, trips: () => trips, charged }
}

const answer = (): Response => Response.json(recorded.CHAT_JSON)
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

type Limiter = ReturnType<typeof setUp>['limiter']

const DOORS: Record<string, (limiter: Limiter) => Promise<Response>> = {
  modelHandler: (limiter) =>
    modelHandler(
      limiter,
      { subject: () => ({}), api: 'openai-chat', prices: PRICES },
      answer,
    )(post(QUESTION)),
  limitedFetch: async (limiter) =>
    limitedFetch(limiter, { subject: {}, prices: PRICES, fetch: async () => answer() })(
      'https://api.openai.com/v1/chat/completions',
      { method: 'POST', body: JSON.stringify(QUESTION) },
    ),
}

it.each(Object.entries(DOORS))(
  'model calls through %s are charged what they used to a budget of everyone, in few trips',
  async (_, call) => {
    const { limiter, store, trips, charged } = setUp()
    for (let time = 0; time < 200; time += 1) {
      const response = await call(limiter)
      expect(response.status).toBe(200)
      await response.text()
      await settled()
    }
    expect(trips()).toBeLessThanOrEqual(20)
    await store.returnUnits()
    await settled()
    expect(await charged()).toBe(200 * ACTUAL)
  },
)
