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
 * What is driven, in this order. `run` sends through `send(tenant, route)`; `expected` is what each
 * tenant must have got, exactly, as long as the whole scenario took less than a minute.
 */
export const scenarios = [
  {
    name: 'burst',
    title: '25 requests at once, at a limit of 20',
    tenants: { 'starter-burst': 'starter' },
    total: 25,
    async run(send) {
      await Promise.all(times(25, () => send('starter-burst', 'evaluate')))
    },
    expected: { 'starter-burst': { allowed: 20, rpm: 5 } },
  },
  {
    name: 'bulk import',
    title: 'One tenant imports 200 items as fast as it can, four others go on working',
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
      const items = times(200, (index) => index)
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
      await withWorkers(
        20,
        times(100, (index) => index),
        async () => {
          for (let attempt = 0; attempt < 5; attempt += 1) {
            const { status } = await send('growth-storm', 'feedback')
            if (status === 200) return
          }
        },
      )
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
      const items = times(60, (index) => ROUTES[index % ROUTES.length])
      await withWorkers(10, items, (route) => send('trial-day', route))
    },
    expected: { 'trial-day': { allowed: 50, daily: 10 } },
  },
]

function times(count, make) {
  return Array.from({ length: count }, (_, index) => make(index))
}

async function withWorkers(count, items, work) {
  const queue = [...items]
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item)
  }
  await Promise.all(times(count, worker))
}
