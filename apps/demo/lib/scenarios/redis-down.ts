import type { Scenario } from './scenario'

/** The store fails and comes back. Limits hold meanwhile, and money is not spent without it. */
export const redisDown: Scenario = {
  id: 'redis-down',
  title: 'Redis down',
  story:
    'Redis cannot be reached for 6 seconds: a switch before the demo’s own store cuts each connection. Requests go on, limited by each process; calls that cost dollars are refused until Redis is back.',
  tenants: ['professional-1', 'growth-1'],
  async run({ ask, chat, each, pause, stopStore, startStore, conclude }) {
    const over = new AbortController()
    let [refused, answered] = [0, 0]
    const cutConnections = async (): Promise<void> => {
      await pause(4_000)
      await stopStore()
      await pause(6_000)
      await startStore()
      await pause(3_000)
      over.abort()
    }
    const work = each(2, 2, async () => {
      for (let count = 1; !over.signal.aborted; count += 1) {
        if (count % 4 === 0) {
          if ((await chat('professional-1')).status !== 200) refused += 1
        } else if ((await ask('growth-1', 'evaluate')).status === 200) {
          answered += 1
        }
        await pause(400)
      }
    })
    await Promise.all([cutConnections(), work])
    conclude(
      `${refused} calls that cost dollars were refused; ${answered} requests without were answered all the while.`,
    )
  },
}
