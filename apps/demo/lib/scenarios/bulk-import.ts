import type { Scenario } from './scenario'

/** One tenant floods a route; its neighbours notice nothing. */
export const bulkImport: Scenario = {
  id: 'bulk-import',
  title: 'Bulk import',
  story:
    'starter-1 imports 200 items as fast as it can, at a limit of 20 a minute. Two neighbours work as usual, and are never refused.',
  tenants: ['starter-1', 'growth-1', 'professional-1'],
  async run({ ask, each, pause }) {
    const importItems = each(200, 8, async (item) => {
      await ask('starter-1', 'evaluate', `item-${item}`)
      await pause(200)
    })
    const work = each(2, 2, async (index) => {
      const tenant = index === 0 ? 'growth-1' : 'professional-1'
      for (let count = 0; count < 20; count += 1) {
        await ask(tenant, 'evaluate')
        await pause(150)
      }
    })
    await Promise.all([importItems, work])
  },
}
