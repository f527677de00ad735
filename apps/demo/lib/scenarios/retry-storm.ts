import type { Scenario } from './scenario'

/** A client that does not wait: it sends what was refused again at once. */
export const retryStorm: Scenario = {
  id: 'retry-storm',
  title: 'Retry storm',
  story:
    'growth-1 has 100 jobs at a limit of 60 a minute, and tries each up to 5 times, whatever Retry-After says. 60 succeed; a denial costs one request to Redis at most, and no call of the model.',
  tenants: ['growth-1'],
  async run({ ask, each, pause }) {
    await each(100, 12, async (job) => {
      for (let attempt = 0; attempt < 5; attempt += 1) {
        const { status } = await ask('growth-1', 'feedback', `job-${job}`)
        if (status === 200) return
        await pause(300)
      }
    })
  },
}
