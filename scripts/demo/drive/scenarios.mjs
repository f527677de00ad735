import { setTimeout as delay } from 'node:timers/promises'

export const PLANS = {
  starter: { rpm: 20, daily: 500 },
  growth: { rpm: 60, daily: 2_000 },
  professional: { rpm: 150, daily: 8_000 },
  enterprise: { rpm: 400, daily: 30_000 },
  trial: { rpm: 20, daily: 50 },
}
const ROUTES = ['evaluate', 'generate-questions', 'feedback', 'probe']
const NEIGHBOURS = ['starter', 'growth', 'professional', 'enterprise']

/**
 * The scenarios of the drive, in their order. `run` sends requests by `send(tenant, route)`.
 * `expected` has the exact counts of each tenant, if the scenario took less than a minute.
 */
export const scenarios = [
  {
    name: 'burst',
    title: '25 requests at once, at a limit of 20',
    tenants: { 'starter-burst': 'starter' },
    total: 25,
    async run(send) {
      await Promise.all(range(25).map(() => send('starter-burst', 'evaluate')))
    },
    expected: { 'starter-burst': { allowed: 20, rpm: 5 } },
  },
  {
    name: 'bulk import',
    title: 'One tenant imports 200 items as fast as it can, four others work as usual',
    tenants: {
      'starter-import': 'starter',
      ...Object.fromEntries(NEIGHBOURS.map((plan) => [`${plan}-near`, plan])),
    },
    total: 200 + 15 * NEIGHBOURS.length,
    async run(send) {
      const neighbours = NEIGHBOURS.map(async (plan) => {
        for (let count = 0; count < 15; count += 1) {
          await send(`${plan}-near`, 'evaluate')
          await delay(50)
        }
      })
      const items = range(200)
      await Promise.all([
        ...neighbours,
        withWorkers(20, items, () => send('starter-import', 'evaluate')),
      ])
    },
    expected: {
      'starter-import': { allowed: 20, rpm: 180 },
      ...Object.fromEntries(NEIGHBOURS.map((plan) => [`${plan}-near`, { allowed: 15 }])),
    },
  },
  {
    name: 'retry storm',
    title: '100 jobs, each tried up to 5 times, retried at once whatever Retry-After says',
    tenants: { 'growth-storm': 'growth' },
    total: 60 + 40 * 5,
    async run(send) {
      await withWorkers(20, range(100), async () => {
        for (let attempt = 0; attempt < 5; attempt += 1) {
          const { status } = await send('growth-storm', 'feedback')
          if (status === 200) return
        }
      })
    },
    expected: { 'growth-storm': { allowed: 60, rpm: 200 } },
  },
  {
    name: 'daily quota',
    title:
      'A trial tenant uses up its day, while each of its four routes has requests left this minute',
    tenants: { 'trial-day': 'trial' },
    total: 60,
    countsDays: true,
    async run(send) {
      const routes = range(60).map((index) => ROUTES[index % ROUTES.length])
      await withWorkers(10, routes, (route) => send('trial-day', route))
    },
    expected: { 'trial-day': { allowed: 50, daily: 10 } },
  },
]

function range(count) {
  return Array.from({ length: count }, (_, index) => index)
}

async function withWorkers(count, items, work) {
  const queue = [...items]
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item)
  }
  await Promise.all(range(count).map(worker))
}
