import type { Scenario } from './scenario'

/** An agent in a loop. Its budget in dollars stops it, and nobody else. */
export const runawayAgent: Scenario = {
  id: 'runaway-agent',
  title: 'Runaway agent',
  story:
    'An agent of starter-1 calls the model again and again, eight calls at a time, on $0.05 a day. The budget reserves the most that a call may cost before it begins, so it is never exceeded. trial-1 is answered all the while.',
  tenants: ['starter-1', 'trial-1'],
  async run({ chat, each, pause }) {
    let isStopped = false
    for (let round = 0; !isStopped; round += 1) {
      const codes: (string | undefined)[] = []
      await each(8, 8, async (index) => {
        const { code } = await chat('starter-1', `step-${8 * round + index}`)
        codes.push(code)
      })
      // One refusal is not enough: the estimates of calls that still run count as spent.
      isStopped = codes.every((code) => code === 'insufficient_quota')
      if (round % 4 === 0) await chat('trial-1')
      await pause(200)
    }
  },
}
