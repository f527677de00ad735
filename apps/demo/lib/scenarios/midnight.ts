import type { Scenario } from './scenario'

/** A daily budget is whole again at midnight in UTC, and not a second before. */
export const midnight: Scenario = {
  id: 'midnight',
  title: 'Midnight',
  story:
    'trial-1 spends its $0.02 of the day and is refused. Then the demo’s clock is moved to 6 seconds before midnight in UTC. It stays ahead until you run something else. The limiter of the chat reads this clock; nothing else is moved.',
  tenants: ['trial-1'],
  async run({ chat, pause, moveBeforeMidnight }) {
    let outcome = await chat('trial-1')
    while (outcome.code !== 'insufficient_quota') outcome = await chat('trial-1')
    moveBeforeMidnight(6_000)
    while (outcome.status !== 200) {
      await pause(500)
      outcome = await chat('trial-1')
    }
  },
}
