import { setTimeout as delay } from 'node:timers/promises'

/** The requests a minute of each plan, on one route. */
export const RPM = { starter: 20, growth: 60, professional: 150, enterprise: 400, trial: 20 }
const ROUTES = ['evaluate', 'generate-questions', 'feedback', 'probe']
const NEIGHBOURS = ['starter', 'growth', 'professional', 'enterprise']
const forNeighbours = (value) =>
  Object.fromEntries(NEIGHBOURS.map((plan) => [`${plan}-near`, value(plan)]))

/**
 * The scenarios of the drive, in their order. `run` sends requests by `send(tenant, route)`.
 * `expected` has the exact outcome of each tenant, if the scenario took less than a minute.
 */
export const scenarios = [
  {
    name: 'bulk import',
    title: 'one tenant imports 200 items as fast as it can, four others work as usual',
    tenants: { 'starter-import': 'starter', ...forNeighbours((plan) => plan) },
    async run(send) {
      const neighbours = NEIGHBOURS.map(async (plan) => {
        for (let count = 0; count < 15; count += 1) {
          await send(`${plan}-near`, 'evaluate')
          await delay(50)
        }
      })
      const importing = withWorkers(20, 200, () => send('starter-import', 'evaluate'))
      await Promise.all([...neighbours, importing])
    },
    expected: {
      'starter-import': '20 allowed, 180 denied by rpm',
      ...forNeighbours(() => '15 allowed'),
    },
  },
  {
    name: 'retry storm',
    title: '100 jobs, each tried up to 5 times, retried at once whatever Retry-After says',
    tenants: { 'growth-storm': 'growth' },
    run: (send) =>
      withWorkers(20, 100, async () => {
        for (let attempt = 0; attempt < 5; attempt += 1) {
          const { status } = await send('growth-storm', 'feedback')
          if (status === 200) return
        }
      }),
    expected: { 'growth-storm': '60 allowed, 200 denied by rpm' },
  },
  {
    name: 'daily quota',
    title: 'a trial tenant uses up its day, while each of its four routes has requests left',
    tenants: { 'trial-day': 'trial' },
    run: (send) => withWorkers(10, 60, (index) => send('trial-day', ROUTES[index % ROUTES.length])),
    expected: { 'trial-day': '50 allowed, 10 denied by daily' },
  },
]

/** Does `work` for each number below `count`, by so many workers at once. */
async function withWorkers(workers, count, work) {
  let next = 0
  const worker = async () => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: workers }, worker))
}
