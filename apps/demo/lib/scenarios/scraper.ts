import type { Scenario } from './scenario'

const ROUTES = ['evaluate', 'generate-questions', 'feedback', 'probe']

/** A client that stays below every limit of a minute, and takes all that a day has. */
export const scraper: Scenario = {
  id: 'scraper',
  title: 'Scraper',
  story:
    'trial-1 takes turns on four routes, so that none of them is used up within the minute. Its cap of 50 a day ends it.',
  tenants: ['trial-1'],
  async run({ ask, each, pause }) {
    await each(76, 3, async (index) => {
      await ask('trial-1', ROUTES[index % ROUTES.length] ?? 'probe', `page-${index}`)
      await pause(200)
    })
  },
}
